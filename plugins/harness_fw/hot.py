"""The compiled loop of Algorithm 1: iterations on rows that are already in memory.

Points are in an order of the solver's own, positives first, and everything is signed by the label:

    row_i[l] = y_i y_l k(x_i, x_l)        scores[l] = y_l <w, phi(x_l)> = sum_i weight_i row_i[l]

so that P and Q need one code: the vertex to go to has the smallest score of its class, the vertex to
leave has the largest one among the support, and <w, p - q> is the sum of two scores. An iteration reads
two rows and the scores once; the class minima come out of the same pass.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

Reals = np.ndarray[Any, np.dtype[np.float64]]
Integers = np.ndarray[Any, np.dtype[np.int64]]

# why the loop came back
STEPS, DONE, MISSING, TOUCHING, STALLED = range(5)
# places in State.figures: |w|^2, epsilon_+, epsilon_-, the least epsilon so far
NORM, PLUS, MINUS, LEAST = range(4)
# places in State.counts; IDLE: iterations in a row that made neither |w|^2 nor epsilon smaller
TAKEN, ADD, DECREASE, DROP, IDLE = range(5)
# places in State.chosen: i', j' (nearest), i'', j'' (farthest of the support), and the two vertices to fetch
NEAR_P, NEAR_Q, FAR_P, FAR_Q, WANTED_P, WANTED_Q = range(6)

_BLOCK = 512  # scores updated and searched at a time: they and both rows stay in the first-level cache
_PATIENCE = 1000  # idle iterations that show rounding at work, beyond _PATIENCE_EACH for each support vector
_PATIENCE_EACH = 10


class State(NamedTuple):
    """Everything the loop changes; n points, positives first, capacity rows in memory.

    scores : (n,) y_l <w, phi(x_l)>
    diagonal : (n,) k(x_l, x_l); read only
    rows : (capacity, n) signed rows; read only for the loop
    slot : (n,) place of a point's row in ``rows``, -1 if it is not there; read only for the loop
    used : (capacity,) iteration that last used the row in each place
    support, weight : (2, n) points of each class's support and their weights, packed; weights positive, summing to 1
    position : (n,) place of a point in its class's packed support, -1 outside
    size : (2,) support vectors of each class
    chosen, figures, counts : see the constants of this module
    scratch : (_BLOCK / 2,)
    """

    scores: Reals
    diagonal: Reals
    rows: Reals
    slot: Integers
    used: Integers
    support: Integers
    weight: Reals
    position: Integers
    size: Integers
    chosen: Integers
    figures: Reals
    counts: Integers
    scratch: Reals


def new_state(diagonal: Reals, capacity: int) -> State:
    """Return a state without support and without rows; ``rows`` takes memory only as it is filled."""
    n = len(diagonal)
    return State(
        scores=np.zeros(n),
        diagonal=diagonal,
        rows=np.empty((capacity, n)),
        slot=np.full(n, -1, dtype=np.int64),
        used=np.full(capacity, -1, dtype=np.int64),
        support=np.zeros((2, n), dtype=np.int64),
        weight=np.zeros((2, n)),
        position=np.full(n, -1, dtype=np.int64),
        size=np.zeros(2, dtype=np.int64),
        chosen=np.zeros(6, dtype=np.int64),
        figures=np.array([0.0, 0.0, 0.0, np.inf]),
        counts=np.zeros(5, dtype=np.int64),
        scratch=np.empty(_BLOCK // 2),
    )


@njit(cache=True, nogil=True, error_model="numpy")
def _move_scores(
    scores: Reals, keep: float, gain: float, row_i: Reals, row_j: Reals, begin: int, end: int, scratch: Reals
) -> int:
    """Set scores to keep * scores + gain * (row_i + row_j) over [begin, end); return the place of the smallest."""
    lowest, best = np.inf, begin
    half = _BLOCK // 2
    for start in range(begin, end, _BLOCK):
        stop = min(start + _BLOCK, end)
        # slices: indices from 0 up need no wraparound test, which would keep the loops from vector instructions
        part, part_i, part_j = scores[start:stop], row_i[start:stop], row_j[start:stop]
        for k in range(len(part)):
            part[k] = keep * part[k] + gain * (part_i[k] + part_j[k])
        if len(part) < _BLOCK:
            for k in range(len(part)):
                if part[k] < lowest:
                    lowest, best = part[k], start + k
            continue
        # minima by halves: elementwise loops vectorise, a running minimum does not
        left, right = part[:half], part[half:]
        for k in range(half):
            scratch[k] = left[k] if left[k] < right[k] else right[k]
        for width in (128, 64, 32, 16):
            for k in range(width):
                a, b = scratch[k], scratch[k + width]
                scratch[k] = a if a < b else b
        smallest = scratch[0]
        for k in range(1, 16):
            smallest = min(smallest, scratch[k])
        if smallest < lowest:
            lowest, best = smallest, start
            while scores[best] != smallest:
                best += 1
    return best


@njit(cache=True, nogil=True, error_model="numpy")
def _move_support(state: State, side: int, vertex: int, keep: float, gain: float, drop: bool) -> int:
    """Scale the weights of a class by ``keep``, add ``gain`` at ``vertex`` (0 exactly if ``drop``).

    A weight of 0 leaves the support. Returns the support vector with the largest score, the first one of equals.
    """
    index, weight, position, scores = state.support[side], state.weight[side], state.position, state.scores
    count = state.size[side]
    if position[vertex] < 0:
        index[count], weight[count], position[vertex] = vertex, 0.0, count
        count += 1
    highest, farthest = -np.inf, -1
    k = 0
    while k < count:
        i = index[k]
        value = keep * weight[k]
        if i == vertex:
            value = 0.0 if drop else value + gain
        if value > 0.0:
            weight[k] = value
            score = scores[i]
            if score > highest or (score == highest and i < farthest):
                highest, farthest = score, i
            k += 1
        else:
            count -= 1
            last = index[count]
            index[k], weight[k] = last, weight[count]
            position[last] = k
            position[i] = -1
    if count == 1:
        weight[0] = 1.0  # rounding must not open a way out of the only vertex
    state.size[side] = count
    return farthest


@njit(cache=True, nogil=True, error_model="numpy")
def _room(state: State, side: int, vertex: int) -> float:
    """Return weight / (1 - weight), the longest step away from ``vertex``; infinite for its class's only one."""
    if state.size[side] == 1:
        return np.inf
    weight: float = state.weight[side, state.position[vertex]]
    return weight / (1.0 - weight)


@njit(cache=True, nogil=True, error_model="numpy")
def run(state: State, positives: int, epsilon: float, floor: float, away: bool, steps: int) -> int:
    """Iterate lines 12-33 of Algorithm 1 until ``steps`` are taken or the caller is needed; return why.

    Parameters
    ----------
    positives : points 0 .. positives - 1 are P, the others Q
    floor : |w|^2 at which w counts as zero
    away : False leaves out the away steps: Gilbert's algorithm
    """
    scores, chosen, figures, counts = state.scores, state.chosen, state.figures, state.counts
    n = len(scores)
    for taken in range(steps + 1):
        norm = figures[NORM]
        if norm <= floor:
            return TOUCHING
        toward = scores[chosen[NEAR_P]] + scores[chosen[NEAR_Q]]
        apart = scores[chosen[FAR_P]] + scores[chosen[FAR_Q]]
        plus, minus = 1.0 - toward / norm, apart / norm - 1.0 if away else 0.0
        figures[PLUS], figures[MINUS] = plus, minus
        if max(plus, minus) <= epsilon:
            return DONE
        if max(plus, minus) < figures[LEAST]:
            figures[LEAST] = max(plus, minus)
            counts[IDLE] = 0
        if taken == steps:
            return STEPS
        leave = away and not plus > minus
        i, j = (chosen[FAR_P], chosen[FAR_Q]) if leave else (chosen[NEAR_P], chosen[NEAR_Q])
        chosen[WANTED_P], chosen[WANTED_Q] = i, j
        if state.slot[i] < 0 or state.slot[j] < 0:
            return MISSING
        row_i, row_j = state.rows[state.slot[i]], state.rows[state.slot[j]]
        state.used[state.slot[i]] = state.used[state.slot[j]] = counts[TAKEN]

        # exact line search along d = w - z or b = y - w
        vertex_norm = state.diagonal[i] + state.diagonal[j] + 2.0 * row_i[j]
        slope = apart - norm if leave else norm - toward
        length = norm - 2.0 * (apart if leave else toward) + vertex_norm
        step = slope / length if length > 0.0 else np.inf
        room_p, room_q = (_room(state, 0, i), _room(state, 1, j)) if leave else (1.0, 1.0)
        room = min(room_p, room_q)
        full = step >= room
        step = room if full else step
        if not 0.0 < step < np.inf:
            return STALLED
        keep, gain = (1.0 + step, -step) if leave else (1.0 - step, step)
        chosen[NEAR_P] = _move_scores(scores, keep, gain, row_i, row_j, 0, positives, state.scratch)
        chosen[NEAR_Q] = _move_scores(scores, keep, gain, row_i, row_j, positives, n, state.scratch)
        chosen[FAR_P] = _move_support(state, 0, i, keep, gain, leave and full and room_p == room)
        chosen[FAR_Q] = _move_support(state, 1, j, keep, gain, leave and full and room_q == room)
        figures[NORM] = norm - step * (2.0 * slope - step * length)
        counts[TAKEN] += 1
        counts[(DROP if full else DECREASE) if leave else ADD] += 1
        counts[IDLE] = 0 if figures[NORM] < norm else counts[IDLE] + 1
        if counts[IDLE] > _PATIENCE + _PATIENCE_EACH * (state.size[0] + state.size[1]):
            return STALLED
    return STEPS
