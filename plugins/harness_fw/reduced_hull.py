"""Linear minimisation over a reduced hull, and over the face of it that a point lies in."""

from __future__ import annotations

import numpy as np

from harness.arrays import Index, Vector

_WHOLE = 1e-9  # what 1 / cap may be below a whole number that it stands for
_NOTHING = 1e-12  # weight that is rounding


def extreme(values: Vector, cap: float) -> tuple[Index, Vector]:
    """Return points and weights that minimise <values, u> over the simplex with u_i <= cap: the greedy sum.

    The smallest values with weight ``cap`` each until the weights sum to 1, the last one fractional; without a cap
    (1 or more) the smallest value, the first of equals.
    """
    if cap >= 1.0:
        return np.array([int(values.argmin())]), np.ones(1)
    whole = min(len(values), int(np.floor(1.0 / cap + _WHOLE)))
    rest = 1.0 - whole * cap
    count = min(len(values), whole + (rest > _NOTHING))
    points = np.arange(len(values)) if count == len(values) else np.argpartition(values, count - 1)[:count]
    points = points[np.lexsort((points, values[points]))]
    weights = np.full(count, cap)
    if count > whole:
        weights[-1] = rest
    return points, weights


def face_extreme(values: Vector, weights: Vector, cap: float) -> tuple[Index, Vector]:
    """The same over the smallest face that holds ``weights`` > 0: those at the cap stay, no other points come in.

    Garber & Meshi, "Linear-memory and decomposition-invariant linearly convergent conditional gradient algorithm for
    structured polytopes" (2016): an away step to it needs no decomposition of the iterate into vertices.
    """
    fixed = np.flatnonzero(weights >= cap)
    free = np.flatnonzero(weights < cap)
    mass = 1.0 - cap * len(fixed)
    if mass <= _NOTHING or not len(free):
        return fixed, np.full(len(fixed), cap)
    points, shares = extreme(values[free], cap / mass)
    return np.concatenate([fixed, free[points]]), np.concatenate([np.full(len(fixed), cap), mass * shares])


def nearest_on_hull(values: Vector, cap: float) -> float:
    """Return the least <values, u> over the hull of :func:`extreme`."""
    points, weights = extreme(values, cap)
    return float(weights @ values[points])


def farthest_on_face(values: Vector, weights: Vector, cap: float) -> float:
    """Return the largest <values, u> over the face of :func:`face_extreme`."""
    points, shares = face_extreme(-values, weights, cap)
    return float(shares @ values[points])
