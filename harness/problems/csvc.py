"""c-svc and c-svc-nobias: the soft-margin SVM with the hinge loss.

    min_{w,b}  1/2 |w|^2 + sum_i C_i max(0, 1 - y_i (f_i + b))
    max        sum_i y_i coef_i - 1/2 coef' K coef
               s.t.  sum coef = 0,  0 <= y_i coef_i <= C_i

The second formulation has b = 0 and no equality (Ertekin, Bottou, Giles: LASVM-G and its relatives).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from harness.kernels.functions import RBF
from harness.kernels.oracle import KernelOracle
from harness.problems import cases
from harness.problems.dual import DualForm, boxed
from harness.problems.problem import Certificate, Expansion, Laws, Parameters, Problem, read_only, setting
from harness.problems.rounding import Bounded
from harness.support.parameters import parameter

if TYPE_CHECKING:
    from harness.support.arrays import Vector


@dataclass(frozen=True)
class CSVCParameters(Parameters):
    """Parameters of c-svc and c-svc-nobias."""

    formulation = "c-svc"

    C: float = parameter(1.0, "upper bound of the coefficients: the price of a margin violation", gt=0)
    class_weight: Literal["none", "balanced"] = parameter("none", "none; balanced: C_i is C n / (2 n_class), per class")


class CSVC(Problem):
    """The C-SVM with a bias; ``upper`` are the C_i, (n,), for per-class and per-sample costs."""

    name = "c-svc"
    checks_zero_norm = False
    parameter_class = CSVCParameters
    constraints = "0 <= y_i dual_coef_i <= C_i and sum dual_coef = 0"
    laws = Laws(doubled={"C": 0.5}, scaled={"C": -1}, objective=-1)
    per_point = ("upper",)
    bounded_from = "below"
    bounds_weights = True
    C = setting("C", "The common price C before class weights.")

    def __init__(self, kernel: KernelOracle, targets: Any, settings: Any, upper: Any = None) -> None:
        super().__init__(kernel, targets, settings)
        if upper is None:
            upper = np.full(self.n, float(settings.C))
            if settings.class_weight == "balanced":
                for label in (-1.0, 1.0):
                    members = self.targets == label
                    upper[members] *= self.n / (2.0 * max(1, members.sum()))
        self.upper: Vector = read_only(upper)

    @classmethod
    def zoo(cls) -> list[cases.Case]:
        x, y = cases.overlapping(40)
        few = (y > 0.0) | (np.arange(40) < 20)  # two to one
        weighted = {"C": 1.0, "class_weight": "balanced"}
        return [
            *cases.two_classes(cls, {"C": 10.0}, {"C": 1.0}, pair=0.5, three=0.5),
            cases.Case.of(cls, "class-weights", x[few], y[few], RBF(gamma=0.5), weighted),
        ]

    @property
    def lower_bounds(self) -> Vector:
        """A_i = min(0, C_i y_i), the signed lower bounds, shape (n,)."""
        return np.minimum(0.0, self.upper * self.targets)

    @property
    def upper_bounds(self) -> Vector:
        """B_i = max(0, C_i y_i), the signed upper bounds, shape (n,)."""
        return np.maximum(0.0, self.upper * self.targets)

    def dual_form(self) -> DualForm:
        return boxed(self.targets.copy(), self.lower_bounds, self.upper_bounds, groups=int(self.has_bias))

    def feasibility_violation(self, dual_coef: Vector) -> float:
        alpha = self.targets * dual_coef
        scale = float(self.upper.max())
        box = max(float(np.max(-alpha)), float(np.max(alpha - self.upper)), 0.0) / scale
        if not self.has_bias:
            return box
        # rounding of an equality over many coefficients grows with their sum, not with C
        equality = abs(float(dual_coef.sum())) / max(scale, float(np.abs(dual_coef).sum()))
        return max(box, equality)

    def bounded_certificate(self, dual_coef: Vector, intercept: float, model: Expansion) -> Certificate:
        """P, D and the gap with the given intercept; the KKT violation is max g over I_up - min g over I_low, g = y - f."""
        primal = self.primal_of(model.squared, model.scores, intercept)
        return self.of_objectives(dual_coef, model, primal, self.dual_of(dual_coef, model))

    def primal_of(self, squared: Bounded, scores: Bounded, intercept: float) -> Bounded:
        hinge = (1.0 - (scores + intercept) * self.targets).positive()
        return squared * 0.5 + hinge.dot(self.upper)

    def dual_of(self, dual_coef: Vector, model: Expansion) -> Bounded:
        return Bounded.exact(self.targets * dual_coef).sum() - model.squared * 0.5


class CSVCNoBias(CSVC):
    """The C-SVM without a bias: one coordinate at a time is feasible; any intercept other than 0 is refused."""

    name = "c-svc-nobias"
    constraints = "0 <= y_i dual_coef_i <= C_i and intercept 0"
    has_bias = False
