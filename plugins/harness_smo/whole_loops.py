"""The compiled loop of block SMO over points whose whole kernel matrix is at hand: rounds without Python between them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from harness.arrays import Block, Index, Matrix, Vector
from harness.jit import add_rows, compiled, inlined
from harness_smo.block_loops import RESOLUTION, WorkingSet, joint_descent, pair_descent
from harness_smo.block_passes import grouped, largest

# why the loop came back
DONE, STUCK, DEAR, PAUSED = 0, 1, 2, 3

_LEAST = 256  # variables of a part: fewer save nothing
_WIDTH = 1.5  # times the variables that are free or violate, the nearest to that: the part that is descended in
_BEYOND = 1.001  # times the distance of the furthest variable: a floor below it
_PART = 0.7  # of all variables; a larger part is not put apart
_PICKED = 4.0  # times as long as a value of a block: what a step takes a variable, its block far from the cache
_SHARE = 0.1  # of the violation, left to the next round by the descent in a part
_LONG = 3  # steps of a descent at most, times its variables
# what minimising over the face of f free variables costs, in steps times variables: by factors, or conjugate gradients
_FACE, _FACTOR, _TURNS = 3e5, 0.03, 18.0


class Whole(NamedTuple):
    """Points, their variables, and their kernel matrix, m points and copies * m variables.

    matrix, diagonal : (m, m) and (m,), float32 or float64
    a, scores : (copies * m,) and (m,) float64; change
    lower, upper, linear, group : (copies * m,)
    """

    matrix: Block
    diagonal: Block
    a: Vector
    scores: Vector
    lower: Vector
    upper: Vector
    linear: Vector
    group: Any


class Turn(NamedTuple):
    """What is kept from one call to the next, and changes.

    begun : (1,) whether a round was made before: the first one takes all variables
    spent : (3,) steps times variables since the last face; kernel rows that were added to the scores; steps of the last round
    parts : for the blocks of parts, half of the variables squared at least
    ends : (2, 2) of each group the largest g that may rise and the smallest that may fall, where the loop came back
    """

    begun: Any
    spent: Vector
    parts: Block
    ends: Matrix


@inlined
def _survey(x: Whole, gradient: Vector, ends: Matrix, middle: Vector, groups: int) -> tuple[float, int, float]:
    """Fill the gradient, (V,), the ends and middle of each group, (2, 2) and (2,).

    Returns
    -------
    (the violation, how many are free, the largest |g|).
    """
    m, free, size = len(x.scores), np.zeros(2, np.int64), 0.0
    ends[:, 0], ends[:, 1], middle[:] = -np.inf, np.inf, 0.0
    if groups == 0:
        ends[0] = 0.0
    for v in range(len(x.a)):
        g = x.linear[v] - x.scores[v if v < m else v - m]
        gradient[v] = g
        size = max(size, abs(g))
        k = x.group[v]
        may_rise, may_fall = x.a[v] < x.upper[v], x.a[v] > x.lower[v]
        if may_rise:
            ends[k, 0] = max(ends[k, 0], g)
        if may_fall:
            ends[k, 1] = min(ends[k, 1], g)
        if may_rise and may_fall:
            middle[k] += g
            free[k] += 1
    if groups == 0:
        middle[:] = 0.0
        return max(ends[0, 0], -ends[0, 1]), free[0], size
    worst = 0.0
    for k in range(groups):
        worst = max(worst, ends[k, 0] - ends[k, 1])
        if free[k]:
            middle[k] /= free[k]
        elif np.isfinite(ends[k, 0]) and np.isfinite(ends[k, 1]):
            middle[k] = 0.5 * (ends[k, 0] + ends[k, 1])
    return worst, free[0] + free[1], size


@inlined
def _part(x: Whole, gradient: Vector, middle: Vector, beyond: Vector, expected: float) -> Index:
    """Return the variables that are free, violate, or come nearest to that; all where that is most of them.

    expected : steps: where a few are, all variables in each take less time than to put a block together; infinite where all
        need a block too
    """
    count, furthest, near = 0, 0.0, np.empty(len(x.a), np.int8)
    for v in range(len(x.a)):
        off = gradient[v] - middle[x.group[v]]
        far = -np.inf
        if x.a[v] < x.upper[v]:
            far = off
        if x.a[v] > x.lower[v]:
            far = max(far, -off)
        beyond[v] = far
        near[v] = far >= 0.0
        count += near[v]
        if far > -np.inf:
            furthest = min(furthest, far)
    size = max(_LEAST, int((_WIDTH if len(x.a) == len(x.scores) else 1.0) * count))
    if size >= _PART * len(x.a) or float(size) * size >= _PICKED * expected * (len(x.a) - size):
        return np.arange(len(x.a))
    # of those that are free or violate none may be missing, and the histogram cannot tell a small violation from none
    chosen = near > 0
    chosen[largest(beyond, 1.0, near, 0, _BEYOND * furthest, size - count)] = True
    return np.flatnonzero(chosen)


@inlined
def _pick(matrix: Block, points: Index, block: Block) -> None:
    for p in range(len(points)):
        source, target = matrix[points[p]], block[p]
        for q in range(len(points)):
            target[q] = source[points[q]]


@compiled
def picked(matrix: Block, points: Index) -> Block:
    """Return matrix[points][:, points]; several times as fast as numpy."""
    block = np.empty((len(points), len(points)), matrix.dtype)
    _pick(matrix, points, block)
    return block


@compiled
def descend_whole(
    x: Whole, turn: Turn, sums: int | None, tau: float, patience: float, limit: int
) -> tuple[int, int, int]:
    """Rounds of SMO, each over the variables that matter now, until no pair violates by tau.

    Parameters
    ----------
    sums : how many are fixed; None, not 0, for none: only one of the two descents is compiled then
    patience : come back when the steps since the last face have cost this many times as much as another one
    limit : steps at most

    Returns
    -------
    (why it came back, steps, rounds).
    """
    variables, m, groups = len(x.a), len(x.scores), 0 if sums is None else sums
    gradient, beyond = np.empty(variables), np.empty(variables)
    ends, middle = turn.ends, np.empty(2)
    rounding = np.spacing(np.ones(1, x.matrix.dtype)).astype(np.float64)
    steps = rounds = 0
    # the matrix itself is the block of all variables: one stands at each point, class by class
    at_hand = variables == m and bool((x.group[1:] >= x.group[:-1]).all())
    while True:
        violation, free, size = _survey(x, gradient, ends, middle, groups)
        if violation <= tau:
            return DONE, steps, rounds
        noise = RESOLUTION * rounding[0] * size
        if violation <= noise:
            return STUCK, steps, rounds
        dear = patience * (_FACE + min(_FACTOR * float(free) ** 3, _TURNS * float(free) ** 2))
        if turn.spent[0] > 0.0 and turn.spent[0] >= dear:
            return DEAR, steps, rounds
        if steps >= limit:
            return PAUSED, steps, rounds
        # of two variables at a point one rests: all of them would make a block of four times the matrix
        some = turn.begun[0] or variables > m
        chosen = (
            _part(x, gradient, middle, beyond, turn.spent[2] if at_hand else np.inf) if some else np.arange(variables)
        )
        chosen, cut = grouped(chosen, x.group, groups)
        w = len(chosen)
        work, points = _working_set(x, turn, chosen, gradient, w == variables and at_hand)
        most = w
        if turn.begun[0]:
            most = int(min(float(_LONG * w), max(float(w // 2), (dear - turn.spent[0]) / w + 1.0)))
        most = min(most, limit - steps)
        inner = max(0.5 * tau, noise, 0.0 if w == variables else _SHARE * violation)
        if sums is None:  # noqa: SIM108 -- numba compiles one side of a branch on None, and both of an expression
            taken = joint_descent(work, inner, most)
        else:
            taken = pair_descent(work, cut, inner, most)
        turn.begun[0], turn.spent[2] = True, max(float(taken), 1.0)
        turn.spent[0] += float(taken) * w
        steps += taken
        rounds += 1
        moved = _moved(x, chosen, points, work.a)
        turn.spent[1] += moved
        if moved == 0:
            return STUCK, steps, rounds


@inlined
def _working_set(x: Whole, turn: Turn, chosen: Index, gradient: Vector, all_of_it: bool) -> tuple[WorkingSet, Index]:
    """Return the variables ``chosen`` with their kernel block, and their points."""
    w, m = len(chosen), len(x.scores)
    a, g, lower, upper = np.empty(w), np.empty(w), np.empty(w), np.empty(w)
    diagonal, points = np.empty(w, x.matrix.dtype), np.empty(w, np.intp)
    for p in range(w):
        v = chosen[p]
        points[p] = v if v < m else v - m
        a[p], g[p], lower[p], upper[p] = x.a[v], gradient[v], x.lower[v], x.upper[v]
        diagonal[p] = x.diagonal[points[p]]
    if all_of_it:
        return WorkingSet(x.matrix, diagonal, a, lower, upper, g), points
    parts = turn.parts if w * w <= len(turn.parts) else np.empty(w * w, x.matrix.dtype)
    block = parts[: w * w].reshape(w, w)
    _pick(x.matrix, points, block)
    return WorkingSet(block, diagonal, a, lower, upper, g), points


@inlined
def _moved(x: Whole, chosen: Index, points: Index, a: Vector) -> int:
    """Bring the variables ``a`` of a working set, and what they change of the scores, to the whole; return how many moved."""
    slots, change, moved = np.empty(len(a), np.intp), np.empty(len(a)), 0
    for p in range(len(a)):
        v = chosen[p]
        if a[p] != x.a[v]:
            slots[moved], change[moved] = points[p], a[p] - x.a[v]
            x.a[v] = a[p]
            moved += 1
    add_rows(x.scores, x.matrix, slots[:moved], change[:moved], 0, len(x.scores))
    return moved
