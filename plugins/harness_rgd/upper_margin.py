"""Upper bounds of the widest margin after giving up a share of the points, for any number of them.

Whatever k points of a hull are given up, they hold at most the part q = k max u of any weights u on its points (u >= 0,
sum 1). What is kept then holds 1 - q at least, and Cantelli's inequality bounds its least score along a unit w:

    least <= <w, p> + sigma(w) sqrt(q / (1 - q)),    p = sum u_i x_i,  sigma^2(w) = sum u_i <w, x_i - p>^2

So the margin is at most the largest of <w, m> + sqrt(w' M w) over unit w, m = p (of two hulls p_+ - p_-) and M what
the covariances of u, v sum to (see _Split): the length of the longest point of an ellipsoid about m. Its square is the
least over lambda > mu_max of lambda + sum_i m_i^2 lambda / (lambda - mu_i) in M's eigenbasis; no lambda is below it.
Nor is any pair u, v: it is looked for as in a game, against the worst w so far.

Beside it, where points are few: k + 1 disjoint pairs of points of the hulls, of which one stays whole, see
`harness_rgd.nearest.groups`. Bounds for the part of the points hold for all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.support.arrays import Block, Vector
from harness_rgd.coordinates import Coordinates
from harness_rgd.giving_up import products

if TYPE_CHECKING:
    from harness_rgd.outlier_margin import OutlierMargin

_STEPS = 20
_WORK = 2e10  # products of numbers that the steps may take
_TRIMS = 3
_MIXED = 1.0, 0.4, 0.15, 0.05  # parts of the answer to the worst direction that are tried
_WINDOWS = 8  # sizes of windows that answers are looked for among
_WIDE = 3  # splits beyond which the factors alone decide how the hulls are weighed
_PIECES = 8  # that the splits of a share over both hulls are cut into in the end
_LARGEST = 1e100
_ROUNDING = 1e-11  # of squared lengths, relative to the longest: far beyond what sums and eigenvalues lose
_CROWDED = 2  # pairs as large as the first are not looked for where they would take so many times all points
_MAX_PEELED = 3000  # points whose inner products are in memory at once
_MAX_VALUES = 60_000_000  # features of all points that are in memory at once


def upper_margin(problem: OutlierMargin) -> float:
    """Return the least upper bound of the optimal margin that is known, rounding included."""
    return min(peeled(problem), Relaxation(problem).bound())


@dataclass(frozen=True)
class _Weights:
    """Weights on the points of one hull: (n,) values, and their moments in coordinates.

    members : the points of the hull
    given_up : the largest number that may be
    rest : (2,) squared length that the coordinates leave out: its mean, and the mean of its root
    """

    members: Any
    given_up: int
    values: Vector
    mean: Vector
    products: Block
    rest: Vector

    @classmethod
    def over(cls, points: Coordinates, members: Any, given_up: int, chosen: Any) -> _Weights:
        """Return equal weights on the points ``chosen``."""
        values = np.zeros(points.n)
        values[chosen] = 1.0 / len(chosen)
        rest = points.rest[chosen]
        return cls(members, given_up, values, *points.moments(chosen), np.array([rest.mean(), np.sqrt(rest).mean()]))

    def mixed(self, other: _Weights, part: float) -> _Weights:
        """Return (1 - part) of these weights and ``part`` of the others."""
        names = "values", "mean", "products", "rest"
        mixed = {name: (1.0 - part) * getattr(self, name) + part * getattr(other, name) for name in names}
        return replace(self, **mixed)

    def factor(self, count: int) -> float:
        """Return sqrt(q / (1 - q)) of ``count`` points given up; infinite where they may hold all the weight."""
        share = count * float(self.values.max()) * (1.0 + 1e-12)
        return math.sqrt(share / (1.0 - share)) if share < 1.0 else math.inf

    def covariance(self, ridge: float) -> tuple[Block, float]:
        """Return the covariance in coordinates, and a bound of what lies beyond them, as parts of one block matrix.

        C <= (1 + s) C_F + (1 + 1/s) C_rest for any s > 0: the root of what makes both alike.
        """
        within = self.products - np.outer(self.mean, self.mean)
        beyond = float(self.rest[0]) + ridge * float(self.values.max())
        size = max(float(np.trace(within)), 0.0)
        if beyond <= 0.0 or size <= 0.0:
            return within, beyond
        s = math.sqrt(beyond / size)
        return (1.0 + s) * within, (1.0 + 1.0 / s) * beyond


@dataclass(frozen=True)
class _Split:
    """How many points the first hull may give up at least and at most, and the second in turn.

    With c the factors of the counts, c_+ sigma_+ + c_- sigma_- <= sqrt((c_+^2 / a + c_-^2 / b) (a sigma_+^2 + b sigma_-^2))
    for any a, b > 0. The first bracket is convex in the count, so that its largest value is at an end.
    """

    least: int
    most: int
    both: int

    def bracket(self, first: _Weights, second: _Weights, a: float, b: float) -> float:
        """Return the largest value of the first bracket."""
        return max(
            _ratio(first.factor(count), a) + _ratio(second.factor(self.both - count), b)
            for count in (self.least, self.most)
        )


def _ratio(factor: float, part: float) -> float:
    return 0.0 if factor == 0.0 else factor**2 / part if part > 0.0 else math.inf


@dataclass(frozen=True)
class _Longest:
    """A bound, squared, and the unit direction, in coordinates, that it is due to."""

    squared: float
    w: Vector


class Relaxation:
    """The bound by weights on the points of the hulls of one problem."""

    def __init__(self, problem: OutlierMargin) -> None:
        self.points, self.ridge = Coordinates(problem.kernel), problem.kernel.ridge
        self.share = problem.share
        self.hulls = [(np.flatnonzero(problem.positive), self.share.positive)]
        if not problem.against_origin:
            self.hulls.append((np.flatnonzero(~problem.positive), self.share.negative))

    def bound(self) -> float:
        """Return the least bound that a few steps find; all of them hold. Infinite beyond what float64 can square."""
        if not self.points.largest < _LARGEST:
            return math.inf
        weights = [_Weights.over(self.points, members, count, members) for members, count in self.hulls]
        steps = int(np.clip(_WORK / (2.0 * self.points.n * (self.points.width + 10.0) ** 2), 2, _STEPS))
        start, longest = weights, self._longest(weights, self._splits(1))
        for _ in range(_TRIMS if steps > _TRIMS and self.share.both else 0):
            weights = [self._trimmed(each) for each in weights]
            shorter = self._longest(weights, self._splits(1))
            if shorter.squared < longest.squared:
                start, longest = weights, shorter
        weights = best = start
        least = longest.squared
        for _ in range(steps if self.share.both else 0):
            answers = self._answers(weights, longest.w)
            tried = [[one.mixed(other, part) for one, other in zip(weights, answers, strict=True)] for part in _MIXED]
            found = [self._longest(each, self._splits(1)) for each in tried]
            chosen = int(np.argmin([each.squared for each in found]))
            weights, longest = tried[chosen], found[chosen]
            if longest.squared < least:
                least, best = longest.squared, weights
        least = min(least, self._longest(best, self._splits(_PIECES)).squared)
        return math.sqrt(least + _ROUNDING * self.points.largest) * (1.0 + 1e-12)

    def _splits(self, pieces: int) -> list[_Split]:
        """Return the ways to split what is given up over the hulls, cut into at most so many pieces."""
        both = self.share.both
        if len(self.hulls) == 1:
            return [_Split(both, both, both)]
        counts = np.asarray(self.share.splits())
        parts = np.array_split(counts, min(pieces, len(counts)))
        return [_Split(int(part[0]), int(part[-1]), both) for part in parts]

    def _longest(self, weights: list[_Weights], splits: list[_Split]) -> _Longest:
        """Return the bound of the worst of the splits."""
        covariances = [each.covariance(self.ridge) for each in weights]
        m = weights[0].mean + self.points.centre if len(weights) == 1 else weights[0].mean - weights[1].mean
        beyond = float(sum(each.rest[1] for each in weights)) ** 2
        beyond += self.ridge * sum(float(each.values @ each.values) for each in weights)
        return max(
            (self._of_split(weights, covariances, m, beyond, split) for split in splits), key=attrgetter("squared")
        )

    def _of_split(self, weights: list[_Weights], covariances: Any, m: Vector, beyond: float, split: _Split) -> _Longest:
        first = weights[0].factor(split.most)
        if len(weights) == 1:
            return _longest(m, beyond, first**2 * covariances[0][0], first**2 * covariances[0][1])
        second = weights[1].factor(split.both - split.least)
        if math.isinf(first) or math.isinf(second):
            return _Longest(math.inf, m)
        spreads = [max(float(np.trace(each[0])) + each[1], 0.0) for each in covariances]
        found = []
        ways = [(first**2, second**2)] if split.most - split.least > _WIDE else []
        for a, b in ways or [(_even(first, spreads[0]), _even(second, spreads[1])), (first**2, second**2)]:
            bracket = split.bracket(weights[0], weights[1], a, b)
            within = bracket * (a * covariances[0][0] + b * covariances[1][0]) if bracket else 0.0 * covariances[0][0]
            rest = bracket * (a * covariances[0][1] + b * covariances[1][1])
            found.append(_longest(m, beyond, within, rest))
        return min(found, key=attrgetter("squared"))

    def _trimmed(self, weights: _Weights) -> _Weights:
        """Return equal weights on all points of a hull but as many as may be given up: those that lie farthest out.

        Far is measured in the covariance of the weights so far, as by the concentration steps of Rousseeuw and Van
        Driessen, Technometrics 41 (1999).
        """
        within = weights.covariance(self.ridge)[0]
        size, kept = float(np.trace(within)), len(weights.members) - weights.given_up
        if kept <= weights.given_up or size <= _ROUNDING * self.points.largest:
            return weights
        values, axes = np.linalg.eigh(within)
        root = axes / np.sqrt(np.maximum(values, 0.0) + 1e-9 * size)
        apart = self.points.apart(weights.mean, root.T, weights.members)
        nearest = weights.members[np.sort(np.argpartition(apart, kept - 1)[:kept])]
        return _Weights.over(self.points, weights.members, weights.given_up, nearest)

    def _answers(self, weights: list[_Weights], w: Vector) -> list[_Weights]:
        """Return, for each hull, the equal weights on neighbours along w that bound the margin along w best."""
        scores = self.points.along(w)
        found = []
        for sign, each in zip((1.0, -1.0), weights, strict=False):
            along = sign * scores[each.members]
            order = np.argsort(along, kind="stable")
            start, size = _best_window(along[order], each.given_up)
            found.append(
                _Weights.over(self.points, each.members, each.given_up, each.members[order[start : start + size]])
            )
        return found


def _even(factor: float, spread: float) -> float:
    return factor / math.sqrt(spread) if spread > 0.0 else factor


def _best_window(ordered: Vector, given_up: int) -> tuple[int, int]:
    """Return start and size of the run of ascending values whose mean + factor times deviation is least."""
    n = len(ordered)
    sizes = np.unique(np.geomspace(min(given_up + 1, n), n, _WINDOWS).astype(int))
    shifted = ordered - ordered.mean()
    sums, squares = (np.concatenate([[0.0], np.cumsum(each)]) for each in (shifted, shifted**2))
    best = (math.inf, 0, n)
    for size in sizes[sizes > given_up].tolist():
        mean = (sums[size:] - sums[:-size]) / size
        variance = np.maximum((squares[size:] - squares[:-size]) / size - mean**2, 0.0)
        values = mean + np.sqrt(variance * given_up / (size - given_up))
        start = int(np.argmin(values))
        best = min(best, (float(values[start]), start, size))
    return best[1], best[2]


def _longest(m: Vector, beyond: float, matrix: Block, rest: float) -> _Longest:
    """Return the largest |m + z|^2 over z in the ellipsoid of ``matrix``, and one more axis of squared length ``rest``.

    beyond : squared length of m along that axis, at most
    """
    values, axes = np.linalg.eigh(matrix)
    along = axes.T @ m
    mu = np.append(np.maximum(values, 0.0) + _ROUNDING * max(float(np.trace(matrix)), 0.0), rest)
    squares = np.append(along**2, beyond)
    top = float(mu.max())
    if top <= 0.0:
        return _Longest(float(squares.sum()), m)
    low, high = top * (1.0 + 1e-13), top + math.sqrt(float(squares @ mu)) + 1e-12 * top
    for _ in range(60):
        middle = 0.5 * (low + high)
        rising = float((squares * mu / (middle - mu) ** 2).sum()) < 1.0 if middle > top else False
        low, high = (low, middle) if rising else (middle, high)
    w = axes @ (along / (high - mu[:-1]))
    length = float(np.sqrt(w @ w))
    found = high + float((squares * high / (high - mu)).sum())
    return _Longest(found, w / length if length > 0.0 else axes[:, -1])


def peeled(problem: OutlierMargin) -> float:
    """Return the bound by disjoint pairs; infinite where there are not enough, or too many points or features."""
    from harness_rgd.nearest import groups

    share, n = problem.share, problem.n
    budget = min(share.both, share.positive + share.negative)
    if n > _MAX_PEELED or (problem.kernel.is_linear and n * problem.kernel.n_features > _MAX_VALUES):
        return math.inf
    side = np.where(problem.positive, 1, -1)
    gram, rounding = products(problem)
    free = np.where(problem.positive, share.positive > 0, share.negative > 0)
    everyone, first = np.ones(n, dtype=bool), np.empty(n)
    groups(gram, side, everyone, free, 0, first)
    if (budget + 1) * np.count_nonzero(free & (first != 0.0)) > _CROWDED * n:
        return math.inf
    _, bound = groups(gram, side, everyone, free, budget, first)
    return math.sqrt(bound + rounding) * (1.0 + 1e-15)
