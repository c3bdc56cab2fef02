"""The points of a pool that may still be bought: sampled from, and taken out one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from harness.arrays import Index, Vector


class Pool:
    """Points in an order, of which some leave.

    Parameters
    ----------
    order : (m,) points, all different
    n : points that there are, in the pool or not
    """

    def __init__(self, order: Index, n: int) -> None:
        self._rank = np.full(n, -1, dtype=np.intp)
        self._rank[order] = np.arange(len(order))
        # the last one is at hand: those of ``order`` that come first stand at the end
        self._points = np.array(order[::-1], dtype=np.intp)
        self._place = np.full(n, -1, dtype=np.intp)
        self._place[self._points] = np.arange(len(order))
        self._size = len(order)

    def __len__(self) -> int:
        return self._size

    def next(self, count: int) -> Index:
        """Return the ``count`` points that come first in the order as long as none is taken but so; all if there are fewer."""
        return self._points[max(0, self._size - count) : self._size][::-1].copy()

    def sample(self, count: int | None, rng: np.random.Generator) -> Index:
        """Return ``count`` points drawn without replacement; all, ascending, if there are not more or it is None."""
        if count is None or count >= self._size:
            return np.flatnonzero(self._place >= 0)
        return np.asarray(self._points[rng.choice(self._size, count, replace=False)])

    def nearest(self, points: Index, distances: Vector, count: int) -> Index:
        """Return the ``count`` of ``points`` with the smallest distances; of equals those that come first in the order."""
        if count > 1:
            return points[np.lexsort((self._rank[points], distances))[:count]]
        equals: Index = points[distances == distances.min()]
        first = int(self._rank[equals].argmin()) if len(equals) > 1 else 0
        return equals[first : first + 1]

    def take(self, points: Index) -> None:
        """Take ``points`` out; the last of the others moves to the place of each."""
        for point in points.tolist():
            self._size -= 1
            place, last = self._place[point], self._points[self._size]
            self._points[place], self._place[last], self._place[point] = last, place, -1
