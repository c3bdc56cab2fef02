"""How far a step goes, compiled: exact line searches, and the best point of a triangle or rectangle."""

from __future__ import annotations

import numpy as np
from numba import njit

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
    NEAREST,
    NORM,
    OUT,
    PAIR,
    SWAP,
    WANTED,
    State,
)

_FLAT = 1e-14  # determinant over the product of the squared lengths below which two directions are one


@njit(cache=True, nogil=True, error_model="numpy")
def plan(state: State, rule: int, cap: float) -> bool:
    """Write the step to ``keep``, ``coefs``, ``ends`` and its kind, from ``gram`` and ``on``; False if there is none.

    Parameters
    ----------
    cap : upper bound of a weight; at least 1 if there is none
    """
    state.keep[:] = 1.0
    state.coefs[:] = 0.0
    state.ends[:] = FREE
    if rule in (FW, GILBERT):
        return _plan_vertex(state)
    if rule == NEAREST and len(state.closed) == 0:
        return _plan_both(state)
    if rule == NEAREST and state.counts[WANTED] == 4:
        return _plan_two_pairs(state, cap)
    return _plan_pairs(state, cap)


@njit(cache=True, nogil=True, error_model="numpy")
def hull_of(state: State, point: int) -> int:
    """Return the hull that a point belongs to."""
    return 0 if point < state.begin[1] else 1


@njit(cache=True, nogil=True, error_model="numpy")
def _weight(state: State, point: int) -> float:
    place = state.position[point]
    return state.weight[place] if place >= 0 else 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def _room(state: State, point: int) -> float:
    """Return weight / (1 - weight), the longest step away from ``point``; infinite for its hull's only one."""
    if state.size[hull_of(state, point)] == 1:
        return np.inf
    weight = _weight(state, point)
    return weight / (1.0 - weight)


@njit(cache=True, nogil=True, error_model="numpy")
def _plan_vertex(state: State) -> bool:
    """Exact line search along d = z - w or b = w - y, lines 15-26 of Algorithm 1."""
    count, norm = state.counts[WANTED], state.figures[NORM]
    leave = state.counts[KIND] == DECREASE
    score = vertex_norm = 0.0
    room = np.inf if leave else 1.0
    for r in range(count):
        score += state.scores[state.wanted[r]]
        for s in range(count):
            vertex_norm += state.gram[r, s]
        if leave:
            room = min(room, _room(state, state.wanted[r]))
    slope = score - norm if leave else norm - score
    length = norm - 2.0 * score + vertex_norm
    step = slope / length if length > 0.0 else np.inf
    full = step >= room
    step = room if full else step
    if not 0.0 < step < np.inf:
        return False
    state.keep[:] = 1.0 + step if leave else 1.0 - step
    state.coefs[:count] = -step if leave else step
    if leave and full:
        state.counts[KIND] = DROP
        for r in range(count):
            state.ends[r] = OUT if _room(state, state.wanted[r]) == room else FREE
    return True


@njit(cache=True, nogil=True, error_model="numpy")
def _pair_room(state: State, r: int, cap: float) -> float:
    """Return how much weight the r-th wanted point can take from the next one."""
    room = _weight(state, state.wanted[r + 1])
    return min(room, cap - _weight(state, state.wanted[r])) if cap < 1.0 else room


@njit(cache=True, nogil=True, error_model="numpy")
def _set_pair(state: State, r: int, step: float, cap: float) -> bool:
    """Write the move of ``step`` between two wanted points; return whether it ends at a bound."""
    to, off = state.wanted[r], state.wanted[r + 1]
    state.coefs[r], state.coefs[r + 1] = step, -step
    if cap < 1.0 and step >= cap - _weight(state, to):
        state.ends[r] = CAPPED
    if step >= _weight(state, off):
        state.ends[r + 1] = OUT
    return bool(state.ends[r] != FREE or state.ends[r + 1] != FREE)


@njit(cache=True, nogil=True, error_model="numpy")
def _plan_pairs(state: State, cap: float) -> bool:
    """Exact line search along the sum of the pairs' directions: one amount of weight for all of them."""
    count, gram = state.counts[WANTED], state.gram
    slope = length = 0.0
    room = np.inf
    for r in range(0, count, 2):
        slope += state.scores[state.wanted[r + 1]] - state.scores[state.wanted[r]]
        room = min(room, _pair_room(state, r, cap))
        for s in range(0, count, 2):
            length += gram[r, s] - gram[r, s + 1] - gram[r + 1, s] + gram[r + 1, s + 1]
    step = min(slope / length, room) if length > 0.0 else room
    if count == 0 or not 0.0 < step < np.inf:
        return False
    for r in range(0, count, 2):
        if _set_pair(state, r, step, cap):
            state.counts[KIND] = SWAP
    return True


@njit(cache=True, nogil=True, error_model="numpy")
def _plan_two_pairs(state: State, cap: float) -> bool:
    """The best point of the rectangle that the moves of both hulls span."""
    gram, scores, wanted = state.gram, state.scores, state.wanted
    p, q = scores[wanted[1]] - scores[wanted[0]], scores[wanted[3]] - scores[wanted[2]]
    aa = gram[0, 0] - 2.0 * gram[0, 1] + gram[1, 1]
    bb = gram[2, 2] - 2.0 * gram[2, 3] + gram[3, 3]
    ab = gram[0, 2] - gram[0, 3] - gram[1, 2] + gram[1, 3]
    room_p, room_q = _pair_room(state, 0, cap), _pair_room(state, 2, cap)
    a, b = best_in_rectangle(p, q, aa, bb, ab, room_p, room_q)
    if not 0.0 < a + b < np.inf:
        return False
    at_bound_p, at_bound_q = _set_pair(state, 0, a, cap), _set_pair(state, 2, b, cap)
    state.counts[KIND] = BOTH if a > 0.0 and b > 0.0 else SWAP if at_bound_p or at_bound_q else PAIR
    return True


@njit(cache=True, nogil=True, error_model="numpy")
def _plan_both(state: State) -> bool:
    """Keerthi et al.: Gilbert's segment toward x in hull g and MDM's move away from y.

    In one hull they span the triangle of u, x and u + weight_y (x - y); in two, hull h's point moves away from y on
    its own segment.
    """
    wanted, gram, on, mean = state.wanted, state.gram, state.on, state.mean
    to = wanted[0]
    g = hull_of(state, to)
    p = mean[g] - state.scores[to]
    aa = gram[0, 0] - 2.0 * on[0, g] + state.own[g]
    if state.counts[WANTED] == 1:
        a, _ = best_in_rectangle(p, 0.0, aa, 0.0, 0.0, 1.0, 0.0)
        state.keep[g], state.coefs[0] = 1.0 - a, a
        return bool(0.0 < a < np.inf)
    off = wanted[1]
    h, weight = hull_of(state, off), _weight(state, off)
    if h == g:
        q = weight * (state.scores[off] - state.scores[to])
        bb = weight * weight * (gram[0, 0] - 2.0 * gram[0, 1] + gram[1, 1])
        ab = weight * (gram[0, 0] - gram[0, 1] - on[0, g] + on[1, g])
        a, share = best_in_triangle(p, q, aa, bb, ab)
        b, full = weight * share, a + share >= 1.0
        state.keep[g], state.coefs[0], state.coefs[1] = 1.0 - a, a + b, -b
        last = SWAP if full else PAIR
    else:
        room = _room(state, off)
        q = state.scores[off] - mean[h]
        bb = gram[1, 1] - 2.0 * on[1, h] + state.own[h]
        ab = on[0, h] - gram[0, 1] - (mean[0] - state.own[0]) + on[1, g]
        a, b = best_in_rectangle(p, q, aa, bb, ab, 1.0, room)
        full = b >= room
        state.keep[g], state.coefs[0] = 1.0 - a, a
        state.keep[h], state.coefs[1] = 1.0 + b, -b
        last = DROP if full else DECREASE
    if full:
        state.ends[1] = OUT
    state.counts[KIND] = ADD if b == 0.0 else last if a == 0.0 else BOTH
    return 0.0 < a + b < np.inf


@njit(cache=True, nogil=True, error_model="numpy")
def _along(slope: float, length: float, room: float) -> float:
    """Return the step in [0, room] that decreases most along a direction of that slope and squared length."""
    if slope <= 0.0:
        return 0.0
    return min(slope / length, room) if length > 0.0 else room


@njit(cache=True, nogil=True, error_model="numpy")
def _decrease(a: float, b: float, p: float, q: float, aa: float, bb: float, ab: float) -> float:
    return a * (p - 0.5 * aa * a - ab * b) + b * (q - 0.5 * bb * b)


@njit(cache=True, nogil=True, error_model="numpy")
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


@njit(cache=True, nogil=True, error_model="numpy")
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
