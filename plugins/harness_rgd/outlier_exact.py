"""The exact margin after giving up a share of few points: the twin that others are measured against.

No paper: branch and bound over the support of the nearest points, see `harness_rgd.giving_up`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from harness import Conformance, Iterate, Problem, Solver, parameter
from harness_rgd.giving_up import MAX_POINTS, GivingUp
from harness_rgd.outlier_margin import OutlierMargin


@dataclass(frozen=True)
class OutlierExact(Solver):
    """Branch and bound over which points are given up, for at most 40 points; the best hulls so far are the iterate.

    Take it as ground truth for at most 40 points. No paper.

    A node solves for the nearest points of what it keeps and branches on their support: only giving up a point of it
    widens the margin. ``upper`` in the info is a bound of the optimal margin at any time.
    """

    name = "outlier-exact"
    conformance = Conformance(
        gap=1e-6, excused={"every_kernel_value_is_counted": "it centres the points before it multiplies them"}
    )
    solves = (OutlierMargin,)
    serves = ("reference",)
    max_points = MAX_POINTS

    accuracy: float = parameter(1e-9, "relative accuracy of the margin at which it is done, at least 1e-9", gt=0, lt=1)

    def with_target_gap(self, gap: float) -> OutlierExact:
        """Return it with the accuracy of the margin that leaves this relative gap of its square."""
        return self.replace(accuracy=min(0.5, max(1e-9, 0.5 * gap)))

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        """Yield the widest hulls so far after each node."""
        assert isinstance(problem, OutlierMargin)
        best, intercept = None, 0.0
        for state in GivingUp(problem).search():
            if state.dual_coef is not best:
                best = state.dual_coef
                intercept = problem.slab(problem.kernel.expand(best)).intercept
            done = state.done or state.margin >= (1.0 - self.accuracy) * state.upper
            info = {"margin": state.margin, "upper": state.upper, "nodes": state.nodes}
            yield Iterate(best, intercept, done=done, info=info)
            if done:
                return
