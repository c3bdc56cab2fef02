"""The base class carries a formulation that a stranger states: the polytope distance, stated here."""

from dataclasses import dataclass

import cvxpy as cp
import numpy as np

from harness import Certificate, KernelOracle, Linear, Problem


@dataclass(frozen=True)
class NoParameters:
    pass


class PolytopeDistance(Problem):
    name = "polytope-distance"
    parameter_class = NoParameters
    constraints = "dual_coef_i >= 0, summing to 1"

    def restrict(self, indices):
        return PolytopeDistance(self.kernel.restrict(indices), self.targets[indices], self.settings)

    def feasibility_violation(self, dual_coef):
        return max(-float(dual_coef.min()), abs(float(dual_coef.sum()) - 1.0), 0.0)

    def certificate(self, dual_coef, intercept, scores):
        upper = float(np.sqrt(dual_coef @ scores))
        lower = float(scores.min()) / upper
        return Certificate(margin_lower=lower, margin_upper=upper, epsilon=1.0 - lower / upper)


def test_polytope_distance_is_bracketed():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(30, 3)) + 3.0
    problem = PolytopeDistance.build(KernelOracle(Linear(), x), np.ones(30))
    weights = cp.Variable(30, nonneg=True)
    distance = cp.Problem(cp.Minimize(cp.norm(x.T @ weights)), [cp.sum(weights) == 1]).solve(solver=cp.CLARABEL)
    found, _ = problem.checked(weights.value, 0.0)
    certificate = problem.certify(found, 0.0)
    assert certificate.margin_lower <= distance * (1 + 1e-7)
    assert certificate.margin_upper >= distance * (1 - 1e-7)
    assert certificate.epsilon < 1e-5
    uniform = problem.certify(np.full(30, 1 / 30), 0.0)
    assert uniform.margin_lower <= distance <= uniform.margin_upper
