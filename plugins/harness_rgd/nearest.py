"""Nearest points of two small hulls, or of one to the origin, from Gram matrices: compiled, so imported where called.

Wolfe's algorithm (Mathematical Programming 11, 1976) over the vertices p - q of the hulls' difference. It is exact but
for rounding; whatever it returns is a feasible pair, so that its distance bounds the true one from above.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.support.jit import compiled, inner

_ACCURACY = 1e-12  # of |w|^2, at which the pair is taken to be nearest
_CORRAL = 200  # vertices that a pair is a combination of, at most
_SINGULAR = 1e-13  # a pivot that small, relative to the largest squared length, is rounding


@inner
def _combined(vertices: Any, size: Any, scale: Any, factor: Any, y: Any) -> Any:
    """Write the affine combination of least norm of the first ``size`` vertices to ``y``; False if they are dependent.

    Solves (G + scale 11') y = 1 by Cholesky and divides by the sum.

    vertices : (s, s) inner products of the vertices; factor : (s, s), written over
    """
    for i in range(size):
        for j in range(i + 1):
            value = vertices[i, j] + scale - (factor[i, :j] * factor[j, :j]).sum()
            if i > j:
                factor[i, j] = value / factor[j, j]
            elif value <= _SINGULAR * scale:
                return False
            else:
                factor[i, i] = np.sqrt(value)
    for i in range(size):
        y[i] = (1.0 - (factor[i, :i] * y[:i]).sum()) / factor[i, i]
    for i in range(size - 1, -1, -1):
        y[i] = (y[i] - (factor[i + 1 : size, i] * y[i + 1 : size]).sum()) / factor[i, i]
    total = y[:size].sum()
    y[:size] /= total
    return True


@inner
def _left(vertices: Any, pairs: Any, weights: Any, size: Any) -> Any:
    """Take the vertices without weight out of the first ``size``; return how many are left.

    pairs : (2, s) the points that each vertex is the difference of
    """
    kept = 0
    for k in range(size):
        if weights[k] > 0.0:
            pairs[:, kept], weights[kept] = pairs[:, k], weights[k]
            vertices[kept, :size] = vertices[k, :size]
            vertices[:size, kept] = vertices[:size, k]
            kept += 1
    return kept


@inner
def _settled(vertices: Any, pairs: Any, weights: Any, size: Any, scale: Any, factor: Any, y: Any) -> Any:
    """Move the weights to the point of least norm of the vertices' hull, and return how many vertices it needs."""
    while True:
        if not _combined(vertices, size, scale, factor, y):
            return _left(vertices, pairs, weights, size)
        step, leaving = 1.0, -1
        for k in range(size):
            if y[k] <= 0.0:
                far = weights[k] / (weights[k] - y[k]) if weights[k] > y[k] else 0.0
                if leaving < 0 or far < step:
                    step, leaving = far, k
        weights[:size] += step * (y[:size] - weights[:size])
        if leaving < 0:
            return size
        weights[leaving] = 0.0
        size = _left(vertices, pairs, weights, size)


@inner
def _join(gram: Any, vertices: Any, pairs: Any, size: Any, up: Any, down: Any) -> Any:
    """Write the inner products of the vertex ``up`` - ``down`` (the origin if negative) behind the first ``size``."""
    pairs[0, size], pairs[1, size] = up, down
    for k in range(size + 1):
        value = gram[up, pairs[0, k]]
        if down >= 0:
            value += gram[down, pairs[1, k]] - gram[up, pairs[1, k]] - gram[down, pairs[0, k]]
        vertices[size, k] = vertices[k, size] = value


@inner
def _spread(gram: Any, pairs: Any, weights: Any, size: Any, coef: Any, scores: Any) -> Any:
    """Write the weights of the points to ``coef``, and what they make of all points to ``scores``; return |w|^2."""
    total = weights[:size].sum()
    coef[:], scores[:] = 0.0, 0.0
    for k in range(size):
        coef[pairs[0, k]] += weights[k] / total
        if pairs[1, k] >= 0:
            coef[pairs[1, k]] -= weights[k] / total
    for j in np.flatnonzero(coef):
        scores += coef[j] * gram[j]
    return (coef * scores).sum()


@inner
def _extremes(scores: Any, side: Any, active: Any) -> Any:
    """Return the active point of the first hull with the least score, and of the second with the largest; -1 if none."""
    ups, downs = np.flatnonzero(active & (side > 0)), np.flatnonzero(active & (side < 0))
    up = ups[scores[ups].argmin()] if len(ups) else -1
    return up, downs[scores[downs].argmax()] if len(downs) else -1


@compiled
def nearest(gram: Any, side: Any, active: Any, coef: Any) -> Any:
    """Write the weights of the nearest points to ``coef`` and return their squared distance, >= 0; inf if a hull is empty.

    Parameters
    ----------
    gram : (n, n) float64 inner products
    side : (n,) int64, +1 the points of the first hull, -1 those of the second; no -1 at all: the origin is the second
    active : (n,) bool, the points that take part
    coef : (n,) float64, written: +u, -v
    """
    n = len(side)
    coef[:] = 0.0
    scores = np.zeros(n)
    up, down = _extremes(scores, side, active)
    if up < 0 or (down < 0 and side.min() < 0):
        return np.inf
    room, scale = min(n + 2, _CORRAL), max(1e-300, 4.0 * np.diag(gram)[active].max())
    pairs, weights, y = np.empty((2, room), np.int64), np.empty(room), np.empty(room)
    vertices, factor = np.empty((room, room)), np.empty((room, room))
    size, squared, before = 0, 0.0, np.inf
    for _ in range(50 * room):
        _join(gram, vertices, pairs, size, up, down)
        weights[size] = 1.0 if size == 0 else 0.0
        size = _settled(vertices, pairs, weights, size + 1, scale, factor, y)
        squared = _spread(gram, pairs, weights, size, coef, scores)
        up, down = _extremes(scores, side, active)
        reach = scores[up] - (scores[down] if down >= 0 else 0.0)
        near = squared - reach <= _ACCURACY * squared or squared <= _SINGULAR * scale
        known = ((pairs[0, :size] == up) & (pairs[1, :size] == down)).any()
        # in exact arithmetic each vertex that joins takes something off
        if near or known or squared >= before or size == room:
            break
        before = squared
    return max(0.0, squared)


@compiled
def groups(gram: Any, side: Any, active: Any, free: Any, budget: Any, coef: Any) -> Any:
    """Return an upper bound of the squared distance that is left when ``budget`` of the ``free`` points are given up.

    ``budget`` + 1 pairs of points of the hulls whose free support points are disjoint: one pair stays whole, whoever is
    given up. A pair without free support points stays anyway. inf where there are not as many.

    coef : (n,) float64, written: the first pair, the nearest points
    """
    left = active.copy()
    squared = nearest(gram, side, left, coef)
    here, bound = coef.copy(), squared
    for _ in range(budget):
        support = (here != 0.0) & free
        if not support.any():
            break
        left &= ~support
        bound = max(bound, nearest(gram, side, left, here))
        if bound == np.inf:
            break
    return squared, bound
