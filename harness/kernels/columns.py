"""Points copied to numbered places, as the columns of many requests: for sets that change by a few points at a time.

The picked columns of a request are gathered anew for every request. A solver that asks for rows against the same few
points again and again keeps them here instead, and overwrites the places whose points have changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from harness.kernels.ways import Block, Way

_LEAST_PLACES = 256
_GROWTH = 1.5


class Columns:
    """The points at places 0 .. len - 1, packed where their way of computing kernel values has a packed form.

    Made by ``KernelOracle.columns()`` and given to its ``fill()``.

    Attributes
    ----------
    index : (len,) the oracle's number of the point at each place
    way : the points packed, for the first len columns; None if requests must pick them by ``index``
    """

    def __init__(self, source: Way, own: Block | None) -> None:
        self._source = source
        self._own = own  # the points of a restricted oracle, by their number in the source
        self._index: Block = np.empty(0, dtype=np.intp)
        self._places = 0  # there is room for
        self.way: Way | None = None
        self.index: Block = self._index

    def __len__(self) -> int:
        return len(self.index)

    def put(self, places: Block, points: Block, count: int | None = None) -> None:
        """Let the points stand at ``places`` (both (q,)); unfilled places hold point 0.

        count : places from now on, those from there on are given up; None: so many as before, or as ``places`` need

        Raises
        ------
        ValueError : a place is negative or not below ``count``, or the two arrays differ in shape.
        """
        needed = int(places.max()) + 1 if places.size else 0
        count = max(len(self.index), needed) if count is None else count
        if places.shape != points.shape or needed > count or (places.size and places.min() < 0):
            raise ValueError(
                f"places has shape {places.shape} and points {points.shape}; give one place, from 0 to {count - 1}, "
                "for each point."
            )
        if not places.size and count == len(self.index):
            return
        grown = count > len(self._index)
        if grown:
            longer: Block = np.zeros(max(_LEAST_PLACES, int(_GROWTH * count)), dtype=np.intp)
            longer[: len(self.index)] = self.index
            self._index = longer
        self._index[len(self.index) : count] = 0
        self._index[places] = points
        before, self.index = len(self.index), self._index[:count]
        if self._source.bytes_of(1):
            index: Any = self._index if self._own is None else self._own[self._index]
            if grown:
                self.way = self._source.take(index)
            assert self.way is not None
            unfilled = np.ones(max(0, count - before), dtype=bool)
            unfilled[places[places >= before] - before] = False
            self.way.put(self._source, index[:count], np.concatenate([places, before + np.flatnonzero(unfilled)]))
