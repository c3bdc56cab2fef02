"""The candidate set S with its kernel rows: storage and the host's kernel around the compiled loops.

Kernel values come from the counted kernel alone: the next candidates against S together, a member's row when it is
needed and no longer held.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness import CSVC, CSVCNoBias, Iterate, KernelOracle
from harness.support.arrays import Array
from harness_lasvm.compiled import members as loops
from harness_lasvm.compiled import rows
from harness_lasvm.compiled.scans import scan
from harness_lasvm.compiled.state import BORN, EXAMPLE, NEED_ROW, NOW, ROW, SLOT, STACKS, Candidates, Members

_LEAST_WIDTH = 1024  # slots a stored row has at first: close together, rows share pages of memory
GROWTH = 1.25
_TIGHT_GROWTH = 1.04
_FREE_GROWTH = 1.6  # where there is room for all rows
_AMPLE_GROWTH = 2.5  # where there is room for the rows of all examples
_SMALL_POOL = 64 << 20  # bytes of rows that are moved in a few milliseconds
_HOLES = 16  # are left open, or one slot in so many: kernel values are computed for them too
_TOGETHER = 16  # new members whose values are worth being written to all rows at once
_ROWS_TOGETHER = 8  # are computed anew at a time, unless more are asked for
_PAGE = 16  # a row starts at a multiple of this many values
_PER_SLOT = ("slots", "alpha", "grad", "diagonal", "rise", "fall")
# members at a bound that the finishing step leaves out of the search for a while, and lets back in at its end
_KERNEL_VALUES = 4_000_000  # held at a time while gradients are renewed
# the next candidates: who is fetched, who will enter S, and whose kernel values with the others are computed
_FEWEST = 48
_AMONG = 0.07  # of the kernel values may be between candidates, rather than with S
_AMONG_VALUES = 32768  # between candidates cost less than fetching once more: measured, 8192 and 131072 take longer
_FEW_FEATURES = 100  # with so many, values cost less than finding out which are wanted
_FORESEEN = 0.03  # of S: fewer are computed among themselves without looking who will enter
_LEAST_SHARE = 0.02  # of the candidates is taken to enter
_NEAR = 0.15  # a gradient is expected to move before a candidate's turn, at first
_NEARER = 0.7  # times so much, after all who entered were foreseen


@dataclass
class Aside:
    """Members set aside together: their gradient belongs to the coefficients ``then``."""

    members: Array
    alpha: Array
    grad: Array
    then: Array


class CandidateSet:
    """S, alpha and g of one run; the compiled loops work on its arrays.

    Parameters
    ----------
    cache_mb : memory for kernel rows, MB of 2^20 bytes; at least four rows are kept; None: the problem's own
    block : most candidates fetched together
    dtype : of the stored kernel values; alpha and g are float64

    Attributes
    ----------
    most_values : room for the kernel values of candidates with S; None: as much as ``block`` candidates take
    members : the arrays
    now : the scalars among them
    rows_recomputed : kernel rows of members that memory did not hold
    aside : members that the finishing step leaves out of the search
    """

    def __init__(self, problem: CSVC | CSVCNoBias, *, cache_mb: float | None, block: int, dtype: str) -> None:
        self.kernel = problem.kernel.replace(dtype=dtype)
        self.n = n = problem.n
        self.block = block
        self.most_values: int | None = None
        self.cache_mb: float = problem.kernel.cache_mb if cache_mb is None else cache_mb
        self.rows_recomputed = 0
        self.aside: list[Aside] = []
        self._standing: Array = np.empty(0, dtype=np.int64)  # the point of S at each slot, in a hole any
        self._pointed = -1  # length of the log when they were last renewed; -1: the slots have moved since
        self._memory: Array = np.empty(
            0, dtype=dtype
        )  # of the values last asked for: fresh pages cost as much as these
        self._foresight = Foresight(self.kernel)
        widest = _aligned(n)
        budget = int(self.cache_mb * 2**20 / np.dtype(dtype).itemsize)
        examples = np.empty(n, dtype=EXAMPLE)
        examples["target"], examples["diagonal"] = problem.targets, problem.kernel.diagonal()
        examples["lower"], examples["upper"], examples["slot"] = problem.lower_bounds, problem.upper_bounds, -1
        self.members = Members(
            slots=np.zeros(n, dtype=SLOT),
            alpha=np.zeros(n),
            grad=np.zeros(n),
            diagonal=np.zeros(n),
            rise=np.zeros(n, dtype=np.float32),
            fall=np.zeros(n, dtype=np.float32),
            rows=np.full(n + 2, -1, dtype=ROW),
            examples=examples,
            stacks=np.zeros(max(n + 2, block), dtype=STACKS),
            born=np.zeros(max(n + 2, block), dtype=BORN),
            log=np.zeros(1024, dtype=np.int64),
            coef=np.zeros(n),
            # zero pages until they are written
            pool=np.zeros(min(max(budget, 4 * widest), (n + 2) * widest), dtype=dtype),
            now=np.zeros(1, dtype=NOW),
        )
        self.now = self.members.now[0]
        self.now["sweep"] = 1
        self._relayout(np.empty(0, dtype=np.int64), min(widest, _aligned(_LEAST_WIDTH)))

    # -- what a solver reads ----------------------------------------------------------------------

    @property
    def size(self) -> int:
        """Number of active members of S."""
        return int(self.now["top"] - self.now["holes"])

    @property
    def all_members(self) -> int:
        """|S|, those set aside included."""
        return self.size + sum(len(group.members) for group in self.aside)

    @property
    def operations(self) -> int:
        """PROCESS and REPROCESS operations so far."""
        return int(self.now["operations"])

    @property
    def delta(self) -> float:
        """Gradient difference of the most violating pair of active members; -inf if there is no pair."""
        return float(self.now["g_max"] - self.now["g_min"])  # infinities of opposite signs where nothing is eligible

    @property
    def intercept(self) -> float:
        """B = (g_max + g_min) / 2; the finite one of the two if only one side has an eligible member."""
        high, low = float(self.now["g_max"]), float(self.now["g_min"])
        if math.isinf(high) or math.isinf(low):
            return next((end for end in (high, low) if math.isfinite(end)), 0.0)
        return 0.5 * (high + low)

    @property
    def targets(self) -> Array:
        """Of all examples."""
        targets: Array = self.members.examples["target"]
        return targets

    def live(self) -> Array:
        """Return the filled slots, ascending."""
        return np.flatnonzero(self.members.slots["member"][: self.now["top"]] >= 0)

    def examples(self) -> Array:
        """Return the members, in the order of :meth:`live`."""
        members: Array = self.members.slots["member"][: self.now["top"]]
        return members[members >= 0]

    def every_member(self) -> Array:
        """Return the members, those set aside included, ascending."""
        return np.sort(np.concatenate([self.examples(), *[group.members for group in self.aside]]))

    def write(self) -> Array:
        """Return dual_coef as it is now, (n,): an array that the next call changes."""
        loops.write(self.members)
        coef: Array = self.members.coef
        return coef

    def support(self) -> int:
        """Return the number of active support vectors."""
        return int(loops.write(self.members))

    def iterate(self, coef: Array | None = None, *, done: bool = False, **info: Any) -> Iterate:
        """Return the model of now and what there is to say about it, with ``info``; ``coef``: its coefficients, if known."""
        members = self.all_members if self.aside else self.size
        info.update(delta=self.delta, members=members, rows_recomputed=self.rows_recomputed)
        coef = self.write() if coef is None else coef
        return Iterate(coef, self.intercept, done=done, step=self.operations, working_set=members, info=info)

    # -- the compiled loops -------------------------------------------------------------------------

    def run(self, loop: Callable[..., int], *work: Any, pause: int, together: int = _ROWS_TOGETHER) -> int:
        """Call ``loop``, and supply what it wants, until it comes back for another reason; return that.

        pause : number of operations after which it does
        together : see :meth:`supply`
        """
        self.now["pause"] = self.operations + pause
        while (code := loop(self.members, *work)) == NEED_ROW:
            self.supply(together)
        return code

    def supply(self, together: int = _ROWS_TOGETHER) -> None:
        """Compute what the loops want: what the row of a slot lacks, or a candidate's values with those after it.

        together : rows at most that are computed with a missing one, those of the members that violate most
        """
        slot = int(self.now["wanted"])
        if slot < 0:
            self._foresight.mix_unforeseen(-1 - slot)
        elif self.now["gaps"]:
            self._fill_gaps(slot)
        else:
            self._compute_rows(slot, together)

    def fetch(self, upcoming: Array, *, foresee: bool = True) -> Candidates:
        """Compute the kernel values of the next candidates of ``upcoming``; see :mod:`harness_lasvm.candidate_set`."""
        return self._foresight.fetch(self, upcoming, foresee=foresee)

    def offered(self, examples: Array, places: Array, values: Array, among: Array) -> Candidates:
        """Return candidates, see :class:`Candidates`; the loops begin with the first of them."""
        self.now["at"] = self.now["stage"] = self.now["born"] = 0
        return Candidates(_writable(examples), places, values, among)

    def admit(self, examples: Array, alphas: Array, grads: Array) -> None:
        """Let ``examples``, none of them members, into S."""
        step = self.together(self.block)
        for start in range(0, len(examples), step):
            part = slice(start, start + step)
            entering = _writable(examples[part])
            self.make_room(len(entering))
            fetched = self.values(entering), self.kernel.block(entering, entering)
            work = Candidates(entering, np.arange(len(entering)), *fetched)
            loops.admit(self.members, work, alphas[part], grads[part])

    def together(self, most: int) -> int:
        """Return how many candidates, at most ``most``, have their values with S computed at a time."""
        if self.most_values is None:
            return most
        return max(1, min(most, int(self.most_values / (GROWTH * max(1, int(self.now["top"]))))))

    # -- room ---------------------------------------------------------------------------------------

    def _relayout(self, keep: Array, width: int) -> None:
        """Keep the slots ``keep`` (ascending) only, as slots 0, 1, ..., in rows of another width, moved in place.

        Who is not kept must have been noted elsewhere. The rows used last survive as far as there is room.
        """
        x, now = self.members, self.now
        top, size = int(now["top"]), len(keep)
        n_rows = int(min(x.pool.size // width, self.n + 2))
        place = np.full(top, -1, dtype=np.int64)
        place[keep] = np.arange(size)
        gone = x.slots["member"][:top][(place < 0) & (x.slots["member"][:top] >= 0)]
        x.examples["slot"][gone] = -1
        x.examples["slot"][x.slots["member"][keep]] = place[keep]
        held = x.slots["row"][keep]
        held = held[held >= 0]
        # one row is spare: it takes the next candidate's values
        held = np.sort(held[np.argsort(x.rows["used"][held])[max(0, len(held) - (n_rows - 1)) :]])
        rows.move_rows(x.pool, held, keep, int(now["width"]), width)
        count = len(held)
        x.rows[:count] = x.rows[held]
        x.rows["slot"][:count] = owners = place[x.rows["slot"][:count]]
        x.rows["slot"][count:] = -1
        for name in _PER_SLOT:
            values = getattr(x, name)
            values[:size] = values[keep]
        x.slots["row"][:top] = -1
        x.slots["row"][owners] = np.arange(count)
        zeros = place[x.stacks["zero"][: now["zeros"]]]
        zeros = zeros[zeros >= 0]
        x.stacks["zero"][: len(zeros)] = zeros
        log = x.log[: now["clock"]]
        log[log >= 0] = place[log[log >= 0]]
        free = n_rows - 1 - count
        x.stacks["free_row"][:free] = np.arange(n_rows - 1, count, -1)
        now["top"], now["holes"], now["zeros"] = size, 0, len(zeros)
        now["width"], now["rows"], now["free_rows"] = width, n_rows, free
        now["spare"] = count
        scan(x)
        self._pointed = -1

    def keep(self, slots: Array) -> None:
        """Keep the members in ``slots`` (ascending) only, in rows as short as can be."""
        self._relayout(slots, _aligned(max(len(slots), 1)))

    def make_room(self, entering: int) -> None:
        """Let ``entering`` members find slots, columns and places in the log."""
        now, top = self.now, int(self.now["top"])
        if now["clock"] - now["caught"] >= _TOGETHER:
            rows.catch_up(self.members)
        if now["holes"] > max(_HOLES, top // _HOLES):
            self._relayout(self.live(), int(now["width"]))
            top = int(now["top"])
        needed = min(self.n, top + entering)
        if needed > now["width"]:
            width = max(needed, int(self._growth(needed) * now["width"]))
            self._relayout(self.live(), _aligned(min(self.n, width)))
        if now["clock"] + entering > len(self.members.log):
            log = np.resize(self.members.log, 2 * (len(self.members.log) + entering))
            self.members = self.members._replace(log=log)

    def _growth(self, needed: int) -> float:
        """Return by how much the rows shall be wider than now."""
        pool = self.members.pool
        if pool.size >= (self.n + 2) * _aligned(self.n):
            return _AMPLE_GROWTH
        if needed**2 > pool.size and pool.nbytes <= _SMALL_POOL:
            return _TIGHT_GROWTH  # where rows must be dropped for lack of memory, wide ones cost more than moving them
        return GROWTH if (_FREE_GROWTH * needed) ** 2 > pool.size else _FREE_GROWTH

    # -- kernel values ------------------------------------------------------------------------------

    def _point(self) -> None:
        """Let the kernel's columns be those of slots 0 .. top - 1; a hole's may be any."""
        self._standing = np.maximum(self.members.slots["member"][: self.now["top"]], 0)
        self._pointed = int(self.now["clock"])

    def values(self, examples: Array) -> Array:
        """Return K(examples, slots 0 .. top - 1); the next call overwrites it."""
        self._point()
        shape = (len(examples), len(self._standing))
        if len(self._memory) < shape[0] * shape[1]:
            self._memory = np.empty(int(GROWTH * shape[0] * shape[1]), dtype=self._memory.dtype)
        values = self._memory[: shape[0] * shape[1]].reshape(shape)
        self.kernel.fill(examples, values, columns=self._standing)
        return values

    def _fill_gaps(self, slot: int) -> None:
        x = self.members
        missing = np.unique(x.stacks["gap"][: self.now["gaps"]])
        row = int(x.slots["row"][slot])
        values = self.kernel.block(x.slots["member"][slot : slot + 1], x.slots["member"][missing])
        x.pool[row * int(self.now["width"]) + missing] = values[0]
        self.now["tick"] += 1  # as rows.own_row does, which has no wrapper to be called from here
        x.rows[row] = slot, self.now["clock"], self.now["tick"]

    def _compute_rows(self, slot: int, together: int) -> None:
        x, now = self.members, self.now
        width = int(now["width"])
        # rows are read by others, so that none may lack a member; pointing costs about as much as a row
        stale = self._pointed < 0 or 4 * (now["clock"] - self._pointed) > now["top"]
        known = self._standing  # as rows.is_young compares them
        if stale or slot >= len(known) or known[slot] != x.slots["member"][slot]:
            self._point()
        taken = np.empty((2, max(1, min(together, int(now["rows"]) // 8))), dtype=np.int64)
        slots, places = taken[:, : rows.take_rows(x, slot, self._standing, *taken)]
        born = x.slots[x.log[self._pointed : now["clock"]]]  # after the last pointing: none of them a slot that moved
        if ((born["member"] >= 0) & (born["row"] < 0)).any():
            self._point()
        self.rows_recomputed += len(places)
        self.kernel.counter.miss(len(places), (self.size + 1) * width * x.pool.itemsize)
        every = x.pool[: x.pool.size // width * width].reshape(-1, width)
        self.kernel.fill(x.slots["member"][slots], every, places, self._standing)
        x.pool[places * width + slots] = x.diagonal[slots]
        rows.complete(x, slots, places, self._pointed)

    # -- members at a bound, left out of the search for a while ----------------------------------------

    def shrink(self, least: float) -> None:
        """Put the members at a bound that cannot be in a violating pair out of the search.

        Those with alpha = 0 leave S for good (step 4 of REPROCESS). Nothing happens if fewer than the
        share ``least`` of the active members would go: packing costs more than it saves then.
        """
        x, now, live = self.members, self.now, self.live()
        alpha, grad, slots = x.alpha[live], x.grad[live], x.slots[live]
        idle = ((alpha == slots["lower"]) & (grad <= now["g_min"])) | (
            (alpha == slots["upper"]) & (grad >= now["g_max"])
        )
        if np.count_nonzero(idle) < max(1.0, least * len(live)):
            if now["rows"] <= len(live) and _aligned(len(live)) < now["width"]:
                self.keep(live)  # in shorter rows, so that more fit
            return
        coef = self.write()
        away = idle & (alpha != 0.0)
        coef[slots["member"][idle & (alpha == 0.0)]] = 0.0
        if away.any():
            self.aside.append(Aside(slots["member"][away], alpha[away], grad[away], coef.copy()))
        self.keep(live[~idle])

    def unshrink(self, tau: float) -> None:
        """Renew the gradients of those set aside, some, and let those back in that the violating pairs of all S may need."""
        now, coef = self.now, self.write()
        for group in self.aside:
            self._renew(group)
        members = np.concatenate([group.members for group in self.aside])
        alpha = np.concatenate([group.alpha for group in self.aside])
        grad = np.concatenate([group.grad for group in self.aside])
        self.aside = []
        # at a bound: one direction is open
        rising = alpha == self.members.examples["lower"][members]
        g_max = max(float(now["g_max"]), float(np.max(grad[rising], initial=-np.inf)))
        g_min = min(float(now["g_min"]), float(np.min(grad[~rising], initial=np.inf)))
        back = np.where(rising, grad > g_min, grad < g_max) & (g_max - g_min > tau)
        stay = ~back
        if stay.any():
            self.aside.append(Aside(members[stay], alpha[stay], grad[stay], coef.copy()))
        self.admit(members[back], alpha[back], grad[back])
        if not back.any():
            now["g_max"], now["g_min"] = g_max, g_min

    def readmit(self) -> None:
        """Let all who were set aside back into the search; their rows are computed anew."""
        groups, self.aside = self.aside, []
        for group in groups:
            self.admit(group.members, group.alpha, group.grad)

    def _renew(self, group: Aside) -> None:
        change = self.members.coef - group.then
        moved = np.flatnonzero(change)
        step = max(1, _KERNEL_VALUES // len(group.members))
        for start in range(0, len(moved), step):
            part = moved[start : start + step]
            group.grad -= change[part] @ self.kernel.block(part, group.members)

    # -- S over other examples ----------------------------------------------------------------------

    def useful(self, tau: float, few: int, most: int) -> Array:
        """Return the slots, ascending, of the support vectors and of the members of weight zero worth keeping.

        Those are the ``few`` that violate most, and of the others those in a tau-violating pair, ``most`` in all.
        """
        x, now, live = self.members, self.now, self.live()
        alpha, grad = x.alpha[live], x.grad[live]
        rising = x.slots["upper"][live] > 0.0
        violation = np.where(rising, grad - now["g_min"], now["g_max"] - grad)
        idle = np.flatnonzero(alpha == 0.0)
        idle = idle[np.argsort(-violation[idle], kind="stable")[:most]]
        idle = idle[(np.arange(len(idle)) < few) | (violation[idle] > tau)]
        return np.sort(np.concatenate([live[alpha != 0.0], live[idle]]))

    def moved(self, problem: CSVC, slots: Array) -> CandidateSet:
        """Return S with the kernel rows that it holds, over other examples; this expansion must not be used any more.

        Parameters
        ----------
        problem : its first examples are the members in ``slots``, the others are new
        slots : (s,) ascending; the other members leave S
        """
        after = CandidateSet(problem, cache_mb=self.cache_mb, block=self.block, dtype=self.kernel.dtype.name)
        after.most_values = self.most_values
        after.rows_recomputed = self.rows_recomputed
        before, fresh = self.members, after.members
        grown = {
            name: _longer(getattr(before, name), getattr(fresh, name))
            for name in (*_PER_SLOT, "rows", "stacks", "born")
        }
        held = np.flatnonzero(before.rows["slot"][: self.now["rows"]] >= 0)
        used = int(held.max(initial=-1) + 1) * int(self.now["width"])
        # the rest stays untouched: pages that nobody wrote to take no memory
        pool = _longer(before.pool, fresh.pool, used)
        after.members = x = before._replace(examples=fresh.examples, coef=fresh.coef, pool=pool, **grown)
        after.now = x.now[0]
        x.examples["slot"][: len(slots)] = slots
        x.slots["member"] = -1
        x.slots["member"][slots] = np.arange(len(slots))
        after._forget()
        after._relayout(slots, int(after.now["width"]))
        loops.write(x)
        return after

    def _forget(self) -> None:
        """Shorten the log to the last filling of each slot, so that it grows with S and not with the stream."""
        x, now = self.members, self.now
        log = x.log[: now["clock"]]
        last = np.full(int(now["top"]), -1)
        filled = np.flatnonzero(log >= 0)
        last[log[filled]] = filled  # of equal indices the last one is written
        kept = np.sort(last[self.live()])
        kept = kept[kept >= 0]
        x.log[: len(kept)] = log[kept]
        x.rows["seen"] = np.searchsorted(kept, x.rows["seen"])
        now["caught"] = np.searchsorted(kept, now["caught"])
        now["clock"] = len(kept)


def _writable(examples: Array) -> Array:
    """Return examples as the loops are compiled for: of what may not be written to, they would be compiled once more."""
    return np.require(examples, dtype=np.int64, requirements="W")


def _aligned(width: int) -> int:
    """Return a row's width in values: an odd number of pages, else the rows' columns would share few cache sets."""
    return (-(-width // _PAGE) | 1) * _PAGE


def _longer(old: Array, new: Array, used: int | None = None) -> Array:
    """Return the longer one, with what ``old`` holds; up to ``used`` if that is given."""
    if len(old) >= len(new):
        return old
    new[: len(old) if used is None else used] = old[:used]
    return new


# -- the next candidates: who is fetched, who will enter S, and whose kernel values with the others are computed -------
# Candidates among themselves cost values that a row at a time would not. As few are fetched that this adds less than a
# tenth to the values against S, or costs less than fetching once more would. Where many enter nothing is to be foreseen;
# else only those likely to enter count: the others' columns are computed if they enter after all. Of points with few features
# all are computed at once.


class Foresight:
    """Fetches candidates, and learns from each time how many will enter."""

    def __init__(self, kernel: KernelOracle) -> None:
        self.kernel = kernel
        self.share = 1.0  # of the last candidates that were likely to enter
        self.near = _NEAR
        # fresh pages cost as much as the values
        self._mixed, self._between = np.empty((2, 0), dtype=kernel.dtype)

    def fetch(self, expansion: CandidateSet, upcoming: Array, *, foresee: bool = True) -> Candidates:
        """Compute the kernel values of the next candidates of ``upcoming``, one at least."""
        examples = np.array(upcoming[: self._ahead(expansion, foresee)], dtype=np.int64)
        expansion.make_room(len(examples))
        x = expansion.members
        is_fresh = x.examples["slot"][examples] < 0
        self._fresh = fresh = examples[is_fresh]
        places, count = np.where(is_fresh, np.cumsum(is_fresh) - 1, -1), len(fresh)
        values = expansion.values(fresh)
        self._distances = np.full(count, -np.inf)
        entering = np.arange(count)
        if foresee and self.kernel.n_features > _FEW_FEATURES and count > _FORESEEN * expansion.size:
            loops.foresee(x, fresh, values, self._distances)
            entering = np.flatnonzero(self._distances < self.near)
            self.share = len(entering) / count
            self.near *= _NEARER
        if len(self._between) < count**2:
            room = min(expansion.block, 2 * count) ** 2
            self._mixed, self._between = np.empty((2, room), dtype=values.dtype)
        self._among = self._between[: count**2].reshape(count, count)
        np.fill_diagonal(self._among, np.nan)
        self._mix(entering)
        return expansion.offered(examples, places, values, self._among)

    def _ahead(self, expansion: CandidateSet, foresee: bool) -> int:
        """Return how many candidates to fetch."""
        size = _AMONG * expansion.size
        if foresee:
            share = max(_LEAST_SHARE, self.share)
            size = max(size / share, math.sqrt(_AMONG_VALUES / share))
        return min(expansion.together(expansion.block), max(_FEWEST, int(size)))

    def _mix(self, entering: Array) -> None:
        """Compute K(fresh, fresh[entering]), columns of ``among``: for all rows, as these are at hand, prepared."""
        fresh, count = self._fresh, len(entering)
        if count:
            values = self._mixed[: len(fresh) * count].reshape(len(fresh), count)
            self.kernel.fill(fresh, values, columns=fresh[entering])
            loops.spread(values, entering, self._among)

    def mix_unforeseen(self, place: int) -> None:
        """Compute the column of a candidate that enters unforeseen, and of those after it that are as near."""
        distances = self._distances
        near = (distances <= distances[place]) & np.isnan(self._among.diagonal())
        near[:place] = False
        self.near = max(self.near, float(distances[place]))
        self._mix(np.flatnonzero(near))
