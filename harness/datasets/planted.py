"""Artificial sets with planted outliers: normal points whose hulls are a known distance apart, after Ding & Xu (2015).

Section 4 of their paper draws each class from a normal distribution "as arbitrary as possible" and varies the ratio
D / rho, on which the height of an RGD-tree depends. That ratio is exact here, of the points drawn: where two hulls are
apart and w is the shortest vector between them, moving one of them along w changes their distance by as much, and w
stays the shortest vector. So one nearest pair is found, and the move is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.datasets.dataset import Dataset
from harness.datasets.generators import Drawn
from harness.datasets.splitting import parts
from harness.errors import UsageError
from harness.parameters import parameter
from harness.shares import rounded_down

if TYPE_CHECKING:
    from harness.arrays import Mask, Matrix, Vector

_GAP = 1e-9  # relative, of the squared distance of two hulls
_STEPS = 20_000  # of the search for it; points so many that it is not enough have a somewhat wider margin than said
_EXACT = 20_000  # points whose diameter is looked for among all pairs
_ROWS = 256  # of these pairs at a time


@dataclass(frozen=True)
class GaussianOutliers(Drawn):
    """Two normal distributions with random covariances; in training, a share of each class is drawn from the other one.

    The sizes of the classes are drawn, each by itself, between ``least`` and ``most``, and ``test`` times as many for
    testing. A covariance is S R S: R a correlation matrix with eigenvectors of a random orthogonal basis, S^2 the
    variances of the features, drawn between 1 and ``spread``, both of which occur.

    ``ratio`` is D / rho: rho the distance between the hulls of the two classes' inliers, that is the width of the margin
    that an oracle who knows the outliers finds; D the largest distance between two inliers of one class (beyond 20,000 of
    them: the greatest that a search by farthest points meets). rho is never less than D / ratio, and not wider by more
    than a part in a million. Of each class ``outliers`` times its size are outliers, rounded down: what a formulation
    with that share may give up.
    """

    name = "gaussian-outliers"
    description = (
        "Two normal clouds with arbitrary covariances (Ding & Xu 2015, section 4); +1 is one of them, a share of the "
        "training labels is wrong."
    )
    least: int = parameter(1000, "training points of a class, at least; its size is drawn", ge=2)
    most: int = parameter(3000, "training points of a class, at most", ge=2)
    test: int = parameter(10, "test points: so many times the sizes of training, drawn anew; 0: none", ge=0)
    d: int = parameter(100, "features", ge=2)
    ratio: float = parameter(10.0, "D / rho, diameter of a class over the margin between the inliers", gt=0)
    outliers: float = parameter(
        0.1, "share of the training points of each class that belong to the other", ge=0, lt=0.5
    )
    spread: float = parameter(10.0, "largest over smallest variance of a feature", ge=1)
    seed: int = parameter(0, "seed of the draw", ge=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.most < self.least:
            raise UsageError(
                f"data set '{self.name}': least={self.least} and most={self.most}; the size of a class is drawn between "
                "both. Give a most that is not below least."
            )

    def values(self) -> int:
        """Return how many numbers drawing holds: the points and what their covariances are made of."""
        return 2 * self.most * (1 + self.test) * (self.d + 1) + 2 * self.d**2

    def drawn(self) -> Dataset:
        """Return the points, drawn anew."""
        shapes, training, testing = np.random.default_rng(self.seed).spawn(3)
        roots = [_root(self.d, self.spread, shapes) for _ in range(2)]
        direction = _direction(self.d, shapes)
        sizes = training.integers(self.least, self.most, size=2, endpoint=True)
        wrong = [rounded_down(self.outliers * size) for size in sizes]
        inliers = sizes - wrong
        # a class's inliers, then what it lends to the other class
        clouds = [_cloud(inliers[c] + wrong[1 - c], roots[c], training) for c in range(2)]
        offset = _offset(clouds[0][: inliers[0]], clouds[1][: inliers[1]], direction, self.ratio)
        offsets = (0.5 * offset, -0.5 * offset)
        x = np.vstack([clouds[c] + offsets[c] for c in range(2)])
        belongs = np.repeat([1.0, -1.0], [len(cloud) for cloud in clouds])
        planted = np.concatenate([np.arange(len(clouds[c])) >= inliers[c] for c in range(2)])
        y = np.where(planted, -belongs, belongs)
        tested = testing.integers(self.test * self.least, self.test * self.most, size=2, endpoint=True)
        x_test = np.vstack([_cloud(tested[c], roots[c], testing) + offsets[c] for c in range(2)])
        y_test = np.repeat([1.0, -1.0], tested)
        defaults = {"kernel": "linear", "C": 1.0, "outliers": self.outliers}
        return _shuffled((x, y, planted, training), (x_test, y_test, testing), defaults)


@dataclass(frozen=True)
class OneClassOutliers(Drawn):
    """One normal distribution away from the origin, +1, and outliers around the origin, -1, in both parts.

    The covariance is drawn as in ``gaussian-outliers``; the outliers have the same one, and the origin for their mean, so
    that the origin lies amid them and no plane separates it from all points. ``ratio`` is D / rho: rho the distance of the
    hull of the training inliers from the origin, D its diameter, as exact as there. Labels take no part in training one
    class; they say what a test finds.
    """

    name = "one-class-outliers"
    description = "A normal cloud away from the origin and outliers around the origin, for one class; +1 is the cloud, -1 an outlier."
    n: int = parameter(1000, "training points, the outliers among them", ge=2)
    n_test: int = parameter(10_000, "test points, as many outliers among them in proportion", ge=0)
    d: int = parameter(100, "features", ge=2)
    ratio: float = parameter(10.0, "D / rho, diameter of the inliers over their distance from the origin", gt=0)
    outliers: float = parameter(0.1, "share of the points that are outliers, rounded down", gt=0, lt=0.5)
    spread: float = parameter(10.0, "largest over smallest variance of a feature", ge=1)
    seed: int = parameter(0, "seed of the draw", ge=0)

    def values(self) -> int:
        """Return how many numbers drawing holds: the points and what their covariance is made of."""
        return (self.n + self.n_test) * (self.d + 1) + 2 * self.d**2

    def drawn(self) -> Dataset:
        """Return the points, drawn anew."""
        shapes, training, testing = np.random.default_rng(self.seed).spawn(3)
        root, direction = _root(self.d, self.spread, shapes), _direction(self.d, shapes)
        x, y = self._centred(self.n, root, training)
        offset = _offset(x[y > 0], np.zeros((1, self.d)), direction, self.ratio)
        x_test, y_test = self._centred(self.n_test, root, testing)
        x[y > 0] += offset
        x_test[y_test > 0] += offset
        defaults = {"kernel": "linear", "C": 1.0, "nu": self.outliers, "outliers": self.outliers, "against": "origin"}
        return _shuffled((x, y, y < 0, training), (x_test, y_test, testing), defaults)

    def _centred(self, n: int, root: Matrix, rng: np.random.Generator) -> tuple[Matrix, Vector]:
        return _cloud(n, root, rng), np.where(np.arange(n) < rounded_down(self.outliers * n), -1.0, 1.0)


def _shuffled(
    train: tuple[Matrix, Vector, Mask, np.random.Generator],
    test: tuple[Matrix, Vector, np.random.Generator],
    defaults: dict[str, Any],
) -> Dataset:
    """Return the parts in random order: (points, labels, planted, stream) and (points, labels, stream)."""
    (x, y, planted, for_training), (x_test, y_test, for_test) = train, test
    rows, tested = for_training.permutation(len(y)), for_test.permutation(len(y_test))
    return parts(x[rows], y[rows], x_test[tested], y_test[tested], defaults=defaults, planted=planted[rows])


def _root(d: int, spread: float, rng: np.random.Generator) -> Matrix:
    """Return a (d, d) square root A of a random covariance A A', whose diagonal lies in [1, spread] and meets both ends."""
    basis, upper = np.linalg.qr(rng.standard_normal((d, d)))
    basis *= np.sign(np.diag(upper))  # of all orthogonal ones equally likely
    root = basis * np.sqrt(rng.random(d))
    variances = rng.uniform(1.0, spread, d)
    variances[rng.permutation(d)[:2]] = 1.0, spread
    return np.asarray(root * np.sqrt(variances / (root**2).sum(axis=1))[:, None])


def _direction(d: int, rng: np.random.Generator) -> Vector:
    drawn = rng.standard_normal(d)
    return np.asarray(drawn / np.linalg.norm(drawn))


def _cloud(n: int, root: Matrix, rng: np.random.Generator) -> Matrix:
    return np.asarray(rng.standard_normal((n, len(root))) @ root.T)


def _offset(p: Matrix, q: Matrix, direction: Vector, ratio: float) -> Vector:
    """Return the (d,) move of ``p`` after which its hull is D / ratio from that of ``q``, roughly in a ``direction``."""
    diameter = max(_diameter(p), _diameter(q))
    far = float((q @ direction).max() - (p @ direction).min()) + 0.5 * diameter
    start = far * direction
    w = _shortest(p, q, start)
    unit = w / np.linalg.norm(w)
    margin = float((p @ unit).min() + start @ unit - (q @ unit).max())
    return np.asarray(start - (margin - diameter / ratio) * unit)


def _diameter(x: Matrix) -> float:
    """Return the largest distance of two rows, for many rows the greatest of a chain from each to its farthest one."""
    squares = np.einsum("ij,ij->i", x, x)
    largest, starts = 0.0, range(0, len(x), _ROWS)
    if len(x) <= _EXACT:
        for start in starts:
            rows = slice(start, start + _ROWS)
            largest = max(largest, float((squares[rows, None] + squares - 2.0 * (x[rows] @ x.T)).max()))
        return float(np.sqrt(largest))
    row = int(squares.argmax())
    while True:
        squared = squares[row] + squares - 2.0 * (x @ x[row])
        row = int(squared.argmax())
        if squared[row] <= largest:
            return float(np.sqrt(largest))
        largest = float(squared[row])


def _shortest(p: Matrix, q: Matrix, offset: Vector) -> Vector:
    """Return the shortest (d,) vector from conv(q) to conv(p + offset), two hulls that are apart.

    Wolfe's search for the point of least norm (Mathematical Programming 11, 1976) among the differences of two points.
    """
    atoms = (p[:1] + offset) - q[:1]
    weights = np.ones(1)
    for _ in range(_STEPS):
        w = weights @ atoms
        nearest = p[int((p @ w).argmin())] + offset - q[int((q @ w).argmax())]
        if w @ (w - nearest) <= _GAP * (w @ w) or (atoms == nearest).all(axis=1).any():
            break
        atoms, weights = np.vstack([atoms, nearest]), np.append(weights, 0.0)
        while True:
            gram = atoms @ atoms.T
            # of the plane through all atoms, the point of least norm; the constant makes it that of d + 1 atoms as well
            flat = np.linalg.solve(gram + gram.max(), np.ones(len(atoms)))
            flat /= flat.sum()
            if (flat > 0.0).all():
                weights = flat
                break
            falling = flat <= 0.0
            steps = weights[falling] / (weights[falling] - flat[falling])
            weights = weights + steps.min() * (flat - weights)
            gone = np.flatnonzero(falling)[int(steps.argmin())]
            kept = (weights > 0.0) & (np.arange(len(weights)) != gone)
            atoms, weights = atoms[kept], weights[kept] / weights[kept].sum()
    return np.asarray(weights @ atoms)
