"""polytope-distance: the formulas written out, the bounds against the interior-point solver, refusals."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import RBF, HardMargin, InvalidModel, KernelOracle, Linear, PolytopeDistance, get_solver


def build(x, kernel=None):
    return PolytopeDistance.build(KernelOracle(kernel or Linear(), x), np.ones(len(x)))


def cloud(seed, n=15, d=3, away=2.0):
    return np.random.default_rng(seed).normal(size=(n, d)) + away


def test_the_figures_are_the_formulas_written_out():
    x = cloud(0)
    weights = np.random.default_rng(1).dirichlet(np.ones(15))
    weights[3] = 0.0
    weights /= weights.sum()
    w = sum(weights[i] * x[i] for i in range(15))
    length = float(np.sqrt(w @ w))
    nearest = min(w @ x[i] for i in range(15))
    farthest = max(w @ x[i] for i in range(15) if i != 3)
    found = build(x).certify(weights, 0.0)
    assert found.margin_upper == pytest.approx(length, rel=1e-12)
    assert found.margin_lower == pytest.approx(nearest / length, rel=1e-12)
    # Definition 1: |x| <= |p projected on x| + epsilon |x|
    assert found.epsilon == pytest.approx((length - nearest / length) / length, rel=1e-12)
    assert found.epsilon_minus == pytest.approx(farthest / length**2 - 1.0, rel=1e-12)
    assert found.dual == pytest.approx(0.5 * length**2, rel=1e-12)
    assert found.gap == pytest.approx(0.5 * length**2 - 0.5 * max(0.0, nearest / length) ** 2, rel=1e-12)
    assert found.kkt_violation == pytest.approx(farthest - nearest, rel=1e-12)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 20), st.integers(1, 4), st.sampled_from([0.0, 1.0, 5.0]))
def test_the_bounds_of_any_model_bracket_the_distance(seed, n, d, away):
    x = cloud(seed, n, d, away)
    problem = build(x)
    best = get_solver("qp").solve(problem)
    distance = problem.certify(best.dual_coef, best.intercept).margin_upper
    weights = np.random.default_rng(seed).dirichlet(np.full(n, 0.3))
    found = problem.certify(weights, 0.0)
    assert found.margin_lower <= distance * (1 + 1e-6) + 1e-6
    assert distance <= found.margin_upper * (1 + 1e-6) + 1e-6


def test_it_is_the_hull_against_a_point_at_the_origin():
    x = cloud(2)
    alone = build(x)
    pair = HardMargin.build(KernelOracle(Linear(), np.vstack([x, np.zeros(3)])), np.array([1.0] * 15 + [-1.0]))
    margins = []
    for problem in (alone, pair):
        best = get_solver("qp").solve(problem)
        margins.append(problem.certify(best.dual_coef, best.intercept).margin_upper)
    assert margins[0] == pytest.approx(margins[1], rel=1e-6)


def test_the_intercept_of_the_reference_is_minus_the_offset():
    problem = build(cloud(3))
    best = get_solver("qp").solve(problem)
    assert -best.intercept == pytest.approx(problem.kernel.expand(best.dual_coef).min(), rel=1e-5)


def test_the_origin_inside_is_the_optimum():
    problem = build(np.array([[1.0, 0.0], [-1.0, 1.0], [-1.0, -1.0]]))
    solution = get_solver("qp").solve(problem)
    found = problem.certify(solution.dual_coef, solution.intercept)
    assert solution.info["status"] == "the origin is inside"
    assert found.relative_gap == pytest.approx(0.0, abs=1e-30)
    assert (found.margin_lower, found.margin_upper) == pytest.approx((0.0, 0.0), abs=1e-15)


def test_a_direction_that_does_not_separate_has_a_negative_lower_bound():
    found = build(np.array([[1.0, 0.0], [-1.0, 0.1]])).certify(np.array([1.0, 0.0]), 0.0)
    assert found.margin_lower == pytest.approx(-1.0, rel=1e-14)
    assert found.margin_lower <= -1.0, "rounded down"
    assert found.primal == 0.0


def test_restrict_keeps_the_points_and_the_dual_form_is_feasible():
    problem = build(cloud(4), RBF(0.3))
    part = problem.restrict([1, 5, 7])
    np.testing.assert_array_equal(part.kernel.points, problem.kernel.points[[1, 5, 7]])
    form = problem.dual_form()
    assert problem.feasibility_violation(form.coef(form.start)) == 0.0


@pytest.mark.parametrize(
    ("weights", "message"), [([0.5, 0.6], "sum"), ([1.5, -0.5], "dual_coef_i >= 0"), ([np.nan, 1.0], "finite")]
)
def test_models_outside_the_simplex_are_refused(weights, message):
    with pytest.raises(InvalidModel, match=message):
        build(np.ones((2, 2))).checked(weights, 0.0)
