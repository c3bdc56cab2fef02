"""The (reduced) hulls of a problem: linear minimisation over them and over the faces a point lies in, and where to start."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from harness import Iterate, Problem
from harness.support.arrays import Index, Vector
from harness_fw.bounds import delta_bound

ROUNDING = 1e-14  # |w|^2 over the largest k(x, x) at which rounding hides the direction of w
ZERO = "w may be 0"  # status of a run that ends there
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
    """The same over the smallest face with ``weights`` > 0: those at the cap stay, no other points come in.

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


def figures(plus: float, minus: float, squared: float) -> dict[str, Any]:
    """Return epsilon_+, epsilon_-, the larger of both and |w| by name."""
    norm = max(squared, 0.0) ** 0.5
    return {"epsilon": max(plus, minus), "epsilon_plus": plus, "epsilon_minus": minus, "norm": norm}


def iterate(
    coef: Vector,
    threshold: float,
    status: str,
    info: dict[str, Any],
    rounds: int,
    working_set: int,
    hulls: Hulls | None,
) -> Iterate:
    """Return the model after so many rounds; where the run ends without an optimum, ``info`` says what is known.

    status : "done", ZERO, another reason to end, or "" while the run goes on
    """
    evidence = f"|w| = {info['norm']:.3g} after {rounds} iterations, epsilon = {info['epsilon']:.2g}"
    if status == ZERO and hulls is not None:
        known = "the hulls meet, or are" if len(hulls.sides) == 2 else "the origin is inside, or"
        evidence = (
            f"|w| = {info['norm']:.2g} after {rounds} iterations, and rounding may amount to {hulls.floor**0.5:.2g}"
        )
        evidence += f": {known} no farther {'apart' if len(hulls.sides) == 2 else 'away'} than that"
    if status not in ("", "done"):
        info.update(status=status, stopped=f"{status}: {evidence}")
    return Iterate(coef, intercept=-threshold, done=status == "done", step=rounds, working_set=working_set, info=info)


class Hulls:
    """The (reduced) hulls of a problem: of its two classes, or one against the origin.

    Attributes
    ----------
    sign : (n,) +1 or -1: a coefficient is sign times a weight
    sides : the points of each hull
    caps : the largest weight in each hull, 1 for a whole one
    diagonal : (n,) k(x, x), counted
    floor : |w|^2 at which w counts as zero
    """

    def __init__(self, problem: Problem) -> None:
        form = problem.dual_form()
        self.kernel = problem.kernel
        self.sign: Vector = np.where(form.upper > 0.0, 1.0, -1.0)
        self.sides: list[Index] = [np.flatnonzero(form.group == side) for side in range(form.groups)]
        bound = np.maximum(form.upper, -form.lower)
        self.caps = [min(1.0, float(bound[side[0]])) for side in self.sides]
        self.diagonal: Vector = np.asarray(self.kernel.diagonal(), dtype=np.float64)
        self.floor = ROUNDING * float(self.diagonal.max())

    def start(self, row_of: Callable[[int], Vector]) -> list[tuple[Index, Vector]]:
        """Return, for each hull, the points to begin with and their weights, which sum to 1.

        Two hulls: q nearest to the first p, then p nearest to that q (lines 1-11 of Kumar & Yildirim's Algorithm 1).
        One hull: the point nearest to the origin. Where weights have a cap, the vertex of the reduced hulls that is
        farthest down the w of these points.

        row_of : gives K[i, :], (n,), of up to three points
        """
        if len(self.sides) == 1:
            chosen = [int(self.sides[0][self.diagonal[self.sides[0]].argmin()])]
        else:
            p, q = self.sides
            # |p - q|^2 = k(p, p) + k(q, q) - 2 k(p, q)
            j = int(q[(self.diagonal[q] - 2.0 * row_of(int(p[0]))[q]).argmin()])
            i = int(p[(self.diagonal[p] - 2.0 * row_of(j)[p]).argmin()])
            chosen = [i, j]
        if min(self.caps) >= 1.0:
            return [(np.array([point]), np.ones(1)) for point in chosen]
        scores = self.sign * sum(self.sign[point] * row_of(point) for point in chosen)
        vertices = []
        for side, cap in zip(self.sides, self.caps, strict=True):
            places, weights = extreme(scores[side], cap)
            vertices.append((side[places], weights))
        return vertices

    def delta(self) -> float:
        """Return a bound of delta, (19) of Kumar & Yildirim, half the largest |z|^2 over all vertices, from k(x, x)."""
        return delta_bound(self.diagonal, self.sign > 0.0)

    def near(self, scores: Vector) -> float:
        """Return <w, z>, the smallest value over all vertices, from the signed ``scores``, (n,)."""
        total = 0.0
        for side, cap in zip(self.sides, self.caps, strict=True):
            points, weights = extreme(scores[side], cap)
            total += float(weights @ scores[side][points])
        return total

    def far(self, scores: Vector, weights: Vector) -> float:
        """Return the largest value over the vertices of the smallest face with ``weights``, (n,).

        Weights at their cap stay there; of whole hulls it is the largest score in use, class by class.
        """
        total = 0.0
        for side, cap in zip(self.sides, self.caps, strict=True):
            used = side[weights[side] > 0.0]
            # a cap of 1 is implied by the sum and out of reach: no weight stays there
            points, shares = face_extreme(-scores[used], weights[used], cap if cap < 1.0 else 2.0)
            total += float(shares @ scores[used][points])
        return total

    def epsilons(self, scores: Vector, weights: Vector) -> tuple[float, float]:
        """Return epsilon_+ and epsilon_- of Kumar & Yildirim, (10) and (11); infinite where w counts as zero.

        scores, weights : (n,) y_i <w, phi(x_i)> and the weight of each point
        """
        norm = float(weights @ scores)
        if norm <= self.floor:
            return np.inf, np.inf
        return 1.0 - self.near(scores) / norm, self.far(scores, weights) / norm - 1.0

    def beyond(self, scores: Vector, weights: Vector, most: int) -> Index:
        """Return the points without weight whose score is below the mean of their hull, the ``most`` lowest at most."""
        below = np.concatenate([weights[side] @ scores[side] - scores[side] for side in self.sides])
        points = np.concatenate(self.sides)
        below[weights[points] > 0.0] = 0.0
        if most < len(below):
            lowest = np.argpartition(-below, most)[:most]
            points, below = points[lowest], below[lowest]
        return points[below > 0.0]
