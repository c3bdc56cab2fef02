"""Convex subproblems by a solver of the registry that the user names: driven, certified, and counted as an oracle."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from harness import Certificate, Oracle, PluginError, Problem, RampSVC, Solver, oracle_refusal

if TYPE_CHECKING:
    from harness.arrays import Vector

_ATTEMPTS = 4  # at one subproblem, each asked for a tenth of the gap
_SMALLEST = 1e-13  # relative gap that nobody is asked for less than


def refusal(owner: str, name: str, problem: RampSVC) -> str | None:
    """Return why the oracle called ``name`` cannot serve ``owner`` on ``problem``, in a sentence; None if it can."""

    def judged(oracle: Solver) -> str | None:
        nobody = np.zeros(problem.n, dtype=bool)
        reason = oracle.refusal(problem.subproblem(nobody)) or oracle.refusal(problem.hinge)
        return None if reason is None else f"does not serve: {reason} Name smo-block, smo, qp or another that does."

    return oracle_refusal(owner, name, judged)


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


class ConvexOracle(Oracle):
    """One run's oracle for convex subproblems, and what it cost; ``owner``: the solver that asks."""

    def __init__(self, name: str, owner: str) -> None:
        super().__init__(name)
        self.owner = owner

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
            with self.failing_in(self.owner):
                for iterate in self.iterates(
                    problem, gap=wanted, start=None if start is None else form.variables(start)
                ):
                    found = iterate.dual_coef
                    if found is None:
                        raise PluginError("it gave a model without coefficients.")
                    yield found
                answer = self._certified(problem, found)
            best = answer if best is None or answer.relative_gap < best.relative_gap else best
            if best.relative_gap <= gap or wanted <= _SMALLEST:
                break
            start, wanted = best.coef, max(0.1 * wanted, _SMALLEST)
        assert best is not None
        yield best

    def _certified(self, problem: Problem, found: Vector | None) -> Answer:
        """Return the last model with its certificate; its scores are the asking solver's own kernel evaluations."""
        if found is None:
            raise PluginError("it ended without a model.")
        coef, _ = problem.checked(found, 0.0)
        coef = problem.dual_form().variables(coef)  # rounding beyond the bounds cut off
        scores = problem.kernel.expand(coef)
        return Answer(coef, scores, problem.certificate(coef, 0.0, scores))
