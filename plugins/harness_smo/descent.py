"""The compiled loops of block SMO that descend in a working set.

Reductions run over segments of a few hundred entries through LLVM's maxnum and minnum, which it vectorises;
an entry that may not move is -inf among those that may rise and inf among those that may fall, so that no
branch is left in the passes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from harness.support.arrays import Block, Index, Vector
from harness.support.jit import compiled, fast, inlined, larger, seek, smaller

_RESOLUTION = 8.0  # machine epsilons times the largest gradient, below which a violation may be rounding
_SEGMENT = 256  # entries of a segment, whose extremes are stored: short enough to search, long enough to vectorise
_TINY = 1e-12  # curvature in place of 0: two points on top of each other


class WorkingSet(NamedTuple):
    """A working set of w variables, and the kernel block of its m points; variable v stands at point v mod m.

    kernel, diagonal : (m, m) and (m,), float32 or float64; the gradient has this dtype inside
    a : (w,) changed in place
    lower, upper : (w,); 0 is between them
    gradient : (w,) at the start; not updated
    tube : (w,) by how much the gradient is smaller where a > 0, and larger where a < 0: half of its fall at 0
    """

    kernel: Block
    diagonal: Block
    a: Vector
    lower: Vector
    upper: Vector
    gradient: Vector
    tube: Vector


@inlined
def _directed(g: float, tube: float, a: float, lower: float, upper: float) -> tuple[float, float]:
    """Return the slope for a variable that rises, -inf if it may not, and for one that falls, inf if it may not."""
    rise = -np.inf if a >= upper else (g - tube if a >= 0.0 else g + tube)
    fall = np.inf if a <= lower else (g - tube if a > 0.0 else g + tube)
    return rise, fall


@fast
def _gains(fall: Block, diagonal: Block, row: Block, gains: Block, g_i: Any, k_ii: Any, tiny: Any) -> Any:
    """Write (g_i - g_k)^2 / (K_ii + K_kk - 2 K_ik), 0 where g_k >= g_i, and return the largest."""
    zero = k_ii - k_ii
    best = zero
    for k in range(len(fall)):
        difference = larger(g_i - fall[k], zero)
        curvature = larger(k_ii + diagonal[k] - (row[k] + row[k]), tiny)
        gain = difference * difference / curvature
        gains[k] = gain
        best = larger(best, gain)
    return best


@fast
def _move(rise: Block, fall: Block, row_i: Block, row_j: Block, step: Any) -> tuple[Any, Any]:
    """Subtract step (K_i - K_j) from both copies of the gradient; return the new largest rise and smallest fall."""
    change = step * (row_i[0] - row_j[0])
    up, low = rise[0] - change, fall[0] - change
    for k in range(len(rise)):
        change = step * (row_i[k] - row_j[k])
        r, f = rise[k] - change, fall[k] - change
        rise[k] = r
        fall[k] = f
        up, low = larger(up, r), smaller(low, f)
    return up, low


@compiled
def _segments(n: int, cut: int) -> tuple[Index, int]:
    """Return the edges of segments of [0, n), none across ``cut``, and how many of them are before it."""
    first = (cut + _SEGMENT - 1) // _SEGMENT
    count = first + (n - cut + _SEGMENT - 1) // _SEGMENT
    edges = np.empty(count + 1, np.intp)
    for b in range(count):
        edges[b] = b * _SEGMENT if b < first else cut + (b - first) * _SEGMENT
    edges[count] = n
    return edges, first


@inlined
def _point(v: int, m: int) -> int:
    """Return v mod m for v < 2 m."""
    return v - m if v >= m else v


@inlined
def _move_all(
    edges: Index, rise: Block, fall: Block, ups: Block, lows: Block, row_i: Block, row_j: Block, step: Any
) -> None:
    """Call :func:`_move` segment by segment; write the extremes of each."""
    for b in range(len(edges) - 1):
        s, e = edges[b], edges[b + 1]
        p, q = _point(s, len(row_i)), _point(s, len(row_i)) + e - s
        ups[b], lows[b] = _move(rise[s:e], fall[s:e], row_i[p:q], row_j[p:q], step)


@inlined
def _worst_group(first: int, ups: Block, lows: Block, tau: float) -> tuple[int, int, int]:
    """Return the segment with the largest rise of the group that violates most, -1 if none does by tau, and its segments."""
    best, begin, stop, worst = -1, 0, 0, tau
    for group in range(2):
        left, right = (0, first) if group == 0 else (first, len(ups))
        if left == right:
            continue
        high, low = left, lows[left]
        for b in range(left + 1, right):
            if ups[b] > ups[high]:
                high = b
            low = min(low, lows[b])
        violation = np.float64(ups[high]) - np.float64(low)
        if violation > worst:
            best, begin, stop, worst = high, left, right, violation
    return best, begin, stop


@inlined
def _place(edges: Index, segment: int, values: Block, wanted: Any) -> int:
    """Return the variable of a segment at which ``wanted`` first stands in ``values``; -1 if the segment is -1."""
    if segment < 0:
        return -1
    if segment == len(edges) - 1:
        return int(edges[segment])
    s, e = edges[segment], edges[segment + 1]
    place: int = s + seek(values[s:e], wanted)
    return place


@inlined
def _partner(
    edges: Index, begin: int, stop: int, fall: Block, lows: Block, diagonal: Block, row: Block, gains: Block, number: Block
) -> int:  # fmt: skip
    """Return the variable of the segments [begin, stop) that gains most with i, -1 if none does.

    number : g_i, K_ii and the least curvature
    """
    g_i, k_ii, tiny = number[0], number[1], number[2]
    best, where = tiny - tiny, -1
    for b in range(begin, stop):
        if lows[b] < g_i:
            if b == len(edges) - 1:
                gain = g_i * g_i / larger(k_ii, tiny)
            else:
                s, e = edges[b], edges[b + 1]
                p, q = _point(s, len(row)), _point(s, len(row)) + e - s
                gain = _gains(fall[s:e], diagonal[p:q], row[p:q], gains[s:e], g_i, k_ii, tiny)
            if gain > best:
                best, where = gain, b
    place: int = _place(edges, where, gains, best)
    return place


@compiled
def pair_descent(work: WorkingSet, cut: int, tau: float, limit: int) -> int:
    """Second-order SMO on a working set; the sums over [0, cut) and [cut, w) are fixed.

    Where no sum is fixed, one more variable takes what the others lose: it has no bounds, and its kernel values are 0.

    Parameters
    ----------
    cut : start of the second group; w if there is only one; -1 if no sum is fixed
    tau : violation that no pair may exceed at the end, unless it may be rounding of the gradient

    Returns
    -------
    Steps taken, at most ``limit``.
    """
    a, lower, upper, tube = work.a, work.lower, work.upper, work.tube
    diagonal, dtype, w, m = work.diagonal, work.kernel.dtype, len(work.a), len(work.kernel)
    edges, first = _segments(w, w if cut < 0 else cut)
    rise, fall, gains = np.empty(w, dtype), np.empty(w, dtype), np.empty(w, dtype)
    segments = len(edges) if cut < 0 else len(edges) - 1  # the one more variable is a segment of its own
    first = segments if cut < 0 else first
    ups, lows = np.zeros(segments, dtype), np.zeros(segments, dtype)  # extremes of each segment
    zeros = np.zeros(m, dtype)
    number = np.zeros(4, dtype)  # converts float64 to the block's dtype
    number[2] = _TINY
    resolution = _RESOLUTION * np.finfo(dtype).eps
    for k in range(w):
        tau = max(tau, resolution * abs(work.gradient[k]))
        rise[k], fall[k] = _directed(work.gradient[k], tube[k], a[k], lower[k], upper[k])
    _move_all(edges, rise, fall, ups, lows, zeros, zeros, number[3])
    for steps in range(limit):
        segment, begin, stop = _worst_group(first, ups, lows, tau)
        if segment < 0:
            return steps
        i, point_i, row_i, g_i = _place(edges, segment, rise, ups[segment]), 0, zeros, np.float64(ups[segment])
        number[0], number[1] = g_i, 0.0
        if i < w:
            point_i = _point(i, m)
            row_i, number[1] = work.kernel[point_i], diagonal[point_i]
        j, row_j, g_j = _partner(edges, begin, stop, fall, lows, diagonal, row_i, gains, number), zeros, 0.0
        if j < 0:
            return steps
        curvature = np.float64(number[1])
        if j < w:
            point_j = _point(j, m)
            row_j, g_j = work.kernel[point_j], np.float64(fall[j])
            curvature += np.float64(diagonal[point_j]) - 2.0 * np.float64(row_i[point_j])
        # the slope of a variable changes at 0
        top = np.inf if i == w else (0.0 if a[i] < 0.0 and tube[i] > 0.0 else upper[i])
        bottom = -np.inf if j == w else (0.0 if a[j] > 0.0 and tube[j] > 0.0 else lower[j])
        step = (g_i - g_j) / max(curvature, _TINY)
        if i < w:
            step = min(step, top - a[i])
        if j < w:
            step = min(step, a[j] - bottom)
        moved = False
        # before the pass that moves them, as i may fall then and j may rise
        if i < w:
            # a clipped variable is set to its bound: one rounding error away it would count as free
            after = top if step == top - a[i] else a[i] + step
            moved = after != a[i]
            g_i += tube[i] if a[i] >= 0.0 else -tube[i]
            a[i] = after
            rise[i], fall[i] = _directed(g_i, tube[i], after, lower[i], upper[i])
        if j < w:
            after = bottom if step == a[j] - bottom else a[j] - step
            moved = moved or after != a[j]
            g_j += tube[j] if a[j] > 0.0 else -tube[j]
            a[j] = after
            rise[j], fall[j] = _directed(g_j, tube[j], after, lower[j], upper[j])
        if not moved:
            return steps
        number[3] = step
        _move_all(edges, rise, fall, ups, lows, row_i, row_j, number[3])
    return limit
