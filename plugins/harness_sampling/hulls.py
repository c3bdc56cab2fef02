"""Choose k = 1 / D of a reduced hull: Balcazar et al. 2008, section 6, Theorem 6.1.

(P2) has a solution with w != 0 if and only if the composed examples of k examples each can be separated. The smallest such
k follows by bisection: the hulls of a larger k lie inside those of k, so if k separates, every larger k does.
"""

from __future__ import annotations

from harness import Solver
from harness.problems import HardMargin, ReducedHull
from harness.registry.subproblem_oracle import Answer, CertifiedOracle
from harness_sampling.oracle import answers, meets

_GAP = 1e-3  # relative gap of a subproblem; whether w = 0 does not depend on it


def with_doubled_k(problem: HardMargin) -> HardMargin | None:
    """Return ``problem`` with twice the k of each class, at most its number of examples; None if neither k can grow.

    A common k of both classes stays common: at most the number of examples of the smaller class.
    """
    counts = int((problem.targets > 0).sum()), int((problem.targets < 0).sum())
    k = [min(2.0 / cap, float(count)) for cap, count in zip(problem.caps, counts, strict=True)]
    common = getattr(problem.settings, "D_minus", None) is None
    if common:
        k = [min(k), min(k)]
    if all(new * cap <= 1.0 + 1e-9 for new, cap in zip(k, problem.caps, strict=True)):
        return None
    return _capped(problem, (k[0], k[1]), common=common)


def smallest_separating_k(problem: HardMargin, oracle: str | Solver) -> tuple[int, int] | None:
    """Return the smallest k_+ = k_- for which (P2) has a solution with w != 0; None if no k has one.

    The bisection solves about log2(min(m_+, m_-)) problems over all points by ``oracle``.

    Parameters
    ----------
    problem : hard-margin or reduced-hull; its D is ignored
    oracle : an exact solver of reduced-hull, or its name, parameters in brackets; 'optsoftmargin[oracle=smo-block]' samples

    Raises
    ------
    UsageError : the oracle is unknown.
    OracleFailure : the oracle failed on one of the problems.
    """
    certified = CertifiedOracle(oracle)

    def separates(k: int) -> bool:
        stated = _capped(problem, (k, k), common=True)
        *_, answer = answers(certified, stated, f"smallest_separating_k, k = {k}", _GAP, None)
        assert isinstance(answer, Answer)
        return not meets(stated, _GAP, answer)

    positive = int((problem.targets > 0).sum())
    low, high = 0, min(positive, problem.n - positive)  # low does not separate, high does
    if not separates(high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if separates(middle) else (middle, high)
    return high, high


def _capped(problem: HardMargin, k: tuple[float, float], *, common: bool) -> ReducedHull:
    settings = ReducedHull.parameter_class(D=1.0 / k[0], D_minus=None if common else 1.0 / k[1])
    return ReducedHull(problem.kernel, problem.targets, settings)
