"""The ledger of the solvers without a bias: the gap, its target and the next violation, from one pass over the slots.

A hole has alpha = 0 and both bounds 0: it may go nowhere, and adds nothing to the sums. A slot's bounds are those of its
own sub-problem, beta included.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from harness.jit import compiled, inner, larger, smaller, summing
from harness_lasvm.compiled.scans import SEGMENT, first, open_ways
from harness_lasvm.compiled.state import Members, record

HINGE, RAMP, IGNORE = range(3)  # what becomes of an example outside the ramp: nothing, beta = C, skipped

_SMALLEST_DIAGONAL = 1e-12  # of K_ii: a point at the origin of the linear kernel has none

SUMS = record("i_high i_low support skipped reversed uncleaned", "gap high low threshold target")


class Ledger(NamedTuple):
    """What one run knows of its expansion, renewed by every pass over it, and its parameters.

    up, down, slope : (n,) per slot B - alpha, alpha - A: a term of the gap is max(up g, -down g); and h / g, which is
        A + B, or 0 where alpha = 0
    sums : (1,) record: gap (eq. 9), high and low (the largest g of a member that may rise, the smallest of one that may
        fall), i_high and i_low (their slots, -1 if there is none), threshold and target (eq. 8) of the example in work,
        support (number of alpha != 0), skipped, reversed (examples that got beta = C), uncleaned (since the last CLEAN)
    rule : HINGE, RAMP or IGNORE
    price, bend : C and s
    clean_every : examples between two CLEANs; 0: never
    """

    up: Any
    down: Any
    slope: Any
    sums: Any
    rule: int
    price: float
    bend: float
    tau: float
    group: int
    clean_every: int
    max_inactive: int


@summing
def _move(grad: Any, up: Any, down: Any, rise: Any, fall: Any, row: Any, step: float) -> tuple[float, float, float]:
    """g_s -= step K_s over one segment; return its extremes and its part of the gap."""
    high, low, gap = -np.inf, np.inf, 0.0
    for s in range(grad.size):
        g = grad[s] - step * np.float64(row[s])
        grad[s] = g
        high = larger(high, g + rise[s])
        low = smaller(low, g + fall[s])
        gap += larger(up[s] * g, -(down[s] * g))
    return high, low, gap


@summing
def _spread(grad: Any, slope: Any) -> tuple[float, float]:
    """Return the sums of h and h^2 over the support vectors."""
    total, squares = 0.0, 0.0
    for s in range(grad.size):
        h = slope[s] * grad[s]
        total += h
        squares += h * h
    return total, squares


@summing
def _add(grad: Any, row: Any, step: float) -> None:
    for s in range(grad.size):
        grad[s] -= step * np.float64(row[s])


@inner
def move(x: Members, own: Ledger, bases: Any, steps: Any) -> None:
    """Take steps[q] times the row at bases[q] of the pool off g, for all q (one at least), and renew the ledger."""
    high, low, gap, high_from, low_from = -np.inf, np.inf, 0.0, -1, -1
    last = bases.size - 1
    for start in range(0, x.now[0].top, SEGMENT):
        stop = min(start + SEGMENT, x.now[0].top)
        grad = x.grad[start:stop]
        for q in range(last):
            _add(grad, x.pool[bases[q] + start : bases[q] + stop], steps[q])
        row = x.pool[bases[last] + start : bases[last] + stop]
        up, down, rise, fall = own.up[start:stop], own.down[start:stop], x.rise[start:stop], x.fall[start:stop]
        found = _move(grad, up, down, rise, fall, row, steps[last])
        if found[0] > high:
            high, high_from = found[0], start
        if found[1] < low:
            low, low_from = found[1], start
        gap += found[2]
    sums = own.sums[0]
    sums.gap, sums.high, sums.low = gap, high, low
    sums.i_high = first(x.grad, x.rise, high_from, high)
    sums.i_low = first(x.grad, x.fall, low_from, low)


@inner
def note(x: Members, own: Ledger, slot: int) -> None:
    """Renew what follows from a slot's alpha and bounds."""
    alpha, lower, upper = x.alpha[slot], x.slots[slot].lower, x.slots[slot].upper
    own.up[slot], own.down[slot] = upper - alpha, alpha - lower
    own.slope[slot] = lower + upper if alpha != 0.0 else 0.0
    open_ways(x, slot)


@compiled
def measure(x: Members, own: Ledger) -> None:
    """Renew the ledger from the slots: they may have moved since."""
    support = 0
    for s in range(x.now[0].top):
        note(x, own, s)
        support += x.alpha[s] != 0.0
    own.sums[0].support = support
    base = x.now[0].spare * x.now[0].width
    x.pool[base : base + x.now[0].top] = 0.0  # nothing moves
    move(x, own, np.array([base]), np.zeros(1))


@inner
def goal(x: Members, slot: int, grad: float) -> float:
    """Return what alpha of ``slot`` becomes where its gradient is ``grad``: step 2 of PROCESS, step 4 of REPROCESS."""
    after = x.alpha[slot] + grad / max(x.diagonal[slot], _SMALLEST_DIAGONAL)
    # onto the bound itself where it limits the step: alpha = 0 and alpha = C are tested for equality
    bounded: float = max(x.slots[slot].lower, after) if grad < 0.0 else min(x.slots[slot].upper, after)
    return bounded


@inner
def put(x: Members, own: Ledger, slot: int, after: float) -> None:
    """Set alpha of ``slot``; the gradients are for the caller to move."""
    own.sums[0].support += (after != 0.0) - (x.alpha[slot] != 0.0)
    x.alpha[slot] = after
    note(x, own, slot)


@inner
def set_threshold(x: Members, own: Ledger) -> None:
    """Note the gap target (eq. 8) and the threshold max(C, target) of the example in work."""
    top, support = x.now[0].top, own.sums[0].support
    total, squares = _spread(x.grad[:top], own.slope[:top])
    spread = squares - total * total / support if support > 0 else 0.0
    own.sums[0].target = np.sqrt(max(0.0, spread))
    own.sums[0].threshold = max(own.price, own.sums[0].target)
