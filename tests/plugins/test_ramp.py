"""ramp-svc: its objective and conditions written out, its convex sub-problem, and what its certificate can tell."""

from fractions import Fraction

import numpy as np
import pytest
from harness_robust import ramp
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import RBF, InvalidModel, Linear, get_solver
from tests.kernels.oracles import own
from tests.plugins.common import matrix_of
from tests.plugins.robust_problems import flipped, stated


def exact(array):
    return [Fraction(float(v)) for v in np.asarray(array)]


def noisy(seed=0, n=40):
    return flipped(n, seed=seed, apart=2.0)


def solved(problem):
    return get_solver("qp").solve(problem).dual_coef


def random_model(problem, rng):
    """Coefficients of every kind: 0, at +-C, between, of either sign."""
    return problem.upper * rng.choice([0.0, 0.0, 1.0, -1.0, 0.3, -0.6, 0.02], size=problem.n)


def cccp(problem, rounds=50):
    """The concave-convex procedure over all points, by the exact solver, from the hinge solution."""
    coef, kernel = solved(problem.hinge), matrix_of(problem)
    for _ in range(rounds):
        outliers = problem.outliers(kernel @ coef)
        coef = solved(problem.subproblem(outliers))
        if (problem.outliers(kernel @ coef) == outliers).all():
            return coef
    raise AssertionError("no fixed point")


def ramp_loss(z, s):
    return 0.0 if z >= 1.0 else 1.0 - z if z >= s else 1.0 - s


def naive_violation(problem, coef, scores):
    """The least v for which some beta makes each point's conditions hold up to v."""
    worst = 0.0
    for y, c, a, f in zip(problem.targets, problem.upper, problem.targets * coef, scores, strict=True):
        z, least = y * f, np.inf
        for beta in (0.0, c):
            low, high = -beta, c - beta
            if not low <= a <= high:
                continue
            missed = [problem.s - z if beta == 0.0 else z - problem.s]  # beta is the tangent's slope at f
            if a < high:
                missed.append(1.0 - z)
            if a > low:
                missed.append(z - 1.0)
            least = min(least, max(0.0, *missed))
        worst = max(worst, least)
    return worst


@pytest.mark.parametrize("class_weight", ["none", "balanced"])
@pytest.mark.parametrize("s", [-1.0, 0.0, 0.5, -3.0])
def test_the_figures_are_the_formulas_written_out(s, class_weight):
    x, y = noisy(n=15)
    problem = stated(x, y, C=3.0, s=s, class_weight=class_weight)
    coef = random_model(problem, np.random.default_rng(1))
    kernel, n = matrix_of(problem), problem.n
    f = [sum(coef[j] * kernel[i, j] for j in range(n)) for i in range(n)]
    squared = sum(coef[i] * coef[j] * kernel[i, j] for i in range(n) for j in range(n))
    objective = 0.5 * squared + sum(problem.upper[i] * ramp_loss(y[i] * f[i], s) for i in range(n))
    found = own(problem).certify(coef, 0.0)
    gap = objective - found.dual
    expected = objective, gap, gap / max(1.0, objective), 0.0
    assert (found.primal, found.gap, found.relative_gap, found.feasibility_violation) == pytest.approx(
        expected, rel=1e-12
    )
    assert found.kkt_violation == pytest.approx(naive_violation(problem, coef, f), rel=1e-9)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([-2.0, -1.0, 0.0, 0.9]), st.sampled_from([0.1, 2.0]))
def test_the_conditions_are_those_of_the_better_beta(seed, s, cost):
    rng = np.random.default_rng(seed)
    x, y = noisy(seed, n=12)
    problem = stated(x, y, C=cost, s=s)
    coef = random_model(problem, rng)
    # scores of any model: also those where z is exactly s or 1
    scores = problem.targets * rng.choice([s, 1.0, s - 0.5, 0.5 * (s + 1.0), 1.5], size=problem.n)
    assert problem.kkt_violation(coef, scores) == pytest.approx(naive_violation(problem, coef, scores), abs=1e-12)


@pytest.mark.parametrize("s", [-1.0, 0.0])
def test_a_stationary_point_is_certified_and_a_wrong_model_flagged(s):
    problem = stated(*noisy(), C=5.0, s=s)
    coef = cccp(problem)
    found = problem.certify(coef, 0.0)
    assert abs(found.relative_gap) < 2e-6
    assert found.kkt_violation < 1e-5
    assert found.primal < problem.certify(solved(problem.hinge), 0.0).primal
    support, unused = np.flatnonzero(coef), np.flatnonzero(coef == 0.0)
    planted = {
        "a support vector left out": (support[0], 0.0),
        "a sign changed": (support[0], -coef[support[0]]),
        "a coefficient halved": (support[1], 0.5 * coef[support[1]]),
        "an unused point used": (unused[0], problem.targets[unused[0]] * 2.5),
        "an outlier believed": (unused[0], -problem.targets[unused[0]] * 2.5),
    }
    for fault, (i, value) in planted.items():
        wrong = coef.copy()
        wrong[i] = value
        flagged = problem.certify(wrong, 0.0)
        assert (flagged.relative_gap > 1e-3, flagged.kkt_violation > 1e-2) == (True, True), fault
    assert problem.certify(0.9 * coef, 0.0).relative_gap > 1e-4
    assert problem.certify(np.zeros(problem.n), 0.0).relative_gap > 1e-1


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([-2.0, -1.0, 0.0]), st.booleans())
def test_no_step_of_cccp_takes_more_off_than_the_gap(seed, s, with_oracle):
    rng = np.random.default_rng(seed)
    problem = stated(*noisy(seed, n=16), C=2.0, s=s)
    kernel, coef = matrix_of(problem), random_model(problem, rng)
    with pytest.MonkeyPatch.context() as patch:
        if not with_oracle:
            patch.setattr(ramp, "_oracle", lambda: None)
        gap = problem.certify(coef, 0.0).gap
    value, convex = problem.objective(coef, kernel @ coef), problem.subproblem(problem.outliers(kernel @ coef))
    stepped = solved(convex)
    majorant = convex.certify(stepped, 0.0)
    assert problem.objective(stepped, kernel @ stepped) <= majorant.primal + 1e-6 <= value + 2e-6
    assert gap >= value - majorant.primal - 1e-6
    assert not with_oracle or gap <= value - majorant.dual + 1e-4, "solved anew: no more than that either"


def test_a_lying_oracle_cannot_hide_the_decrease(monkeypatch):
    class Liar:
        def with_target_gap(self, gap):
            return self

        def solve(self, problem, start=None):
            return type("Found", (), {"dual_coef": np.full(problem.n, 1e6)})

    problem = stated(*noisy(), C=5.0)
    honest = problem.certify(np.zeros(problem.n), 0.0).gap
    monkeypatch.setattr(ramp, "get_solver", lambda name: Liar())
    assert problem.certify(np.zeros(problem.n), 0.0).gap >= honest - 1e-9


def test_infeasible_models_are_refused():
    problem = stated(*noisy(n=10), C=2.0)
    coef = np.zeros(10)
    coef[0] = -2.0 * problem.targets[0]  # feasible for beta = C
    problem.checked(coef, 0.0)
    coef[0] = 2.5
    convex = problem.subproblem(np.arange(10) < 1)
    part = convex.restrict([0, 3])
    assert (part.beta.tolist(), part.outliers.tolist()) == ([2.0, 0.0], [True, False])
    assert problem.feasibility_violation(coef) == pytest.approx(0.25)
    wrong = problem.targets * (np.arange(10) < 1)  # an outlier's coefficient may not have its label's sign
    assert convex.feasibility_violation(wrong) == pytest.approx(0.5)
    for stated_, model, intercept in ((problem, coef, 0.0), (problem, 0.0 * coef, 0.1), (convex, wrong, 0.0)):
        with pytest.raises(InvalidModel):
            stated_.checked(model, intercept)


def test_solving_anew_is_what_a_trace_point_costs():
    problem = stated(*noisy())
    n, hinge = problem.n, problem.hinge
    assert (hinge.certificate_cost(0), hinge.certificate_cost(2)) == (n, 2 * n)
    assert (problem.certificate_cost(2), problem.certificate_cost(n)) == (n * (n // 4), n**2)


def test_the_ramp_s_gap_has_a_bound_and_its_objective_the_exact_value():
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(20, 2)), np.where(np.arange(20) % 2, 1.0, -1.0)
    coef = y * rng.uniform(0.0, 1.0, 20)
    linear, rbf = (stated(x + 1e4, y, each, C=1.0, s=-0.5).certify(coef, 0.0) for each in (Linear(), RBF(gamma=0.5)))
    assert min(linear.gap_rounding, rbf.gap_rounding) > 0.0
    assert max(linear.gap_rounding, rbf.gap_rounding) < 1e-3
    w = [sum(c * v for c, v in zip(exact(coef), exact(column), strict=True)) for column in (x + 1e4).T]
    products = [sum(u * v for u, v in zip(w, exact(row), strict=True)) for row in x + 1e4]
    loss = sum(min(max(Fraction(0), 1 - t * p), Fraction(3, 2)) for t, p in zip(exact(y), products, strict=True))
    assert linear.primal == pytest.approx(float(sum(v * v for v in w) / 2 + loss), rel=1e-9)
