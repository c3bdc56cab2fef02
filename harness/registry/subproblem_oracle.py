"""Sub-problem oracles: solvers that work for another solver, chosen as on the command line, with their costs counted apart."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.registry.discovery import get_solver
from harness.solver.protocol import Solver, Subsolver
from harness.support.errors import HarnessError, PluginError, UsageError
from harness.support.faults import format_error

if TYPE_CHECKING:
    from harness.problems.problem import Certificate, Problem
    from harness.solver.learner import Learner
    from harness.solver.protocol import Iterate
    from harness.support.arrays import Vector

_ATTEMPTS = 4  # attempts at one problem; the target gap of each is a tenth of the one before
_SMALLEST = 1e-13  # smallest relative gap that is requested


class OracleFailure(PluginError):
    """The oracle raised, ran out of time, or returned what its certificate does not confirm."""


class Oracle(Subsolver):
    """One run's oracle and what it cost; ``iterates`` drives it, see :class:`harness.solver.protocol.Subsolver`.

    Parameters
    ----------
    oracle : a solver, or a selection string of one: ``smo-block``, ``libsvm[tol=1e-5]``

    Attributes
    ----------
    solver, name : the solver, and its name as the user wrote it
    calls, seconds, evaluations : number of calls, their seconds and their kernel evaluations

    Raises
    ------
    UsageError : there is no such solver.
    """

    def __init__(self, oracle: str | Solver) -> None:
        super().__init__(get_solver(oracle) if isinstance(oracle, str) else oracle)
        self.name = oracle if isinstance(oracle, str) else oracle.name

    def learner(self, problem: Problem, rng: np.random.Generator) -> Learner:
        """Return the solver, which must declare a ``learner``, as one that is taught example by example."""
        teachable: Any = self.solver
        learner: Learner = teachable.learner(problem, rng)
        return learner

    def models(self, problem: Problem, where: str, **options: Any) -> Iterator[Iterate]:
        """Yield the models of the oracle, each with dual coefficients, and at least one; ``options`` are those of ``iterates``.

        Raises
        ------
        OracleFailure : it refuses the problem, raises, or gives no such model; the sentence names ``where`` and the oracle.
        """
        with self.failing_in(where):
            refused = self.solver.refusal(problem)
            if refused is not None:
                raise PluginError(f"it refused the {problem.n:,} points that it was given: {refused}")
            model = None
            for model in self.iterates(problem, **options):
                if model.dual_coef is None:
                    raise PluginError("it returned no dual coefficients; name an oracle that returns them.")
                yield model
            if model is None:
                raise PluginError("it ended without a model.")

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
            raise OracleFailure(f"{where}: the oracle '{self.name}' failed: {format_error(error)}") from error


@dataclass
class Answer:
    """Solution of a problem by an oracle, certified from its coefficients.

    coef : (n,) feasible coefficients, intercept : b
    scores : (n,) K coef
    """

    coef: Vector
    intercept: float
    scores: Vector
    certificate: Certificate

    @property
    def relative_gap(self) -> float:
        """The certified relative gap; infinite where rounding leaves none."""
        gap = self.certificate.relative_gap
        return np.inf if gap is None else gap


class CertifiedOracle(Oracle):
    """One run's oracle, whose answers are certified: a problem with an answer above the gap is solved again, ten times as exact.

    again : number of such repetitions
    """

    again = 0

    def answers(
        self,
        problem: Problem,
        where: str,
        gap: float,
        start: Vector | None,
        settled: Callable[[Answer], bool] | None = None,
    ) -> Iterator[Iterate | Answer]:
        """Work on ``problem``; yields the oracle's models as they come, and at last its best answer, which may fall short.

        Parameters
        ----------
        start : (n,) coefficients to start from, made feasible here; None: where the solver starts by itself
        settled : whether an answer needs no smaller gap

        The kernel evaluations for the scores of an answer count as those of the calling solver. Failures are those of :meth:`models`.
        """
        form, best, target = problem.dual_form(), None, gap
        for attempt in range(_ATTEMPTS):
            self.again += attempt > 0
            feasible = form.coef(form.variables(start)) if start is not None and start.any() else None
            for model in self.models(problem, where, gap=target, start=feasible):
                yield model
            with self.failing_in(where):
                coef, intercept = problem.checked(model.dual_coef, model.intercept)
                scores = problem.kernel.expand(coef)
                answer = Answer(coef, intercept, scores, problem.certificate(coef, intercept, scores))
            certain = settled is not None and settled(answer)
            best = answer if certain or best is None or answer.relative_gap < best.relative_gap else best
            if certain or best.relative_gap <= gap or target <= _SMALLEST:
                break
            start, target = answer.coef, max(0.1 * target, _SMALLEST)
        assert best is not None
        yield best


class OverOracle(Solver):
    """A solver over the one that its parameter ``oracle`` names."""

    oracle: str | None  # name of a solver, with parameters in brackets; None for the solver without a sub-problem

    @property
    def observable(self) -> bool:  # type: ignore[override]
        """False over a black box: what it evaluates is part of the run and cannot be counted."""
        return self.oracle is None or is_observable(self.oracle)


def oracle_refusal(owner: str, name: str, objection: Callable[[Solver], str | None]) -> str | None:
    """Return why the oracle that ``owner`` calls ``name`` cannot serve it, in a sentence; None if it can.

    objection : returns why a solver does not fit, in words that follow "the oracle 'x'"; None if it fits
    """
    try:
        solver = get_solver(name)
    except UsageError as error:
        return f"{owner}: oracle='{name}': {error}"
    reason = objection(solver)
    return None if reason is None else f"{owner}: the oracle '{name}' {reason}"


def takes(formulation: type[Problem]) -> Callable[[Solver], str | None]:
    """Return the objection for :func:`oracle_refusal` to solvers that do not solve ``formulation``."""

    def objection(oracle: Solver) -> str | None:
        if oracle.takes(formulation):
            return None
        return f"solves {oracle.solved()}, not {formulation.name}; name one that does."

    return objection


def is_observable(name: str) -> bool:
    """Return whether the host can count what the oracle called ``name`` evaluates; True where there is none."""
    try:
        return bool(get_solver(name).observable)
    except UsageError:
        return True
