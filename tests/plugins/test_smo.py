"""SMO: the printed algorithm, the optimum, runs, warm starts, edge cases."""

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse
from harness_smo import SMO
from harness_smo.smo import _State

from harness import (
    CSVC,
    L2SVC,
    RBF,
    CSVCNoBias,
    HardMargin,
    InvalidModel,
    Limits,
    Linear,
    Poly,
    UsageError,
    drive,
    get_solver,
)
from tests.plugins.naive_smo import naive_smo
from tests.plugins.points import cancer, digits, overlapping
from tests.plugins.smo_problems import BOTH, build, certified, optimum

# -- the algorithm ---------------------------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("selection", ["first", "second"])
@pytest.mark.parametrize("kernel", [RBF(1.0), Poly(2, 0.5, 1.0)], ids=lambda kernel: kernel.name)
def test_every_iterate_is_that_of_the_printed_algorithm(formulation, selection, kernel):
    x, y = overlapping(1, n=30)
    problem = build(x, y, kernel, formulation, C=4.0)
    full = np.stack([problem.kernel.row(i) for i in range(problem.n)])
    history, b = naive_smo(
        full, problem.kernel.diagonal(), problem.dual_form(), np.zeros(30), tau=1e-3, selection=selection
    )
    assert len(history) > 20
    for steps in [*range(1, 20), len(history)]:
        solver = SMO(selection=selection, shrinking=False, max_iterations=steps)
        last = list(solver.iterates(build(x, y, kernel, formulation, C=4.0), np.random.default_rng(0)))[-1]
        assert last.step == steps
        assert last.dual_coef == pytest.approx(history[steps - 1], abs=1e-9)
    solution = SMO(selection=selection, shrinking=False).solve(build(x, y, kernel, formulation, C=4.0))
    assert solution.steps == len(history)
    assert solution.intercept == pytest.approx(b, abs=1e-9)


@pytest.mark.parametrize("data", [cancer, digits, overlapping])
@pytest.mark.parametrize("cost", [0.1, 10.0, 1000.0])
@BOTH
def test_objective_is_the_interior_point_solvers(data, cost, formulation):
    x, y = data()
    kernel = RBF(0.5 if x.shape[1] == 2 else 0.03)
    problem = build(x, y, kernel, formulation, C=cost)
    solution = SMO().solve(problem)
    found = certified(problem, solution)
    assert solution.done
    assert found.kkt_violation <= 1e-3 * 1.01
    assert found.kkt_violation == pytest.approx(solution.info["kkt_violation"], abs=1e-6)
    best = optimum(build(x, y, kernel, formulation, C=cost))
    assert found.dual == pytest.approx(best, rel=1e-3)
    assert found.dual <= best * (1.0 + 1e-6)


@BOTH
@pytest.mark.parametrize("values", [{"selection": "first"}, {"shrinking": False}, {"cache_mb": 0.02}, {"tau": 1e-6}])
def test_every_setting_ends_at_the_same_optimum(formulation, values):
    x, y = overlapping(2, n=300)
    best = optimum(build(x, y, formulation=formulation, C=50.0))
    problem = build(x, y, formulation=formulation, C=50.0)
    solution = SMO(**values).solve(problem)
    found = certified(problem, solution)
    assert found.kkt_violation <= values.get("tau", 1e-3) * 1.01
    assert found.dual == pytest.approx(best, rel=1e-5 if "tau" not in values else 1e-8)


@BOTH
def test_shrinking_leaves_points_out_and_takes_them_back(formulation):
    x, y = overlapping(3, n=400)
    problem = build(x, y, formulation=formulation, C=100.0)
    active = [it.info["active"] for it in SMO(tau=1e-5).iterates(problem, np.random.default_rng(0))]
    assert min(active) < 400
    assert active[-1] == 400, "the last violation is over all points"
    off = [it.info["active"] for it in SMO(shrinking=False).iterates(problem, np.random.default_rng(0))]
    assert set(off) == {400}


@BOTH
@pytest.mark.parametrize("gap", [1e-2, 1e-5, 1e-8])
def test_a_target_gap_is_certified(formulation, gap):
    x, y = cancer()
    problem = build(x, y, RBF(0.03), formulation, C=1000.0)
    loose = certified(problem, SMO(tau=0.5).solve(problem))
    assert loose.relative_gap > 1e-2, "tau alone does not reach it"
    solver = SMO(tau=0.5).with_target_gap(gap)
    assert certified(problem, solver.solve(problem)).relative_gap <= gap * (1.0 + 1e-6) + 1e-12


@BOTH
def test_only_points_beyond_every_violating_pair_are_left_out(formulation):
    x, y = overlapping(3, n=400)
    problem = build(x, y, formulation=formulation, C=100.0)
    state = _State(SMO(), problem)
    while len(state.active) == 400:
        state.shrink_interval = state.next_shrink = 10**9
        state.advance()
        up, low, g = state.up[0], state.low[0], state.gradient.copy()
        state.shrink()
    if not problem.has_bias:
        up, low = max(up, -low), -max(up, -low)
    out = np.setdiff1d(np.arange(400), state.active)
    a, lower, upper = state.a, state.form.lower, state.form.upper
    assert ((a[out] == upper[out]) & (g[out] > up) | (a[out] == lower[out]) & (g[out] < low)).all()
    free = np.flatnonzero((a > lower) & (a < upper))
    assert np.isin(free, state.active).all(), "every free point stays"


def test_class_weights_bound_each_class_by_its_own_cost():
    x, y = overlapping(4, n=80)
    y[:60] = -1.0
    problem = build(x, y, C=5.0, class_weight="balanced")
    solution = SMO(tau=1e-6).solve(problem)
    assert certified(problem, solution).dual == pytest.approx(optimum(problem), rel=1e-6)
    for sign in (-1.0, 1.0):
        assert np.abs(solution.dual_coef[y == sign]).max() == problem.upper[y == sign][0]


@pytest.mark.parametrize("cost", [0.1, 0.3, 1.0 / 3.0, 7.7])
def test_bounds_are_met_exactly(cost):
    for seed in range(5):
        x, y = overlapping(seed, n=120)
        for iterate in SMO(tau=1e-6).iterates(build(x, y, C=cost), np.random.default_rng(0)):
            alpha = y * iterate.dual_coef
            assert alpha.min() >= 0.0
            assert alpha.max() <= cost
        inside = alpha[(alpha > 0.0) & (alpha < cost)]
        assert (alpha == cost).any()
        assert ((inside > 1e-9) & (inside < cost - 1e-9)).all(), "no coefficient is one rounding error off its bound"


def test_linear_kernel_on_sparse_data():
    x, y = overlapping(7, n=100, d=5)
    x[np.abs(x) < 0.7] = 0.0
    problem = build(scipy.sparse.csr_array(x), y, Linear(), C=1.0)
    assert certified(problem, SMO(tau=1e-6).solve(problem)).dual == pytest.approx(optimum(problem), rel=1e-7)


# -- runs ------------------------------------------------------------------------------------------------------------


@BOTH
def test_same_problem_same_bits(formulation):
    x, y = overlapping(11, n=150)
    runs = [SMO().solve(build(x, y, formulation=formulation, C=10.0)) for _ in range(2)]
    assert runs[0].dual_coef.tobytes() == runs[1].dual_coef.tobytes()
    assert runs[0].intercept == runs[1].intercept


@BOTH
def test_a_warm_start_at_the_optimum_has_nothing_left_to_do(formulation):
    x, y = overlapping(12, n=150)
    problem = build(x, y, formulation=formulation, C=10.0)
    cold = SMO().solve(problem)
    again = SMO().solve(problem, start=cold.dual_coef)
    assert again.steps <= 1
    assert again.done
    assert again.dual_coef == pytest.approx(cold.dual_coef)
    near = SMO().solve(build(x, y, formulation=formulation, C=11.0), start=cold.dual_coef)
    assert near.steps < SMO().solve(build(x, y, formulation=formulation, C=11.0)).steps
    assert certified(build(x, y, formulation=formulation, C=11.0), near).kkt_violation <= 1.01e-3


def test_an_infeasible_start_is_refused():
    x, y = overlapping(13, n=20)
    with pytest.raises(InvalidModel, match="violates the constraints of c-svc"):
        SMO().solve(build(x, y, C=1.0), start=2.0 * y)


def test_a_start_with_rounding_errors_is_put_right():
    x, y = overlapping(14, n=100)
    problem = build(x, y, C=1.0)
    rough = SMO().solve(problem).dual_coef * (1.0 + 1e-8 * np.random.default_rng(0).normal(size=100))
    found = certified(problem, SMO().solve(problem, start=rough))
    assert found.feasibility_violation < 1e-15
    assert found.kkt_violation <= 1.01e-3


def test_iterates_come_often_and_climb():
    x, y = overlapping(15, n=600)
    problem = build(x, y, C=1000.0)
    duals, steps = [], []
    for iterate in SMO().iterates(problem, np.random.default_rng(0)):
        duals.append(problem.certify(iterate.dual_coef, 0.0).dual)
        steps.append(iterate.step)
    assert len(duals) > 20
    assert (np.diff(duals) >= -1e-9 * np.abs(duals[-1])).all()
    assert steps == sorted(steps)


def test_budgets_and_the_limit_of_iterations():
    x, y = overlapping(16, n=300)
    outcome = drive(SMO(), build(x, y, C=100.0), np.random.default_rng(0), Limits(kernel_evaluations=3000))
    assert outcome.status == "budget"
    assert not outcome.claimed_done
    limited = SMO(max_iterations=50).solve(build(x, y, C=100.0))
    assert (limited.steps, limited.done) == (50, False)
    assert "max_iterations=50: the violation is" in limited.info["stopped"]


def test_a_tolerance_below_rounding_ends_as_stalled():
    x, y = overlapping(17, n=80)
    solution = SMO(tau=1e-300).solve(build(x, y, C=100.0))
    assert solution.done or "stalled: the next step is lost in rounding" in solution.info["stopped"]
    assert solution.info["kkt_violation"] < 1e-9


# -- edge cases ------------------------------------------------------------------------------------------------------


@BOTH
def test_two_points(formulation):
    x, y = np.array([[0.0], [2.0]]), np.array([-1.0, 1.0])
    solution = SMO(tau=1e-9).solve(build(x, y, Linear(), formulation, C=10.0))
    # with a bias w = 1, b = -1: alpha = 2 / |x - z|^2; without one the point at the origin stays unsatisfied
    expected = ([-0.5, 0.5], -1.0) if formulation is CSVC else ([-10.0, 0.25], 0.0)
    assert solution.dual_coef == pytest.approx(expected[0])
    assert solution.intercept == pytest.approx(expected[1])


@BOTH
def test_duplicates_with_opposite_labels_go_to_the_bound(formulation):
    x, y = np.repeat([[0.0, 1.0], [2.0, 0.0]], 2, axis=0), np.array([1.0, -1.0, 1.0, -1.0])
    problem = build(x, y, formulation=formulation, C=3.0)
    solution = SMO().solve(problem)
    assert certified(problem, solution).dual == pytest.approx(optimum(problem), rel=1e-6)
    if formulation is CSVC:
        assert np.abs(solution.dual_coef).tolist() == [3.0] * 4


@BOTH
@pytest.mark.parametrize("kernel", [Linear(), RBF(1.0)], ids=lambda kernel: kernel.name)
def test_constant_features(formulation, kernel):
    x, y = np.zeros((12, 3)), np.where(np.arange(12) < 5, 1.0, -1.0)
    problem = build(x, y, kernel, formulation, C=2.0)
    found = certified(problem, SMO().solve(problem))
    assert found.relative_gap == pytest.approx(0.0, abs=1e-3)
    assert found.kkt_violation <= 1e-3


def test_one_point_of_a_class():
    x, y = overlapping(18, n=50)
    y[:] = -1.0
    y[7] = 1.0
    problem = build(x, y, C=10.0)
    assert certified(problem, SMO().solve(problem)).dual == pytest.approx(optimum(problem), rel=1e-4)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_points_of_one_class_only(sign):
    x, _ = overlapping(19, n=10)
    problem = build(x, np.full(10, sign), C=1.0)
    solution = SMO().solve(problem)
    assert not solution.dual_coef.any()
    assert solution.intercept == sign
    assert certified(problem, solution).relative_gap == 0.0


def test_a_single_point():
    problem = build(np.ones((1, 2)), np.array([1.0]), formulation=CSVCNoBias, C=5.0)
    assert SMO().solve(problem).dual_coef.tolist() == [1.0]


# -- the plugin ------------------------------------------------------------------------------------------------------


def test_parameters_are_checked_and_named():
    assert get_solver("smo").tau == 1e-3
    with pytest.raises(UsageError, match="'first' or 'second'"):
        SMO(selection="third")
    with pytest.raises(UsageError, match="tau=0"):
        SMO(tau=0)
    assert SMO(tau=0.1, shrinking=False).label == "smo[tau=0.1,shrinking=False]"
    assert SMO.solves[0] is CSVC, "the formulation that is taken where none is named"
    assert not any(SMO.takes(formulation) for formulation in (HardMargin, L2SVC))


def test_importing_the_plugin_compiles_nothing():
    code = "import sys, harness_smo; assert not {'numba', 'sklearn', 'cvxpy'} & set(sys.modules), 'too heavy'"
    subprocess.run([sys.executable, "-c", code], check=True)
