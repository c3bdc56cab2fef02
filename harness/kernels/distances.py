"""Squared distances of all points from each other, computed once for kernels of several widths.

The RBF kernel of any width is one exponential of what is stored: a grid of widths need not pass over the features again.
Nothing is computed before it is asked for, and nothing kept that does not fit the memory given: then values come from
the points, as usual. The distances of a dtype are those that its usual way would have taken the exponential of: sums of
(x - z)^2 for few dense features, else from products and norms.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.kernels.backend import KernelBackend, centre_of
from harness.kernels.functions import RBF, Exponential, Kernel
from harness.kernels.points import is_mapped
from harness.kernels.scan import DIFFERENCES, ScanBackend

if TYPE_CHECKING:
    import scipy.sparse

    from harness.arrays import Block
    from harness.kernels.backend import Columns

    Points = Block | scipy.sparse.csr_array

_LONG = 16  # columns of a run, in the mean, from which on runs are read where they lie
_STRIP = 512  # rows computed at a time


class Distances:
    """The squared distances between the points of one training set, kept for every width of the RBF kernel.

    Parameters
    ----------
    points : (n, d) dense or CSR; of mapped ones, which are too large, none are kept
    most_bytes : memory for them, of all dtypes together: the first that is asked for comes first
    timed : a context in which they are computed, for who shares out what that takes
    """

    def __init__(
        self, points: Points, most_bytes: float, timed: Callable[[], AbstractContextManager[Any]] = nullcontext
    ) -> None:
        self.points, self.most_bytes, self._timed = points, most_bytes, timed
        self._chosen: set[np.dtype[Any]] = set()
        self._kept: dict[np.dtype[Any], Block] = {}

    @property
    def bytes(self) -> int:
        """What the distances take that are kept, or will be when they are asked for."""
        return sum(int(self.points.shape[0]) ** 2 * dtype.itemsize for dtype in self._chosen)

    def fit(self, dtype: np.dtype[Any]) -> bool:
        """Return whether the distances of a dtype are kept, or would be."""
        own = int(self.points.shape[0]) ** 2 * dtype.itemsize
        return dtype in self._chosen or (not is_mapped(self.points) and self.bytes + own <= self.most_bytes)

    def of(self, dtype: np.dtype[Any]) -> Block:
        """Return |x_i - x_j|^2, (n, n); computed when they are first asked for."""
        if dtype not in self._kept:
            with self._timed():
                self._kept[dtype] = self._computed(dtype)
        return self._kept[dtype]

    @property
    def sums_differences(self) -> bool:
        """Whether they are sums of (x - z)^2."""
        return isinstance(self.points, np.ndarray) and self.points.shape[1] <= DIFFERENCES

    def _computed(self, dtype: np.dtype[Any]) -> Block:
        from harness.kernels import distances_hot

        x: Any = self.points
        n = int(x.shape[0])
        out = np.empty((n, n), dtype=dtype)
        if self.sums_differences:
            distances_hot.squared_differences(np.ascontiguousarray((x - centre_of(x, dtype)).T, dtype=dtype), out)
            return out
        backend = ScanBackend.of(RBF(), x, dtype)
        for first in range(0, n, _STRIP):
            backend.squared_distances(np.arange(first, min(first + _STRIP, n)), out)
        return out

    def backend(self, kernel: Kernel, dtype: np.dtype[Any]) -> DistanceBackend | None:
        """Return the backend of a kernel over these distances; None if it is no exponential or they are not kept."""
        form = kernel.form
        if not isinstance(form, Exponential) or not self.fit(dtype):
            return None
        self._chosen.add(dtype)
        return DistanceBackend(self, form, dtype)


class DistanceBackend(KernelBackend):
    """Values of one RBF kernel as exponentials of stored squared distances."""

    work = 1.0

    def __init__(self, distances: Distances, form: Exponential, dtype: np.dtype[Any]) -> None:
        self._distances, self.dtype = distances, dtype
        self.n, self.differences = int(distances.points.shape[0]), distances.sums_differences
        self._gamma = dtype.type(form.gamma)

    def prepare_rows(self, rows: Block) -> Block:
        return np.asarray(rows, dtype=np.int64)

    def compute_tile(self, prepared: Block, columns: Columns, out: Block, slots: Block, position: int) -> None:
        from harness.kernels import distances_hot

        values = self._distances.of(self.dtype)
        if isinstance(columns, slice):
            runs: Any = np.array([[0, columns.start, columns.stop - columns.start]])
        else:
            columns = np.asarray(columns, dtype=np.int64)
            runs = distances_hot.runs_of(columns)
            if len(runs) * _LONG > len(columns):
                distances_hot.picked_exponentials(values, prepared, columns, self._gamma, out, slots, position)
                return
        distances_hot.exponentials(values, prepared, runs, self._gamma, out, slots, position)
