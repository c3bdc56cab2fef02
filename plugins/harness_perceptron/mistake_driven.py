"""mistake-driven: what perceptrons solve, two classes without an objective.

A perceptron adds y_i k(x_i, .) to f where f makes a mistake, so that y_i coef_i >= 0 is all that can be said of the
outcome. No function is minimised, hence no optimum to be certified: accuracy, time and kernel values are compared.

Source: Rosenblatt 1958; Aizerman, Braverman, Rozonoer 1964; Bordes et al., JMLR 6 (2005), section 2.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from harness.problems.problem import Certificate, NoParameters, Problem

if TYPE_CHECKING:
    from harness.support.arrays import Vector


class MistakeDriven(Problem):
    """Perceptrons: two classes, no objective and so no gap; accuracy, time and kernel evaluations are compared."""

    name = "mistake-driven"
    has_gap = False
    parameter_class = NoParameters  # what there is to set belongs to the solver
    constraints = "y_i dual_coef_i >= 0"

    def feasibility_violation(self, dual_coef: Vector) -> float:
        scale = float(np.abs(dual_coef).max(initial=0.0))
        return float(np.max(-self.targets * dual_coef, initial=0.0)) / scale if scale > 0.0 else 0.0

    def certificate(self, dual_coef: Vector, intercept: float, scores: Vector) -> Certificate:
        """Return the feasibility violation, and no other figure."""
        return Certificate(feasibility_violation=self.feasibility_violation(dual_coef))

    def certify(self, dual_coef: Any, intercept: float, scores: Vector | None = None, **_: float) -> Certificate:
        """Return the certificate without the scores of all points: nothing in it needs them."""
        coef = np.asarray(dual_coef, dtype=np.float64)
        return self.certificate(coef, float(intercept), np.zeros(0))
