"""Compiled loops of LASVM: PROCESS, REPROCESS and the packed kernel rows they work on.

The members of S live in *slots* 0 .. top-1. A removed member leaves a hole that the next one fills, so no
column of a stored row ever moves; a hole has alpha 0 and is eligible for nothing. A *row* of the pool holds
K(s, slots) for one member. Rows are brought up to date when they are used: ``log`` lists the slots in the
order of their filling, a row remembers how much of the log it has seen, and since K is symmetric the values
it lacks stand in the rows of the slots filled since. Only if such a row was dropped for lack of memory must
kernel values be computed anew; then the loops return ``NEED_ROW`` with nothing changed, and are called again.
"""

from __future__ import annotations

import numpy as np

from harness_lasvm.borrow import borrowed, borrowed_box, borrowed_members
from harness_lasvm.pool import drop_row, own_row, take_row
from harness_lasvm.scans import (
    consider,
    copy,
    dot,
    hot_loop,
    mark,
    scan,
    search,
)
from harness_lasvm.state import (
    ALPHA,
    AT,
    BAILED,
    BORN,
    BORN_FROM,
    BORN_SLOT,
    CLOCK,
    DIAGONAL,
    DONE,
    FALL,
    G_MAX,
    G_MIN,
    GAP,
    GAPS,
    GRAD,
    HOLE,
    HOLES,
    I_MAX,
    I_MIN,
    LISTED,
    LOWER,
    MEMBER,
    NEED_ROW,
    OPERATIONS,
    PAUSE,
    PAUSED,
    RISE,
    ROW_OF,
    SEEN,
    SPARE,
    STAGE,
    STALE,
    STEPPED,
    SWEEP,
    TICK,
    TOP,
    UPPER,
    USED,
    WANTED,
    WHERE,
    WIDTH,
    ZERO,
    ZEROS,
)
from harness_lasvm.tight import best_partner, other_at_hand, pair_at_hand


@hot_loop
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
            drop_row(x, slot)
            counts[GAPS] = 0
            return False
    if counts[GAPS] > 0:
        return False
    x.rows[SEEN, row] = counts[CLOCK]
    return True


@hot_loop
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
    mark(x, slot)
    row = counts[SPARE]
    x.pool[row * counts[WIDTH] + slot] = box.diagonal[k]
    x.log[counts[CLOCK]] = slot
    counts[CLOCK] += 1
    own_row(x, row, slot)
    counts[SPARE] = take_row(x)
    return slot


@hot_loop
def admit(x, box, examples, alphas, grads, values, among):  # type: ignore[no-untyped-def]
    """Let several examples into S; values : K(examples, slots 0 .. top - 1); among : K between the examples."""
    held = x.counts[TOP]
    entered = np.empty(examples.size, np.int64)
    for q in range(examples.size):
        base = x.counts[SPARE] * x.counts[WIDTH]
        copy(x.pool[base : base + held], values[q])
        for p in range(q):
            x.pool[base + entered[p]] = among[q, p]
        entered[q] = _enter(x, box, examples[q], alphas[q], grads[q])
    scan(x)


@hot_loop
def _leave(x, slot):  # type: ignore[no-untyped-def]
    """Remove the member in ``slot``, whose alpha is 0, from S."""
    counts = x.counts
    k = x.slots[MEMBER, slot]
    x.lists[WHERE, k] = -1
    x.coef[k] = 0.0
    x.slots[MEMBER, slot] = -1
    x.ways[RISE, slot] = -np.inf
    x.ways[FALL, slot] = np.inf
    drop_row(x, slot)
    x.lists[HOLE, counts[HOLES]] = slot
    counts[HOLES] += 1


@hot_loop
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


@hot_loop
def _reprocess(x, tau, many):  # type: ignore[no-untyped-def]
    """REPROCESS; with ``many`` members or more, one of the pair gets the partner that gains most to second order."""
    counts = x.counts
    if not x.extremes[G_MAX] - x.extremes[G_MIN] > tau:
        counts[OPERATIONS] += 1
        return BAILED
    i, j = pair_at_hand(x, counts[I_MAX], counts[I_MIN], tau)
    if counts[TOP] - counts[HOLES] >= many:
        # whose partner is looked for depends on slots alone: then swapping the labels swaps nothing but signs;
        # halved, as online every second operation is a PROCESS
        first = min(i, j) if counts[OPERATIONS] // 2 % 2 else max(i, j)
        at_hand = x.slots[ROW_OF, i] >= 0 and x.slots[ROW_OF, j] >= 0
        if not _ready(x, first):
            return NEED_ROW
        base = x.slots[ROW_OF, first] * counts[WIDTH]
        other = best_partner(x, base, x.reals[GRAD, first], x.reals[DIAGONAL, first], first == i, at_hand)
        i, j = (first, other) if first == i else (other, first)
    if not _ready(x, i) or not _ready(x, j):
        return NEED_ROW
    counts[OPERATIONS] += 1
    search(x, i, j)
    if counts[SWEEP]:
        _sweep(x)
    return STEPPED


@hot_loop
def _process(x, box, k, place, fetched, among, starts, lengths, tau, many):  # type: ignore[no-untyped-def]
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
        copy(x.pool[into : into + lengths[run]], fetched[place, read : read + lengths[run]])
        read += lengths[run]
    for q in range(counts[BORN]):
        x.pool[base + x.lists[BORN_SLOT, q]] = among[place, x.lists[BORN_FROM, q]]
    top = counts[TOP]
    grad = box.targets[k] - dot(x.reals[ALPHA, :top], x.pool[base : base + top])
    positive = box.targets[k] > 0.0
    g_max = x.extremes[G_MAX]
    g_min = x.extremes[G_MIN]
    violating = grad - g_min > tau if positive else g_max - grad > tau
    other = counts[I_MIN] if positive else counts[I_MAX]
    if not violating:
        counts[OPERATIONS] += 1
        if (positive and grad <= min(g_min, g_max)) or (not positive and grad >= max(g_min, g_max)):
            return DONE
    else:
        other = other_at_hand(x, other, grad, tau)
        if top - counts[HOLES] >= many:
            other = best_partner(x, base, grad, box.diagonal[k], positive, x.slots[ROW_OF, other] >= 0)
        if not _ready(x, other):
            return NEED_ROW
    if np.isnan(among[place, place]):  # later candidates lack their values with k
        counts[WANTED] = -1 - place
        return NEED_ROW
    value = x.pool[base + other] if violating else x.pool[base]
    slot = _enter(x, box, k, 0.0, grad)
    x.lists[BORN_SLOT, counts[BORN]] = slot
    x.lists[BORN_FROM, counts[BORN]] = place
    counts[BORN] += 1
    if not violating:
        consider(x, slot)
        return DONE
    counts[OPERATIONS] += 1
    row = x.slots[
        ROW_OF, other
    ]  # still there: of four rows or more, the next spare row is never the one used last but one
    x.pool[row * counts[WIDTH] + slot] = value
    x.rows[SEEN, row] = counts[CLOCK]
    if positive:
        search(x, slot, other)
    else:
        search(x, other, slot)
    return DONE


@hot_loop
def online(x, box, candidates, places, fetched, among, starts, lengths, tau, delta_max, many):  # type: ignore[no-untyped-def]
    """Online iterations over ``candidates`` from counts[AT] on; resumed after NEED_ROW and PAUSED, fetched anew after STALE.

    starts, lengths : the runs of slots that were filled when ``fetched`` was computed, in its column order
    among : K between the fetched candidates
    many : pairs are chosen to second order while S has as many members
    """
    x, box = borrowed_members(x), borrowed_box(box)
    values, between = borrowed(fetched), borrowed(among)
    counts = x.counts
    while counts[AT] < candidates.size:
        if counts[STAGE] == 0:
            at = counts[AT]
            code = _process(x, box, candidates[at], places[at], values, between, starts, lengths, tau, many)
            if code != DONE:
                return code
            counts[STAGE] = 1
        while True:
            code = _reprocess(x, tau, many)
            if code == NEED_ROW:
                return code
            if code == BAILED or x.extremes[G_MAX] - x.extremes[G_MIN] < delta_max:
                break
            if counts[OPERATIONS] >= counts[PAUSE]:
                return PAUSED
        counts[STAGE] = 0
        counts[AT] += 1
    return DONE


@hot_loop
def finish(x, tau):  # type: ignore[no-untyped-def]
    """Improve pairs until no tau-violating pair is left in the slots (DONE) or counts[PAUSE] operations were made."""
    x = borrowed_members(x)
    while x.counts[OPERATIONS] < x.counts[PAUSE]:
        code = _reprocess(x, tau, 0)
        if code == BAILED:
            return DONE
        if code == NEED_ROW:
            return code
    return PAUSED


@hot_loop
def write(x):  # type: ignore[no-untyped-def]
    """Write the members' alpha into ``coef``; return the number of support vectors among them."""
    support = 0
    for s in range(x.counts[TOP]):
        if x.slots[MEMBER, s] >= 0:
            x.coef[x.slots[MEMBER, s]] = x.reals[ALPHA, s]
            if x.reals[ALPHA, s] != 0.0:
                support += 1
    return support
