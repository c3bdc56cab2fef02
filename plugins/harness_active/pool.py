"""The points of a pool that may still be bought: sampled from, and taken out one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from harness.arrays import Index


class Pool:
    """Points in an order, of which some leave.

    Parameters
    ----------
    order : (m,) points, all different
    n : points that there are, in the pool or not
    """

    def __init__(self, order: Index, n: int) -> None:
        # the last one is at hand: those of ``order`` that come first stand at the end
        self._points = np.array(order[::-1], dtype=np.intp)
        self._place = np.full(n, -1, dtype=np.intp)
        self._place[self._points] = np.arange(len(order))
        self._size = len(order)

    def __len__(self) -> int:
        return self._size

    def next(self, count: int) -> Index:
        """Return the ``count`` points, or all if there are fewer, that come first in the order."""
        return self._points[max(0, self._size - count) : self._size][::-1].copy()

    def sample(self, count: int | None, rng: np.random.Generator) -> Index:
        """Return ``count`` points drawn without replacement; all, in no particular order, if there are not more."""
        if count is None or count >= self._size:
            return self._points[: self._size].copy()
        return np.asarray(self._points[rng.choice(self._size, count, replace=False)])

    def take(self, points: Index) -> None:
        """Take ``points`` out; the last of the others moves to the place of each."""
        for point in points.tolist():
            self._size -= 1
            place, last = self._place[point], self._points[self._size]
            self._points[place], self._place[last], self._place[point] = last, place, -1
