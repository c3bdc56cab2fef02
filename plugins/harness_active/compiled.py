"""The compiled loop of small pools."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.support.jit import compiled


@compiled
def draw(size: int, uniforms: Any) -> Any:
    """Return a random subset of 0 to ``size`` - 1 without replacement (Floyd's algorithm), one for each uniform number."""
    drawn = np.empty(uniforms.size, np.int64)
    for k in range(drawn.size):
        most = size - drawn.size + k
        at, again = min(int(uniforms[k] * (most + 1)), most), False
        for e in range(k):
            again |= drawn[e] == at
        drawn[k] = most if again else at
    return drawn


@compiled
def choose(points: Any, place: Any, size: int, uniforms: Any, steady: Any, rank: Any) -> Any:
    """Choose the nearest of one sample after another until a label may change the model even if it is the sign of f.

    Parameters
    ----------
    points, place : (n,) the pool, points[:size], and where each point stands in it; changed in place
    uniforms : (queries, candidates) random numbers in [0, 1); no more candidates than are left for the last query
    steady : see ``Learner.steady``
    rank : (n,) of points that are equally near the one of the smallest rank is chosen

    Returns
    -------
    (chosen,) |f| of the chosen points; they stand at points[size - 1], points[size - 2], ...
    """
    scores, intercept, low, high = steady
    distances = np.empty(len(uniforms))
    for q in range(distances.size):
        last, nearest = size - 1 - q, -1
        for at in draw(size - q, uniforms[q]):
            point = points[at]
            distance = abs(scores[point] + intercept)
            if nearest < 0 or distance < distances[q] or (distance == distances[q] and rank[point] < rank[nearest]):
                nearest, distances[q] = point, distance
        here, moved = place[nearest], points[last]
        points[here], points[last], place[moved], place[nearest] = moved, nearest, here, last
        if low < scores[nearest] + intercept < high:
            return distances[: q + 1]
    return distances
