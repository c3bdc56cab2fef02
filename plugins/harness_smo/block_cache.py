"""Kernel rows between the active points, and the kernel blocks of working sets, put together from what is at hand."""

from __future__ import annotations

from functools import partial
from typing import Self

import numpy as np

from harness import KernelOracle, RowCache
from harness.support.arrays import Block, Index


class BlockRowCache(RowCache):
    """The rows over ``kernel``'s points in memory that every phase of a run shares, and the last working set's block."""

    def __init__(self, kernel: KernelOracle, memory: Block) -> None:
        super().__init__(kernel, memory)
        self.place = np.full(self.n, -1, dtype=np.intp)  # scratch of :meth:`block`
        self.scratch: list[Block] = [np.empty(0, dtype=kernel.dtype) for _ in range(3)]
        self.turn = 0  # the last block lies in scratch[turn]
        self.last_points: Index = np.empty(0, dtype=np.intp)
        self.last_block: Block = np.empty((0, 0), dtype=kernel.dtype)

    def block(self, points: Index) -> Block:
        """Return K[points, points], (w, w), from the last block, the rows held, and what neither has, computed.

        Values of rows held are computed too, and counted, where reading them one by one would take longer.
        """
        from harness_smo import block_passes

        slots, w = self.slot_of[points], len(points)
        self.place[self.last_points] = np.arange(len(self.last_points))
        place = self.place[points]
        self.place[self.last_points] = -1
        second = np.flatnonzero(slots < 0)
        first = second[place[second] < 0]
        self.turn = 1 - self.turn
        block = self._scratch(self.turn, w, w)
        fresh, kept = np.flatnonzero(place < 0), np.flatnonzero(place >= 0)
        reads = (w**2 - len(kept) ** 2 - len(second) ** 2 + (len(second) - len(first)) ** 2) // 2
        if self.cheaper_anew(len(fresh) * w - len(first) * len(second), reads):
            self.kernel.fill(points[fresh], block, fresh, points)
            parts = block, fresh, kept, place[kept], self.last_block
            self.kernel.share_range(partial(block_passes.complete, *parts), len(kept), w)
            self.last_points, self.last_block = points, block
            return block
        values = self._scratch(2, len(first), len(second))
        if len(first):
            self.kernel.fill(points[first], values, None, points[second])
        self.hit(w - len(second))
        known = block_passes.AtHand(self.rows, slots, self.last_block, place, values, first, second)
        block_passes.gather(block, points, known)
        self.last_points, self.last_block = points, block
        return block

    def _scratch(self, which: int, rows: int, columns: int) -> Block:
        """Return one of three arrays that are used over and over: fresh memory costs a page fault every 4 kB."""
        if len(self.scratch[which]) < rows * columns:
            self.scratch[which] = np.empty(rows * columns, dtype=self.kernel.dtype)
        return self.scratch[which][: rows * columns].reshape(rows, columns)

    def moved(self, kernel: KernelOracle, place: Index, keep: Index) -> Self:
        new = super().moved(kernel, place, keep)
        new.scratch = self.scratch
        return new
