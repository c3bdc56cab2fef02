"""Points copied to numbered places, as the columns of many requests: for sets that change by a few points at a time.

The picked columns of a request are gathered anew for every request. A solver that asks for rows against the same few
points again and again keeps them here instead, and overwrites the places whose points have changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from harness.kernels.way import PackingWay

if TYPE_CHECKING:
    from harness.arrays import Block
    from harness.kernels.way import Way

_LEAST_PLACES = 256
_GROWTH = 1.5


class Columns:
    """The points at places 0 .. len - 1, packed where their way of computing kernel values has a packed form.

    Made by ``KernelOracle.columns()`` and given to its ``fill()``.

    Attributes
    ----------
    n : points of the oracle
    index : (len,) the oracle's number of the point at each place
    way : the points packed, for the first len columns; None if requests must pick them by ``index``
    """

    def __init__(self, source: Way, own: Block | None) -> None:
        self._source = source
        self._own = own  # the points of a restricted oracle, by their number in the source
        self.n = source.n if own is None else len(own)
        self._index: Block = np.empty(0, dtype=np.int64)
        self.way: Any = None  # a packing way, like the source
        self.index: Block = self._index

    def __len__(self) -> int:
        return len(self.index)

    def put(self, places: Block, points: Block, count: int | None = None) -> None:
        """Let the points stand at ``places`` (both (q,)); unfilled places hold point 0.

        count : places from now on, those from there on are given up; None: so many as before, or as ``places`` need

        Raises
        ------
        IndexError : a place or point outside its range, or not one of each.
        """
        from harness.kernels.layout import settle

        places, points = np.array(places, dtype=np.int64), np.array(points, dtype=np.int64)
        before = len(self.index)
        if count is None:
            count = max(before, int(places.max()) + 1 if places.size else 0)
        standing, grown = self._index, count > len(self._index)
        if grown:
            standing = np.zeros(max(_LEAST_PLACES, int(_GROWTH * count)), dtype=np.int64)
            standing[:before] = self.index
        changed: Block = np.empty(places.size + max(0, count - before), dtype=np.int64)
        written = settle(standing, before, count, places, points, self.n, changed)
        if written < 0:
            raise IndexError(
                f"points {points.tolist()} put at places {places.tolist()}; give one place, from 0 to {count - 1}, for each "
                f"point, from 0 to {self.n - 1}."
            )
        self._index, self.index = standing, standing[:count]
        if (written or count != before) and isinstance(self._source, PackingWay):
            index: Any = standing if self._own is None else self._own[standing]
            if grown:
                self.way = self._source.take(index)
            self.way.put(self._source, index[:count], changed[:written])
