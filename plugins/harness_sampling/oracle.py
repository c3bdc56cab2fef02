"""Use any exact solver of the registry, named as on the command line, as the subproblem oracle of a sampling solver.

The oracle solves the sample to a relative gap, and its answer is certified on the sample from its coefficients. If the
certified gap is larger, the oracle solves again with a tenth of the gap; if that fails too, the run ends with an error that
names the round and the oracle.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from harness import Iterate, Problem, ProblemSummary, Solver
from harness.problems import HardMargin, ReducedHull
from harness.registry.subproblem_oracle import Answer, CertifiedOracle, OracleFailure, oracle_refusal, takes
from harness.support.arrays import Vector

_ROUNDING = 1e-13  # |w|^2 below this fraction of max k(x, x), without a certificate, may be rounding noise of w = 0


def restated(problem: Problem, oracle: Solver) -> Problem | None:
    """Return ``problem``, or the same hulls as another formulation, such that ``oracle`` solves it; None if it solves neither."""
    formulation = _formulation_for(ProblemSummary.of(problem), oracle)
    if formulation is None or formulation is type(problem):
        return None if formulation is None else problem
    return formulation.build(problem.kernel, problem.targets, {"D": 1.0})


def _formulation_for(problem: ProblemSummary, oracle: Solver) -> type[Problem] | None:
    """Return the formulation as which ``oracle`` solves a problem, or None.

    hard-margin and reduced-hull with D = 1 are the same problem.
    """
    stated, caps = problem.formulation, problem.settings
    if oracle.takes(stated):
        return stated
    if stated.name == HardMargin.name and oracle.takes(ReducedHull):
        return ReducedHull
    full_hulls = stated.name == ReducedHull.name and min(caps.D, caps.D_minus or caps.D) >= 1.0
    return HardMargin if full_hulls and oracle.takes(HardMargin) else None


def refusal(owner: str, name: str, problem: ProblemSummary) -> str | None:
    """Return a sentence why ``owner`` cannot use the oracle called ``name`` on a problem; None if it can."""

    def reason(oracle: Solver) -> str | None:
        return takes(problem.formulation)(oracle) if _formulation_for(problem, oracle) is None else None

    return oracle_refusal(owner, name, reason)


def meets(problem: Problem, gap: float, answer: Answer) -> bool:
    """Return whether the hulls of the points meet, up to rounding: w = 0, here and for every superset of the points."""
    if not isinstance(problem, HardMargin):
        return False
    floor = 0.0 if answer.relative_gap <= gap else _ROUNDING * problem.largest_diagonal()
    return answer.certificate.margin_upper == 0.0 or float(answer.coef @ answer.scores) <= floor


def answers(
    oracle: CertifiedOracle, problem: Problem, where: str, gap: float, start: Vector | None
) -> Iterator[Iterate | Answer]:
    """Solve ``problem``: yield the models of the oracle, and last an answer that is within ``gap`` or whose hulls meet.

    Raises
    ------
    OracleFailure : the oracle reached no such answer; the message names ``where`` and the oracle.
    """
    stated = restated(problem, oracle.solver) or problem
    meeting = partial(meets, stated, gap)
    for result in oracle.answers(stated, where, gap, start, meeting):
        if isinstance(result, Answer) and result.relative_gap > gap and not meeting(result):
            raise OracleFailure(
                f"{where}: the oracle '{oracle.name}' reached a relative gap of {result.relative_gap:.2g} on "
                f"{problem.n:,} points; {gap:.2g} is needed."
            )
        yield result
