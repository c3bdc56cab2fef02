"""Compiled loops of LASVM: PROCESS, REPROCESS and the packed kernel rows they work on.

The members of S live in *slots* 0 .. top-1. A removed member leaves a hole that the next one fills, so no
column of a stored row ever moves; a hole has alpha 0 and is eligible for nothing. A *row* of the pool holds
K(s, slots) for one member. Rows are brought up to date when they are used: ``log`` lists the slots in the
order of their filling, a row remembers how much of the log it has seen, and since K is symmetric the values
it lacks stand in the rows of the slots filled since. Only if such a row was dropped for lack of memory must
kernel values be computed anew; then the loops return ``NEED_ROW`` with nothing changed, and are called again.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba as nb
import numpy as np
from llvmlite import ir
from numba.extending import intrinsic

# indices into Members.counts
TOP, HOLES, CLOCK, TICK, WIDTH, ROWS, FREE_ROWS, SPARE, ZEROS, I_MAX, I_MIN = range(11)
WANTED, GAPS, AT, STAGE, BORN, OPERATIONS, PAUSE, SWEEP = range(11, 19)
N_COUNTS = 19
G_MAX, G_MIN = range(2)  # into Members.extremes
MEMBER, ROW_OF, LISTED = range(3)
ALPHA, GRAD, LOWER, UPPER, DIAGONAL = range(5)
RISE, FALL = range(2)
SLOT_OF, SEEN, USED = range(3)
HOLE, ZERO, FREE_ROW, GAP, BORN_SLOT, BORN_FROM, WHERE = range(7)

DONE, NEED_ROW, STALE, PAUSED, BAILED, STEPPED = range(6)

_BLOCK = 512  # slots scanned at a time: the block of a maximum is known, its slot is looked up once
_CURVATURE = 1e-12  # floor of K_ii + K_jj - 2 K_ij: two equal points have none


class Members(NamedTuple):
    """The state of LASVM, changed in place by the loops of this module.

    A few arrays with many rows each: passing many arrays would double the time to compile.

    slots : (3, n) int: per slot MEMBER (example or -1), ROW_OF (row of the pool or -1), LISTED (1 if among the ZERO slots)
    reals : (5, n): per slot ALPHA, GRAD, LOWER, UPPER, DIAGONAL
    ways : (2, n) float32: per slot RISE (0 if alpha < upper, else -inf), FALL (0 if alpha > lower, else inf)
    rows : (3, n + 2) int: per row of the pool SLOT_OF (-1: free), SEEN (length of the log when it was last brought
        up to date), USED (tick of its last use)
    lists : (7, n + 2) int: stacks HOLE and FREE_ROW; ZERO (slots with alpha = 0); GAP (slots whose values a row lacks);
        BORN_SLOT and BORN_FROM (members that entered during this block of candidates); WHERE, per example its slot or -1
    log : slots in the order of their filling
    coef : (n,) dual_coef as of the last :func:`write`
    pool : kernel values, row r from r counts[WIDTH] on
    counts, extremes : scalars, see the indices above
    """

    slots: Any
    reals: Any
    ways: Any
    rows: Any
    lists: Any
    log: Any
    coef: Any
    pool: Any
    counts: Any
    extremes: Any


class Box(NamedTuple):
    """What PROCESS needs to know of all n examples: targets, lower and upper bounds, diagonal of K."""

    targets: Any
    lower: Any
    upper: Any
    diagonal: Any


def _extremum(name: str) -> Any:
    """Return llvm.maxnum or llvm.minnum of two doubles: reductions over a Python ``max`` are not vectorised."""

    def typed(_context: Any, _first: Any, _second: Any) -> Any:
        def build(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            double = ir.DoubleType()
            function = builder.module.declare_intrinsic(name, [double], ir.FunctionType(double, [double, double]))
            return builder.call(function, arguments, fastmath=("nnan", "nsz"))

        return nb.float64(nb.float64, nb.float64), build

    return intrinsic(typed)


_larger = _extremum("llvm.maxnum")
_smaller = _extremum("llvm.minnum")
_hot = nb.njit(cache=True, nogil=True, error_model="numpy")
# sums may be reassociated, else they are not vectorised; infinities keep their meaning
_hot_sum = nb.njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})


@_hot_sum
def _dot(alpha, row):  # type: ignore[no-untyped-def]
    total = 0.0
    for s in range(alpha.size):
        total += alpha[s] * row[s]
    return total


@_hot
def _shift(grad, rise, fall, row_i, row_j, step):  # type: ignore[no-untyped-def]
    """g_s -= step (K_is - K_js) over one block; return its max over alpha < B and its min over alpha > A."""
    high = -np.inf
    low = np.inf
    for s in range(grad.size):
        value = grad[s] - step * (np.float64(row_i[s]) - np.float64(row_j[s]))
        grad[s] = value
        high = _larger(high, value + rise[s])
        low = _smaller(low, value + fall[s])
    return high, low


@_hot
def _extremes(grad, rise, fall):  # type: ignore[no-untyped-def]
    high = -np.inf
    low = np.inf
    for s in range(grad.size):
        high = _larger(high, grad[s] + rise[s])
        low = _smaller(low, grad[s] + fall[s])
    return high, low


@_hot
def _locate(x, high, high_block, low, low_block):  # type: ignore[no-untyped-def]
    """Note the maximal and minimal gradient and their first slots; -1 where nothing is eligible."""
    i = -1
    j = -1
    if high_block >= 0:
        i = high_block
        while x.reals[GRAD, i] + x.ways[RISE, i] != high:
            i += 1
    if low_block >= 0:
        j = low_block
        while x.reals[GRAD, j] + x.ways[FALL, j] != low:
            j += 1
    x.extremes[G_MAX] = high
    x.extremes[G_MIN] = low
    x.counts[I_MAX] = i
    x.counts[I_MIN] = j


@_hot
def scan(x):  # type: ignore[no-untyped-def]
    """Find i = argmax g over alpha < B, j = argmin g over alpha > A."""
    high, low, high_block, low_block = -np.inf, np.inf, -1, -1
    for start in range(0, x.counts[TOP], _BLOCK):
        stop = min(start + _BLOCK, x.counts[TOP])
        block_high, block_low = _extremes(x.reals[GRAD, start:stop], x.ways[RISE, start:stop], x.ways[FALL, start:stop])
        if block_high > high:
            high, high_block = block_high, start
        if block_low < low:
            low, low_block = block_low, start
    _locate(x, high, high_block, low, low_block)


@_hot
def _mark(x, s):  # type: ignore[no-untyped-def]
    """Renew what follows from alpha_s: which way it may go, and whether step 4 must look at it."""
    x.ways[RISE, s] = 0.0 if x.reals[ALPHA, s] < x.reals[UPPER, s] else -np.inf
    x.ways[FALL, s] = 0.0 if x.reals[ALPHA, s] > x.reals[LOWER, s] else np.inf
    if x.reals[ALPHA, s] == 0.0 and x.slots[LISTED, s] == 0:
        x.slots[LISTED, s] = 1
        x.lists[ZERO, x.counts[ZEROS]] = s
        x.counts[ZEROS] += 1


@_hot
def _search(x, i, j):  # type: ignore[no-untyped-def]
    """Search along (i, j): steps 5 of PROCESS and 3 of REPROCESS, and the next pair's search in the same pass."""
    counts = x.counts
    width = counts[WIDTH]
    base_i = x.slots[ROW_OF, i] * width
    base_j = x.slots[ROW_OF, j] * width
    curvature = max(x.reals[DIAGONAL, i] + x.reals[DIAGONAL, j] - 2.0 * np.float64(x.pool[base_i + j]), _CURVATURE)
    step = (x.reals[GRAD, i] - x.reals[GRAD, j]) / curvature
    room_i = x.reals[UPPER, i] - x.reals[ALPHA, i]
    room_j = x.reals[ALPHA, j] - x.reals[LOWER, j]
    step = min(step, room_i, room_j)
    # onto the bound itself where the bound limits the step: alpha = 0 and alpha = C are tested for equality
    x.reals[ALPHA, i] = x.reals[UPPER, i] if step == room_i else min(x.reals[ALPHA, i] + step, x.reals[UPPER, i])
    x.reals[ALPHA, j] = x.reals[LOWER, j] if step == room_j else max(x.reals[ALPHA, j] - step, x.reals[LOWER, j])
    # in slot order, whichever is i: then swapping the labels swaps nothing but signs
    _mark(x, min(i, j))
    _mark(x, max(i, j))
    high, low, high_block, low_block = -np.inf, np.inf, -1, -1
    for start in range(0, counts[TOP], _BLOCK):
        stop = min(start + _BLOCK, counts[TOP])
        block_high, block_low = _shift(
            x.reals[GRAD, start:stop],
            x.ways[RISE, start:stop],
            x.ways[FALL, start:stop],
            x.pool[base_i + start : base_i + stop],
            x.pool[base_j + start : base_j + stop],
            step,
        )
        if block_high > high:
            high, high_block = block_high, start
        if block_low < low:
            low, low_block = block_low, start
    _locate(x, high, high_block, low, low_block)


@_hot
def take_row(x):  # type: ignore[no-untyped-def]
    """Return a row of the pool to write into: a free one, or the one not used for longest."""
    counts = x.counts
    if counts[FREE_ROWS] > 0:
        counts[FREE_ROWS] -= 1
        return x.lists[FREE_ROW, counts[FREE_ROWS]]
    oldest = -1
    for row in range(counts[ROWS]):
        if x.rows[SLOT_OF, row] >= 0 and (oldest < 0 or x.rows[USED, row] < x.rows[USED, oldest]):
            oldest = row
    x.slots[ROW_OF, x.rows[SLOT_OF, oldest]] = -1
    x.rows[SLOT_OF, oldest] = -1
    return oldest


@_hot
def own_row(x, row, slot):  # type: ignore[no-untyped-def]
    """Note that ``row`` holds the values of ``slot`` against all members of now."""
    counts = x.counts
    x.slots[ROW_OF, slot] = row
    x.rows[SLOT_OF, row] = slot
    x.rows[SEEN, row] = counts[CLOCK]
    counts[TICK] += 1
    x.rows[USED, row] = counts[TICK]


@_hot
def _drop_row(x, slot):  # type: ignore[no-untyped-def]
    row = x.slots[ROW_OF, slot]
    if row >= 0:
        x.rows[SLOT_OF, row] = -1
        x.slots[ROW_OF, slot] = -1
        x.lists[FREE_ROW, x.counts[FREE_ROWS]] = row
        x.counts[FREE_ROWS] += 1


@_hot
def _ready(x, slot):  # type: ignore[no-untyped-def]
    """Bring the row of ``slot`` up to date; False (and what is wanted noted) if that takes kernel values."""
    counts = x.counts
    counts[WANTED] = slot
    counts[GAPS] = 0
    row = x.slots[ROW_OF, slot]
    if row < 0:
        return False
    counts[TICK] += 1
    x.rows[USED, row] = counts[TICK]
    width = counts[WIDTH]
    base = row * width
    for t in range(x.rows[SEEN, row], counts[CLOCK]):
        s = x.log[t]
        if s < 0 or x.slots[MEMBER, s] < 0:
            continue
        other = x.slots[ROW_OF, s]
        if other >= 0:
            x.pool[base + s] = x.pool[other * width + slot]
        elif 2 * counts[GAPS] < counts[TOP]:
            x.lists[GAP, counts[GAPS]] = s
            counts[GAPS] += 1
        else:  # too much is missing: the whole row is wanted
            _drop_row(x, slot)
            counts[GAPS] = 0
            return False
    if counts[GAPS] > 0:
        return False
    x.rows[SEEN, row] = counts[CLOCK]
    return True


@_hot
def _enter(x, box, k, alpha, grad):  # type: ignore[no-untyped-def]
    """Let example k into S with the spare row as its row; return its slot."""
    counts = x.counts
    if counts[HOLES] > 0:
        counts[HOLES] -= 1
        slot = x.lists[HOLE, counts[HOLES]]
    else:
        slot = counts[TOP]
        counts[TOP] += 1
    x.slots[MEMBER, slot] = k
    x.lists[WHERE, k] = slot
    x.reals[ALPHA, slot] = alpha
    x.reals[GRAD, slot] = grad
    x.reals[LOWER, slot] = box.lower[k]
    x.reals[UPPER, slot] = box.upper[k]
    x.reals[DIAGONAL, slot] = box.diagonal[k]
    x.slots[LISTED, slot] = 0
    _mark(x, slot)
    row = counts[SPARE]
    x.pool[row * counts[WIDTH] + slot] = box.diagonal[k]
    x.log[counts[CLOCK]] = slot
    counts[CLOCK] += 1
    own_row(x, row, slot)
    counts[SPARE] = take_row(x)
    return slot


@_hot
def admit(x, box, examples, alphas, grads, values, slots):  # type: ignore[no-untyped-def]
    """Let several examples into S: ``values[q]`` holds K(examples[q], members in ``slots``), then K(., examples)."""
    held = slots.size
    entered = np.empty(examples.size, np.int64)
    for q in range(examples.size):
        base = x.counts[SPARE] * x.counts[WIDTH]
        for p in range(held):
            x.pool[base + slots[p]] = values[q, p]
        for p in range(q):
            x.pool[base + entered[p]] = values[q, held + p]
        entered[q] = _enter(x, box, examples[q], alphas[q], grads[q])
    scan(x)


@_hot
def _leave(x, slot):  # type: ignore[no-untyped-def]
    """Remove the member in ``slot``, whose alpha is 0, from S."""
    counts = x.counts
    k = x.slots[MEMBER, slot]
    x.lists[WHERE, k] = -1
    x.coef[k] = 0.0
    x.slots[MEMBER, slot] = -1
    x.ways[RISE, slot] = -np.inf
    x.ways[FALL, slot] = np.inf
    _drop_row(x, slot)
    x.lists[HOLE, counts[HOLES]] = slot
    counts[HOLES] += 1


@_hot
def _sweep(x):  # type: ignore[no-untyped-def]
    """Step 4 of REPROCESS: remove blatant non support vectors."""
    counts = x.counts
    kept = 0
    rescan = False
    for q in range(counts[ZEROS]):
        s = x.lists[ZERO, q]
        if x.reals[ALPHA, s] != 0.0:
            x.slots[LISTED, s] = 0
            continue
        positive = x.reals[UPPER, s] > 0.0
        if (positive and x.reals[GRAD, s] <= x.extremes[G_MIN]) or (
            not positive and x.reals[GRAD, s] >= x.extremes[G_MAX]
        ):
            rescan = rescan or s == counts[I_MAX] or s == counts[I_MIN]
            x.slots[LISTED, s] = 0
            _leave(x, s)
        else:
            x.lists[ZERO, kept] = s
            kept += 1
    counts[ZEROS] = kept
    if rescan:
        scan(x)


@_hot
def _reprocess(x, tau):  # type: ignore[no-untyped-def]
    counts = x.counts
    if not x.extremes[G_MAX] - x.extremes[G_MIN] > tau:
        counts[OPERATIONS] += 1
        return BAILED
    i = counts[I_MAX]
    j = counts[I_MIN]
    if not _ready(x, i) or not _ready(x, j):
        return NEED_ROW
    counts[OPERATIONS] += 1
    _search(x, i, j)
    if counts[SWEEP]:
        _sweep(x)
    return STEPPED


@_hot
def _process(x, box, k, place, fetched, among, starts, lengths, tau):  # type: ignore[no-untyped-def]
    """PROCESS(k); ``place`` is the row of ``fetched`` with k's values, -1 if k was a member when it was fetched."""
    counts = x.counts
    if x.lists[WHERE, k] >= 0:
        counts[OPERATIONS] += 1
        return DONE
    if place < 0:
        return STALE
    base = counts[SPARE] * counts[WIDTH]
    read = 0
    for run in range(starts.size):
        into = base + starts[run]
        for p in range(lengths[run]):
            x.pool[into + p] = fetched[place, read + p]
        read += lengths[run]
    for q in range(counts[BORN]):
        x.pool[base + x.lists[BORN_SLOT, q]] = among[place, x.lists[BORN_FROM, q]]
    top = counts[TOP]
    grad = box.targets[k] - _dot(x.reals[ALPHA, :top], x.pool[base : base + top])
    positive = box.targets[k] > 0.0
    g_max = x.extremes[G_MAX]
    g_min = x.extremes[G_MIN]
    violating = grad - g_min > tau if positive else g_max - grad > tau
    other = counts[I_MIN] if positive else counts[I_MAX]
    if not violating:
        counts[OPERATIONS] += 1
        if (positive and grad <= min(g_min, g_max)) or (not positive and grad >= max(g_min, g_max)):
            return DONE
    elif not _ready(x, other):
        return NEED_ROW
    value = x.pool[base + other] if violating else x.pool[base]
    slot = _enter(x, box, k, 0.0, grad)
    x.lists[BORN_SLOT, counts[BORN]] = slot
    x.lists[BORN_FROM, counts[BORN]] = place
    counts[BORN] += 1
    if not violating:
        scan(x)
        return DONE
    counts[OPERATIONS] += 1
    row = x.slots[
        ROW_OF, other
    ]  # still there: of four rows or more, the next spare row is never the one used last but one
    x.pool[row * counts[WIDTH] + slot] = value
    x.rows[SEEN, row] = counts[CLOCK]
    if positive:
        _search(x, slot, other)
    else:
        _search(x, other, slot)
    return DONE


@_hot
def online(x, box, candidates, places, fetched, among, starts, lengths, tau, delta_max):  # type: ignore[no-untyped-def]
    """Online iterations over ``candidates`` from counts[AT] on; resumed after NEED_ROW and PAUSED, fetched anew after STALE.

    starts, lengths : the runs of slots that were filled when ``fetched`` was computed, in its column order
    among : K between the fetched candidates
    """
    counts = x.counts
    while counts[AT] < candidates.size:
        if counts[STAGE] == 0:
            at = counts[AT]
            code = _process(x, box, candidates[at], places[at], fetched, among, starts, lengths, tau)
            if code != DONE:
                return code
            counts[STAGE] = 1
        while True:
            code = _reprocess(x, tau)
            if code == NEED_ROW:
                return code
            if code == BAILED or x.extremes[G_MAX] - x.extremes[G_MIN] < delta_max:
                break
            if counts[OPERATIONS] >= counts[PAUSE]:
                return PAUSED
        counts[STAGE] = 0
        counts[AT] += 1
    return DONE


@_hot
def finish(x, tau):  # type: ignore[no-untyped-def]
    """REPROCESS until no tau-violating pair is left in the slots (DONE) or counts[PAUSE] operations were made."""
    while x.counts[OPERATIONS] < x.counts[PAUSE]:
        code = _reprocess(x, tau)
        if code == BAILED:
            return DONE
        if code == NEED_ROW:
            return code
    return PAUSED


@_hot
def write(x):  # type: ignore[no-untyped-def]
    """Write the members' alpha into ``coef``; return the number of support vectors among them."""
    support = 0
    for s in range(x.counts[TOP]):
        if x.slots[MEMBER, s] >= 0:
            x.coef[x.slots[MEMBER, s]] = x.reals[ALPHA, s]
            if x.reals[ALPHA, s] != 0.0:
                support += 1
    return support


@_hot
def move_rows(pool, rows, columns, old_width, width):  # type: ignore[no-untyped-def]
    """Move the values pool[rows[r], columns[p]] to place (r, p) of rows of another width; both lists ascend."""
    # first columns and numbers, then the width: each pass moves all values in one direction, so none is overwritten
    gathered = columns.size > 0 and columns[-1] != columns.size - 1
    for r in range(rows.size):
        source = rows[r] * old_width
        target = r * old_width
        if gathered:
            for p in range(columns.size):
                pool[target + p] = pool[source + columns[p]]
        elif source != target:
            for p in range(columns.size):
                pool[target + p] = pool[source + p]
    if width < old_width:
        for r in range(rows.size):
            for p in range(columns.size):
                pool[r * width + p] = pool[r * old_width + p]
    elif width > old_width:
        for r in range(rows.size - 1, -1, -1):
            for p in range(columns.size - 1, -1, -1):
                pool[r * width + p] = pool[r * old_width + p]
