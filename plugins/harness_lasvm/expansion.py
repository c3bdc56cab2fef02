"""The candidate set S with its kernel rows: storage and the host's kernel around the compiled loops.

Kernel values come from the counted oracle alone: the next candidates against S in one block, a member's
row when it is needed and no longer held, and at the end of a shrunk search the inactive members' gradients.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from harness_lasvm import ahead, hot, pool, scans, state, tight

if TYPE_CHECKING:
    from harness import CSVC

    Vector = np.ndarray[Any, np.dtype[Any]]

_SMALLEST_BLOCK = 48
_AMONG = 0.07  # of the kernel values may be between candidates, rather than with S
_AMONG_VALUES = 8192  # between candidates cost less than a block more
_FORESEEN = 0.03  # of S: smaller blocks are computed among themselves without looking who will enter
_LEAST_SHARE = 0.02  # of the candidates is taken to enter
_NEAR = 0.15  # a gradient is expected to move before a candidate's turn, at first
_NEARER = 0.7  # times so much, after a block in which all who entered were foreseen
_LEAST_WIDTH = 512  # slots a stored row has at first: close together, rows share pages of memory
_GROWTH = 1.25
_TIGHT_GROWTH = 1.04
_FREE_GROWTH = 1.6  # where there is room for all rows
_SMALL_POOL = 64 << 20  # bytes of rows that are moved in a few milliseconds
_HOLES = 16  # are left open, or one slot in so many: kernel values are computed for them too
_TOGETHER = 16  # new members whose values are worth being written to all rows at once
_ROWS_TOGETHER = 8  # are computed anew at a time, unless more are asked for
_PAGE = 16  # a row starts at a multiple of this many values
_DELTA_VALUES = 4_000_000  # kernel values held at a time while the inactive members' gradients are renewed


@dataclass
class Inactive:
    """Members at a bound, out of the search for a while: their gradient belongs to the coefficients ``then``."""

    members: Vector
    alpha: Vector
    grad: Vector
    then: Vector


class Expansion:
    """S, alpha and g of one run; ``hot`` works on its arrays.

    Parameters
    ----------
    cache_mb : memory for kernel rows, MB of 2^20 bytes; at least four rows are kept
    block : most candidates fetched together
    dtype : of the stored kernel values; alpha and g are float64
    """

    def __init__(self, problem: CSVC, *, cache_mb: float, block: int, dtype: str) -> None:
        self.kernel = problem.kernel.astype(dtype)
        self._columns = self.kernel.columns()  # the points of S, by slot
        self._pointed = -1  # length of the log when they were last renewed; -1: the slots have moved since
        self._peers = self.kernel.columns()  # candidates that are likely to enter
        # for the values of a block: fresh pages cost as much as the values
        self._memory, self._mixed, self._between = np.empty((3, 0), dtype=dtype)
        self.n = problem.n
        self.block = block
        self._entering = 1.0  # share of the last block's candidates that were likely to enter
        self._near = _NEAR
        self.rows_recomputed = 0
        self.inactive: list[Inactive] = []
        n = self.n
        # copies, as the compiled loops are made for writable arrays only
        self.box = state.Box(
            np.array(problem.targets),
            np.array(problem.lower_bounds),
            np.array(problem.upper_bounds),
            np.array(problem.kernel.diagonal()),
        )
        itemsize = np.dtype(dtype).itemsize
        widest = _aligned(n)
        budget = int(cache_mb * 2**20 / itemsize)
        size = min(max(budget, 4 * widest), (n + 2) * widest)
        width = min(widest, _aligned(_LEAST_WIDTH))

        self.members = state.Members(
            slots=np.zeros((3, n), dtype=np.int64),
            reals=np.zeros((5, n)),
            ways=np.zeros((2, n), dtype=np.float32),
            rows=np.full((3, n + 2), -1, dtype=np.int64),
            lists=np.full((7, max(n + 2, block)), -1, dtype=np.int64),
            log=np.zeros(1024, dtype=np.int64),
            coef=np.zeros(n),
            pool=np.zeros(size, dtype=dtype),  # zero pages until they are written
            counts=np.zeros(state.N_COUNTS, dtype=np.int64),
            extremes=np.zeros(2),
        )
        self.counts = self.members.counts
        self.counts[state.SWEEP] = 1
        self._relayout(np.empty(0, dtype=np.int64), width)

    # -- what a solver reads ----------------------------------------------------------------------

    @property
    def size(self) -> int:
        """Number of active members of S."""
        return int(self.counts[state.TOP] - self.counts[state.HOLES])

    @property
    def operations(self) -> int:
        """PROCESS and REPROCESS operations so far."""
        return int(self.counts[state.OPERATIONS])

    @property
    def delta(self) -> float:
        """Gradient difference of the most violating pair of active members; -inf if there is no pair."""
        g_max, g_min = self.members.extremes
        return float(g_max - g_min) if np.isfinite(g_max) and np.isfinite(g_min) else -np.inf

    @property
    def intercept(self) -> float:
        """B = (g_max + g_min) / 2; the finite one of the two if only one side has an eligible member."""
        ends = [float(end) for end in self.members.extremes if np.isfinite(end)]
        return sum(ends) / len(ends) if ends else 0.0

    def live(self) -> Vector:
        """Return the filled slots, ascending."""
        return np.flatnonzero(self.members.slots[state.MEMBER, : self.counts[state.TOP]] >= 0)

    # -- room ---------------------------------------------------------------------------------------

    def _relayout(self, keep: Vector, width: int) -> None:
        """Keep the slots ``keep`` (ascending) only, as slots 0, 1, ..., in rows of another width, moved in place.

        Who is not kept must have been noted elsewhere. The rows used last survive as far as there is room.
        """
        x, counts = self.members, self.counts
        top, old_width = int(counts[state.TOP]), int(counts[state.WIDTH])
        n_rows = int(min(x.pool.size // width, self.n + 2))
        place = np.full(top, -1, dtype=np.int64)
        place[keep] = np.arange(len(keep))
        gone = x.slots[state.MEMBER, :top][(place < 0) & (x.slots[state.MEMBER, :top] >= 0)]
        x.lists[state.WHERE, gone] = -1
        x.lists[state.WHERE, x.slots[state.MEMBER, keep]] = place[keep]
        rows = x.slots[state.ROW_OF, keep]
        rows = rows[rows >= 0]
        # one row is spare: it takes the next candidate's values
        rows = np.sort(rows[np.argsort(x.rows[state.USED, rows])[max(0, len(rows) - (n_rows - 1)) :]])
        owners = place[x.rows[state.SLOT_OF, rows]]
        pool.move_rows(x.pool, rows, keep, old_width, width)
        held = len(rows)
        x.rows[state.SEEN, :held], x.rows[state.USED, :held], x.rows[state.SLOT_OF, :held] = (
            x.rows[state.SEEN, rows],
            x.rows[state.USED, rows],
            owners,
        )
        x.rows[state.SLOT_OF, held:] = -1
        for values in (x.slots, x.reals, x.ways):
            values[:, : len(keep)] = values[:, keep]
        x.slots[state.ROW_OF, :top] = -1
        x.slots[state.ROW_OF, owners] = np.arange(held)
        zeros = place[x.lists[state.ZERO, : counts[state.ZEROS]]]
        zeros = zeros[zeros >= 0]
        x.lists[state.ZERO, : len(zeros)] = zeros
        log = x.log[: counts[state.CLOCK]]
        log[log >= 0] = place[log[log >= 0]]
        free = n_rows - held
        x.lists[state.FREE_ROW, :free] = np.arange(n_rows - 1, held - 1, -1)
        counts[state.TOP], counts[state.HOLES], counts[state.ZEROS] = len(keep), 0, len(zeros)
        counts[state.WIDTH], counts[state.ROWS], counts[state.FREE_ROWS] = width, n_rows, free
        counts[state.SPARE] = pool.take_row(x)
        scans.scan(x)
        self._pointed = -1

    def _make_room(self, entering: int) -> None:
        """Let ``entering`` members find slots, columns and places in the log."""
        counts, top = self.counts, int(self.counts[state.TOP])
        if counts[state.CLOCK] - counts[state.CAUGHT] >= _TOGETHER:
            pool.catch_up(self.members)
        if counts[state.HOLES] > max(_HOLES, top // _HOLES):
            self._relayout(self.live(), int(counts[state.WIDTH]))
            top = int(counts[state.TOP])
        needed = min(self.n, top + entering)
        if needed > counts[state.WIDTH]:
            width = max(needed, int(self._growth(needed) * counts[state.WIDTH]))
            self._relayout(self.live(), _aligned(min(self.n, width)))
        if counts[state.CLOCK] + entering > len(self.members.log):
            log = np.resize(self.members.log, 2 * (len(self.members.log) + entering))
            self.members = self.members._replace(log=log)

    def _growth(self, needed: int) -> float:
        """Return by how much the rows shall be wider than now."""
        pool = self.members.pool
        if needed**2 > pool.size and pool.nbytes <= _SMALL_POOL:
            return _TIGHT_GROWTH  # where rows must be dropped for lack of memory, wide ones cost more than moving them
        return _GROWTH if (_FREE_GROWTH * needed) ** 2 > pool.size else _FREE_GROWTH

    # -- kernel values ------------------------------------------------------------------------------

    def _point(self) -> None:
        """Let the kernel's columns be those of slots 0 .. top - 1; a hole's may be any."""
        top, clock = int(self.counts[state.TOP]), int(self.counts[state.CLOCK])
        places, points = np.empty((2, max(top, clock - self._pointed)), dtype=np.int64)
        count = ahead.stale(self.members, self._pointed, self._columns.index, places, points)
        self._columns.put(places[:count], points[:count], top)
        self._pointed = clock

    def _values(self, examples: Vector) -> Vector:
        """Return K(examples, slots 0 .. top - 1); the next call overwrites it."""
        self._point()
        shape = (len(examples), len(self._columns))
        if len(self._memory) < shape[0] * shape[1]:
            self._memory = np.empty(int(_GROWTH * shape[0] * shape[1]), dtype=self._memory.dtype)
        values = self._memory[: shape[0] * shape[1]].reshape(shape)
        self.kernel.fill(examples, values, columns=self._columns)
        return values

    def admit(self, examples: Vector, alphas: Vector, grads: Vector) -> None:
        """Let ``examples``, none of them members, into S."""
        for start in range(0, len(examples), self.block):
            part = slice(start, start + self.block)
            entering = np.asarray(examples[part], dtype=np.int64)
            self._make_room(len(entering))
            values, among = self._values(entering), self.kernel.block(entering, entering)
            hot.admit(self.members, self.box, entering, alphas[part], grads[part], values, among)

    def fetch(self, upcoming: Vector, *, foresee: bool = True) -> tuple[Any, ...]:
        """Compute the kernel rows of the next candidates; return what :func:`hot.online` needs of them.

        Candidates among themselves cost values that a row at a time would not. The block stays small enough that
        this adds less than a tenth to the values against S, or costs less than another block would. With ``foresee``
        only those likely to enter count: the others' columns are computed if they enter after all.

        Returns
        -------
        (candidates, places, fetched, among, starts, lengths) : places, of each candidate the row of ``fetched`` or -1;
        starts and lengths, the runs of slots that the first columns of ``fetched`` belong to; among, K between the
        rows' candidates, with NaN in the diagonal where the column has not been computed.
        """
        candidates = np.array(upcoming[: self._ahead(foresee)], dtype=np.int64)
        self._make_room(len(candidates))
        x, size = self.members, len(candidates)
        places, fresh, entering = np.empty((3, size), dtype=np.int64)
        count = ahead.outside(x, candidates, places, fresh)
        self._fresh = fresh = fresh[:count]
        fetched = self._values(fresh)
        self._distances = np.full(count, -np.inf)
        if foresee and count > _FORESEEN * self.size:
            likely = ahead.foresee(x, self.box.targets, fresh, fetched, self._near, self._distances, entering)
            self._entering = likely / count
            self._near *= _NEARER
        else:
            likely = count
            entering[:count] = np.arange(count)
        if len(self._between) < count**2:
            self._mixed, self._between = np.empty((2, min(self.block, 2 * count) ** 2), dtype=fetched.dtype)
        self._among = self._between[: count**2].reshape(count, count)
        ahead.forget(self._among)
        self._mix(entering[:likely])
        self.counts[state.AT] = self.counts[state.STAGE] = self.counts[state.BORN] = 0
        return candidates, places, fetched, self._among, np.zeros(1, dtype=np.int64), np.array([fetched.shape[1]])

    def _ahead(self, foresee: bool) -> int:
        """Return how many candidates to fetch."""
        if not foresee:
            return min(self.block, max(_SMALLEST_BLOCK, int(_AMONG * self.size)))
        share = max(_LEAST_SHARE, self._entering)
        size = max(_AMONG * self.size / share, math.sqrt(_AMONG_VALUES / share))
        return min(self.block, max(_SMALLEST_BLOCK, int(size)))

    def _mix(self, entering: Vector) -> None:
        """Compute K(fresh, fresh[entering]), columns of ``among``: for all rows, as these are at hand, prepared."""
        fresh, count = self._fresh, len(entering)
        if count:
            self._peers.put(np.arange(count), fresh[entering], count)
            values = self._mixed[: len(fresh) * count].reshape(len(fresh), count)
            self.kernel.fill(fresh, values, columns=self._peers)
            ahead.spread(values, entering, self._among)

    def _mix_unforeseen(self, place: int) -> None:
        entering = np.empty(len(self._fresh), dtype=np.int64)
        count = ahead.drifted(self._among, self._distances, place, entering)
        self._near = max(self._near, float(self._distances[place]))
        self._mix(entering[:count])

    def supply(self, together: int = _ROWS_TOGETHER) -> None:
        """Compute what the loops want: what the row of a slot lacks, or a candidate's values with those after it.

        together : rows at most that are computed with a missing one, those of the members that violate most
        """
        slot = int(self.counts[state.WANTED])
        if slot < 0:
            self._mix_unforeseen(-1 - slot)
        elif self.counts[state.GAPS]:
            self._fill_gaps(slot)
        else:
            self._compute_rows(slot, together)

    def _fill_gaps(self, slot: int) -> None:
        x, counts = self.members, self.counts
        missing = np.unique(x.lists[state.GAP, : counts[state.GAPS]])
        row = int(x.slots[state.ROW_OF, slot])
        values = self.kernel.block(x.slots[state.MEMBER, slot : slot + 1], x.slots[state.MEMBER, missing])
        x.pool[row * int(counts[state.WIDTH]) + missing] = values[0]
        pool.own_row(x, row, slot)

    def _compute_rows(self, slot: int, together: int) -> None:
        x, counts = self.members, self.counts
        width = int(counts[state.WIDTH])
        # rows are read by others, so that none may lack a member; pointing costs about as much as a row
        stale = self._pointed < 0 or 4 * (counts[state.CLOCK] - self._pointed) > counts[state.TOP]
        if stale or ahead.is_young(x, slot, self._columns.index):
            self._point()
        taken = np.empty((2, max(1, min(together, int(counts[state.ROWS]) // 8))), dtype=np.int64)
        slots, rows = taken[:, : tight.take_rows(x, slot, self._columns.index, *taken)]
        if not tight.has_rows_since(x, self._pointed):
            self._point()
        self.rows_recomputed += len(rows)
        every = x.pool[: x.pool.size // width * width].reshape(-1, width)
        self.kernel.fill(x.slots[state.MEMBER, slots], every, rows, self._columns)
        x.pool[rows * width + slots] = x.reals[state.DIAGONAL, slots]
        tight.complete(x, slots, rows, self._pointed)

    # -- shrinking ----------------------------------------------------------------------------------

    def shrink(self, least: float) -> None:
        """Put the members at a bound that cannot be in a violating pair out of the search.

        Those with alpha = 0 leave S for good (step 4 of REPROCESS). Nothing happens if fewer than the
        share ``least`` of the active members would go: packing costs more than it saves then.
        """
        x = self.members
        live = self.live()
        alpha, grad = x.reals[state.ALPHA, live], x.reals[state.GRAD, live]
        g_max, g_min = x.extremes
        idle = ((alpha == x.reals[state.LOWER, live]) & (grad <= g_min)) | (
            (alpha == x.reals[state.UPPER, live]) & (grad >= g_max)
        )
        if np.count_nonzero(idle) < max(1.0, least * len(live)):
            if self.counts[state.ROWS] <= len(live) and _aligned(len(live)) < self.counts[state.WIDTH]:
                self._relayout(live, _aligned(len(live)))  # narrower rows, so that more of them fit
            return
        hot.write(x)
        away = live[idle & (alpha != 0.0)]
        x.coef[x.slots[state.MEMBER, live[idle & (alpha == 0.0)]]] = 0.0
        if len(away):
            self.inactive.append(
                Inactive(
                    x.slots[state.MEMBER, away], x.reals[state.ALPHA, away], x.reals[state.GRAD, away], x.coef.copy()
                )
            )
        keep = live[~idle]
        self._relayout(keep, _aligned(max(len(keep), 1)))

    def unshrink(self, tau: float) -> None:
        """Renew the inactive members' gradients and let those back in that the violating pairs of all S may need."""
        x = self.members
        hot.write(x)
        for group in self.inactive:
            self._renew(group)
        members = np.concatenate([group.members for group in self.inactive])
        alpha = np.concatenate([group.alpha for group in self.inactive])
        grad = np.concatenate([group.grad for group in self.inactive])
        self.inactive = []
        # at a bound: one direction is open
        rising = alpha == self.box.lower[members]
        g_max = max(float(x.extremes[state.G_MAX]), float(np.max(grad[rising], initial=-np.inf)))
        g_min = min(float(x.extremes[state.G_MIN]), float(np.min(grad[~rising], initial=np.inf)))
        back = np.where(rising, grad > g_min, grad < g_max) & (g_max - g_min > tau)
        stay = ~back
        if stay.any():
            self.inactive.append(Inactive(members[stay], alpha[stay], grad[stay], x.coef.copy()))
        self.admit(members[back], alpha[back], grad[back])
        if not back.any():
            x.extremes[:] = g_max, g_min

    def _renew(self, group: Inactive) -> None:
        change = self.members.coef - group.then
        moved = np.flatnonzero(change)
        step = max(1, _DELTA_VALUES // len(group.members))
        for start in range(0, len(moved), step):
            part = moved[start : start + step]
            group.grad -= change[part] @ self.kernel.block(part, group.members)


def _aligned(width: int) -> int:
    """Return a row's width in values: an odd number of pages, else the rows' columns would share few cache sets."""
    return (-(-width // _PAGE) | 1) * _PAGE
