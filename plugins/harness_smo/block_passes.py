"""Compiled passes of block SMO around a descent: the working set's block, and who may move."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from harness.jit import compiled, fast, larger, smaller

if TYPE_CHECKING:
    from harness.arrays import Block, Index, Vector

_TILE = 16  # rows and columns of a block that are mirrored at a time


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
def complete(block: Block, fresh: Index, kept: Index, place: Index, last: Block, first: int, stop: int) -> None:
    """Fill in a working set's kernel block, (w, w), whose rows ``fresh`` are there, from the last one.

    Parameters
    ----------
    kept : the other rows, and columns; the rows ``kept[first:stop]`` are filled in
    place : where each of them stood in ``last``
    """
    for p in range(first, stop):
        source, target = last[place[p]], block[kept[p]]
        for q in range(len(kept)):
            target[kept[q]] = source[place[q]]
    # in tiles: lines read and lines written are used whole while they are at hand
    for low in range(first, stop, _TILE):
        for begin in range(0, len(fresh), _TILE):
            for p in range(low, min(low + _TILE, stop)):
                row = kept[p]
                for q in range(begin, min(begin + _TILE, len(fresh))):
                    block[row, fresh[q]] = block[fresh[q], row]


@fast
def _directed(
    a: Vector, lower: Vector, upper: Vector, linear: Vector, scores: Vector, rise: Vector, fall: Vector
) -> None:
    """Do what :func:`directions` does for one copy of the points, but for the ends."""
    for v in range(len(a)):
        g = linear[v] - scores[v]
        rise[v] = g if a[v] < upper[v] else -np.inf
        fall[v] = g if a[v] > lower[v] else np.inf


@fast
def _ends(rise: Vector, fall: Vector, up: float, low: float) -> tuple[float, float]:
    for v in range(len(rise)):
        up, low = larger(up, rise[v]), smaller(low, fall[v])
    return up, low


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
    for s in range(0, len(x.a), m):
        e = s + m
        _directed(x.a[s:e], x.lower[s:e], x.upper[s:e], x.linear[s:e], scores, rise[s:e], fall[s:e])
    if len(ends) == 1:
        ends[0, 0], ends[0, 1] = _ends(rise, fall, ends[0, 0], ends[0, 1])
    else:
        for v in range(len(x.a)):
            k = x.group[v]
            ends[k, 0], ends[k, 1] = max(ends[k, 0], rise[v]), min(ends[k, 1], fall[v])
