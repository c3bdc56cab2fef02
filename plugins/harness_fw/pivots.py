"""Coordinates of a kernel's points along a few of them, the pivots, so that w itself can be stored.

    z(x) = L^-1 k(B, x)      k(B, B) = L L'      k(x, x') = <z(x), z(x')> + <r(x), r(x')>

r(x) is what the pivots B do not span of phi(x). With weights that sum to 1 over each of two hulls |r(w)| is at most twice
the largest |r(x)|, so that no score <w, phi(x)> is off by more than twice the largest |r(x)|^2: where that is small compared with
|w|^2 the problem in coordinates is the problem. The point with the largest |r(x)|^2 of a sample becomes the next pivot; where
a sample has missed some that matter, another one takes its place.

S. Fine, K. Scheinberg, "Efficient SVM training using low-rank kernel representations", JMLR 2, 2001; F. R. Bach,
M. I. Jordan, "Kernel independent component analysis", JMLR 3, 2002, section 3.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from harness import KernelOracle
from harness.support.arrays import Index, Matrix, Vector

_SAMPLE = 8192  # points among which pivots are sought, at most
_MOST = 1500  # pivots at most: every round factors a matrix of so many rows
_FIRST = 0.1  # of the largest k(x, x): the residual in the beginning
_ROUNDING = 1e-14  # of the largest k(x, x): a residual this small is rounding
_BLOCK_VALUES = 1 << 20  # kernel values at a time, 8 MB


class Pivots:
    """Pivots of a sample of a kernel's points; more of them as they are needed. Kernel values are counted.

    Parameters
    ----------
    kernel : its ridge is left aside
    sample : points among which pivots are sought
    most : pivots at most

    Attributes
    ----------
    index : (d,) the pivots, in the order in which they came
    """

    def __init__(self, kernel: KernelOracle, sample: Index, most: int) -> None:
        self.kernel = kernel.replace(ridge=0.0)
        self._sample, self._most = sample, min(most, len(sample))
        self._left: Vector = np.array(self.kernel.diagonal()[sample], dtype=np.float64)
        self._floor = _ROUNDING * self.residual
        self._factor: Matrix = np.empty((self._most, len(sample)))  # takes memory only as pivots come
        self._chosen: list[int] = []  # places of the pivots in the sample
        self._lower: Matrix = np.empty((0, 0))
        self.index: Index = np.empty(0, dtype=np.intp)
        self.grow(_FIRST * self.residual)

    @classmethod
    def of(cls, kernel: KernelOracle, rng: np.random.Generator) -> Pivots:
        """Return those of a random sample, whose coordinates take up to the memory for kernel rows."""
        sample = np.sort(rng.choice(kernel.n, min(kernel.n, _SAMPLE), replace=False))
        return cls(kernel, sample, max(1, min(_MOST, int(kernel.cache_mb * 2**20 / (8 * len(sample))))))

    @property
    def residual(self) -> float:
        """The largest |r(x)|^2 in the sample."""
        return float(self._left.max(initial=0.0))

    @property
    def exhausted(self) -> bool:
        """True if there are no more pivots to be had."""
        return len(self._chosen) >= self._most or self.residual <= self._floor

    def grow(self, tolerance: float) -> None:
        """Take pivots in until the residual is ``tolerance`` at most, or they are exhausted.

        A vector of coordinates from before is the same point with zeros appended.
        """
        chosen, left = self._chosen, self._left
        while not self.exhausted and self.residual > tolerance:
            place, count = int(left.argmax()), len(chosen)
            row = np.array(self.kernel.block(self._sample[[place]], self._sample)[0], dtype=np.float64)
            row -= self._factor[:count, place] @ self._factor[:count]
            row /= np.sqrt(left[place])
            self._factor[count] = row
            left -= row * row
            chosen.append(place)
            left[chosen] = 0.0  # but for rounding it is
        self.index = self._sample[chosen]
        self._lower = np.ascontiguousarray(self._factor[: len(chosen), chosen].T)

    def watch(self, points: Index) -> None:
        """Seek further pivots among ``points``, the first of them that fit into the sample; the pivots stay."""
        count = len(self.index)
        others = points[~np.isin(points, self.index)][: len(self._sample) - count]
        self._sample = np.concatenate([self.index, others])
        self._factor = np.empty((self._most, len(self._sample)))
        self._factor[:count] = self.solve(self.kernel.block(self.index, self._sample))
        self._left = self.kernel.diagonal()[self._sample] - (self._factor[:count] ** 2).sum(axis=0)
        self._chosen = list(range(count))
        self._left[:count] = 0.0

    def solve(self, right: Any, *, transposed: bool = False) -> Any:
        """Return L^-1 ``right``, (d,) or (d, q); ``transposed``: with L'."""
        import scipy.linalg

        if not len(self.index):
            return right
        return scipy.linalg.solve_triangular(
            self._lower, right, lower=True, trans=1 if transposed else 0, check_finite=False
        )


class Coordinates:
    """Points along pivots, in place of the features of a linear kernel: the calls of ``harness.Features`` that take w.

    No coordinates are stored: they are computed again from kernel values, which are counted, whenever they are needed.

    Parameters
    ----------
    points : those that count, by the numbers 0 .. q-1; None: all of the kernel's
    ridge : what the formulation adds to k(x_i, x_i); no call of this object adds it
    """

    def __init__(self, pivots: Pivots, ridge: float, points: Index | None = None) -> None:
        self.pivots, self.ridge, self._points = pivots, ridge, points
        self.n = pivots.kernel.n if points is None else len(points)

    @property
    def d(self) -> int:
        """Number of pivots."""
        return len(self.pivots.index)

    def expansion(self, weights: Vector) -> Vector:
        """Return c with sum_i c_i phi(x_i) = ``weights``, (n,) over all of the kernel's points."""
        coef = np.zeros(self.pivots.kernel.n)
        coef[self.pivots.index] = self.pivots.solve(weights, transposed=True)
        return coef

    def scores(self, weights: Vector) -> Vector:
        """Return <z(x), weights> of all points, (n,); n d evaluations."""
        return self.pivots.kernel.expand(self.expansion(weights), self._points)

    def add(self, points: Index, coef: Vector, weights: Vector) -> Vector:
        """Add sum_k coef_k z(x_{points_k}) to ``weights``, (d,), in place, and return it; d evaluations a point."""
        total = np.zeros(self.d)
        step = max(1, _BLOCK_VALUES // max(1, self.d))
        for start in range(0, len(points), step):
            part = slice(start, start + step)
            total += self._values(points[part]) @ coef[part]
        weights += self.pivots.solve(total)
        return weights

    def rows(self, points: Index) -> Matrix:
        """Return z(x) of each of ``points``, (q, d); d evaluations a point."""
        return np.asarray(self.pivots.solve(self._values(points))).T

    def _values(self, points: Index) -> Matrix:
        """Return k(B, points), (d, q)."""
        values: Matrix = self.pivots.kernel.block(
            self.pivots.index, points if self._points is None else self._points[points]
        )
        return values
