"""What a formulation says of a local solution: which examples violate it, and what a sample must hold.

A violator is an example outside the sample whose constraint the local solution breaks by more than ``slack``. The slack
is such that a solution without violators is optimal on all points to the relative gap asked for: half of the gap is
the oracle's on the sample, the other half is shared by the points outside.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from harness import CSVC, EpsSVR, HardMargin, Linear, Poly, Problem

if TYPE_CHECKING:
    from harness.arrays import Index, Mask, Vector
    from harness_sampling.oracle import Answer

_HULL_SHARE = 1 / 8  # of the gap, which doubles twice on its way from the two levels to |w|^2


class Rule(ABC):
    """One problem's notion of a violator; :meth:`learn` comes before :meth:`violates`.

    gap : relative gap that a solution without violators has on all points
    tau : the slack itself, in units of f(x), if it is not to follow from the gap; None: it does
    """

    def __init__(self, problem: Problem, gap: float, tau: float | None = None) -> None:
        self.problem, self.gap, self.tau, self.n = problem, gap, tau, problem.n

    @property
    def oracle_gap(self) -> float:
        """The relative gap that the oracle is asked for."""
        return 0.5 * self.gap

    @abstractmethod
    def needs(self) -> list[tuple[Mask, int]]:
        """Return sets of points, (n,) bool, and how many of each a sample must hold to define a subproblem."""

    @abstractmethod
    def dimension_bound(self) -> int:
        """Return the paper's bound of the combinatorial dimension."""

    @abstractmethod
    def learn(self, sample: Index, answer: Answer) -> None:
        """Take the solution of the points ``sample``, (r,), whose violators will be asked for."""

    @abstractmethod
    def violates(self, scores: Vector, first: int, last: int) -> Mask:
        """Return which of the points first .. last - 1 violate, from their ``scores`` = K coef, (last - first,)."""


class HullRule(Rule):
    """Hard-margin and reduced-hull: (P1) and (P2). A positive example violates if <w, x> < theta_+.

    theta_+ is the k-th smallest projection of the sample's positives, k = 1 / D: where the free weights sit, and the
    farthest outlier where there is none (Balcazar et al., Lemma 3.2 (c) and the remark of Lemma 4.1).
    """

    def __init__(self, problem: Problem, gap: float, tau: float | None = None) -> None:
        super().__init__(problem, gap, tau)
        assert isinstance(problem, HardMargin)
        self.k = (_needed(problem.caps[0]), _needed(problem.caps[1]))
        self.levels = (0.0, 0.0)
        self.slack = 0.0

    def needs(self) -> list[tuple[Mask, int]]:
        positive = self.problem.targets > 0
        return [(positive, self.k[0]), (~positive, self.k[1])]

    def dimension_bound(self) -> int:
        """Return k (n + 1), n the attributes or the kernel's features, at most the points (Balcazar et al., Lemma 4.2)."""
        return min(self.n, max(self.k) * (features(self.problem) + 1))

    def learn(self, sample: Index, answer: Answer) -> None:
        positive = self.problem.targets[sample] > 0
        squared = max(0.0, 2.0 * (answer.certificate.dual or 0.0))
        self.slack = _HULL_SHARE * self.gap * squared if self.tau is None else self.tau
        self.levels = (
            _smallest(answer.scores[positive], self.k[0]),
            -_smallest(-answer.scores[~positive], self.k[1]),
        )

    def violates(self, scores: Vector, first: int, last: int) -> Mask:
        positive = self.problem.targets[first:last] > 0
        below, above = scores < self.levels[0] - self.slack, scores > self.levels[1] + self.slack
        return np.where(positive, below, above)


class LossRule(Rule):
    """What the rules of c-svc and eps-svr share, where f + b alone decides whether a point outside the sample violates.

    cost : the sum of the bounds of all coefficients
    """

    def __init__(self, problem: Problem, gap: float, tau: float | None, cost: float) -> None:
        super().__init__(problem, gap, tau)
        self.cost = cost
        self.intercept, self.slack = 0.0, 0.0

    def dimension_bound(self) -> int:
        """Return the number of points: no better bound is known of the number of support vectors."""
        return self.n

    def learn(self, sample: Index, answer: Answer) -> None:
        self.intercept = answer.intercept
        shared = 0.5 * self.gap * max(1.0, abs(answer.certificate.primal or 0.0)) / self.cost
        self.slack = shared if self.tau is None else self.tau

    @abstractmethod
    def loss(self, scores: Vector, first: int, last: int) -> Vector:
        """Return what each of the points first .. last - 1 adds to the primal objective outside of a sample."""


class CSVCRule(LossRule):
    """c-svc: a point outside the sample violates if y (f + b) < 1: its coefficient cannot stay zero."""

    def __init__(self, problem: Problem, gap: float, tau: float | None = None) -> None:
        assert isinstance(problem, CSVC)
        super().__init__(problem, gap, tau, float(problem.upper.sum()))
        self.upper = problem.upper

    def needs(self) -> list[tuple[Mask, int]]:
        positive = self.problem.targets > 0
        return [(members, 1) for members in (positive, ~positive) if members.any()]

    def loss(self, scores: Vector, first: int, last: int) -> Vector:
        hinge = np.maximum(0.0, 1.0 - self.problem.targets[first:last] * (scores + self.intercept))
        return np.asarray(self.upper[first:last] * hinge)

    def violates(self, scores: Vector, first: int, last: int) -> Mask:
        return np.asarray(self.problem.targets[first:last] * (scores + self.intercept) < 1.0 - self.slack)


class EpsSVRRule(LossRule):
    """eps-svr: a point outside the sample violates if it lies outside the tube, |y - f - b| > epsilon."""

    def __init__(self, problem: Problem, gap: float, tau: float | None = None) -> None:
        assert isinstance(problem, EpsSVR)
        super().__init__(problem, gap, tau, problem.C * problem.n)
        self.problem: EpsSVR = problem

    def needs(self) -> list[tuple[Mask, int]]:
        return []

    def loss(self, scores: Vector, first: int, last: int) -> Vector:
        return np.asarray(self.problem.C * np.maximum(0.0, self._off(scores, first, last) - self.problem.epsilon))

    def violates(self, scores: Vector, first: int, last: int) -> Mask:
        return np.asarray(self._off(scores, first, last) > self.problem.epsilon + self.slack)

    def _off(self, scores: Vector, first: int, last: int) -> Vector:
        return np.asarray(np.abs(self.problem.targets[first:last] - scores - self.intercept))


def rule_of(problem: Problem, gap: float, tau: float | None = None) -> Rule:
    """Return the rule of the problem's formulation."""
    kinds: list[tuple[type[Problem], type[Rule]]] = [(HardMargin, HullRule), (CSVC, CSVCRule), (EpsSVR, EpsSVRRule)]
    return next(rule for formulation, rule in kinds if isinstance(problem, formulation))(problem, gap, tau)


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
