"""Kernel rows packed in one array, so that compiled code reads them without asking Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from harness import KernelOracle

    Vector = np.ndarray[Any, np.dtype[np.float64]]
    Index = np.ndarray[Any, np.dtype[np.intp]]


class RowBuffer:
    """The kernel rows used last, as many as ``cache_mb`` holds; every row fetched is counted by the oracle.

    Attributes
    ----------
    rows : (capacity, n) float64
    slot_of : (n,) where row k lies in ``rows``, -1 if it is not held
    last_used : (capacity,) time of the last use, written by the compiled loops
    """

    def __init__(self, kernel: KernelOracle, cache_mb: float) -> None:
        # the oracle's own cache would hold every row a second time
        self.kernel = kernel.with_cache(0.0)
        self.n = kernel.n
        self.capacity = min(self.n, max(2, int(cache_mb * 2**20 / (8 * self.n))))
        self.rows = np.empty((self.capacity, self.n))  # untouched memory costs nothing until a row arrives
        self.slot_of = np.full(self.n, -1, dtype=np.int64)
        self.last_used = np.zeros(self.capacity, dtype=np.int64)
        self.fetched = 0
        self._owner = np.empty(self.capacity, dtype=np.int64)
        self._held = 0

    def fetch(self, k: int, now: int) -> None:
        """Take row ``k`` in, in place of the row unused for longest if the buffer is full."""
        if self._held < self.capacity:
            slot = self._held
            self._held += 1
        else:
            slot = int(np.argmin(self.last_used))
            self.slot_of[self._owner[slot]] = -1
        self.rows[slot] = self.kernel.row(k)
        self.slot_of[k] = slot
        self._owner[slot] = k
        # the partner that waits for this row was used at `now` too: an older row must be the next to go
        self.last_used[slot] = now
        self.fetched += 1

    def scores(self, coef: Vector, wanted: Index) -> Vector:
        """Return (K coef) at the points ``wanted``: held rows are read, only the others are computed."""
        from harness_smo import hot

        support = np.flatnonzero(coef)
        held = support[self.slot_of[support] >= 0]
        total: Vector = np.zeros(self.n)
        hot.add_rows(total, coef, held, self.rows, self.slot_of)
        rest = coef.copy()
        rest[held] = 0.0
        found: Vector = total[wanted]
        if rest.any():
            found += self.kernel.expand(rest, wanted)
        return found
