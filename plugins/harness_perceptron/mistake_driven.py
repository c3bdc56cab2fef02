"""Formulation mistake-driven: two classes without an objective, for perceptrons.

A perceptron adds y_i k(x_i, .) to f if f misclassifies x_i, so y_i coef_i >= 0 is the only condition on the result. It minimises
no function, so there is no optimum and no gap: compare accuracy, time and kernel evaluations.

Source: Rosenblatt 1958; Aizerman, Braverman, Rozonoer 1964; Bordes et al., JMLR 6 (2005), section 2.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from harness.problems.problem import Certificate, NoParameters, Problem

if TYPE_CHECKING:
    from harness.support.arrays import Vector


class MistakeDriven(Problem):
    """Two classes without an objective, for perceptrons; there is no gap."""

    name = "mistake-driven"
    has_gap = False
    parameter_class = NoParameters  # all parameters belong to the solvers
    constraints = "y_i dual_coef_i >= 0"

    def feasibility_violation(self, dual_coef: Vector) -> float:
        scale = float(np.abs(dual_coef).max(initial=0.0))
        return float(np.max(-self.targets * dual_coef, initial=0.0)) / scale if scale > 0.0 else 0.0

    def certificate(self, dual_coef: Vector, intercept: float, scores: Vector) -> Certificate:
        """Return a certificate with only the feasibility violation."""
        return Certificate(feasibility_violation=self.feasibility_violation(dual_coef))

    def certify(self, dual_coef: Any, intercept: float, scores: Vector | None = None, **_: float) -> Certificate:
        """Return the certificate without computing scores, which it does not need."""
        coef = np.asarray(dual_coef, dtype=np.float64)
        return self.certificate(coef, float(intercept), np.zeros(0))
