"""eps-svr: regression with the epsilon-insensitive loss.

    min_{w,b}  1/2 |w|^2 + C sum_i max(0, |y_i - f_i - b| - epsilon)
    max        sum_i y_i coef_i - epsilon sum_i |coef_i| - 1/2 coef' K coef
               s.t.  sum coef = 0,  |coef_i| <= C

Source: Drucker, Burges, Kaufman, Smola, Vapnik, NIPS 9 (1997); Smola & Schoelkopf 2004, section 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from harness.kernels.functions import RBF, Linear
from harness.problems import cases
from harness.problems.dual import DualForm, boxed
from harness.problems.problem import Certificate, Expansion, Laws, Parameters, Problem, setting
from harness.problems.rounding import Bounded
from harness.support.parameters import parameter

if TYPE_CHECKING:
    from harness.support.arrays import Vector


@dataclass(frozen=True)
class EpsSVRParameters(Parameters):
    """Parameters of eps-svr."""

    formulation = "eps-svr"

    C: float = parameter(1.0, "bound of the coefficients: the price of an error beyond the tube", gt=0)
    epsilon: float = parameter(0.1, "half the width of the tube within which an error is free, in units of y", ge=0)


class EpsSVR(Problem):
    """The epsilon-insensitive SVR with a bias; ``targets`` are real numbers, predictions are f itself."""

    name = "eps-svr"
    checks_zero_norm = False
    task = "regression"
    metrics = ("mse", "mae", "r2", "pearson")
    parameter_class = EpsSVRParameters
    constraints = "|dual_coef_i| <= C and sum dual_coef = 0"
    laws = Laws(doubled={"C": 0.5}, scaled={"C": -1}, objective=-1)
    bounded_from = "below"
    bounds_weights = True
    C = setting("C", "The price of an error beyond the tube.")
    epsilon = setting("epsilon", "Half the width of the tube.")

    @classmethod
    def zoo(cls) -> list[cases.Case]:
        case: cases.Maker = partial(cases.Case.of, cls)
        rbf, hard, soft = RBF(gamma=0.5), {"C": 10.0, "epsilon": 0.1}, {"C": 1.0, "epsilon": 0.1}
        x, y = cases.curve(40)
        return [
            # w = 0.9: inside the tube
            case("pair", cases.PAIR, [1.0, -1.0], Linear(), hard, "protocol", optimum=0.405),
            case("constant-target", x, np.full(40, 5.0), rbf, soft, optimum=0.0),
            case("inside-the-tube", x, y, rbf, {"C": 1.0, "epsilon": 100.0}, optimum=0.0),
            case("without-tube", x, y, rbf, {"C": 1.0, "epsilon": 0.0}),
            case("one-outlier", x, np.where(np.arange(40) == 3, 50.0, y), rbf, soft),
            *cases.real_values(cls, hard, soft),
        ]

    def dual_form(self) -> DualForm:
        y, zero, cost = self.targets, np.zeros(self.n), np.full(self.n, self.C)
        # without a tube the price of both signs is the same, and one variable has them both
        if self.epsilon == 0.0:
            return boxed(y.copy(), -cost, cost, groups=1)
        linear = np.concatenate([y - self.epsilon, y + self.epsilon])
        return boxed(linear, np.concatenate([zero, -cost]), np.concatenate([cost, zero]), groups=1, copies=2)

    def feasibility_violation(self, dual_coef: Vector) -> float:
        size = np.abs(dual_coef)
        box = max(float(size.max()) - self.C, 0.0) / self.C
        # rounding of an equality over many coefficients grows with their sum, not with C
        return max(box, abs(float(dual_coef.sum())) / max(self.C, float(size.sum())))

    def bounded_certificate(self, dual_coef: Vector, intercept: float, model: Expansion) -> Certificate:
        """P, D and the gap with the given intercept, relative to |P|; the KKT violation as in c-svc."""
        primal = self.primal_of(model.squared, model.scores, intercept)
        return self.of_objectives(dual_coef, model, primal, self.dual_of(dual_coef, model))

    def primal_of(self, squared: Bounded, scores: Bounded, intercept: float) -> Bounded:
        beyond = (abs(Bounded.exact(self.targets) - (scores + intercept)) - self.epsilon).positive()
        return squared * 0.5 + beyond.sum() * self.C

    def dual_of(self, dual_coef: Vector, model: Expansion) -> Bounded:
        linear = Bounded.exact(self.targets).dot(dual_coef) - Bounded.exact(np.abs(dual_coef)).sum() * self.epsilon
        return linear - model.squared * 0.5
