"""The steps of LASVM: PROCESS and REPROCESS, online and in the finishing step.

The paper's steps take the most violating pair, whatever its rows cost. With little memory most of them have to be
computed anew, for one step each. Here a pair whose rows are stored is taken as long as it violates nearly as much, as
any tau-violating pair makes progress (Bordes, Ertekin, Weston, Bottou 2005, section 3.1), and when rows must be computed,
those of the members that violate most are computed with them. Where every row is stored, none of this changes a step.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.support.jit import larger, smaller
from harness_lasvm.compiled.members import NOWHERE, SEGMENT, dot, enter, first_slot, free_row, lay_row, mark, ready
from harness_lasvm.compiled.state import BAILED, DONE, NEED_ROW, PAUSED, STALE, STEPPED, Candidates, Members
from harness_lasvm.compiled.uncounted import compiled, inlined, inner

NEARLY = 0.3  # fraction of the greatest violation that is enough for a pair whose rows are stored
_FLAT = np.float32(1e-6)  # least curvature K_ii + K_jj - 2 K_ij, in float32, where a partner is chosen
_CURVATURE = 1e-12  # least curvature of a step: two equal points have none


# -- which pair --------------------------------------------------------------------------------------------------------


@inner
def pair_with_rows(x: Members, i: int, j: int, high: float, low: float, tau: float) -> tuple[int, int]:
    """Return (i, j), slots of gradients ``high`` and ``low``, or a pair with rows that violates nearly as much.

    i or j : -1 for a candidate, which stays in the pair
    """
    if (i < 0 or x.slots[i].row >= 0) and (j < 0 or x.slots[j].row >= 0):
        return i, j
    most, least, near_i, near_j = -np.inf, np.inf, -1, -1
    for row in range(x.now[0].rows):
        s = x.rows[row].slot
        if s >= 0:
            up, down = x.grad[s] + x.rise[s], x.grad[s] + x.fall[s]
            if up > most or (up == most and s < near_i):
                most, near_i = up, s
            if down < least or (down == least and s < near_j):
                least, near_j = down, s
    if i < 0:
        most, near_i = high, i
    if j < 0:
        least, near_j = low, j
    return (near_i, near_j) if most - least > max(tau, NEARLY * (high - low)) else (i, j)


@inner
def gain(grad: float, way: Any, diagonal: float, value: Any, grad_i: float, diagonal_i: float, sign: float) -> Any:
    """Return twice what a step of an example and a slot adds to the dual, bounds apart, in float32; see :func:`partner`."""
    apart = larger(np.float32(sign * (grad_i - (grad + way))), np.float32(0.0))
    curvature = np.float32(diagonal_i + diagonal) - np.float32(2.0) * np.float32(value)
    return apart * apart / larger(curvature, _FLAT)


@inner
def partner(x: Members, base: int, grad: float, diagonal: float, rising: bool, with_row: bool) -> int:
    """Return the slot with which an example, whose alpha rises or falls, gains most to second order.

    base : where its row begins in the pool
    grad, diagonal : its gradient and its K_ii
    with_row : whether only a slot with a row is returned
    """
    sign = 1.0 if rising else -1.0
    closed = x.fall if rising else x.rise
    best, chosen = np.float32(0.0), 0
    for start in range(0, x.now[0].top, SEGMENT):
        stop = min(start + SEGMENT, x.now[0].top)
        grads, ways, diagonals = x.grad[start:stop], closed[start:stop], x.diagonal[start:stop]
        row = x.pool[base + start : base + stop]
        most = np.float32(0.0)
        for s in range(grads.size):
            most = larger(most, gain(grads[s], ways[s], diagonals[s], row[s], grad, diagonal, sign))
        if most > best:
            best, chosen = most, start
    while gain(x.grad[chosen], closed[chosen], x.diagonal[chosen], x.pool[base + chosen], grad, diagonal, sign) != best:
        chosen += 1
    if with_row and x.slots[chosen].row < 0:
        best = np.float32(-1.0)
        for s in range(x.now[0].top):
            if x.slots[s].row >= 0:
                value = gain(x.grad[s], closed[s], x.diagonal[s], x.pool[base + s], grad, diagonal, sign)
                if value > best:
                    best, chosen = value, s
    return chosen


# -- the steps ---------------------------------------------------------------------------------------------------------


@inner
def shift(x: Members, base_i: int, base_j: int, step: float) -> None:
    """Take ``step`` times the difference of two rows off the gradients, and renew the extremes in the same pass."""
    now = x.now[0]
    high, low, high_from, low_from = -np.inf, np.inf, NOWHERE, NOWHERE
    for start in range(0, now.top, SEGMENT):
        stop = min(start + SEGMENT, now.top)
        grad, rise, fall = x.grad[start:stop], x.rise[start:stop], x.fall[start:stop]
        row_i, row_j = x.pool[base_i + start : base_i + stop], x.pool[base_j + start : base_j + stop]
        up, down = -np.inf, np.inf
        for s in range(grad.size):
            value = grad[s] - step * (np.float64(row_i[s]) - np.float64(row_j[s]))
            grad[s] = value
            up = larger(up, value + rise[s])
            down = smaller(down, value + fall[s])
        if up > high:
            high, high_from = up, start
        if down < low:
            low, low_from = down, start
    now.g_max, now.i_max = high, first_slot(x.grad, x.rise, high_from, high)
    now.g_min, now.i_min = low, first_slot(x.grad, x.fall, low_from, low)


@inlined
def search(x: Members, i: int, j: int) -> None:
    """Search along (i, j): steps 5 of PROCESS and 3 of REPROCESS."""
    base_i, base_j = x.slots[i].row * x.now[0].width, x.slots[j].row * x.now[0].width
    curvature = max(x.diagonal[i] + x.diagonal[j] - 2.0 * np.float64(x.pool[base_i + j]), _CURVATURE)
    upper, lower = x.slots[i].upper, x.slots[j].lower
    room_i, room_j = upper - x.alpha[i], x.alpha[j] - lower
    apart = x.grad[i] - x.grad[j]
    step = min(apart / curvature, room_i, room_j)
    x.now[0].gained += step * (apart - 0.5 * step * curvature)
    # onto the bound itself where the bound limits the step: alpha = 0 and alpha = C are tested for equality
    x.alpha[i] = upper if step == room_i else min(x.alpha[i] + step, upper)
    x.alpha[j] = lower if step == room_j else max(x.alpha[j] - step, lower)
    for s in (min(i, j), max(i, j)):  # in slot order: then swapping the labels swaps nothing but signs
        mark(x, s)
    shift(x, base_i, base_j, step)


@inner
def sweep(x: Members) -> None:
    """Step 4 of REPROCESS: remove blatant non support vectors."""
    now = x.now[0]
    remaining = 0
    rescan = False
    for q in range(now.zeros):
        s = x.stacks[q].zero
        if x.alpha[s] != 0.0:
            x.slots[s].listed = 0
        elif x.grad[s] > now.g_min if x.slots[s].upper > 0.0 else x.grad[s] < now.g_max:
            x.stacks[remaining].zero = s
            remaining += 1
        else:
            rescan = rescan or s == now.i_max or s == now.i_min
            x.examples[x.slots[s].member].slot = -1
            x.slots[s].member, x.slots[s].listed = -1, 0
            x.rise[s], x.fall[s] = -np.inf, np.inf
            free_row(x, s)
            x.stacks[now.holes].hole = s
            now.holes += 1
    now.zeros = remaining
    if rescan:
        shift(x, now.spare * now.width, now.spare * now.width, 0.0)


@inlined
def reprocess_pair(x: Members, tau: float, second_order_from: int) -> tuple[int, int, int]:
    """Choose the pair of REPROCESS: return a code (STEPPED if there is one) and its slots.

    With ``second_order_from`` members or more, one of the most violating pair gets the partner that gains most.
    """
    now = x.now[0]
    if not now.g_max - now.g_min > tau:
        now.operations += 1
        return BAILED, -1, -1
    i, j = pair_with_rows(x, now.i_max, now.i_min, now.g_max, now.g_min, tau)
    if now.top - now.holes >= second_order_from:
        # whose partner is looked for depends on slots alone: then swapping the labels swaps nothing but signs;
        # halved, as online every second operation is a PROCESS
        one = min(i, j) if now.operations // 2 % 2 else max(i, j)
        with_row = x.slots[i].row >= 0 and x.slots[j].row >= 0
        if not ready(x, one):
            return NEED_ROW, -1, -1
        other = partner(x, x.slots[one].row * now.width, x.grad[one], x.diagonal[one], one == i, with_row)
        i, j = (one, other) if one == i else (other, one)
    for s in (i, j):
        if not ready(x, s):
            return NEED_ROW, -1, -1
    now.operations += 1
    return STEPPED, i, j


@inlined
def process_pair(x: Members, work: Candidates, tau: float, second_order_from: int) -> tuple[int, int, int]:
    """PROCESS the candidate in work up to the search: return a code (STEPPED if there is one) and the pair's slots."""
    now = x.now[0]
    k, place = work.examples[now.at], work.places[now.at]
    if x.examples[k].slot >= 0:
        now.operations += 1
        return BAILED, -1, -1
    if place < 0:
        return STALE, -1, -1
    base = lay_row(x, work, place)
    grad = x.examples[k].target - dot(x.alpha[: now.top], x.pool[base : base + now.top])
    positive = x.examples[k].target > 0.0
    violating = grad - now.g_min > tau if positive else now.g_max - grad > tau
    other, value = 0, x.pool[base]
    if violating:
        i, j = (-1, now.i_min) if positive else (now.i_max, -1)
        high, low = (grad, now.g_min) if positive else (now.g_max, grad)
        other = max(pair_with_rows(x, i, j, high, low, tau))  # the candidate is -1
        if now.top - now.holes >= second_order_from:
            other = partner(x, base, grad, x.examples[k].diagonal, positive, x.slots[other].row >= 0)
        if not ready(x, other):
            return NEED_ROW, -1, -1
        value = x.pool[base + other]
    elif grad <= min(now.g_min, now.g_max) if positive else grad >= max(now.g_min, now.g_max):
        now.operations += 1
        return BAILED, -1, -1
    slot = enter(x, k, place, grad)
    now.operations += 1
    if violating:
        # still there: of four rows or more, the next spare row is never the one used last but one
        row = x.slots[other].row
        x.pool[row * now.width + slot] = value
        x.rows[row].logged = now.clock
        return (STEPPED, slot, other) if positive else (STEPPED, other, slot)
    up, down = grad + x.rise[slot], grad + x.fall[slot]
    if up > now.g_max or (up == now.g_max and slot < now.i_max):
        now.g_max, now.i_max = up, slot
    if down < now.g_min or (down == now.g_min and slot < now.i_min):
        now.g_min, now.i_min = down, slot
    return BAILED, -1, -1


@compiled
def run(x: Members, work: Candidates, tau: float, delta_max: float, second_order_from: int) -> int:
    """PROCESS the candidates from ``now.at`` on, each with its REPROCESS; after NEED_ROW and PAUSED, call it again.

    After STALE the candidates must be fetched anew. The finishing step is the REPROCESS of a last example, with
    ``now.stage`` 1, no candidates and no ``delta_max`` (-inf).

    second_order_from : members of S from which on pairs are chosen to second order
    """
    now = x.now[0]
    while True:
        if now.stage == 0:
            if now.at >= work.examples.size:
                return DONE
            code, i, j = process_pair(x, work, tau, second_order_from)
        else:
            code, i, j = reprocess_pair(x, tau, second_order_from)
        if code in (NEED_ROW, STALE):
            return int(code)
        if code == STEPPED:
            search(x, i, j)
        if now.stage == 0:
            now.stage = 1
            continue
        if code == STEPPED and now.sweep:
            sweep(x)
        if code == BAILED or now.g_max - now.g_min < delta_max:
            now.stage = 0
            now.at += 1
        elif now.operations >= now.pause:
            return PAUSED
