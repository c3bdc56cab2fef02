"""The compiled loops of block SMO that descend inside a working set.

Reductions run over segments of a few hundred entries through LLVM's maxnum and minnum, which it vectorises;
an entry that may not move is -inf among those that may rise and inf among those that may fall, so that no
branch is left in the passes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

if TYPE_CHECKING:
    Vector = np.ndarray[Any, np.dtype[np.float64]]
    Index = np.ndarray[Any, np.dtype[np.intp]]
    Matrix = np.ndarray[Any, np.dtype[Any]]

_FLAT = 1e-6  # least curvature, times K_ii, of a second variable: below, rounding decides
_SEGMENT = 256  # entries whose extremes are kept: short enough to search, long enough to vectorise
# inf - inf never happens in the passes, and no result depends on the sign of zero
_FAST = {"nsz", "reassoc", "contract", "arcp", "nnan"}


def _binary(name: str) -> Any:
    """Return an intrinsic that calls LLVM's ``name`` on two floats of one type."""

    @intrinsic  # type: ignore[untyped-decorator]
    def operation(_: Any, a: Any, b: Any) -> Any:
        if a != b or a not in (types.float32, types.float64):
            return None

        def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            kind = arguments[0].type
            suffix = "f32" if isinstance(kind, ir.FloatType) else "f64"
            function = builder.module.declare_intrinsic(
                f"llvm.{name}.{suffix}", (), ir.FunctionType(kind, [kind, kind])
            )
            return builder.call(function, arguments)

        return a(a, b), generate

    return operation


_larger = _binary("maxnum")
_smaller = _binary("minnum")


@njit(cache=True, nogil=True, fastmath=_FAST)
def _gains(fall: Matrix, diagonal: Matrix, row: Matrix, gains: Matrix, g_i: Any, k_ii: Any, tiny: Any) -> Any:
    """Write (g_i - g_k)^2 / (K_ii + K_kk - 2 K_ik), 0 where g_k >= g_i, and return the largest."""
    zero = k_ii - k_ii
    best = zero
    for k in range(len(fall)):
        difference = _larger(g_i - fall[k], zero)
        curvature = _larger(k_ii + diagonal[k] - (row[k] + row[k]), tiny)
        gain = difference * difference / curvature
        gains[k] = gain
        best = _larger(best, gain)
    return best


@njit(cache=True, nogil=True, fastmath=_FAST)
def _move(rise: Matrix, fall: Matrix, row_i: Matrix, row_j: Matrix, step: Any) -> tuple[Any, Any]:
    """Subtract step (K_i - K_j) from both copies of the gradient; return the new largest rise and smallest fall."""
    change = step * (row_i[0] - row_j[0])
    up, low = rise[0] - change, fall[0] - change
    for k in range(len(rise)):
        change = step * (row_i[k] - row_j[k])
        r, f = rise[k] - change, fall[k] - change
        rise[k] = r
        fall[k] = f
        up, low = _larger(up, r), _smaller(low, f)
    return up, low


@njit(cache=True, nogil=True)
def _seek(values: Matrix, wanted: Any) -> int:
    """Return where ``wanted`` first stands in ``values``; whole strips are compared first, without branches."""
    n = len(values)
    for start in range(0, n, 32):
        end = min(n, start + 32)
        hits = 0
        for k in range(start, end):
            hits += values[k] == wanted
        if hits:
            for k in range(start, end):
                if values[k] == wanted:
                    return k
    return 0


@njit(cache=True, nogil=True)
def _segments(n: int, cut: int) -> tuple[Index, Index, int]:
    """Return starts, ends and the number of segments of [0, cut), which no segment of [cut, n) shares."""
    first = (cut + _SEGMENT - 1) // _SEGMENT
    count = first + (n - cut + _SEGMENT - 1) // _SEGMENT
    starts, ends = np.empty(count, np.intp), np.empty(count, np.intp)
    for b in range(count):
        starts[b] = b * _SEGMENT if b < first else cut + (b - first) * _SEGMENT
        ends[b] = min(starts[b] + _SEGMENT, cut if b < first else n)
    return starts, ends, first


@njit(cache=True, nogil=True)
def _worst_group(ups: Matrix, lows: Matrix, first: int, tau: float) -> tuple[int, int, int]:
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


@njit(cache=True, nogil=True)
def _partner(
    fall: Matrix,
    diagonal: Matrix,
    row: Matrix,
    gains: Matrix,
    g_i: Any,
    k_ii: Any,
    tiny: Any,
    lows: Matrix,
    starts: Index,
    ends: Index,
    begin: int,
    stop: int,
) -> int:
    """Return the variable of the segments [begin, stop) that gains most with i, -1 if none does."""
    best, where = tiny - tiny, -1
    for b in range(begin, stop):
        if lows[b] < g_i:
            s, e = starts[b], ends[b]
            gain = _gains(fall[s:e], diagonal[s:e], row[s:e], gains[s:e], g_i, k_ii, tiny)
            if gain > best:
                best, where = gain, b
    return starts[where] + _seek(gains[starts[where] : ends[where]], best) if where >= 0 else -1


@njit(cache=True, nogil=True)
def _turn(rise: Matrix, fall: Matrix, i: int, j: int, i_full: bool, j_empty: bool) -> None:
    """Note which ways i, that rose, and j, that fell, may move now; what opens is filled in before the pass."""
    if fall[i] == np.inf:
        fall[i] = rise[i]
    if rise[j] == -np.inf:
        rise[j] = fall[j]
    if i_full:
        rise[i] = -np.inf
    if j_empty:
        fall[j] = np.inf


@njit(cache=True, nogil=True)
def pair_descent(
    kernel: Matrix,
    diagonal: Matrix,
    a: Vector,
    lower: Vector,
    upper: Vector,
    gradient: Vector,
    cut: int,
    tau: float,
    limit: int,
) -> int:
    """Second-order SMO on a working set whose kernel block is at hand; sums over [0, cut) and [cut, w) are kept.

    Parameters
    ----------
    kernel : (w, w) float32 or float64; the gradient is kept in this dtype inside
    diagonal : (w,) of the same dtype
    a : (w,) variables; changed in place
    gradient : (w,) at the start; not updated
    cut : where the second group starts; w if there is one only
    tau : stop when no pair violates by more

    Returns
    -------
    Steps taken, at most ``limit``.
    """
    w = len(a)
    starts, ends, first = _segments(w, cut)
    count = len(starts)
    rise, fall, gains = np.empty(w, kernel.dtype), np.empty(w, kernel.dtype), np.empty(w, kernel.dtype)
    ups, lows = np.empty(count, kernel.dtype), np.empty(count, kernel.dtype)
    number = np.empty(2, kernel.dtype)  # takes a float64 to the block's dtype
    number[0] = 1e-12
    tiny = number[0]
    for k in range(w):
        rise[k] = gradient[k] if a[k] < upper[k] else -np.inf
        fall[k] = gradient[k] if a[k] > lower[k] else np.inf
    for b in range(count):
        ups[b], lows[b] = rise[starts[b] : ends[b]].max(), fall[starts[b] : ends[b]].min()
    for steps in range(limit):
        bi, begin, stop = _worst_group(ups, lows, first, tau)
        if bi < 0:
            return steps
        i = starts[bi] + _seek(rise[starts[bi] : ends[bi]], ups[bi])
        row_i, g_i, k_ii = kernel[i], rise[i], diagonal[i]
        j = _partner(fall, diagonal, row_i, gains, g_i, k_ii, tiny, lows, starts, ends, begin, stop)
        if j < 0:
            return steps
        row_j = kernel[j]
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
        for b in range(count):
            s, e = starts[b], ends[b]
            ups[b], lows[b] = _move(rise[s:e], fall[s:e], row_i[s:e], row_j[s:e], number[1])
    return limit


@njit(cache=True, nogil=True, fastmath=_FAST)
def _joint_gains(
    g: Matrix,
    rise: Matrix,
    fall: Matrix,
    diagonal: Matrix,
    row: Matrix,
    gains: Matrix,
    share: Any,
    slope: Any,
    floor: Any,
) -> Any:
    """Write what k gains once i has stepped to its own optimum, r_k^2 / (K_kk - K_ik^2 / K_ii), and return the largest.

    r_k = g_k - share K_ik is k's gradient then; share = g_i / K_ii, slope = 1 / K_ii, floor = the least curvature.
    """
    zero = share - share
    best = zero
    for k in range(len(g)):
        left = g[k] - share * row[k]
        drive = _larger(_larger(left + rise[k], -(left + fall[k])), zero)
        gain = drive * drive / _larger(diagonal[k] - slope * row[k] * row[k], floor)
        gains[k] = gain
        best = _larger(best, gain)
    return best


@njit(cache=True, nogil=True, fastmath=_FAST)
def _shift(
    g: Matrix, rise: Matrix, fall: Matrix, row_i: Matrix, row_j: Matrix, step_i: Any, step_j: Any
) -> tuple[Any, Any]:
    """Subtract step_i K_i + step_j K_j from the gradient; return its largest that may rise and smallest that may fall."""
    value = g[0] - (step_i * row_i[0] + step_j * row_j[0])
    up, low = value + rise[0], value + fall[0]
    for k in range(len(g)):
        value = g[k] - (step_i * row_i[k] + step_j * row_j[k])
        g[k] = value
        up, low = _larger(up, value + rise[k]), _smaller(low, value + fall[k])
    return up, low


@njit(cache=True, nogil=True)
def joint_step(
    g_i: float,
    g_j: float,
    k_ii: float,
    k_jj: float,
    k_ij: float,
    fall_i: float,
    room_i: float,
    fall_j: float,
    room_j: float,
) -> tuple[float, float]:
    """Return the steps d of two variables that maximise g d - 1/2 d K d, fall_i <= d_i <= room_i, fall_j <= d_j <= room_j."""
    determinant = k_ii * k_jj - k_ij * k_ij
    if determinant > 1e-12 * k_ii * k_jj:
        d_i, d_j = (k_jj * g_i - k_ij * g_j) / determinant, (k_ii * g_j - k_ij * g_i) / determinant
        if fall_i <= d_i <= room_i and fall_j <= d_j <= room_j:
            return d_i, d_j
    # a concave function has its maximum over a box that its own maximum lies outside of on an edge
    best, best_i, best_j = 0.0, 0.0, 0.0
    for edge in range(5):
        if edge < 2:
            d_i = fall_i if edge == 0 else room_i
            d_j = min(max((g_j - k_ij * d_i) / k_jj, fall_j), room_j)
        elif edge < 4:
            d_j = fall_j if edge == 2 else room_j
            d_i = min(max((g_i - k_ij * d_j) / k_ii, fall_i), room_i)
        else:  # i alone: no edge is finite, and the two points are equal
            d_i, d_j = min(max(g_i / k_ii, fall_i), room_i), 0.0
        if np.isfinite(d_i) and np.isfinite(d_j):
            value = d_i * (g_i - 0.5 * k_ii * d_i) + d_j * (g_j - 0.5 * k_jj * d_j) - k_ij * d_i * d_j
            if value > best:
                best, best_i, best_j = value, d_i, d_j
    return best_i, best_j


@njit(cache=True, nogil=True)
def _stepped(a: float, step: float, lower: float, upper: float) -> float:
    """Return a + step, the bound itself where the step ends there: one rounding error away it would count as free."""
    if step == upper - a:
        return upper
    return lower if step == lower - a else min(max(a + step, lower), upper)


@njit(cache=True, nogil=True)
def _settle(k: int, a: Vector, lower: Vector, upper: Vector, rise: Matrix, fall: Matrix) -> None:
    """Note which ways k may move from where it is: 0 where it may, else -inf or inf."""
    rise[k] = 0.0 if a[k] < upper[k] else -np.inf
    fall[k] = 0.0 if a[k] > lower[k] else np.inf


@njit(cache=True, nogil=True)
def joint_descent(
    kernel: Matrix,
    diagonal: Matrix,
    a: Vector,
    lower: Vector,
    upper: Vector,
    gradient: Vector,
    tau: float,
    limit: int,
) -> int:
    """Descent on a working set with no sum to keep: two variables a step, to their common optimum. See :func:`pair_descent`.

    The one that violates most, and the one that gains most after its step (Steinwart, Hush, Scovel, Training SVMs
    without offset, JMLR 12, 2011). One at a time, a wide kernel takes tens of times as many steps: all gradients
    move alike there, so that each step undoes a part of the others.
    """
    w = len(a)
    starts, ends, _ = _segments(w, w)
    count = len(starts)
    g, gains = np.empty(w, kernel.dtype), np.empty(w, kernel.dtype)
    rise, fall = np.empty(w, kernel.dtype), np.empty(w, kernel.dtype)
    ups, lows = np.empty(count, kernel.dtype), np.empty(count, kernel.dtype)
    number = np.zeros(5, kernel.dtype)  # takes float64 to the block's dtype
    for k in range(w):
        g[k] = gradient[k]
        _settle(k, a, lower, upper, rise, fall)
    for b in range(count):
        s, e = starts[b], ends[b]
        ups[b], lows[b] = _shift(g[s:e], rise[s:e], fall[s:e], kernel[0, s:e], kernel[0, s:e], number[0], number[1])
    for steps in range(limit):
        high, low = ups.argmax(), lows.argmin()
        if max(np.float64(ups[high]), -np.float64(lows[low])) <= tau:
            return steps
        if ups[high] >= -lows[low]:
            s, e = starts[high], ends[high]
            i = s + (g[s:e] + rise[s:e]).argmax()
        else:
            s, e = starts[low], ends[low]
            i = s + (g[s:e] + fall[s:e]).argmin()
        row_i, g_i, k_ii = kernel[i], np.float64(g[i]), max(np.float64(diagonal[i]), 1e-12)
        number[2], number[3], number[4] = g_i / k_ii, 1.0 / k_ii, _FLAT * k_ii
        gain, where = number[0], -1
        for b in range(count):
            s, e = starts[b], ends[b]
            found = _joint_gains(
                g[s:e], rise[s:e], fall[s:e], diagonal[s:e], row_i[s:e], gains[s:e], number[2], number[3], number[4]
            )
            if found > gain:
                gain, where = found, b
        j = starts[where] + _seek(gains[starts[where] : ends[where]], gain) if where >= 0 else i
        fall_i, room_i = lower[i] - a[i], upper[i] - a[i]
        step_i, step_j = min(max(g_i / k_ii, fall_i), room_i), 0.0
        if j != i:
            k_jj, k_ij = max(np.float64(diagonal[j]), 1e-12), np.float64(row_i[j])
            step_i, step_j = joint_step(
                g_i, np.float64(g[j]), k_ii, k_jj, k_ij, fall_i, room_i, lower[j] - a[j], upper[j] - a[j]
            )
        a_i, a_j = _stepped(a[i], step_i, lower[i], upper[i]), _stepped(a[j], step_j, lower[j], upper[j])
        if a_i == a[i] and a_j == a[j]:
            return steps
        a[j] = a_j
        a[i] = a_i  # last: where i moves alone, j is i
        _settle(i, a, lower, upper, rise, fall)
        _settle(j, a, lower, upper, rise, fall)
        number[2], number[3] = step_i, step_j
        row_j = kernel[j]
        for b in range(count):
            s, e = starts[b], ends[b]
            ups[b], lows[b] = _shift(g[s:e], rise[s:e], fall[s:e], row_i[s:e], row_j[s:e], number[2], number[3])
    return limit
