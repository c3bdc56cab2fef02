"""A solver at work for another solver: chosen as on the command line, driven to its end, what it costs noted as an oracle's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from harness.errors import HarnessError, PluginError, UsageError
from harness.registry import get_solver
from harness.solver import Solver, Subsolver

if TYPE_CHECKING:
    import numpy as np

    from harness.learner import Learner
    from harness.problems.problem import Problem


class OracleFailure(PluginError):
    """The oracle raised, ran out of time, or returned what its certificate does not confirm."""


class Oracle(Subsolver):
    """One run's oracle and what it cost; ``iterates`` drives it, see :class:`harness.solver.Subsolver`.

    Parameters
    ----------
    oracle : a solver, or a selection string that means one: ``smo-block``, ``libsvm[tol=1e-5]``

    Attributes
    ----------
    solver, name : the solver, and what the user called it
    calls, seconds, evaluations : how often it was asked, and what it took

    Raises
    ------
    UsageError : there is no such solver.
    """

    def __init__(self, oracle: str | Solver) -> None:
        super().__init__(get_solver(oracle) if isinstance(oracle, str) else oracle)
        self.name = oracle if isinstance(oracle, str) else oracle.name

    def learner(self, problem: Problem, rng: np.random.Generator) -> Learner:
        """Return the solver as one that is taught example by example.

        Raises
        ------
        UsageError : it cannot be.
        """
        teachable: Any = getattr(self.solver, "learner", None)
        if teachable is None:
            raise UsageError(
                f"the oracle '{self.name}' cannot be taught example by example: it declares no learner(problem, rng); "
                "choose an online solver such as lasvm."
            )
        learner: Learner = teachable(problem, rng)
        return learner

    @contextmanager
    def failing_in(self, where: str) -> Iterator[None]:
        """Turn whatever is raised within into an :class:`OracleFailure` whose sentence names ``where`` and the oracle."""
        try:
            yield
        except OracleFailure:
            raise
        except HarnessError as error:
            raise OracleFailure(f"{where}: the oracle '{self.name}' failed: {error}") from error
        except Exception as error:  # whatever a stranger's solver raises
            kind = type(error).__name__
            raise OracleFailure(f"{where}: the oracle '{self.name}' failed: {kind}: {error}") from error


def oracle_refusal(owner: str, name: str, judged: Callable[[Solver], str | None]) -> str | None:
    """Return why the oracle that ``owner`` calls ``name`` cannot serve it, in a sentence; None if it can.

    judged : what is wrong with a solver, in words that follow "the oracle 'x'"; None: nothing
    """
    try:
        solver = get_solver(name)
    except UsageError as error:
        return f"{owner}: oracle='{name}': {error}"
    reason = judged(solver)
    return None if reason is None else f"{owner}: the oracle '{name}' {reason}"


def is_observable(name: str) -> bool:
    """Return whether the host can count what the oracle called ``name`` evaluates; True where there is none."""
    try:
        return bool(get_solver(name).observable)
    except UsageError:
        return True
