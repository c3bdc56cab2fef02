"""The steps without a bias: PROCESS and REPROCESS along one coordinate or within a group of members."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from harness.support.jit import larger, smaller, summing
from harness_lasvm.compiled.members import NOWHERE, SEGMENT, dot, enter, first_slot, lay_row, mark, ready
from harness_lasvm.compiled.state import BAILED, CLEAN_DUE, DONE, NEED_ROW, PAUSED, STALE, STEPPED, Candidates, Members
from harness_lasvm.compiled.uncounted import compiled, inner

_SETTLED = 0.1  # fraction of a group's first violation below which its REPROCESS ends
_SEARCHES = 10  # most searches along a coordinate for each member of a group
_SMALLEST_DIAGONAL = 1e-12  # least K_ii: a point at the origin of the linear kernel has none
HINGE, RAMP, IGNORE = range(3)  # what becomes of an example outside the ramp: nothing, beta = C, skipped


class Ledger(NamedTuple):
    """The gap, its target and the next violation, which every pass over the slots renews, and the parameters of a run.

    A hole has alpha = 0 and both bounds 0: it may go nowhere, and adds nothing to the sums. A slot's bounds are those of its
    sub-problem, beta included.

    up, down, slope : (n,) per slot B - alpha, alpha - A: a term of the gap is max(up g, -down g); and h / g, which is
        A + B, or 0 where alpha = 0
    sums : (1,) record: gap (eq. 9), high and low (the largest g of a member that may rise, the smallest of one that may
        fall), i_high and i_low (their slots, -1 if there is none), threshold and target (eq. 8) of the example in work,
        support (number of alpha != 0), skipped, reversed (examples that got beta = C), uncleaned (since the last CLEAN)
    rule : HINGE, RAMP or IGNORE
    price, bend : C and s
    clean_every : examples between two CLEANs; 0: never
    chosen, bases, steps, grads, square : memory for the members of a group, and for what REPROCESS computes of them
    """

    up: Any
    down: Any
    slope: Any
    sums: Any
    rule: int
    price: float
    bend: float
    tau: float
    clean_every: int
    chosen: Any
    bases: Any
    steps: Any
    grads: Any
    square: Any


# -- passes over slots -------------------------------------------------------------------------------------------------


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


@inner
def move(x: Members, ledger: Ledger, bases: Any, steps: Any) -> None:
    """Take steps[q] times the row at bases[q] of the pool off g, for all q (one at least), and renew the ledger."""
    high, low, gap, high_from, low_from = -np.inf, np.inf, 0.0, NOWHERE, NOWHERE
    last = bases.size - 1
    for start in range(0, x.now[0].top, SEGMENT):
        stop = min(start + SEGMENT, x.now[0].top)
        grad = x.grad[start:stop]
        for q in range(last):
            row = x.pool[bases[q] + start : bases[q] + stop]
            for s in range(grad.size):
                grad[s] -= steps[q] * np.float64(row[s])
        row = x.pool[bases[last] + start : bases[last] + stop]
        up, down, rise, fall = ledger.up[start:stop], ledger.down[start:stop], x.rise[start:stop], x.fall[start:stop]
        segment = _move(grad, up, down, rise, fall, row, steps[last])
        if segment[0] > high:
            high, high_from = segment[0], start
        if segment[1] < low:
            low, low_from = segment[1], start
        gap += segment[2]
    sums = ledger.sums[0]
    sums.gap, sums.high, sums.low = gap, high, low
    sums.i_high = first_slot(x.grad, x.rise, high_from, high)
    sums.i_low = first_slot(x.grad, x.fall, low_from, low)


# -- one coordinate ----------------------------------------------------------------------------------------------------


@inner
def note(x: Members, ledger: Ledger, slot: int) -> None:
    """Renew what follows from a slot's alpha and bounds."""
    alpha, lower, upper = x.alpha[slot], x.slots[slot].lower, x.slots[slot].upper
    ledger.up[slot], ledger.down[slot] = upper - alpha, alpha - lower
    ledger.slope[slot] = lower + upper if alpha != 0.0 else 0.0
    mark(x, slot)


@inner
def goal(x: Members, slot: int, grad: float) -> float:
    """Return what alpha of ``slot`` becomes where its gradient is ``grad``: step 2 of PROCESS, step 4 of REPROCESS."""
    after = x.alpha[slot] + grad / max(x.diagonal[slot], _SMALLEST_DIAGONAL)
    # onto the bound itself where it limits the step: alpha = 0 and alpha = C are tested for equality
    bounded: float = max(x.slots[slot].lower, after) if grad < 0.0 else min(x.slots[slot].upper, after)
    return bounded


@inner
def put(x: Members, ledger: Ledger, slot: int, after: float) -> None:
    """Set alpha of ``slot``; the caller moves the gradients."""
    ledger.sums[0].support += (after != 0.0) - (x.alpha[slot] != 0.0)
    x.alpha[slot] = after
    note(x, ledger, slot)


@inner
def search(x: Members, ledger: Ledger, slot: int) -> int:
    """Search along one coordinate: steps 2-3 of PROCESS and 4-5 of REPROCESS.

    Return BAILED if its bound is in the way, NEED_ROW, with nothing changed, if its row must be computed first.
    """
    before = x.alpha[slot]
    after = goal(x, slot, x.grad[slot])
    if after != before and not ready(x, slot):
        return NEED_ROW
    x.now[0].operations += 1
    if after == before:
        return BAILED
    put(x, ledger, slot, after)
    ledger.bases[0], ledger.steps[0] = x.slots[slot].row * x.now[0].width, after - before
    move(x, ledger, ledger.bases[:1], ledger.steps[:1])
    return STEPPED


# -- REPROCESS within a group ------------------------------------------------------------------------------------------


@inner
def _choose(x: Members, ledger: Ledger, size: int) -> int:
    """Choose up to ``size`` slots, ascending, and return how many.

    As many have the largest g that may rise as have the smallest that may fall.

    Both sides, violating or not: a step along one coordinate moves all gradients of its kind to the other side.
    """
    half = size // 2
    group, slots, values = ledger.chosen, ledger.bases, ledger.steps
    n = 0
    for side in range(2):
        sign, way = (1.0, x.rise) if side == 0 else (-1.0, x.fall)
        m, least = 0, -np.inf
        for s in range(x.now[0].top):
            value = sign * (x.grad[s] + way[s])
            if value > least:
                q = min(m, half - 1)
                m = q + 1
                while q > 0 and values[q - 1] < value:
                    values[q], slots[q] = values[q - 1], slots[q - 1]
                    q -= 1
                values[q], slots[q] = value, s
                if m == half:
                    least = values[half - 1]
        for p in range(m):
            q = n
            while q > 0 and group[q - 1] > slots[p]:
                q -= 1
            if q == 0 or group[q - 1] != slots[p]:
                for r in range(n, q, -1):
                    group[r] = group[r - 1]
                group[q] = slots[p]
                n += 1
    return n


@inner
def _settle(x: Members, ledger: Ledger, group: Any, square: Any) -> None:
    """REPROCESS as if S were ``group``, ``square`` its kernel values."""
    grad, first = ledger.grads, 0.0
    for q in range(group.size):
        grad[q] = x.grad[group[q]]
    for _ in range(_SEARCHES * group.size):
        worst, chosen = 0.0, 0
        for q in range(group.size):
            violation = max(grad[q] + x.rise[group[q]], -(grad[q] + x.fall[group[q]]))
            if violation > worst:
                worst, chosen = violation, q
        first = max(first, worst)
        if worst <= max(ledger.tau, _SETTLED * first):
            return
        x.now[0].operations += 1
        after = goal(x, group[chosen], grad[chosen])
        step = after - x.alpha[group[chosen]]
        put(x, ledger, group[chosen], after)
        for q in range(group.size):
            grad[q] -= step * square[chosen, q]


@inner
def _reprocess_group(x: Members, ledger: Ledger) -> int:
    """REPROCESS within a group, then let the gradients of all members follow."""
    size = min(ledger.chosen.size, x.now[0].rows // 2)  # all their rows must be stored at once
    group = ledger.chosen[: _choose(x, ledger, size)]
    for slot in group:
        if not ready(x, slot):
            return NEED_ROW
    square, bases, steps = ledger.square, ledger.bases, ledger.steps
    for q in range(group.size):
        bases[q], steps[q] = x.slots[group[q]].row * x.now[0].width, x.alpha[group[q]]
        for p in range(group.size):
            square[q, p] = x.pool[bases[q] + group[p]]
    _settle(x, ledger, group, square)
    moved = 0
    for q in range(group.size):
        step = x.alpha[group[q]] - steps[q]
        if step != 0.0:
            bases[moved], steps[moved] = bases[q], step
            moved += 1
    if moved == 0:
        return BAILED
    move(x, ledger, bases[:moved], steps[:moved])
    return STEPPED


@inner
def _reprocess(x: Members, ledger: Ledger) -> tuple[int, int]:
    """REPROCESS up to the search along one coordinate, or all of it within a group: return a code and the slot, or -1."""
    sums = ledger.sums[0]
    if not max(sums.high, -sums.low) > ledger.tau:
        x.now[0].operations += 1
        return BAILED, -1
    if ledger.chosen.size > 1:
        return _reprocess_group(x, ledger), -1
    # of two equal violations the first slot's: then swapping the labels swaps nothing but signs
    rises = sums.high > -sums.low or (sums.high == -sums.low and sums.i_high < sums.i_low)
    return STEPPED, sums.i_high if rises else sums.i_low


# -- online iterations -------------------------------------------------------------------------------------------------


@inner
def _process(x: Members, ledger: Ledger, work: Candidates) -> int:
    """PROCESS the candidate in work up to the search: let it in, unless it is a member or ignored; return its slot.

    -1 for a candidate that is ignored; -2, with nothing changed, if it must be fetched anew.
    """
    now, sums = x.now[0], ledger.sums[0]
    k, place = work.examples[now.at], work.places[now.at]
    slot: int = x.examples[k].slot
    if slot < 0 and place < 0:
        return -2
    grad, score = 0.0, 0.0
    if slot < 0:
        base = lay_row(x, work, place)
        grad = x.examples[k].target - dot(x.alpha[: now.top], x.pool[base : base + now.top])
        score = 1.0 - x.examples[k].target * grad  # z = y f, as g = y - f
        if ledger.rule == IGNORE and (score < ledger.bend or score > 1.0):
            sums.skipped += 1
            now.operations += 1
            return -1
    # the gap target (eq. 8) and the threshold max(C, target)
    total, squares = _spread(x.grad[: now.top], ledger.slope[: now.top])
    sums.target = np.sqrt(max(0.0, squares - total * total / sums.support)) if sums.support > 0 else 0.0
    sums.threshold = max(ledger.price, sums.target)
    if slot < 0:
        slot = enter(x, k, place, grad)
        now.zeros = 0  # that list is for lasvm's step 4
        if ledger.rule == RAMP and score < ledger.bend:
            sums.reversed += 1
            # this membership's alone: the example has its bounds still
            beta = x.slots[slot].lower + x.slots[slot].upper
            x.slots[slot].lower -= beta
            x.slots[slot].upper -= beta
        note(x, ledger, slot)  # if it cannot move it adds nothing to the gap
    return slot


@compiled
def run(x: Members, ledger: Ledger, work: Candidates) -> int:
    """PROCESS the candidates from ``now.at`` on, each with its REPROCESS; after NEED_ROW, PAUSED and CLEAN_DUE, call it again.

    After STALE the candidates must be fetched anew. The finishing step is the REPROCESS of a last example, with
    ``now.stage`` 1, no candidates and a threshold of -inf.
    """
    now, sums = x.now[0], ledger.sums[0]
    while True:
        code, slot = STEPPED, -1
        if now.stage == 0:
            if now.at >= work.examples.size:
                return DONE
            slot = _process(x, ledger, work)
            if slot == -2:
                return STALE
        elif not sums.gap > sums.threshold:
            code = BAILED
        elif now.operations >= now.pause:
            return PAUSED
        else:
            code, slot = _reprocess(x, ledger)
        if slot >= 0:
            code = search(x, ledger, slot)
        if code == NEED_ROW:
            return code
        if now.stage == 0:
            now.stage = 1
        elif code == BAILED:
            now.stage = 0
            now.at += 1
            sums.uncleaned += 1
            if sums.uncleaned == ledger.clean_every:
                sums.uncleaned = 0
                return CLEAN_DUE
