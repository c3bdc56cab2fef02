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

RESOLUTION = 8.0  # machine epsilons times the largest gradient, below which a violation may be rounding
_FLAT = 1e-6  # curvature of a second variable over K_ii, below which rounding decides
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
    for b in range(len(ups)):
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
    s, e = edges[segment], edges[segment + 1]
    place: int = s + seek(values[s:e], wanted)
    return place


@inlined
def _partner(
    edges: Index,
    begin: int,
    stop: int,
    fall: Block,
    lows: Block,
    diagonal: Block,
    row: Block,
    gains: Block,
    i: int,
    number: Block,
) -> int:
    """Return the variable of the segments [begin, stop) that gains most with i, -1 if none does; number : g_i, least curvature."""
    g_i, tiny = number[0], number[1]
    best, where = tiny - tiny, -1
    for b in range(begin, stop):
        if lows[b] < g_i:
            s, e = edges[b], edges[b + 1]
            p, q = _point(s, len(row)), _point(s, len(row)) + e - s
            gain = _gains(fall[s:e], diagonal[p:q], row[p:q], gains[s:e], g_i, diagonal[i], tiny)
            if gain > best:
                best, where = gain, b
    place: int = _place(edges, where, gains, best)
    return place


@compiled
def pair_descent(work: WorkingSet, cut: int, tau: float, limit: int) -> int:
    """Second-order SMO on a working set; the sums over [0, cut) and [cut, w) are fixed.

    Parameters
    ----------
    cut : start of the second group; w if there is only one
    tau : violation that no pair may exceed at the end

    Returns
    -------
    Steps taken, at most ``limit``.
    """
    a, lower, upper, tube = work.a, work.lower, work.upper, work.tube
    diagonal, dtype, w, m = work.diagonal, work.kernel.dtype, len(work.a), len(work.kernel)
    edges, first = _segments(w, cut)
    rise, fall, gains = np.empty(w, dtype), np.empty(w, dtype), np.empty(w, dtype)
    ups, lows = np.empty(len(edges) - 1, dtype), np.empty(len(edges) - 1, dtype)  # extremes of each segment
    number = np.zeros(3, dtype)  # converts float64 to the block's dtype
    for k in range(w):
        rise[k], fall[k] = _directed(work.gradient[k], tube[k], a[k], lower[k], upper[k])
    _move_all(edges, rise, fall, ups, lows, work.kernel[0], work.kernel[0], number[2])
    for steps in range(limit):
        segment, begin, stop = _worst_group(first, ups, lows, tau)
        if segment < 0:
            return steps
        i = _place(edges, segment, rise, ups[segment])
        point_i = _point(i, m)
        row_i = work.kernel[point_i]
        number[0], number[1] = rise[i], _TINY
        j = _partner(edges, begin, stop, fall, lows, diagonal, row_i, gains, point_i, number)
        if j < 0:
            return steps
        point_j, g_i, g_j = _point(j, m), np.float64(rise[i]), np.float64(fall[j])
        curvature = np.float64(diagonal[point_i]) + np.float64(diagonal[point_j]) - 2.0 * np.float64(row_i[point_j])
        top = 0.0 if a[i] < 0.0 and tube[i] > 0.0 else upper[i]  # the slope changes at 0
        bottom = 0.0 if a[j] > 0.0 and tube[j] > 0.0 else lower[j]
        room_i, room_j = top - a[i], a[j] - bottom
        step = min((g_i - g_j) / max(curvature, _TINY), room_i, room_j)
        # a clipped variable is set to its bound: one rounding error away it would count as free
        a_i = top if step == room_i else a[i] + step
        a_j = bottom if step == room_j else a[j] - step
        if a_i == a[i] and a_j == a[j]:
            return steps
        g_i += tube[i] if a[i] >= 0.0 else -tube[i]
        g_j += tube[j] if a[j] > 0.0 else -tube[j]
        a[i], a[j] = a_i, a_j
        # before the pass that moves them, as i may fall now and j may rise
        rise[i], fall[i] = _directed(g_i, tube[i], a_i, lower[i], upper[i])
        rise[j], fall[j] = _directed(g_j, tube[j], a_j, lower[j], upper[j])
        number[2] = step
        _move_all(edges, rise, fall, ups, lows, row_i, work.kernel[point_j], number[2])
    return limit


@fast
def _joint_gains(g: Block, rise: Block, fall: Block, diagonal: Block, row: Block, gains: Block, number: Block) -> Any:
    """Write the gain of each k after a step of i to its own optimum, r_k^2 / (K_kk - K_ik^2 / K_ii); return the largest.

    r_k = g_k - share K_ik is k's gradient then; number : share = g_i / K_ii, slope = 1 / K_ii, floor = the least curvature.
    """
    share, slope, floor = number[0], number[1], number[2]
    zero = share - share
    best = zero
    for k in range(len(g)):
        left = g[k] - share * row[k]
        drive = larger(larger(left + rise[k], -(left + fall[k])), zero)
        gain = drive * drive / larger(diagonal[k] - slope * row[k] * row[k], floor)
        gains[k] = gain
        best = larger(best, gain)
    return best


@fast
def _shift(g: Block, rise: Block, fall: Block, row_i: Block, row_j: Block, step_i: Any, step_j: Any) -> tuple[Any, Any]:
    """Subtract step_i K_i + step_j K_j from the gradient; return its largest that may rise and smallest that may fall."""
    value = g[0] - (step_i * row_i[0] + step_j * row_j[0])
    up, low = value + rise[0], value + fall[0]
    for k in range(len(g)):
        value = g[k] - (step_i * row_i[k] + step_j * row_j[k])
        g[k] = value
        up, low = larger(up, value + rise[k]), smaller(low, value + fall[k])
    return up, low


@compiled
def joint_step(
    g: tuple[float, float],
    curvature: tuple[float, float, float],
    room_i: tuple[float, float],
    room_j: tuple[float, float],
) -> tuple[float, float]:
    """Return the steps d of two variables that maximise g d - 1/2 d K d, each within its room, (least, most).

    curvature : K_ii, K_jj, K_ij
    """
    g_i, g_j = g
    k_ii, k_jj, k_ij = curvature
    determinant = k_ii * k_jj - k_ij * k_ij
    if determinant > _TINY * k_ii * k_jj:
        d_i, d_j = (k_jj * g_i - k_ij * g_j) / determinant, (k_ii * g_j - k_ij * g_i) / determinant
        if room_i[0] <= d_i <= room_i[1] and room_j[0] <= d_j <= room_j[1]:
            return d_i, d_j
    # a concave function has its maximum over a box that its own maximum lies outside of on an edge
    best, best_i, best_j = 0.0, 0.0, 0.0
    for edge in range(5):
        if edge < 2:
            d_i = room_i[edge]
            d_j = _within((g_j - k_ij * d_i) / k_jj, room_j)
        elif edge < 4:
            d_j = room_j[edge - 2]
            d_i = _within((g_i - k_ij * d_j) / k_ii, room_i)
        else:  # i alone, as no edge is finite and the two points are equal
            d_i, d_j = _within(g_i / k_ii, room_i), 0.0
        if np.isfinite(d_i) and np.isfinite(d_j):
            value = d_i * (g_i - 0.5 * k_ii * d_i) + d_j * (g_j - 0.5 * k_jj * d_j) - k_ij * d_i * d_j
            if value > best:
                best, best_i, best_j = value, d_i, d_j
    return best_i, best_j


@inlined
def _within(step: float, room: tuple[float, float]) -> float:
    return min(max(step, room[0]), room[1])


@inlined
def _stepped(a: float, step: float, lower: float, upper: float) -> float:
    """Return a + step, the bound itself if the step ends there: one rounding error away it would count as free."""
    if step == upper - a:
        return upper
    return lower if step == lower - a else min(max(a + step, lower), upper)


@inlined
def _shift_all(
    edges: Index, g: Block, rise: Block, fall: Block, ups: Block, lows: Block, row_i: Block, row_j: Block, number: Block
) -> None:
    """Call :func:`_shift` segment by segment; write the extremes of each. number : step_i, step_j."""
    for b in range(len(ups)):
        s, e = edges[b], edges[b + 1]
        ups[b], lows[b] = _shift(g[s:e], rise[s:e], fall[s:e], row_i[s:e], row_j[s:e], number[0], number[1])


@inlined
def _second(
    edges: Index, g: Block, rise: Block, fall: Block, diagonal: Block, row: Block, gains: Block, number: Block
) -> int:
    """Return the variable that gains most once the first has moved, -1 if none does; number : see :func:`_joint_gains`."""
    best, where = number[0] - number[0], -1
    for b in range(len(edges) - 1):
        s, e = edges[b], edges[b + 1]
        gain = _joint_gains(g[s:e], rise[s:e], fall[s:e], diagonal[s:e], row[s:e], gains[s:e], number)
        if gain > best:
            best, where = gain, b
    place: int = _place(edges, where, gains, best)
    return place


@inlined
def _piece(a: float, tube: float, lower: float, upper: float, rises: bool) -> tuple[float, float, float]:
    """Return the bounds between which the slope of a variable that rises, or falls, is one line, and what its tube adds."""
    if tube == 0.0:
        return lower, upper, 0.0
    return (0.0, upper, -tube) if a > 0.0 or (a == 0.0 and rises) else (lower, 0.0, tube)


@compiled
def joint_descent(work: WorkingSet, tau: float, limit: int) -> int:
    """SMO on a working set without a fixed sum: two variables a step, to their common optimum. See :func:`pair_descent`.

    The one that violates most, and the one that gains most after its step (Steinwart, Hush, Scovel, Training SVMs
    without offset, JMLR 12, 2011). One at a time, a wide kernel takes tens of times as many steps: all gradients
    move alike there, so that each step undoes a part of the others. Here each point has one variable.
    """
    a, lower, upper, tube = work.a, work.lower, work.upper, work.tube
    diagonal, dtype, w = work.diagonal, work.kernel.dtype, len(work.a)
    edges, segments = _segments(w, w)
    g, gains = np.empty(w, dtype), np.empty(w, dtype)
    rise, fall = np.empty(w, dtype), np.empty(w, dtype)  # what to add to g for a variable that rises (falls)
    ups, lows = np.empty(segments, dtype), np.empty(segments, dtype)  # extremes of each segment
    number = np.zeros(5, dtype)  # converts float64 to the block's dtype
    for k in range(w):
        g[k] = work.gradient[k]
        rise[k], fall[k] = _directed(0.0, tube[k], a[k], lower[k], upper[k])
    _shift_all(edges, g, rise, fall, ups, lows, work.kernel[0], work.kernel[0], number)
    for steps in range(limit):
        high, low = ups.argmax(), lows.argmin()
        if max(np.float64(ups[high]), -np.float64(lows[low])) <= tau:
            return steps
        rises = ups[high] >= -lows[low]
        if rises:
            s, e = edges[high], edges[high + 1]
            i = s + (g[s:e] + rise[s:e]).argmax()
        else:
            s, e = edges[low], edges[low + 1]
            i = s + (g[s:e] + fall[s:e]).argmin()
        least_i, most_i, added = _piece(a[i], tube[i], lower[i], upper[i], rises)
        row_i, g_i, k_ii = work.kernel[i], np.float64(g[i]) + added, max(np.float64(diagonal[i]), _TINY)
        number[2], number[3], number[4] = g_i / k_ii, 1.0 / k_ii, _FLAT * k_ii
        j = _second(edges, g, rise, fall, diagonal, row_i, gains, number[2:])
        room_i = (least_i - a[i], most_i - a[i])
        step_i, step_j = _within(g_i / k_ii, room_i), 0.0
        j = i if j < 0 else j
        least_j, most_j = lower[j], upper[j]
        if j != i:
            k_ij = np.float64(row_i[j])
            left = np.float64(g[j]) - g_i / k_ii * k_ij
            least_j, most_j, added = _piece(a[j], tube[j], lower[j], upper[j], left > 0.0)
            curvature = (k_ii, max(np.float64(diagonal[j]), _TINY), k_ij)
            room_j = (least_j - a[j], most_j - a[j])
            step_i, step_j = joint_step((g_i, np.float64(g[j]) + added), curvature, room_i, room_j)
        a_i, a_j = _stepped(a[i], step_i, least_i, most_i), _stepped(a[j], step_j, least_j, most_j)
        if a_i == a[i] and a_j == a[j]:
            return steps
        a[j] = a_j
        a[i] = a_i  # last: if i moves alone, j is i
        for k in (i, j):
            rise[k], fall[k] = _directed(0.0, tube[k], a[k], lower[k], upper[k])
        number[0], number[1] = step_i, step_j
        _shift_all(edges, g, rise, fall, ups, lows, row_i, work.kernel[j], number)
    return limit
