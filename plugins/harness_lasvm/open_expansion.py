"""The candidate set S where examples come with their kernel values, or go and come while S stays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from harness_lasvm import hot, state
from harness_lasvm.expansion import Expansion

if TYPE_CHECKING:
    from harness import CSVC

    Vector = np.ndarray[Any, np.dtype[Any]]


_PER_EXAMPLE = ("slots", "reals", "ways", "rows", "lists")


class OpenExpansion(Expansion):
    """An expansion that takes kernel values from whoever has them already."""

    def offer(self, example: Vector, known: Vector) -> tuple[Any, ...]:
        """Return what :func:`hot.online` needs of one example.

        Parameters
        ----------
        example : (1,), not a member
        known : (n,) in the dtype of the rows, K(example, members) at the members' places
        """
        self._make_room(1)
        slots = self.live()
        top = int(self.counts[state.TOP])
        fetched = np.zeros((1, top), dtype=known.dtype)  # a hole's value is read and never used: alpha is 0 there
        fetched[0, slots] = known[self.members.slots[state.MEMBER, slots]]
        self.counts[state.AT] = self.counts[state.STAGE] = self.counts[state.BORN] = 0
        place = start = np.zeros(1, dtype=np.int64)
        among = np.zeros((1, 1), dtype=known.dtype)  # one candidate has no others
        return example, place, fetched, among, start, np.array([top])

    def moved(self, problem: CSVC, *, cache_mb: float) -> OpenExpansion:
        """Return S with the kernel rows that it holds, over other examples; this expansion must not be used any more.

        Parameters
        ----------
        problem : its first examples are the members in the order of :meth:`live`, the others are new
        """
        after = OpenExpansion(problem, cache_mb=cache_mb, block=self.block, dtype=self.kernel.dtype.name)
        after.rows_recomputed = self.rows_recomputed
        before, fresh = self.members, after.members
        grown = {name: _longer(getattr(before, name), getattr(fresh, name)) for name in _PER_EXAMPLE}
        after.members = before._replace(coef=fresh.coef, pool=self._pool(fresh.pool), **grown)
        after.counts = after.members.counts
        live = after.live()
        after.members.lists[state.WHERE] = -1
        after.members.lists[state.WHERE, : len(live)] = live
        after.members.slots[state.MEMBER, live] = np.arange(len(live))
        after._forget()
        after._relayout(live, int(after.counts[state.WIDTH]))
        hot.write(after.members)
        return after

    def _pool(self, fresh: Vector) -> Vector:
        """Return memory for rows with those held: the present one, or ``fresh`` if it is larger."""
        pool: Vector = self.members.pool
        if len(pool) >= len(fresh):
            return pool
        held = np.flatnonzero(self.members.rows[state.SLOT_OF, : self.counts[state.ROWS]] >= 0)
        used = int(held[-1] + 1) * int(self.counts[state.WIDTH]) if len(held) else 0
        fresh[:used] = pool[:used]  # the rest stays untouched: pages that nobody wrote to take no memory
        return fresh

    def readmit(self) -> None:
        """Let the members that the finishing step set aside back into the search; their rows are computed anew."""
        groups, self.inactive = self.inactive, []
        for group in groups:
            self.admit(group.members, group.alpha, group.grad)

    def _forget(self) -> None:
        """Shorten the log to the last filling of each slot, so that it grows with S and not with the stream."""
        x, counts = self.members, self.counts
        log = x.log[: counts[state.CLOCK]]
        last = np.full(int(counts[state.TOP]), -1)
        filled = np.flatnonzero(log >= 0)
        last[log[filled]] = filled  # of equal indices the last one is written
        kept = np.sort(last[self.live()])
        kept = kept[kept >= 0]
        x.log[: len(kept)] = log[kept]
        x.rows[state.SEEN] = np.searchsorted(kept, x.rows[state.SEEN])
        counts[state.CAUGHT] = np.searchsorted(kept, counts[state.CAUGHT])
        counts[state.CLOCK] = len(kept)


def _longer(old: Vector, new: Vector) -> Vector:
    """Return the one with more columns, with what ``old`` holds."""
    if old.shape[-1] >= new.shape[-1]:
        return old
    new[..., : old.shape[-1]] = old
    return new
