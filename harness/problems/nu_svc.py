"""nu-svc: the soft-margin SVM with a free margin and a given share of points that may be within it.

    min_{w,b,rho}  1/2 |w|^2 - nu rho + 1/n sum_i max(0, rho - y_i (f_i + b))
    max            -1/2 coef' K coef
                   s.t.  sum coef = 0,  sum |coef| = nu,  0 <= y_i coef_i <= 1 / n

nu bounds the share of points within the margin from above and the share of support vectors from below; the margin is
rho / |w|. With sum coef = 0 the coefficients of each class sum to nu / 2 in size: this is the reduced-hull problem of
D = 2 / (nu n), its coefficients times nu / 2, and the c-svc problem of C = 1 / (n rho), its coefficients times rho. A
model is coef and b; the best rho for it is the k-th smallest y (f + b), k = nu n rounded up.

Source: Schoelkopf, Smola, Williamson, Bartlett, Neural Computation 12 (2000), section 4, without rho >= 0: where the
reduced hulls meet, the optimum is w = 0. Crisp & Burges, NIPS 12 (2000), for the hulls and the largest nu.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.kernels.oracle import KernelOracle
from harness.problems.dual import DualForm, two_hulls
from harness.problems.problem import Bounded, Certificate, Expansion, Laws, Parameters, Problem, cases, parameter
from harness.support.errors import UsageError

if TYPE_CHECKING:
    from harness.support.arrays import Vector


@dataclass(frozen=True)
class NuSVCParameters(Parameters):
    """Parameters of nu-svc."""

    formulation = "nu-svc"

    nu: float | None = parameter(
        None,
        "largest share of points within the margin, and smallest share of support vectors; none: 0.5, or the largest feasible value",
        gt=0,
        le=1,
    )


class NuSVC(Problem):
    """The nu-SVM with a bias; ``restrict`` preserves nu, so that the cap is 1 / n for the remaining points."""

    name = "nu-svc"
    parameter_class = NuSVCParameters
    constraints = "0 <= y_i dual_coef_i <= 1 / n, summing to nu / 2 over each class"
    laws = Laws(doubled={}, objective=1)

    def __init__(self, kernel: KernelOracle, targets: Any, settings: Any) -> None:
        super().__init__(kernel, targets, settings)
        smaller = int(min((self.targets > 0).sum(), (self.targets < 0).sum()))
        most = 2.0 * smaller / self.n
        self.nu = min(0.5, most) if settings.nu is None else float(settings.nu)
        if not 0.0 < self.nu <= most * (1.0 + 1e-12):
            raise UsageError(
                f"nu-svc: nu={self.nu:g} needs more points than the smaller class has, {smaller} of {self.n}; "
                f"nu must be above 0 and at most 2 x {smaller} / {self.n} = {most:g}."
            )

    @classmethod
    def zoo(cls) -> list[cases.Case]:
        return cases.two_classes(cls, pair=-0.125, three=-0.125)  # w = (0, nu)

    @property
    def cap(self) -> float:
        """The upper bound of a coefficient, 1 / n."""
        return 1.0 / self.n

    def dual_form(self) -> DualForm:
        return replace(two_hulls(self.targets, (self.cap, self.cap), 0.5 * self.nu), unit=self.cap)

    def feasibility_violation(self, dual_coef: Vector) -> float:
        size, positive, half = self.targets * dual_coef, self.targets > 0, 0.5 * self.nu
        box = max(float(-size.min()), float(size.max()) - self.cap, 0.0) / self.cap
        return max(box, *(abs(float(size[members].sum()) - half) / half for members in (positive, ~positive)))

    def rho(self, intercept: float, scores: Vector) -> float:
        """Return the rho that minimises the primal of a model, which is convex and piecewise linear in rho."""
        margins = self.targets * (scores + intercept)
        at = min(self.n, math.ceil(Fraction(self.nu) * self.n)) - 1
        return float(np.partition(margins, at)[at])

    def bounded_certificate(self, dual_coef: Vector, intercept: float, model: Expansion) -> Certificate:
        """Return P at the given intercept and the best rho, D, and the gap relative to |D| = 1/2 |w|^2.

        The KKT violation is in units of f. If w = 0, as defined in `Certificate`, the reduced hulls meet: that is the
        optimum, and the gap is relative to the largest k(x, x) nu^2 / 2.
        """
        rho, half = self.rho(intercept, model.scores.value), model.squared * 0.5
        within = (rho - (model.scores + intercept) * self.targets).positive().sum() / float(self.n)
        primal = half - Bounded.exact(self.nu) * rho + within
        return self.of_objectives_of_length(dual_coef, model, primal, self.nu)
