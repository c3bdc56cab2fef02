"""Compiled loops of ``ramp-exact``: greedy coordinate ascent on a concave box program, and the bound of a node.

A node has for each point the ``side`` and the range from ``least`` to ``most`` of z = y f over every w that is better than the
incumbent. The loss of an undecided point is replaced by the ramp's convex envelope over that range. With z = Q a,
Q_ij = y_i y_j K_ij, the relaxed problem of a node is

    max_a  constant + sum_i knot_i a_i - 1/2 a' Q a    s.t.  low <= a <= high

and for any such a, of value D: relaxed(w) >= D + 1/2 |w - w_a|^2. So every w with an objective below ``target`` is within
sqrt(2 (target - D)) of w_a. This narrows the ranges, and with them the envelopes, until the bound no longer improves.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.support.jit import compiled, inner

UNDECIDED, INLIER, OUTLIER = 0, 1, 2
_ROUNDS = 8  # largest number of rounds of bounding and narrowing in one node
_MIN_GAIN = 0.02  # least gain of a round that another one follows, as a fraction of target minus bound
_SLACK = 1e-9  # rounding error of the half width of a range, relative and absolute


@inner
def _decide(side: Any, least: Any, most: Any, s: float) -> None:
    """Decide the points whose range does not have s in its interior, as the envelopes need such ranges."""
    for i in range(len(side)):
        if side[i] == UNDECIDED and least[i] >= s:
            side[i] = INLIER
        elif side[i] == UNDECIDED and most[i] <= s:
            side[i] = OUTLIER


@inner
def _relaxed(side: Any, least: Any, most: Any, price: Any, s: float, knot: Any, low: Any, high: Any) -> float:
    """Write the box and the knots of a node's relaxed problem and return its constant."""
    constant = 0.0
    for i in range(len(side)):
        knot[i], low[i], high[i] = 1.0, 0.0, price[i]
        if side[i] == OUTLIER:
            high[i] = 0.0
            constant += (1.0 - s) * price[i]
        elif side[i] == UNDECIDED and most[i] < 1.0:
            # flat, then falling: concave, so its envelope is the chord
            knot[i] = most[i]
            low[i] = high[i] = price[i] * (most[i] - s) / (most[i] - least[i])
            constant += (1.0 - most[i]) * price[i]
        elif side[i] == UNDECIDED and least[i] < s:
            high[i] = price[i] * (1.0 - s) / (1.0 - least[i])
    return constant


@compiled
def ascend(Q: Any, knot: Any, low: Any, high: Any, a: Any, z: Any, enough: float, above: float, steps: int) -> Any:
    """Maximise knot'a - a'Qa / 2 over the box by the coordinate that gains most in each step; return (value, gap).

    Q : (n, n); a, z = Q a : (n,), changed in place; a is in the box
    enough, above, steps : the ascent ends at this duality gap, above this value, or after this number of steps
    """
    n = len(a)
    value = gap = 0.0
    for step in range(steps + 1):
        value = gap = gained = move = 0.0
        best = -1
        for i in range(n):
            g = knot[i] - z[i]
            value += a[i] * (knot[i] - 0.5 * z[i])
            room = high[i] - a[i] if g > 0.0 else low[i] - a[i]
            if room == 0.0:
                continue
            gap += room * g
            d = room if Q[i, i] * abs(room) <= abs(g) else g / Q[i, i]
            gain = d * (g - 0.5 * d * Q[i, i])
            if gain > gained:
                gained, best, move = gain, i, d
        if gap <= enough or value > above or best < 0 or step == steps:
            break
        a[best] = min(max(a[best] + move, low[best]), high[best])
        for i in range(n):
            z[i] += move * Q[best, i]
    return value, gap


@inner
def _start(Q: Any, low: Any, high: Any, a: Any, z: Any) -> None:
    """Clip a to the box and compute z = Q a."""
    z[:] = 0.0
    for i in range(len(a)):
        a[i] = min(max(a[i], low[i]), high[i])
        if a[i] != 0.0:
            for j in range(len(a)):
                z[j] += a[i] * Q[i, j]


@inner
def _narrow(side: Any, least: Any, most: Any, z: Any, reach: float, Q: Any, s: float) -> bool:
    """Narrow the ranges to z_i +- reach sqrt(Q_ii) and decide points; return False if no w is left."""
    for i in range(len(side)):
        half = reach * np.sqrt(Q[i, i]) * (1.0 + _SLACK) + _SLACK
        least[i], most[i] = max(least[i], z[i] - half), min(most[i], z[i] + half)
        if least[i] > most[i]:
            return False
        if (side[i] == INLIER and most[i] < s) or (side[i] == OUTLIER and least[i] > s):
            return False
    _decide(side, least, most, s)
    return True


@inner
def _objective(price: Any, s: float, a: Any, z: Any) -> float:
    """Return J_s of a with z = Q a."""
    total = 0.0
    for i in range(len(a)):
        total += 0.5 * a[i] * z[i] + price[i] * min(max(0.0, 1.0 - z[i]), 1.0 - s)
    return total


@inner
def _farthest_off(side: Any, least: Any, most: Any, z: Any, price: Any, s: float) -> int:
    """Return the undecided point whose loss is farthest above its envelope at z; -1 if all are decided."""
    largest, branch = 0.0, -1
    for i in range(len(side)):
        if side[i] != UNDECIDED:
            continue
        ramp = min(max(0.0, 1.0 - z[i]), 1.0 - s)
        if most[i] < 1.0:
            relaxed = 1.0 - most[i] + (most[i] - s) / (most[i] - least[i]) * (most[i] - z[i])
        else:
            relaxed = (1.0 - s) / (1.0 - least[i]) * max(0.0, 1.0 - z[i])
        if branch < 0 or price[i] * (ramp - relaxed) > largest:
            largest, branch = price[i] * (ramp - relaxed), i
    return branch


@compiled
def bound(Q, price, s, side, least, most, a, z, target, exact, steps):  # type: ignore[no-untyped-def]
    """Compute a lower bound of a node and decide points whose side follows from it.

    Q : (n, n); price : (n,) C_i; side, least, most, a, z : (n,), changed in place
    target : a node whose bound reaches this is closed
    exact : the gap to which a node is solved if all points are decided
    steps : largest number of steps on one relaxed problem

    Return (bound, branch, objective): the lower bound, infinite if the node is closed; the undecided point whose loss is
    farthest above its envelope, -1 if all are decided; J_s of a.
    """
    n = len(a)
    knot, low, high = np.empty(n), np.empty(n), np.empty(n)
    lower = -np.inf
    _decide(side, least, most, s)
    for _ in range(_ROUNDS):
        constant = _relaxed(side, least, most, price, s, knot, low, high)
        _start(Q, low, high, a, z)
        missing = target - lower if lower > -np.inf else target
        before = lower
        value, _gap = ascend(Q, knot, low, high, a, z, 0.1 * _MIN_GAIN * max(missing, 0.0), target - constant, steps)
        lower = max(lower, value + constant)
        if lower >= target or not _narrow(side, least, most, z, np.sqrt(2.0 * (target - value - constant)), Q, s):
            return np.inf, -1, _objective(price, s, a, z)
        if lower - before < _MIN_GAIN * (target - lower):
            break
    branch = _farthest_off(side, least, most, z, price, s)
    if branch < 0:
        constant = _relaxed(side, least, most, price, s, knot, low, high)
        _start(Q, low, high, a, z)
        value, _gap = ascend(Q, knot, low, high, a, z, exact, target - constant, 100 * steps)
        lower = max(lower, value + constant)
    return lower, branch, _objective(price, s, a, z)


@compiled
def descend(Q: Any, price: Any, s: float, a: Any, z: Any, gap: float, steps: int) -> float:
    """Solve the hinge problem of the points with z >= s, repeatedly, while J_s falls; return J_s.

    a, z = Q a : (n,), changed in place
    gap : relative gap of each hinge problem
    """
    n = len(a)
    knot, low, high = np.ones(n), np.zeros(n), np.empty(n)
    best = np.inf
    best_a, best_z = a.copy(), z.copy()
    while True:
        objective = _objective(price, s, a, z)
        if not objective < best - 1e-14 * abs(objective):
            break
        best = objective
        for i in range(n):
            best_a[i], best_z[i] = a[i], z[i]
            high[i] = price[i] if z[i] >= s else 0.0
        _start(Q, low, high, a, z)
        ascend(Q, knot, low, high, a, z, gap * objective, np.inf, steps)
        _start(Q, low, high, a, z)
    for i in range(n):
        a[i], z[i] = best_a[i], best_z[i]
    return best
