"""Fully corrective Frank-Wolfe: after each search for the best vertices, the optimum over the hull of all in use.

K. L. Clarkson, "Coresets, sparse greedy approximation, and the Frank-Wolfe algorithm", ACM Transactions on Algorithms
6(4), 2010, Algorithm 4.2; for one hull against the origin the algorithm of P. Wolfe, "Finding the nearest point in a
polytope", Mathematical Programming 11, 1976. A round adds the points of each class that lie farthest down w, solves
the problem on the core set and lets go of the points whose weight is zero.

Differs in: several points a class enter a round, unless ``vertices`` is 1; the optimum on the core set is exact to a
tolerance tied to the accuracy still missing, not to rounding. Over reduced hulls the core set is of points, not of
composed vertices: the reduced hull of the points contains every vertex composed of them, so that a round gains no less.

Over whole hulls a round with an exact optimum gains no less than an add-iteration of Kumar & Yildirim's Algorithm 1
from the same weights, so that Theorem 3.1 bounds the rounds; the info of the last iterate has the bound.

A round costs n kernel evaluations for each point that enters, none for those that were there and whose rows are still
in memory, and n times the core set in sums.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from harness import Iterate, Problem, RowCache
from harness.support.arrays import Vector
from harness_fw.bounds import paper_bounds
from harness_fw.core_set import INNER, LEAST, CoreSetRounds
from harness_fw.hulls import ZERO, figures

_PATIENCE = 3  # rounds in a row that do not make |w|^2 smaller: rounding is at work
_SHARE = 3  # a round adds one point for each so many of the core set


class CorrectiveRounds(CoreSetRounds):
    """Rounds that end with the optimum over the core set."""

    rows: RowCache

    def __init__(self, problem: Problem, epsilon: float, vertices: int | None) -> None:
        super().__init__(problem, problem.kernel.row_cache())
        self.epsilon, self.vertices, self.dropped = epsilon, vertices, 0

    def iterates(self) -> Iterator[Iterate]:
        """Solve on the core set, look at all points, add those farthest down w; until epsilon is reached."""
        least, idle, status = np.inf, 0, ""
        while True:
            self.core.solve(self.tolerance)
            info, scores = self._look()
            norm = self.core.squared_norm
            idle = 0 if norm < least else idle + 1
            least = min(least, norm)
            if norm <= self.hulls.floor:
                status = ZERO
            elif info["epsilon"] <= self.epsilon:
                status = "done"
            elif idle >= _PATIENCE:
                status = "stalled"
            solved = self.core.size  # with those whose weight is zero now
            self.dropped += len(self.core.drop())
            if status == "done" and min(self.hulls.caps) >= 1.0:
                info.update(paper_bounds(self.hulls.delta(), info, self.epsilon))
            yield self._iterate(status, info, solved)
            if status:
                return
            self._add(scores, info["epsilon"])
            self.taken += 1

    def _look(self) -> tuple[dict[str, Any], Vector]:
        """Return what all points say of the model, and their signed scores, (n,)."""
        hulls, core = self.hulls, self.core
        self.coef[:] = 0.0
        self.coef[core.members] = hulls.sign[core.members] * core.weights
        scores = hulls.sign * self.rows.expand(self.coef)
        info = {
            **figures(*hulls.epsilons(scores, hulls.sign * self.coef), core.squared_norm),
            "dropped": self.dropped,
            "descent_steps": core.steps,
            "factors": core.factors,
            "rows": self.rows.fetched,
        }
        return info, scores

    def _add(self, scores: Vector, epsilon: float) -> None:
        """Add the points farthest down w that are not members, and settle how exactly to solve next."""
        count = self.vertices or max(1, self.core.size // _SHARE)
        member = np.zeros(self.problem.n, dtype=bool)
        member[self.core.members] = True
        points = []
        for side, (low, _) in zip(self.hulls.sides, self.core.levels(), strict=True):
            outside = side[~member[side] & (scores[side] < low)]
            if count < len(outside):
                outside = outside[np.argpartition(scores[outside], count)[:count]]
            points.append(outside[np.argsort(scores[outside], kind="stable")])
        count = sum(len(new) for new in points)
        self.tolerance = max(INNER * min(epsilon, 1.0), INNER * self.epsilon) if count else 0.1 * self.tolerance
        self.tolerance = max(self.tolerance, LEAST)
        if count:
            self._enter(points)
