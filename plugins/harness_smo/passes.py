"""Compiled passes of block SMO around a descent: which variables may move, and which a round works on."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from harness.support.arrays import Index, Vector
from harness.support.jit import compiled, copied, fast, inlined, inner, larger, smaller

_BINS = 1024  # bins of the histogram that finds the largest values
_TINY = 1e-300  # a number below every violation


class Variables(NamedTuple):
    """The active variables, (copies * m,) each; variable v stands at point v mod m."""

    a: Vector
    lower: Vector
    upper: Vector
    linear: Vector
    group: Any


@fast
def _directed(
    a: Vector, lower: Vector, upper: Vector, linear: Vector, scores: Vector, rise: Vector, fall: Vector
) -> None:
    """Do what :func:`directions` does for one copy of the points, but for the ends."""
    for v in range(len(a)):
        g = linear[v] - scores[v]
        rise[v] = g if a[v] < upper[v] else -np.inf
        fall[v] = g if a[v] > lower[v] else np.inf


@fast
def _ends(rise: Vector, fall: Vector, up: float, low: float) -> tuple[float, float]:
    for v in range(len(rise)):
        up, low = larger(up, rise[v]), smaller(low, fall[v])
    return up, low


@compiled
def directions(x: Variables, scores: Vector, ends: Vector, rise: Vector, fall: Vector) -> None:
    """Write the gradient where a variable may rise, else -inf, and where it may fall, else inf; widen ``ends``.

    Parameters
    ----------
    scores : (m,) of the points
    ends : (groups, 2) with the ends before any variable is seen: of each group the largest rise, the smallest fall
    rise, fall : (copies * m,); filled
    """
    m = len(scores)
    for s in range(0, len(x.a), m):
        e = s + m
        _directed(x.a[s:e], x.lower[s:e], x.upper[s:e], x.linear[s:e], scores, rise[s:e], fall[s:e])
    if len(ends) == 1:
        ends[0, 0], ends[0, 1] = _ends(rise, fall, ends[0, 0], ends[0, 1])
    else:
        for v in range(len(x.a)):
            k = x.group[v]
            ends[k, 0], ends[k, 1] = max(ends[k, 0], rise[v]), min(ends[k, 1], fall[v])


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


# -- which variables a round of block SMO works on: compiled, as a round over some thousand points takes less than 1 ms


@compiled
def largest(values: Vector, sign: float, group: Any, k: int, floor: float, count: int) -> Index:
    """Return where the ``count`` largest of group k's ``sign * values`` above ``floor`` are, or all, in no special order.

    By a histogram of those above: the values in the bin where the count is reached are taken as they come. Whether one is
    above is as good as random, so that nothing branches on it.
    """
    above, found = np.empty(len(values) + 1, np.int32), 0
    for v in range(len(values)):
        above[found] = v
        found += (sign * values[v] > floor) & (group[v] == k)
    if found <= count:
        return above[:found].astype(np.intp)
    top = floor
    for p in range(found):
        top = larger(top, sign * values[above[p]])
    bins, scale = np.zeros(_BINS, np.int64), (_BINS / (top - floor) if top - floor < np.inf else 0.0)
    for p in range(found):
        bins[_bin(sign * values[above[p]] - floor, scale)] += 1
    last, more = _BINS, 0
    while last > 0 and more + bins[last - 1] <= count:
        last -= 1
        more += bins[last]
    # bins from `last` on are taken whole; of the bin below, what is left of the count
    rest, taken, chosen = count - more, 0, np.empty(count + 1, np.intp)
    for p in range(found):
        place = _bin(sign * values[above[p]] - floor, scale)
        filling = (place == last - 1) & (rest > 0)
        rest -= filling
        chosen[taken] = above[p]
        taken += (place >= last) | filling
    return chosen[:taken]


@inlined
def _bin(height: float, scale: float) -> Any:
    place: Any = np.uint64(smaller(height * scale, _BINS - 1.0))
    return place


@compiled
def kept(previous: Index, rise: Vector, fall: Vector, ends: Vector, group: Any, count: int) -> Index:
    """Return up to ``count`` of the variables ``previous``, in their order: free ones first, then by violation."""
    if len(previous) <= count:
        return previous
    worth, bound, reach = np.empty(len(previous)), np.zeros(len(previous), np.int8), 0.0
    for p in range(len(previous)):
        v, k = previous[p], group[previous[p]]
        worth[p] = max(rise[v] - ends[k, 1], ends[k, 0] - fall[v])
        bound[p] = (rise[v] == -np.inf) | (fall[v] == np.inf)
        reach = max(reach, worth[p])
    for p in range(len(previous)):  # what is farther from violation than any other violates may be told apart no more
        worth[p] = max(worth[p], -reach)
    left = count
    for k in range(2):
        best = largest(worth, 1.0, bound, k, -1.1 * reach - _TINY, left)
        left -= len(best)
        for p in best:
            bound[p] = 2
    stays, found = np.empty(count, np.intp), 0
    for p in range(len(previous)):
        if bound[p] == 2:
            stays[found] = previous[p]
            found += 1
    return stays[:found]


@inner
def grouped(chosen: Index, group: Any, groups: int) -> tuple[Index, int]:
    """Return the variables, those of the first group first, and where the second one starts."""
    if groups < 2:
        return chosen, len(chosen)
    ordered, place, cut = np.empty_like(chosen), 0, 0
    for k in range(2):
        for v in chosen:
            if group[v] == k:
                ordered[place] = v
                place += 1
        cut = place if k == 0 else cut
    return ordered, cut


@compiled
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
    group : (V,) of each variable; 0 where ``groups`` is 0, and no sum is kept
    """
    for v in stay:
        rise[v], fall[v] = -np.inf, np.inf
    chosen, found = np.empty(size + 2 * groups, np.intp), len(stay)
    copied(stay, 0, chosen, 0, found)
    if groups == 0:
        for v in range(len(rise)):
            rise[v] = larger(rise[v], -fall[v])
        top = largest(rise, 1.0, group, groups, 0.0, size - found)
        copied(top, 0, chosen, found, len(top))
        found += len(top)
    share = max(1, (size - len(stay)) // (2 * groups)) if groups else 0
    for k in range(groups):
        top = largest(rise, 1.0, group, k, ends[k, 1], share)
        for v in top:
            fall[v] = np.inf
        bottom = largest(fall, -1.0, group, k, -ends[k, 0], share)
        copied(top, 0, chosen, found, len(top))
        found += len(top)
        copied(bottom, 0, chosen, found, len(bottom))
        found += len(bottom)
    ordered: tuple[Index, int] = grouped(chosen[:found], group, groups)
    return ordered
