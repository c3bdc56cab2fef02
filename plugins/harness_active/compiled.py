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
def choose(points: Any, size: int, uniforms: Any, scores: Any, intercept: float, rank: Any) -> int:
    """Return the nearest point of a sample of points[:size], of equally near ones the one with the smallest rank."""
    nearest, least = -1, np.inf
    for at in draw(size, uniforms):
        point, distance = points[at], abs(scores[points[at]] + intercept)
        if distance < least or (distance == least and rank[point] < rank[nearest]):
            nearest, least = point, distance
    return nearest
