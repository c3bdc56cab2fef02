"""tube-svr against (P6) and (P7) in cvxpy, the hulls of the 2 n shifted points written out, and figures by hand."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
from harness_sampling.tube_svr import TubeSVR

from harness import RBF, Linear, get_solver
from tests.plugins.common import build, certified


def plane(seed, n, noise=0.3):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    return x, 2.0 * x[:, 0] - x[:, 1] + 3.0 + noise * rng.normal(size=n)


def tube(x, y, kernel=None, **values):
    return build(TubeSVR, x, y, kernel or Linear(), **values)


def paper_program(x, y, epsilon, cap, cap_minus):
    """(P6) if both caps are 1, else (P7), as the paper writes them: value, w, sigma, theta_+, theta_-."""
    w, sigma, plus, minus = cp.Variable(x.shape[1]), cp.Variable(), cp.Variable(), cp.Variable()
    above, below = x @ w + sigma * (y + epsilon), x @ w + sigma * (y - epsilon)
    objective = 0.5 * cp.sum_squares(w) + 0.5 * cp.square(sigma) - (plus - minus)
    if cap == cap_minus == 1.0:
        constraints = [above >= plus, below <= minus]
    else:
        slack, slack_minus = cp.Variable(len(y), nonneg=True), cp.Variable(len(y), nonneg=True)
        objective += cap * cp.sum(slack) + cap_minus * cp.sum(slack_minus)
        constraints = [above >= plus - slack, below <= minus + slack_minus]
    program = cp.Problem(cp.Minimize(objective), constraints)
    program.solve(solver="CLARABEL", tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
    return program.value, w.value, float(sigma.value), float(plus.value), float(minus.value)


@pytest.mark.parametrize(
    ("epsilon", "cap", "cap_minus"),
    [(2.0, 1.0, None), (1.0, 1.0, None), (0.5, 0.1, None), (1.0, 0.45, 0.13), (0.7, 0.06, 0.3), (1.0, 0.07, None)],
)
def test_the_optimum_is_that_of_the_paper_s_programs(epsilon, cap, cap_minus):
    x, y = plane(0, 30)
    problem = tube(x, y, epsilon=epsilon, D=cap, D_minus=cap_minus)
    value, w, sigma, plus, minus = paper_program(x, y, epsilon, cap, cap if cap_minus is None else cap_minus)
    found = get_solver("qp").solve(problem)
    certificate = certified(problem, found)
    assert -certificate.dual == pytest.approx(value, rel=1e-7)  # (P6) and (P7) are at -1/2 |(w, sigma)|^2
    assert certificate.relative_gap < 1e-7
    assert problem.sigma(found.dual_coef) == pytest.approx(sigma, rel=1e-6)
    new = plane(1, 7)[0]
    predicted = problem.scores_new(found.dual_coef, found.intercept, new)
    assert predicted == pytest.approx((0.5 * (plus + minus) - new @ w) / sigma, rel=1e-6)


def test_the_composed_problem_has_the_same_solutions():
    x, y = plane(6, 25)
    for values in ({"D": 1.0}, {"D": 0.1}, {"D": 0.1, "D_minus": 0.3}):
        problem = tube(x, y, RBF(0.5), epsilon=1.0, **values)
        composed = problem.composed()
        direct, taken = get_solver("qp").solve(problem), get_solver("qp").solve(composed)
        same = replace(taken, dual_coef=problem.of_composed(taken.dual_coef))
        one, other = certified(problem, direct), certified(problem, same)
        assert one.dual == pytest.approx(other.dual, rel=1e-9)
        assert max(one.relative_gap, other.relative_gap) < 1e-8
        assert composed.certify(taken.dual_coef, taken.intercept).dual == pytest.approx(other.dual, rel=1e-12)
        scores = [problem.scores_new(each.dual_coef, each.intercept, plane(7, 5)[0]) for each in (direct, same)]
        assert scores[0] == pytest.approx(scores[1], rel=1e-5)


def test_no_tube_is_an_optimum_without_a_function():
    problem = tube(*plane(0, 30), epsilon=0.05, D=1.0)
    found = certified(problem, get_solver("qp").solve(problem))
    assert (found.margin_upper, found.relative_gap) == pytest.approx((0.0, 0.0), abs=1e-15)


VIOLATIONS = [  # the sums differ; beyond the cap; more than 1 in all; all weights at their cap: coef = 0 alone is feasible
    (0.4, [0.3], 0.3), (0.4, [0.5, -0.3, -0.2], 0.1), (0.4, [0.4, 0.4, 0.4, -0.4, -0.4, -0.4], 0.2), (0.1, [0.05, -0.05], 0.05),
]  # fmt: skip


@pytest.mark.parametrize(("cap", "coef", "violation"), VIOLATIONS)
def test_each_constraint_has_its_own_violation(cap, coef, violation):
    problem = tube(*plane(0, 10), D=cap)
    found = problem.feasibility_violation(np.array([*coef, *[0.0] * (10 - len(coef))]))
    assert found == pytest.approx(violation, abs=1e-15)


def test_a_part_keeps_the_caps_and_the_origin_of_all_points():
    part = [0, 1, 3, 4, 7, 9]
    whole = tube(*plane(0, 24), RBF(0.5), epsilon=1.0)
    some = whole.restrict(part)
    assert (some.caps, some.origin) == (whole.caps, whole.origin)
    assert some.caps == (4.0 / 24, 4.0 / 24)
    assert some.kernel.block(np.arange(6)) == pytest.approx(whole.kernel.block(np.arange(24))[np.ix_(part, part)])
