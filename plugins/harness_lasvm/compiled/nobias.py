"""The steps without a bias: PROCESS, REPROCESS along one coordinate or within a group of members, CLEAN."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.jit import compiled, inner
from harness_lasvm.compiled.ledger import IGNORE, RAMP, Ledger, goal, measure, move, note, put, set_threshold
from harness_lasvm.compiled.members import be_born, gradient, is_complete, lay, leave
from harness_lasvm.compiled.rows import ready
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
)

_SETTLED = 0.1  # of the first violation in a group: below, it is left
_SEARCHES = 10  # times its size: after so many as well


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
