"""The steps without a bias: PROCESS, REPROCESS along one coordinate or within a group of members, CLEAN."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from harness.support.jit import compiled, inner, larger, smaller, summing
from harness_lasvm.compiled.members import be_born, gradient, is_complete, lay, leave
from harness_lasvm.compiled.rows import ready
from harness_lasvm.compiled.scans import SEGMENT, first, open_ways
from harness_lasvm.compiled.state import (
    BAILED,
    DONE,
    NEED_ROW,
    PAUSED,
    STALE,
    STEPPED,
    Candidates,
    Members,
    borrowed,
    record,
)

_SETTLED = 0.1  # of the first violation in a group: below, it is left
_SEARCHES = 10  # times its size: after so many as well
# the ledger of the solvers without a bias: the gap, its target and the next violation, from one pass over the slots
HINGE, RAMP, IGNORE = range(3)  # what becomes of an example outside the ramp: nothing, beta = C, skipped
_SMALLEST_DIAGONAL = 1e-12  # of K_ii: a point at the origin of the linear kernel has none
SUMS = record("i_high i_low support skipped reversed uncleaned", "gap high low threshold target")


@inner
def _search(x: Members, own: Ledger, slot: int) -> int:
    """Search along one coordinate: steps 2-3 of PROCESS and 4-5 of REPROCESS.

    BAILED if its bound is in the way, NEED_ROW, with nothing changed, if its row must be computed first.
    """
    before = x.alpha[slot]
    after = goal(x, slot, x.grad[slot])
    if after != before and not ready(x, slot):
        return NEED_ROW
    x.now[0].operations += 1
    if after == before:
        return BAILED
    put(x, own, slot, after)
    move(x, own, np.array([x.slots[slot].row * x.now[0].width]), np.array([after - before]))
    return STEPPED


# -- REPROCESS ---------------------------------------------------------------------------------------------------------


@inner
def _reprocess(x: Members, own: Ledger) -> int:
    """REPROCESS: search along the coordinate with the largest violation, or within the group around it.

    BAILED if no member violates by more than tau, NEED_ROW, with nothing changed, if a row must be computed first.
    """
    high, low = own.sums[0].high, -own.sums[0].low
    if not max(high, low) > own.tau:
        x.now[0].operations += 1
        return BAILED
    if own.group > 1:
        code: int = _reprocess_group(x, own)
        return code
    i, j = own.sums[0].i_high, own.sums[0].i_low
    # of two equal violations the first slot's: then swapping the labels swaps nothing but signs
    code = _search(x, own, i if high > low or (high == low and i < j) else j)
    return code


@inner
def _foremost(x: Members, sign: float, way: Any, chosen: Any) -> int:
    """Write the slots with the largest sign * g of those that may go that way into ``chosen``; return their number."""
    values = np.empty(chosen.size)
    n, least = 0, -np.inf
    for s in range(x.now[0].top):
        value = sign * (x.grad[s] + way[s])
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


@inner
def _choose(x: Members, size: int) -> Any:
    """Return up to ``size`` slots, ascending: as many with the largest g that may rise as with the smallest that may fall.

    Both sides, violating or not: a step along one coordinate moves all gradients of its kind to the other side.
    """
    group, others = np.empty(size, np.int64), np.empty(size // 2, np.int64)
    n: int = _foremost(x, 1.0, x.rise, group[: size // 2])
    for q in range(_foremost(x, -1.0, x.fall, others)):
        if not (group[:n] == others[q]).any():
            group[n] = others[q]
            n += 1
    return np.sort(group[:n])


@inner
def _settle(x: Members, own: Ledger, group: Any, square: Any) -> int:
    """REPROCESS as if S were ``group``, ``square`` its kernel values; return the number of searches."""
    grad = x.grad[group]
    first, limit = 0.0, int(_SEARCHES * group.size)
    for searches in range(limit):
        worst, chosen = 0.0, 0
        for q in range(group.size):
            violation = max(grad[q] + x.rise[group[q]], -(grad[q] + x.fall[group[q]]))
            if violation > worst:
                worst, chosen = violation, q
        first = max(first, worst)
        if worst <= max(own.tau, _SETTLED * first):
            return searches
        slot = group[chosen]
        after = goal(x, slot, grad[chosen])
        step = after - x.alpha[slot]
        put(x, own, slot, after)
        for q in range(group.size):
            grad[q] -= step * square[chosen, q]
    return limit


@inner
def _reprocess_group(x: Members, own: Ledger) -> int:
    group = _choose(x, min(own.group, x.now[0].rows // 2))  # their rows are all held at once
    for slot in group:
        if not ready(x, slot):
            return NEED_ROW
    square, bases = np.empty((group.size, group.size)), np.empty(group.size, np.int64)
    for q in range(group.size):
        bases[q] = x.slots[group[q]].row * x.now[0].width
        for p in range(group.size):
            square[q, p] = x.pool[bases[q] + group[p]]
    before = x.alpha[group]
    x.now[0].operations += _settle(x, own, group, square)
    steps = x.alpha[group] - before
    moved = steps != 0.0
    if not moved.any():
        return BAILED
    move(x, own, bases[moved], steps[moved])
    return STEPPED


# -- PROCESS and CLEAN -------------------------------------------------------------------------------------------------


@inner
def _process(x: Members, own: Ledger, work: Candidates) -> int:
    """PROCESS the candidate in work: let it in, unless it is a member or ignored, and search along it."""
    now, sums = x.now[0], own.sums[0]
    k, place = work.examples[now.at], work.places[now.at]
    slot = x.examples[k].slot
    if slot >= 0:
        set_threshold(x, own)
    else:
        if place < 0:
            return STALE
        grad = gradient(x, k, lay(x, work, place))
        score = 1.0 - x.examples[k].target * grad  # z = y f, as g = y - f
        outside = score < own.bend
        if own.rule == IGNORE and (outside or score > 1.0):
            sums.skipped += 1
            now.operations += 1
            return DONE
        if not is_complete(x, work, place):
            return NEED_ROW
        set_threshold(x, own)
        slot = be_born(x, k, place, grad)
        now.zeros = 0  # that list is for lasvm's step 4
        if own.rule == RAMP and outside:
            sums.reversed += 1
            beta = x.slots[slot].lower + x.slots[slot].upper  # this membership's alone: the example keeps its bounds
            x.slots[slot].lower -= beta
            x.slots[slot].upper -= beta
        note(x, own, slot)  # if it cannot move it adds nothing to the gap
    return NEED_ROW if _search(x, own, slot) == NEED_ROW else DONE


@compiled
def clean(x: Members, own: Ledger, max_inactive: int) -> None:
    """CLEAN: of the members with alpha = 0 keep the ``max_inactive`` nearest to a violation."""
    idle = np.empty(x.now[0].top, np.int64)
    n = 0
    for s in range(x.now[0].top):
        if x.slots[s].member >= 0 and x.alpha[s] == 0.0:
            idle[n] = s
            n += 1
    if n <= max_inactive:
        return
    violation = np.empty(n)
    for q in range(n):
        s = idle[q]
        violation[q] = x.grad[s] if x.slots[s].upper > 0.0 else -x.grad[s]
    order = np.argsort(violation, kind="mergesort")
    for q in range(n - max_inactive):
        s = idle[order[q]]
        leave(x, s)
        x.slots[s].lower = x.slots[s].upper = 0.0  # a hole
    measure(x, own)


@compiled
def online(x: Members, own: Ledger, work: Candidates) -> int:
    """Online iterations over the candidates from ``now.at`` on; resumed after NEED_ROW and PAUSED, fetched anew after STALE."""
    x, own, work = borrowed(x), borrowed(own), borrowed(work)
    now, sums = x.now[0], own.sums[0]
    while now.at < work.examples.size:
        if now.stage == 0:
            code: int = _process(x, own, work)
            if code != DONE:
                return code
            now.stage = 1
        while sums.gap > sums.threshold:
            if now.operations >= now.pause:
                return PAUSED
            code = _reprocess(x, own)
            if code == NEED_ROW:
                return code
            if code == BAILED:
                break
        sums.uncleaned += 1
        if sums.uncleaned == own.clean_every:
            sums.uncleaned = 0
            clean(x, own, own.max_inactive)
        now.stage = 0
        now.at += 1
    return DONE


@compiled
def finish(x: Members, own: Ledger) -> int:
    """REPROCESS until no member violates by more than tau (DONE) or ``now.pause`` operations were made."""
    x, own = borrowed(x), borrowed(own)
    while x.now[0].operations < x.now[0].pause:
        code: int = _reprocess(x, own)
        if code == BAILED:
            return DONE
        if code == NEED_ROW:
            return code
    return PAUSED


# -- the ledger of the solvers without a bias: the gap, its target and the next violation, from one pass over the slots
# A hole has alpha = 0 and both bounds 0: it may go nowhere, and adds nothing to the sums. A slot's bounds are those of its
# own sub-problem, beta included.


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
