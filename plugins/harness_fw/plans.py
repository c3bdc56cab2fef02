"""How far a step goes, compiled: exact line searches, and the best point of a triangle or rectangle.

Functions that take few arrays rather than a whole State compile in a fraction of the time.
"""

from __future__ import annotations

import numpy as np

from harness.arrays import Index, Vector
from harness.jit import compiled, inlined, inner
from harness_fw.state import (
    ADD,
    BOTH,
    CAPPED,
    DECREASE,
    DROP,
    FREE,
    FW,
    GILBERT,
    KIND,
    MOST,
    NEAREST,
    NORM,
    OUT,
    PAIR,
    SWAP,
    WANTED,
    State,
)

_FLAT = 1e-14  # determinant over the product of the squared lengths below which two directions are one
_NONE = 0  # a kind: there is no step


@inlined
def plan(state: State, rule: int, cap: float) -> bool:
    """Write the step to ``keep``, ``coefs``, ``ends`` and its kind, from ``gram`` and ``on``; False if there is none.

    Parameters
    ----------
    cap : upper bound of a weight; at least 1 if there is none
    """
    keep, coefs, ends, gram, counts = state.keep, state.coefs, state.ends, state.gram, state.counts
    wanted, count, size = state.wanted, counts[WANTED], state.size
    keep[:] = 1.0
    coefs[:] = 0.0
    ends[:] = FREE
    at, have = state.scratch[:MOST], state.scratch[MOST : 2 * MOST]  # scores and weights of the wanted points
    for r in range(count):
        at[r] = state.scores[wanted[r]]
        place = state.position[wanted[r]]
        have[r] = state.weight[place] if place >= 0 else 0.0
    if rule in (FW, GILBERT):
        kind = _vertex(counts[KIND] == DECREASE, state.figures[NORM], at[:count], have, gram, size, keep, coefs, ends)
    elif rule == NEAREST and len(state.closed) == 0:
        to = hull_of(state.begin, wanted[0])
        off = hull_of(state.begin, wanted[1]) if count > 1 else -1
        kind = _both(to, off, at, have, gram, state.on, state.mean, state.own, size, keep, coefs, ends)
    elif rule == NEAREST and count == 4:
        kind = _two_pairs(at, have, gram, cap, coefs, ends)
    else:
        kind = _pairs(at[:count], have, gram, cap, coefs, ends)
    counts[KIND] = kind
    return bool(kind != _NONE)


@inner
def hull_of(begin: Index, point: int) -> int:
    """Return the hull that a point belongs to."""
    return 0 if point < begin[1] else 1


@inner
def _room(size: int, weight: float) -> float:
    """Return weight / (1 - weight), the longest step away from a point; infinite for its hull's only one."""
    return np.inf if size == 1 else weight / (1.0 - weight)


@inner
def _vertex(
    leave: bool,
    norm: float,
    at: Vector,
    have: Vector,
    gram: Vector,
    size: Index,
    keep: Vector,
    coefs: Vector,
    ends: Index,
) -> int:
    """Exact line search along d = z - w or b = w - y, lines 15-26 of Algorithm 1: one point of each hull."""
    score = vertex_norm = 0.0
    room = np.inf if leave else 1.0
    for r in range(len(at)):
        score += at[r]
        for s in range(len(at)):
            vertex_norm += gram[r, s]
        if leave:
            room = min(room, _room(size[r], have[r]))
    slope = score - norm if leave else norm - score
    length = norm - 2.0 * score + vertex_norm
    step = slope / length if length > 0.0 else np.inf
    full = step >= room
    step = room if full else step
    if not 0.0 < step < np.inf:
        return _NONE
    keep[:] = 1.0 + step if leave else 1.0 - step
    for r in range(len(at)):
        coefs[r] = -step if leave else step
        if leave and full and _room(size[r], have[r]) == room:
            ends[r] = OUT
    return (DROP if full else DECREASE) if leave else ADD


@inner
def _pair_room(to: float, off: float, cap: float) -> float:
    """Return how much of the weight ``off`` a point of weight ``to`` can take."""
    return min(off, cap - to) if cap < 1.0 else off


@inner
def _set_pair(r: int, step: float, have: Vector, cap: float, coefs: Vector, ends: Index) -> bool:
    """Write the move of ``step`` from the (r + 1)-th wanted point to the r-th; return whether it ends at a bound."""
    coefs[r], coefs[r + 1] = step, -step
    if cap < 1.0 and step >= cap - have[r]:
        ends[r] = CAPPED
    if step >= have[r + 1]:
        ends[r + 1] = OUT
    return bool(ends[r] != FREE or ends[r + 1] != FREE)


@inner
def _pairs(at: Vector, have: Vector, gram: Vector, cap: float, coefs: Vector, ends: Index) -> int:
    """Exact line search along the sum of the pairs' directions: one amount of weight for all of them."""
    slope = length = 0.0
    room = np.inf
    for r in range(0, len(at), 2):
        slope += at[r + 1] - at[r]
        room = min(room, _pair_room(have[r], have[r + 1], cap))
        for s in range(0, len(at), 2):
            length += gram[r, s] - gram[r, s + 1] - gram[r + 1, s] + gram[r + 1, s + 1]
    step = min(slope / length, room) if length > 0.0 else room
    if not 0.0 < step < np.inf:
        return _NONE
    kind = PAIR
    for r in range(0, len(at), 2):
        if _set_pair(r, step, have, cap, coefs, ends):
            kind = SWAP
    return kind


@inner
def _two_pairs(at: Vector, have: Vector, gram: Vector, cap: float, coefs: Vector, ends: Index) -> int:
    """The best point of the rectangle that the moves of both hulls span."""
    aa = gram[0, 0] - 2.0 * gram[0, 1] + gram[1, 1]
    bb = gram[2, 2] - 2.0 * gram[2, 3] + gram[3, 3]
    ab = gram[0, 2] - gram[0, 3] - gram[1, 2] + gram[1, 3]
    room, other_room = _pair_room(have[0], have[1], cap), _pair_room(have[2], have[3], cap)
    a, b = best_in_rectangle(at[1] - at[0], at[3] - at[2], aa, bb, ab, room, other_room)
    if not 0.0 < a + b < np.inf:
        return _NONE
    bound, other_bound = False, False
    if a > 0.0:
        bound = _set_pair(0, a, have, cap, coefs, ends)
    if b > 0.0:
        other_bound = _set_pair(2, b, have, cap, coefs, ends)
    if a > 0.0 and b > 0.0:
        return BOTH
    return SWAP if bound or other_bound else PAIR


@inner
def _both(
    g: int,
    h: int,
    at: Vector,
    have: Vector,
    gram: Vector,
    on: Vector,
    mean: Vector,
    own: Vector,
    size: Index,
    keep: Vector,
    coefs: Vector,
    ends: Index,
) -> int:
    """Keerthi et al.: Gilbert's segment toward x in hull g and MDM's move away from y in hull h, if h >= 0.

    In one hull they span the triangle of u, x and u + weight_y (x - y); in two, hull h's point moves away from y on
    its own segment.
    """
    p = mean[g] - at[0]
    aa = gram[0, 0] - 2.0 * on[0, g] + own[g]
    if h < 0:
        a, b = _along(p, aa, 1.0), 0.0
        keep[g], coefs[0] = 1.0 - a, a
        full, last = False, ADD
    elif h == g:
        weight = have[1]
        q = weight * (at[1] - at[0])
        bb = weight * weight * (gram[0, 0] - 2.0 * gram[0, 1] + gram[1, 1])
        ab = weight * (gram[0, 0] - gram[0, 1] - on[0, g] + on[1, g])
        a, share = best_in_triangle(p, q, aa, bb, ab)
        b, full = weight * share, a + share >= 1.0
        keep[g], coefs[0], coefs[1] = 1.0 - a, a + b, -b
        last = SWAP if full else PAIR
    else:
        room = _room(size[h], have[1])
        bb = gram[1, 1] - 2.0 * on[1, h] + own[h]
        # <u_g, u_h> = mean_0 - own_0
        ab = on[0, h] - gram[0, 1] - (mean[0] - own[0]) + on[1, g]
        a, b = best_in_rectangle(p, at[1] - mean[h], aa, bb, ab, 1.0, room)
        full = b >= room
        keep[g], coefs[0] = 1.0 - a, a
        keep[h], coefs[1] = 1.0 + b, -b
        last = DROP if full else DECREASE
    if full:
        ends[1] = OUT
    if not 0.0 < a + b < np.inf:
        return _NONE
    return ADD if b == 0.0 else last if a == 0.0 else BOTH


@inner
def _along(slope: float, length: float, room: float) -> float:
    """Return the step in [0, room] that decreases most along a direction of that slope and squared length."""
    if slope <= 0.0:
        return 0.0
    return min(slope / length, room) if length > 0.0 else room


@inner
def _decrease(a: float, b: float, p: float, q: float, aa: float, bb: float, ab: float) -> float:
    return a * (p - 0.5 * aa * a - ab * b) + b * (q - 0.5 * bb * b)


@compiled
def best_in_triangle(p: float, q: float, aa: float, bb: float, ab: float) -> tuple[float, float]:
    """Return (a, b) >= 0 with a + b <= 1 that maximises p a + q b - 1/2 (aa a^2 + 2 ab a b + bb b^2)."""
    determinant = aa * bb - ab * ab
    if determinant > _FLAT * aa * bb:
        a, b = (p * bb - q * ab) / determinant, (q * aa - p * ab) / determinant
        if a >= 0.0 and b >= 0.0 and a + b <= 1.0:
            return a, b
    best_a, best_b = _along(p, aa, 1.0), 0.0
    best = _decrease(best_a, 0.0, p, q, aa, bb, ab)
    for edge in range(2):
        if edge == 0:
            a, b = 0.0, _along(q, bb, 1.0)
        else:
            a = _along(p - ab - q + bb, aa - 2.0 * ab + bb, 1.0)
            b = 1.0 - a
        found = _decrease(a, b, p, q, aa, bb, ab)
        if found > best:
            best, best_a, best_b = found, a, b
    return best_a, best_b


@compiled
def best_in_rectangle(
    p: float, q: float, aa: float, bb: float, ab: float, width: float, height: float
) -> tuple[float, float]:
    """Return (a, b) in [0, width] x [0, height] that maximises p a + q b - 1/2 (aa a^2 + 2 ab a b + bb b^2)."""
    determinant = aa * bb - ab * ab
    if determinant > _FLAT * aa * bb:
        a, b = (p * bb - q * ab) / determinant, (q * aa - p * ab) / determinant
        if 0.0 <= a <= width and 0.0 <= b <= height:
            return a, b
    best_a, best_b = _along(p, aa, width), 0.0
    best = _decrease(best_a, 0.0, p, q, aa, bb, ab)
    for edge in range(3):
        if edge == 0:
            a, b = 0.0, _along(q, bb, height)
        elif edge == 1:
            a, b = width, _along(q - ab * width, bb, height)
        else:
            a, b = _along(p - ab * height, aa, width), height
        found = _decrease(a, b, p, q, aa, bb, ab)
        if found > best:
            best, best_a, best_b = found, a, b
    return best_a, best_b
