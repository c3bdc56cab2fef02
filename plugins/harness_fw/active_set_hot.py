"""The compiled loops of the core set: pair descent on its kernel matrix.

Members of a core set lie in one or two panels, one a class: places begin[s] .. begin[s] + size[s] - 1 of every array,
so that each loop runs over neighbours. Everything is signed by the label: matrix[a, b] = y_a y_b k(a, b), and
score[a] = y_a <w, phi(a)> = sum_b weight_b matrix[a, b].
"""

from __future__ import annotations

import numpy as np

from harness.arrays import Index, Vector
from harness.jit import compiled

# why the descent came back
STEPS, SOLVED, TOUCHING, STALLED = range(4)

_TINY = 1e-14  # of the diagonal: stands for a curvature of zero, two points on top of each other
_PATIENCE = 100  # steps in a row that do not make |w|^2 smaller: rounding is at work


@compiled
def _extremes(score: Vector, weight: Vector, cap: float, begin: int, end: int) -> tuple[int, int]:
    """Return the place of the smallest score of a weight below its cap, and of the largest of one in use; -1 if none."""
    lowest, near, highest, far = np.inf, -1, -np.inf, -1
    for k in range(begin, end):
        value = score[k]
        if value < lowest and weight[k] < cap:
            lowest, near = value, k
        if value > highest and weight[k] > 0.0:
            highest, far = value, k
    return near, far


@compiled
def _partner(matrix: Vector, weight: Vector, score: Vector, near: int, begin: int, end: int) -> int:
    """Return the place whose weight, moved to ``near``, promises the largest gain, (g_k - g_i)^2 / |phi_k - phi_i|^2."""
    row, own, level = matrix[near], matrix[near, near], score[near]
    best, chosen = 0.0, -1
    for k in range(begin, end):
        difference = score[k] - level
        if difference > 0.0 and weight[k] > 0.0:
            curvature = own + matrix[k, k] - 2.0 * row[k]
            gain = difference * difference / max(curvature, _TINY * (own + matrix[k, k]))
            if gain > best:
                best, chosen = gain, k
    return chosen


@compiled
def _pair(
    matrix: Vector, weight: Vector, score: Vector, begin: Index, size: Index, caps: Vector
) -> tuple[float, int, int, int]:
    """Return the violations of all classes together, and of the worst: its side, the place to gain, the one to lose."""
    near, widest, total, worst = -1, 0.0, 0.0, 0
    for side in range(len(begin)):
        low, high = _extremes(score, weight, caps[side], begin[side], begin[side] + size[side])
        if low < 0 or high < 0:
            continue
        violation = score[high] - score[low]
        total += max(0.0, violation)
        if violation > widest:
            widest, near, worst = violation, low, side
    if near < 0:
        return total, worst, -1, -1
    return total, worst, near, _partner(matrix, weight, score, near, begin[worst], begin[worst] + size[worst])


@compiled
def _shift(weight: Vector, near: int, far: int, step: float, cap: float) -> float:
    """Move ``step`` of weight from ``far`` to ``near``, what they have room for; bounds are met exactly."""
    if step >= weight[far] and weight[far] <= cap - weight[near]:
        step = weight[far]
        weight[near] += step
        weight[far] = 0.0
    elif step >= cap - weight[near]:
        step = cap - weight[near]
        weight[far] -= step
        weight[near] = cap
    else:
        weight[near] += step
        weight[far] -= step
    return step


@compiled
def descend(
    matrix: Vector,
    weight: Vector,
    score: Vector,
    begin: Index,
    size: Index,
    caps: Vector,
    tolerance: float,
    floor: float,
    steps: int,
) -> tuple[int, int]:
    """Move weight between pairs of one class until no pair is worth it; return why it ended, and the steps taken.

    The pair of the class with the larger violation, the second point by second-order gain (Fan, Chen, Lin, JMLR 6, 2005).

    Parameters
    ----------
    weight, score : changed in place
    tolerance : the violations of all classes together, over |w|^2, at which it is solved
    floor : |w|^2 at which w counts as zero
    """
    norm = 0.0
    for side in range(len(begin)):
        for k in range(begin[side], begin[side] + size[side]):
            norm += weight[k] * score[k]
    idle = 0
    for taken in range(steps + 1):
        if norm <= floor:
            return TOUCHING, taken
        total, side, near, far = _pair(matrix, weight, score, begin, size, caps)
        if near < 0 or total <= tolerance * norm:
            return SOLVED, taken
        if taken == steps:
            return STEPS, taken
        row, other = matrix[near], matrix[far]
        difference = score[far] - score[near]
        curvature = max(row[near] + other[far] - 2.0 * row[far], _TINY * (row[near] + other[far]))
        step = _shift(weight, near, far, difference / curvature, caps[side])
        for panel in range(len(begin)):
            start, stop = begin[panel], begin[panel] + size[panel]
            part, toward, away = score[start:stop], row[start:stop], other[start:stop]
            for k in range(len(part)):
                part[k] += step * (toward[k] - away[k])
        lower = norm - step * (2.0 * difference - step * curvature)
        idle = 0 if lower < norm else idle + 1
        norm = lower
        if idle > _PATIENCE:
            return STALLED, taken + 1
    return STEPS, steps
