"""The base class carries formulations that are not classification: epsilon-SVR and the polytope distance, stated here."""

from dataclasses import dataclass

import cvxpy as cp
import numpy as np
import pytest

from harness import RBF, Certificate, KernelOracle, Linear, Problem, parameter


@dataclass(frozen=True)
class TubeParameters:
    C: float = parameter(1.0, "price of an error beyond the tube", gt=0)
    width: float = parameter(0.1, "half the width of the tube", ge=0)


class EpsSVR(Problem):
    name = "eps-svr"
    task = "regression"
    parameter_class = TubeParameters
    constraints = "|dual_coef_i| <= C and sum dual_coef = 0"

    def restrict(self, indices):
        return EpsSVR(self.kernel.restrict(indices), self.targets[indices], self.settings)

    def feasibility_violation(self, dual_coef):
        return max(float(np.abs(dual_coef).max()) - self.settings.C, abs(float(dual_coef.sum())), 0.0) / self.settings.C

    def certificate(self, dual_coef, intercept, scores):
        quadratic = float(dual_coef @ scores)
        error = np.maximum(0.0, np.abs(self.targets - scores - intercept) - self.settings.width)
        primal = 0.5 * quadratic + self.settings.C * float(error.sum())
        dual = float(self.targets @ dual_coef) - self.settings.width * float(np.abs(dual_coef).sum()) - 0.5 * quadratic
        return Certificate(primal=primal, dual=dual, gap=primal - dual, relative_gap=(primal - dual) / max(1.0, primal))


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


def test_epsilon_svr_is_certified_at_its_optimum():
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, size=(40, 1))
    y = np.sin(2 * x[:, 0]) + 0.1 * rng.normal(size=40)
    problem = EpsSVR.build(KernelOracle(RBF(gamma=1.0), x), y, {"C": 3.0, "width": 0.1, "unknown": 1})
    k = problem.kernel.block(np.arange(40))
    coef = cp.Variable(40)
    objective = y @ coef - 0.1 * cp.norm1(coef) - 0.5 * cp.quad_form(coef, cp.psd_wrap(k))
    balance = cp.sum(coef) == 0
    cp.Problem(cp.Maximize(objective), [cp.abs(coef) <= 3.0, balance]).solve(solver=cp.CLARABEL)
    found, intercept = problem.checked(coef.value, -float(balance.dual_value))
    intercepts = (intercept, -intercept)  # the sign of an equality's multiplier is the modelling tool's choice
    gaps = [problem.certify(found, candidate).relative_gap for candidate in intercepts]
    assert min(gaps) == pytest.approx(0.0, abs=1e-6)
    assert problem.certify(np.zeros(40), 0.0).relative_gap > 0.5


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
