"""Pairwise Frank-Wolfe, MDM and Keerthi's nearest point written out on dense weight vectors: slow, and easy to believe.

``signed`` is the kernel matrix times both labels, ``hulls`` the points of each hull, ``u`` the weights of all points.
"""

from __future__ import annotations

import itertools

import numpy as np

from tests.plugins.naive_fw import naive_frank_wolfe

_TIED = 1e-10  # scores that differ by less are equal


def hulls_of(targets, one=False):
    """Return the signs and the hulls' points, in the order of the data."""
    if one:
        return np.ones(len(targets)), [np.arange(len(targets))]
    return targets, [np.flatnonzero(targets > 0), np.flatnonzero(targets < 0)]


def naive_start(matrix, targets, one=False):
    """Return the weights that fw starts from; of one hull its shortest point."""
    u = np.zeros(len(targets))
    if one:
        u[np.argmin(np.diag(matrix))] = 1.0
        return u
    first = naive_frank_wolfe(matrix, targets, 1e-300, 0)[0]
    u[targets > 0], u[targets < 0] = first.u, first.v
    return u


def tied(points, values):
    """Return the points of the largest value: after an exact step there are equals, and rounding decides among them."""
    return points[values >= values.max() - _TIED] if len(points) else points


def along(signed, u, direction, room):
    """Return u moved by exact line search, ``room`` at most."""
    length = direction @ signed @ direction
    step = min(room, -(direction @ signed @ u) / length) if length > 0 else room
    return u + max(0.0, step) * direction


def unit(n, i):
    vector = np.zeros(n)
    vector[i] = 1.0
    return vector


def pairs_of(signed, hulls, u, cap):
    """Return for each hull its moves from a farthest point to a nearest one: (width, direction, room)."""
    scores, found = signed @ u, []
    for hull in hulls:
        open_ones, used = hull[u[hull] < cap], hull[u[hull] > 0]
        ends = itertools.product(tied(open_ones, -scores[open_ones]), tied(used, scores[used]))
        moves = [
            (scores[i] - scores[k], unit(len(u), k) - unit(len(u), i), min(u[i], cap - u[k]))
            for k, i in ends
            if scores[i] > scores[k]
        ]
        if moves:
            found.append(moves)
    return found


def pairwise_steps(signed, hulls, u, cap=np.inf):
    return [
        along(signed, u, sum(pair[1] for pair in pairs), min(pair[2] for pair in pairs))
        for pairs in itertools.product(*pairs_of(signed, hulls, u, cap))
    ]


def mdm_steps(signed, hulls, u, cap=np.inf):
    pairs = [pair for moves in pairs_of(signed, hulls, u, cap) for pair in moves]
    widest = max(pair[0] for pair in pairs)
    return [along(signed, u, direction, room) for width, direction, room in pairs if width >= widest - _TIED]


def nearest_steps(signed, hulls, u, cap=np.inf):
    scores = signed @ u
    if np.isfinite(cap):  # the moves of both hulls, each by its own amount
        return [
            best_point(signed, u, [pair[1] * pair[2] for pair in pairs], lambda a, b: 0 <= a <= 1 and 0 <= b <= 1)
            for pairs in itertools.product(*pairs_of(signed, hulls, u, cap))
        ]
    toward, away = [], []
    for hull in hulls:
        mean = u[hull] @ scores[hull]
        toward += [(mean - scores[k], k, hull) for k in hull]
        used = hull[u[hull] > 0]
        away += [(scores[i] - mean, i, hull) for i in used if len(used) > 1]
    return [nearest_step(signed, u, to, off) for to in steepest(toward) for off in (steepest(away) or [None])]


def steepest(moves):
    least = max((steepness for steepness, *_ in moves), default=0.0) - _TIED
    return [move for move in moves if move[0] >= least]


def nearest_step(signed, u, to, off):
    n = len(u)
    _, k, hull_k = to
    own = np.zeros(n)
    own[hull_k] = u[hull_k]
    segment = unit(n, k) - own
    if off is None:
        return along(signed, u, segment, 1.0)
    _, i, hull_i = off
    if hull_i is hull_k:  # the triangle of u, x_k and u with all weight of i on k
        move = u[i] * (unit(n, k) - unit(n, i))
        return best_point(signed, u, [segment, move], lambda a, b: a >= 0 and b >= 0 and a + b <= 1, diagonal=True)
    own = np.zeros(n)
    own[hull_i] = u[hull_i]
    other = u[i] / (1 - u[i]) * (own - unit(n, i))
    return best_point(signed, u, [segment, other], lambda a, b: 0 <= a <= 1 and 0 <= b <= 1)


def best_point(signed, u, moves, inside, diagonal=False):
    """Return the point of least norm among u + a moves[0] + b moves[1], over the unit square or its lower triangle."""
    if len(moves) == 1:
        return along(signed, u, moves[0], 1.0)
    one, other = moves
    matrix = np.array([[p @ signed @ q for q in moves] for p in moves])
    slopes = -np.array([p @ signed @ u for p in moves])
    a, b = np.linalg.lstsq(matrix, slopes, rcond=None)[0]
    if inside(a, b):
        return u + a * one + b * other
    edges = [(u, one), (u, other)]
    edges += [(u + other, one - other)] if diagonal else [(u + one, other), (u + other, one)]
    return min((along(signed, start, move, 1.0) for start, move in edges), key=lambda v: v @ signed @ v)


# each returns every step there may be where scores are equal
STEPS = {"fw-pairwise": pairwise_steps, "mdm": mdm_steps, "nearest-point": nearest_steps}
