"""The rules, compiled: which points a step takes, how far it goes, and how it changes the support.

    FW        P. Kumar, E. A. Yildirim (2009), Algorithm 1: toward the vertex z of nearest points, or away from that of
              the farthest support vectors, whichever epsilon is larger
    GILBERT   E. G. Gilbert (1966): toward z alone
    PAIRWISE  S. Lacoste-Julien, M. Jaggi, "On the global linear convergence of Frank-Wolfe optimization variants" (2015),
              Algorithm 2: weight moves from the farthest support vector to the nearest point, in all hulls by the same amount
    MDM       B. F. Mitchell, V. F. Dem'yanov, V. N. Malozemov, SIAM Journal on Control 12(1), 1974: the same in one hull,
              the one with the larger difference of both scores
    NEAREST   S. S. Keerthi, S. K. Shevade, C. Bhattacharyya, K. R. K. Murthy, IEEE Transactions on Neural Networks 11(1),
              2000: Gilbert's segment and MDM's move at once, over a triangle or, in two hulls, over both segments;
              with caps, the moves of both hulls at once, each by a separate amount

A loop calls ``measure``, ``choose``, ``plan`` and ``move_support``; then it computes the new scores with ``near``. The
argument ``pairs`` of the compiled functions is None for FW and GILBERT, else True: numba leaves out the branches of the
other rules, so that a solver compiles no other rules.
For quick compilation arrays are written in loops: assignments to slices and sums of arrays bring numpy's checks along.

Points are in the solver's order, the points of hull 0 first, then those of hull 1 (polytope-distance has
hull 0 alone), and everything is signed: s is the label, or 1 in polytope-distance,

    row_i[l] = s_i s_l k(x_i, x_l)        scores[l] = s_l <w, phi(x_l)> = sum_i weight_i row_i[l]

so that all hulls need one code: the point to go to has the smallest score of its hull, the point to leave has the
largest one among the support, and w = u_0 + u_1 is the sum of the hulls' signed points u_g = sum_i weight_i s_i phi(x_i).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from harness import RowCache
from harness.support.arrays import Index, Vector
from harness.support.jit import compiled, inner

# the rules
FW, GILBERT, PAIRWISE, MDM, NEAREST = range(5)
# why a loop came back
STEPS, DONE, MISSING, TOUCHING, STALLED = range(5)
# places in State.figures: |w|^2, epsilon_+, epsilon_-, the least epsilon and the least |w|^2 so far
NORM, PLUS, MINUS, LEAST, SHORTEST = range(5)
# kinds of steps and their places in State.counts, after TAKEN; IDLE: iterations in a row that made neither |w|^2
# nor epsilon smaller than ever; KIND: the kind of the last step, CHOSEN: points it takes, READ: rows read
TAKEN, ADD, DECREASE, DROP, PAIR, SWAP, BOTH, IDLE, KIND, CHOSEN, READ = range(11)
KINDS = ("", "add", "decrease", "drop", "pair", "swap", "both")
# effect of a step on a chosen point besides its change: none, out of the support, to the cap
FREE, OUT, CAPPED = range(3)

SEGMENT = 512  # scores updated and searched at a time: they and the rows stay in the first-level cache
MOST = 4  # points of a step, at most
_FLAT = 1e-14  # determinant over the product of the squared lengths below which two directions are one
_NONE = 0  # a kind: there is no step
_PATIENCE = 1000  # idle iterations that show rounding at work, beyond _PATIENCE_EACH for each support vector
_PATIENCE_EACH = 10
_BLIND = 100_000  # iterations of Gilbert's rule with no w that separates: |w| falls like 1 / sqrt(iterations)


class State(NamedTuple):
    """Everything the loops change; n points, hulls g = 0 .. G-1, capacity rows in memory.

    scores : (n,) s_l <w, phi(x_l)>
    parts : (2, n) s_l <u_g, phi(x_l)> for the rule NEAREST on two hulls, whose sum the scores are; else (0, 0)
    closed : (n,) inf where a weight is at its cap, else 0; (0,) if weights have no cap
    rows : (capacity, n) signed rows; read only for the loops
    slot : (n,) place of a point's row in ``rows``, -1 if it is not there; read only for the loops
    used : (capacity,) iteration that last used the row in each place
    begin : (G + 1,) points begin[g] .. begin[g + 1] - 1 are those of hull g; read only
    caps : (G,) upper bound of the weights of a hull, above 1 if there is none; read only
    support, weight : (n,) hull g's support and its weights, packed from place begin[g] on; weights > 0 with sum 1
    position : (n,) place of a point in ``support``, -1 outside
    size : (G,) support vectors of each hull
    near, far : (G,) point with the smallest score below its cap, -1 before the scores are searched; support vector with the
        largest score
    mean : (G,) <u_g, w>
    squared : (G,) <u_g, u_g>, for NEAREST on two hulls
    chosen : (MOST,) points of the next step; counts[CHOSEN] of them
    gram : (MOST, MOST) signed kernel values between the chosen points
    products : (MOST, 2) signed <u_g, x> of the chosen points, for NEAREST without caps
    at, have : (MOST,) scores and weights of the chosen points
    coefs, ends : (MOST,) what the step adds to the weight of a chosen point; FREE, OUT or CAPPED
    scale : (G,) factor of the weights of a hull, before the step adds
    figures, counts : see the constants of this module
    scratch : (SEGMENT,) for scores in use
    """

    scores: Vector
    parts: Vector
    closed: Vector
    rows: Vector
    slot: Index
    used: Index
    begin: Index
    caps: Vector
    support: Index
    weight: Vector
    position: Index
    size: Index
    near: Index
    far: Index
    mean: Vector
    squared: Vector
    chosen: Index
    gram: Vector
    products: Vector
    at: Vector
    have: Vector
    coefs: Vector
    ends: Index
    scale: Vector
    figures: Vector
    counts: Index
    scratch: Vector


def new_state(begin: Index, caps: Vector, buffer: RowCache, *, parts: bool = False) -> State:
    """Return a state without support, on the rows of ``buffer``."""
    n, hulls = buffer.n, len(caps)
    floats: dict[str, Any] = {"scores": n, "weight": n, "closed": n if min(caps) < 1.0 else 0, "scratch": SEGMENT}
    floats |= {"mean": hulls, "squared": hulls, "scale": hulls, "gram": (MOST, MOST), "products": (MOST, 2)}
    floats |= {"at": MOST, "have": MOST, "coefs": MOST, "parts": (2, n) if parts else (0, 0)}
    integers = {"support": n, "size": hulls, "near": hulls, "far": hulls, "chosen": MOST, "ends": MOST, "counts": 11}
    arrays: dict[str, Any] = {name: np.zeros(shape) for name, shape in floats.items()}
    arrays |= {name: np.zeros(shape, dtype=np.int64) for name, shape in integers.items()}
    figures, position = np.array([0.0, 0.0, 0.0, np.inf, np.inf]), np.full(n, -1, dtype=np.int64)
    rows = {"rows": buffer.rows, "slot": buffer.slot_of, "used": buffer.last_used}
    return State(begin=begin, caps=caps, figures=figures, position=position, **rows, **arrays)


# -- which points a step takes ------------------------------------------------------------------------


@inner
def measure(state: State, rule: int, epsilon: float, floor: float) -> int:
    """Set ``far``, ``mean``, ``squared``, |w|^2, epsilon_+ and epsilon_-; return STEPS unless there is a reason to end.

    Of equal scores the first point is the farthest. With caps epsilon_+ is a bound of both instead: as all weight moves by 1
    at most, no point of a reduced hull is more than <w, far - near> better or worse than that of the hull.
    """
    scores, closed, parts, support, weight = state.scores, state.closed, state.parts, state.support, state.weight
    capped, split, figures = len(closed) > 0, parts.shape[1] > 0, state.figures
    norm = toward = apart = between = count = 0.0
    for g in range(len(state.size)):
        first, size, highest, farthest, mean, squared = state.begin[g], state.size[g], -np.inf, -1, 0.0, 0.0
        for k in range(first, first + size):
            i = support[k]
            score = scores[i]
            mean += weight[k] * score
            if split:
                squared += weight[k] * parts[g, i]
            if score > highest or (score == highest and i < farthest):
                highest, farthest = score, i
        state.far[g], state.mean[g] = farthest, mean
        if split:
            state.squared[g] = squared
        near = scores[state.near[g]]
        norm, toward, apart, count = norm + mean, toward + near, apart + highest, count + size
        if capped and closed[state.near[g]] == 0.0 and highest > near:
            between += highest - near
    figures[NORM] = norm
    if capped:
        toward, apart = norm - between, norm
    reason: int = judge(figures, state.counts, rule, toward, apart, count, epsilon, floor)
    return reason


@inner
def judge(
    figures: Vector, counts: Index, rule: int, toward: float, apart: float, support: float, epsilon: float, floor: float
) -> int:
    """Set epsilon_+ and epsilon_-, (10) and (11) of Kumar & Yildirim; return STEPS unless there is a reason to end.

    toward, apart : <w, z> of the nearest vertex and of the farthest one of the support

    It ends too where rounding is at work, or where Gilbert's rule is too slow for hulls so near.
    """
    norm = figures[NORM]
    if norm < figures[SHORTEST]:
        figures[SHORTEST], counts[IDLE] = norm, 0
    if norm <= floor:
        return TOUCHING
    figures[PLUS] = 1.0 - toward / norm
    figures[MINUS] = 0.0 if rule == GILBERT else apart / norm - 1.0
    worst = figures[PLUS] if figures[PLUS] > figures[MINUS] else figures[MINUS]
    if worst <= epsilon:
        return DONE
    if worst < figures[LEAST]:
        figures[LEAST], counts[IDLE] = worst, 0
    blind = rule == GILBERT and toward <= 0.0 and counts[TAKEN] >= _BLIND
    return STALLED if blind or counts[IDLE] > _PATIENCE + _PATIENCE_EACH * support else STEPS


@inner
def choose(state: State, rule: int, pairs: bool | None) -> bool:
    """Choose the points of the next step, with ``gram`` and ``products``; return False if one has no row in memory."""
    chosen, counts = state.chosen, state.counts
    if pairs is None:
        leave = rule == FW and not state.figures[PLUS] > state.figures[MINUS]
        for g in range(len(state.size)):
            chosen[g] = state.far[g] if leave else state.near[g]
        counts[CHOSEN], counts[KIND] = len(state.size), DECREASE if leave else ADD
    elif rule == NEAREST and len(state.closed) == 0:
        _choose_both(state)
    else:
        _choose_pairs(state, rule == MDM)
    count = counts[CHOSEN]
    for r in range(count):
        if state.slot[chosen[r]] < 0:
            return False
    counts[READ] += count
    for r in range(count):
        point, place = chosen[r], state.slot[chosen[r]]
        state.used[place] = counts[TAKEN]
        for s in range(count):
            state.gram[r, s] = state.rows[place, chosen[s]]
        if pairs is not None:
            for g in range(len(state.size)):
                state.products[r, g] = state.parts[g, point] if state.parts.shape[1] > 0 else state.scores[point]
    return True


@inner
def _choose_pairs(state: State, one: bool) -> None:
    """Choose the nearest and the farthest point of each hull, or of the ``one`` with the larger difference of both."""
    count, widest = 0, 0.0
    for g in range(len(state.size)):
        near, far = state.near[g], state.far[g]
        width = state.scores[far] - state.scores[near]
        if not width > 0.0 or (len(state.closed) > 0 and state.closed[near] > 0.0) or (one and width <= widest):
            continue
        widest, count = width, 0 if one else count
        state.chosen[count], state.chosen[count + 1] = near, far
        count += 2
    state.counts[CHOSEN], state.counts[KIND] = count, PAIR


@inner
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
    state.chosen[0], state.chosen[1] = state.near[to], state.far[off]
    state.counts[CHOSEN], state.counts[KIND] = 2 if off >= 0 else 1, ADD


@inner
def move_support(state: State) -> None:
    """Change the weights as planned; a weight of 0 leaves the support.

    To be called before the new scores are searched for ``near``: which weights are at their cap changes here.
    """
    support, weight, position, counts = state.support, state.weight, state.position, state.counts
    for g in range(len(state.size)):
        first, scale, cap = state.begin[g], state.scale[g], state.caps[g]
        k = first
        while scale != 1.0 and k < first + state.size[g]:
            weight[k] *= scale
            if weight[k] > 0.0:
                k += 1
            else:
                _remove(state, g, k)
        for r in range(counts[CHOSEN]):
            point, change = state.chosen[r], state.coefs[r]
            if hull_of(state.begin, point) != g or change == 0.0:
                continue
            if position[point] < 0:
                end = first + state.size[g]
                support[end], weight[end], position[point] = point, 0.0, end
                state.size[g] += 1
            place = position[point]
            value = weight[place] + change
            weight[place] = 0.0 if state.ends[r] == OUT else cap if state.ends[r] == CAPPED else value
            if len(state.closed) > 0:
                state.closed[point] = np.inf if weight[place] >= cap else 0.0
            if weight[place] <= 0.0:
                _remove(state, g, place)
        if state.size[g] == 1:
            weight[first] = 1.0  # rounding must not open a way out of the only vertex


@inner
def _remove(state: State, g: int, place: int) -> None:
    """Take the support vector at ``place`` out of hull g; the last one comes there."""
    state.size[g] -= 1
    end = state.begin[g] + state.size[g]
    last = state.support[end]
    state.position[state.support[place]] = -1
    if place < end:
        state.support[place], state.weight[place] = last, state.weight[end]
        state.position[last] = place


# -- how far it goes: exact line searches, and the best point of a triangle or rectangle ----------


@inner
def plan(state: State, rule: int, pairs: bool | None) -> bool:
    """Write the step to ``scale``, ``coefs``, ``ends``, from ``gram`` and ``products``, and count it; False if there is none."""
    for g in range(len(state.size)):
        state.scale[g] = 1.0
    for r in range(MOST):
        state.coefs[r], state.ends[r] = 0.0, FREE
    for r in range(state.counts[CHOSEN]):
        place = state.position[state.chosen[r]]
        state.at[r] = state.scores[state.chosen[r]]
        state.have[r] = state.weight[place] if place >= 0 else 0.0
    if pairs is None:
        kind = _vertex(state)
    elif rule == NEAREST and len(state.closed) == 0:
        kind = _both(state)
    else:
        kind = _pairs(state, rule == NEAREST)
    if kind != _NONE:
        note(state.counts, kind)
    return bool(kind != _NONE)


@inner
def note(counts: Index, kind: int) -> None:
    """Count a step; until |w|^2 or epsilon is smaller than ever, it is idle."""
    counts[KIND] = kind
    counts[kind] += 1
    counts[TAKEN] += 1
    counts[IDLE] += 1


@inner
def hull_of(begin: Index, point: int) -> int:
    """Return the hull that a point belongs to."""
    return 0 if point < begin[1] else 1


@inner
def _room(size: int, weight: float) -> float:
    """Return weight / (1 - weight), the longest step away from a point; infinite for its hull's only one."""
    return np.inf if size == 1 else weight / (1.0 - weight)


@inner
def _vertex(state: State) -> int:
    """Exact line search along d = z - w or b = w - y, lines 15-26 of Algorithm 1: one point of each hull."""
    leave, norm, count = state.counts[KIND] == DECREASE, state.figures[NORM], state.counts[CHOSEN]
    score = vertex_norm = 0.0
    room = np.inf if leave else 1.0
    for r in range(count):
        score += state.at[r]
        for s in range(count):
            vertex_norm += state.gram[r, s]
        if leave:
            room = min(room, _room(state.size[r], state.have[r]))
    slope = score - norm if leave else norm - score
    length = norm - 2.0 * score + vertex_norm
    step = slope / length if length > 0.0 else np.inf
    full = step >= room
    step = room if full else step
    if not 0.0 < step < np.inf:
        return _NONE
    for r in range(count):  # the chosen point of each hull
        state.scale[r] = 1.0 + step if leave else 1.0 - step
        state.coefs[r] = -step if leave else step
        if leave and full and _room(state.size[r], state.have[r]) == room:
            state.ends[r] = OUT
    return (DROP if full else DECREASE) if leave else ADD


@inner
def _pairs(state: State, apart: bool) -> int:
    """Exact line search along the sum of the pairs' directions; ``apart``: the best point of the rectangle that they span."""
    at, have, gram, count, ends = state.at, state.have, state.gram, state.counts[CHOSEN], state.ends
    p = q = aa = bb = ab = 0.0
    width = height = np.inf
    for r in range(0, count, 2):
        slope, length = at[r + 1] - at[r], gram[r, r] - 2.0 * gram[r, r + 1] + gram[r + 1, r + 1]
        room = min(have[r + 1], state.caps[hull_of(state.begin, state.chosen[r])] - have[r])
        if r == 0:
            p, aa, width = slope, length, room
        else:
            q, bb, height = slope, length, room
            ab = gram[0, 2] - gram[0, 3] - gram[1, 2] + gram[1, 3]
    if apart and count == 4:
        a, b = best_in(p, q, aa, bb, ab, width, height, not apart)
    else:
        a = b = _along(p + q, aa + 2.0 * ab + bb, min(width, height))
    if not 0.0 < a + b < np.inf:
        return _NONE
    bound = False
    for r in range(0, count, 2):
        step = a if r == 0 else b
        if step > 0.0:
            state.coefs[r], state.coefs[r + 1] = step, -step
            if step >= state.caps[hull_of(state.begin, state.chosen[r])] - have[r]:
                ends[r], bound = CAPPED, True
            if step >= have[r + 1]:
                ends[r + 1], bound = OUT, True
    if apart and count == 4 and a > 0.0 and b > 0.0:
        return BOTH
    return SWAP if bound else PAIR


@inner
def _both(state: State) -> int:
    """Keerthi et al.: Gilbert's segment toward x in hull g and MDM's move away from y in hull h, if h >= 0.

    In one hull they span the triangle of u, x and u + weight_y (x - y); in two, hull h's point moves away from y on
    its segment.
    """
    at, gram, on, mean = state.at, state.gram, state.products, state.mean
    squared = state.squared if len(mean) == 2 else mean
    scale, coefs = state.scale, state.coefs
    g = hull_of(state.begin, state.chosen[0])
    h = hull_of(state.begin, state.chosen[1]) if state.counts[CHOSEN] > 1 else -1
    p = mean[g] - at[0]
    aa = gram[0, 0] - 2.0 * on[0, g] + squared[g]
    weight, q, bb, ab, room = state.have[1], 0.0, 0.0, 0.0, 0.0
    if h == g:
        q, room = weight * (at[1] - at[0]), 1.0
        bb = weight * weight * (gram[0, 0] - 2.0 * gram[0, 1] + gram[1, 1])
        ab = weight * (gram[0, 0] - gram[0, 1] - on[0, g] + on[1, g])
    elif h >= 0:
        q, room = at[1] - mean[h], _room(state.size[h], weight)
        bb = gram[1, 1] - 2.0 * on[1, h] + squared[h]
        # <u_g, u_h> = mean_0 - squared_0
        ab = on[0, h] - gram[0, 1] - (mean[0] - squared[0]) + on[1, g]
    a, b = best_in(p, q, aa, bb, ab, 1.0, room, h == g)
    scale[g], coefs[0] = 1.0 - a, a
    full, last = False, ADD
    if h == g:
        full, b = a + b >= 1.0, weight * b
        coefs[0], coefs[1] = a + b, -b
        last = SWAP if full else PAIR
    elif h >= 0:
        full = b >= room
        scale[h], coefs[1] = 1.0 + b, -b
        last = DROP if full else DECREASE
    if full:
        state.ends[1] = OUT
    if not 0.0 < a + b < np.inf:
        return _NONE
    return ADD if b == 0.0 else last if a == 0.0 else BOTH


@inner
def _along(slope: float, length: float, room: float) -> float:
    """Return the step in [0, room] that decreases most along a direction of that slope and squared length."""
    if slope <= 0.0:
        return 0.0
    return min(slope / length, room) if length > 0.0 else room


@compiled
def best_in(
    p: float, q: float, aa: float, bb: float, ab: float, width: float, height: float, cut: bool
) -> tuple[float, float]:
    """Return the (a, b) in [0, width] x [0, height] that maximises p a + q b - 1/2 (aa a^2 + 2 ab a b + bb b^2).

    cut : a + b is at most 1 too; width and height are 1
    """
    determinant, best_a, best_b = aa * bb - ab * ab, -1.0, -1.0
    if determinant > _FLAT * aa * bb:  # else the best point of the plane is not unique
        best_a, best_b = (p * bb - q * ab) / determinant, (q * aa - p * ab) / determinant
    if 0.0 <= best_a <= width and 0.0 <= best_b <= height and not (cut and best_a + best_b > 1.0):
        return best_a, best_b
    low, left = _along(p, aa, width), _along(q, bb, height)
    if cut:
        right_a = top_a = _along(p - ab - q + bb, aa - 2.0 * ab + bb, 1.0)
        right_b = top_b = 1.0 - right_a
    else:
        right_a, right_b = width, _along(q - ab * width, bb, height)
        top_a, top_b = _along(p - ab * height, aa, width), height
    best = -np.inf
    for a, b in ((low, 0.0), (0.0, left), (right_a, right_b), (top_a, top_b)):
        gain = a * (p - 0.5 * aa * a - ab * b) + b * (q - 0.5 * bb * b)
        if gain > best:
            best, best_a, best_b = gain, a, b
    return best_a, best_b
