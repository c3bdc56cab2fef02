"""The compiled loops: iterations on kernel rows that are already in memory, and on w itself.

On rows an iteration reads the rows of its chosen points (one to four) and the scores once; the smallest score of each hull
comes out of the same pass.
"""

from __future__ import annotations

import numpy as np

from harness.support.arrays import Index, Vector
from harness.support.jit import compiled, fast, inner, seek, smaller
from harness_fw import rules
from harness_fw.rules import CHOSEN, MISSING, NEAREST, SEGMENT, STALLED, STEPS, State


@compiled
def run(state: State, rule: int, pairs: bool | None, epsilon: float, floor: float, cap: float, steps: int) -> int:
    """Iterate until ``steps`` are taken or the caller is needed; return why.

    Parameters
    ----------
    rule, pairs : of rules.py
    floor : |w|^2 at which w counts as zero
    cap : upper bound of a weight; 1 or more if there is none
    """
    for taken in range(steps + 1):
        reason: int = rules.measure(state, rule, epsilon, floor)
        if reason != STEPS or taken == steps:
            return reason
        rules.choose(state, rule, pairs)
        if not _look_up(state, pairs):
            return MISSING
        if not rules.plan(state, rule, cap, pairs):
            return STALLED
        rules.move_support(state, cap)
        _move_scores(state, pairs)
        rules.weigh(state)
    return STEPS


@inner
def _look_up(state: State, pairs: bool | None) -> bool:
    """Set ``gram`` and ``products`` of the chosen points, and mark their rows as used; False if one is not in memory."""
    chosen, count = state.chosen, state.counts[CHOSEN]
    for r in range(count):
        if state.slot[chosen[r]] < 0:
            return False
    state.counts[rules.READ] += count
    for r in range(count):
        point, place = chosen[r], state.slot[chosen[r]]
        state.used[place] = state.counts[rules.TAKEN]
        for s in range(count):
            state.gram[r, s] = state.rows[place, chosen[s]]
        if pairs is not None:
            for g in range(len(state.size)):
                state.products[r, g] = state.parts[g, point] if state.parts.shape[1] > 0 else state.scores[point]
    return True


@inner
def _move_scores(state: State, pairs: bool | None) -> None:
    """Change the scores as planned, two rows at a time, and find ``near`` among the points below their cap."""
    chosen, coefs, slot, last = state.chosen, state.coefs, state.slot, state.counts[CHOSEN] - 1
    for g in range(len(state.size)):
        lowest, near = np.inf, state.begin[g]
        for start in range(state.begin[g], state.begin[g + 1], SEGMENT):
            stop = min(start + SEGMENT, state.begin[g + 1])
            part, scale = state.scores[start:stop], state.scale[0]
            for r in range(0, last + 1, 2):
                s = min(r + 1, last)
                one, other, a, b = slot[chosen[r]], slot[chosen[s]], coefs[r], coefs[s] if s > r else 0.0
                if pairs is None:
                    _add_two(part, scale, state.rows, one, a, other, b, start)
                elif state.parts.shape[1] == 0:
                    _add_two(part, scale, state.rows, one, a, other, b, start)
                    scale = 1.0
                else:  # the scores of each hull's point apart; a row without a share in it is not read
                    first, second = rules.hull_of(state.begin, chosen[r]), rules.hull_of(state.begin, chosen[s])
                    for h in range(2):
                        at, a_h, b_h = state.parts[h, start:stop], a if first == h else 0.0, b if second == h else 0.0
                        i, j = one if first == h else other, other if second == h else one
                        _add_two(at, state.scale[h], state.rows, i, a_h, j, b_h, start)
                    for k in range(len(part)):
                        part[k] = state.parts[0, start + k] + state.parts[1, start + k]
            if len(state.closed) > 0:
                bounded = state.scratch[: len(part)]
                for k in range(len(part)):
                    bounded[k] = part[k] + state.closed[start + k]
                part = bounded
            smallest = _least(part)
            if smallest < lowest:
                lowest, near = smallest, start + seek(part, smallest)
        state.near[g] = near


@inner
def _add_two(part: Vector, scale: float, rows: Vector, one: int, a: float, other: int, b: float, start: int) -> None:
    """Set part to scale * part + a * rows[one] + b * rows[other], from column ``start``."""
    # slices: indices from 0 up need no wraparound test, which would keep the loop from vector instructions
    row, second = rows[one, start : start + len(part)], rows[other, start : start + len(part)]
    for k in range(len(part)):
        part[k] = scale * part[k] + (a * row[k] + b * second[k])


@fast
def _least(part: Vector) -> float:
    """Return the smallest value."""
    smallest = np.inf
    for k in range(len(part)):
        smallest = smaller(smallest, part[k])
    return smallest


@compiled
def put_row(out: Vector, values: Vector, order: Index, signs: Vector, sign: float) -> None:
    """Set out[l] = sign signs[l] values[order[l]]: a row of the kernel in the solver's order, signed."""
    for k in range(len(out)):
        out[k] = sign * signs[k] * values[order[k]]


# -- w itself: the halves of an iteration, before and after the pass over the points ---------------
#
# The pass gives <w, x_i> of all points in the order of the data; what l2-svc adds to the diagonal, <e_i, e_j> / chi,
# touches the scores of support vectors alone.


@compiled
def select(state: State, rule: int, pairs: bool | None, epsilon: float, floor: float, more: bool) -> int:
    """Judge the scores and choose the points of the next step if there is to be one; return why the run ends, or STEPS."""
    reason: int = rules.measure(state, rule, epsilon, floor)
    if reason == STEPS and more:
        rules.choose(state, rule, pairs)
    return reason


@compiled
def step(state: State, rule: int, pairs: bool | None, cap: float, vectors: Vector, parts: Vector, ridge: float) -> bool:
    """Plan a step and change the weights and w; the scores are those of before. Return False if there is no step.

    Parameters
    ----------
    vectors : (chosen, d) signed features of the chosen points
    parts : (G, d) u_g, whose sum w is
    ridge : 1 / chi, or 0
    """
    count, gram, hulls = state.counts[CHOSEN], state.gram, len(state.size)
    for r in range(count):
        for s in range(r, count):
            gram[r, s] = gram[s, r] = np.dot(vectors[r], vectors[s])
        gram[r, r] += ridge
        point = state.chosen[r]
        for g in range(hulls if rule == NEAREST else 0):
            state.products[r, g] = np.dot(vectors[r], parts[g])
            if ridge > 0.0 and state.position[point] >= 0 and rules.hull_of(state.begin, point) == g:
                state.products[r, g] += ridge * state.weight[state.position[point]]
    if not rules.plan(state, rule, cap, pairs):
        return False
    for g in range(hulls):
        parts[g] *= state.scale[g]
    for r in range(count):
        parts[rules.hull_of(state.begin, state.chosen[r])] += state.coefs[r] * vectors[r]
    rules.move_support(state, cap)
    return True


@compiled
def settle(state: State, raw: Vector, order: Index, signs: Vector, parts: Vector, ridge: float) -> None:
    """Set the scores from <w, x_i>, and what follows from scores: nearest and farthest points, <u_g, w>, <u_g, u_g>.

    Parameters
    ----------
    raw : (n,) <w, x_i> in the order of the data
    order, signs : (n,) the data's number of each of the solver's points, and its sign
    """
    scores = state.scores
    for k in range(len(scores)):
        scores[k] = signs[k] * raw[order[k]]
    for g in range(len(state.size)):
        for k in range(state.begin[g], state.begin[g] + state.size[g]):
            scores[state.support[k]] += ridge * state.weight[k]
    rules.look(state)
    for g in range(len(state.size)):
        squares = 0.0
        for k in range(state.begin[g], state.begin[g] + state.size[g]):
            squares += state.weight[k] * state.weight[k]
        state.squared[g] = np.dot(parts[g], parts[g]) + ridge * squares
