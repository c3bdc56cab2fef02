"""Passes over the slots: updates fused with the search for the extremes, and the search for a pair's second."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.support.jit import compiled, inner, larger, smaller, summing
from harness_lasvm.compiled.state import Members

SEGMENT = 512  # slots scanned at a time: where an extreme stands is looked up once, in its segment
_STRIP = 64  # slots of a segment that are compared with its maximum together
_FLAT = np.float32(1e-6)  # floor of the same in float32, where a partner is chosen
_CURVATURE = 1e-12  # floor of K_ii + K_jj - 2 K_ij: two equal points have none


@summing
def dot(alpha: Any, row: Any) -> float:
    """Return alpha . row in float64; the order of the sum is left to the compiler."""
    total = 0.0
    for s in range(alpha.size):
        total += alpha[s] * np.float64(row[s])
    return total


@inner
def copy(target: Any, source: Any) -> None:
    """Copy ``source``, which may overlap with ``target`` if it lies behind it; a slice assignment is a slow loop."""
    for s in range(source.size):
        target[s] = source[s]


@inner
def _shift(grad: Any, rise: Any, fall: Any, row_i: Any, row_j: Any, step: float) -> tuple[float, float]:
    """g_s -= step (K_is - K_js) over one segment; return its max over alpha < B and its min over alpha > A."""
    high = -np.inf
    low = np.inf
    for s in range(grad.size):
        value = grad[s] - step * (np.float64(row_i[s]) - np.float64(row_j[s]))
        grad[s] = value
        high = larger(high, value + rise[s])
        low = smaller(low, value + fall[s])
    return high, low


@inner
def _extremes(grad: Any, rise: Any, fall: Any) -> tuple[float, float]:
    high = -np.inf
    low = np.inf
    for s in range(grad.size):
        high = larger(high, grad[s] + rise[s])
        low = smaller(low, grad[s] + fall[s])
    return high, low


@inner
def _holds(grad: Any, way: Any, value: float) -> bool:
    nearest = np.inf
    for s in range(grad.size):
        nearest = smaller(nearest, abs(grad[s] + way[s] - value))
    return nearest == 0.0


@inner
def first(grad: Any, way: Any, start: int, value: float) -> int:
    """Return the first slot from ``start`` on where the scans have found ``value``; -1 if ``start`` is."""
    if start < 0:
        return -1
    while not _holds(grad[start : start + _STRIP], way[start : start + _STRIP], value):
        start += _STRIP
    while grad[start] + way[start] != value:
        start += 1
    return start


@inner
def _note(x: Members, high: float, high_from: int, low: float, low_from: int) -> None:
    """Note the maximal and minimal gradient and their first slots; -1 where nothing is eligible."""
    now = x.now[0]
    now.i_max = first(x.grad, x.rise, high_from, high)
    now.i_min = first(x.grad, x.fall, low_from, low)
    now.g_max, now.g_min = high, low


@compiled
def scan(x: Members) -> None:
    """Find i = argmax g over alpha < B, j = argmin g over alpha > A."""
    high, low, high_from, low_from = -np.inf, np.inf, -1, -1
    for start in range(0, x.now[0].top, SEGMENT):
        stop = min(start + SEGMENT, x.now[0].top)
        up, down = _extremes(x.grad[start:stop], x.rise[start:stop], x.fall[start:stop])
        if up > high:
            high, high_from = up, start
        if down < low:
            low, low_from = down, start
    _note(x, high, high_from, low, low_from)


@inner
def _best_gain(grad: Any, shut: Any, diagonal: Any, row: Any, end: float, sign: float, own: float) -> Any:
    """Return the largest (g_i - g_s)^2 / (K_ii + K_ss - 2 K_is) of one segment, in float32; see :func:`partner`."""
    best = np.float32(0.0)
    for s in range(grad.size):
        best = larger(best, gain(grad[s], shut[s], diagonal[s], row[s], end, sign, own))
    return best


@inner
def gain(grad: float, shut: Any, diagonal: float, value: Any, end: float, sign: float, own: float) -> Any:
    """Return twice what a step of a pair adds to the dual, bounds apart, in float32; see :func:`partner`."""
    apart = larger(np.float32(sign * (end - (grad + shut))), np.float32(0.0))
    bend = np.float32(own + diagonal) - np.float32(2.0) * np.float32(value)
    return apart * apart / larger(bend, _FLAT)


@inner
def partner(x: Members, base: int, end: float, own: float, rising: bool) -> int:
    """Return the slot with which an example, whose alpha rises or falls, gains most (to second order).

    base : where its row begins in the pool
    end, own : its gradient and its K_kk
    """
    sign = 1.0 if rising else -1.0
    shut = x.fall if rising else x.rise
    best, best_from = np.float32(0.0), 0
    for start in range(0, x.now[0].top, SEGMENT):
        stop = min(start + SEGMENT, x.now[0].top)
        row = x.pool[base + start : base + stop]
        found = _best_gain(x.grad[start:stop], shut[start:stop], x.diagonal[start:stop], row, end, sign, own)
        if found > best:
            best, best_from = found, start
    for s in range(best_from, x.now[0].top):
        if gain(x.grad[s], shut[s], x.diagonal[s], x.pool[base + s], end, sign, own) == best:
            return s
    return -1


@inner
def open_ways(x: Members, s: int) -> None:
    """Renew which way alpha_s may go."""
    x.rise[s] = 0.0 if x.alpha[s] < x.slots[s].upper else -np.inf
    x.fall[s] = 0.0 if x.alpha[s] > x.slots[s].lower else np.inf


@inner
def mark(x: Members, s: int) -> None:
    """Renew what follows from alpha_s: which way it may go, and whether step 4 must look at it."""
    open_ways(x, s)
    if x.alpha[s] == 0.0 and x.slots[s].listed == 0:
        x.slots[s].listed = 1
        x.stacks[x.now[0].zeros].zero = s
        x.now[0].zeros += 1


@inner
def consider(x: Members, s: int) -> None:
    """Renew the extremes after slot s was filled: what :func:`scan` would find."""
    now = x.now[0]
    high, low = x.grad[s] + x.rise[s], x.grad[s] + x.fall[s]
    if high > now.g_max or (high == now.g_max and s < now.i_max):
        now.g_max, now.i_max = high, s
    if low < now.g_min or (low == now.g_min and s < now.i_min):
        now.g_min, now.i_min = low, s


@inner
def search(x: Members, i: int, j: int) -> None:
    """Search along (i, j): steps 5 of PROCESS and 3 of REPROCESS, and the next pair's search in the same pass."""
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
    # in slot order, whichever is i: then swapping the labels swaps nothing but signs
    mark(x, min(i, j))
    mark(x, max(i, j))
    high, low, high_from, low_from = -np.inf, np.inf, -1, -1
    for start in range(0, x.now[0].top, SEGMENT):
        stop = min(start + SEGMENT, x.now[0].top)
        row_i, row_j = x.pool[base_i + start : base_i + stop], x.pool[base_j + start : base_j + stop]
        up, down = _shift(x.grad[start:stop], x.rise[start:stop], x.fall[start:stop], row_i, row_j, step)
        if up > high:
            high, high_from = up, start
        if down < low:
            low, low_from = down, start
    _note(x, high, high_from, low, low_from)
