"""The candidate set S with its kernel rows: storage and the host's kernel around the compiled loops.

Kernel values come from the counted kernel alone: the next candidates against S together, a member's row when it is
needed and no longer stored.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness import CSVC, CSVCNoBias, Iterate
from harness.support.arrays import Array
from harness_lasvm.compiled.members import admit, catch_up
from harness_lasvm.compiled.state import EXAMPLE, NEED_ROW, NOW, ROW, SLOT, STACKS, Candidates, Members

GROWTH = 1.6  # factor by which rows, and the room for kernel values of candidates, become longer; 1.25 takes 3 % longer
# the same where there is room for the rows of all examples: 3 moves at n = 6,055, with 1.6 there are 5
_AMPLE_GROWTH = 2.5
_LEAST_WIDTH = 1024  # slots of a stored row at first: close together, rows share pages of memory
# most holes in a small S, and most slots for each hole in a large one: kernel values are computed for them too
_HOLES = 16
# new members whose values are written to all rows at once: without it, 3,000 members took 1.8 times as long
_ENTERED = 16
_ROWS_TOGETHER = 8  # rows that are computed anew at a time, by default
_CHUNK = 64  # rows that are moved together
_PAGE = 16  # values: a row starts at a multiple of them
_KERNEL_VALUES = 4_000_000  # most kernel values in memory while gradients are renewed
_PER_SLOT = ("slots", "alpha", "grad", "diagonal", "rise", "fall")


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
    cache_mb : memory for kernel rows, MB of 2^20 bytes; at least four rows are stored; None: the problem's own
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
        # for the values requested last: fresh pages cost as much as these
        self._memory: Array = np.empty(0, dtype=dtype)
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
            log=np.zeros(1024, dtype=np.int64),
            # zero pages until they are written
            pool=np.zeros(min(max(budget, 4 * widest), (n + 2) * widest), dtype=dtype),
            now=np.zeros(1, dtype=NOW),
        )
        self.now = self.members.now[0]
        self.coef: Array = np.zeros(n)
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
        ends = [end for end in (float(self.now["g_max"]), float(self.now["g_min"])) if math.isfinite(end)]
        return sum(ends) / len(ends) if ends else 0.0

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
        live = self.live() if self.now["holes"] else slice(int(self.now["top"]))
        self.coef[:] = 0.0
        self.coef[self.members.slots["member"][live]] = self.members.alpha[live]
        for group in self.aside:
            self.coef[group.members] = group.alpha
        return self.coef

    def support(self) -> int:
        """Return the number of active support vectors."""
        return int(np.count_nonzero(self.members.alpha[: self.now["top"]]))

    def iterate(self, coef: Array | None = None, *, done: bool = False, **info: Any) -> Iterate:
        """Return the current model with its figures and ``info``; ``coef`` : dual_coef where the caller has it, else written anew."""
        members = self.all_members
        claims = {"delta": self.delta, "members": members, "rows_recomputed": self.rows_recomputed, **info}
        coef = self.write() if coef is None else coef
        return Iterate(coef, self.intercept, done=done, step=self.operations, working_set=members, info=claims)

    # -- the compiled loops -------------------------------------------------------------------------

    def run(self, loop: Callable[..., int], *work: Any, pause: int, together: int = _ROWS_TOGETHER) -> int:
        """Call ``loop``, and compute the rows that it lacks, until it returns another code; return that.

        pause : number of operations after which it returns
        together : most rows that are computed at a time
        """
        self.now["pause"] = self.operations + pause
        while (code := loop(self.members, *work)) == NEED_ROW:
            self._compute_rows(together)
        return code

    def fetch(self, upcoming: Array) -> Candidates:
        """Compute the kernel values of the next candidates of ``upcoming``, at least one, with S and between them."""
        examples = np.array(upcoming[: self.together(self.block)], dtype=np.int64)
        self.make_room(len(examples))
        entering = self.members.examples["slot"][examples] < 0
        places, fresh = np.where(entering, np.cumsum(entering) - 1, -1), examples[entering]
        return self.offered(examples, places, self.values(fresh), self.between(fresh))

    def offered(self, examples: Array, places: Array, values: Array, among: Array) -> Candidates:
        """Return candidates, see :class:`Candidates`; the loops begin with the first of them."""
        self.now["at"] = self.now["stage"] = self.now["entered"] = 0
        return Candidates(_writable(examples), places, values, among)

    def finishing_work(self) -> Candidates:
        """Return no candidates; the loops go on with REPROCESS."""
        none, nothing = np.empty(0, dtype=np.int64), np.empty((0, 0), dtype=self.kernel.dtype)
        work = self.offered(none, none, nothing, nothing)
        self.now["stage"] = 1
        return work

    def admit(self, examples: Array, alphas: Array, grads: Array) -> None:
        """Let ``examples``, none of them members, into S."""
        step = self.together(self.block)
        for start in range(0, len(examples), step):
            part = _writable(examples[start : start + step])
            self.make_room(len(part))
            work = self.offered(part, np.arange(len(part)), self.values(part), self.between(part))
            admit(self.members, work, alphas[start : start + step], grads[start : start + step])
        self._scan()

    def remove(self, slots: Array) -> None:
        """Remove the members in ``slots``, whose alpha is 0, from S."""
        x, now = self.members, self.now
        rows = x.slots["row"][slots]
        rows = rows[rows >= 0]
        x.examples["slot"][x.slots["member"][slots]] = -1
        x.slots[slots] = -1, -1, 0, 0.0, 0.0
        x.rise[slots], x.fall[slots] = -np.inf, np.inf
        x.rows["slot"][rows] = -1
        for name, count, entries in (("hole", "holes", slots), ("free_row", "free_rows", rows)):
            x.stacks[name][now[count] : now[count] + len(entries)] = entries
            now[count] += len(entries)

    def together(self, most: int) -> int:
        """Return how many candidates, at most ``most``, have their values with S computed at a time."""
        if self.most_values is None:
            return most
        return max(1, min(most, int(self.most_values / (GROWTH * max(1, int(self.now["top"]))))))

    # -- room ---------------------------------------------------------------------------------------

    def _relayout(self, keep: Array, width: int) -> None:
        """Keep the slots ``keep`` (ascending) only, as slots 0, 1, ..., in rows of another width, moved in place.

        The coefficients of the other members must have been saved before. The rows used last remain as far as there is room.
        """
        x, now = self.members, self.now
        top, size = int(now["top"]), len(keep)
        n_rows = int(min(x.pool.size // width, self.n + 2))
        place = np.full(top, -1, dtype=np.int64)
        place[keep] = np.arange(size)
        gone = x.slots["member"][:top][(place < 0) & (x.slots["member"][:top] >= 0)]
        x.examples["slot"][gone] = -1
        x.examples["slot"][x.slots["member"][keep]] = place[keep]
        stored = x.slots["row"][keep]
        stored = stored[stored >= 0]
        # one row is spare: it takes the next candidate's values
        stored = np.sort(stored[np.argsort(x.rows["used"][stored])[max(0, len(stored) - (n_rows - 1)) :]])
        _move_rows(x.pool, stored, keep, int(now["width"]), width)
        count = len(stored)
        x.rows[:count] = x.rows[stored]
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
        self._scan()

    def _scan(self) -> None:
        """Renew the extremes of the gradients."""
        x, now = self.members, self.now
        top = slice(int(now["top"]))
        now["g_max"], now["i_max"] = greatest(x.grad[top] + x.rise[top])
        least, now["i_min"] = greatest(-x.grad[top] - x.fall[top])
        now["g_min"] = -least

    def make_room(self, entering: int) -> None:
        """Let ``entering`` members find slots, columns and places in the log."""
        now, top = self.now, int(self.now["top"])
        if now["clock"] - now["caught_up"] >= _ENTERED:
            catch_up(self.members)
        if now["holes"] > max(_HOLES, top // _HOLES):
            self._relayout(self.live(), int(now["width"]))
            top = int(now["top"])
        needed = min(self.n, top + entering)
        if needed > now["width"]:
            ample = self.members.pool.size >= (self.n + 2) * _aligned(self.n)
            width = max(needed, int((_AMPLE_GROWTH if ample else GROWTH) * now["width"]))
            self._relayout(self.live(), _aligned(min(self.n, width)))
        if now["clock"] + entering > len(self.members.log):
            log = np.resize(self.members.log, 2 * (len(self.members.log) + entering))
            self.members = self.members._replace(log=log)

    # -- kernel values ------------------------------------------------------------------------------

    def between(self, examples: Array) -> Array:
        """Return K(examples, examples), of one example anything: it has no others.

        Writable, as for a read-only array the loops would be compiled once more.
        """
        among = np.empty((len(examples), len(examples)), dtype=self.kernel.dtype)
        if len(examples) > 1:
            self.kernel.fill(examples, among, columns=examples)
        return among

    def _columns(self) -> Array:
        """Return the points at slots 0 .. top - 1, in a hole any."""
        columns: Array = np.maximum(self.members.slots["member"][: self.now["top"]], 0)
        return columns

    def values(self, examples: Array) -> Array:
        """Return K(examples, slots 0 .. top - 1); the next call overwrites it."""
        columns = self._columns()
        shape = (len(examples), len(columns))
        if len(self._memory) < shape[0] * shape[1]:
            self._memory = np.empty(int(GROWTH * shape[0] * shape[1]), dtype=self._memory.dtype)
        values = self._memory[: shape[0] * shape[1]].reshape(shape)
        self.kernel.fill(examples, values, columns=columns)
        return values

    def _every_row(self) -> Array:
        """Return the pool as rows, (rows, width)."""
        width = int(self.now["width"])
        every: Array = self.members.pool[: int(self.now["rows"]) * width].reshape(-1, width)
        return every

    def _take_rows(self, slots: Array) -> Array:
        """Give each of ``slots`` a row of the pool: a free one, or the one not used for longest; return the rows."""
        x, now = self.members, self.now
        free = int(now["free_rows"])
        taken = min(free, len(slots))
        rows: Array = x.stacks["free_row"][free - taken : free][::-1].copy()
        now["free_rows"] -= taken
        if taken < len(slots):
            occupied = np.flatnonzero(x.rows["slot"][: now["rows"]] >= 0)
            oldest = occupied[np.argsort(x.rows["used"][occupied])[: len(slots) - taken]]
            x.slots["row"][x.rows["slot"][oldest]] = -1
            rows = np.concatenate([rows, oldest])
        x.slots["row"][slots] = rows
        x.rows["slot"][rows], x.rows["logged"][rows] = slots, now["clock"]
        x.rows["used"][rows] = now["tick"] + 1 + np.arange(len(slots))
        now["tick"] += len(slots)
        return rows

    def _compute_rows(self, together: int) -> None:
        """Compute the row that the loops need, with up to ``together`` - 1 others: those of the members that violate most."""
        x, now, slot = self.members, self.now, int(self.now["needed"])
        top = slice(int(now["top"]))
        violation = np.maximum(x.grad[top] + x.rise[top] - self.intercept, self.intercept - x.grad[top] - x.fall[top])
        violation[(x.slots["row"][top] >= 0) | (x.slots["member"][top] < 0)] = -np.inf
        violation[slot] = np.inf
        count = max(1, min(together, int(now["rows"]) // 8, int(np.count_nonzero(violation > -np.inf))))
        slots = np.argpartition(-violation, count - 1)[:count]
        slots = slots[np.argsort(-violation[slots], kind="stable")]
        places, every = self._take_rows(slots), self._every_row()
        self.rows_recomputed += count
        self.kernel.counter.miss(count, (self.size + 1) * every.shape[1] * every.itemsize)
        self.kernel.fill(x.slots["member"][slots], every, places, self._columns())
        every[places, slots] = x.diagonal[slots]

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
            return
        coef = self.write()
        away = idle & (alpha != 0.0)
        if away.any():
            self.aside.append(Aside(slots["member"][away], alpha[away], grad[away], coef.copy()))
        active = live[~idle]
        self._relayout(active, _aligned(max(len(active), 1)))  # in rows as short as can be

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
        """Undo what the finishing step has changed for itself: let all who were set aside back in; their rows are computed anew."""
        self.now["sweep"] = 1
        groups, self.aside = self.aside, []
        for group in groups:
            self.admit(group.members, group.alpha, group.grad)

    def _renew(self, group: Aside) -> None:
        change = self.coef - group.then
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
        """Return S with its stored kernel rows, over other examples; this expansion must not be used any more.

        Parameters
        ----------
        problem : its first examples are the members in ``slots``, the others are new
        slots : (s,) ascending; the other members leave S
        """
        after = CandidateSet(problem, cache_mb=self.cache_mb, block=self.block, dtype=self.kernel.dtype.name)
        after.most_values = self.most_values
        after.rows_recomputed = self.rows_recomputed
        before, fresh = self.members, after.members
        grown = {name: _longer(getattr(before, name), getattr(fresh, name)) for name in (*_PER_SLOT, "rows", "stacks")}
        stored = np.flatnonzero(before.rows["slot"][: self.now["rows"]] >= 0)
        used = int(stored.max(initial=-1) + 1) * int(self.now["width"])
        # the rest stays untouched: pages that nobody wrote to take no memory
        pool = _longer(before.pool, fresh.pool, used)
        after.members = x = before._replace(examples=fresh.examples, pool=pool, **grown)
        after.now = x.now[0]
        x.examples["slot"][: len(slots)] = slots
        x.slots["member"] = -1
        x.slots["member"][slots] = np.arange(len(slots))
        after._forget()
        after._relayout(slots, int(after.now["width"]))
        return after

    def _forget(self) -> None:
        """Shorten the log to the last filling of each slot, so that it grows with S and not with the stream."""
        x, now = self.members, self.now
        log = x.log[: now["clock"]]
        last = np.full(int(now["top"]), -1)
        filled = np.flatnonzero(log >= 0)
        last[log[filled]] = filled  # of equal indices the last one is written
        remaining = np.sort(last[self.live()])
        remaining = remaining[remaining >= 0]
        x.log[: len(remaining)] = log[remaining]
        x.rows["logged"] = np.searchsorted(remaining, x.rows["logged"])
        now["caught_up"] = np.searchsorted(remaining, now["caught_up"])
        now["clock"] = len(remaining)


def _writable(examples: Array) -> Array:
    """Return examples as the loops are compiled for: of what may not be written to, they would be compiled once more."""
    return np.require(examples, dtype=np.int64, requirements="W")


def _aligned(width: int) -> int:
    """Return a row's width in values: an odd number of pages, else the rows' columns would share few cache sets."""
    return (-(-width // _PAGE) | 1) * _PAGE


def greatest(values: Array) -> tuple[float, int]:
    """Return the maximum of ``values`` and where it is first, (-inf, -1) if there is none above -inf."""
    place = int(np.argmax(values)) if len(values) else -1
    return (float(values[place]), place) if place >= 0 and values[place] > -np.inf else (-np.inf, -1)


def _move_rows(pool: Array, rows: Array, columns: Array, old_width: int, width: int) -> None:
    """Move the values pool[rows[r], columns[p]] to place (r, p) of rows of another width; both lists ascend."""
    old, new = (pool[: pool.size // each * each].reshape(-1, each) for each in (max(old_width, 1), width))
    count, size = len(rows), len(columns)
    # first columns and numbers, then the width: each pass moves all values in one direction, so none is overwritten
    chunks = [slice(start, min(start + _CHUNK, count)) for start in range(0, count, _CHUNK)]
    every = count == 0 or rows[-1] == count - 1
    if size and columns[-1] != size - 1:
        for part in chunks:
            old[part, :size] = old[part if every else rows[part]].take(columns, axis=1)
    elif not every:
        for part in chunks:
            old[part, :size] = old[rows[part], :size]
    if width != old_width:
        for part in chunks if width < old_width else reversed(chunks):
            new[part, :size] = old[part, :size]


def _longer(old: Array, new: Array, used: int | None = None) -> Array:
    """Return the longer array, which begins with the elements of ``old``: the first ``used`` ones, by default all."""
    if len(old) >= len(new):
        return old
    new[: len(old) if used is None else used] = old[:used]
    return new
