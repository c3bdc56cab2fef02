"""REPROCESS without a bias, along one coordinate as printed, or within a group of members before the others follow."""

from __future__ import annotations

import numpy as np

from harness_lasvm.hot import _ready
from harness_lasvm.nobias_ledger import GROUP, HIGH, I_HIGH, I_LOW, LOW, TAU, goal, move, put
from harness_lasvm.scans import hot_loop
from harness_lasvm.state import (
    ALPHA,
    BAILED,
    FALL,
    GRAD,
    NEED_ROW,
    OPERATIONS,
    RISE,
    ROW_OF,
    ROWS,
    STEPPED,
    TOP,
    WIDTH,
)

_SETTLED = 0.1  # of the first violation in a group: below, it is left
_SEARCHES = 10  # times its size: after so many as well


@hot_loop
def search(x, own, slot):  # type: ignore[no-untyped-def]
    """Search along one coordinate: steps 2-3 of PROCESS and 4-5 of REPROCESS.

    BAILED if its bound is in the way, NEED_ROW, with nothing changed, if its row must be computed first.
    """
    before = x.reals[ALPHA, slot]
    after = goal(x, slot, x.reals[GRAD, slot])
    if after == before:
        return BAILED
    if not _ready(x, slot):
        return NEED_ROW
    put(x, own, slot, after)
    move(x, own, np.array([x.slots[ROW_OF, slot] * x.counts[WIDTH]]), np.array([after - before]))
    return STEPPED


@hot_loop
def reprocess(x, own):  # type: ignore[no-untyped-def]
    """REPROCESS: search along the coordinate with the largest violation, or within the group around it.

    BAILED if no member violates by more than tau, NEED_ROW, with nothing changed, if a row must be computed first.
    """
    high, low = own.reals[HIGH], -own.reals[LOW]
    if not max(high, low) > own.reals[TAU]:
        x.counts[OPERATIONS] += 1
        return BAILED
    if own.counts[GROUP] > 1:
        return _reprocess_group(x, own)
    i, j = own.counts[I_HIGH], own.counts[I_LOW]
    # of two equal violations the first slot's: then swapping the labels swaps nothing but signs
    slot = i if high > low or (high == low and i < j) else j
    code = search(x, own, slot)
    if code != NEED_ROW:
        x.counts[OPERATIONS] += 1
    return code


@hot_loop
def _foremost(x, sign, way, chosen):  # type: ignore[no-untyped-def]
    """Write the slots with the largest sign * g of those that may go that way into ``chosen``; return their number."""
    values = np.empty(chosen.size)
    n, least = 0, -np.inf
    for s in range(x.counts[TOP]):
        value = sign * (x.reals[GRAD, s] + x.ways[way, s])
        if value > least:
            q = n if n < chosen.size else n - 1
            n = q + 1
            while q > 0 and values[q - 1] < value:
                values[q], chosen[q] = values[q - 1], chosen[q - 1]
                q -= 1
            values[q], chosen[q] = value, s
            if n == chosen.size:
                least = values[n - 1]
    return n


@hot_loop
def _choose(x, size):  # type: ignore[no-untyped-def]
    """Return up to ``size`` slots, ascending: as many with the largest g that may rise as with the smallest that may fall.

    Both sides, violating or not: a step along one coordinate moves all gradients of its kind to the other side.
    """
    group, others = np.empty(size, np.int64), np.empty(size // 2, np.int64)
    n = _foremost(x, 1.0, RISE, group[: size // 2])
    for q in range(_foremost(x, -1.0, FALL, others)):
        if not (group[:n] == others[q]).any():
            group[n] = others[q]
            n += 1
    return np.sort(group[:n])


@hot_loop
def _settle(x, own, group, square):  # type: ignore[no-untyped-def]
    """REPROCESS as if S were ``group``, ``square`` its kernel values; return the number of searches."""
    grad = x.reals[GRAD][group]
    first = 0.0
    for searches in range(_SEARCHES * group.size):
        worst, chosen = 0.0, 0
        for q in range(group.size):
            violation = max(grad[q] + x.ways[RISE, group[q]], -(grad[q] + x.ways[FALL, group[q]]))
            if violation > worst:
                worst, chosen = violation, q
        first = max(first, worst)
        if worst <= max(own.reals[TAU], _SETTLED * first):
            return searches
        slot = group[chosen]
        after = goal(x, slot, grad[chosen])
        step = after - x.reals[ALPHA, slot]
        put(x, own, slot, after)
        for q in range(group.size):
            grad[q] -= step * square[chosen, q]
    return _SEARCHES * group.size


@hot_loop
def _reprocess_group(x, own):  # type: ignore[no-untyped-def]
    counts = x.counts
    group = _choose(x, min(own.counts[GROUP], counts[ROWS] // 2))  # their rows are all held at once
    for slot in group:
        if not _ready(x, slot):
            return NEED_ROW
    square = np.empty((group.size, group.size))
    bases = x.slots[ROW_OF][group] * counts[WIDTH]
    for q in range(group.size):
        for p in range(group.size):
            square[q, p] = x.pool[bases[q] + group[p]]
    before = x.reals[ALPHA][group]
    counts[OPERATIONS] += _settle(x, own, group, square)
    steps = x.reals[ALPHA][group] - before
    moved = steps != 0.0
    if not moved.any():
        return BAILED
    move(x, own, bases[moved], steps[moved])
    return STEPPED
