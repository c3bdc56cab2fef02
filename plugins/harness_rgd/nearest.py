"""Compiled loops for the nearest points of two small hulls, or of a hull to the origin, from a Gram matrix.

Wolfe's algorithm (Mathematical Programming 11, 1976) over the vertices p - q of the hulls' difference. It is exact up to
rounding; the result is always a feasible pair, so that its distance is an upper bound. Callers import this module where they use
it, as it compiles.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.support.jit import compiled, inner

_ACCURACY = 1e-12  # relative gap of |w|^2 at which the search ends
_MAX_VERTICES = 200  # largest number of vertices of which a pair is a combination
_SINGULAR = 1e-13  # pivot, relative to the largest squared length, that counts as 0


@inner
def _affine_minimum(vertices: Any, size: Any, scale: Any, factor: Any, y: Any) -> Any:
    """Write the affine combination of least norm of the first ``size`` vertices to ``y``; return False if they are dependent.

    Solve (G + scale 11') y = 1 by Cholesky and divide y by its sum.

    vertices : (s, s) inner products of the vertices
    factor : (s, s), overwritten
    """
    for i in range(size):
        for j in range(i + 1):
            value = vertices[i, j] + scale
            for k in range(j):
                value -= factor[i, k] * factor[j, k]
            if i > j:
                factor[i, j] = value / factor[j, j]
            elif value <= _SINGULAR * scale:
                return False
            else:
                factor[i, i] = np.sqrt(value)
    for i in range(size):
        y[i] = 1.0
        for k in range(i):
            y[i] -= factor[i, k] * y[k]
        y[i] /= factor[i, i]
    total = 0.0
    for i in range(size - 1, -1, -1):
        for k in range(i + 1, size):
            y[i] -= factor[k, i] * y[k]
        y[i] /= factor[i, i]
        total += y[i]
    for i in range(size):
        y[i] /= total
    return True


@inner
def _remove_unused(vertices: Any, pairs: Any, weights: Any, size: Any) -> Any:
    """Remove the vertices with weight 0 from the first ``size``; return the number of the others.

    pairs : (2, s) the two points whose difference is a vertex
    """
    count = 0
    for k in range(size):
        if weights[k] > 0.0:
            pairs[0, count], pairs[1, count], weights[count] = pairs[0, k], pairs[1, k], weights[k]
            for j in range(size):
                vertices[count, j] = vertices[k, j]
            for j in range(size):
                vertices[j, count] = vertices[j, k]
            count += 1
    return count


@inner
def _convex_minimum(vertices: Any, pairs: Any, weights: Any, size: Any, scale: Any, factor: Any, y: Any) -> Any:
    """Move the weights to the point of least norm in the hull of the vertices; return the number of its vertices."""
    while True:
        if not _affine_minimum(vertices, size, scale, factor, y):
            return _remove_unused(vertices, pairs, weights, size)
        step, leaving = 1.0, -1
        for k in range(size):
            if y[k] <= 0.0:
                far = weights[k] / (weights[k] - y[k]) if weights[k] > y[k] else 0.0
                if leaving < 0 or far < step:
                    step, leaving = far, k
        for k in range(size):
            weights[k] += step * (y[k] - weights[k])
        if leaving < 0:
            return size
        weights[leaving] = 0.0
        size = _remove_unused(vertices, pairs, weights, size)


@inner
def _append_vertex(gram: Any, vertices: Any, pairs: Any, size: Any, up: Any, down: Any) -> Any:
    """Append the vertex ``up`` - ``down``, the origin if negative, to the first ``size`` vertices."""
    pairs[0, size], pairs[1, size] = up, down
    for k in range(size + 1):
        value = gram[up, pairs[0, k]]
        if down >= 0:
            value += gram[down, pairs[1, k]] - gram[up, pairs[1, k]] - gram[down, pairs[0, k]]
        vertices[size, k] = vertices[k, size] = value


@inner
def _expand(gram: Any, pairs: Any, weights: Any, size: Any, coef: Any, scores: Any) -> Any:
    """Write the weights of the points to ``coef`` and the scores of all points to ``scores``; return |w|^2."""
    total, squared = 0.0, 0.0
    for k in range(size):
        total += weights[k]
    for i in range(coef.size):
        coef[i] = scores[i] = 0.0
    for k in range(size):
        coef[pairs[0, k]] += weights[k] / total
        if pairs[1, k] >= 0:
            coef[pairs[1, k]] -= weights[k] / total
    for j in range(coef.size):
        if coef[j] != 0.0:
            for i in range(coef.size):
                scores[i] += coef[j] * gram[j, i]
    for i in range(coef.size):
        squared += coef[i] * scores[i]
    return squared


@inner
def _extremes(scores: Any, side: Any, active: Any) -> Any:
    """Return the active point of the first hull with the least score and of the second with the largest; -1 if none."""
    up = down = -1
    for i in range(side.size):
        if active[i] and side[i] > 0 and (up < 0 or scores[i] < scores[up]):
            up = i
        if active[i] and side[i] < 0 and (down < 0 or scores[i] > scores[down]):
            down = i
    return up, down


@compiled
def nearest(gram: Any, side: Any, active: Any, coef: Any) -> Any:
    """Write the weights of the nearest points to ``coef`` and return their squared distance, >= 0; inf if a hull is empty.

    Parameters
    ----------
    gram : (n, n) float64 inner products
    side : (n,) int64, +1 for the points of the first hull, -1 for those of the second; without -1 the second is the origin
    active : (n,) bool, the points that span the hulls
    coef : (n,) float64, written: +u, -v
    """
    n = len(side)
    scores, two_hulls, scale = np.zeros(n), False, 1e-300
    for i in range(n):
        coef[i] = 0.0
        two_hulls |= side[i] < 0
        scale = max(scale, 4.0 * gram[i, i]) if active[i] else scale
    up, down = _extremes(scores, side, active)
    if up < 0 or (down < 0 and two_hulls):
        return np.inf
    room = min(n + 2, _MAX_VERTICES)
    pairs, weights, y = np.empty((2, room), np.int64), np.empty(room), np.empty(room)
    vertices, factor = np.empty((room, room)), np.empty((room, room))
    size, squared, before = 0, 0.0, np.inf
    for _ in range(50 * room):
        _append_vertex(gram, vertices, pairs, size, up, down)
        weights[size] = 1.0 if size == 0 else 0.0
        size = _convex_minimum(vertices, pairs, weights, size + 1, scale, factor, y)
        squared = _expand(gram, pairs, weights, size, coef, scores)
        up, down = _extremes(scores, side, active)
        reach = scores[up] - (scores[down] if down >= 0 else 0.0)
        near = squared - reach <= _ACCURACY * squared or squared <= _SINGULAR * scale
        present = False
        for k in range(size):
            present |= pairs[0, k] == up and pairs[1, k] == down
        # in exact arithmetic each new vertex lowers the distance
        if near or present or squared >= before or size == room:
            break
        before = squared
    return max(0.0, squared)


@compiled
def bound_by_disjoint_pairs(gram: Any, side: Any, active: Any, free: Any, budget: Any, coef: Any) -> Any:
    """Return the squared distance of the hulls and an upper bound of it after ``budget`` of the ``free`` points are given up.

    The bound is the largest distance of ``budget`` + 1 pairs of points of the hulls with disjoint free support points, as one pair
    is left whichever points are given up. A pair without free support points is always left. The bound is infinite if there
    are fewer pairs.

    coef : (n,) float64, written: the nearest points
    """
    remaining = active.copy()
    squared = nearest(gram, side, remaining, coef)
    pair, bound = coef.copy(), squared
    for _ in range(budget):
        any_free = False
        for i in range(pair.size):
            if free[i] and pair[i] != 0.0:
                remaining[i], any_free = False, True
        if not any_free:
            break
        bound = max(bound, nearest(gram, side, remaining, pair))
        if bound == np.inf:
            break
    return squared, bound
