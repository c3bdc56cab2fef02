"""one-class: the support of a distribution, a hyperplane that separates most points from the origin.

    min_{w,rho}  1/2 |w|^2 - rho + 1 / (nu n) sum_i max(0, rho - f_i)
    max          -1/2 coef' K coef     s.t.  sum coef = 1,  0 <= coef_i <= 1 / (nu n)

The intercept is -rho, so that f + intercept < 0 calls a point an outlier. nu bounds the share of outliers among the
training points from above and the share of support vectors from below; the labels take no part in training.

Source: Schoelkopf, Platt, Shawe-Taylor, Smola, Williamson, Neural Computation 13 (2001), (3.4) and (3.9)-(3.10).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from harness.kernels.functions import RBF
from harness.problems import cases
from harness.problems.dual import DualForm, capped_simplex
from harness.problems.problem import Certificate, Expansion, Laws, Parameters, Problem, setting
from harness.problems.rounding import Bounded
from harness.support.parameters import parameter

if TYPE_CHECKING:
    from harness.support.arrays import Vector


@dataclass(frozen=True)
class OneClassParameters(Parameters):
    """Parameters of one-class."""

    formulation = "one-class"

    nu: float = parameter(0.5, "largest share of outliers, and smallest share of support vectors", gt=0, le=1)


class OneClass(Problem):
    """The one-class SVM; ``restrict`` preserves nu, so that the cap is 1 / (nu n) for the remaining points."""

    name = "one-class"
    metrics = ("roc-auc",)  # labels are used in metrics only: +1 for inliers, -1 for outliers
    parameter_class = OneClassParameters
    constraints = "0 <= dual_coef_i <= 1 / (nu n) and sum dual_coef = 1"
    laws = Laws(doubled={}, objective=1)
    nu = setting("nu", "The share of outliers at most, of support vectors at least.")

    @classmethod
    def zoo(cls) -> list[cases.Case]:
        case: cases.Maker = partial(cases.Case.of, cls)
        rbf, (cloud, y) = RBF(gamma=0.5), cases.overlapping(40)
        return [
            *cases.away_from_the_origin(cls, {"nu": 0.3}, optimum=-0.5),
            case("every-point-at-the-cap", cloud, y, rbf, {"nu": 1.0}),
            case("cap-out-of-reach", cloud, y, rbf, {"nu": 0.01}),
        ]

    @property
    def cap(self) -> float:
        """The upper bound of a coefficient, 1 / (nu n)."""
        return 1.0 / (self.nu * self.n)

    def dual_form(self) -> DualForm:
        return capped_simplex(self.n, self.cap)

    def feasibility_violation(self, dual_coef: Vector) -> float:
        cap = min(1.0, self.cap)
        box = max(float(-dual_coef.min()), float(dual_coef.max()) - self.cap, 0.0) / cap
        return max(box, abs(float(dual_coef.sum()) - 1.0))

    def bounded_certificate(self, dual_coef: Vector, intercept: float, model: Expansion) -> Certificate:
        """Return P, D and the gap at rho = -intercept, relative to |D| = 1/2 |w|^2; the KKT violation is in units of f.

        If w = 0, as defined in `Certificate`, the origin is among the points: that is the optimum, and the gap is relative
        to the largest k(x, x) / 2.
        """
        rho = -intercept
        cap = Bounded.exact(1.0) / (Bounded.exact(self.nu) * float(self.n))
        half = model.squared * 0.5
        primal = half - rho + (rho - model.scores).positive().sum() * cap
        return self.of_objectives_of_length(dual_coef, model, primal, 1.0)
