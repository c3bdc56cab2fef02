"""Upper bounds of the widest margin after giving up a share of the points, for any number of points.

Any k points of a hull that are given up have at most the share q = k max u of any weights u on its points (u >= 0, sum 1). The
retained points then have at least 1 - q, and Cantelli's inequality bounds their least score along a unit vector w:

    least <= <w, p> + sigma(w) sqrt(q / (1 - q)),    p = sum u_i x_i,  sigma^2(w) = sum u_i <w, x_i - p>^2

So the margin is at most the largest <w, m> + sqrt(w' M w) over unit vectors w, with m = p (for two hulls p_+ - p_-) and M a
weighted sum of the covariances of u and v (see _Split): the largest length of a point of an ellipsoid about m. Its square is the
minimum over lambda > mu_max of lambda + sum_i m_i^2 lambda / (lambda - mu_i) in M's eigenbasis, so every lambda gives an upper
bound. Every pair u, v gives one too; good pairs are searched as in a game, against the worst w so far.

If there are few points, a second bound are k + 1 disjoint pairs of points of the hulls, one of which is left whichever k points
are given up, see `harness_rgd.nearest.bound_by_disjoint_pairs`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.support.arrays import Block, Vector
from harness_rgd.coordinates import Coordinates
from harness_rgd.outlier_search import products

if TYPE_CHECKING:
    from harness_rgd.outlier_margin import OutlierMargin

_MAX_STEPS = 20  # largest number of steps of the game
_MAX_WORK = 2e10  # largest number of multiplications of all steps
_TRIMS = 3  # number of concentration steps before the game
_MIX_FRACTIONS = 1.0, 0.4, 0.15, 0.05  # fractions of the best response that a step tries
_WINDOWS = 8  # number of window sizes among which a best response is searched
_MANY_SPLITS = 3  # number of splits beyond which the weights of the hulls depend only on the factors
_PIECES = 8  # number of pieces of the splits for the last bound
_MAX_SQUARED = 1e100  # squared length of points beyond which there is no bound
_ROUNDING = 1e-11  # rounding error of squared lengths, relative to the largest; a generous bound
_CROWDED = 2  # the bound by pairs is skipped if pairs of the first one's support would need more than this multiple of n points
_MAX_PAIR_POINTS = 3000  # largest number of points for the bound by pairs, whose inner products are in memory
_MAX_VALUES = 60_000_000  # largest number of features of all points for the bound by pairs


def upper_margin(problem: OutlierMargin) -> float:
    """Return the smallest known upper bound of the optimal margin, rounding included."""
    return min(bound_by_pairs(problem), Relaxation(problem).bound())


@dataclass(frozen=True)
class _Weights:
    """Weights on the points of a hull, and their moments in coordinates.

    members : the points of the hull
    given_up : largest number of them that may be given up
    values : (n,) the weights
    rest : (2,) mean squared length, and mean length, of the points' rests outside of the coordinates
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

    def mix(self, other: _Weights, fraction: float) -> _Weights:
        """Return (1 - fraction) of these weights plus ``fraction`` of the other weights."""
        names = "values", "mean", "products", "rest"
        mixed = {name: (1.0 - fraction) * getattr(self, name) + fraction * getattr(other, name) for name in names}
        return replace(self, **mixed)

    def factor(self, count: int) -> float:
        """Return sqrt(q / (1 - q)) for ``count`` points given up; infinite if they may have all the weight."""
        share = count * float(self.values.max()) * (1.0 + 1e-12)
        return math.sqrt(share / (1.0 - share)) if share < 1.0 else math.inf

    def covariance(self, ridge: float) -> tuple[Block, float]:
        """Return upper bounds of the covariance in coordinates and of the largest variance outside of them.

        C <= (1 + s) C_F + (1 + 1/s) C_rest for any s > 0; the s that balances both is used.
        """
        covariance = self.products - np.outer(self.mean, self.mean)
        outside = float(self.rest[0]) + ridge * float(self.values.max())
        size = max(float(np.trace(covariance)), 0.0)
        if outside <= 0.0 or size <= 0.0:
            return covariance, outside
        s = math.sqrt(outside / size)
        return (1.0 + s) * covariance, (1.0 + 1.0 / s) * outside


@dataclass(frozen=True)
class _Split:
    """The least and the largest number of points that the first hull gives up, ``both`` minus which the second gives up.

    With c the factors of the counts, c_+ sigma_+ + c_- sigma_- <= sqrt((c_+^2 / a + c_-^2 / b) (a sigma_+^2 + b sigma_-^2))
    for any a, b > 0. The first bracket is convex in the count, so its maximum is at an end.
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


def _ratio(factor: float, weight: float) -> float:
    return 0.0 if factor == 0.0 else factor**2 / weight if weight > 0.0 else math.inf


@dataclass(frozen=True)
class _Longest:
    """A squared bound, and the unit vector in coordinates that attains it."""

    squared: float
    w: Vector


class Relaxation:
    """Upper bound of the margin by weights on the points of the hulls."""

    def __init__(self, problem: OutlierMargin) -> None:
        self.points, self.ridge = Coordinates(problem.kernel), problem.kernel.ridge
        self.share = problem.share
        self.hulls = [(np.flatnonzero(problem.positive), self.share.positive)]
        if not problem.against_origin:
            self.hulls.append((np.flatnonzero(~problem.positive), self.share.negative))

    def bound(self) -> float:
        """Return the smallest bound of a few steps; infinite if the points are too large to be squared in float64."""
        if not self.points.largest < _MAX_SQUARED:
            return math.inf
        weights = [_Weights.over(self.points, members, count, members) for members, count in self.hulls]
        work = 2.0 * self.points.n * (self.points.width + 10.0) ** 2  # of a step
        steps = int(np.clip(_MAX_WORK / work, 2, _MAX_STEPS))
        start, longest = weights, self._longest(weights, self._splits(1))
        for _ in range(_TRIMS if steps > _TRIMS and self.share.both else 0):
            weights = [self._trimmed(hull) for hull in weights]
            shorter = self._longest(weights, self._splits(1))
            if shorter.squared < longest.squared:
                start, longest = weights, shorter
        weights = best = start
        least = longest.squared
        for _ in range(steps if self.share.both else 0):
            responses = self._best_responses(weights, longest.w)
            candidates = [
                [hull.mix(response, fraction) for hull, response in zip(weights, responses, strict=True)]
                for fraction in _MIX_FRACTIONS
            ]
            bounds = [self._longest(candidate, self._splits(1)) for candidate in candidates]
            chosen = int(np.argmin([bound.squared for bound in bounds]))
            weights, longest = candidates[chosen], bounds[chosen]
            if longest.squared < least:
                least, best = longest.squared, weights
        least = min(least, self._longest(best, self._splits(_PIECES)).squared)
        return math.sqrt(least + _ROUNDING * self.points.largest) * (1.0 + 1e-12)

    def _splits(self, pieces: int) -> list[_Split]:
        """Return the splits of the given-up points over the hulls, in at most ``pieces`` ranges."""
        both = self.share.both
        if len(self.hulls) == 1:
            return [_Split(both, both, both)]
        counts = np.asarray(self.share.splits())
        parts = np.array_split(counts, min(pieces, len(counts)))
        return [_Split(int(part[0]), int(part[-1]), both) for part in parts]

    def _longest(self, weights: list[_Weights], splits: list[_Split]) -> _Longest:
        """Return the largest bound over the splits."""
        covariances = [hull.covariance(self.ridge) for hull in weights]
        m = weights[0].mean + self.points.centre if len(weights) == 1 else weights[0].mean - weights[1].mean
        outside = float(sum(hull.rest[1] for hull in weights)) ** 2
        outside += self.ridge * sum(float(hull.values @ hull.values) for hull in weights)
        return max(
            (self._bound_split(weights, covariances, m, outside, split) for split in splits), key=attrgetter("squared")
        )

    def _bound_split(
        self, weights: list[_Weights], covariances: Any, m: Vector, outside: float, split: _Split
    ) -> _Longest:
        first = weights[0].factor(split.most)
        if len(weights) == 1:
            return _longest(m, outside, first**2 * covariances[0][0], first**2 * covariances[0][1])
        second = weights[1].factor(split.both - split.least)
        if math.isinf(first) or math.isinf(second):
            return _Longest(math.inf, m)
        bounds, hull_weights = [], [(first**2, second**2)]
        if split.most - split.least <= _MANY_SPLITS:
            traces = [max(float(np.trace(covariance)) + rest, 0.0) for covariance, rest in covariances]
            hull_weights.insert(0, (_divide_by_root(first, traces[0]), _divide_by_root(second, traces[1])))
        for a, b in hull_weights:
            bracket = split.bracket(weights[0], weights[1], a, b)
            matrix = bracket * (a * covariances[0][0] + b * covariances[1][0]) if bracket else 0.0 * covariances[0][0]
            rest = bracket * (a * covariances[0][1] + b * covariances[1][1])
            bounds.append(_longest(m, outside, matrix, rest))
        return min(bounds, key=attrgetter("squared"))

    def _trimmed(self, weights: _Weights) -> _Weights:
        """Return equal weights on all points of a hull except the farthest ones that may be given up.

        Distances are in the covariance of the current weights, as in the concentration steps of Rousseeuw and Van
        Driessen, Technometrics 41 (1999).
        """
        covariance = weights.covariance(self.ridge)[0]
        size, retained = float(np.trace(covariance)), len(weights.members) - weights.given_up
        if retained <= weights.given_up or size <= _ROUNDING * self.points.largest:
            return weights
        values, axes = np.linalg.eigh(covariance)
        root = axes / np.sqrt(np.maximum(values, 0.0) + 1e-9 * size)
        distances = self.points.distances(weights.mean, root.T, weights.members)
        nearest = weights.members[np.sort(np.argpartition(distances, retained - 1)[:retained])]
        return _Weights.over(self.points, weights.members, weights.given_up, nearest)

    def _best_responses(self, weights: list[_Weights], w: Vector) -> list[_Weights]:
        """Return for each hull the equal weights on neighbours along w with the smallest bound of the margin along w."""
        scores = self.points.along(w)
        responses = []
        for sign, hull in zip((1.0, -1.0), weights, strict=False):
            along = sign * scores[hull.members]
            order = np.argsort(along, kind="stable")
            start, size = _best_window(along[order], hull.given_up)
            chosen = hull.members[order[start : start + size]]
            responses.append(_Weights.over(self.points, hull.members, hull.given_up, chosen))
        return responses


def _divide_by_root(factor: float, trace: float) -> float:
    return factor / math.sqrt(trace) if trace > 0.0 else factor


def _best_window(ordered: Vector, given_up: int) -> tuple[int, int]:
    """Return start and size of the window of ascending values with the smallest mean + factor times deviation."""
    n = len(ordered)
    sizes = np.unique(np.geomspace(min(given_up + 1, n), n, _WINDOWS).astype(int))
    shifted = ordered - ordered.mean()
    sums, squares = (np.concatenate([[0.0], np.cumsum(values)]) for values in (shifted, shifted**2))
    best = (math.inf, 0, n)
    for size in sizes[sizes > given_up].tolist():
        mean = (sums[size:] - sums[:-size]) / size
        variance = np.maximum((squares[size:] - squares[:-size]) / size - mean**2, 0.0)
        values = mean + np.sqrt(variance * given_up / (size - given_up))
        start = int(np.argmin(values))
        best = min(best, (float(values[start]), start, size))
    return best[1], best[2]


def _longest(m: Vector, outside: float, matrix: Block, rest: float) -> _Longest:
    """Return the largest |m + z|^2 over z in the ellipsoid of ``matrix`` with a further axis of squared length ``rest``.

    outside : upper bound of the squared length of m along that axis
    """
    values, axes = np.linalg.eigh(matrix)
    along = axes.T @ m
    mu = np.append(np.maximum(values, 0.0) + _ROUNDING * max(float(np.trace(matrix)), 0.0), rest)
    squares = np.append(along**2, outside)
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
    squared = high + float((squares * high / (high - mu)).sum())
    return _Longest(squared, w / length if length > 0.0 else axes[:, -1])


def bound_by_pairs(problem: OutlierMargin) -> float:
    """Return the bound by disjoint pairs; infinite if there are too few pairs, or too many points or features."""
    from harness_rgd.nearest import bound_by_disjoint_pairs

    share, n = problem.share, problem.n
    budget = min(share.both, share.positive + share.negative)
    if n > _MAX_PAIR_POINTS or (problem.kernel.is_linear and n * problem.kernel.n_features > _MAX_VALUES):
        return math.inf
    side = np.where(problem.positive, 1, -1)
    gram, rounding = products(problem)
    free = np.where(problem.positive, share.positive > 0, share.negative > 0)
    active, coef = np.ones(n, dtype=bool), np.empty(n)
    bound_by_disjoint_pairs(gram, side, active, free, 0, coef)
    if (budget + 1) * np.count_nonzero(free & (coef != 0.0)) > _CROWDED * n:
        return math.inf
    _, bound = bound_by_disjoint_pairs(gram, side, active, free, budget, coef)
    return math.sqrt(bound + rounding) * (1.0 + 1e-15)
