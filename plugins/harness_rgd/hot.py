"""Compiled loops of the trees: the worst points of a side along a node, by selection instead of sorting."""

from __future__ import annotations

import numpy as np

from harness.support.jit import compiled, inner

_MAX_SAMPLE = 1024  # largest number of scores from which the bound of a selection is estimated
_MIN_SAMPLE = 64  # smallest such number; a side with at most twice as many points has no bound
_SAMPLE_STRIDE = 8  # number of points per sampled score
_SAFETY = 3.0  # standard deviations that are added to the estimated rank


@inner
def _select(values, count, k):  # type: ignore[no-untyped-def]
    """Return the k-th smallest, from 0, of values[:count] and move the smaller ones before it (Hoare's FIND)."""
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
    """Return a bound that more than k of the signed scores, but few others, most likely do not exceed."""
    n = side.size
    if n <= 2 * _MIN_SAMPLE:
        return np.inf
    stride = n // min(_MAX_SAMPLE, max(_MIN_SAMPLE, n // _SAMPLE_STRIDE))
    count = 0
    for place in range(0, n, stride):
        values[count] = sign * scores[side[place]]
        count += 1
    share = (k + 1) / n
    rank = int(count * share + _SAFETY * np.sqrt(count * share * (1.0 - share)) + 1.0)
    return np.inf if rank >= count else _select(values, count, rank)


@inner
def _collect(scores, side, sign, k, values, points):  # type: ignore[no-untyped-def]
    """Write the signed scores up to a bound and their points, in the order of ``side``; return their number, at least k + 1."""
    bound = _bound(scores, side, sign, k, values)
    while True:
        count = 0
        for place in range(side.size):  # without a branch, as the processor could not predict it
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
    """Compute the worst retained score of one side for each node, and draw samples among its worst points.

    scores : (b, n), a row for each node, without NaN
    side : (m,) the points of the side
    sign : +1 if small scores are bad, -1 if large scores are bad
    drops : (G,) number of points of the side that are given up, by guess; less than m
    draws : (b, G, S) indices into the pool of the max(1, drop) worst points, in the order of ``side``
    cuts : (b, G), set to the worst retained score
    chosen : (b, G, S), set to the drawn points

    Of points with equal scores the earlier ones in ``side`` are worse.
    """
    largest = np.int64(0)  # a literal 0 would compile what is called with it once more
    for g in range(drops.size):
        largest = max(largest, drops[g])
    values, points = np.empty(side.size), np.empty(side.size, dtype=np.int64)
    work, pool = np.empty(side.size), np.empty(side.size + 1, dtype=np.int64)
    for v in range(scores.shape[0]):
        count = _collect(scores[v], side, sign, largest, values, points)
        for g in range(drops.size):
            for place in range(count):  # an assignment of slices compiles a sentence on their shapes for seconds
                work[place] = values[place]
            cuts[v, g] = sign * _select(work, count, drops[g])
            if draws.shape[2] == 0:
                continue
            last, below = work[0], 0  # largest value of the pool, and number of smaller ones
            size = max(1, drops[g])
            for place in range(1, size):  # the pool precedes the selected value in ``work``
                last = max(last, work[place])
            for place in range(size):
                below += work[place] < last
            equal, taken = size - below, 0  # number of values equal to ``last`` in the pool
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
