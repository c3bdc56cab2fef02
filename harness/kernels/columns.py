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

    def put(self, places: Block, points: Block) -> None:
        """Let the points stand at ``places`` (both (q,)); unfilled places below the last one hold point 0.

        Raises
        ------
        ValueError : a place is negative, or the two arrays differ in shape.
        """
        if places.shape != points.shape or (places.size and places.min() < 0):
            raise ValueError(
                f"places has shape {places.shape} and points {points.shape}; give one place, 0 or more, for each point."
            )
        if not places.size:
            return
        count = max(len(self.index), int(places.max()) + 1)
        grown = count > len(self._index)
        if grown:
            longer: Block = np.zeros(max(_LEAST_PLACES, int(_GROWTH * count)), dtype=np.intp)
            longer[: len(self.index)] = self.index
            self._index = longer
        self._index[places] = points
        self.index = self._index[:count]
        if self._source.bytes_of(1):
            index: Any = self._index if self._own is None else self._own[self._index]
            if grown:
                self.way = self._source.take(index)
            assert self.way is not None
            if not grown:
                self.way.put(self._source, index[:count], places)
