"""nu-svc: its figures written out, its optimum by three other formulations, the nu that no coefficients have."""

import functools

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import CSVC, RBF, KernelOracle, Linear, NuSVC, ReducedHull, UsageError, get_solver


def points(seed=0, n=30, share=0.4):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) < share * n, 1.0, -1.0)
    return rng.normal(size=(n, 3)) + 0.6 * y[:, None], y


def build(x, y, kernel=None, **values):
    return NuSVC.build(KernelOracle(kernel or RBF(gamma=0.5), x), y, values)


def feasible(problem, seed=0):
    return problem.dual_form().variables(np.random.default_rng(seed).normal(size=problem.n) * problem.cap)


def solved(problem, name="qp", gap=1e-7):
    solution = get_solver(name).with_target_gap(gap).solve(problem)
    return problem.checked(solution.dual_coef, solution.intercept)


def test_the_figures_are_the_formulas_written_out():
    problem = build(*points(), nu=0.33)
    coef, b, n, y = feasible(problem), 0.1, problem.n, problem.targets
    k = problem.kernel.block(np.arange(n))
    f = [sum(coef[j] * k[i, j] for j in range(n)) for i in range(n)]
    squared = sum(coef[i] * coef[j] * k[i, j] for i in range(n) for j in range(n))
    margins = sorted(y[i] * (f[i] + b) for i in range(n))

    def primal(rho):
        return 0.5 * squared - 0.33 * rho + sum(max(0.0, rho - each) for each in margins) / n

    found = problem.certify(*problem.checked(coef, b))
    assert found.primal == pytest.approx(min(primal(each) for each in margins), rel=1e-12)
    assert primal(problem.rho(b, np.array(f))) == pytest.approx(found.primal, rel=1e-12)
    assert found.dual == pytest.approx(-0.5 * squared, rel=1e-12)
    assert found.relative_gap == pytest.approx((found.primal - found.dual) / (0.5 * squared), rel=1e-12)
    pairs = [
        y[i] * f[i] - y[j] * f[j]
        for i in range(n)
        for j in range(n)
        if y[i] == y[j] and y[i] * coef[i] > 1e-12 and y[j] * coef[j] < problem.cap - 1e-12
    ]
    assert found.kkt_violation == pytest.approx(max(pairs), rel=1e-10)
    assert found.feasibility_violation < 1e-12
    assert found.gap_rounding < 1e-9


@pytest.mark.parametrize("nu", [0.1, 0.5, 0.8])
def test_the_gap_closes_at_the_optimum_of_the_interior_point_solver(nu):
    problem = build(*points(1), nu=nu)
    k, y, n = problem.kernel.block(np.arange(problem.n)), problem.targets, problem.n
    weights, b, rho = cp.Variable(n), cp.Variable(), cp.Variable()
    loss = cp.sum(cp.pos(rho - cp.multiply(y, k @ weights + b))) / n
    objective = 0.5 * cp.quad_form(weights, cp.psd_wrap(k)) - nu * rho + loss
    best = cp.Problem(cp.Minimize(objective)).solve(solver=cp.CLARABEL)
    found = problem.certify(*solved(problem))
    assert found.primal == pytest.approx(best, rel=1e-4)
    assert abs(found.relative_gap) < 1e-7


@pytest.mark.parametrize("name", ["qp", "smo", "smo-block", "libsvm"])
def test_it_is_the_reduced_hull_and_the_c_svc_problem_up_to_scale(name):
    x, y = points(2)
    problem = build(x, y, nu=0.6)
    coef, b = solved(problem, name, 1e-5)
    hull = ReducedHull.build(problem.kernel, y, {"D": 2.0 / (0.6 * 30)})
    scale = 2.0 / 0.6
    assert hull.certify(*hull.checked(coef * scale, b * scale)).relative_gap < 2e-5
    rho = problem.rho(b, problem.kernel.expand(coef))
    svc = CSVC.build(problem.kernel, y, {"C": 1.0 / (30 * rho)})
    assert svc.certify(*svc.checked(coef / rho, b / rho)).relative_gap < 2e-5


def test_nu_bounds_the_points_within_the_margin_and_the_support():
    problem = build(*points(3, n=60), nu=0.5)
    coef, b = solved(problem)
    scores = problem.kernel.expand(coef)
    within = problem.targets * (scores + b) < problem.rho(b, scores) - 1e-9
    assert within.mean() <= 0.5 <= np.mean(coef != 0.0)


@pytest.mark.parametrize("nu", [0.9, 1.0])
def test_a_nu_that_the_smaller_class_cannot_have_is_refused(nu):
    with pytest.raises(
        UsageError, match=r"nu-svc: nu=\S+ asks for more than the smaller class has, 12 of 30 .* = 0.8."
    ):
        build(*points(), nu=nu)
    assert build(*points(), nu=0.8).nu == 0.8
    one = np.ones(5)
    with pytest.raises(UsageError, match="nu must be above 0"):
        build(np.eye(5), one)


def test_nu_is_settled_where_it_is_not_given():
    assert build(*points()).nu == 0.5
    assert build(*points(share=0.1)).nu == pytest.approx(0.2)
    part = build(*points(), nu=0.5).restrict(np.arange(8, 20))
    assert (part.nu, part.cap) == (0.5, 1.0 / 12)


@pytest.mark.parametrize(
    ("change", "message"),
    [(1.1, "violates the constraints of nu-svc"), (0.9, "summing to nu / 2 over each class")],
)
def test_a_model_of_another_sum_is_refused(change, message):
    from harness import InvalidModel

    problem = build(*points())
    with pytest.raises(InvalidModel, match=message):
        problem.checked(feasible(problem) * change, 0.0)


@given(seed=st.integers(0, 10_000), b=st.floats(-3.0, 3.0))
def test_primal_and_dual_bracket_the_optimum(seed, b):
    problem = build(*points(5, 12), Linear(), nu=0.5)
    found = problem.certify(feasible(problem, seed), b)
    if not found.undecidable:
        assert found.dual - 1e-9 <= best() <= found.primal + 1e-9


@functools.cache
def best():
    problem = build(*points(5, 12), Linear(), nu=0.5)
    return problem.certify(*solved(problem)).dual


def test_hulls_that_meet_have_no_direction():
    x = np.array([[0.0], [1.0], [0.0], [1.0]])
    problem = build(x, np.array([1.0, 1.0, -1.0, -1.0]), Linear(), nu=1.0)
    found = problem.certify(np.array([0.25, 0.25, -0.25, -0.25]), 0.0)
    assert (found.dual, found.relative_gap) == (0.0, 0.0)
