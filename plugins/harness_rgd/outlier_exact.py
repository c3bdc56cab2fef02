"""Solver ``outlier-exact``: the exact margin after giving up a share of few points, a reference for other solvers.

No paper: branch and bound over the support of the nearest points, see `harness_rgd.outlier_search`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from harness import Conformance, Iterate, Problem, Solver, parameter
from harness_rgd.outlier_margin import OutlierMargin
from harness_rgd.outlier_search import MAX_POINTS, OutlierSearch


@dataclass(frozen=True)
class OutlierExact(Solver):
    """Branch and bound over the points that are given up, for at most 40 points.

    Use it as ground truth for at most 40 points. No paper.

    A node computes the nearest points of the hulls of its points and branches on their support, as only giving up a support
    point widens the margin. ``upper`` in the info is an upper bound of the optimal margin.
    """

    name = "outlier-exact"
    conformance = Conformance(
        gap=1e-6, excused={"every_kernel_value_is_counted": "the points are centred before they are multiplied"}
    )
    solves = (OutlierMargin,)
    serves = ("reference",)
    max_points = MAX_POINTS

    accuracy: float = parameter(1e-9, "relative accuracy of the margin at the end, at least 1e-9", gt=0, lt=1)

    def with_target_gap(self, gap: float) -> OutlierExact:
        """Return this solver with the accuracy of the margin that gives this relative gap of its square."""
        return self.replace(accuracy=min(0.5, max(1e-9, 0.5 * gap)))

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        """Yield the model with the widest margin so far after each node."""
        assert isinstance(problem, OutlierMargin)
        best, intercept = None, 0.0
        for state in OutlierSearch(problem).search():
            if state.dual_coef is not best:
                best = state.dual_coef
                intercept = problem.slab(problem.kernel.expand(best)).intercept
            done = state.done or state.margin >= (1.0 - self.accuracy) * state.upper
            info = {"margin": state.margin, "upper": state.upper, "nodes": state.nodes}
            yield Iterate(best, intercept, done=done, info=info)
            if done:
                return
