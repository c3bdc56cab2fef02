"""The compiled loops of SMO.

All of them work on signed coefficients in [lower, upper] and the gradient g = y - K coef of the dual, over the
points listed in ``active``. They run until they need a kernel row that is not held, and say which.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

if TYPE_CHECKING:
    Vector = np.ndarray[Any, np.dtype[np.float64]]
    Index = np.ndarray[Any, np.dtype[np.int64]]
    Matrix = np.ndarray[Any, np.dtype[np.float64]]

# why a loop came back
CONVERGED, NEEDS_ROW, PAUSED, STALLED = 0, 1, 2, 3

_TINY = 1e-12  # stands for a curvature of zero: two points on top of each other


@njit(cache=True, nogil=True)
def _extremes(
    coef: Vector, gradient: Vector, lower: Vector, upper: Vector, active: Index
) -> tuple[int, int, float, float]:
    """Return (i, j, g_i, g_j): the largest g that may rise and the smallest that may fall."""
    i, j, up, low = -1, -1, -np.inf, np.inf
    for k in active:
        g = gradient[k]
        # the comparison that rarely holds comes first: most points are decided without their bounds
        if g > up and coef[k] < upper[k]:
            i, up = k, g
        if g < low and coef[k] > lower[k]:
            j, low = k, g
    return i, j, up, low


@njit(cache=True, nogil=True)
def _partner(
    i: int, row_i: Vector, coef: Vector, gradient: Vector, lower: Vector, diagonal: Vector, active: Index
) -> int:
    """Return the j whose pair (i, j) promises the largest gain, (g_i - g_j)^2 / (K_ii + K_jj - 2 K_ij)."""
    j, best = -1, 0.0
    g_i, k_ii = gradient[i], diagonal[i]
    for k in active:
        difference = g_i - gradient[k]
        if difference > 0.0 and coef[k] > lower[k]:
            gain = difference * difference / max(k_ii + diagonal[k] - 2.0 * row_i[k], _TINY)
            if gain > best:
                j, best = k, gain
    return j


@njit(cache=True, nogil=True)
def _move_pair(
    coef: Vector,
    gradient: Vector,
    lower: Vector,
    upper: Vector,
    row_i: Vector,
    row_j: Vector,
    step: float,
    active: Index,
) -> tuple[int, int, float, float]:
    """Update the gradient for coef_i += step, coef_j -= step, and return its new extremes in the same pass."""
    i, j, up, low = -1, -1, -np.inf, np.inf
    for k in active:
        g = gradient[k] - step * (row_i[k] - row_j[k])
        gradient[k] = g
        if g > up and coef[k] < upper[k]:
            i, up = k, g
        if g < low and coef[k] > lower[k]:
            j, low = k, g
    return i, j, up, low


@njit(cache=True, nogil=True)
def pair_steps(
    coef: Vector,
    gradient: Vector,
    lower: Vector,
    upper: Vector,
    diagonal: Vector,
    active: Index,
    rows: Matrix,
    slot_of: Index,
    last_used: Index,
    clock: int,
    tau: float,
    second_order: bool,
    limit: int,
) -> tuple[int, int, int, float, float]:
    """Take up to ``limit`` steps on pairs, which keep the sum of the coefficients.

    Parameters
    ----------
    coef, gradient : (n,); changed in place, the gradient at the active points only
    rows, slot_of : kernel row k is rows[slot_of[k]], or not held where slot_of[k] < 0
    last_used : (rows held,), step of a row's last use, counted from ``clock``; changed in place

    Returns
    -------
    (why it came back, row it needs, steps taken, largest g that may rise, smallest g that may fall).
    """
    steps = 0
    i, j, up, low = _extremes(coef, gradient, lower, upper, active)
    while True:
        if up - low <= tau:
            return CONVERGED, -1, steps, up, low
        if steps == limit:
            return PAUSED, -1, steps, up, low
        if slot_of[i] < 0:
            return NEEDS_ROW, i, steps, up, low
        row_i = rows[slot_of[i]]
        last_used[slot_of[i]] = clock + steps
        if second_order:
            j = _partner(i, row_i, coef, gradient, lower, diagonal, active)
        if slot_of[j] < 0:
            return NEEDS_ROW, j, steps, up, low
        row_j = rows[slot_of[j]]
        last_used[slot_of[j]] = clock + steps
        curvature = max(diagonal[i] + diagonal[j] - 2.0 * row_i[j], _TINY)
        rise, fall = upper[i] - coef[i], coef[j] - lower[j]
        step = min((gradient[i] - gradient[j]) / curvature, rise, fall)
        # a clipped coefficient is set to its bound: one rounding error away it would count as free
        coef_i = upper[i] if step == rise else coef[i] + step
        coef_j = lower[j] if step == fall else coef[j] - step
        if coef_i == coef[i] and coef_j == coef[j]:
            return STALLED, -1, steps, up, low
        coef[i], coef[j] = coef_i, coef_j
        steps += 1
        i, j, up, low = _move_pair(coef, gradient, lower, upper, row_i, row_j, step, active)


@njit(cache=True, nogil=True)
def _steepest(
    coef: Vector,
    gradient: Vector,
    lower: Vector,
    upper: Vector,
    diagonal: Vector,
    active: Index,
    second_order: bool,
) -> tuple[int, float, float]:
    """Return the coordinate with the largest |g| (or gain g^2 / K_kk) among those that may move, and the extremes."""
    i, best, up, low = -1, 0.0, 0.0, 0.0
    for k in active:
        g = gradient[k]
        if (g > 0.0 and coef[k] < upper[k]) or (g < 0.0 and coef[k] > lower[k]):
            up, low = max(up, g), min(low, g)
            score = g * g / max(diagonal[k], _TINY) if second_order else abs(g)
            if score > best:
                i, best = k, score
    return i, up, low


@njit(cache=True, nogil=True)
def single_steps(
    coef: Vector,
    gradient: Vector,
    lower: Vector,
    upper: Vector,
    diagonal: Vector,
    active: Index,
    rows: Matrix,
    slot_of: Index,
    last_used: Index,
    clock: int,
    tau: float,
    second_order: bool,
    limit: int,
) -> tuple[int, int, int, float, float]:
    """Take up to ``limit`` steps on single coefficients: the problem without a bias. See :func:`pair_steps`."""
    steps = 0
    while True:
        i, up, low = _steepest(coef, gradient, lower, upper, diagonal, active, second_order)
        if max(up, -low) <= tau:
            return CONVERGED, -1, steps, up, low
        if steps == limit:
            return PAUSED, -1, steps, up, low
        if slot_of[i] < 0:
            return NEEDS_ROW, i, steps, up, low
        row_i = rows[slot_of[i]]
        last_used[slot_of[i]] = clock + steps
        target = min(max(coef[i] + gradient[i] / max(diagonal[i], _TINY), lower[i]), upper[i])
        step = target - coef[i]
        if step == 0.0:
            return STALLED, -1, steps, up, low
        coef[i] = target
        steps += 1
        for k in active:
            gradient[k] -= step * row_i[k]


@njit(cache=True, nogil=True)
def add_rows(scores: Vector, coef: Vector, support: Index, rows: Matrix, slot_of: Index) -> None:
    """Add coef_s K[s, :] for every s in ``support``, whose rows are all held, to ``scores`` in place."""
    for s in support:
        row, c = rows[slot_of[s]], coef[s]
        for k in range(len(scores)):
            scores[k] += c * row[k]
