"""What a formulation says of a local solution: which examples violate it, and what a sample must hold.

A violator is an example outside the sample whose constraint the local solution breaks by more than ``slack``. The slack
is such that a solution without violators is optimal on all points to the relative gap asked for: half of the gap is
the oracle's on the sample, the other half is shared by the points outside.
"""

from __future__ import annotations

import math

import numpy as np

from harness import CSVC, Linear, Poly, Problem
from harness.problems import EpsSVR, HardMargin
from harness.registry.subproblem_oracle import Answer
from harness.support.arrays import Index, Mask, Vector

_HULL_SHARE = 1 / 8  # of the gap, which doubles twice on its way from the two levels to |w|^2


class HullRule:
    """Hard-margin and reduced-hull: (P1) and (P2). A positive example violates if <w, x> < theta_+.

    theta_+ is the k-th smallest projection of the sample's positives, k = 1 / D: where the free weights sit, and the
    farthest outlier where there is none (Balcazar et al., Lemma 3.2 (c) and the remark of Lemma 4.1).

    gap : relative gap that a solution without violators has on all points
    """

    def __init__(self, problem: HardMargin, gap: float) -> None:
        self.problem, self.gap = problem, gap
        self.k = (_needed(problem.caps[0]), _needed(problem.caps[1]))
        self.levels, self.slack = (0.0, 0.0), 0.0

    def needs(self) -> list[tuple[Mask, int]]:
        """Return sets of points, (n,) bool, and how many of each a sample must hold to define a subproblem."""
        positive = self.problem.targets > 0
        return [(positive, self.k[0]), (~positive, self.k[1])]

    def dimension_bound(self) -> int:
        """Return k (n + 1), n the attributes or the kernel's features, at most the points (Balcazar et al., Lemma 4.2)."""
        return min(self.problem.n, max(self.k) * (features(self.problem) + 1))

    def learn(self, sample: Index, answer: Answer) -> None:
        """Take the solution of the points ``sample``, (r,), whose violators will be asked for."""
        positive, scores = self.problem.targets[sample] > 0, answer.scores
        self.slack = _HULL_SHARE * self.gap * max(0.0, 2.0 * (answer.certificate.dual or 0.0))
        self.levels = _smallest(scores[positive], self.k[0]), -_smallest(-scores[~positive], self.k[1])

    def violates(self, scores: Vector, first: int, last: int) -> Mask:
        """Return which of the points first .. last - 1 violate, from their ``scores`` = K coef, (last - first,)."""
        positive = self.problem.targets[first:last] > 0
        below, above = scores < self.levels[0] - self.slack, scores > self.levels[1] + self.slack
        return np.where(positive, below, above)


class LossRule:
    """c-svc and eps-svr: a point outside the sample violates if it has a loss, so that its coefficient cannot stay zero.

    gap : as of :class:`HullRule`
    tau : the slack itself, in units of f(x), if it is not to follow from the gap; None: it does
    """

    def __init__(self, problem: CSVC | EpsSVR, gap: float, tau: float | None = None) -> None:
        self.problem, self.gap, self.tau = problem, gap, tau
        self.prices: Vector = problem.upper if isinstance(problem, CSVC) else np.full(problem.n, problem.C)
        self.intercept, self.slack = 0.0, 0.0

    def needs(self) -> list[tuple[Mask, int]]:
        """As of :class:`HullRule`."""
        sides = [self.problem.targets > 0, self.problem.targets < 0] if isinstance(self.problem, CSVC) else []
        return [(members, 1) for members in sides if members.any()]

    def dimension_bound(self) -> int:
        """Return the number of points: no better bound is known of the number of support vectors."""
        return self.problem.n

    def learn(self, sample: Index, answer: Answer) -> None:
        """As of :class:`HullRule`."""
        self.intercept = answer.intercept
        shared = 0.5 * self.gap * abs(answer.certificate.primal or 0.0) / float(self.prices.sum())
        self.slack = shared if self.tau is None else self.tau

    def violates(self, scores: Vector, first: int, last: int) -> Mask:
        """As of :class:`HullRule`."""
        return self._off(scores, first, last) > self.slack

    def loss(self, scores: Vector, first: int, last: int) -> Vector:
        """Return what each of the points first .. last - 1 adds to the primal objective outside of a sample."""
        return self.prices[first:last] * np.maximum(0.0, self._off(scores, first, last))

    def _off(self, scores: Vector, first: int, last: int) -> Vector:
        """Return 1 - y f, or |y - f| - epsilon: the loss of a point where it is positive."""
        y, f = self.problem.targets[first:last], scores + self.intercept
        off: Vector = 1.0 - y * f if isinstance(self.problem, CSVC) else np.abs(y - f) - self.problem.epsilon
        return off


def rule_of(problem: Problem, gap: float, tau: float | None = None) -> HullRule | LossRule:
    """Return the rule of the problem's formulation; :meth:`learn` comes before :meth:`violates`."""
    if isinstance(problem, HardMargin):
        return HullRule(problem, gap)
    assert isinstance(problem, CSVC | EpsSVR)
    return LossRule(problem, gap, tau)


def features(problem: Problem) -> int:
    """Return the dimension of the kernel's feature space, at most the number of points."""
    kernel, n = problem.kernel.kernel, problem.n
    # the examples of a tube have the target as one more coordinate (Balcazar et al., section 5)
    more = int(problem.kernel.z is not None)
    if isinstance(kernel, Linear):
        return min(n, problem.kernel.n_features + more)
    if isinstance(kernel, Poly):
        d = problem.kernel.n_features
        # without the constant only the monomials of the full degree are left
        return min(n, math.comb(d + kernel.degree - (kernel.coef0 == 0.0), kernel.degree) + more)
    return n


def _needed(cap: float) -> int:
    """Return how many weights of at most ``cap`` a sum of 1 needs."""
    return max(1, math.ceil(1.0 / cap - 1e-9))


def _smallest(values: Vector, k: int) -> float:
    """Return the k-th smallest of ``values``."""
    return float(np.partition(values, k - 1)[k - 1])
