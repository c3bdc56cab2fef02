"""The compiled halves of an iteration on w itself: before and after the pass over the points.

The pass gives <w, x_i> of all points in the order of the data; what l2-svc adds to the diagonal, <e_i, e_j> / chi,
touches the scores of support vectors alone.
"""

from __future__ import annotations

import numpy as np

from harness.arrays import Index, Vector
from harness.jit import compiled
from harness_fw.rules import choose, finish, look, measure, move_support, plan
from harness_fw.state import NEAREST, STEPS, WANTED, State


@compiled
def select(state: State, rule: int, epsilon: float, floor: float) -> int:
    """Judge the scores and choose the points of the next step; return why the run ends, STEPS if it does not."""
    verdict: int = measure(state, rule, epsilon, floor)
    if verdict == STEPS:
        choose(state, rule)
    return verdict


@compiled
def step(state: State, rule: int, cap: float, vectors: Vector, parts: Vector, ridge: float) -> bool:
    """Plan a step and change the weights and w; the scores are those of before. Return False if there is no step.

    Parameters
    ----------
    vectors : (wanted, d) signed features of the wanted points
    parts : (G, d) u_g, whose sum w is
    ridge : 1 / chi, or 0
    """
    count, gram, hulls = state.counts[WANTED], state.gram, len(state.size)
    for r in range(count):
        for s in range(r, count):
            gram[r, s] = gram[s, r] = np.dot(vectors[r], vectors[s])
        gram[r, r] += ridge
        if rule == NEAREST:
            point = state.wanted[r]
            for g in range(hulls):
                state.on[r, g] = np.dot(vectors[r], parts[g])
                if ridge > 0.0 and state.position[point] >= 0 and state.begin[g] <= point < state.begin[g + 1]:
                    state.on[r, g] += ridge * state.weight[state.position[point]]
    if not plan(state, rule, cap):
        return False
    for g in range(hulls):
        part = parts[g]
        if state.keep[g] != 1.0:
            part *= state.keep[g]
        for r in range(count):
            if state.begin[g] <= state.wanted[r] < state.begin[g + 1] and state.coefs[r] != 0.0:
                part += state.coefs[r] * vectors[r]
        move_support(state, g, cap)
    return True


@compiled
def take_scores(state: State, raw: Vector, order: Index, signs: Vector, parts: Vector, ridge: float) -> None:
    """Set the scores from <w, x_i>, and what follows from scores: nearest and farthest points, <u_g, w>, <u_g, u_g>.

    Parameters
    ----------
    raw : (n,) <w, x_i> in the order of the data
    order, signs : (n,) the data's number of each of the solver's points, and its sign
    """
    scores, capped = state.scores, len(state.closed) > 0
    for k in range(len(scores)):
        scores[k] = signs[k] * raw[order[k]]
    for g in range(len(state.size)):
        first, end = state.begin[g], state.begin[g + 1]
        squares = 0.0
        for k in range(first, first + state.size[g]):
            scores[state.support[k]] += ridge * state.weight[k]
            squares += state.weight[k] * state.weight[k]
        state.near[g] = first + np.argmin(scores[first:end] + state.closed[first:end] if capped else scores[first:end])
        look(state, g)
        state.own[g] = np.dot(parts[g], parts[g]) + ridge * squares


@compiled
def settle(state: State, raw: Vector, order: Index, signs: Vector, parts: Vector, ridge: float) -> None:
    """Take the scores after a step, and count it."""
    take_scores(state, raw, order, signs, parts, ridge)
    finish(state)
