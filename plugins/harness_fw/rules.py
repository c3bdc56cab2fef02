"""The rules, compiled: which points a step is about and how far it goes; and what it does to the support.

    FW        P. Kumar, E. A. Yildirim (2009), Algorithm 1: toward the vertex z of nearest points, or away from that of
              the farthest support vectors, whichever epsilon is larger
    GILBERT   E. G. Gilbert (1966): toward z alone
    PAIRWISE  S. Lacoste-Julien, M. Jaggi, "On the global linear convergence of Frank-Wolfe optimization variants" (2015),
              Algorithm 2: weight moves from the farthest support vector to the nearest point, in all hulls by the same amount
    MDM       B. F. Mitchell, V. F. Dem'yanov, V. N. Malozemov, SIAM Journal on Control 12(1), 1974: the same in one hull,
              the one with the larger difference of both scores
    NEAREST   S. S. Keerthi, S. K. Shevade, C. Bhattacharyya, K. R. K. Murthy, IEEE Transactions on Neural Networks 11(1),
              2000: Gilbert's segment and MDM's move at once, over a triangle or, in two hulls, over both segments;
              with caps, the moves of both hulls at once, each by its own amount

A loop calls ``measure``, ``choose``, ``plan``, then ``move_support`` for each hull, changes its scores and finds ``near``,
and calls ``look`` for each hull and ``finish``. How inner products and scores come about is the loop's own.
"""

from __future__ import annotations

import numpy as np

from harness.arrays import Index, Vector
from harness.jit import compiled, inlined, inner
from harness_fw.plans import hull_of, plan
from harness_fw.state import (
    ADD,
    CAPPED,
    DECREASE,
    DONE,
    FW,
    GILBERT,
    IDLE,
    KIND,
    LEAST,
    MDM,
    MINUS,
    NEAREST,
    NORM,
    OUT,
    PAIR,
    PLUS,
    SHORTEST,
    STALLED,
    STEPS,
    TAKEN,
    TOUCHING,
    WANTED,
    State,
)

__all__ = ["choose", "finish", "look", "measure", "move_support", "patience", "plan"]

_PATIENCE = 1000  # idle iterations that show rounding at work, beyond _PATIENCE_EACH for each support vector
_PATIENCE_EACH = 10


@inlined
def measure(state: State, rule: int, epsilon: float, floor: float) -> int:
    """Set epsilon_+ and epsilon_-, (10) and (11) of Kumar & Yildirim; return STEPS unless there is a reason to end.

    With caps epsilon_+ is a bound of both instead: as all weight moves by 1 at most, no point of a reduced hull is
    more than <w, far - near> better or worse than the hull's own.
    """
    scores, figures, counts = state.scores, state.figures, state.counts
    norm = figures[NORM]
    toward = apart = between = 0.0
    for g in range(len(state.size)):
        near, far = scores[state.near[g]], scores[state.far[g]]
        toward += near
        apart += far
        if len(state.closed) > 0 and far > near and state.closed[state.near[g]] == 0.0:
            between += far - near
    # Gilbert's floor is far above rounding: a w that separates shows that the hulls are apart
    if norm <= floor and (rule != GILBERT or toward <= 0.0):
        return TOUCHING
    plus, minus = 1.0 - toward / norm, apart / norm - 1.0 if rule != GILBERT else 0.0
    if len(state.closed) > 0:
        plus, minus = between / norm, 0.0
    figures[PLUS], figures[MINUS] = plus, minus
    if max(plus, minus) <= epsilon:
        return DONE
    if max(plus, minus) < figures[LEAST]:
        figures[LEAST] = max(plus, minus)
        counts[IDLE] = 0
    return STALLED if counts[IDLE] > patience(state.size.sum()) else STEPS


@compiled
def patience(support: int) -> int:
    """Return the idle iterations in a row that show rounding at work, with that many support vectors."""
    return _PATIENCE + _PATIENCE_EACH * support


@inlined
def choose(state: State, rule: int) -> None:
    """Write the points that the next step is about to ``wanted``, and its kind as far as it is known."""
    wanted, counts, scores = state.wanted, state.counts, state.scores
    hulls, capped = len(state.size), len(state.closed) > 0
    if rule in (FW, GILBERT):
        leave = rule == FW and not state.figures[PLUS] > state.figures[MINUS]
        for g in range(hulls):
            wanted[g] = state.far[g] if leave else state.near[g]
        counts[WANTED], counts[KIND] = hulls, DECREASE if leave else ADD
        return
    if rule == NEAREST and not capped:
        _choose_both(state)
        return
    count, widest = 0, 0.0
    for g in range(hulls):
        near, far = state.near[g], state.far[g]
        width = scores[far] - scores[near]
        if not width > 0.0 or (capped and state.closed[near] > 0.0):
            continue
        if rule == MDM:
            if width <= widest:
                continue
            widest, count = width, 0
        wanted[count], wanted[count + 1] = near, far
        count += 2
    counts[WANTED], counts[KIND] = count, PAIR


@inlined
def _choose_both(state: State) -> None:
    """Keerthi et al.: the point that violates most to go to, the support vector that does to leave, in any hull.

    After a step on a segment its ends have equal scores and the support vector's violation is 0: to leave it can help
    all the same, together with the other move.
    """
    toward, away, to, off = -np.inf, -np.inf, 0, -1
    for g in range(len(state.size)):
        if state.mean[g] - state.scores[state.near[g]] > toward:
            toward, to = state.mean[g] - state.scores[state.near[g]], g
        if state.size[g] > 1 and state.scores[state.far[g]] - state.mean[g] > away:
            away, off = state.scores[state.far[g]] - state.mean[g], g
    state.wanted[0] = state.near[to]
    state.counts[WANTED], state.counts[KIND] = 1, ADD
    if off >= 0:
        state.wanted[1] = state.far[off]
        state.counts[WANTED] = 2


@inlined
def move_support(state: State, g: int, cap: float) -> None:
    """Change the weights of hull g as planned; a weight of 0 leaves the support.

    To be called before the new scores are searched for ``near``: which weights are at their cap changes here.
    """
    first, keep = state.begin[g], state.keep[g]
    support, weight, position = state.support, state.weight, state.position
    end = first + state.size[g]
    k = first
    while keep != 1.0 and k < end:
        weight[k] *= keep
        if weight[k] > 0.0:
            k += 1
        else:
            end = _remove(support, weight, position, k, end)
    for r in range(state.counts[WANTED]):
        point, change = state.wanted[r], state.coefs[r]
        if hull_of(state.begin, point) != g or change == 0.0:
            continue
        if position[point] < 0:
            support[end], weight[end], position[point] = point, 0.0, end
            end += 1
        place = position[point]
        value = weight[place] + change
        value = 0.0 if state.ends[r] == OUT else cap if state.ends[r] == CAPPED else value
        weight[place] = value
        if len(state.closed) > 0:
            state.closed[point] = np.inf if value >= cap else 0.0
        if value <= 0.0:
            end = _remove(support, weight, position, place, end)
    state.size[g] = end - first
    if end - first == 1:
        weight[first] = 1.0  # rounding must not open a way out of the only vertex


@inner
def _remove(support: Index, weight: Vector, position: Index, place: int, end: int) -> int:
    """Take the support vector at ``place`` out; the last one of its hull comes there. Return the new end."""
    last = support[end - 1]
    position[support[place]] = -1
    if place < end - 1:
        support[place], weight[place] = last, weight[end - 1]
        position[last] = place
    return end - 1


@compiled
def look(state: State, g: int) -> None:
    """Set ``far``, ``mean`` and ``own`` of hull g from the scores and weights as they are.

    Of equal scores the first point is the farthest.
    """
    first, highest, farthest, mean, own = state.begin[g], -np.inf, -1, 0.0, 0.0
    split = len(state.parts) > 0 and state.parts.shape[1] > 0
    for k in range(first, first + state.size[g]):
        i = state.support[k]
        score = state.scores[i]
        mean += state.weight[k] * score
        if split:
            own += state.weight[k] * state.parts[g, i]
        if score > highest or (score == highest and i < farthest):
            highest, farthest = score, i
    state.far[g], state.mean[g], state.own[g] = farthest, mean, own if split else mean


@compiled
def finish(state: State) -> None:
    """Set |w|^2 and count the step."""
    norm, figures, counts = state.mean.sum(), state.figures, state.counts
    counts[IDLE] = 0 if norm < figures[SHORTEST] else counts[IDLE] + 1
    figures[NORM], figures[SHORTEST] = norm, min(norm, figures[SHORTEST])
    counts[TAKEN] += 1
    counts[counts[KIND]] += 1
