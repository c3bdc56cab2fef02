"""Compiled loops of the solvers without a bias: one coordinate a step, the gap in the same pass as the update.

They work on the slots and packed rows of :mod:`harness_lasvm.hot`. A hole has alpha = 0 and both bounds 0: it may go
nowhere, and adds nothing to the sums. A slot's bounds are those of its own sub-problem, beta included.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba as nb
import numpy as np

from harness_lasvm.hot import _enter, _leave, _ready
from harness_lasvm.scans import _larger, _smaller, dot, hot_loop
from harness_lasvm.state import (
    ALPHA,
    AT,
    BAILED,
    BORN,
    BORN_FROM,
    BORN_SLOT,
    DIAGONAL,
    DONE,
    FALL,
    GRAD,
    LOWER,
    MEMBER,
    NEED_ROW,
    OPERATIONS,
    PAUSE,
    PAUSED,
    RISE,
    ROW_OF,
    SPARE,
    STAGE,
    STALE,
    STEPPED,
    TOP,
    UPPER,
    WANTED,
    WHERE,
    WIDTH,
    ZEROS,
)

HINGE, RAMP, IGNORE = range(3)  # what becomes of an example outside the ramp: nothing, beta = C, skipped
GAP, HIGH, LOW, THRESHOLD, TARGET, PRICE, BEND, TAU = range(8)  # into Ledger.reals
I_HIGH, I_LOW, SUPPORT, SKIPPED, REVERSED, UNCLEANED, CLEAN_EVERY, MAX_INACTIVE, RULE = range(9)  # into Ledger.counts
UP, DOWN, SLOPE = range(3)  # into Ledger.room

_BLOCK = 512  # slots scanned at a time: the block of an extreme is known, its slot is looked up once
_SMALLEST_DIAGONAL = 1e-12  # of K_ii: a point at the origin of the linear kernel has none
_hot_sum = nb.njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})


class Ledger(NamedTuple):
    """What one run knows of its expansion, renewed by every pass over it.

    reals : GAP (eq. 9), HIGH and LOW (largest g of a member that may rise, smallest of one that may fall), THRESHOLD
        and TARGET (eq. 8) of the example in work, and the parameters PRICE (C), BEND (s), TAU
    counts : I_HIGH and I_LOW (slots, -1 if there is none), SUPPORT (number of alpha != 0), SKIPPED, REVERSED (examples
        that got beta = C), UNCLEANED (examples since the last CLEAN), and the parameters CLEAN_EVERY (0: never),
        MAX_INACTIVE, RULE
    room : (3, n) per slot UP = B - alpha, DOWN = alpha - A: a term of the gap is max(UP g, -DOWN g); SLOPE, h / g, is
        A + B, or 0 where alpha = 0
    """

    reals: Any
    counts: Any
    room: Any


@_hot_sum
def _move(grad, room, ways, row, step):  # type: ignore[no-untyped-def]
    """g_s -= step K_s over one block; return its extremes and its part of the gap."""
    high, low, gap = -np.inf, np.inf, 0.0
    up, down, rise, fall = room[UP], room[DOWN], ways[RISE], ways[FALL]
    for s in range(grad.size):
        g = grad[s] - step * np.float64(row[s])
        grad[s] = g
        high = _larger(high, g + rise[s])
        low = _smaller(low, g + fall[s])
        gap += _larger(up[s] * g, -(down[s] * g))
    return high, low, gap


@_hot_sum
def _spread(grad, slope):  # type: ignore[no-untyped-def]
    """Return the sums of h and h^2 over the support vectors."""
    total, squares = 0.0, 0.0
    for s in range(grad.size):
        h = slope[s] * grad[s]
        total += h
        squares += h * h
    return total, squares


@hot_loop
def _pass(x, own, base, step):  # type: ignore[no-untyped-def]
    """Take ``step`` times the row at ``base`` of the pool off g, over all slots, and renew the ledger."""
    high, low, gap, i, j = -np.inf, np.inf, 0.0, -1, -1
    for start in range(0, x.counts[TOP], _BLOCK):
        stop = min(start + _BLOCK, x.counts[TOP])
        row = x.pool[base + start : base + stop]
        found = _move(x.reals[GRAD, start:stop], own.room[:, start:stop], x.ways[:, start:stop], row, step)
        if found[0] > high:
            high, i = found[0], start
        if found[1] < low:
            low, j = found[1], start
        gap += found[2]
    own.reals[GAP], own.reals[HIGH], own.reals[LOW] = gap, high, low
    if i >= 0:
        while x.reals[GRAD, i] + x.ways[RISE, i] != high:
            i += 1
    if j >= 0:
        while x.reals[GRAD, j] + x.ways[FALL, j] != low:
            j += 1
    own.counts[I_HIGH], own.counts[I_LOW] = i, j


@hot_loop
def _mark(x, own, slot):  # type: ignore[no-untyped-def]
    """Renew what follows from a slot's alpha and bounds."""
    alpha, lower, upper = x.reals[ALPHA, slot], x.reals[LOWER, slot], x.reals[UPPER, slot]
    own.room[UP, slot], own.room[DOWN, slot] = upper - alpha, alpha - lower
    own.room[SLOPE, slot] = lower + upper if alpha != 0.0 else 0.0
    x.ways[RISE, slot] = 0.0 if alpha < upper else -np.inf
    x.ways[FALL, slot] = 0.0 if alpha > lower else np.inf


@hot_loop
def measure(x, own):  # type: ignore[no-untyped-def]
    """Renew the ledger from the slots: they may have moved since."""
    support = 0
    for s in range(x.counts[TOP]):
        _mark(x, own, s)
        support += x.reals[ALPHA, s] != 0.0
    own.counts[SUPPORT] = support
    base = x.counts[SPARE] * x.counts[WIDTH]
    x.pool[base : base + x.counts[TOP]] = 0.0  # nothing moves
    _pass(x, own, base, 0.0)


@hot_loop
def _search(x, own, slot):  # type: ignore[no-untyped-def]
    """Search along one coordinate: steps 2-3 of PROCESS and 4-5 of REPROCESS.

    BAILED if its bound is in the way, NEED_ROW, with nothing changed, if its row must be computed first.
    """
    alpha, grad = x.reals[ALPHA, slot], x.reals[GRAD, slot]
    newton = grad / max(x.reals[DIAGONAL, slot], _SMALLEST_DIAGONAL)
    bound = x.reals[LOWER, slot] if grad < 0.0 else x.reals[UPPER, slot]
    room = bound - alpha
    step = max(room, newton) if grad < 0.0 else min(room, newton)
    if step == 0.0:
        return BAILED
    if not _ready(x, slot):
        return NEED_ROW
    # onto the bound itself where it limits the step: alpha = 0 and alpha = C are tested for equality
    after = bound if step == room else alpha + step
    after = max(after, bound) if grad < 0.0 else min(after, bound)  # rounding may overshoot
    x.reals[ALPHA, slot] = after
    own.counts[SUPPORT] += (after != 0.0) - (alpha != 0.0)
    _mark(x, own, slot)
    _pass(x, own, x.slots[ROW_OF, slot] * x.counts[WIDTH], step)
    return STEPPED


@hot_loop
def _set_threshold(x, own):  # type: ignore[no-untyped-def]
    """Note the gap target (eq. 8) and the threshold max(C, target) of the example in work."""
    top, support = x.counts[TOP], own.counts[SUPPORT]
    total, squares = _spread(x.reals[GRAD, :top], own.room[SLOPE, :top])
    spread = squares - total * total / support if support > 0 else 0.0
    own.reals[TARGET] = np.sqrt(max(0.0, spread))
    own.reals[THRESHOLD] = max(own.reals[PRICE], own.reals[TARGET])


@hot_loop
def _lay(x, place, fetched, among, starts, lengths):  # type: ignore[no-untyped-def]
    """Write the kernel values of a fetched candidate into the spare row; return the row's first place in the pool."""
    counts = x.counts
    base = counts[SPARE] * counts[WIDTH]
    read = 0
    for run in range(starts.size):
        into = base + starts[run]
        for p in range(lengths[run]):
            x.pool[into + p] = fetched[place, read + p]
        read += lengths[run]
    for q in range(counts[BORN]):
        x.pool[base + x.lists[BORN_SLOT, q]] = among[place, x.lists[BORN_FROM, q]]
    return base


@hot_loop
def _process(x, box, own, k, place, fetched, among, starts, lengths):  # type: ignore[no-untyped-def]
    """PROCESS(k): let k in, unless it is a member or ignored, and search along it."""
    counts = x.counts
    slot = x.lists[WHERE, k]
    if slot >= 0:
        _set_threshold(x, own)
    else:
        if place < 0:
            return STALE
        base = _lay(x, place, fetched, among, starts, lengths)
        y = box.targets[k]
        grad = y - dot(x.reals[ALPHA, : counts[TOP]], x.pool[base : base + counts[TOP]])
        score = 1.0 - y * grad  # z = y f, as g = y - f
        outside = score < own.reals[BEND]
        if own.counts[RULE] == IGNORE and (outside or score > 1.0):
            own.counts[SKIPPED] += 1
            counts[OPERATIONS] += 1
            return DONE
        if np.isnan(among[place, place]):  # later candidates lack their values with k
            counts[WANTED] = -1 - place
            return NEED_ROW
        _set_threshold(x, own)
        width = y * (box.upper[k] - box.lower[k])
        reversed_ = own.counts[RULE] == RAMP and outside
        beta = width if reversed_ else 0.0
        box.lower[k], box.upper[k] = min(0.0, width) - beta, max(0.0, width) - beta
        own.counts[REVERSED] += reversed_
        slot = _enter(x, box, k, 0.0, grad)
        box.lower[k], box.upper[k] = min(0.0, width), max(0.0, width)  # beta is this membership's alone
        counts[ZEROS] = 0  # that list is for lasvm's step 4
        x.lists[BORN_SLOT, counts[BORN]] = slot
        x.lists[BORN_FROM, counts[BORN]] = place
        counts[BORN] += 1
        _mark(x, own, slot)  # if it cannot move it adds nothing to the gap
    code = _search(x, own, slot)
    if code != NEED_ROW:
        counts[OPERATIONS] += 1
        return DONE
    return NEED_ROW


@hot_loop
def _reprocess(x, own):  # type: ignore[no-untyped-def]
    """REPROCESS: search along the coordinate with the largest violation."""
    high, low = own.reals[HIGH], -own.reals[LOW]
    if not max(high, low) > own.reals[TAU]:
        x.counts[OPERATIONS] += 1
        return BAILED
    i, j = own.counts[I_HIGH], own.counts[I_LOW]
    # of two equal violations the first slot's: then swapping the labels swaps nothing but signs
    slot = i if high > low or (high == low and i < j) else j
    code = _search(x, own, slot)
    if code != NEED_ROW:
        x.counts[OPERATIONS] += 1
    return code


@hot_loop
def clean(x, own, max_inactive):  # type: ignore[no-untyped-def]
    """CLEAN: of the members with alpha = 0 keep the ``max_inactive`` nearest to a violation."""
    idle = np.empty(x.counts[TOP], np.int64)
    n = 0
    for s in range(x.counts[TOP]):
        if x.slots[MEMBER, s] >= 0 and x.reals[ALPHA, s] == 0.0:
            idle[n] = s
            n += 1
    if n <= max_inactive:
        return
    violation = np.empty(n)
    for q in range(n):
        s = idle[q]
        violation[q] = x.reals[GRAD, s] if x.reals[UPPER, s] > 0.0 else -x.reals[GRAD, s]
    order = np.argsort(violation, kind="mergesort")
    for q in range(n - max_inactive):
        s = idle[order[q]]
        _leave(x, s)
        x.reals[LOWER, s] = x.reals[UPPER, s] = 0.0  # a hole
    measure(x, own)


@hot_loop
def online(x, box, own, candidates, places, fetched, among, starts, lengths):  # type: ignore[no-untyped-def]
    """Online iterations over ``candidates`` from counts[AT] on; resumed after NEED_ROW and PAUSED, fetched anew after STALE.

    The arguments are those of :func:`harness_lasvm.hot.online`.
    """
    counts = x.counts
    while counts[AT] < candidates.size:
        if counts[STAGE] == 0:
            at = counts[AT]
            code = _process(x, box, own, candidates[at], places[at], fetched, among, starts, lengths)
            if code != DONE:
                return code
            counts[STAGE] = 1
        while own.reals[GAP] > own.reals[THRESHOLD]:
            if counts[OPERATIONS] >= counts[PAUSE]:
                return PAUSED
            code = _reprocess(x, own)
            if code == NEED_ROW:
                return code
            if code == BAILED:
                break
        own.counts[UNCLEANED] += 1
        if own.counts[UNCLEANED] == own.counts[CLEAN_EVERY]:
            own.counts[UNCLEANED] = 0
            clean(x, own, own.counts[MAX_INACTIVE])
        counts[STAGE] = 0
        counts[AT] += 1
    return DONE


@hot_loop
def finish(x, own):  # type: ignore[no-untyped-def]
    """REPROCESS until no member violates by more than tau (DONE) or counts[PAUSE] operations were made."""
    while x.counts[OPERATIONS] < x.counts[PAUSE]:
        code = _reprocess(x, own)
        if code == BAILED:
            return DONE
        if code == NEED_ROW:
            return code
    return PAUSED
