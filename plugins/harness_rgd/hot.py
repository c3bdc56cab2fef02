"""Compiled loops of the trees: the points of a side that lie worst along a node, by selection and never by sorting."""

from __future__ import annotations

import numpy as np

from harness.support.jit import compiled, inner

_TRIED = 1024  # scores, at most, that the bound of what is looked at closely is taken from
_LEAST = 64  # scores, at least: among twice as many all are looked at
_PART = 8  # one of so many is tried otherwise
_SPARE = 3.0  # standard deviations by which that bound is raised


@inner
def _select(values, count, k):  # type: ignore[no-untyped-def]
    """Return the k-th smallest, from 0, of values[:count]; the smaller ones go before it (Hoare's FIND)."""
    low, high = 0, count - 1
    while low < high:
        pivot = values[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while pivot < values[j]:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if k <= j:
            high = j
        elif k >= i:
            low = i
        else:
            break
    return values[k]


@inner
def _bound(scores, side, sign, k, values):  # type: ignore[no-untyped-def]
    """Return a number that most likely more than k of the signed scores are at most, and few others."""
    n = side.size
    if n <= 2 * _LEAST:
        return np.inf
    stride = n // min(_TRIED, max(_LEAST, n // _PART))
    count = 0
    for place in range(0, n, stride):
        values[count] = sign * scores[side[place]]
        count += 1
    share = (k + 1) / n
    rank = int(count * share + _SPARE * np.sqrt(count * share * (1.0 - share)) + 1.0)
    return np.inf if rank >= count else _select(values, count, rank)


@inner
def _collect(scores, side, sign, k, values, points):  # type: ignore[no-untyped-def]
    """Write the signed scores up to a bound, and their points, in the order of ``side``; return how many, over k."""
    bound = _bound(scores, side, sign, k, values)
    while True:
        count = 0
        for place in range(side.size):  # no branch: which scores are small is not to be foretold
            point = side[place]
            value = sign * scores[point]
            values[count] = value
            points[count] = point
            count += value <= bound
        if count > k:
            return count
        bound = np.inf


@compiled
def worst(scores, side, sign, drops, draws, cuts, chosen):  # type: ignore[no-untyped-def]
    """Find what each node keeps of one side, and its samples among the worst points.

    scores : (b, n), a node each row, free of NaN
    side : (m,) the points of the side; sign : +1 where small scores are bad, -1 where large ones are
    drops : (G,) how many of the side may be given up, by guess; all below m
    draws : (b, G, S) places in the pool of the max(1, drop) worst points, in the order of ``side``
    cuts : (b, G), set to the worst score that is kept; chosen : (b, G, S), set to the points drawn

    Of equal scores the earlier points in ``side`` are the worse ones.
    """
    largest = 0
    for g in range(drops.size):
        largest = max(largest, drops[g])
    values, points = np.empty(side.size), np.empty(side.size, dtype=np.int64)
    work, pool = np.empty(side.size), np.empty(side.size + 1, dtype=np.int64)
    for v in range(scores.shape[0]):
        count = _collect(scores[v], side, sign, largest, values, points)
        for g in range(drops.size):
            work[:count] = values[:count]
            cuts[v, g] = sign * _select(work, count, drops[g])
            if draws.shape[2] == 0:
                continue
            last, below = work[0], 0  # of the pool: the largest, and those that are smaller
            size = max(1, drops[g])
            for place in range(1, size):  # the selection has put them first
                last = max(last, work[place])
            for place in range(size):
                below += work[place] < last
            equal, taken = size - below, 0  # so many of those that are equal to the last one belong to the pool
            for place in range(count):
                value = values[place]
                pool[taken] = points[place]
                if value == last:
                    taken += equal > 0
                    equal -= 1
                else:
                    taken += value < last
            for s in range(draws.shape[2]):
                chosen[v, g, s] = pool[draws[v, g, s]]
