"""What computes kernel values between the points of one set: the interface, and the backends that need no layout.

A backend is chosen once for a set of points, a kernel and a dtype: the values of one kernel come from one formula,
whichever rows and columns are requested together, because solvers stall on values that contradict each other.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.kernels.points import is_mapped, pieces
from harness.support.arrays import Block

if TYPE_CHECKING:
    from harness.kernels.functions import Kernel

Columns = slice | Block

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

    def __init__(self, kernel: Kernel, x: Any, dtype: np.dtype[Any]) -> None:
        self.kernel, self.dtype, self.n = kernel, dtype, int(x.shape[0])
        self._x = x if is_mapped(x) else x.astype(dtype, copy=False)

    def prepare_rows(self, rows: Any) -> Any:
        return self._x[rows].astype(self.dtype, copy=False)

    def compute_tile(self, prepared: Any, columns: Columns, out: Block, slots: Block, position: int) -> None:
        for piece, start in pieces_of(columns, self._x.shape[1]):
            first = position + start
            out[slots, first : first + len(piece)] = self.kernel.block(prepared, self.prepare_rows(piece))


class StoredBackend(KernelBackend):
    """Rows of a matrix of kernel values, dense or CSR, or of squared distances, read where they are.

    gamma : the values are exp(-gamma v) of the stored ones; v itself if None
    """

    def __init__(self, values: Any, dtype: np.dtype[Any], gamma: float | None = None) -> None:
        self.dtype, self.n, self._values, self._gamma = dtype, int(values.shape[0]), values, gamma

    def compute_tile(self, prepared: Block, columns: Columns, out: Block, slots: Block, position: int) -> None:
        stored = self._values
        if not isinstance(stored, np.ndarray):
            values = stored[prepared][:, columns].toarray()
        elif isinstance(columns, slice):
            values = stored[prepared, columns]
        else:  # columns that lie in one part of a row are read from that part
            first = columns.min(initial=len(stored))
            values = np.take(stored[prepared, first : columns.max(initial=0) + 1], columns - first, axis=1)
        if self._gamma is not None:
            values *= self.dtype.type(-self._gamma)
            np.exp(values, out=values)
        out[slots, position : position + values.shape[1]] = values


def scratch(rows: int, columns: int, dtype: np.dtype[Any]) -> Block:
    """Return an array (rows, columns) of this thread that the next call returns again.

    Fresh memory of this size costs a page fault every 4 kB, which is a good part of the time of a tile.
    """
    size = rows * columns * dtype.itemsize
    if len(getattr(_scratch, "memory", b"")) < size:
        _scratch.memory = np.empty(size, dtype=np.uint8)
    return np.asarray(_scratch.memory[:size].view(dtype).reshape(rows, columns))


def pieces_of(columns: Columns, width: int) -> Iterator[tuple[Block, int]]:
    """Cut columns, so that a copy of their points of ``width`` numbers is small, into (columns, place of the first one)."""
    index = np.arange(columns.start, columns.stop) if isinstance(columns, slice) else columns
    for part in pieces(len(index), width):
        yield index[part], part.start
