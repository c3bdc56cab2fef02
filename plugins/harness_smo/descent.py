"""The compiled loop of block SMO that descends in a working set.

An entry that may not move is -inf among those that may rise and inf among those that may fall, so that no branch is left in
the passes over all variables (:mod:`harness_smo.lanes`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from harness.support.arrays import Block, Vector
from harness.support.jit import compiled, inlined
from harness_smo.lanes import TINY, move, partner

_RESOLUTION = 8.0  # machine epsilons times the largest gradient, below which a violation may be rounding


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


@inlined
def _begin(work: WorkingSet, rise: Block, fall: Block, zeros: Block, tau: float) -> float:
    """Fill the arrays; return tau, or the violation that may be rounding of the gradient."""
    resolution = _RESOLUTION * (2.0**-23 if rise.itemsize == 4 else 2.0**-52)
    for v in range(len(rise)):
        tau = max(tau, resolution * abs(work.gradient[v]))
        rise[v], fall[v] = _directed(work.gradient[v], work.tube[v], work.a[v], work.lower[v], work.upper[v])
        zeros[v] = 0.0
    return tau


@inlined
def _move_all(arrays: Any, step: float, p_i: int, p_j: int, edge: int) -> tuple[int, int, int, int, float, float]:
    """Subtract step (K_i - K_j) from the gradient; return begin, end, and first variable in rows of the worst group, i, g_i, g_j."""
    w, first = len(arrays[0]), len(arrays[0]) - len(arrays[3])
    i, up, low = move(arrays, step, p_i, p_j, 0, edge, 0)
    i_2, up_2, low_2 = move(arrays, step, p_i, p_j, edge, w, first)
    if up_2 - low_2 > up - low:
        return edge, w, first, i_2, up_2, low_2
    return 0, edge, 0, i, up, low


@inlined
def _moved(a: float, tube: float, lower: float, upper: float, g: float, step: float, end: float) -> Any:
    """Return a variable whose slope is g after a step, at most to ``end``, its slopes there, and whether it moved."""
    # a clipped variable is set to its bound: one rounding error away it would count as free
    after = end if step == end - a else a + step
    g += tube if a > 0.0 or (a == 0.0 and step > 0.0) else -tube
    return after, *_directed(g, tube, after, lower, upper), after != a


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
    kernel, diagonal, a, lower, upper, _, tube = work
    w = len(a)
    rise, fall, zeros = np.empty(w, kernel.dtype), np.empty(w, kernel.dtype), np.empty(w, kernel.dtype)
    tau = _begin(work, rise, fall, zeros, tau)
    arrays, p_i, p_j, step = (rise, fall, diagonal, kernel, zeros), -1, -1, 0.0
    for steps in range(limit + 1):
        begin, end, first, i, g_i, low = _move_all(arrays, step, p_i, p_j, w if cut < 0 else cut)
        if cut < 0:
            i, g_i, low = w if g_i < 0.0 else i, max(g_i, 0.0), min(low, 0.0)
        if steps == limit or not g_i - low > tau:
            return steps
        p_i, p_j, g_j, k_ii, step, end_i, end_j = -1, -1, 0.0, 0.0, np.inf, np.inf, -np.inf
        # the slope of a variable changes at 0
        if i < w:
            p_i, k_ii, end_i = i - first, np.float64(diagonal[i - first]), 0.0 if a[i] < 0.0 < tube[i] else upper[i]
            step = end_i - a[i]
        j, gain = partner(arrays, g_i, k_ii, p_i, begin, end, first)
        curvature = k_ii
        if cut < 0 and g_i > 0.0 and g_i * g_i / max(k_ii, TINY) > gain:
            j = w
        elif gain == 0.0:
            return steps
        else:
            p_j, g_j, end_j = j - first, np.float64(fall[j]), 0.0 if a[j] > 0.0 and tube[j] > 0.0 else lower[j]
            curvature += np.float64(diagonal[p_j]) - (2.0 * np.float64(kernel[p_i, p_j]) if p_i >= 0 else 0.0)
            step = min(step, a[j] - end_j)
        step = min(step, (g_i - g_j) / max(curvature, TINY))
        i_moved = j_moved = False
        # before the pass that moves the others, as i may fall then and j may rise
        if i < w:
            a[i], rise[i], fall[i], i_moved = _moved(a[i], tube[i], lower[i], upper[i], g_i, step, end_i)
        if j < w:
            a[j], rise[j], fall[j], j_moved = _moved(a[j], tube[j], lower[j], upper[j], g_j, -step, end_j)
        if not (i_moved or j_moved):
            return steps
    return limit
