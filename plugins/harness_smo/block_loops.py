"""The compiled loops of block SMO that descend inside a working set.

Reductions run over segments of a few hundred entries through LLVM's maxnum and minnum, which it vectorises;
an entry that may not move is -inf among those that may rise and inf among those that may fall, so that no
branch is left in the passes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from harness.support.arrays import Block, Index, Vector
from harness.support.jit import compiled, fast, inlined, larger, seek, smaller

RESOLUTION = 8.0  # roundings of the largest gradient below which a violation cannot be told from noise
_FLAT = 1e-6  # least curvature, times K_ii, of a second variable: below, rounding decides
_SEGMENT = 256  # entries whose extremes are kept: short enough to search, long enough to vectorise


class WorkingSet(NamedTuple):
    """A working set of w variables, and its kernel block.

    kernel, diagonal : (w, w) and (w,), float32 or float64; the gradient is kept in this dtype inside
    a : (w,) changed in place
    lower, upper : (w,)
    gradient : (w,) at the start; not updated
    """

    kernel: Block
    diagonal: Block
    a: Vector
    lower: Vector
    upper: Vector
    gradient: Vector


class _Passes(NamedTuple):
    """What the passes over the segments of a working set change, in the block's dtype.

    starts, ends : of each segment
    first : number of segments of the first group
    rise, fall : (w,) see above
    gains : (w,) what each variable gains with the one chosen first
    ups, lows : of each segment, the largest gradient that may rise, the smallest that may fall
    """

    starts: Index
    ends: Index
    first: int
    rise: Block
    fall: Block
    gains: Block
    ups: Block
    lows: Block


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
def _segments(n: int, cut: int) -> tuple[Index, Index, int]:
    """Return starts, ends and the number of segments of [0, cut), which no segment of [cut, n) shares."""
    first = (cut + _SEGMENT - 1) // _SEGMENT
    count = first + (n - cut + _SEGMENT - 1) // _SEGMENT
    starts, ends = np.empty(count, np.intp), np.empty(count, np.intp)
    for b in range(count):
        starts[b] = b * _SEGMENT if b < first else cut + (b - first) * _SEGMENT
        ends[b] = min(starts[b] + _SEGMENT, cut if b < first else n)
    return starts, ends, first


@inlined
def _prepared(work: WorkingSet, cut: int) -> _Passes:
    """Return empty passes over a working set whose second group begins at ``cut``."""
    w, dtype = len(work.a), work.kernel.dtype
    starts, ends, first = _segments(w, cut)
    rise, fall, gains = np.empty(w, dtype), np.empty(w, dtype), np.empty(w, dtype)
    return _Passes(starts, ends, first, rise, fall, gains, np.empty(len(starts), dtype), np.empty(len(starts), dtype))


@inlined
def _worst_group(x: _Passes, tau: float) -> tuple[int, int, int]:
    """Return the segment with the largest rise of the group that violates most, -1 if none does by tau, and its segments."""
    best, begin, stop, worst = -1, 0, 0, tau
    for group in range(2):
        left, right = (0, x.first) if group == 0 else (x.first, len(x.ups))
        if left == right:
            continue
        high, low = left, x.lows[left]
        for b in range(left + 1, right):
            if x.ups[b] > x.ups[high]:
                high = b
            low = min(low, x.lows[b])
        violation = np.float64(x.ups[high]) - np.float64(low)
        if violation > worst:
            best, begin, stop, worst = high, left, right, violation
    return best, begin, stop


@inlined
def _partner(work: WorkingSet, x: _Passes, i: int, begin: int, stop: int, tiny: Any) -> int:
    """Return the variable of the segments [begin, stop) that gains most with i, -1 if none does."""
    best, where, g_i, k_ii = tiny - tiny, -1, x.rise[i], work.diagonal[i]
    for b in range(begin, stop):
        if x.lows[b] < g_i:
            s, e = x.starts[b], x.ends[b]
            gain = _gains(x.fall[s:e], work.diagonal[s:e], work.kernel[i, s:e], x.gains[s:e], g_i, k_ii, tiny)
            if gain > best:
                best, where = gain, b
    return _stands(x, x.gains, best, where) if where >= 0 else -1


@inlined
def _stands(x: _Passes, values: Block, wanted: Any, segment: int) -> int:
    """Return the variable of a segment at which ``wanted`` first stands in ``values``."""
    s, e = x.starts[segment], x.ends[segment]
    place: int = s + seek(values[s:e], wanted)
    return place


@inlined
def _turn(rise: Block, fall: Block, i: int, j: int, i_full: bool, j_empty: bool) -> None:
    """Note which ways i, that rose, and j, that fell, may move now; what opens is filled in before the pass."""
    if fall[i] == np.inf:
        fall[i] = rise[i]
    if rise[j] == -np.inf:
        rise[j] = fall[j]
    if i_full:
        rise[i] = -np.inf
    if j_empty:
        fall[j] = np.inf


@inlined
def _move_all(x: _Passes, row_i: Block, row_j: Block, step: Any) -> None:
    for b in range(len(x.ups)):
        s, e = x.starts[b], x.ends[b]
        x.ups[b], x.lows[b] = _move(x.rise[s:e], x.fall[s:e], row_i[s:e], row_j[s:e], step)


@compiled
def pair_descent(work: WorkingSet, cut: int, tau: float, limit: int) -> int:
    """Second-order SMO on a working set; the sums over [0, cut) and [cut, w) are kept.

    Parameters
    ----------
    cut : where the second group starts; w if there is one only
    tau : stop when no pair violates by more

    Returns
    -------
    Steps taken, at most ``limit``.
    """
    a, lower, upper, diagonal = work.a, work.lower, work.upper, work.diagonal
    x = _prepared(work, cut)
    rise, fall = x.rise, x.fall
    number = np.empty(2, work.kernel.dtype)  # takes a float64 to the block's dtype
    number[0], number[1] = 1e-12, 0.0
    tiny = number[0]
    for k in range(len(a)):
        rise[k] = work.gradient[k] if a[k] < upper[k] else -np.inf
        fall[k] = work.gradient[k] if a[k] > lower[k] else np.inf
    _move_all(x, work.kernel[0], work.kernel[0], number[1])
    for steps in range(limit):
        segment, begin, stop = _worst_group(x, tau)
        if segment < 0:
            return steps
        i = _stands(x, rise, x.ups[segment], segment)
        j = _partner(work, x, i, begin, stop, tiny)
        if j < 0:
            return steps
        row_i, row_j, g_i, k_ii = work.kernel[i], work.kernel[j], rise[i], diagonal[i]
        curvature = max(np.float64(k_ii) + np.float64(diagonal[j]) - 2.0 * np.float64(row_i[j]), 1e-12)
        room_i, room_j = upper[i] - a[i], a[j] - lower[j]
        step = min((np.float64(g_i) - np.float64(fall[j])) / curvature, room_i, room_j)
        # a clipped variable is set to its bound: one rounding error away it would count as free
        a_i = upper[i] if step == room_i else a[i] + step
        a_j = lower[j] if step == room_j else a[j] - step
        if a_i == a[i] and a_j == a[j]:
            return steps
        a[i], a[j] = a_i, a_j
        _turn(rise, fall, i, j, a_i >= upper[i], a_j <= lower[j])
        number[1] = step
        _move_all(x, row_i, row_j, number[1])
    return limit


@fast
def _joint_gains(g: Block, rise: Block, fall: Block, diagonal: Block, row: Block, gains: Block, number: Block) -> Any:
    """Write what k gains once i has stepped to its own optimum, r_k^2 / (K_kk - K_ik^2 / K_ii), and return the largest.

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
    if determinant > 1e-12 * k_ii * k_jj:
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
        else:  # i alone: no edge is finite, and the two points are equal
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
    """Return a + step, the bound itself where the step ends there: one rounding error away it would count as free."""
    if step == upper - a:
        return upper
    return lower if step == lower - a else min(max(a + step, lower), upper)


@inlined
def _settle(work: WorkingSet, x: _Passes, k: int) -> None:
    """Note which ways k may move from where it is: 0 where it may, else -inf or inf."""
    x.rise[k] = 0.0 if work.a[k] < work.upper[k] else -np.inf
    x.fall[k] = 0.0 if work.a[k] > work.lower[k] else np.inf


@inlined
def _shift_all(x: _Passes, g: Block, row_i: Block, row_j: Block, step_i: Any, step_j: Any) -> None:
    for b in range(len(x.ups)):
        s, e = x.starts[b], x.ends[b]
        x.ups[b], x.lows[b] = _shift(g[s:e], x.rise[s:e], x.fall[s:e], row_i[s:e], row_j[s:e], step_i, step_j)


@compiled
def joint_descent(work: WorkingSet, tau: float, limit: int) -> int:
    """SMO on a working set with no sum to keep: two variables a step, to their common optimum. See :func:`pair_descent`.

    The one that violates most, and the one that gains most after its step (Steinwart, Hush, Scovel, Training SVMs
    without offset, JMLR 12, 2011). One at a time, a wide kernel takes tens of times as many steps: all gradients
    move alike there, so that each step undoes a part of the others.
    """
    a, lower, upper, diagonal = work.a, work.lower, work.upper, work.diagonal
    x = _prepared(work, len(a))
    g = np.empty(len(a), work.kernel.dtype)
    number = np.zeros(5, work.kernel.dtype)  # takes float64 to the block's dtype
    for k in range(len(a)):
        g[k] = work.gradient[k]
        _settle(work, x, k)
    _shift_all(x, g, work.kernel[0], work.kernel[0], number[0], number[0])
    for steps in range(limit):
        high, low = x.ups.argmax(), x.lows.argmin()
        if max(np.float64(x.ups[high]), -np.float64(x.lows[low])) <= tau:
            return steps
        if x.ups[high] >= -x.lows[low]:
            s, e = x.starts[high], x.ends[high]
            i = s + (g[s:e] + x.rise[s:e]).argmax()
        else:
            s, e = x.starts[low], x.ends[low]
            i = s + (g[s:e] + x.fall[s:e]).argmin()
        row_i, g_i, k_ii = work.kernel[i], np.float64(g[i]), max(np.float64(diagonal[i]), 1e-12)
        number[2], number[3], number[4] = g_i / k_ii, 1.0 / k_ii, _FLAT * k_ii
        gain, where = number[0], -1
        for b in range(len(x.ups)):
            s, e = x.starts[b], x.ends[b]
            found = _joint_gains(g[s:e], x.rise[s:e], x.fall[s:e], diagonal[s:e], row_i[s:e], x.gains[s:e], number[2:])
            if found > gain:
                gain, where = found, b
        j = _stands(x, x.gains, gain, where) if where >= 0 else i
        room_i = (lower[i] - a[i], upper[i] - a[i])
        step_i, step_j = _within(g_i / k_ii, room_i), 0.0
        if j != i:
            curvature = (k_ii, max(np.float64(diagonal[j]), 1e-12), np.float64(row_i[j]))
            step_i, step_j = joint_step((g_i, np.float64(g[j])), curvature, room_i, (lower[j] - a[j], upper[j] - a[j]))
        a_i, a_j = _stepped(a[i], step_i, lower[i], upper[i]), _stepped(a[j], step_j, lower[j], upper[j])
        if a_i == a[i] and a_j == a[j]:
            return steps
        a[j] = a_j
        a[i] = a_i  # last: where i moves alone, j is i
        _settle(work, x, i)
        _settle(work, x, j)
        number[2], number[3] = step_i, step_j
        _shift_all(x, g, row_i, work.kernel[j], number[2], number[3])
    return limit
