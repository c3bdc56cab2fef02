"""The subproblem oracle: any exact solver of the registry, named as on the command line, driven and not trusted.

A solver is asked for a relative gap, and its answer is certified on the sample from its coefficients. An answer that
does not hold is asked for again, ten times as exact; then the run ends with the round and the oracle's name.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from harness import Iterate, Problem, Solver
from harness.problems import HardMargin, ReducedHull
from harness.registry.subproblem_oracle import Answer, CertifiedOracle, OracleFailure, oracle_refusal, takes
from harness.support.arrays import Vector

_ROUNDING = 1e-13  # |w|^2 below this part of the largest k(x, x), and no certificate: w may be 0


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
        return takes(type(problem))(oracle) if restated(problem, oracle) is None else None

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
