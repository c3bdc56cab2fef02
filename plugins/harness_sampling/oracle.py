"""The subproblem oracle: any exact solver of the registry, named as on the command line, driven and not trusted.

A solver is asked for a relative gap, and its answer is certified on the sample from its coefficients. An answer that
does not hold is asked for again, ten times as exact; then the run ends with the round and the oracle's name.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from harness import Iterate, Problem, ProblemSummary, Solver
from harness.problems import HardMargin, ReducedHull
from harness.registry.subproblem_oracle import Answer, CertifiedOracle, OracleFailure, oracle_refusal, takes
from harness.support.arrays import Vector

_ROUNDING = 1e-13  # |w|^2 below this part of the largest k(x, x), and no certificate: w may be 0


def restated(problem: Problem, oracle: Solver) -> Problem | None:
    """Return ``problem`` as a formulation that ``oracle`` solves: itself, or the same hulls by another name; else None."""
    formulation = _formulation_for(ProblemSummary.of(problem), oracle)
    if formulation is None or formulation is type(problem):
        return None if formulation is None else problem
    return formulation.build(problem.kernel, problem.targets, {"D": 1.0})


def _formulation_for(problem: ProblemSummary, oracle: Solver) -> type[Problem] | None:
    """Return the formulation as which ``oracle`` solves a problem: its own, or of whole hulls the other name; else None."""
    own, caps = problem.formulation, problem.settings
    if oracle.takes(own):
        return own
    if own.name == HardMargin.name and oracle.takes(ReducedHull):
        return ReducedHull
    whole = own.name == ReducedHull.name and min(caps.D, caps.D_minus or caps.D) >= 1.0
    return HardMargin if whole and oracle.takes(HardMargin) else None


def refusal(owner: str, name: str, problem: ProblemSummary) -> str | None:
    """Return why the oracle called ``name`` cannot serve ``owner`` on a problem, in a sentence; None if it can."""

    def judged(oracle: Solver) -> str | None:
        return takes(problem.formulation)(oracle) if _formulation_for(problem, oracle) is None else None

    return oracle_refusal(owner, name, judged)


def meets(problem: Problem, gap: float, answer: Answer) -> bool:
    """Return whether the hulls of the points meet as far as rounding tells: w = 0, and with it in every larger set."""
    if not isinstance(problem, HardMargin):
        return False
    floor = 0.0 if answer.relative_gap <= gap else _ROUNDING * problem.largest_diagonal()
    return answer.certificate.margin_upper == 0.0 or float(answer.coef @ answer.scores) <= floor


def answers(
    oracle: CertifiedOracle, problem: Problem, where: str, gap: float, start: Vector | None
) -> Iterator[Iterate | Answer]:
    """Work on ``problem``; yields the oracle's models as they come, and at last an answer within ``gap``, or of hulls that meet.

    Raises
    ------
    OracleFailure : there is none; the sentence names ``where`` and the oracle.
    """
    stated = restated(problem, oracle.solver) or problem
    meeting = partial(meets, stated, gap)
    for found in oracle.answers(stated, where, gap, start, meeting):
        if isinstance(found, Answer) and found.relative_gap > gap and not meeting(found):
            raise OracleFailure(
                f"{where}: the oracle '{oracle.name}' is uncertified: a relative gap of {found.relative_gap:.2g} on "
                f"{problem.n:,} points, asked for {gap:.2g}."
            )
        yield found
