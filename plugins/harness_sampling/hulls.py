"""Choosing k = 1 / D of a reduced hull: Balcazar et al. 2008, section 6, Theorem 6.1.

(P2) has a solution with w != 0 exactly if the composed examples of k examples each can be separated. The smallest such
k is found by bisection: hulls reduced further lie inside, so that what k separates every larger k separates. One k for
both classes, or k_+ = 1 / D and k_- = 1 / D_minus.
"""

from __future__ import annotations

import math

from harness import Solver, UsageError
from harness.problems import HardMargin, ReducedHull
from harness_sampling.oracle import CertifiedOracle

_GAP = 1e-3  # relative gap of a subproblem: whether w is zero does not hang on it


def with_doubled_k(problem: HardMargin) -> HardMargin | None:
    """Return ``problem`` with twice the k of each class, at most its examples; None where neither can grow.

    One k for both classes stays one: at most the examples of the smaller class.
    """
    counts = int((problem.targets > 0).sum()), int((problem.targets < 0).sum())
    k = [min(2.0 / cap, float(count)) for cap, count in zip(problem.caps, counts, strict=True)]
    common = getattr(problem.settings, "D_minus", None) is None
    if common:
        k = [min(k), min(k)]
    if all(new * cap <= 1.0 + 1e-9 for new, cap in zip(k, problem.caps, strict=True)):
        return None
    return _capped(problem, (k[0], k[1]), common=common)


def smallest_separating_k(
    problem: HardMargin, oracle: str | Solver, *, share: float | None = None
) -> tuple[int, int] | None:
    """Return the least (k_+, k_-) for which (P2) has a solution with w != 0; None if not even the largest separates.

    Bisection: about log2(min(m_+, m_-)) problems over all points, each solved by ``oracle``.

    Parameters
    ----------
    problem : hard-margin or reduced-hull; its own D is not looked at
    oracle : an exact solver of reduced-hull, or its name, parameters in brackets; 'optsoftmargin[oracle=smo-block]' samples
    share : None: k_+ = k_-, from 1 to min(m_+, m_-). Else k_- = ceil(share * k_+), cut to 1 .. m_-: with share = m_- / m_+
        both classes may have the same part of outliers; the oracle must take two caps, as 'qp' and 'smo-block' do

    Raises
    ------
    UsageError : an unknown oracle, or a share that is not positive.
    OracleFailure : the oracle fails on one of the problems.
    """
    if share is not None and not share > 0.0:
        raise UsageError(f"share={share:g} asked of smallest_separating_k; k_- = share * k_+ needs a positive number.")
    positive = int((problem.targets > 0).sum())
    counts = positive, problem.n - positive

    def pair(k: int) -> tuple[int, int]:
        return (k, k) if share is None else (k, min(counts[1], max(1, math.ceil(share * k - 1e-9))))

    asked = CertifiedOracle(oracle, _GAP)

    def separates(k: int) -> bool:
        stated = _capped(problem, pair(k), common=share is None)
        where = f"smallest_separating_k, k = {k}"
        steps = [step for step in asked.solve(stated, None, where) if step is not None]
        return not steps[-1].meeting

    low, high = 0, min(counts) if share is None else counts[0]  # low does not separate, high does
    if not separates(high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if separates(middle) else (middle, high)
    return pair(high)


def _capped(problem: HardMargin, k: tuple[float, float], *, common: bool) -> ReducedHull:
    settings = ReducedHull.parameter_class(D=1.0 / k[0], D_minus=None if common else 1.0 / k[1])
    return ReducedHull(problem.kernel, problem.targets, settings)
