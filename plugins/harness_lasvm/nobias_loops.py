"""Compiled loops of the solvers without a bias: PROCESS, CLEAN and the online iterations."""

from __future__ import annotations

import numpy as np

from harness_lasvm.hot import _enter, _leave
from harness_lasvm.nobias_ledger import (
    BEND,
    CLEAN_EVERY,
    GAP,
    IGNORE,
    MAX_INACTIVE,
    RAMP,
    REVERSED,
    RULE,
    SKIPPED,
    THRESHOLD,
    UNCLEANED,
    mark,
    measure,
    set_threshold,
)
from harness_lasvm.nobias_reprocess import reprocess, search
from harness_lasvm.scans import dot, hot_loop
from harness_lasvm.state import (
    ALPHA,
    AT,
    BAILED,
    BORN,
    BORN_FROM,
    BORN_SLOT,
    DONE,
    GRAD,
    LOWER,
    MEMBER,
    NEED_ROW,
    OPERATIONS,
    PAUSE,
    PAUSED,
    SPARE,
    STAGE,
    STALE,
    TOP,
    UPPER,
    WANTED,
    WHERE,
    WIDTH,
    ZEROS,
)


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
        set_threshold(x, own)
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
        set_threshold(x, own)
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
        mark(x, own, slot)  # if it cannot move it adds nothing to the gap
    code = search(x, own, slot)
    if code != NEED_ROW:
        counts[OPERATIONS] += 1
        return DONE
    return NEED_ROW


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
            code = reprocess(x, own)
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
        code = reprocess(x, own)
        if code == BAILED:
            return DONE
        if code == NEED_ROW:
            return code
    return PAUSED
