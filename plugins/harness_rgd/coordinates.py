"""Coordinates of the points for any kernel: the features if it is linear, else a pivoted Cholesky factor.

phi(x_i) = (F_i, rest_i) with r coordinates F_i and an orthogonal rest of known squared length.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from harness import KernelOracle
from harness.support.arrays import Block, Vector

_MAX_FEATURES = 400  # largest number of features that serve as coordinates
_COLUMNS = 300  # largest number of columns of a Cholesky factor
_FACTOR_VALUES = 10_000_000  # largest number of values in a Cholesky factor
_PIECE_VALUES = 2_000_000  # coordinates of points in memory in float64 at a time
_ROUNDING = 1e-12  # squared length of a rest, relative to max k(x, x), that counts as 0


class Coordinates:
    """Centred coordinates of the points of a kernel oracle.

    width : number of coordinates, r
    centre : (r,) the mean of the points, which is subtracted from them
    rest : (n,) squared length of the rest of each point, without the ridge
    largest : upper bound of the squared length of the points, centred or not
    """

    def __init__(self, kernel: KernelOracle) -> None:
        self.n = kernel.n
        features = kernel.features()
        self._factor: Block | None = None
        if features is not None and features.d <= _MAX_FEATURES:
            self._features, self.width, self.rest = features, features.d, np.zeros(kernel.n)
        else:
            self._factor, self.rest = _factor(kernel)
            self.width = self._factor.shape[1]
        self.centre = np.zeros(self.width)
        points = np.arange(self.n)
        self.centre = sum((rows.sum(axis=0) for _, rows in self._pieces(points)), np.zeros(self.width)) / self.n
        largest = max(float(np.max(np.einsum("ij,ij->i", rows, rows))) for _, rows in self._pieces(points))
        # |a + b|^2 <= 2 |a|^2 + 2 |b|^2
        self.largest = 2.0 * (largest + float(self.centre @ self.centre)) + float(self.rest.max()) + kernel.ridge

    def _pieces(self, index: Any) -> Iterator[tuple[slice, Any]]:
        """Yield slices of ``index`` and the coordinates of their points, a piece at a time."""
        step = max(1, _PIECE_VALUES // max(1, self.width))
        for start in range(0, len(index), step):
            part = slice(start, min(start + step, len(index)))
            rows = self._features.rows(index[part]) if self._factor is None else self._factor[index[part]]
            yield part, rows - self.centre

    def along(self, w: Vector) -> Vector:
        """Return <w, F_i> for all points, (n,)."""
        return np.concatenate([rows @ w for _, rows in self._pieces(np.arange(self.n))])

    def distances(self, mean: Vector, root: Block, index: Any) -> Vector:
        """Return |root (F_i - mean)|^2 for the points ``index``."""
        return np.concatenate([np.square((rows - mean) @ root.T).sum(axis=1) for _, rows in self._pieces(index)])

    def moments(self, index: Any) -> tuple[Vector, Block]:
        """Return the mean of the points ``index``, (r,), and of their products F_i F_i', (r, r)."""
        mean, products = np.zeros(self.width), np.zeros((self.width, self.width))
        for _, rows in self._pieces(index):
            mean += rows.sum(axis=0)
            products += rows.T @ rows
        return mean / len(index), products / len(index)


def _factor(kernel: KernelOracle) -> tuple[Block, Vector]:
    """Return columns of a Cholesky factor, each pivot the point with the longest rest, and the squared rests, (n,)."""
    n = kernel.n
    rest = np.maximum(kernel.diagonal() - kernel.ridge, 0.0)
    largest = float(rest.max())
    factor = np.zeros((n, max(1, min(n, _COLUMNS, _FACTOR_VALUES // n))))
    for column in range(factor.shape[1]):
        pivot = int(np.argmax(rest))
        if rest[pivot] <= _ROUNDING * largest:
            factor = factor[:, : max(1, column)]
            break
        values = np.array(kernel.block(np.array([pivot]))[0], dtype=np.float64)
        values[pivot] -= kernel.ridge
        factor[:, column] = (values - factor[:, :column] @ factor[pivot, :column]) / np.sqrt(rest[pivot])
        rest = np.maximum(rest - factor[:, column] ** 2, 0.0)
    return factor, rest + _ROUNDING * largest
