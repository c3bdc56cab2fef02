"""The compiled loop: iterations on kernel rows that are already in memory, and the steps of a run on w itself.

On rows an iteration reads the rows of its chosen points (one to four) and the scores once; the smallest score of each hull
comes out of the same pass.
"""

from __future__ import annotations

import numpy as np

from harness.support.arrays import Index, Vector
from harness.support.jit import compiled, fast, inner, seek, smaller
from harness_fw import rules
from harness_fw.rules import CHOSEN, MISSING, SEGMENT, STALLED, STEPS, State


@compiled
def run(state: State, rule: int, pairs: bool | None, epsilon: float, floor: float, steps: int, given: bool) -> int:
    """Iterate until ``steps`` are taken or the caller is needed; return why. New scores are searched first, see State.near.

    Parameters
    ----------
    rule, pairs : of rules.py
    floor : |w|^2 at which w counts as zero
    given : there are ``gram`` and ``products`` of the chosen points: only change the weights, by one step
    """
    changed = state.near[0] < 0
    if changed:
        state.counts[CHOSEN] = 0
    for taken in range(steps + 1):
        if not given:
            if changed:
                _move_scores(state, pairs)
            reason: int = rules.measure(state, rule, epsilon, floor)
            if reason != STEPS or taken == steps:
                return reason
            if not rules.choose(state, rule, pairs):
                return MISSING
        if not rules.plan(state, rule, pairs):
            return STALLED
        rules.move_support(state)
        if given:
            break
        changed = True
    return STEPS


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
                if pairs is None or state.parts.shape[1] == 0:
                    _add_two(part, scale, state.rows, one, a, other, b, start)
                    scale = 1.0
                    continue
                # the scores of each hull's point apart; a row without a share in it is not read
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
