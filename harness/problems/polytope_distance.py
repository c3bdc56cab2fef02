"""polytope-distance: the point of a convex hull nearest to the origin, the widest margin that separates both.

    min 1/2 |sum_i s_i x_i|^2     s.t.  s >= 0,  sum s = 1

coef = s, w = sum_i s_i phi(x_i). The distance lies in [min_i <w, x_i> / |w|, |w|], so that lower and upper bound
certify each other. As objectives: the dual value is 1/2 |w|^2 (minimised), the primal value of the direction w is
1/2 lower^2 (maximised), 0 for a direction that does not separate; the relative gap is over the dual value. The
intercept takes no part in the certificate; -min_i <w, x_i>, minus the offset of the supporting hyperplane, is
that of the reference solver. The labels take no part in training.

Source: Ding & Xu, "Random gradient descent tree" (2015), section 2.1; Gilbert, SIAM Journal on Control 4(1), 1966.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from harness.kernels.functions import Linear
from harness.problems.dual import DualForm, capped_simplex
from harness.problems.problem import Certificate, Expansion, Laws, NoParameters, Problem, cases

if TYPE_CHECKING:
    from harness.support.arrays import Vector


class PolytopeDistance(Problem):
    """The point of conv{x_i} nearest to the origin."""

    name = "polytope-distance"
    metrics = ("roc-auc",)  # labels are used in metrics only: +1 for inliers, -1 for outliers
    parameter_class = NoParameters
    constraints = "dual_coef_i >= 0 and sum dual_coef = 1"
    laws = Laws(doubled={}, objective=1)
    has_core_set = True

    @classmethod
    def zoo(cls) -> list[cases.Case]:
        line = np.outer(np.arange(1.0, 6.0), [1.0, 1.0])
        case = cases.Case.of(cls, "line-through-the-origin", line, [1, -1, 1, -1, 1], Linear(), {}, optimum=1.0)
        return [*cases.away_from_the_origin(cls, {}, optimum=0.5), case]

    def dual_form(self) -> DualForm:
        return replace(capped_simplex(self.n, 1.0), relative=True)

    def feasibility_violation(self, dual_coef: Vector) -> float:
        return max(float(-dual_coef.min()), abs(float(dual_coef.sum()) - 1.0), 0.0)

    def bounded_certificate(self, dual_coef: Vector, intercept: float, model: Expansion) -> Certificate:
        """Return bounds of the distance, epsilon, and the gap as defined in this module.

        epsilon_plus is the least epsilon of Definition 1, 1 - min_i <w, x_i> / |w|^2; epsilon_minus is that of the
        support, max <w, x_i> / |w|^2 - 1 over s_i > 0. Where w = 0 the origin is inside, see Certificate.
        """
        violation = self.feasibility_violation(dual_coef)
        used = dual_coef != 0.0
        if not used.any():
            return Certificate(feasibility_violation=violation)
        scores = model.scores.value
        near, far = float(scores.min()), float(scores[used].max())
        return Certificate.of_margin(
            model,
            model.scores.of_rising(np.min),
            far,
            kkt_violation=max(0.0, far - near),
            feasibility_violation=violation,
        )
