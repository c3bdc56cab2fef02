"""The compiled loop of block SMO over a whole kernel matrix: rounds without Python between them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from harness.support.arrays import Block, Index, Matrix, Vector
from harness.support.jit import add_rows, compiled, inlined, inner
from harness_smo.descent import RESOLUTION, WorkingSet, joint_descent, pair_descent
from harness_smo.passes import Variables

# why the loop returned
DONE, STUCK, NEWTON_PAYS, PAUSED = 0, 1, 2, 3

_LEAST = 2  # variables of a part at least
_REACH = 1.0  # distance from a violation, over the largest violation, of the variables of a part
_PART = 0.7  # fraction of all variables from which no part is formed
_COPY_COST = 4.0  # cost of a value of a part's block over that of a variable of a step: it is read far from the cache
_INNER = 0.1  # violation that a descent in a part leaves to the next round
_LONG = 3  # steps of a descent at most, over its variables
_NEWTON = 3e5  # fixed cost of a Newton step, in steps times variables
_FACTOR = 0.03  # cost of a factor of f variables over f^3, in the same unit
_CONJUGATE = 18.0  # cost of conjugate gradients over f^2, in the same unit


class Dense(NamedTuple):
    """Points, their variables, and their kernel matrix, m points and copies * m variables.

    matrix, diagonal : (m, m) and (m,), float32 or float64
    scores : (m,) float64; change
    variables : (copies * m,) each; ``a`` changes
    """

    matrix: Block
    diagonal: Block
    scores: Vector
    variables: Variables


class Progress(NamedTuple):
    """What changes from one call to the next.

    begun : (1,) whether a round was made: the first one takes all variables, or one at each point
    spent : (3,) steps times variables since the last Newton step; kernel rows that were added to the scores; steps of the
        last round, 0 before the first one
    parts : memory for the blocks of parts, half of the variables squared
    ends : (2, 2) for each group the largest g that may rise and the smallest that may fall, at the return
    """

    begun: Any
    spent: Vector
    parts: Block
    ends: Matrix

    @classmethod
    def begin(cls, parts: Block) -> Progress:
        """Return the progress before the first round."""
        return cls(np.zeros(1, np.bool_), np.zeros(3), parts, np.zeros((2, 2)))


# What reads no kernel value is a function of its own: it is compiled once, not for each dtype of the matrix.


@inner
def _survey(
    x: Variables, scores: Vector, groups: int, gradient: Vector, ends: Matrix, middle: Vector
) -> tuple[float, int, float]:
    """Fill the gradient, (V,), the ends and middle of each group, (2, 2) and (2,).

    Returns
    -------
    (the violation, how many are free, the largest |g|).
    """
    m, size = len(scores), 0.0
    for k in range(2):
        ends[k, 0], ends[k, 1], middle[k] = -np.inf, np.inf, 0.0
    if groups == 0:
        ends[0, 0], ends[0, 1] = 0.0, 0.0
    first = second = 0
    for v in range(len(x.a)):
        g = x.linear[v] - scores[v if v < m else v - m]
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
            first += k == 0
            second += k != 0
    if groups == 0:
        middle[0] = 0.0
        return max(ends[0, 0], -ends[0, 1]), first, size
    worst = 0.0
    for k in range(groups):
        worst = max(worst, ends[k, 0] - ends[k, 1])
        free = second if k else first
        if free:
            middle[k] /= free
        elif ends[k, 0] > -np.inf and ends[k, 1] < np.inf:
            middle[k] = 0.5 * (ends[k, 0] + ends[k, 1])
    return worst, first + second, size


@inner
def _part(
    x: Variables, m: int, gradient: Vector, middle: Vector, violation: float, expected: float, one_each: bool
) -> Index:
    """Return the variables that are free, violate, or come near to that; all where that is most of them.

    expected : expected number of steps: with few, all variables in each take less time than copying a block; infinite if a
        block is copied anyway
    one_each : all are the nearest one at each point
    """
    variables = len(x.a)
    most, size, far = m if one_each else variables, 0, np.empty(variables)
    for v in range(variables):
        off = gradient[v] - middle[x.group[v]]
        far[v] = -np.inf
        if x.a[v] < x.upper[v]:
            far[v] = off
        if x.a[v] > x.lower[v]:
            far[v] = max(far[v], -off)
        size += far[v] >= -_REACH * violation
    every = size < _LEAST or size >= _PART * most or float(size) * size >= _COPY_COST * expected * (most - size)
    chosen, count = np.empty(variables, np.intp), 0
    if every and one_each:
        for v in range(m):
            chosen[v] = v + m if variables > m and far[v + m] > far[v] else v
        return chosen[:m]
    for v in range(variables):
        chosen[count] = v
        count += every | (far[v] >= -_REACH * violation)
    return chosen[:count]


@inner
def _grouped(chosen: Index, group: Any, groups: int) -> tuple[Index, int]:
    """Return the variables, those of the first group first, and where the second one starts."""
    if groups < 2:
        return chosen, len(chosen)
    ordered, place, cut = np.empty_like(chosen), 0, 0
    for k in range(2):
        for v in chosen:
            if group[v] == k:
                ordered[place] = v
                place += 1
        cut = place if k == 0 else cut
    return ordered, cut


@inner
def _taken(x: Variables, m: int, gradient: Vector, chosen: Index) -> tuple[Vector, Vector, Vector, Vector, Index, bool]:
    """Return a, lower, upper and gradient of the variables ``chosen``, their points, and whether these are all, in order."""
    w = len(chosen)
    a, g, lower, upper, points = np.empty(w), np.empty(w), np.empty(w), np.empty(w), np.empty(w, np.intp)
    every = w == m
    for p in range(w):
        v = chosen[p]
        points[p] = v if v < m else v - m
        every &= points[p] == p
        a[p], g[p], lower[p], upper[p] = x.a[v], gradient[v], x.lower[v], x.upper[v]
    return a, lower, upper, g, points, every


@inner
def _moved(x: Variables, chosen: Index, points: Index, a: Vector) -> tuple[Index, Vector]:
    """Bring the variables ``a`` of a working set to the whole; return the points of those that moved, and by how much."""
    slots, change, moved = np.empty(len(a), np.intp), np.empty(len(a)), 0
    for p in range(len(a)):
        v = chosen[p]
        if a[p] != x.a[v]:
            slots[moved], change[moved] = points[p], a[p] - x.a[v]
            x.a[v] = a[p]
            moved += 1
    return slots[:moved], change[:moved]


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


@inlined
def _block(x: Dense, parts: Block, points: Index) -> tuple[Block, Block]:
    """Return the kernel block of ``points``, in ``parts`` if it has the room, and its diagonal."""
    w = len(points)
    memory = parts if w * w <= len(parts) else np.empty(w * w, x.matrix.dtype)
    block, diagonal = memory[: w * w].reshape(w, w), np.empty(w, x.matrix.dtype)
    _pick(x.matrix, points, block)
    for p in range(w):
        diagonal[p] = x.diagonal[points[p]]
    return block, diagonal


@compiled
def descend(
    x: Dense, progress: Progress, sums: tuple[int, ...], tau: float, patience: float, limit: int
) -> tuple[int, int, int]:
    """Rounds of SMO, each over the variables that matter now, until no pair violates by tau.

    Parameters
    ----------
    sums : how many are fixed, as (1,) or (2,); () for none: by the length, numba compiles one of the two descents only
    patience : come back when the steps since the last face have cost this many times as much as another one
    limit : steps at most

    Returns
    -------
    (why it came back, steps, rounds).
    """
    own, scores, group = x.variables, x.scores, x.variables.group
    variables, m = len(own.a), len(scores)
    groups = 0
    if len(sums) > 0:
        groups = sums[0]
    gradient = np.empty(variables)
    ends, middle = progress.ends, np.empty(2)
    rounding = np.float64(np.finfo(x.matrix.dtype).eps)
    steps = rounds = 0
    # the matrix itself is the block of one variable at each point, class by class
    at_hand = variables == m or groups < 2
    for v in range(1, m):
        at_hand &= group[v - 1] <= group[v]
    while True:
        violation, free, size = _survey(own, scores, groups, gradient, ends, middle)
        if violation <= tau:
            return DONE, steps, rounds
        noise = RESOLUTION * rounding * size
        if violation <= noise:
            return STUCK, steps, rounds
        dear = patience * (_NEWTON + min(_FACTOR * float(free) ** 3, _CONJUGATE * float(free) ** 2))
        if progress.spent[0] > 0.0 and progress.spent[0] >= dear:
            return NEWTON_PAYS, steps, rounds
        if steps >= limit:
            return PAUSED, steps, rounds
        # of two variables at a point one rests: all of them would make a block of four times the matrix
        expected = progress.spent[2] if at_hand or not (progress.begun[0] or variables > m) else np.inf
        chosen, cut = _grouped(_part(own, m, gradient, middle, violation, expected, at_hand), group, groups)
        w = len(chosen)
        a, lower, upper, g, points, every = _taken(own, m, gradient, chosen)
        block, diagonal = x.matrix, x.diagonal
        if not every:
            block, diagonal = _block(x, progress.parts, points)
        work = WorkingSet(block, diagonal, a, lower, upper, g)
        most = w
        if progress.begun[0]:
            most = int(min(float(_LONG * w), max(float(w // 2), (dear - progress.spent[0]) / w + 1.0)))
        most = min(most, limit - steps)
        inner_tau = max(0.5 * tau, noise, 0.0 if w == variables else _INNER * violation)
        if len(sums) > 0:  # noqa: SIM108 -- numba compiles one side of this branch, and both of an expression
            taken = pair_descent(work, cut, inner_tau, most)
        else:
            taken = joint_descent(work, inner_tau, most)
        progress.begun[0], progress.spent[2] = True, max(float(taken), 1.0)
        progress.spent[0] += float(taken) * w
        steps += taken
        rounds += 1
        slots, change = _moved(own, chosen, points, a)
        add_rows(scores, x.matrix, slots, change, np.int64(0), m)
        progress.spent[1] += len(slots)
        if len(slots) == 0 and not (at_hand and variables > m):
            return STUCK, steps, rounds
        at_hand &= len(slots) > 0  # what violates may be both variables of a point
