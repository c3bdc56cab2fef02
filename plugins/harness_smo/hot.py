"""The compiled loops of SMO.

All of them work on the variables of the common dual form in [lower, upper] and on their gradient g = linear - K coef,
over those listed in ``active``. Variable v stands at point v mod n, whose kernel row it reads. They run until they
need a kernel row that is not cached, and return which.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from harness.support.arrays import Index, Matrix, Vector
from harness.support.jit import compiled, inlined

# why a loop came back
CONVERGED, NEEDS_ROW, PAUSED, STALLED = 0, 1, 2, 3

_TINY = 1e-12  # stands for a curvature of zero: two points on top of each other


class Variables(NamedTuple):
    """What the loops change, and what bounds it.

    a, gradient : (V,); changed in place, the gradient at the active variables only
    lower, upper : (V,)
    diagonal : (n,) K_pp
    active, edges : group k is active[edges[k]:edges[k + 1]]
    up, low : (groups,), at least (1,); set to the largest g that may rise and the smallest that may fall in each group
    """

    a: Vector
    gradient: Vector
    lower: Vector
    upper: Vector
    diagonal: Vector
    active: Index
    edges: Index
    up: Vector
    low: Vector


class Rows(NamedTuple):
    """The cached kernel rows.

    rows, slot_of : kernel row p is rows[slot_of[p]], or not cached where slot_of[p] < 0
    last_used : (cached rows,), step of a row's last use; changed in place
    """

    rows: Matrix
    slot_of: Index
    last_used: Index


@inlined
def _point(v: int, n: int) -> int:
    """Return v mod n for v < 2 n: the point at which the variable stands."""
    return v - n if v >= n else v


@inlined
def _extremes(x: Variables, members: Index) -> tuple[int, float, float]:
    """Return i, g_i and g_j: the largest g that may rise and the smallest that may fall."""
    a, gradient, lower, upper = x.a, x.gradient, x.lower, x.upper
    i, up, low = -1, -np.inf, np.inf
    for v in members:
        g = gradient[v]
        # the comparison that is rarely true comes first: most variables are decided without their bounds
        if g > up and a[v] < upper[v]:
            i, up = v, g
        if g < low and a[v] > lower[v]:
            low = g
    return i, up, low


@inlined
def _partner(x: Variables, i: int, row_i: Vector, members: Index) -> int:
    """Return the j whose pair (i, j) promises the largest gain, (g_i - g_j)^2 / (K_ii + K_jj - 2 K_ij)."""
    a, gradient, lower, diagonal = x.a, x.gradient, x.lower, x.diagonal
    j, best, n = -1, 0.0, len(row_i)
    g_i, k_ii = gradient[i], diagonal[_point(i, n)]
    for v in members:
        difference = g_i - gradient[v]
        if difference > 0.0 and a[v] > lower[v]:
            p = _point(v, n)
            gain = difference * difference / max(k_ii + diagonal[p] - 2.0 * row_i[p], _TINY)
            if gain > best:
                j, best = v, gain
    return j


@inlined
def _move_pair(x: Variables, row_i: Vector, row_j: Vector, step: float, members: Index) -> tuple[int, float, float]:
    """Update the gradient for a_i += step, a_j -= step, and return its new extremes in the same pass."""
    a, gradient, lower, upper = x.a, x.gradient, x.lower, x.upper
    i, up, low, n = -1, -np.inf, np.inf, len(row_i)
    for v in members:
        p = _point(v, n)
        g = gradient[v] - step * (row_i[p] - row_j[p])
        gradient[v] = g
        if g > up and a[v] < upper[v]:
            i, up = v, g
        if g < low and a[v] > lower[v]:
            low = g
    return i, up, low


@compiled
def pair_steps(x: Variables, cached: Rows, clock: int, tau: float, limit: int) -> tuple[int, int, int]:
    """Take up to ``limit`` steps on pairs of one group, which keep the group's sum.

    clock : time of the first step, for ``cached.last_used``

    Returns
    -------
    (why it came back, row it needs, steps taken).
    """
    steps, n, groups = 0, cached.rows.shape[1], len(x.edges) - 1
    a, up, low = x.a, x.up, x.low
    rising = np.empty(groups, dtype=np.int64)
    for k in range(groups):
        members = x.active[x.edges[k] : x.edges[k + 1]]
        rising[k], up[k], low[k] = _extremes(x, members)
    while True:
        worst = np.argmax(up - low)
        if up[worst] - low[worst] <= tau:
            return CONVERGED, -1, steps
        if steps == limit:
            return PAUSED, -1, steps
        i = rising[worst]
        slot = cached.slot_of[_point(i, n)]
        if slot < 0:
            return NEEDS_ROW, _point(i, n), steps
        row_i = cached.rows[slot]
        cached.last_used[slot] = clock + steps
        j = _partner(x, i, row_i, x.active[x.edges[worst] : x.edges[worst + 1]])
        slot = cached.slot_of[_point(j, n)]
        if slot < 0:
            return NEEDS_ROW, _point(j, n), steps
        row_j = cached.rows[slot]
        cached.last_used[slot] = clock + steps
        curvature = max(x.diagonal[_point(i, n)] + x.diagonal[_point(j, n)] - 2.0 * row_i[_point(j, n)], _TINY)
        rise, fall = x.upper[i] - a[i], a[j] - x.lower[j]
        step = min((x.gradient[i] - x.gradient[j]) / curvature, rise, fall)
        # a clipped variable is set to its bound: one rounding error away it would count as free
        a_i = x.upper[i] if step == rise else a[i] + step
        a_j = x.lower[j] if step == fall else a[j] - step
        if a_i == a[i] and a_j == a[j]:
            return STALLED, -1, steps
        a[i], a[j] = a_i, a_j
        steps += 1
        for k in range(groups):
            members = x.active[x.edges[k] : x.edges[k + 1]]
            rising[k], up[k], low[k] = _move_pair(x, row_i, row_j, step, members)


@inlined
def _steepest(x: Variables) -> tuple[int, float, float]:
    """Return the variable with the largest gain g^2 / K_vv among those that may move, and the extremes."""
    i, best, up, low, n = -1, 0.0, 0.0, 0.0, len(x.diagonal)
    for v in x.active:
        g = x.gradient[v]
        if (g > 0.0 and x.a[v] < x.upper[v]) or (g < 0.0 and x.a[v] > x.lower[v]):
            up, low = max(up, g), min(low, g)
            score = g * g / max(x.diagonal[_point(v, n)], _TINY)
            if score > best:
                i, best = v, score
    return i, up, low


@compiled
def single_steps(x: Variables, cached: Rows, clock: int, tau: float, limit: int) -> tuple[int, int, int]:
    """Take up to ``limit`` steps on single variables: no sum is fixed. See :func:`pair_steps`."""
    steps, n, a = 0, cached.rows.shape[1], x.a
    while True:
        i, x.up[0], x.low[0] = _steepest(x)
        if max(x.up[0], -x.low[0]) <= tau:
            return CONVERGED, -1, steps
        if steps == limit:
            return PAUSED, -1, steps
        slot = cached.slot_of[_point(i, n)]
        if slot < 0:
            return NEEDS_ROW, _point(i, n), steps
        row_i = cached.rows[slot]
        cached.last_used[slot] = clock + steps
        target = min(max(a[i] + x.gradient[i] / max(x.diagonal[_point(i, n)], _TINY), x.lower[i]), x.upper[i])
        step = target - a[i]
        if step == 0.0:
            return STALLED, -1, steps
        a[i] = target
        steps += 1
        for v in x.active:
            x.gradient[v] -= step * row_i[_point(v, n)]
