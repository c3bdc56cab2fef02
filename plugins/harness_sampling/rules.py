"""Rules of each formulation: which examples violate the solution of a sample, and which points a sample must contain.

A violator is an example outside the sample whose constraint the solution violates by more than ``slack``. The slack is
such that a solution without violators is optimal on all points to the required relative gap: half of the gap is for the
oracle on the sample, the other half is divided among the points outside.
"""

from __future__ import annotations

import math

import numpy as np

from harness import CSVC, Linear, Poly, Problem
from harness.problems import EpsSVR, HardMargin
from harness.registry.subproblem_oracle import Answer
from harness.support.arrays import Index, Mask, Vector

_HULL_SHARE = 1 / 8  # slack as a fraction of the gap: half of it, which doubles twice from the two levels to |w|^2


class HullRule:
    """Rule of hard-margin and reduced-hull, (P1) and (P2): a positive example violates if <w, x> < theta_+.

    theta_+ is the k-th smallest projection of the sample's positive examples, k = 1 / D: the projection of those with free
    weights, or of the farthest outlier if no weight is free (Balcazar et al., Lemma 3.2 (c) and the remark of Lemma 4.1).

    gap : relative gap that a solution without violators has on all points
    """

    def __init__(self, problem: HardMargin, gap: float) -> None:
        self.problem, self.gap = problem, gap
        self.k = (_count_needed(problem.caps[0]), _count_needed(problem.caps[1]))
        self.levels, self.slack = (0.0, 0.0), 0.0

    def needs(self) -> list[tuple[Mask, int]]:
        """Return sets of points, (n,) bool, and the number of each set that a sample needs to define a subproblem."""
        positive = self.problem.targets > 0
        return [(positive, self.k[0]), (~positive, self.k[1])]

    def dimension_bound(self) -> int:
        """Return k (n + 1), n the number of features, at most the number of points (Balcazar et al., Lemma 4.2)."""
        return min(self.problem.n, max(self.k) * (features(self.problem) + 1))

    def learn(self, sample: Index, answer: Answer) -> None:
        """Set the levels and the slack from the solution of the points ``sample``, (r,)."""
        positive, scores = self.problem.targets[sample] > 0, answer.scores
        self.slack = _HULL_SHARE * self.gap * max(0.0, 2.0 * (answer.certificate.dual or 0.0))
        self.levels = _smallest(scores[positive], self.k[0]), -_smallest(-scores[~positive], self.k[1])

    def violates(self, scores: Vector, first: int, last: int) -> Mask:
        """Return which of the points first .. last - 1 violate, from their ``scores`` = K coef, (last - first,)."""
        positive = self.problem.targets[first:last] > 0
        below, above = scores < self.levels[0] - self.slack, scores > self.levels[1] + self.slack
        return np.where(positive, below, above)


class LossRule:
    """Rule of c-svc and eps-svr: a point outside the sample violates if it has a loss: its optimal coefficient is not zero.

    gap : as for :class:`HullRule`
    tau : the slack in units of f(x); None: the slack that follows from the gap
    """

    def __init__(self, problem: CSVC | EpsSVR, gap: float, tau: float | None = None) -> None:
        self.problem, self.gap, self.tau = problem, gap, tau
        self.prices: Vector = problem.upper if isinstance(problem, CSVC) else np.full(problem.n, problem.C)
        self.intercept, self.slack = 0.0, 0.0

    def needs(self) -> list[tuple[Mask, int]]:
        """Return the same as :meth:`HullRule.needs`."""
        sides = [self.problem.targets > 0, self.problem.targets < 0] if isinstance(self.problem, CSVC) else []
        return [(members, 1) for members in sides if members.any()]

    def dimension_bound(self) -> int:
        """Return the number of points: no better bound of the number of support vectors is known."""
        return self.problem.n

    def learn(self, sample: Index, answer: Answer) -> None:
        """Set the intercept and the slack from the solution of the points ``sample``, (r,)."""
        self.intercept = answer.intercept
        shared = 0.5 * self.gap * abs(answer.certificate.primal or 0.0) / float(self.prices.sum())
        self.slack = shared if self.tau is None else self.tau

    def violates(self, scores: Vector, first: int, last: int) -> Mask:
        """Return the same as :meth:`HullRule.violates`."""
        return self._excess(scores, first, last) > self.slack

    def loss(self, scores: Vector, first: int, last: int) -> Vector:
        """Return the losses of the points first .. last - 1 in the primal objective."""
        return self.prices[first:last] * np.maximum(0.0, self._excess(scores, first, last))

    def _excess(self, scores: Vector, first: int, last: int) -> Vector:
        """Return 1 - y f or |y - f| - epsilon, which is the loss of a point if positive."""
        y, f = self.problem.targets[first:last], scores + self.intercept
        excess: Vector = 1.0 - y * f if isinstance(self.problem, CSVC) else np.abs(y - f) - self.problem.epsilon
        return excess


def rule_of(problem: Problem, gap: float, tau: float | None = None) -> HullRule | LossRule:
    """Return the rule of the problem's formulation; call its :meth:`learn` before :meth:`violates`."""
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
        # without the constant the features are only the monomials of the full degree
        return min(n, math.comb(d + kernel.degree - (kernel.coef0 == 0.0), kernel.degree) + more)
    return n


def _count_needed(cap: float) -> int:
    """Return the least number of weights of at most ``cap`` that sum to 1."""
    return max(1, math.ceil(1.0 / cap - 1e-9))


def _smallest(values: Vector, k: int) -> float:
    """Return the k-th smallest of ``values``."""
    return float(np.partition(values, k - 1)[k - 1])
