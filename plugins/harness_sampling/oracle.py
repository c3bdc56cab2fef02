"""The subproblem oracle: any exact solver of the registry, named as on the command line, driven and not trusted.

A solver is asked for a relative gap, and its answer is certified on the sample from its coefficients. An answer that
does not hold is asked for again, ten times as exact; then the run ends with the round and the oracle's name.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness import Certificate, Iterate, PluginError, Problem, Solver
from harness.oracle import Oracle, OracleFailure, oracle_refusal
from harness.problems import HardMargin, ReducedHull

if TYPE_CHECKING:
    from harness.arrays import Vector

_ATTEMPTS = 4  # of one subproblem, each asked for a tenth of the gap
_SMALLEST = 1e-13  # relative gap that nobody is asked for less than
_MEETING = 1e-9  # |w|^2 below this part of the largest k(x, x), and no certificate: the hulls meet


def restated(problem: Problem, oracle: Solver) -> Problem | None:
    """Return ``problem`` as a formulation that ``oracle`` solves: itself, or the same hulls by another name; else None."""
    if oracle.takes(type(problem)):
        return problem
    if not isinstance(problem, HardMargin) or min(problem.caps) < 1.0:
        return None
    if problem.name == HardMargin.name and oracle.takes(ReducedHull):
        return ReducedHull(problem.kernel, problem.targets, ReducedHull.parameter_class(D=1.0))
    if problem.name == ReducedHull.name and oracle.takes(HardMargin):
        return HardMargin(problem.kernel, problem.targets, HardMargin.parameter_class())
    return None


def refusal(owner: str, name: str, problem: Problem) -> str | None:
    """Return why the oracle called ``name`` cannot serve ``owner`` on ``problem``, in a sentence; None if it can."""

    def judged(oracle: Solver) -> str | None:
        if restated(problem, oracle) is None:
            return f"solves {oracle.solved()}, not {problem.name}; name one that does."
        return None

    return oracle_refusal(owner, name, judged)


@dataclass
class Answer:
    """A certified solution of a subproblem.

    coef : (r,) feasible coefficients, intercept : b
    scores : (r,) K coef
    meeting : the hulls of the sample meet: w = 0, and with it in every larger set
    """

    coef: Vector
    intercept: float
    scores: Vector
    certificate: Certificate
    meeting: bool = False


class CertifiedOracle(Oracle):
    """One run's oracle, its answers certified, and what it cost.

    Parameters
    ----------
    oracle : a solver, or a selection string that means one
    gap : relative gap asked for

    Attributes
    ----------
    again : how often an answer did not hold and was asked for anew
    """

    def __init__(self, oracle: str | Solver, gap: float) -> None:
        super().__init__(oracle)
        self.gap, self.again = gap, 0

    def solve(self, problem: Problem, start: Vector | None, where: str) -> Iterator[Answer | None]:
        """Work on ``problem``; yields None where the host may stop the run, and at last the certified answer.

        Parameters
        ----------
        start : (r,) coefficients to start from, made feasible here; None: the solver's own
        where : what a failure is told to have happened in

        Raises
        ------
        OracleFailure : the sentence names ``where`` and the oracle.
        """
        stated = restated(problem, self.solver)
        reason = "it does not solve " + problem.name if stated is None else self.solver.skip(stated)
        if stated is None or reason is not None:
            raise OracleFailure(f"{where}: the oracle '{self.name}' refused {problem.n:,} points: {reason}")
        wanted, feasible = self.gap, _feasible(problem, start)
        for attempt in range(_ATTEMPTS):
            last: Iterate | None = None
            with self.failing_in(where):
                for found in self.iterates(stated, gap=wanted, start=feasible):
                    last = found
                    yield None
                answer = self._certified(problem, last)
            reached = answer.certificate.relative_gap
            if answer.meeting or (reached is not None and reached <= self.gap):
                yield answer
                return
            self.again += attempt < _ATTEMPTS - 1
            feasible, wanted = answer.coef, max(0.1 * wanted, _SMALLEST)
        told = "no gap" if reached is None else f"a relative gap of {reached:.2g}"
        raise OracleFailure(
            f"{where}: the oracle '{self.name}' is uncertified: {told} on {problem.n:,} points, asked for {self.gap:.2g}."
        )

    def _certified(self, problem: Problem, last: Iterate | None) -> Answer:
        """Return the last model with its certificate; its scores are the wrapper's own kernel evaluations."""
        if last is None or last.dual_coef is None:
            raise PluginError("it ended without dual coefficients.")
        coef, intercept = problem.checked(last.dual_coef, last.intercept)
        scores = problem.kernel.expand(coef)
        found = problem.certificate(coef, intercept, scores)
        meeting = False
        if isinstance(problem, HardMargin):
            certified = found.relative_gap is not None and found.relative_gap <= self.gap
            floor = 0.0 if certified else _MEETING * problem.largest_diagonal()
            meeting = found.margin_upper == 0.0 or float(coef @ scores) <= floor
        return Answer(coef, intercept, scores, found, meeting)


def _feasible(problem: Problem, start: Vector | None) -> Vector | None:
    """Return coefficients within the problem's constraints near ``start``."""
    if start is None or not start.any():
        return None
    form = problem.dual_form()
    return form.coef(form.variables(start))
