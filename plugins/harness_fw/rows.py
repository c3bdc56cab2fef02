"""Signed kernel rows in the solver's order: a buffer of bounded size that the compiled loops read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from harness_fw import hot
from harness_fw.state import TAKEN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness import KernelOracle
    from harness_fw.state import State

    Vector = np.ndarray[Any, np.dtype[np.float64]]
    Index = np.ndarray[Any, np.dtype[np.int64]]

_FETCH_VALUES = 2_000_000  # kernel values computed at a time
_IN_USE = np.iinfo(np.int64).max  # stamp of rows that must not make room for each other
_SUPPORT = np.iinfo(np.int64).max // 2  # what a stamp gains by being that of a support vector


class Rows:
    """Rows of ``state.rows``, computed when asked for; a row that has its place is never computed again.

    Where there is no room the least recently used row makes way, those of support vectors last: an iteration then
    computes at most one row for each point that enters the support, as long as the memory holds the support's rows.

    order : (n,) the data's number of each of the solver's points
    signs : (n,) s of each of the solver's points
    """

    def __init__(self, kernel: KernelOracle, order: Index, signs: Vector, state: State) -> None:
        self.kernel, self.order, self.signs, self.state = kernel, order, signs, state
        self.held: Index = np.zeros(len(state.rows), dtype=np.int64)  # point whose row is in each place
        self.filled = 0
        self.computed = 0
        self._ready: list[tuple[Index, Vector]] = []  # points, and what the missing ones among them add up to
        self.at_a_time = max(1, min(len(state.rows), _FETCH_VALUES // len(order)))

    def _values(self, points: Index) -> Vector:
        """Return the rows of ``points`` as the kernel gives them, one matrix product, counted."""
        self.computed += len(points)
        return np.asarray(self.kernel.block(self.order[points]))

    def fetch(self, points: Index) -> None:
        """Bring the rows of ``points``, all different and no more than places, into the buffer."""
        state = self.state
        places = state.slot[points]
        missing = points[places < 0]
        if not len(missing):
            return
        state.used[places[places >= 0]] = _IN_USE
        for point, values in zip(missing, self._values(missing), strict=True):
            place = self._place()
            self.held[place] = point
            state.slot[point], state.used[place] = place, _IN_USE
            hot.put_row(state.rows[place], values, self.order, self.signs, self.signs[point])
        state.used[state.slot[points]] = state.counts[TAKEN]

    def _place(self) -> int:
        """Return a place that is free or becomes so."""
        state = self.state
        if self.filled < len(state.rows):
            self.filled += 1
            return self.filled - 1
        last_use = state.used + np.where((state.position[self.held] >= 0) & (state.used < _SUPPORT), _SUPPORT, 0)
        place = int(last_use.argmin())
        state.slot[self.held[place]] = -1
        return place

    def combination(self, points: Index, weights: Vector, *, keep: bool = False) -> Vector:
        """Return sum_r weights_r row_{points_r}, (n,), all points different.

        Kernel evaluations only for rows that are not in the buffer, which they enter if ``keep``.
        """
        state = self.state
        total = np.zeros(len(self.order))
        there = state.slot[points] >= 0
        hot.add_rows(total, state.rows, state.slot[points[there]], weights[there])
        missing, weights = points[~there], weights[~there]
        for place, (known, sums) in enumerate(self._ready):
            if np.array_equal(known, points):
                del self._ready[place]
                return np.asarray(total + sums)
        for start in range(0, len(missing), self.at_a_time):
            part, weight = missing[start : start + self.at_a_time], weights[start : start + self.at_a_time]
            if keep:
                self.fetch(part)
                hot.add_rows(total, state.rows, state.slot[part], weight)
                continue
            total += self._computed(part, weight)
        return total

    def _computed(self, points: Index, weights: Vector) -> Vector:
        signed = np.empty(len(self.order))
        hot.put_row(signed, (weights * self.signs[points]) @ self._values(points), self.order, self.signs, 1.0)
        return signed

    def ahead(self, points: Index, weights: Vector) -> Iterator[None]:
        """Compute what the next :meth:`combination` of these points needs, with a pause after some rows."""
        sums, gone = np.zeros(len(self.order)), self.state.slot[points] < 0
        missing, missing_weights = points[gone], weights[gone]
        for start in range(0, len(missing), self.at_a_time):
            part = slice(start, start + self.at_a_time)
            sums += self._computed(missing[part], missing_weights[part])
            yield
        self._ready.append((points.copy(), sums))
