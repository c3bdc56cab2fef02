"""Caches of kernel rows: of one solver, and shared by the problems of a path."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from harness.kernels.counter import Counter
from harness.kernels.engine import After, Engine
from harness.support.arrays import Block, Index, Mask, Vector

# compute(points, rows, slots, after): write the rows of ``points`` to ``rows[slots]``, with ``after`` as in KernelOracle.fill()
Compute = Callable[[Index, Block, Index, After | None], None]


_ROOMY = 0.25  # fraction of the slots that low-priority rows may use
_NEVER = -(1 << 60)  # last use of an empty slot
_AGED = 1 << 40  # ticks by which the row of an evictable point is made older
_LAST = 1 << 60  # ticks by which rows that are evicted last are made younger
_STAYS = np.iinfo(np.int64).max  # last use of a row that must stay
_FEW = 8  # number of slots up to which repeated searches are faster than sorting
_PIECE = 256  # rows completed at a time


class RowCache:
    """Least-recently-used cache of kernel rows in a fixed memory.

    ``KernelOracle.row_cache()`` makes one. Values are counted when they are computed, and ``cache_hits`` counts the rows that
    were read from the cache instead of being computed.

    Parameters
    ----------
    kernel : kernel that computes the rows
    memory : 1-D float64 array for the rows, whose dtype may be narrower
    compute : function that writes rows of n values in another form than the kernel's; None for kernel rows

    Attributes
    ----------
    rows : (capacity, n) in the kernel's dtype, a view of ``memory``; untouched memory costs nothing
    slot_of : (n,) slot of the row of each point in ``rows``, -1 if it is not cached
    owner : (capacity,) point whose row is in each slot, -1 if the slot is empty
    last_used : (capacity,) ``clock`` of the last use of the row in each slot; compiled loops write it too
    clock : current tick, advanced by :meth:`used` or set by the solver
    fetched : number of rows computed
    """

    def __init__(self, kernel: Any, memory: Block, compute: Compute | None = None) -> None:
        self.kernel, self.memory, self.n = kernel, memory, kernel.n
        self._compute = compute or kernel.compute
        words: Block = memory.view(kernel.dtype)
        self.capacity = min(self.n, len(words) // self.n)
        self.rows: Block = words[: self.capacity * self.n].reshape(self.capacity, self.n)
        self.slot_of = np.full(self.n, -1, dtype=np.intp)
        self.owner = np.full(self.capacity, -1, dtype=np.intp)
        # a fraction of the empty slots is used at once, the others only if no row is evictable
        self.last_used = np.full(self.capacity, -_AGED // 2, dtype=np.int64)
        self.last_used[: int(_ROOMY * self.capacity)] = _NEVER
        self.clock = 0
        self.fetched = 0
        self._counts = vars(kernel.counter)  # direct access, as loops return after a few microseconds
        self._taken = 0  # number of leading slots that have had a row
        self._resting = False  # whether any row was marked as evictable
        self._evicted = np.zeros(self.n, dtype=bool)  # points whose row was evicted
        self._any_evicted = False
        self._distinct = 0  # number of points whose row was requested
        self._unread = 0  # rows fetched since the last call of read()

    @property
    def roomy(self) -> int:
        """Number of free slots that low-priority rows may use; limited because first-touching memory is slow."""
        return max(0, int(_ROOMY * self.capacity) - int(np.count_nonzero(self.owner >= 0)))

    # -- fetching and eviction -------------------------------------------------------------------------------

    def reserve(self, points: Index, *, keep: Index | None = None, last: Callable[[], Mask] | None = None) -> Index:
        """Assign slots to distinct ``points`` that are not cached; the caller computes their rows.

        Parameters
        ----------
        keep : points whose rows must stay; if that leaves too few slots, only the first of ``points`` get one
        last : returns a mask (n,) of points whose rows are evicted after all others; called if slots are short

        Returns
        -------
        slots of the first of ``points``, of all if there is room
        """
        slots = self._room(len(points), keep, last)
        points = points[: len(slots)]
        self.owner[slots], self.slot_of[points], self.last_used[slots] = points, slots, self.clock
        self._note(points)
        return slots

    def pass_by(self, points: Index) -> None:
        """Count the rows of ``points``, which the caller computes outside the cache for lack of room."""
        self.fetched += len(points)
        self._note(points)
        self._evicted[points], self._any_evicted = True, True

    def _note(self, points: Index) -> None:
        """Count distinct rows, and rows that were evicted and are computed again."""
        self._distinct += len(points)
        if self._any_evicted:
            misses = int(np.count_nonzero(self._evicted[points]))
            self._distinct -= misses
            self.kernel.counter.miss(misses, self._distinct * self.n * self.kernel.dtype.itemsize)

    def _room(self, count: int, keep: Index | None, last: Callable[[], Mask] | None) -> Index:
        if self._taken + count <= self.capacity and not self._resting:
            self._taken += count
            return np.arange(self._taken - count, self._taken)
        age, full = self.last_used, self._taken + count > self.capacity
        if last is not None:
            age = np.where(last()[self.owner] & (self.owner >= 0), age + _LAST, age)
        if keep is not None:
            age, pinned = age.copy(), self.slot_of[keep]
            age[pinned[pinned >= 0]] = _STAYS
        slots = _oldest(age, count)
        for point in self.owner[slots].tolist():
            if point >= 0:
                self.slot_of[point] = -1
                if full:
                    self._evicted[point] = self._any_evicted = True
                else:  # an evictable row counts as if it had not been requested
                    self._distinct -= 1
        self._taken = max(self._taken, int(slots.max(initial=-1)) + 1)
        return slots

    def compute(self, points: Index, slots: Index, after: After | None = None) -> None:
        """Compute the rows of ``points`` into their slots from :meth:`reserve`; see ``KernelOracle.fill``."""
        self.fetched += len(points)
        self._compute(points, self.rows, slots, after)

    def fetch(self, points: Index, *, keep: Index | None = None, last: Callable[[], Mask] | None = None) -> None:
        """Compute the missing rows of distinct ``points``, and mark the rows of all of them as used.

        The points are not validated, which would take a tenth of the time of a short row. There must be a slot for each,
        unless ``keep`` is given: then points without a slot are left out. ``keep`` and ``last``: see :meth:`reserve`.
        """
        missing = points[self.slot_of[points] < 0]
        complete = len(missing) == len(points)
        if len(missing):
            stay = points if keep is None else np.concatenate([points, keep])
            slots = self.reserve(missing, keep=None if complete and keep is None else stay, last=last)
            missing = missing[: len(slots)]
            try:
                self.compute(missing, slots)
            except BaseException:  # for example an interrupt: the rows were not written
                self.slot_of[missing], self.owner[slots], self.last_used[slots] = -1, -1, _NEVER
                raise
            self._unread += len(missing)
        if not complete:
            places = self.slot_of[points]
            self.last_used[places[places >= 0]] = self.clock

    def used(self, points: Index) -> None:
        """Advance the clock and mark the cached rows of ``points`` as the most recently used."""
        self.clock += 1
        self.last_used[self.slot_of[points]] = self.clock

    def at_rest(self, points: Index) -> None:
        """Mark the cached rows of ``points`` as the first to evict."""
        slots = self.slot_of[points]
        self.last_used[slots[slots >= 0]] = self.clock - _AGED
        self._resting = True

    # -- counts ------------------------------------------------------------------------------------------------

    def hit(self, count: int) -> None:
        """Count ``count`` rows that were read from the cache instead of being computed."""
        self._counts["cache_hits"] += count

    def read(self, count: int) -> None:
        """Count ``count`` rows that compiled loops read in ``rows``, minus the rows that were fetched for them."""
        computed = min(self._unread, count)
        self._unread -= computed
        if count > computed:
            self.hit(count - computed)

    # -- use of the rows ---------------------------------------------------------------------------------------

    def row(self, point: int) -> Block:
        """Return a copy of the row of ``point``, (n,), computed if it is not cached."""
        self.clock += 1
        slot = self.slot_of[point]
        if slot >= 0:
            self.hit(1)
            self.last_used[slot] = self.clock
        else:
            self.fetch(np.array([point]))
        row: Block = self.rows[self.slot_of[point]]
        return row.copy()

    def add(self, total: Vector, points: Index, weights: Vector) -> None:
        """Add sum_p weights_p row_p of cached ``points`` to ``total``, (n,) float64; they count as hits."""
        self.hit(len(points))
        self.add_part(total, self.slot_of[points], weights, 0, self.n)

    def add_part(self, total: Vector, slots: Index, weights: Vector, start: int, stop: int) -> None:
        """Add sum_p weights_p rows[slots_p, start:stop] to total[start:stop], float64, in place; counts nothing."""
        from harness.support.jit import add_rows

        add_rows(total, self.rows, slots, weights, start, stop)

    def expand(self, dual_coef: Vector, rows: Index | None = None) -> Vector:
        """Return ``KernelOracle.expand``, from cached rows as far as possible; other rows are computed and not cached."""
        support = np.flatnonzero(dual_coef)
        cached = support[self.slot_of[support] >= 0]
        total = np.zeros(self.n)
        self.add(total, cached, dual_coef[cached])
        scores: Vector = total if rows is None else total[rows]
        if len(cached) < len(support):
            rest = dual_coef.copy()
            rest[cached] = 0.0
            scores += self.kernel.expand(rest, rows)
        return scores

    def moved(self, kernel: Any, place: Index, keep: Index) -> Self:
        """Return a cache over another set of points in the same memory, with the rows of ``keep`` carried over.

        Parameters
        ----------
        kernel : kernel over the new set of points
        place : (m,) index of each point in the old set, -1 for added points; m <= n
        keep : indices in the old set of points whose rows to carry, all of them in the new set
        """
        new = type(self)(kernel, self.memory)
        new.clock = self.clock
        position = np.full(self.n, -1, dtype=np.intp)
        old = place >= 0
        position[place[old]] = np.flatnonzero(old)
        slots = np.sort(self.slot_of[keep[self.slot_of[keep] >= 0]])[: new.capacity]
        owners = position[self.owner[slots]]
        columns = np.maximum(place, 0)
        for target, slot in enumerate(slots):  # row t of the new rows ends before the row of a later slot begins
            new.rows[target] = self.rows[slot].take(columns)
        count = len(slots)
        added = np.flatnonzero(~old)
        for start in range(0, count if len(added) else 0, _PIECE):
            piece = slice(start, min(start + _PIECE, count))
            new.rows[piece, added] = kernel.block(owners[piece], added)
        new.owner[:count] = owners
        new.slot_of[owners] = np.arange(count)
        new.last_used[:count] = self.last_used[slots]
        new._taken, new._resting = count, self._resting  # noqa: SLF001 - of the same class
        new._any_evicted = self._any_evicted  # noqa: SLF001
        new._evicted[old] = self._evicted[place[old]]  # noqa: SLF001
        new._distinct = int(np.count_nonzero(new._evicted | (new.slot_of >= 0)))  # noqa: SLF001
        return new


def _oldest(age: Index, count: int) -> Index:
    """Return the slots of the ``count`` smallest ages, ordered by age and index, without those that must stay.

    ``age`` may change at these slots.
    """
    if count > _FEW:
        slots: Index = np.arange(len(age))
        if count < len(age):  # sort only the selected slots
            last = np.partition(age, count - 1)[count - 1]
            older, equal = np.flatnonzero(age < last), np.flatnonzero(age == last)
            slots = np.concatenate([older, equal[: count - len(older)]])
        slots = slots[np.argsort(age[slots], kind="stable")]
        return slots[age[slots] < _STAYS]
    selected: list[int] = []
    while len(selected) < count and age[slot := int(age.argmin())] < _STAYS:
        selected.append(slot)
        age[slot] = _STAYS
    return np.array(selected, dtype=np.intp)


class SharedRows:
    """Stored rows k(x_i, .) over one set of points, for the problems of a path with the same kernel.

    The rows are those of k, without ridge and product, which the oracle adds.

    Parameters
    ----------
    most_bytes : memory for the rows of all dtypes, in bytes; rows of a dtype are stored if all of them fit
    """

    def __init__(self, most_bytes: float) -> None:
        self._left = most_bytes
        self._stored: dict[np.dtype[Any], tuple[Block, Block]] = {}  # (n, n) rows, and (n,) whether each is computed

    def rows(self, engine: Engine, requested: Block, counter: Counter) -> Block | None:
        """Return (n, n) with the rows ``requested`` computed and counted, or counted as hits; None if all do not fit."""
        size = engine.n * engine.n * engine.dtype.itemsize
        if engine.dtype not in self._stored:
            if size > self._left:
                return None
            self._left -= size
            self._stored[engine.dtype] = np.empty((engine.n, engine.n), engine.dtype), np.zeros(engine.n, dtype=bool)
        rows, computed = self._stored[engine.dtype]
        missing = np.unique(requested[~computed[requested]])
        counter.add(engine.n * len(missing))
        counter.cache_hits += len(requested) - len(missing)
        if len(missing):
            engine.compute(missing, rows, missing)
            computed[missing] = True
        return rows
