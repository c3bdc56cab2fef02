"""What computes kernel values between the points of one set: the interface, and the backends that need no layout.

A backend is chosen once for a set of points, a kernel and a dtype: the values of one kernel come from one formula,
whichever rows and columns are requested together, because solvers stall on values that contradict each other.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.kernels.points import is_mapped

if TYPE_CHECKING:
    import scipy.sparse

    from harness.kernels.functions import Kernel
    from harness.support.arrays import Block

    Points = Block | scipy.sparse.csr_array
    Columns = slice | Block

# values of compiled.scan(): <x, z>, the RBF kernel in two ways, or (gamma <x, z> + coef0)^degree
PRODUCTS, RBF_OF_PRODUCTS, RBF_OF_DIFFERENCES, POWER = range(4)
ROWS_BYTES = 64 << 20  # bytes of points converted, or read from a mapped file, at a time
_CENTRE_SAMPLE = 2000  # number of points whose mean and spread decide whether to centre
_FAR = 1e3  # distance from the origin, as a multiple of the spread, beyond which float64 points are centred
_scratch = threading.local()


class KernelBackend:
    """Kernel values of chosen rows in tiles of columns.

    n, dtype : number of points, and type of the values
    grain : a slice of columns begins at a multiple of it
    differences : whether values are functions of sums of (x - z)^2, whose accuracy does not depend on where the points lie
    layout : the points for compiled loops, uncounted; None if no compiled loop computes the kernel
    """

    n: int
    dtype: np.dtype[Any]
    grain = 1
    differences = False
    layout: Any = None

    def bytes_of(self, count: int) -> float:
        """Return the memory that ``count`` points take in :meth:`take`; infinite where points cannot be taken."""
        return np.inf

    def take(self, index: Block) -> KernelBackend:
        """Return the backend of a copy of the points ``index``, whose values are the same to the bit."""
        raise NotImplementedError

    def prepare_rows(self, rows: Block) -> Any:
        """Return what :meth:`compute_tile` needs of the rows."""
        return rows

    def slice_rows(self, prepared: Any, first: int, last: int) -> Any:
        """Return the rows [first, last) of ``prepared``."""
        return prepared[first:last]

    def compute_tile(self, prepared: Any, columns: Columns, out: Block, slots: Block, position: int) -> None:
        """Write K[rows, columns] to ``out[slots, position : position + m]``; ``out`` is C-ordered."""
        raise NotImplementedError


class GeneralBackend(KernelBackend):
    """Backend of kernels that are no function of inner products, by ``Kernel.block``; mapped points are read in pieces."""

    def __init__(self, kernel: Kernel, x: Points, dtype: np.dtype[Any]) -> None:
        self.kernel, self.dtype, self.n = kernel, dtype, int(x.shape[0])
        if isinstance(x, np.ndarray):
            self._x: Any = x if is_mapped(x) else np.ascontiguousarray(x, dtype=dtype)
        else:
            self._x = x if x.dtype == dtype else x.astype(dtype)

    def prepare_rows(self, rows: Any) -> Any:
        points = self._x[rows]
        return np.ascontiguousarray(points, dtype=self.dtype) if isinstance(points, np.ndarray) else points

    def compute_tile(self, prepared: Any, columns: Columns, out: Block, slots: Block, position: int) -> None:
        for piece, start, width in pieces_of(columns, self._x.shape[1], self.dtype):
            first = position + start
            out[slots, first : first + width] = self.kernel.block(prepared, self.prepare_rows(piece))


class PrecomputedBackend(KernelBackend):
    """Rows of a matrix of kernel values, read where they are."""

    def __init__(self, x: Any, dtype: np.dtype[Any]) -> None:
        self.dtype, self.n = dtype, int(x.shape[0])
        self._values = x

    def compute_tile(self, prepared: Block, columns: Columns, out: Block, slots: Block, position: int) -> None:
        dense = isinstance(self._values, np.ndarray)
        values = chosen(self._values, prepared, columns) if dense else self._values[prepared][:, columns].toarray()
        out[slots, position : position + values.shape[1]] = values


def chosen(values: Block, rows: Block, columns: Columns) -> Block:
    """Return a copy of values[rows, columns]; columns that lie in one part of a row are read from that part."""
    if isinstance(columns, slice):
        return np.asarray(values[rows, columns])
    first = columns.min(initial=len(values))
    return np.asarray(np.take(values[rows, first : columns.max(initial=0) + 1], columns - first, axis=1))


def scratch(use: str, rows: int, columns: int, dtype: np.dtype[Any]) -> Block:
    """Return an array (rows, columns) of this thread that the next call for the same use returns again.

    Fresh memory of this size costs a page fault every 4 kB, which is a good part of the time of a tile.
    """
    size = rows * columns * dtype.itemsize
    memory: Any = getattr(_scratch, use, None)
    if memory is None or len(memory) < size:
        memory = np.empty(size, dtype=np.uint8)
        setattr(_scratch, use, memory)
    return np.asarray(memory[:size].view(dtype).reshape(rows, columns))


def pieces_of(columns: Columns, features: int, dtype: np.dtype[Any]) -> Iterator[tuple[Columns, int, int]]:
    """Cut columns so that a copy of their points is small; yield (columns, place of the first one, how many)."""
    step = max(1, ROWS_BYTES // (dtype.itemsize * max(1, features)))
    first, width = (columns.start, columns.stop - columns.start) if isinstance(columns, slice) else (0, len(columns))
    for start in range(0, width, step):
        stop = min(start + step, width)
        part = slice(first + start, first + stop) if isinstance(columns, slice) else columns[start:stop]
        yield part, start, stop - start


def centre_of(x: Any, dtype: np.dtype[Any]) -> Block:
    """Return the centre of dense points for values of a dtype, (d,) float64: their mean, or 0 if the mean is small.

    Centring reduces cancellation in products of points far from 0, and their rounding to float32.
    """
    sample = np.asarray(x[:: max(1, len(x) // _CENTRE_SAMPLE)], dtype=np.float64)
    middle = sample.mean(axis=0) if len(x) else np.zeros(x.shape[1])
    is_far = bool(np.abs(middle).max(initial=0.0) > _FAR * np.abs(sample - middle).max(initial=0.0))
    if len(x) and (dtype.itemsize < 8 or is_far):
        return np.asarray(x.mean(axis=0, dtype=np.float64))
    return np.zeros(x.shape[1])
