"""Choosing k = 1 / D of a reduced hull: Balcazar et al. 2008, section 6, Theorem 6.1.

(P2) has a solution with w != 0 exactly if the composed examples of k examples each can be separated. The smallest such
k is found by bisection: hulls reduced further lie inside, so that what k separates every larger k separates. One k for
both classes, or k_+ and k_- with a problem of two caps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from harness import HardMargin, Problem, ReducedHull, Solver, UsageError, parameter
from harness_sampling.oracle import Oracle

if TYPE_CHECKING:
    Vector = np.ndarray[Any, np.dtype[np.float64]]

_GAP = 1e-3  # relative gap of a subproblem: whether w is zero does not hang on it


@dataclass(frozen=True)
class PerClassParameters:
    """Parameters of a reduced hull with a cap for each class."""

    k_plus: float = parameter(1.0, "1 / D_+: examples that a composed positive example has at least", ge=1)
    k_minus: float = parameter(1.0, "1 / D_-: examples that a composed negative example has at least", ge=1)


class PerClassHull(ReducedHull):
    """The nearest points of two reduced hulls with k_+ and k_- of their own: u_i <= 1 / k_+, v_j <= 1 / k_-.

    For solvers that take the caps from the dual form (``qp``, ``smo``, ``smo-block``) or from ``caps``.

    Raises
    ------
    UsageError : k_+ or k_- exceeds the examples of its class, so that its hull is empty.
    """

    parameter_class: ClassVar[type] = PerClassParameters  # type: ignore[assignment]
    constraints = "0 <= y_i dual_coef_i <= D of its class, summing to 1 over each class"

    def __init__(self, kernel: Any, targets: Any, settings: Any) -> None:
        super(ReducedHull, self).__init__(kernel, targets, settings)
        positive = int((self.targets > 0).sum())
        for name, k, count in (
            ("k_plus", settings.k_plus, positive),
            ("k_minus", settings.k_minus, self.n - positive),
        ):
            if k > count * (1.0 + 1e-12):
                raise UsageError(
                    f"reduced-hull: {name}={k:g} leaves the hull of its class empty ({count} points); take at most {count}."
                )
        self.cap = max(self.caps)

    @property
    def caps(self) -> tuple[float, float]:
        return 1.0 / self.settings.k_plus, 1.0 / self.settings.k_minus

    def restrict(self, indices: Any) -> Problem:
        indices = np.asarray(indices, dtype=np.intp)
        return type(self)(self.kernel.restrict(indices), self.targets[indices], self.settings)


def with_doubled_k(problem: HardMargin) -> HardMargin | None:
    """Return ``problem`` with twice the k of each class, at most its examples; None where neither can grow."""
    counts = int((problem.targets > 0).sum()), int((problem.targets < 0).sum())
    k = [min(2.0 / cap, float(count)) for cap, count in zip(problem.caps, counts, strict=True)]
    if all(new * cap <= 1.0 + 1e-9 for new, cap in zip(k, problem.caps, strict=True)):
        return None
    if isinstance(problem, PerClassHull):
        return PerClassHull(problem.kernel, problem.targets, PerClassParameters(k_plus=k[0], k_minus=k[1]))
    if min(k) * min(problem.caps) <= 1.0 + 1e-9:
        return None
    return ReducedHull(problem.kernel, problem.targets, ReducedHull.parameter_class(D=1.0 / min(k)))


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
        both classes may have the same part of outliers; the oracle must heed two caps, as 'qp' and 'smo-block' do

    Raises
    ------
    UsageError : an unknown oracle, or a share that is not positive.
    OracleFailure : the oracle fails on one of the problems.
    """
    if share is not None and not share > 0.0:
        raise UsageError(f"share={share:g} asked of smallest_separating_k; k_- = share * k_+ needs a positive number.")
    name = oracle if isinstance(oracle, str) else oracle.name
    positive = int((problem.targets > 0).sum())
    counts = positive, problem.n - positive

    def pair(k: int) -> tuple[int, int]:
        return (k, k) if share is None else (k, min(counts[1], max(1, math.ceil(share * k - 1e-9))))

    asked = Oracle(name, _GAP, solver=None if isinstance(oracle, str) else oracle)

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


def _capped(problem: HardMargin, k: tuple[int, int], *, common: bool) -> HardMargin:
    if common:
        return ReducedHull(problem.kernel, problem.targets, ReducedHull.parameter_class(D=1.0 / k[0]))
    return PerClassHull(problem.kernel, problem.targets, PerClassParameters(k_plus=k[0], k_minus=k[1]))
