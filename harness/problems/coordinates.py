"""Points in coordinates, whatever the kernel: as they are where it is linear, else by a pivoted Cholesky factor.

phi(x_i) = (F_i, rest_i): F_i holds r numbers, and of the rest, which is orthogonal to it, the squared length is known.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from harness.arrays import Block, Vector
    from harness.kernels.oracle import KernelOracle

_WIDEST = 400  # features up to which points are taken as they are
_COLUMNS = 300  # of a Cholesky factor
_ROOM = 10_000_000  # numbers of one
_PIECE = 2_000_000  # numbers of points that are held in float64 at a time
_RESOLVED = 1e-12  # part of the largest k(x, x) below which a rest is rounding


class Coordinates:
    """The points of a kernel oracle in r coordinates about a centre.

    width : r
    centre : (r,) the mean of the points, taken off all of them
    rest : (n,) squared length of what the coordinates leave out, the ridge excepted
    largest : no less than the squared length of any point, centre taken off or not
    """

    def __init__(self, kernel: KernelOracle) -> None:
        self._kernel, self.n = kernel, kernel.n
        self.plain = kernel.is_linear and kernel.n_features <= _WIDEST
        if self.plain:
            self._points, self.rest = kernel.points, np.zeros(kernel.n)
        else:
            self._points, self.rest = _factor(kernel)
        self.width = int(self._points.shape[1])
        self.centre = np.zeros(self.width)
        self.centre = sum((rows.sum(axis=0) for _, rows in self._pieces()), np.zeros(self.width)) / self.n
        lengths = [float(np.max(np.einsum("ij,ij->i", rows, rows))) for _, rows in self._pieces()]
        # |a + b|^2 <= 2 |a|^2 + 2 |b|^2
        self.largest = 2.0 * (max(lengths) + float(self.centre @ self.centre)) + float(self.rest.max()) + kernel.ridge

    def _pieces(self, index: Any = None) -> Iterator[tuple[Any, Any]]:
        """Yield which points, and their coordinates, a piece at a time; all points if ``index`` is None."""
        count = self.n if index is None else len(index)
        step = max(1, _PIECE // max(1, self.width))
        for start in range(0, count, step):
            part = slice(start, min(start + step, count))
            rows = self._points[part if index is None else index[part]]
            self._kernel.count(rows.shape[0] if self.plain else 0)
            dense = rows if isinstance(rows, np.ndarray) else rows.toarray()
            yield part, dense.astype(np.float64) - self.centre

    def along(self, w: Vector) -> Vector:
        """Return <w, F_i> for all points, (n,)."""
        found = np.empty(self.n)
        for part, rows in self._pieces():
            found[part] = rows @ w
        return found

    def apart(self, mean: Vector, root: Block) -> Vector:
        """Return |root (F_i - mean)|^2 for all points, (n,)."""
        found = np.empty(self.n)
        for part, rows in self._pieces():
            found[part] = np.square((rows - mean) @ root.T).sum(axis=1)
        return found

    def moments(self, index: Any) -> tuple[Vector, Block]:
        """Return the mean of the points ``index``, (r,), and of their products F_i F_i', (r, r)."""
        mean, products = np.zeros(self.width), np.zeros((self.width, self.width))
        for _, rows in self._pieces(index):
            mean += rows.sum(axis=0)
            products += rows.T @ rows
        return mean / len(index), products / len(index)


def _factor(kernel: KernelOracle) -> tuple[Block, Vector]:
    """Return columns of a Cholesky factor, each pivot the point that the others describe worst, and the rests, (n,)."""
    n = kernel.n
    rest = np.maximum(kernel.diagonal() - kernel.ridge, 0.0)
    largest = float(rest.max())
    width = max(1, min(n, _COLUMNS, _ROOM // n))
    found = np.zeros((n, width))
    everyone = np.arange(n)
    for column in range(width):
        pivot = int(np.argmax(rest))
        if rest[pivot] <= _RESOLVED * largest:
            found = found[:, : max(1, column)]
            break
        values = np.array(kernel.block(everyone[pivot : pivot + 1])[0], dtype=np.float64)
        values[pivot] -= kernel.ridge
        found[:, column] = (values - found[:, :column] @ found[pivot, :column]) / np.sqrt(rest[pivot])
        rest = np.maximum(rest - found[:, column] ** 2, 0.0)
    return found, rest + _RESOLVED * largest
