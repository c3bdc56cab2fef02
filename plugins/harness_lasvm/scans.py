"""Compiled scans over the state: updates fused with the search for the extremes, and the search for a pair's second."""

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np
from llvmlite import ir
from numba.extending import intrinsic

from harness_lasvm.state import (
    ALPHA,
    DIAGONAL,
    FALL,
    G_MAX,
    G_MIN,
    GRAD,
    I_MAX,
    I_MIN,
    LISTED,
    LOWER,
    RISE,
    ROW_OF,
    TOP,
    UPPER,
    WIDTH,
    ZERO,
    ZEROS,
)

_BLOCK = 512  # slots scanned at a time: the block of a maximum is known, its slot is looked up once
_STRIP = 64  # slots of a block that are compared with its maximum together
_FLAT = np.float32(1e-6)  # floor of the same in float32, where a partner is chosen
_CURVATURE = 1e-12  # floor of K_ii + K_jj - 2 K_ij: two equal points have none


def _extremum(name: str, single: bool = False) -> Any:
    """Return llvm.maxnum or llvm.minnum of two numbers: reductions over a Python ``max`` are not vectorised."""
    kind = nb.float32 if single else nb.float64

    def typed(_context: Any, _first: Any, _second: Any) -> Any:
        def build(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            real = ir.FloatType() if single else ir.DoubleType()
            function = builder.module.declare_intrinsic(name, [real], ir.FunctionType(real, [real, real]))
            return builder.call(function, arguments, fastmath=("nnan", "nsz"))

        return kind(kind, kind), build

    return intrinsic(typed)


_larger = _extremum("llvm.maxnum")
_smaller = _extremum("llvm.minnum")
_larger32 = _extremum("llvm.maxnum", single=True)
hot_loop = nb.njit(cache=True, nogil=True, error_model="numpy")
# sums may be reassociated, else they are not vectorised; infinities keep their meaning
_hot_sum = nb.njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})


@_hot_sum
def dot(alpha, row):  # type: ignore[no-untyped-def]
    """Return alpha . row; the order of the sum is left to the compiler."""
    total = 0.0
    for s in range(alpha.size):
        total += alpha[s] * row[s]
    return total


@hot_loop
def copy(target, source):  # type: ignore[no-untyped-def]
    """Copy ``source``, which may overlap with ``target`` if it lies behind it; a slice assignment is a slow loop."""
    for s in range(source.size):
        target[s] = source[s]


@hot_loop
def _shift(grad, rise, fall, row_i, row_j, step):  # type: ignore[no-untyped-def]
    """g_s -= step (K_is - K_js) over one block; return its max over alpha < B and its min over alpha > A."""
    high = -np.inf
    low = np.inf
    for s in range(grad.size):
        value = grad[s] - step * (np.float64(row_i[s]) - np.float64(row_j[s]))
        grad[s] = value
        high = _larger(high, value + rise[s])
        low = _smaller(low, value + fall[s])
    return high, low


@hot_loop
def _extremes(grad, rise, fall):  # type: ignore[no-untyped-def]
    high = -np.inf
    low = np.inf
    for s in range(grad.size):
        high = _larger(high, grad[s] + rise[s])
        low = _smaller(low, grad[s] + fall[s])
    return high, low


@hot_loop
def _holds(grad, way, value):  # type: ignore[no-untyped-def]
    nearest = np.inf
    for s in range(grad.size):
        nearest = _smaller(nearest, abs(grad[s] + way[s] - value))
    return nearest == 0.0


@hot_loop
def _first(grad, way, start, value):  # type: ignore[no-untyped-def]
    """Return the first slot from ``start`` on where the scans have found ``value``."""
    while not _holds(grad[start : start + _STRIP], way[start : start + _STRIP], value):
        start += _STRIP
    while grad[start] + way[start] != value:
        start += 1
    return start


@hot_loop
def _locate(x, high, high_block, low, low_block):  # type: ignore[no-untyped-def]
    """Note the maximal and minimal gradient and their first slots; -1 where nothing is eligible."""
    i = _first(x.reals[GRAD], x.ways[RISE], high_block, high) if high_block >= 0 else -1
    j = _first(x.reals[GRAD], x.ways[FALL], low_block, low) if low_block >= 0 else -1
    x.extremes[G_MAX] = high
    x.extremes[G_MIN] = low
    x.counts[I_MAX] = i
    x.counts[I_MIN] = j


@hot_loop
def scan(x):  # type: ignore[no-untyped-def]
    """Find i = argmax g over alpha < B, j = argmin g over alpha > A."""
    high, low, high_block, low_block = -np.inf, np.inf, -1, -1
    for start in range(0, x.counts[TOP], _BLOCK):
        stop = min(start + _BLOCK, x.counts[TOP])
        block_high, block_low = _extremes(x.reals[GRAD, start:stop], x.ways[RISE, start:stop], x.ways[FALL, start:stop])
        if block_high > high:
            high, high_block = block_high, start
        if block_low < low:
            low, low_block = block_low, start
    _locate(x, high, high_block, low, low_block)


@hot_loop
def _best_gain(grad, shut, diagonal, row, end, sign, own):  # type: ignore[no-untyped-def]
    """Return the largest (g_i - g_s)^2 / (K_ii + K_ss - 2 K_is) of one block, in float32; see :func:`partner`."""
    best = np.float32(0.0)
    for s in range(grad.size):
        best = _larger32(best, gain(grad[s], shut[s], diagonal[s], row[s], end, sign, own))
    return best


@hot_loop
def gain(grad, shut, diagonal, value, end, sign, own):  # type: ignore[no-untyped-def]
    """Return twice what a step of a pair adds to the dual, bounds apart, in float32; see :func:`partner`."""
    apart = _larger32(np.float32(sign * (end - (grad + shut))), np.float32(0.0))
    bend = np.float32(own + diagonal) - np.float32(2.0) * np.float32(value)
    return apart * apart / _larger32(bend, _FLAT)


@hot_loop
def partner(x, base, end, own, rising):  # type: ignore[no-untyped-def]
    """Return the slot with which an example, whose alpha rises or falls, gains most (to second order).

    base : where its row begins in the pool
    end, own : its gradient and its K_kk
    """
    sign = 1.0 if rising else -1.0
    shut = x.ways[FALL if rising else RISE]
    best, block = np.float32(0.0), 0
    for start in range(0, x.counts[TOP], _BLOCK):
        stop = min(start + _BLOCK, x.counts[TOP])
        row = x.pool[base + start : base + stop]
        found = _best_gain(
            x.reals[GRAD, start:stop], shut[start:stop], x.reals[DIAGONAL, start:stop], row, end, sign, own
        )
        if found > best:
            best, block = found, start
    grad, diagonal, row = x.reals[GRAD], x.reals[DIAGONAL], x.pool[base : base + x.counts[TOP]]
    for t in range(block, row.size):
        if gain(grad[t], shut[t], diagonal[t], row[t], end, sign, own) == best:
            return t
    return -1


@hot_loop
def mark(x, s):  # type: ignore[no-untyped-def]
    """Renew what follows from alpha_s: which way it may go, and whether step 4 must look at it."""
    x.ways[RISE, s] = 0.0 if x.reals[ALPHA, s] < x.reals[UPPER, s] else -np.inf
    x.ways[FALL, s] = 0.0 if x.reals[ALPHA, s] > x.reals[LOWER, s] else np.inf
    if x.reals[ALPHA, s] == 0.0 and x.slots[LISTED, s] == 0:
        x.slots[LISTED, s] = 1
        x.lists[ZERO, x.counts[ZEROS]] = s
        x.counts[ZEROS] += 1


@hot_loop
def consider(x, s):  # type: ignore[no-untyped-def]
    """Renew the extremes after slot s was filled: what :func:`scan` would find."""
    extremes, counts = x.extremes, x.counts
    high, low = x.reals[GRAD, s] + x.ways[RISE, s], x.reals[GRAD, s] + x.ways[FALL, s]
    if high > extremes[G_MAX] or (high == extremes[G_MAX] and s < counts[I_MAX]):
        extremes[G_MAX], counts[I_MAX] = high, s
    if low < extremes[G_MIN] or (low == extremes[G_MIN] and s < counts[I_MIN]):
        extremes[G_MIN], counts[I_MIN] = low, s


@hot_loop
def search(x, i, j):  # type: ignore[no-untyped-def]
    """Search along (i, j): steps 5 of PROCESS and 3 of REPROCESS, and the next pair's search in the same pass."""
    counts = x.counts
    width = counts[WIDTH]
    base_i = x.slots[ROW_OF, i] * width
    base_j = x.slots[ROW_OF, j] * width
    curvature = max(x.reals[DIAGONAL, i] + x.reals[DIAGONAL, j] - 2.0 * np.float64(x.pool[base_i + j]), _CURVATURE)
    step = (x.reals[GRAD, i] - x.reals[GRAD, j]) / curvature
    room_i = x.reals[UPPER, i] - x.reals[ALPHA, i]
    room_j = x.reals[ALPHA, j] - x.reals[LOWER, j]
    step = min(step, room_i, room_j)
    # onto the bound itself where the bound limits the step: alpha = 0 and alpha = C are tested for equality
    x.reals[ALPHA, i] = x.reals[UPPER, i] if step == room_i else min(x.reals[ALPHA, i] + step, x.reals[UPPER, i])
    x.reals[ALPHA, j] = x.reals[LOWER, j] if step == room_j else max(x.reals[ALPHA, j] - step, x.reals[LOWER, j])
    # in slot order, whichever is i: then swapping the labels swaps nothing but signs
    mark(x, min(i, j))
    mark(x, max(i, j))
    high, low, high_block, low_block = -np.inf, np.inf, -1, -1
    for start in range(0, counts[TOP], _BLOCK):
        stop = min(start + _BLOCK, counts[TOP])
        block_high, block_low = _shift(
            x.reals[GRAD, start:stop],
            x.ways[RISE, start:stop],
            x.ways[FALL, start:stop],
            x.pool[base_i + start : base_i + stop],
            x.pool[base_j + start : base_j + stop],
            step,
        )
        if block_high > high:
            high, high_block = block_high, start
        if block_low < low:
            low, low_block = block_low, start
    _locate(x, high, high_block, low, low_block)
