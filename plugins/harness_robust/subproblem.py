"""Convex subproblems by a solver of the registry that the user names: driven, certified, and counted as an oracle."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from harness import Certificate, HarnessError, PluginError, Problem, RampSVC, Solver, UsageError, get_solver

if TYPE_CHECKING:
    from harness.arrays import Vector

_ATTEMPTS = 4  # at one subproblem, each asked for a tenth of the gap
_SMALLEST = 1e-13  # relative gap that nobody is asked for less than


class OracleFailure(PluginError):
    """The oracle raised, or returned no model of the subproblem."""


def refusal(owner: str, name: str, problem: RampSVC) -> str | None:
    """Return why the oracle called ``name`` cannot serve ``owner`` on ``problem``, in a sentence; None if it can."""
    try:
        oracle = get_solver(name)
    except UsageError as error:
        return f"{owner}: oracle='{name}': {error}"
    nobody = np.zeros(problem.n, dtype=bool)
    reason = oracle.refusal(problem.subproblem(nobody)) or oracle.refusal(problem.hinge)
    if reason is None:
        return None
    return f"{owner}: the oracle '{name}' does not serve: {reason} Name smo-block, smo, qp or another that does."


def is_observable(name: str) -> bool:
    """Return whether the host can count what the oracle called ``name`` evaluates; True where there is none."""
    try:
        return bool(get_solver(name).observable)
    except UsageError:
        return True


@dataclass
class Answer:
    """What the oracle found for a subproblem.

    coef : (n,) feasible coefficients
    scores : (n,) K coef
    certificate : of the subproblem
    """

    coef: Vector
    scores: Vector
    certificate: Certificate

    @property
    def relative_gap(self) -> float:
        """The certified relative gap; infinite where rounding leaves none."""
        found = self.certificate.relative_gap
        return np.inf if found is None else found


class Oracle:
    """One run's oracle and what it cost.

    solver : as the user wrote it in ``name``
    calls, seconds, evaluations : what it was asked and took
    """

    def __init__(self, name: str, owner: str) -> None:
        self.name, self.owner = name, owner
        self.solver: Solver = get_solver(name)
        self.calls = self.evaluations = 0
        self.seconds = 0.0

    def solve(self, problem: Problem, start: Vector | None, gap: float) -> Iterator[Vector | Answer]:
        """Work on ``problem``; yields the oracle's coefficients, (n,), as they come, and at last its best answer.

        An answer that its certificate shows to be farther off than ``gap`` is asked for again, ten times as exact; the
        caller looks at what the last attempt reached.

        Parameters
        ----------
        start : (n,) coefficients to start from, cut to the bounds here; None: the oracle's own

        Raises
        ------
        OracleFailure : the sentence names the solver that asked, and the oracle.
        """
        form, best, wanted = problem.dual_form(), None, gap
        for _ in range(_ATTEMPTS):
            found: Any = None
            try:
                for found in self._driven(problem, None if start is None else form.variables(start), wanted):
                    yield found
                answer = self._certified(problem, found)
            except OracleFailure:
                raise
            except HarnessError as error:
                raise OracleFailure(f"{self.owner}: the oracle '{self.name}' failed: {error}") from error
            except Exception as error:  # whatever a stranger's solver raises
                kind = type(error).__name__
                raise OracleFailure(f"{self.owner}: the oracle '{self.name}' failed: {kind}: {error}") from error
            best = answer if best is None or answer.relative_gap < best.relative_gap else best
            if best.relative_gap <= gap or wanted <= _SMALLEST:
                break
            start, wanted = best.coef, max(0.1 * wanted, _SMALLEST)
        assert best is not None
        yield best

    def _driven(self, problem: Problem, start: Vector | None, gap: float) -> Iterator[Vector]:
        """Drive the solver to its end; its clock and its kernel evaluations are noted."""
        solver, counter = self.solver.with_target_gap(gap), problem.kernel.counter
        rng = np.random.default_rng(0)
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
                if found.dual_coef is None:
                    raise OracleFailure(f"{self.owner}: the oracle '{self.name}' gave a model without coefficients.")
                yield found.dual_coef
                if found.done:
                    return
        finally:
            close = getattr(iterates, "close", None)
            if close is not None:
                close()

    def _certified(self, problem: Problem, found: Vector | None) -> Answer:
        """Return the last model with its certificate; its scores are the asking solver's own kernel evaluations."""
        if found is None:
            raise OracleFailure(f"{self.owner}: the oracle '{self.name}' ended without a model.")
        coef, _ = problem.checked(found, 0.0)
        coef = problem.dual_form().variables(coef)  # rounding beyond the bounds cut off
        scores = problem.kernel.expand(coef)
        return Answer(coef, scores, problem.certificate(coef, 0.0, scores))
