"""A solver at work for another solver: chosen as on the command line, driven to its end, what it costs noted as an oracle's."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from harness.errors import HarnessError, PluginError, UsageError
from harness.registry import get_solver

if TYPE_CHECKING:
    import numpy as np

    from harness.arrays import Array
    from harness.learner import Learner
    from harness.problems.problem import Problem
    from harness.solver import Iterate, Solver


class OracleFailure(PluginError):
    """The oracle raised, ran out of time, or returned what its certificate does not confirm."""


class Oracle:
    """One run's oracle and what it cost.

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
        self.solver: Solver = get_solver(oracle) if isinstance(oracle, str) else oracle
        self.name = oracle if isinstance(oracle, str) else oracle.name
        self.calls = self.evaluations = 0
        self.seconds = 0.0

    def iterates(
        self,
        problem: Problem,
        *,
        gap: float | None = None,
        start: Array | None = None,
        rng: np.random.Generator | None = None,
    ) -> Iterator[Iterate]:
        """Drive the solver on ``problem`` to its end; its kernel evaluations count to the run, and as the oracle's.

        Parameters
        ----------
        gap : relative gap it is asked for; None: as it is configured
        start : (n,) feasible coefficients, for solvers that declare a method ``iterates_from``
        rng : None: the same for every call
        """
        import numpy as np

        solver = self.solver if gap is None else self.solver.with_target_gap(gap)
        rng, counter = np.random.default_rng(0) if rng is None else rng, problem.kernel.counter
        warm: Any = getattr(solver, "iterates_from", None)
        iterates = iter(solver.iterates(problem, rng) if start is None or warm is None else warm(problem, rng, start))
        self.calls += 1
        counter.oracle_calls += 1
        try:
            while True:
                began, before = time.perf_counter(), counter.evaluations
                try:
                    found = next(iterates, None)
                finally:
                    self.seconds += time.perf_counter() - began
                    spent = counter.evaluations - before
                    self.evaluations += spent
                    counter.oracle_evaluations += spent
                if found is None:
                    return
                yield found
                if found.done:
                    return
        finally:
            close = getattr(iterates, "close", None)
            if close is not None:
                close()

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
