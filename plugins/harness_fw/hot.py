"""The compiled loops: iterations on kernel rows that are already in memory, and on w itself.

On rows an iteration reads the rows of the points that its step is about (two to four) and the scores once; the smallest
score of each hull comes out of the same pass.
"""

from __future__ import annotations

import numpy as np

from harness.support.arrays import Index, Vector
from harness.support.jit import compiled, inlined, inner
from harness_fw import rules
from harness_fw.rules import MISSING, NEAREST, SEGMENT, STALLED, STEPS, WANTED, State


@compiled
def run(state: State, rule: int, epsilon: float, floor: float, cap: float, steps: int) -> int:
    """Iterate until ``steps`` are taken or the caller is needed; return why.

    Parameters
    ----------
    rule : of rules.py
    floor : |w|^2 at which w counts as zero
    cap : upper bound of a weight; 1 or more if there is none
    """
    for taken in range(steps + 1):
        verdict: int = rules.measure(state, rule, epsilon, floor)
        if verdict != STEPS or taken == steps:
            return verdict
        rules.choose(state, rule)
        for r in range(state.counts[WANTED]):
            if state.slot[state.wanted[r]] < 0:
                return MISSING
        _look_up(state, rule)
        if not rules.plan(state, rule, cap):
            return STALLED
        for g in range(len(state.size)):
            rules.move_support(state, g, cap)
        for g in range(len(state.size)):
            state.near[g] = _move_scores(state, state.begin[g], state.begin[g + 1])
            rules.look(state, g)
        rules.finish(state)
    return STEPS


@inlined
def _look_up(state: State, rule: int) -> None:
    """Set ``gram`` and ``on`` of the wanted points, and note that their rows were used."""
    wanted, slot, scores, parts, gram, on = state.wanted, state.slot, state.scores, state.parts, state.gram, state.on
    count = state.counts[WANTED]
    state.counts[rules.READ] += count
    for r in range(count):
        point = wanted[r]
        place = slot[point]
        state.used[place] = state.counts[rules.TAKEN]
        for s in range(count):
            gram[r, s] = state.diagonal[point] if r == s else state.rows[place, wanted[s]]
        if rule == NEAREST:
            for g in range(len(state.size)):
                on[r, g] = parts[g, point] if parts.shape[1] > 0 else scores[point]


@inlined
def _move_scores(state: State, begin: int, end: int) -> int:
    """Change the scores of [begin, end) as planned; return the place of the smallest one that is not closed."""
    scores, parts, closed, scratch = state.scores, state.parts, state.closed, state.scratch
    rows, slot, wanted, coefs, keep, hulls = state.rows, state.slot, state.wanted, state.coefs, state.keep, state.begin
    count, last = state.counts[WANTED], len(hulls) - 1
    lowest, best = np.inf, begin
    for start in range(begin, end, SEGMENT):
        stop = min(start + SEGMENT, end)
        # slices: indices from 0 up need no wraparound test, which would keep the loops from vector instructions
        part = scores[start:stop]
        if parts.shape[1] > 0:
            for g in range(last):
                own = parts[g, start:stop]
                _combine(own, keep[g], rows, slot, wanted[:count], coefs, hulls[g], hulls[g + 1], start)
            _add(part, parts[0, start:stop], parts[1, start:stop])
        else:
            _combine(part, keep[0], rows, slot, wanted[:count], coefs, 0, hulls[last], start)
        if len(closed) > 0:
            part = _closed(part, closed[start:stop], scratch[SEGMENT // 2 :])
        smallest = least(part, scratch)
        if smallest < lowest:
            lowest, best = smallest, start
            while part[best - start] != smallest:
                best += 1
    return best


@inner
def _combine(
    part: Vector, keep: float, rows: Vector, slot: Index, wanted: Index, coefs: Vector, first: int, end: int, start: int
) -> None:
    """Set part to keep * part + what ``coefs`` add of the rows of the wanted points in [first, end), from column start.

    Two rows at a time: that is what most steps need, and it reads and writes ``part`` once.
    """
    count, r, stop = len(wanted), 0, start + len(part)
    while r < count:
        one = r
        r += 1
        if not first <= wanted[one] < end:
            continue
        while r < count and not first <= wanted[r] < end:
            r += 1
        a, row = coefs[one], rows[slot[wanted[one]], start:stop]
        if r < count:
            b, other = coefs[r], rows[slot[wanted[r]], start:stop]
            for k in range(len(part)):
                part[k] = keep * part[k] + (a * row[k] + b * other[k])
            r += 1
        else:
            for k in range(len(part)):
                part[k] = keep * part[k] + a * row[k]
        keep = 1.0
    if keep != 1.0:
        for k in range(len(part)):
            part[k] *= keep


@inner
def _add(total: Vector, one: Vector, other: Vector) -> None:
    for k in range(len(total)):
        total[k] = one[k] + other[k]


@inner
def _closed(part: Vector, closed: Vector, scratch: Vector) -> Vector:
    """Return part + closed, in scratch."""
    found = scratch[: len(part)]
    for k in range(len(part)):
        found[k] = part[k] + closed[k]
    return found


@compiled
def least(part: Vector, scratch: Vector) -> float:
    """Return the smallest of at most SEGMENT values; scratch is at least SEGMENT / 2 long and changes."""
    smallest = np.inf
    if len(part) < SEGMENT:
        for k in range(len(part)):
            smallest = min(smallest, part[k])
        return smallest
    # by halves: elementwise loops vectorise, a running minimum does not
    half = SEGMENT // 2
    left, right = part[:half], part[half:]
    for k in range(half):
        scratch[k] = left[k] if left[k] < right[k] else right[k]
    for width in (128, 64, 32, 16):
        for k in range(width):
            a, b = scratch[k], scratch[k + width]
            scratch[k] = a if a < b else b
    for k in range(16):
        smallest = min(smallest, scratch[k])
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
def select(state: State, rule: int, epsilon: float, floor: float, more: bool) -> int:
    """Judge the scores and choose the points of the next step if there is to be one; return why the run ends, or STEPS."""
    verdict: int = rules.measure(state, rule, epsilon, floor)
    if verdict == STEPS and more:
        rules.choose(state, rule)
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
    if not rules.plan(state, rule, cap):
        return False
    for g in range(hulls):
        part = parts[g]
        if state.keep[g] != 1.0:
            part *= state.keep[g]
        for r in range(count):
            if state.begin[g] <= state.wanted[r] < state.begin[g + 1] and state.coefs[r] != 0.0:
                part += state.coefs[r] * vectors[r]
        rules.move_support(state, g, cap)
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
        rules.look(state, g)
        state.own[g] = np.dot(parts[g], parts[g]) + ridge * squares


@compiled
def settle(state: State, raw: Vector, order: Index, signs: Vector, parts: Vector, ridge: float) -> None:
    """Take the scores after a step, and count it."""
    take_scores(state, raw, order, signs, parts, ridge)
    rules.finish(state)
