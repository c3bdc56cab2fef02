"""Kernel rows between the active points, packed in one array that every phase of a run shares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from harness import KernelOracle

    Index = np.ndarray[Any, np.dtype[np.intp]]
    Matrix = np.ndarray[Any, np.dtype[Any]]

_ROOMY = 0.25  # of the slots
_PIECE = 256  # rows completed at a time
_NEVER = -(1 << 60)
_AGED = 1 << 40  # rounds by which the row of a variable at its bound is older: it seldom moves again


class RowCache:
    """As many rows of the kernel over ``kernel``'s points as ``memory`` holds; the row unused for longest goes first.

    Attributes
    ----------
    rows : (capacity, m) in the oracle's dtype, a view of ``memory``
    slot_of : (m,) where row k lies in ``rows``, -1 if it is not held
    """

    def __init__(self, kernel: KernelOracle, memory: Matrix) -> None:
        self.kernel, self.memory = kernel, memory
        self.m = kernel.n
        words: Matrix = memory.view(kernel.dtype)
        self.capacity = min(self.m, len(words) // self.m)
        self.rows: Matrix = words[: self.capacity * self.m].reshape(self.capacity, self.m)
        self.slot_of = np.full(self.m, -1, dtype=np.intp)
        self.owner = np.full(self.capacity, -1, dtype=np.intp)
        # slots that no row took yet: a part of them is taken at once, the others only when no row is at rest
        self.last_used = np.full(self.capacity, -_AGED // 2, dtype=np.int64)
        self.last_used[: int(_ROOMY * self.capacity)] = _NEVER
        self.place = np.full(self.m, -1, dtype=np.intp)  # scratch of :meth:`block`
        self.scratch: list[Matrix] = [np.empty(0, dtype=kernel.dtype) for _ in range(3)]
        self.turn = 0  # the last block lies in scratch[turn]
        self.last_points: Index = np.empty(0, dtype=np.intp)
        self.last_block: Matrix = np.empty((0, 0), dtype=kernel.dtype)
        self.clock = 0  # rounds, over the lives of all caches this one was moved from
        self.fetched = 0  # rows computed, kept or not

    @property
    def roomy(self) -> int:
        """Slots that may go to rows of little use: a part of those that no row has taken, as touching memory costs time."""
        return max(0, int(_ROOMY * self.capacity) - int(np.count_nonzero(self.owner >= 0)))

    def block(self, points: Index) -> Matrix:
        """Return K[points, points], (w, w): only what neither the held rows nor the last block have is computed."""
        from harness_smo import block_passes

        slots, w = self.slot_of[points], len(points)
        self.place[self.last_points] = np.arange(len(self.last_points))
        place = self.place[points]
        self.place[self.last_points] = -1
        second = np.flatnonzero(slots < 0)
        first = second[place[second] < 0]
        values = self._scratch(2, len(first), len(second))
        if len(first):
            self.kernel.fill(points[first], values, None, points[second])
        self.kernel.counter.cache_hits += w - len(second)
        self.turn = 1 - self.turn
        block = self._scratch(self.turn, w, w)
        block_passes.gather(block, points, self.rows, slots, self.last_block, place, values, first, second)
        self.last_points, self.last_block = points, block
        return block

    def _scratch(self, which: int, rows: int, columns: int) -> Matrix:
        """Return one of three arrays that are used over and over: fresh memory costs a page fault every 4 kB."""
        if len(self.scratch[which]) < rows * columns:
            self.scratch[which] = np.empty(rows * columns, dtype=self.kernel.dtype)
        return self.scratch[which][: rows * columns].reshape(rows, columns)

    def reserve(self, points: Index) -> Index:
        """Give slots to ``points``, none of them held; the rows they replace are those unused for longest."""
        count = len(points)
        slots = np.argsort(self.last_used, kind="stable")[:count] if count else np.empty(0, dtype=np.intp)
        previous = self.owner[slots]
        self.slot_of[previous[previous >= 0]] = -1
        self.owner[slots] = points
        self.slot_of[points] = slots
        self.last_used[slots] = self.clock
        self.fetched += count
        return slots

    def used(self, points: Index) -> None:
        """Begin a round and note that it uses the held rows of ``points``: no other row stays longer."""
        self.clock += 1
        self.last_used[self.slot_of[points]] = self.clock

    def at_rest(self, points: Index) -> None:
        """Let the rows of ``points`` be the first to go: their variables came to a bound."""
        slots = self.slot_of[points]
        self.last_used[slots[slots >= 0]] = self.clock - _AGED

    def moved(self, kernel: KernelOracle, place: Index, keep: Index) -> RowCache:
        """Return the cache over another set of points, the rows of ``keep`` carried over.

        Parameters
        ----------
        kernel : over the new points
        place : (m',) where each new point stood among the old ones, -1 for those that are new; m' <= m
        keep : old points whose rows are worth carrying, all of them among the new ones
        """
        new = RowCache(kernel, self.memory)
        new.clock = self.clock
        new.scratch = self.scratch
        position = np.full(self.m, -1, dtype=np.intp)
        old = place >= 0
        position[place[old]] = np.flatnonzero(old)
        slots = np.sort(self.slot_of[keep[self.slot_of[keep] >= 0]])[: new.capacity]
        source, wanted = self.rows, np.maximum(place, 0)
        owners = position[self.owner[slots]]
        # slot t of the new rows ends before slot t + 1 of the old ones begins: in this order nothing is overwritten unread
        for target, slot in enumerate(slots):
            new.rows[target] = source[slot].take(wanted)
        count = len(slots)
        added = np.flatnonzero(~old)
        for start in range(0, count if len(added) else 0, _PIECE):
            piece = slice(start, min(start + _PIECE, count))
            new.rows[piece, added] = kernel.block(owners[piece], added)
        new.owner[:count] = owners
        new.slot_of[owners] = np.arange(count)
        new.last_used[:count] = self.last_used[slots]
        return new
