"""What core-set solvers share of a problem: signed points in one or two hulls, where to start, and kernel rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from harness_fw.bounds import delta_bound
from harness_fw.reduced_hull import extreme, farthest_on_face, nearest_on_hull

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from harness import Problem, RowBuffer
    from harness.arrays import Index, Matrix, Vector

TOUCHING = 1e-14  # |w|^2 over the largest k(x, x) at which rounding hides the direction of w


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
        self.floor = TOUCHING * float(self.diagonal.max())

    @property
    def n(self) -> int:
        """Number of points."""
        return len(self.sign)

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
        found = []
        for side, cap in zip(self.sides, self.caps, strict=True):
            places, weights = extreme(scores[side], cap)
            found.append((side[places], weights))
        return found

    def delta(self) -> float:
        """Return a bound of delta, (19) of Kumar & Yildirim, half the largest |z|^2 over all vertices, from k(x, x)."""
        return delta_bound(self.diagonal, self.sign > 0.0)

    def near(self, scores: Vector) -> float:
        """Return <w, z>, the smallest value over all vertices, from the signed ``scores``, (n,)."""
        return sum(nearest_on_hull(scores[side], cap) for side, cap in zip(self.sides, self.caps, strict=True))

    def far(self, scores: Vector, weights: Vector) -> float:
        """Return the largest value over the vertices of the smallest face that holds ``weights``, (n,).

        Weights at their cap stay there; of whole hulls it is the largest score in use, class by class.
        """
        total = 0.0
        for side, cap in zip(self.sides, self.caps, strict=True):
            used = side[weights[side] > 0.0]
            # a cap of 1 is implied by the sum: kept out of reach, no weight stays there
            total += farthest_on_face(scores[used], weights[used], cap if cap < 1.0 else 2.0)
        return total


def lowest(scores: Vector, candidates: Index, count: int) -> Index:
    """Return the ``count`` candidates with the smallest scores, in the order of the scores."""
    if count < len(candidates):
        candidates = candidates[np.argpartition(scores[candidates], count)[:count]]
    return np.asarray(candidates[np.argsort(scores[candidates], kind="stable")], dtype=np.intp)


def taken(rows: RowBuffer, points: Index, members: Index) -> Matrix:
    """Fetch the rows of ``points``; return K[points, members + points], (points, all), float64.

    Rows still here are not computed again, and those of ``members`` do not make room. A point whose row finds none costs
    the values asked for, and n kernel evaluations each time all scores are.
    """
    everyone = np.concatenate([members, points])
    rows.clock += 1
    rows.hit(int(np.count_nonzero(rows.slot_of[points] >= 0)))
    rows.fetch(points, keep=members)
    held = rows.slot_of[points] >= 0
    values = np.empty((len(points), len(everyone)))
    values[held] = rows.rows[np.ix_(rows.slot_of[points[held]], everyone)]
    if not held.all():
        values[~held] = rows.kernel.block(points[~held], everyone)
    return values


def as_weights(hulls: Hulls, members: Index, weights: Vector, out: Vector) -> Vector:
    """Write the signed coefficients of the members' weights into ``out``, (n,), zero elsewhere; return it."""
    out[:] = 0.0
    out[members] = hulls.sign[members] * weights
    return out


def signed(hulls: Hulls, points: Index, others: Sequence[int] | Index, values: Matrix) -> Matrix:
    """Return y_a y_b k(a, b) from k(a, b)."""
    return np.asarray(values * (hulls.sign[points][:, None] * hulls.sign[others][None, :]))
