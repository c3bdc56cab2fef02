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


@njit(cache=True, nogil=True)
def single_descent(
    kernel: Matrix,
    diagonal: Matrix,
    a: Vector,
    lower: Vector,
    upper: Vector,
    gradient: Vector,
    tau: float,
    limit: int,
) -> int:
    """Coordinate descent on a working set: one variable a step, no sum to keep. See :func:`pair_descent`."""
    w = len(a)
    g = gradient.copy()
    for steps in range(limit):
        i, best = -1, 0.0
        worst = 0.0
        for k in range(w):
            if (g[k] > 0.0 and a[k] < upper[k]) or (g[k] < 0.0 and a[k] > lower[k]):
                worst = max(worst, abs(g[k]))
                gain = g[k] * g[k] / max(np.float64(diagonal[k]), 1e-12)
                if gain > best:
                    i, best = k, gain
        if worst <= tau or i < 0:
            return steps
        target = min(max(a[i] + g[i] / max(np.float64(diagonal[i]), 1e-12), lower[i]), upper[i])
        step = target - a[i]
        if step == 0.0:
            return steps
        a[i] = target
        row = kernel[i]
        for k in range(w):
            g[k] -= step * row[k]
    return limit
