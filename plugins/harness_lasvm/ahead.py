"""Compiled preparation of the next candidates: who is fetched, who will enter, whose columns are computed."""

from __future__ import annotations

import numpy as np

from harness_lasvm.scans import dot, hot_loop
from harness_lasvm.state import ALPHA, CLOCK, G_MAX, G_MIN, MEMBER, TOP, WHERE


@hot_loop
def outside(x, candidates, places, fresh):  # type: ignore[no-untyped-def]
    """List the candidates that are no members in ``fresh``, each one's place there or -1 in ``places``; return their number."""
    count = 0
    for q in range(candidates.size):
        places[q] = -1
        if x.lists[WHERE, candidates[q]] < 0:
            places[q] = count
            fresh[count] = candidates[q]
            count += 1
    return count


@hot_loop
def is_young(x, s, known):  # type: ignore[no-untyped-def]
    """Return whether the member in slot s is not the point ``known`` for it."""
    return s >= known.size or known[s] != x.slots[MEMBER, s]


@hot_loop
def stale(x, since, known, places, points):  # type: ignore[no-untyped-def]
    """List the slots whose member is not the point ``known`` for them, and those members; return their number.

    since : length of the log when they were compared last; -1 if the slots have moved since then
    """
    counts = x.counts
    count = 0
    for t in range(since if since >= 0 else 0, counts[CLOCK] if since >= 0 else counts[TOP]):
        s = x.log[t] if since >= 0 else t
        if s >= 0 and x.slots[MEMBER, s] >= 0 and is_young(x, s, known):
            places[count] = s
            points[count] = x.slots[MEMBER, s]
            count += 1
    return count


@hot_loop
def foresee(x, targets, fresh, fetched, near, distances, entering):  # type: ignore[no-untyped-def]
    """List whom PROCESS would let in if the gradients moved by less than ``near``; return how many.

    fetched : ``fetched[q]`` begins with K(fresh[q], slots 0 .. top - 1)
    distances : of the candidates' gradients from those that are let in now; at most 0 for those
    entering : their places in ``fresh``
    """
    top = x.counts[TOP]
    low = min(x.extremes[G_MIN], x.extremes[G_MAX])
    high = max(x.extremes[G_MIN], x.extremes[G_MAX])
    count = 0
    for q in range(fresh.size):
        target = targets[fresh[q]]
        grad = target - dot(x.reals[ALPHA, :top], fetched[q, :top])
        distances[q] = low - grad if target > 0.0 else grad - high
        if distances[q] < near:
            entering[count] = q
            count += 1
    return count


@hot_loop
def drifted(among, distances, place, entering):  # type: ignore[no-untyped-def]
    """List ``place``, who enters unforeseen, and those after it who were as near; return how many."""
    count = 0
    for q in range(place, distances.size):
        if distances[q] <= distances[place] and np.isnan(among[q, q]):
            entering[count] = q
            count += 1
    return count


@hot_loop
def forget(among):  # type: ignore[no-untyped-def]
    """Note that no column of ``among`` has been computed."""
    for q in range(among.shape[0]):
        among[q, q] = np.nan


@hot_loop
def spread(values, columns, among):  # type: ignore[no-untyped-def]
    """Write the columns of ``values`` to the ``columns`` of ``among``."""
    for q in range(values.shape[0]):
        for p in range(columns.size):
            among[q, columns[p]] = values[q, p]
