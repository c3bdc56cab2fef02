"""The steps of LASVM: PROCESS, REPROCESS, the online iterations and the finishing step.

The paper's steps take the most violating pair, whatever its rows cost. With little memory most of them have to be
computed anew, for one step each. Here a pair whose rows are held is taken as long as it violates nearly as much
(any tau-violating pair makes progress, 001(b) section 3.1), and when rows must be computed, those of the members
that violate most are computed with them. Where every row is held, none of this changes a step.

The partner that gains most to second order takes a pass over all members more. Where the kernel is narrow most pairs have
much the same curvature and it gains little: the finishing step compares what both choices gain, again after each pause.
"""

from __future__ import annotations

import numpy as np

from harness.support.jit import compiled, inlined, inner
from harness_lasvm.compiled.members import be_born, gradient, is_complete, lay, leave
from harness_lasvm.compiled.rows import ready
from harness_lasvm.compiled.scans import consider, gain, partner, scan, search
from harness_lasvm.compiled.state import BAILED, DONE, NEED_ROW, PAUSED, STALE, STEPPED, Candidates, Members, borrowed

_TRIAL = 32  # steps of either way to choose a pair, twice
_DEARER = 1.6  # times as long a step takes whose partner was looked for
NEARLY = 0.3  # of the greatest violation is enough for a pair at hand


# -- which pair --------------------------------------------------------------------------------------------------------


@inner
def held_extremes(x: Members) -> tuple[int, int]:
    """Return the slots of the greatest g over alpha < B and of the least over alpha > A among those with a row; or -1."""
    high, low, i, j = -np.inf, np.inf, -1, -1
    for row in range(x.now[0].rows):
        s = x.rows[row].slot
        if s >= 0:
            up, down = x.grad[s] + x.rise[s], x.grad[s] + x.fall[s]
            if up > high or (up == high and s < i):
                high, i = up, s
            if down < low or (down == low and s < j):
                low, j = down, s
    return i, j


@inner
def pair_at_hand(x: Members, i: int, j: int, tau: float) -> tuple[int, int]:
    """Return (i, j), the extremes of S, or a pair with both its rows that violates nearly as much."""
    if x.slots[i].row >= 0 and x.slots[j].row >= 0:
        return i, j
    near_i, near_j = held_extremes(x)
    if near_i >= 0 and near_j >= 0:
        violation = x.grad[near_i] - x.grad[near_j]
        if violation > max(tau, NEARLY * (x.now[0].g_max - x.now[0].g_min)):
            return near_i, near_j
    return i, j


@inner
def other_at_hand(x: Members, other: int, grad: float, tau: float) -> int:
    """Return ``other``, the extreme that a new member of gradient ``grad`` is paired with, or nearly so good a one with a row."""
    if x.slots[other].row >= 0:
        return other
    rising = grad > x.grad[other]
    near_i, near_j = held_extremes(x)
    near = near_j if rising else near_i
    if near < 0:
        return other
    violation, greatest = grad - x.grad[near], grad - x.grad[other]
    if not rising:
        violation, greatest = -violation, -greatest
    return near if violation > max(tau, NEARLY * greatest) else other


@inner
def held_partner(x: Members, base: int, end: float, own: float, rising: bool) -> int:
    """Return, of the slots with a row, the one with which an example gains most; see :func:`scans.partner`."""
    sign = 1.0 if rising else -1.0
    shut = x.fall if rising else x.rise
    best, chosen = np.float32(0.0), -1
    for row in range(x.now[0].rows):
        s = x.rows[row].slot
        if s >= 0:
            found = gain(x.grad[s], shut[s], x.diagonal[s], x.pool[base + s], end, sign, own)
            if found > best or (found == best and s < chosen):
                best, chosen = found, s
    return chosen


@inner
def best_partner(x: Members, base: int, end: float, own: float, rising: bool, at_hand: bool) -> int:
    """Return the slot with which an example gains most; see :func:`scans.partner`.

    at_hand : a slot with a row violates nearly as much as the extreme: only one with a row is returned
    """
    chosen: int = partner(x, base, end, own, rising)
    if at_hand and x.slots[chosen].row < 0:
        chosen = held_partner(x, base, end, own, rising)
    return chosen


# -- the steps ---------------------------------------------------------------------------------------------------------


@inner
def _sweep(x: Members) -> None:
    """Step 4 of REPROCESS: remove blatant non support vectors."""
    now = x.now[0]
    kept = 0
    rescan = False
    for q in range(now.zeros):
        s = x.stacks[q].zero
        if x.alpha[s] != 0.0:
            x.slots[s].listed = 0
            continue
        positive = x.slots[s].upper > 0.0
        if (positive and x.grad[s] <= now.g_min) or (not positive and x.grad[s] >= now.g_max):
            rescan = rescan or s == now.i_max or s == now.i_min
            x.slots[s].listed = 0
            leave(x, s)
        else:
            x.stacks[kept].zero = s
            kept += 1
    now.zeros = kept
    if rescan:
        scan(x)


@inlined
def _reprocess(x: Members, tau: float, many: int) -> int:
    """REPROCESS; with ``many`` members or more, one of the pair gets the partner that gains most to second order."""
    now = x.now[0]
    if not now.g_max - now.g_min > tau:
        now.operations += 1
        return BAILED
    i, j = pair_at_hand(x, now.i_max, now.i_min, tau)
    if now.top - now.holes >= many:
        # whose partner is looked for depends on slots alone: then swapping the labels swaps nothing but signs;
        # halved, as online every second operation is a PROCESS
        one = min(i, j) if now.operations // 2 % 2 else max(i, j)
        at_hand = x.slots[i].row >= 0 and x.slots[j].row >= 0
        if not ready(x, one):
            return NEED_ROW
        other = best_partner(x, x.slots[one].row * now.width, x.grad[one], x.diagonal[one], one == i, at_hand)
        i, j = (one, other) if one == i else (other, one)
    if not ready(x, i) or not ready(x, j):
        return NEED_ROW
    now.operations += 1
    search(x, i, j)
    if now.sweep:
        _sweep(x)
    return STEPPED


@inlined
def _process(x: Members, work: Candidates, tau: float, many: int) -> int:
    """PROCESS the candidate in work."""
    now = x.now[0]
    k, place = work.examples[now.at], work.places[now.at]
    if x.examples[k].slot >= 0:
        now.operations += 1
        return DONE
    if place < 0:
        return STALE
    base = lay(x, work, place)
    grad = gradient(x, k, base)
    positive = x.examples[k].target > 0.0
    violating = grad - now.g_min > tau if positive else now.g_max - grad > tau
    other = now.i_min if positive else now.i_max
    if not violating:
        now.operations += 1
        if (positive and grad <= min(now.g_min, now.g_max)) or (not positive and grad >= max(now.g_min, now.g_max)):
            return DONE
    else:
        other = other_at_hand(x, other, grad, tau)
        if now.top - now.holes >= many:
            other = best_partner(x, base, grad, x.examples[k].diagonal, positive, x.slots[other].row >= 0)
        if not ready(x, other):
            return NEED_ROW
    if not is_complete(x, work, place):
        return NEED_ROW
    value = x.pool[base + other] if violating else x.pool[base]
    slot = be_born(x, k, place, grad)
    if not violating:
        consider(x, slot)
        return DONE
    now.operations += 1
    row = x.slots[other].row  # still there: of four rows or more, the next spare row is never the one used last but one
    x.pool[row * now.width + slot] = value
    x.rows[row].seen = now.clock
    if positive:
        search(x, slot, other)
    else:
        search(x, other, slot)
    return DONE


@compiled
def online(x: Members, work: Candidates, tau: float, delta_max: float, many: int) -> int:
    """Online iterations over the candidates from ``now.at`` on; resumed after NEED_ROW and PAUSED, fetched anew after STALE.

    many : pairs are chosen to second order while S has as many members
    """
    x, work = borrowed(x), borrowed(work)
    now = x.now[0]
    while now.at < work.examples.size:
        if now.stage == 0:
            code: int = _process(x, work, tau, many)
            if code != DONE:
                return code
            now.stage = 1
        while True:
            code = _reprocess(x, tau, many)
            if code == NEED_ROW:
                return code
            if code == BAILED or now.g_max - now.g_min < delta_max:
                break
            if now.operations >= now.pause:
                return PAUSED
        now.stage = 0
        now.at += 1
    return DONE


@compiled
def finish(x: Members, tau: float) -> int:
    """Improve pairs until no tau-violating pair is left in the slots (DONE) or ``now.pause`` operations were made.

    Both ways to choose a pair are tried at first, some steps each, and the one that gains more for its cost goes on. Where
    rows must be computed it is the second order: they cost more than a look at all members.
    """
    x = borrowed(x)
    now = x.now[0]
    ample = now.rows > now.top
    many, began, gained = 0, now.operations, now.gained
    plain = 0.0  # what the most violating pairs gained, less what the others did for their cost
    while now.operations < now.pause:
        done = now.operations - began
        if ample and done <= 4 * _TRIAL and done % _TRIAL == 0:  # most violating, second order twice, most violating
            gain, gained = now.gained - gained, now.gained
            plain += gain if many else -gain / _DEARER if done else 0.0
            second = plain <= 0.0 if done == 4 * _TRIAL else done in (_TRIAL, 2 * _TRIAL)
            many = 0 if second else now.top + 1
        code: int = _reprocess(x, tau, many)
        if code == BAILED:
            return DONE
        if code == NEED_ROW:
            return code
    return PAUSED
