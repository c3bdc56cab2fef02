"""Where the rows of S do not all fit in memory: pairs whose rows are at hand, and rows computed several together.

The paper's steps take the most violating pair, whatever its rows cost. With little memory most of them have to be
computed anew, for one step each. Here a pair whose rows are held is taken as long as it violates nearly as much
(any tau-violating pair makes progress, 001(b) section 3.1), and when rows must be computed, those of the members
that violate most are computed with them. Where every row is held, none of this changes a step.
"""

from __future__ import annotations

import numpy as np

from harness_lasvm.ahead import is_young
from harness_lasvm.borrow import borrowed_members
from harness_lasvm.pool import own_row, take_row
from harness_lasvm.scans import gain, hot_loop, partner
from harness_lasvm.state import (
    CLOCK,
    DIAGONAL,
    FALL,
    G_MAX,
    G_MIN,
    GRAD,
    MEMBER,
    RISE,
    ROW_OF,
    ROWS,
    SLOT_OF,
    TOP,
    WIDTH,
)

NEARLY = 0.3  # of the greatest violation is enough for a pair at hand


@hot_loop
def held_extremes(x):  # type: ignore[no-untyped-def]
    """Return the slots of the greatest g over alpha < B and of the least over alpha > A among those with a row; or -1."""
    high, low, i, j = -np.inf, np.inf, -1, -1
    for row in range(x.counts[ROWS]):
        s = x.rows[SLOT_OF, row]
        if s >= 0:
            up, down = x.reals[GRAD, s] + x.ways[RISE, s], x.reals[GRAD, s] + x.ways[FALL, s]
            if up > high or (up == high and s < i):
                high, i = up, s
            if down < low or (down == low and s < j):
                low, j = down, s
    return i, j


@hot_loop
def pair_at_hand(x, i, j, tau):  # type: ignore[no-untyped-def]
    """Return (i, j), the extremes of S, or a pair with both its rows that violates nearly as much."""
    if x.slots[ROW_OF, i] >= 0 and x.slots[ROW_OF, j] >= 0:
        return i, j
    near_i, near_j = held_extremes(x)
    if near_i >= 0 and near_j >= 0:
        violation = x.reals[GRAD, near_i] - x.reals[GRAD, near_j]
        if violation > max(tau, NEARLY * (x.extremes[G_MAX] - x.extremes[G_MIN])):
            return near_i, near_j
    return i, j


@hot_loop
def other_at_hand(x, other, grad, tau):  # type: ignore[no-untyped-def]
    """Return ``other``, the extreme that a new member of gradient ``grad`` is paired with, or nearly so good a one with a row."""
    if x.slots[ROW_OF, other] >= 0:
        return other
    rising = grad > x.reals[GRAD, other]
    near_i, near_j = held_extremes(x)
    near = near_j if rising else near_i
    if near < 0:
        return other
    violation, greatest = grad - x.reals[GRAD, near], grad - x.reals[GRAD, other]
    if not rising:
        violation, greatest = -violation, -greatest
    return near if violation > max(tau, NEARLY * greatest) else other


@hot_loop
def held_partner(x, base, end, own, rising):  # type: ignore[no-untyped-def]
    """Return, of the slots with a row, the one with which an example gains most; see :func:`scans.partner`."""
    sign, way = (1.0, FALL) if rising else (-1.0, RISE)
    best, chosen = np.float32(0.0), -1
    for row in range(x.counts[ROWS]):
        t = x.rows[SLOT_OF, row]
        if t >= 0:
            found = gain(x.reals[GRAD, t], x.ways[way, t], x.reals[DIAGONAL, t], x.pool[base + t], end, sign, own)
            if found > best or (found == best and t < chosen):
                best, chosen = found, t
    return chosen


@hot_loop
def best_partner(x, base, end, own, rising, at_hand):  # type: ignore[no-untyped-def]
    """Return the slot with which an example gains most; see :func:`scans.partner`.

    at_hand : a slot with a row violates nearly as much as the extreme: only one with a row is returned
    """
    chosen = partner(x, base, end, own, rising)
    if at_hand and x.slots[ROW_OF, chosen] < 0:
        chosen = held_partner(x, base, end, own, rising)
    return chosen


@hot_loop
def has_rows_since(x, since):  # type: ignore[no-untyped-def]
    """Return whether all members that entered since the log was so long have their rows."""
    for t in range(since, x.counts[CLOCK]):
        s = x.log[t]
        if s >= 0 and x.slots[MEMBER, s] >= 0 and x.slots[ROW_OF, s] < 0:
            return False
    return True


@hot_loop
def complete(x, slots, rows, since):  # type: ignore[no-untyped-def]
    """Give the rows of ``slots`` their values with the members that entered since, from the rows of these."""
    width = x.counts[WIDTH]
    for t in range(since, x.counts[CLOCK]):
        s = x.log[t]
        if s >= 0 and x.slots[MEMBER, s] >= 0:
            base = x.slots[ROW_OF, s] * width
            for q in range(slots.size):
                x.pool[rows[q] * width + s] = x.pool[base + slots[q]]


@hot_loop
def take_rows(x, slot, known, slots, rows):  # type: ignore[no-untyped-def]
    """Give a row of the pool each to ``slot`` and to those members without one that violate most; return how many.

    known : the point that stands at each slot among the kernel's columns; a member that entered since is left out
    slots, rows : changed in place; the members, ``slot`` first, and their rows, not filled yet
    """
    x = borrowed_members(x)
    middle = 0.5 * (x.extremes[G_MAX] + x.extremes[G_MIN])
    slots[0] = slot
    count = 1
    violations = np.empty(slots.size)
    for s in range(x.counts[TOP] if slots.size > 1 else 0):
        if x.slots[MEMBER, s] < 0 or x.slots[ROW_OF, s] >= 0 or s == slot or is_young(x, s, known):
            continue
        up, down = x.reals[GRAD, s] + x.ways[RISE, s] - middle, middle - x.reals[GRAD, s] - x.ways[FALL, s]
        violation = max(up, down)
        if count == slots.size and violation <= violations[count - 1]:
            continue
        place = min(count, slots.size - 1)
        while place > 1 and violations[place - 1] < violation:
            violations[place], slots[place] = violations[place - 1], slots[place - 1]
            place -= 1
        violations[place], slots[place] = violation, s
        count = min(count + 1, slots.size)
    for q in range(count):
        rows[q] = take_row(x)
        own_row(x, rows[q], slots[q])
    return count
