"""The compiled loop of block SMO over points whose whole kernel matrix is at hand: rounds without Python between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from harness.jit import compiled, inlined
from harness.kernels.compiled import add_rows
from harness_smo.block_loops import WorkingSet, joint_descent, pair_descent
from harness_smo.working_set import largest

if TYPE_CHECKING:
    from harness.arrays import Block, Index, Vector

# why the loop came back
DONE, STUCK, DEAR, PAUSED = 0, 1, 2, 3

_LEAST = 256  # variables of a part: fewer save nothing
_WIDTH = 1.5  # times the variables that are free or violate, the nearest to that: the part that is descended in
_PART = 0.7  # of all variables; a larger part is not put apart
_SHARE = 0.1  # of the violation, left to the next round by the descent in a part
_LONG = 3  # steps of a descent at most, times its variables
# what minimising over the face of f free variables costs, in steps times variables: by factors, or conjugate gradients
_FACE, _FACTOR, _TURNS = 1e6, 0.03, 18.0


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
    spent : (1,) steps times variables since the last face
    parts : for the blocks of parts, half of the variables squared at least
    """

    begun: Any
    spent: Vector
    parts: Block


@inlined
def _survey(x: Whole, gradient: Vector, ends: Vector, middle: Vector, groups: int) -> tuple[float, int]:
    """Fill the gradient, (V,), the ends and middle of each group, (2, 2) and (2,); return the violation and who is free."""
    m, free = len(x.scores), np.zeros(2, np.int64)
    ends[:, 0], ends[:, 1], middle[:] = -np.inf, np.inf, 0.0
    if groups == 0:
        ends[0] = 0.0
    for v in range(len(x.a)):
        g = x.linear[v] - x.scores[v if v < m else v - m]
        gradient[v] = g
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
        return max(ends[0, 0], -ends[0, 1]), free[0] + free[1]
    worst = 0.0
    for k in range(groups):
        worst = max(worst, ends[k, 0] - ends[k, 1])
        if free[k]:
            middle[k] /= free[k]
        elif np.isfinite(ends[k, 0]) and np.isfinite(ends[k, 1]):
            middle[k] = 0.5 * (ends[k, 0] + ends[k, 1])
    if groups == 0:
        middle[:] = 0.0
    return worst, free[0] + free[1]


@inlined
def _part(x: Whole, gradient: Vector, middle: Vector, beyond: Vector) -> Index:
    """Return the variables that are free, violate, or come nearest to that; all where that is most of them."""
    count, furthest = 0, np.inf
    for v in range(len(x.a)):
        off = gradient[v] - middle[x.group[v]]
        far = -np.inf
        if x.a[v] < x.upper[v]:
            far = off
        if x.a[v] > x.lower[v]:
            far = max(far, -off)
        beyond[v] = far
        count += far >= 0.0
        if far > -np.inf:
            furthest = min(furthest, far)
    size = max(_LEAST, int(_WIDTH * count))
    if size >= _PART * len(x.a):
        return np.arange(len(x.a))
    nearest: Index = largest(beyond, 1.0, np.zeros(len(beyond), np.int8), 0, furthest - 1.0, size)
    return nearest


@inlined
def _in_groups(chosen: Index, group: Any, groups: int) -> tuple[Index, int]:
    """Return the variables, those of the first group first, and where the second one starts."""
    if groups < 2:
        return chosen, len(chosen)
    sorted_, cut = np.empty_like(chosen), 0
    for v in chosen:
        if group[v] == 0:
            sorted_[cut] = v
            cut += 1
    place = cut
    for v in chosen:
        if group[v] != 0:
            sorted_[place] = v
            place += 1
    return sorted_, cut


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
def descend_whole(x: Whole, turn: Turn, groups: int, tau: float, patience: float, limit: int) -> tuple[int, int, int]:
    """Rounds of SMO, each over the variables that matter now, until no pair violates by tau.

    Parameters
    ----------
    patience : come back when the steps since the last face have cost this many times as much as another one
    limit : steps at most

    Returns
    -------
    (why it came back, steps, rounds).
    """
    variables, m = len(x.a), len(x.scores)
    gradient, beyond = np.empty(variables), np.empty(variables)
    ends, middle = np.empty((2, 2)), np.empty(2)
    steps = rounds = 0
    while True:
        violation, free = _survey(x, gradient, ends, middle, groups)
        if violation <= tau:
            return DONE, steps, rounds
        dear = patience * (_FACE + min(_FACTOR * float(free) ** 3, _TURNS * float(free) ** 2))
        if turn.spent[0] > 0.0 and turn.spent[0] >= dear:
            return DEAR, steps, rounds
        if steps >= limit:
            return PAUSED, steps, rounds
        chosen = _part(x, gradient, middle, beyond) if turn.begun[0] else np.arange(variables)
        chosen, cut = _in_groups(chosen, x.group, groups)
        w = len(chosen)
        a, g = np.empty(w), np.empty(w)
        lower, upper, diagonal = np.empty(w), np.empty(w), np.empty(w, x.matrix.dtype)
        points = np.empty(w, np.intp)
        for p in range(w):
            v = chosen[p]
            points[p] = v if v < m else v - m
            a[p], g[p], lower[p], upper[p] = x.a[v], gradient[v], x.lower[v], x.upper[v]
            diagonal[p] = x.diagonal[points[p]]
        if w == m and w == variables and groups < 2:
            block = x.matrix
        elif w * w <= len(turn.parts):
            block = turn.parts[: w * w].reshape(w, w)
            _pick(x.matrix, points, block)
        else:
            block = np.empty((w, w), x.matrix.dtype)
            _pick(x.matrix, points, block)
        most = w
        if turn.begun[0]:
            most = int(min(float(_LONG * w), max(float(w // 2), (dear - turn.spent[0]) / w + 1.0)))
        most = min(most, limit - steps)
        inner = 0.5 * tau if w == variables else max(0.5 * tau, _SHARE * violation)
        work = WorkingSet(block, diagonal, a, lower, upper, g)
        taken = pair_descent(work, cut, inner, most) if groups else joint_descent(work, inner, most)
        turn.begun[0] = True
        turn.spent[0] += float(taken) * w
        steps += taken
        rounds += 1
        slots, change, moved = np.empty(w, np.intp), np.empty(w), 0
        for p in range(w):
            v = chosen[p]
            if a[p] != x.a[v]:
                slots[moved], change[moved] = points[p], a[p] - x.a[v]
                x.a[v] = a[p]
                moved += 1
        if moved == 0:
            return STUCK, steps, rounds
        add_rows(x.scores, x.matrix, slots[:moved], change[:moved], 0, m)
