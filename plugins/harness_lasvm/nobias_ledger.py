"""The ledger of the solvers without a bias: the gap, its target and the next violation, from one pass over the slots.

They work on the slots and packed rows of :mod:`harness_lasvm.hot`. A hole has alpha = 0 and both bounds 0: it may go
nowhere, and adds nothing to the sums. A slot's bounds are those of its own sub-problem, beta included.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba as nb
import numpy as np

from harness_lasvm.scans import _larger, _smaller, hot_loop
from harness_lasvm.state import ALPHA, DIAGONAL, FALL, GRAD, LOWER, RISE, SPARE, TOP, UPPER, WIDTH

HINGE, RAMP, IGNORE = range(3)  # what becomes of an example outside the ramp: nothing, beta = C, skipped
GAP, HIGH, LOW, THRESHOLD, TARGET, PRICE, BEND, TAU = range(8)  # into Ledger.reals
I_HIGH, I_LOW, SUPPORT, SKIPPED, REVERSED, UNCLEANED, CLEAN_EVERY, MAX_INACTIVE, RULE, GROUP = range(10)
UP, DOWN, SLOPE = range(3)  # into Ledger.room

BLOCK = 512  # slots scanned at a time: the block of an extreme is known, its slot is looked up once
_SMALLEST_DIAGONAL = 1e-12  # of K_ii: a point at the origin of the linear kernel has none
_hot_sum = nb.njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})


class Ledger(NamedTuple):
    """What one run knows of its expansion, renewed by every pass over it.

    reals : GAP (eq. 9), HIGH and LOW (largest g of a member that may rise, smallest of one that may fall), THRESHOLD
        and TARGET (eq. 8) of the example in work, and the parameters PRICE (C), BEND (s), TAU
    counts : I_HIGH and I_LOW (slots, -1 if there is none), SUPPORT (number of alpha != 0), SKIPPED, REVERSED (examples
        that got beta = C), UNCLEANED (examples since the last CLEAN), and the parameters CLEAN_EVERY (0: never),
        MAX_INACTIVE, RULE, GROUP
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


@_hot_sum
def _add(grad, row, step):  # type: ignore[no-untyped-def]
    for s in range(grad.size):
        grad[s] -= step * np.float64(row[s])


@hot_loop
def move(x, own, bases, steps):  # type: ignore[no-untyped-def]
    """Take steps[q] times the row at bases[q] of the pool off g, for all q (one at least), and renew the ledger."""
    high, low, gap, i, j = -np.inf, np.inf, 0.0, -1, -1
    last = bases.size - 1
    for start in range(0, x.counts[TOP], BLOCK):
        stop = min(start + BLOCK, x.counts[TOP])
        grad = x.reals[GRAD, start:stop]
        for q in range(last):
            _add(grad, x.pool[bases[q] + start : bases[q] + stop], steps[q])
        row = x.pool[bases[last] + start : bases[last] + stop]
        found = _move(grad, own.room[:, start:stop], x.ways[:, start:stop], row, steps[last])
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
def mark(x, own, slot):  # type: ignore[no-untyped-def]
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
        mark(x, own, s)
        support += x.reals[ALPHA, s] != 0.0
    own.counts[SUPPORT] = support
    base = x.counts[SPARE] * x.counts[WIDTH]
    x.pool[base : base + x.counts[TOP]] = 0.0  # nothing moves
    move(x, own, np.array([base]), np.zeros(1))


@hot_loop
def goal(x, slot, grad):  # type: ignore[no-untyped-def]
    """Return what alpha of ``slot`` becomes where its gradient is ``grad``: step 2 of PROCESS, step 4 of REPROCESS."""
    alpha = x.reals[ALPHA, slot]
    newton = grad / max(x.reals[DIAGONAL, slot], _SMALLEST_DIAGONAL)
    # onto the bound itself where it limits the step: alpha = 0 and alpha = C are tested for equality
    if grad < 0.0:
        return max(x.reals[LOWER, slot], alpha + newton)
    return min(x.reals[UPPER, slot], alpha + newton)


@hot_loop
def put(x, own, slot, after):  # type: ignore[no-untyped-def]
    """Set alpha of ``slot``; the gradients are for the caller to move."""
    own.counts[SUPPORT] += (after != 0.0) - (x.reals[ALPHA, slot] != 0.0)
    x.reals[ALPHA, slot] = after
    mark(x, own, slot)


@hot_loop
def set_threshold(x, own):  # type: ignore[no-untyped-def]
    """Note the gap target (eq. 8) and the threshold max(C, target) of the example in work."""
    top, support = x.counts[TOP], own.counts[SUPPORT]
    total, squares = _spread(x.reals[GRAD, :top], own.room[SLOPE, :top])
    spread = squares - total * total / support if support > 0 else 0.0
    own.reals[TARGET] = np.sqrt(max(0.0, spread))
    own.reals[THRESHOLD] = max(own.reals[PRICE], own.reals[TARGET])
