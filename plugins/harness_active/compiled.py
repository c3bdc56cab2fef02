"""Compiled loops of active learning with small pools."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.support.jit import compiled


@compiled
def draw(size: int, uniforms: Any) -> Any:
    """Draw a number from 0 to ``size`` - 1 for each uniform number, without replacement (Floyd's algorithm)."""
    drawn = np.empty(uniforms.size, np.int64)
    for k in range(drawn.size):
        most = size - drawn.size + k
        at, repeated = min(int(uniforms[k] * (most + 1)), most), False
        for e in range(k):
            repeated |= drawn[e] == at
        drawn[k] = most if repeated else at
    return drawn


@compiled
def choose(points: Any, place: Any, size: int, uniforms: Any, steady: Any, rank: Any) -> Any:
    """Choose the nearest point of each of several samples, up to the first whose expected label may change the model.

    Parameters
    ----------
    points, place : (n,) the pool, points[:size], and the index of each point in it; changed in place
    uniforms : (queries, candidates) random numbers in [0, 1); candidates is at most the size of the pool at the last query
    steady : see ``Learner.steady``
    rank : (n,) of equally near points the one with the smallest rank is chosen

    Returns
    -------
    (chosen,) f of the chosen points, which are moved to points[size - 1], points[size - 2], ...
    """
    scores, intercept, low, high = steady
    values = np.full(len(uniforms), np.inf)
    for q in range(values.size):
        last, nearest = size - 1 - q, -1
        for at in draw(size - q, uniforms[q]):
            point, f = points[at], scores[points[at]] + intercept
            if abs(f) < abs(values[q]) or (abs(f) == abs(values[q]) and rank[point] < rank[nearest]):
                nearest, values[q] = point, f
        index, moved = place[nearest], points[last]
        points[index], points[last], place[moved], place[nearest] = moved, nearest, index, last
        if low < values[q] < high:
            return values[: q + 1]
    return values
