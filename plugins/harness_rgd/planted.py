"""Artificial data sets with planted outliers: normal points whose hulls have a given distance, after Ding & Xu (2015).

Section 4 of their paper draws each class from a normal distribution "as arbitrary as possible" and varies the ratio D / rho, on
which the height of an RGD-tree depends. Here the drawn points have exactly the given ratio: if two hulls are disjoint and w is the
shortest vector between them, moving one of them along w changes their distance by the length of the move, and w remains the
shortest vector. So the move follows from one nearest pair.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness import Dataset, DataSource, UsageError, content_sha256, parameter, refuse_beyond, rounded_down
from harness.support.arrays import Mask, Matrix, Vector

Rng = np.random.Generator
Arrays = tuple[Matrix, Vector, Mask, Matrix, Vector]  # training points, labels, outlier mask; test points, labels

_COPIES = 4  # largest number of arrays of the size of all points and labels in memory while drawing
_GAP = 1e-9  # relative gap of the squared distance of two hulls
_MAX_STEPS = 20_000  # steps of the search for that distance; if it needs more, the margin is wider than documented
_MAX_EXACT_POINTS = 20_000  # number of points up to which the diameter is the maximum over all pairs
_ROWS = 256  # number of points whose distances to all others are computed at a time


@dataclass(frozen=True)
class GaussianOutliers(DataSource):
    """Two normal distributions with random covariances; a share of each class's training points is from the other one.

    The size of each class is drawn between ``least`` and ``most``, and that of its test points between ``test`` times these. A
    covariance is S R S, with R a correlation matrix whose eigenvectors are a random orthogonal basis and S^2 the variances of the
    features, drawn between 1 and ``spread``, both of which occur.

    ``ratio`` is D / rho. rho is the distance between the hulls of the inliers of the two classes, the margin if the outliers are
    known. D is the largest distance between two inliers of a class; of more than 20,000 inliers it is the largest distance in a
    sequence of farthest points. rho is at least D / ratio and exceeds it by at most one part in a million. Each class has
    ``outliers`` times its size outliers, rounded down, as many as a formulation with that share may give up.
    """

    name = "gaussian-outliers"
    description = (
        "Two normal clouds with arbitrary covariances (Ding & Xu 2015, section 4), one for each label; a share of the "
        "training labels is wrong."
    )
    least: int = parameter(1000, "smallest number of training points of a class; the number is drawn", ge=2)
    most: int = parameter(3000, "largest number of training points of a class", ge=2)
    test: int = parameter(10, "test points: their range over that of the training points; 0: none", ge=0)
    d: int = parameter(100, "features", ge=2)
    ratio: float = parameter(10.0, "D / rho, diameter of a class over the margin between the inliers", gt=0)
    outliers: float = parameter(0.1, "share of a class's training points that belong to the other", ge=0, lt=0.5)
    spread: float = parameter(10.0, "largest over smallest variance of a feature", ge=1)
    seed: int = parameter(0, "seed of the draw", ge=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.most < self.least:
            raise UsageError(
                f"data set '{self.name}': least={self.least} and most={self.most}, but most must be at least {self.least}: "
                "the number of points of a class is drawn between both."
            )

    def load(self) -> Dataset:
        """Draw the points and return the data set."""
        return _loaded(self, 2 * self.most * (1 + self.test), self._drawn)

    def _drawn(self, shapes: Rng, training: Rng, testing: Rng) -> Arrays:
        roots = [_root(self.d, self.spread, shapes) for _ in range(2)]
        sizes = training.integers(self.least, self.most, size=2, endpoint=True)
        wrong = [rounded_down(self.outliers * size) for size in sizes]
        inliers = sizes - wrong
        # the inliers of a class, then its points with the label of the other class
        counts = [inliers[0], wrong[1], inliers[1], wrong[0]]
        positive = _cloud(inliers[0] + wrong[1], roots[0], training)
        negative = _cloud(inliers[1] + wrong[0], roots[1], training)
        half = 0.5 * _offset(positive[: inliers[0]], negative[: inliers[1]], self.ratio, shapes)
        tested = testing.integers(self.test * self.least, self.test * self.most, size=2, endpoint=True)
        return (
            np.vstack([positive + half, negative - half]),
            np.repeat([1.0, -1.0, -1.0, 1.0], counts),
            np.repeat([False, True, False, True], counts),
            np.vstack([_cloud(tested[0], roots[0], testing) + half, _cloud(tested[1], roots[1], testing) - half]),
            np.repeat([1.0, -1.0], tested),
        )


@dataclass(frozen=True)
class OneClassOutliers(DataSource):
    """A normal distribution away from the origin, +1, and outliers around the origin, -1, in training and test points.

    The covariance is drawn as in ``gaussian-outliers``. The outliers have the same covariance and mean 0, so that no hyperplane
    separates the origin from all points. ``ratio`` is D / rho, with rho the distance of the hull of the training inliers from the
    origin and D its diameter, as exact as in ``gaussian-outliers``. One-class training ignores the labels; they are for testing.
    """

    name = "one-class-outliers"
    description = "A normal cloud away from the origin and outliers around the origin, for one class; +1 is the cloud, -1 an outlier."
    n: int = parameter(1000, "number of training points, including outliers", ge=2)
    n_test: int = parameter(10_000, "number of test points, with the same share of outliers", ge=0)
    d: int = parameter(100, "features", ge=2)
    ratio: float = parameter(10.0, "D / rho, diameter of the inliers over their distance from the origin", gt=0)
    outliers: float = parameter(0.1, "share of the points that are outliers, rounded down", gt=0, lt=0.5)
    spread: float = parameter(10.0, "largest over smallest variance of a feature", ge=1)
    seed: int = parameter(0, "seed of the draw", ge=0)

    def load(self) -> Dataset:
        """Draw the points and return the data set."""
        return _loaded(self, self.n + self.n_test, self._drawn, nu=self.outliers, against="origin")

    def _drawn(self, shapes: Rng, training: Rng, testing: Rng) -> Arrays:
        root = _root(self.d, self.spread, shapes)
        x, x_test = _cloud(self.n, root, training), _cloud(self.n_test, root, testing)
        y, y_test = (np.where(np.arange(n) < rounded_down(self.outliers * n), -1.0, 1.0) for n in (self.n, self.n_test))
        offset = _offset(x[y > 0], np.zeros((1, self.d)), self.ratio, shapes)
        x[y > 0] += offset
        x_test[y_test > 0] += offset
        return x, y, y < 0, x_test, y_test


def _loaded(
    source: GaussianOutliers | OneClassOutliers, points: int, drawn: Callable[..., Arrays], **defaults: Any
) -> Dataset:
    """Return the data set of the arrays that ``drawn`` draws from three random streams (shapes, training, testing), shuffled."""
    from threadpoolctl import threadpool_limits

    numbers = points * (source.d + 1) + 2 * source.d**2  # of points, labels, and factors of the covariances
    refuse_beyond(8 * _COPIES * numbers, source.label, "drawing it", "or choose smaller sizes")
    shapes, training, testing = np.random.default_rng(source.seed).spawn(3)
    with threadpool_limits(1, user_api="blas"):  # the number of threads changes the rounding of products
        x, y, planted, x_test, y_test = drawn(shapes, training, testing)
    rows, tested = training.permutation(len(y)), testing.permutation(len(y_test))
    arrays = x[rows], y[rows], x_test[tested], y_test[tested]
    defaults = {"kernel": "linear", "C": 1.0, "outliers": source.outliers, **defaults}
    return Dataset(source.label, *arrays, content_sha256(*arrays), defaults=defaults, planted=planted[rows])


def _root(d: int, spread: float, rng: Rng) -> Matrix:
    """Return a (d, d) square root A of a random covariance A A', whose diagonal is in [1, spread] and contains both ends."""
    basis, upper = np.linalg.qr(rng.standard_normal((d, d)))
    basis *= np.sign(np.diag(upper))  # makes the orthogonal basis uniformly distributed
    root = basis * np.sqrt(rng.random(d))
    variances = rng.uniform(1.0, spread, d)
    variances[rng.permutation(d)[:2]] = 1.0, spread
    return np.asarray(root * np.sqrt(variances / (root**2).sum(axis=1))[:, None])


def _cloud(n: int, root: Matrix, rng: Rng) -> Matrix:
    return np.asarray(rng.standard_normal((n, len(root))) @ root.T)


def _offset(p: Matrix, q: Matrix, ratio: float, rng: Rng) -> Vector:
    """Return the (d,) move of ``p``, roughly in a random direction, after which its hull is D / ratio from that of ``q``."""
    direction = rng.standard_normal(p.shape[1])
    direction /= np.linalg.norm(direction)
    diameter = max(_diameter(p), _diameter(q))
    far = float((q @ direction).max() - (p @ direction).min()) + 0.5 * diameter
    start = far * direction
    w = _shortest(p, q, start)
    unit = w / np.linalg.norm(w)
    margin = float((p @ unit).min() + start @ unit - (q @ unit).max())
    return np.asarray(start - (margin - diameter / ratio) * unit)


def _diameter(x: Matrix) -> float:
    """Return the largest distance of two rows; for many rows the largest in a sequence of farthest points."""
    squares = np.einsum("ij,ij->i", x, x)

    def squared(rows: Any) -> Matrix:
        return np.asarray(squares[rows, None] + squares - 2.0 * (x[rows] @ x.T))

    if len(x) <= _MAX_EXACT_POINTS:
        starts = range(0, len(x), _ROWS)
        return math.sqrt(max(0.0, *(float(squared(slice(start, start + _ROWS)).max()) for start in starts)))
    largest, distances = 0.0, squared([squares.argmax()])
    while distances.max() > largest:
        largest, distances = float(distances.max()), squared([distances.argmax()])
    return math.sqrt(largest)


def _shortest(p: Matrix, q: Matrix, offset: Vector) -> Vector:
    """Return the shortest (d,) vector from conv(q) to conv(p + offset), which are disjoint.

    Wolfe's search for the point of least norm (Mathematical Programming 11, 1976) among the differences of two points.
    """
    atoms, weights = (p[:1] + offset) - q[:1], np.ones(1)
    for _ in range(_MAX_STEPS):
        w = weights @ atoms
        nearest = p[int((p @ w).argmin())] + offset - q[int((q @ w).argmax())]
        if w @ (w - nearest) <= _GAP * (w @ w) or (atoms == nearest).all(axis=1).any():
            break
        atoms, weights = np.vstack([atoms, nearest]), np.append(weights, 0.0)
        while ((minimum := _affine_minimum(atoms)) <= 0.0).any():
            falling = np.flatnonzero(minimum <= 0.0)
            steps = weights[falling] / (weights[falling] - minimum[falling])
            weights = weights + steps.min() * (minimum - weights)
            weights[falling[steps.argmin()]] = 0.0
            positive = weights > 0.0
            atoms, weights = atoms[positive], weights[positive] / weights[positive].sum()
        weights = minimum
    return np.asarray(weights @ atoms)


def _affine_minimum(atoms: Matrix) -> Vector:
    """Return the weights, with sum 1, of the point of least norm in the affine hull of the atoms."""
    gram = atoms @ atoms.T
    weights = np.linalg.solve(gram + gram.max(), np.ones(len(atoms)))  # the constant makes d + 1 atoms solvable too
    return np.asarray(weights / weights.sum())
