"""Artificial data sets, drawn from their seed with any number of points and a known best rule.

If the definition gives the classes equal probability, they get equal numbers of points (-1 one more if n is odd), so that
n = 2 already defines a problem. The test points come from a separate stream and do not change with ``n``.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from harness.datasets.bounds import refuse_beyond
from harness.datasets.dataset import Dataset, DataSource, Task, named
from harness.datasets.splitting import parts, rbf
from harness.support.parameters import parameter

if TYPE_CHECKING:
    from harness.support.arrays import Matrix, Vector

COPIES = 4  # largest number of arrays of the size of the points in memory while drawing (measured: 2 to 4)


@dataclass(frozen=True)
class Generator(DataSource):
    """A distribution to draw from; a subclass draws, and names the C and gamma that suit it."""

    task: ClassVar[Task] = "classification"
    defaults: ClassVar[Mapping[str, Any]]
    n: int = parameter(1000, "training points", ge=2)
    n_test: int = parameter(10_000, "test points", ge=0)
    seed: int = parameter(0, "seed of the draw", ge=0)

    @abstractmethod
    def draw(self, n: int, rng: np.random.Generator) -> tuple[Matrix, Vector]:
        """Return (n, d) points and their (n,) labels, -1 or +1, or real targets in regression."""

    def load(self) -> Dataset:
        """Return the points for training and those for testing; the same seed gives the same bits on one machine.

        Raises
        ------
        DataError : drawing would take more memory than reading may.
        """
        width = self.draw(0, np.random.default_rng(0))[0].shape[1] + 1
        refuse_beyond(8 * COPIES * (self.n + self.n_test) * width, self.label, "drawing it", "or choose smaller sizes")
        for_training, for_test = np.random.default_rng(self.seed).spawn(2)
        arrays = (*self.draw(self.n, for_training), *self.draw(self.n_test, for_test))
        return named(parts(*arrays, task=self.task, defaults=self.defaults), self.label)


def _balanced_labels(n: int, rng: np.random.Generator) -> Vector:
    return rng.permutation(np.where(np.arange(n) % 2, 1.0, -1.0))


@dataclass(frozen=True)
class Twonorm(Generator):
    """Two normal distributions in 20 dimensions (Breiman 1996, Bias, variance, and arcing classifiers, TR 460).

    +1: mean (a, ..., a), -1: mean (-a, ..., -a), a = 2/sqrt(20), both with unit covariance. The best rule is
    the sign of the sum of the features; its error is Phi(-2) = 2.28 %.
    """

    name = "twonorm"
    description = "Breiman's twonorm (1996): unit normals in 20-D with means +-(2/sqrt 20); +1 has the positive one."
    defaults = rbf(gamma=0.05, c=1.0)

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Matrix, Vector]:
        y = _balanced_labels(n, rng)
        return rng.standard_normal((n, 20)) + y[:, None] * (2.0 / np.sqrt(20.0)), y


@dataclass(frozen=True)
class Ringnorm(Generator):
    """A wide normal distribution around a narrow one in 20 dimensions (Breiman 1996, TR 460; Delve's ringnorm).

    +1 (his class 1): mean 0, covariance 4 I. -1 (his class 2): mean (a, ..., a), a = 2/sqrt(20), unit covariance.
    The error of the best rule is 1.24 % (likelihood ratio on 10^6 draws; Breiman gives 1.3 %). With
    a = 1/sqrt(20), also in use, it would be 1.51 %. The paper of RandSVM, section 5.1.1, has "mean 1" for the wide class:
    ``mean=1``.
    """

    name = "ringnorm"
    description = "Breiman's ringnorm (1996): normals in 20-D; +1 has mean 0 and covariance 4 I, -1 is narrow."
    defaults = rbf(gamma=0.05, c=1.0)
    mean: float = parameter(0.0, "mean of each feature of the wide class; Breiman: 0")

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Matrix, Vector]:
        y = _balanced_labels(n, rng)
        z = rng.standard_normal((n, 20))
        return np.where(y[:, None] > 0, 2.0 * z + self.mean, z + 2.0 / np.sqrt(20.0)), y


@dataclass(frozen=True)
class Checkerboard(Generator):
    """Points on a board of cells x cells unit squares whose colours are the classes.

    The cell (i, j) = (floor x1, floor x2) belongs to +1 if i + j is even. Each class is uniform on its cells.
    """

    name = "checkerboard"
    description = "Uniform points on [0, cells)^2; +1 on the cells whose column and row add to an even number."
    defaults = rbf(gamma=4.0, c=100.0)
    cells: int = parameter(4, "cells along each side", ge=2, le=10**6)

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Matrix, Vector]:
        y = _balanced_labels(n, rng)
        # Drawing the cell from its class, not the class from the cell, makes the classes equal in size. Of each two cells,
        # row by row, one belongs to each class.
        cell = np.empty(n, dtype=np.int64)
        for positive in (True, False):
            rows = (y > 0) == positive
            cell[rows] = 2 * rng.integers((self.cells**2 + positive) // 2, size=rows.sum())
        i, j = np.divmod(cell, self.cells)
        cell += (i + j + (y < 0)) % 2
        # Rounding must not carry a point over the edge: the greatest float below 1 added to 3 is 4.
        corner = np.column_stack(np.divmod(cell, self.cells)).astype(np.float64)
        x = np.minimum(corner + rng.random((n, 2)), np.nextafter(corner + 1.0, 0.0))
        return x, y


@dataclass(frozen=True)
class WaveformBreiman(Generator):
    """Noisy mixtures of two of three triangular waves (Breiman, Friedman, Olshen, Stone 1984, CART, section 2.6.2).

    At i = 1..21 the waves are h1(i) = max(6 - |i - 11|, 0), h2(i) = h1(i - 4), h3(i) = h1(i + 4). A point of class
    0, 1 or 2 is u ha + (1 - u) hb + e with (a, b) = (1, 2), (1, 3) or (2, 3), one u uniform on [0, 1] for the
    point, e standard normal for each feature. The three classes have equal numbers; class 0 is +1, the others are -1.
    """

    name = "waveform-breiman"
    description = "Breiman's waveform (CART, 1984): noisy mixtures of triangles, 21 features; +1 is class 0 of three."
    defaults = rbf(gamma=0.05, c=1.0)

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Matrix, Vector]:
        of_class = rng.permutation(np.arange(n) % 3)
        i = np.arange(1, 22)
        h = np.maximum(6.0 - np.abs(i - np.array([[11], [15], [7]])), 0.0)  # h2 peaks at 15, h3 at 7
        first, second = np.array([0, 0, 1])[of_class], np.array([1, 2, 2])[of_class]
        u = rng.random((n, 1))
        x = u * h[first] + (1.0 - u) * h[second] + rng.standard_normal((n, 21))
        return x, np.where(of_class == 0, 1.0, -1.0)


@dataclass(frozen=True)
class BananaLike(Generator):
    """Two interleaved crescents in the plane, about as large and as noisy as Raetsch's banana (another set).

    With t uniform on [0, pi] and e isotropic normal of standard deviation ``spread``: +1 is
    (2 cos t - 1, 2 sin t - 1/2) + e, an arch; -1 is (1 - 2 cos t, 1/2 - 2 sin t) + e, the arch turned by 180 degrees.
    """

    name = "banana-like"
    description = "Two interleaved noisy half circles of radius 2 in the plane, like banana; +1 is the upper one."
    defaults = rbf(gamma=0.5, c=316.0)
    spread: float = parameter(0.6, "standard deviation of the noise around the half circles", ge=0)

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Matrix, Vector]:
        y = _balanced_labels(n, rng)
        t = rng.uniform(0.0, np.pi, n)
        arch = np.column_stack([2.0 * np.cos(t) - 1.0, 2.0 * np.sin(t) - 0.5])
        return y[:, None] * arch + self.spread * rng.standard_normal((n, 2)), y


@dataclass(frozen=True)
class Friedman(Generator):
    """Ten features, five of them in use, and a smooth target with unit noise (Friedman 1991, Annals of Statistics 19).

    x uniform on [0, 1]^10, y = 10 sin(pi x1 x2) + 20 (x3 - 1/2)^2 + 10 x4 + 5 x5 + N(0, 1); no function has a mean squared
    error below 1. The RandSVM paper, section 5.2.1, prints the third term without its square: ``square=no``. Its results
    are those of the square: their mean squared error and rho together give targets with a variance of 24, the square's
    (24.8); without it the variance is 55.9.
    """

    name = "friedman"
    description = "Friedman's ten-feature regression (1991) with unit noise, as in the RandSVM paper. C chosen here."
    defaults = {**rbf(gamma=0.5, c=100.0), "epsilon": 1.0}
    task = "regression"
    square: bool = parameter(True, "20 (x3 - 1/2)^2, not 20 (x3 - 1/2)")

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Matrix, Vector]:
        x = rng.random((n, 10))
        third = x[:, 2] - 0.5
        smooth = 10.0 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20.0 * (third**2 if self.square else third)
        return x, smooth + 10.0 * x[:, 3] + 5.0 * x[:, 4] + rng.standard_normal(n)
