"""What a way to compute kernel values between the points of one set offers to the engine; ways.py has them and chooses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from harness.arrays import Block

    Columns = slice | Block


class Way:
    """Kernel values of chosen rows in tiles of columns; no ABC, as each request asks ``isinstance``.

    n, dtype : points, and of the values
    grain : a slice of columns begins at a multiple of it
    differences : whether values come from sums of (x - z)^2, which lose nothing to where the points lie
    work : multiply-adds that a value takes, about; infinite where that says nothing
    """

    n: int
    dtype: np.dtype[Any]
    grain = 1
    differences = False
    work: float = np.inf

    def left(self, rows: Block) -> Any:
        """Return what tile() needs of the rows."""
        return rows

    def part(self, left: Any, first: int, last: int) -> Any:
        """Return the rows [first, last) of ``left``."""
        return left[first:last]

    def tile(self, left: Any, columns: Columns, out: Block, slots: Block, position: int) -> None:
        """Write K[left, columns] to ``out[slots, position : position + m]``; ``out`` is C-ordered."""
        raise NotImplementedError


class PackingWay(Way):
    """A way that can copy some of its points, so that as columns they need not be gathered for each request."""

    def bytes_of(self, count: int) -> int:
        """Return the memory that ``count`` points take in :meth:`take`."""
        raise NotImplementedError

    def take(self, index: Block) -> Any:
        """Return a copy of the points ``index``, a way like this one: columns for its rows."""
        raise NotImplementedError

    def put(self, source: Any, index: Block, places: Block) -> None:
        """Overwrite ``places`` of a way that ``source.take()`` made with the source's points ``index[places]``."""
        raise NotImplementedError
