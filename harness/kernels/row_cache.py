"""Kernel rows in memory: those of one solver, and those that the problems of a path share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np

if TYPE_CHECKING:
    from harness.kernels.counter import Counter
    from harness.kernels.engine import Engine
    from harness.support.arrays import Block, Index, Mask, Vector

    class Compute(Protocol):
        """Write the rows of ``points`` to ``rows[slots]``; ``after(start, stop)`` as in ``KernelOracle.fill``."""

        def __call__(
            self, points: Index, rows: Block, slots: Index, after: Callable[[int, int], None] | None, /
        ) -> None: ...


_ROOMY = 0.25  # of the places
_NEVER = -(1 << 60)
_AGED = 1 << 40  # ticks by which the row of a point at rest is older: it is seldom asked for again
_LAST = 1 << 60
_STAYS = np.iinfo(np.int64).max
_FEW = 8  # places that are looked for one after the other: sorting all would take longer
_PIECE = 256  # rows completed at a time
_NEAR_BYTES = 2 << 20  # rows that take no more stay in the core's cache
# Nanoseconds (Xeon 8488C): a value read far away, one computed in float32, each multiply-add of it, a request
_READ, _VALUE, _MULTIPLY_ADD, _REQUEST = 10.0, 0.5, 0.025, 5e4


class RowCache:
    """As many kernel rows as the memory holds; the row unused for longest makes way for another.

    Made by ``KernelOracle.row_cache()``. Values are counted where they are computed, and ``cache_hits`` counts the rows that
    were read here and would have been computed else.

    Parameters
    ----------
    kernel : what rows are fetched from
    memory : 1-D float64 array that the rows lie in, maybe in the kernel's narrower dtype
    compute : writes rows in another form than the kernel's, all of them n long; None: as the kernel gives them

    Attributes
    ----------
    rows : (capacity, n) in the kernel's dtype, a view of ``memory``; untouched memory costs nothing until a row arrives
    slot_of : (n,) where the row of each point lies in ``rows``, -1 if it is not held
    owner : (capacity,) the point whose row lies in each place, -1 where there is none yet
    last_used : (capacity,) the ``clock`` at which the row in each place was last used; compiled loops write it too
    clock : the present; a solver that counts by itself sets it, else :meth:`used` lets it go on
    fetched : rows computed
    """

    def __init__(self, kernel: Any, memory: Block, compute: Compute | None = None) -> None:
        self.kernel, self.memory, self.n = kernel, memory, kernel.n
        self._compute = compute or kernel.compute
        words: Block = memory.view(kernel.dtype)
        self.capacity = min(self.n, len(words) // self.n)
        self.rows: Block = words[: self.capacity * self.n].reshape(self.capacity, self.n)
        self.slot_of = np.full(self.n, -1, dtype=np.intp)
        self.owner = np.full(self.capacity, -1, dtype=np.intp)
        # places that no row took yet: a part of them is taken at once, the others only when no row is at rest
        self.last_used = np.full(self.capacity, -_AGED // 2, dtype=np.int64)
        self.last_used[: int(_ROOMY * self.capacity)] = _NEVER
        self.clock = 0
        self.fetched = 0
        self._counts = vars(kernel.counter)  # written to straight: loops come back after some microseconds
        self._taken = 0  # places before this one have had a row
        self._resting = False  # whether any row was told to be
        self._evicted = np.zeros(self.n, dtype=bool)  # points whose row made way for another
        self._any_evicted = False
        self._distinct = 0  # points whose row was asked for
        self._unread = 0  # rows fetched since loops last said what they read

    @property
    def roomy(self) -> int:
        """Places that may go to rows of little use: part of those that no row has taken, as touching memory costs time."""
        return max(0, int(_ROOMY * self.capacity) - int(np.count_nonzero(self.owner >= 0)))

    # -- rows come and go ------------------------------------------------------------------------------------

    def reserve(self, points: Index, *, keep: Index | None = None, last: Callable[[], Mask] | None = None) -> Index:
        """Give places to ``points``, all different and none of them held; the caller computes their rows.

        Parameters
        ----------
        keep : points whose rows must stay; if that leaves too few places, the first of ``points`` alone get one
        last : returns (n,) of all points: those whose rows make way only after all others; asked where places are short

        Returns
        -------
        the places, as many as there were, at most one for each of ``points``
        """
        slots = self._room(len(points), keep, last)
        points = points[: len(slots)]
        self.owner[slots], self.slot_of[points], self.last_used[slots] = points, slots, self.clock
        self._note(points)
        return slots

    def pass_by(self, points: Index) -> None:
        """Count the rows of ``points``, which the caller computes itself, as there is no room for them."""
        self.fetched += len(points)
        self._note(points)
        self._evicted[points], self._any_evicted = True, True

    def _note(self, points: Index) -> None:
        """Count different rows, and those that were computed before and made way for others."""
        self._distinct += len(points)
        if self._any_evicted:
            again = int(np.count_nonzero(self._evicted[points]))
            self._distinct -= again
            self.kernel.counter.miss(again, self._distinct * self.n * self.kernel.dtype.itemsize)

    def _room(self, count: int, keep: Index | None, last: Callable[[], Mask] | None) -> Index:
        if self._taken + count <= self.capacity and not self._resting:
            self._taken += count
            return np.arange(self._taken - count, self._taken)
        age, full = self.last_used, self._taken + count > self.capacity
        if last is not None:
            age = np.where(last()[self.owner] & (self.owner >= 0), age + _LAST, age)
        if keep is not None:
            age, held = age.copy(), self.slot_of[keep]
            age[held[held >= 0]] = _STAYS
        slots = _oldest(age, count)
        for point in self.owner[slots].tolist():
            if point >= 0:
                self.slot_of[point] = -1
                if full:
                    self._evicted[point] = self._any_evicted = True
                else:  # at rest: as if it had not been asked for
                    self._distinct -= 1
        if self._taken < self.capacity:
            self._taken = max(self._taken, int(slots.max(initial=-1)) + 1)
        return slots

    def compute(self, points: Index, slots: Index, after: Callable[[int, int], None] | None = None) -> None:
        """Compute the rows of ``points`` into the places that :meth:`reserve` gave them; see ``KernelOracle.fill``."""
        self.fetched += len(points)
        self._compute(points, self.rows, slots, after)

    def fetch(self, points: Index, *, keep: Index | None = None, last: Callable[[], Mask] | None = None) -> None:
        """Bring the rows of ``points``, all different, into the buffer, and note that all of them are used now.

        They are not checked: what compiled loops name runs from 0 to n - 1, and looking costs a tenth of a short row.
        No more points than places, unless ``keep``, whose rows must stay, says that some may be left out; ``last``: see
        :meth:`reserve`.
        """
        missing = points[self.slot_of[points] < 0]
        complete = len(missing) == len(points)
        if len(missing):
            stay = points if keep is None else np.concatenate([points, keep])
            slots = self.reserve(missing, keep=None if complete and keep is None else stay, last=last)
            missing = missing[: len(slots)]
            try:
                self.compute(missing, slots)
            except BaseException:  # an interrupt, say: what was not written is not held
                self.slot_of[missing], self.owner[slots], self.last_used[slots] = -1, -1, _NEVER
                raise
            self._unread += len(missing)
        if not complete:
            places = self.slot_of[points]
            self.last_used[places[places >= 0]] = self.clock

    def used(self, points: Index) -> None:
        """Let the clock go on and note that the rows of ``points``, all held, are used: no other row stays longer."""
        self.clock += 1
        self.last_used[self.slot_of[points]] = self.clock

    def at_rest(self, points: Index) -> None:
        """Let the rows of ``points``, if held, be the first to go: they will seldom be asked for again."""
        slots = self.slot_of[points]
        self.last_used[slots[slots >= 0]] = self.clock - _AGED
        self._resting = True

    def cheaper_anew(self, values: int, reads: int) -> bool:
        """Return whether computing ``values`` takes less time than ``reads`` at random places of the rows held."""
        if self._taken * self.n * self.kernel.dtype.itemsize <= _NEAR_BYTES or reads * _READ <= _REQUEST:
            return False
        value = (_VALUE + _MULTIPLY_ADD * self.kernel.work) * self.kernel.dtype.itemsize / 4
        return bool(_REQUEST + values * value < reads * _READ)

    # -- counts ------------------------------------------------------------------------------------------------

    def hit(self, count: int) -> None:
        """Count ``count`` rows that were read here instead of being computed."""
        self._counts["cache_hits"] += count

    def read(self, count: int) -> None:
        """Count ``count`` rows that compiled loops read in ``rows``; those fetched for them were computed, once."""
        computed = min(self._unread, count)
        self._unread -= computed
        if count > computed:
            self.hit(count - computed)

    # -- what the rows give ------------------------------------------------------------------------------------

    def row(self, point: int) -> Block:
        """Return the row of ``point``, (n,), fetched if it is not here: a copy, as its place may go to another one."""
        points = np.array([point])
        self.clock += 1
        if self.slot_of[point] >= 0:
            self.hit(1)
        self.fetch(points)
        return np.array(self.rows[self.slot_of[point]])

    def add(self, total: Vector, points: Index, weights: Vector) -> None:
        """Add sum_p weights_p row_p of ``points``, all held, to ``total``, (n,) float64; they count as hits."""
        self.hit(len(points))
        self.add_part(total, self.slot_of[points], weights, 0, self.n)

    def add_part(self, total: Vector, slots: Index, weights: Vector, start: int, stop: int) -> None:
        """Add sum_p weights_p rows[slots_p, start:stop] to total[start:stop], float64, in place; counts nothing."""
        from harness.support.jit import add_rows

        add_rows(total, self.rows, slots, weights, start, stop)

    def expand(self, dual_coef: Vector, rows: Index | None = None) -> Vector:
        """Return what ``KernelOracle.expand`` does, from the rows held; only the others are computed, and not kept."""
        support = np.flatnonzero(dual_coef)
        held = support[self.slot_of[support] >= 0]
        total = np.zeros(self.n)
        self.add(total, held, dual_coef[held])
        found: Vector = total if rows is None else total[rows]
        if len(held) < len(support):
            rest = dual_coef.copy()
            rest[held] = 0.0
            found += self.kernel.expand(rest, rows)
        return found

    def moved(self, kernel: Any, place: Index, keep: Index) -> Self:
        """Return the buffer over another set of points, in the same memory, with the rows of ``keep`` carried over.

        Parameters
        ----------
        kernel : over the new points
        place : (m,) where each new point stood among the old ones, -1 for those that are new; m <= n
        keep : old points whose rows are worth carrying, all of them among the new ones
        """
        from harness.kernels.compiled import carry

        new = type(self)(kernel, self.memory)
        new.clock = self.clock
        position = np.full(self.n, -1, dtype=np.intp)
        old = place >= 0
        position[place[old]] = np.flatnonzero(old)
        slots = np.sort(self.slot_of[keep[self.slot_of[keep] >= 0]])[: new.capacity]
        owners = position[self.owner[slots]]
        carry(self.rows, slots, np.maximum(place, 0).astype(np.int32), new.rows)
        count = len(slots)
        added = np.flatnonzero(~old)
        for start in range(0, count if len(added) else 0, _PIECE):
            piece = slice(start, min(start + _PIECE, count))
            new.rows[piece, added] = kernel.block(owners[piece], added)
        new.owner[:count] = owners
        new.slot_of[owners] = np.arange(count)
        new.last_used[:count] = self.last_used[slots]
        new._taken, new._resting = count, self._resting  # noqa: SLF001 - one of its own kind
        new._any_evicted = self._any_evicted  # noqa: SLF001
        new._evicted[old] = self._evicted[place[old]]  # noqa: SLF001
        new._distinct = int(np.count_nonzero(new._evicted | (new.slot_of >= 0)))  # noqa: SLF001
        return new


def _oldest(age: Index, count: int) -> Index:
    """Return the places of the ``count`` smallest ages, the first among equals first, but for those that stay.

    ``age`` changes at these places, which are about to be used.
    """
    if count > _FEW:
        slots: Index = np.arange(len(age))
        if count < len(age):  # a part is sorted, not all
            last = np.partition(age, count - 1)[count - 1]
            older, equal = np.flatnonzero(age < last), np.flatnonzero(age == last)
            slots = np.concatenate([older, equal[: count - len(older)]])
        slots = slots[np.argsort(age[slots], kind="stable")]
        return slots[age[slots] < _STAYS]
    found: list[int] = []
    while len(found) < count and age[slot := int(age.argmin())] < _STAYS:
        found.append(slot)
        age[slot] = _STAYS
    return np.array(found, dtype=np.intp)


class SharedRows:
    """Rows k(x_i, .) over one set of points, held for all who ask for them: the problems of a path that share its kernel.

    They are those of k itself: a ridge and a product are added to what is handed out.

    Parameters
    ----------
    most_bytes : memory for the rows of all dtypes together; those of a dtype are held if all of them fit
    """

    def __init__(self, most_bytes: float) -> None:
        self._left = most_bytes
        self._kept: dict[np.dtype[Any], tuple[Block, Block]] = {}  # the rows, and which of them are there

    def rows(self, engine: Engine, wanted: Block, counter: Counter) -> Block | None:
        """Return (n, n) in which the rows ``wanted`` are there, computed and counted, or hits; None if all do not fit."""
        size = engine.n * engine.n * engine.dtype.itemsize
        if engine.dtype not in self._kept:
            if size > self._left:
                return None
            self._left -= size
            self._kept[engine.dtype] = np.empty((engine.n, engine.n), engine.dtype), np.zeros(engine.n, dtype=bool)
        rows, there = self._kept[engine.dtype]
        missing = np.unique(wanted[~there[wanted]])
        counter.add(engine.n * len(missing))
        counter.cache_hits += len(wanted) - len(missing)
        if len(missing):
            engine.compute(missing, rows, missing)
            there[missing] = True
        return rows
