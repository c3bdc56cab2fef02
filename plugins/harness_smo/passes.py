"""Compiled passes of block SMO around a descent: which variables may move, and which a round works on."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from harness.support.arrays import Block, Index, Vector
from harness.support.jit import add_rows, compiled

_TOUCHING = 1e-12  # relative distance from a bound up to which a variable is at it


class Variables(NamedTuple):
    """The active variables, (copies * m,) each; variable v stands at point v mod m."""

    a: Vector
    lower: Vector
    upper: Vector
    linear: Vector
    group: Any


@compiled
def directions(x: Variables, scores: Vector, ends: Vector, rise: Vector, fall: Vector) -> None:
    """Write the gradient where a variable may rise, else -inf, and where it may fall, else inf; widen ``ends``.

    Parameters
    ----------
    scores : (m,) of the points
    ends : (groups, 2) with the ends before any variable is read: of each group the largest rise, the smallest fall
    rise, fall : (copies * m,), or (m,) where the two variables of a point count as one of either sign; filled
    """
    m, w = len(scores), len(rise)
    for v in range(len(x.a)):
        k, p, g = x.group[v], v if v < w else v - w, x.linear[v] - scores[v if v < m else v - m]
        up, low = g if x.a[v] < x.upper[v] else -np.inf, g if x.a[v] > x.lower[v] else np.inf
        rise[p], fall[p] = (up, low) if v < w else (max(up, rise[p]), min(low, fall[p]))
        # branches that are rarely taken
        if up > ends[k, 0]:
            ends[k, 0] = up
        if low < ends[k, 1]:
            ends[k, 1] = low


@compiled
def settle(x: Variables, scores: Vector, ends: Vector, work: Any, descended: bool) -> tuple[int, int]:
    """Take over what a descent in all variables has moved, and state the next one; return how many moved and how many are free.

    Parameters
    ----------
    x, scores, ends : as in :func:`directions`; ``a`` and the scores change
    work : the WorkingSet of all variables, with their whole kernel matrix
    descended : whether ``work`` comes from a descent
    """
    m, w, moved, free = len(scores), len(work.a), 0, 0
    other, points, change = len(x.a) - w, np.empty(w, np.intp), np.empty(w)
    for v in range(w if descended else 0):
        change[moved] = work.a[v] - (x.a[v] + x.a[v + other] if other else x.a[v])
        if change[moved] != 0.0:
            x.a[v] = max(work.a[v], 0.0) if other else work.a[v]
            if other:
                x.a[v + other] = min(work.a[v], 0.0)
            points[moved] = v if v < m else v - m
            moved += 1
    add_rows(scores, work.kernel, points[:moved], change[:moved], np.int64(0), m)
    for v in range(len(x.a)):
        k, g = x.group[v], x.linear[v] - scores[v if v < m else v - m]
        rises, falls = x.a[v] < x.upper[v], x.a[v] > x.lower[v]
        free += rises and falls
        if rises and g > ends[k, 0]:
            ends[k, 0] = g
        if falls and g < ends[k, 1]:
            ends[k, 1] = g
    for v in range(w):
        u = v + other
        work.a[v] = x.a[v] + x.a[u] if other else x.a[v]
        work.lower[v], work.upper[v] = x.lower[u], x.upper[v]
        # a point's two variables, which are one of either sign here, have the slopes middle - tube and middle + tube
        work.gradient[v] = 0.5 * (x.linear[v] + x.linear[u]) - scores[v if v < m else v - m]
        work.tube[v] = 0.5 * (x.linear[u] - x.linear[v])
    return moved, free


@compiled
def distances(x: Variables, scores: Vector, ends: Vector) -> Vector:
    """Return how far below the first end what may rise and above the second what may fall is, the least at each point, (m,).

    Parameters
    ----------
    scores : (m,) of the points
    ends : (groups, 2) of each group
    """
    m = len(scores)
    least = np.full(m, np.inf)
    for v in range(len(x.a)):
        p, k = v if v < m else v - m, x.group[v]
        g = x.linear[v] - scores[p]
        if x.a[v] < x.upper[v]:
            least[p] = min(least[p], ends[k, 0] - g)
        if x.a[v] > x.lower[v]:
            least[p] = min(least[p], g - ends[k, 1])
    return least


@compiled
def ratio_of_bounds(x: Variables, linear: Vector, lower: Vector, upper: Vector) -> float:
    """Return by what common factor, at least 1, other bounds are wider; 0 if there is none, or ``linear`` is another one."""
    ratio = np.max(upper) / np.max(x.upper)
    common = 1.0 <= ratio < np.inf
    for v in range(len(upper)):
        below, above = abs(lower[v] - ratio * x.lower[v]), abs(upper[v] - ratio * x.upper[v])
        touches = below <= _TOUCHING * abs(lower[v]) and above <= _TOUCHING * abs(upper[v])
        common &= touches and linear[v] == x.linear[v]
    return ratio if common else 0.0


@compiled
def pick(matrix: Block, points: Index, block: Block) -> None:
    """Write matrix[points][:, points] to ``block``; several times as fast as numpy."""
    for p in range(len(points)):
        source, target = matrix[points[p]], block[p]
        for q in range(len(points)):
            target[q] = source[points[q]]


# -- which variables a round works on


def _worst(values: Vector, floor: float, count: int, members: Any = True) -> Index:
    """Return where the ``count`` largest values of ``members`` above ``floor`` are, or all of them."""
    above = np.flatnonzero((values > floor) & members)
    return above if len(above) <= count else above[np.argpartition(-values[above], count)[:count]]


def staying(previous: Index, rise: Vector, fall: Vector, ends: Vector, group: Any, count: int) -> Index:
    """Return up to ``count`` of the variables ``previous``, in order: free ones first, then by violation."""
    if len(previous) <= count:
        return np.sort(previous)
    up, low, k = rise[previous], fall[previous], group[previous]
    violation, fixed = np.maximum(up - ends[k, 1], ends[k, 0] - low), up != low  # at a bound, or at 0 in a tube
    return np.sort(previous[np.lexsort((-violation, fixed))[:count]])


def choose(
    rise: Vector, fall: Vector, ends: Vector, group: Any, groups: int, stay: Index, size: int
) -> tuple[Index, int]:
    """Return up to ``size`` variables (at least two more of a group), first group first, and where the second one starts.

    Those that stay from the last one, and others that violate most: in each group half from the top of those that may
    rise, half from the bottom of those that may fall.

    Parameters
    ----------
    rise, fall : (V,) the gradient where a variable may rise (fall), else -inf (inf); changed in place
    ends : (groups, 2), of each group, the largest entry of ``rise`` and the smallest of ``fall``
    group : (V,) of each variable; 0 where ``groups`` is 0, and no sum is fixed
    """
    rise[stay], fall[stay] = -np.inf, np.inf
    if groups == 0:
        return grouped(np.concatenate([stay, _worst(np.maximum(rise, -fall), 0.0, size - len(stay))]), group, groups)
    share, parts = max(1, (size - len(stay)) // (2 * groups)), [stay]
    for k in range(groups):
        members = group == k if groups == 2 else True
        top = _worst(rise, ends[k, 1], share, members)
        fall[top] = np.inf
        parts += [top, _worst(-fall, -ends[k, 0], share, members)]
    return grouped(np.concatenate(parts), group, groups)


def grouped(chosen: Index, group: Any, groups: int) -> tuple[Index, int]:
    """Return the variables ``chosen``, the first group first, and where the second one starts."""
    if groups < 2:
        return chosen, len(chosen)
    return chosen[np.argsort(group[chosen], kind="stable")], int(np.count_nonzero(group[chosen] == 0))
