"""Compiled passes of block SMO around a descent: the working set's block, and who may move."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from harness.jit import compiled

if TYPE_CHECKING:
    from harness.arrays import Block, Index, Vector

_TILE = 16  # rows and columns of a block that are mirrored at a time
_BINS = 1024  # of the histogram that finds the largest values


class AtHand(NamedTuple):
    """What is known of a working set's kernel block.

    rows, slots : the row of point p is rows[slots[p]], or not held where slots[p] < 0
    last, place : the block of the last working set, and where each point stood in it, -1 for those that are new
    values : (len(first), len(second)), K[points[first], points[second]]: first the new ones not held, second all not held
    """

    rows: Block
    slots: Index
    last: Block
    place: Index
    values: Block
    first: Index
    second: Index


class Variables(NamedTuple):
    """The active variables, (copies * m,) each; variable v stands at point v mod m."""

    a: Vector
    lower: Vector
    upper: Vector
    linear: Vector
    group: Any


@compiled
def gather(block: Block, points: Index, known: AtHand) -> None:
    """Put the kernel block of a working set, (w, w), together from all that is at hand."""
    slots, place = known.slots, known.place
    w = len(points)
    for p in range(w):
        if place[p] >= 0:
            source, target = known.last[place[p]], block[p]
            for q in range(w):
                if place[q] >= 0:
                    target[q] = source[place[q]]
    for p in range(w):
        if slots[p] < 0:
            continue
        held = known.rows[slots[p]]
        for q in range(w):
            # of two held rows the first serves; a pair of the last working set is done
            if (slots[q] >= 0 and q < p) or (place[p] >= 0 and place[q] >= 0):
                continue
            value = held[points[q]]
            block[p, q] = value
            block[q, p] = value
    for s in range(len(known.first)):
        for t in range(len(known.second)):
            block[known.first[s], known.second[t]] = known.values[s, t]
            block[known.second[t], known.first[s]] = known.values[s, t]


@compiled
def complete(block: Block, fresh: Index, kept: Index, place: Index, last: Block) -> None:
    """Fill in a working set's kernel block, (w, w), whose rows ``fresh`` are there, from the last one.

    Parameters
    ----------
    kept : the other rows, and columns
    place : where each of them stood in ``last``
    """
    for p in range(len(kept)):
        source, target = last[place[p]], block[kept[p]]
        for q in range(len(kept)):
            target[kept[q]] = source[place[q]]
    for low in range(
        0, len(kept), _TILE
    ):  # in tiles: lines read and lines written are used whole while they are at hand
        for begin in range(0, len(fresh), _TILE):
            for p in range(low, min(low + _TILE, len(kept))):
                row = kept[p]
                for q in range(begin, min(begin + _TILE, len(fresh))):
                    block[row, fresh[q]] = block[fresh[q], row]


@compiled
def directions(x: Variables, scores: Vector, ends: Vector, rise: Vector, fall: Vector) -> None:
    """Write the gradient where a variable may rise, else -inf, and where it may fall, else inf; widen ``ends``.

    Parameters
    ----------
    scores : (m,) of the points
    ends : (groups, 2) with the ends before any variable is seen: of each group the largest rise, the smallest fall
    rise, fall : (copies * m,); filled
    """
    m = len(scores)
    for v in range(len(x.a)):
        g = x.linear[v] - scores[v % m]
        k = x.group[v]
        rise[v], fall[v] = -np.inf, np.inf
        if x.a[v] < x.upper[v]:
            rise[v] = g
            ends[k, 0] = max(ends[k, 0], g)
        if x.a[v] > x.lower[v]:
            fall[v] = g
            ends[k, 1] = min(ends[k, 1], g)


@compiled
def largest(values: Vector, floor: float, count: int) -> Index:
    """Return the positions of the ``count`` largest values above ``floor``, or of all of them, in no special order.

    By a histogram, two passes: the values in the bin where the count is reached are taken as they come.
    """
    top, above = -np.inf, 0
    for value in values:
        if value > floor:
            above += 1
            top = max(top, value)
    chosen = np.empty(min(count, above), np.intp)
    bins = np.zeros(_BINS, np.int64)
    scale = _BINS / (top - floor) if 0.0 < top - floor < np.inf else 0.0
    if above > count:
        for value in values:
            if value > floor:
                bins[min(_BINS - 1, int((value - floor) * scale))] += 1
    last, more = _BINS, 0
    while above > count and last > 0 and more + bins[last - 1] <= count:
        last -= 1
        more += bins[last]
    # bins from `last` on are taken whole; of the bin below, what is left of the count
    rest, found = count - more, 0
    for k in range(len(values)):
        if values[k] > floor:
            place = min(_BINS - 1, int((values[k] - floor) * scale)) if above > count else _BINS
            if place >= last or (place == last - 1 and rest > 0):
                rest -= place < last
                chosen[found] = k
                found += 1
    return chosen[:found]
