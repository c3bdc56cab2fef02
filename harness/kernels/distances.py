"""Squared distances of all points from each other, computed once for kernels of several widths.

The RBF kernel of any width is one exponential of a stored distance, so that a grid of widths reads the features once.
In few dimensions, where the scan sums (x - z)^2, that would save nothing: reading a distance takes as long.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np

from harness.kernels.backend import StoredBackend
from harness.kernels.functions import RBF, Exponential, Kernel
from harness.kernels.points import Points, is_mapped
from harness.kernels.scan import ScanBackend, sums_differences
from harness.support.arrays import Block


class Distances:
    """The squared distances between the points of one training set, stored for every width of the RBF kernel.

    Parameters
    ----------
    points : (n, d) dense or CSR; those of mapped ones, which are too large, are not stored
    most_bytes : memory for them, of all dtypes together: the first that is needed comes first
    timed : function that returns a context in which they are computed, so that the caller can time it
    """

    def __init__(self, points: Points, most_bytes: float, timed: Any = nullcontext) -> None:
        self.points, self.most_bytes, self._timed = points, most_bytes, timed
        self._stored: dict[np.dtype[Any], Block] = {}

    @property
    def bytes(self) -> int:
        """Memory of the distances, in bytes."""
        return sum(values.nbytes for values in self._stored.values())

    def backend(self, kernel: Kernel, dtype: np.dtype[Any]) -> StoredBackend | None:
        """Return the backend of a kernel over these distances, which are computed first; None if they do not serve."""
        size = int(self.points.shape[0]) ** 2 * dtype.itemsize
        if is_mapped(self.points) or not isinstance(kernel.form, Exponential) or sums_differences(kernel, self.points):
            return None
        if dtype not in self._stored:
            if self.bytes + size > self.most_bytes:
                return None
            with self._timed():
                self._stored[dtype] = ScanBackend(RBF(), self.points, dtype).squared_distances()
        return StoredBackend(self._stored[dtype], dtype, kernel.form.gamma)
