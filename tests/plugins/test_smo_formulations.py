"""SMO on every formulation with a dual form: the printed algorithm, the optimum, shrinking, warm starts."""

import numpy as np
import pytest
from harness_smo import SMO, hot
from harness_smo.smo import _State
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import EpsSVR, OneClass, ReducedHull
from tests.plugins.naive_smo import naive_smo
from tests.plugins.points import overlapping
from tests.plugins.smo_problems import EACH, FURTHER, build, certified, curve, optimum, stated, tight


@EACH
@pytest.mark.parametrize("selection", ["first", "second"])
def test_every_iterate_of_the_others_is_that_of_the_printed_algorithm(formulation, values, selection):
    problem = stated(formulation, values, 1, n=40)
    form, full = problem.dual_form(), np.stack([problem.kernel.row(i) for i in range(problem.n)])
    scores = problem.kernel.expand(form.coef(form.start))
    assert scores == pytest.approx(full @ form.coef(form.start), abs=1e-12)
    history, b = naive_smo(full, problem.kernel.diagonal(), form, scores, tau=1e-3 * form.unit, selection=selection)
    for steps in range(1, min(30, len(history))):  # thousands of steps later rounding would break ties differently
        solver = SMO(selection=selection, shrinking=False, max_iterations=steps)
        last = list(solver.iterates(stated(formulation, values, 1, n=40), np.random.default_rng(0)))[-1]
        assert last.step == steps
        assert last.dual_coef == pytest.approx(history[steps - 1], abs=1e-9)
    solution = SMO(selection=selection, shrinking=False).solve(stated(formulation, values, 1, n=40))
    assert solution.intercept == pytest.approx(b, abs=1e-3 * form.unit)
    assert len(history) == 0 or solution.dual_coef == pytest.approx(history[-1], abs=0.05 * np.abs(history[-1]).max())


@EACH
@pytest.mark.parametrize("setting", [{}, {"selection": "first"}, {"shrinking": False}, {"cache_mb": 0.01}])
def test_the_others_end_at_the_interior_point_solvers_optimum(formulation, values, setting):
    problem = stated(formulation, values, 2, n=250)
    best = optimum(stated(formulation, values, 2, n=250))
    found = certified(problem, SMO(tau=1e-6, **setting).solve(problem))
    assert found.dual == pytest.approx(best, rel=1e-6)
    if formulation is not ReducedHull:  # whose certificate states the violation over the hull
        assert found.kkt_violation <= 1.01e-6 * problem.dual_form().unit


@EACH
@pytest.mark.parametrize("gap", [1e-2, 1e-6])
def test_a_target_gap_of_the_others_is_certified(formulation, values, gap):
    problem = stated(formulation, values, 3, n=200)
    solver = SMO(tau=10.0).with_target_gap(gap)
    assert certified(problem, solver.solve(problem)).relative_gap <= gap * (1.0 + 1e-6) + 1e-12


@EACH
def test_shrinking_the_others_leaves_variables_out_and_takes_them_back(formulation, values):
    problem = stated(formulation, values, 4, n=400)
    state = _State(SMO(tau=1e-8), problem)
    state.goal.tau = min(state.goal.tau, 1e-9)  # of hulls the first one is wider
    least = len(state.a)
    outcome = hot.PAUSED
    while outcome != hot.CONVERGED:
        state.next_shrink = min(state.next_shrink, state.steps + 50)
        outcome = state.advance()
        least = min(least, len(state.active))
        assert (np.diff(state.form.group[state.active]) >= 0).all(), "the compiled loops want the groups apart"
    kernel = np.array(problem.kernel.block(np.arange(problem.n)))
    state.unshrink()
    exact = state.form.gradient(kernel @ state.form.coef(state.a))
    assert state.gradient == pytest.approx(exact, abs=1e-10)
    assert least < len(state.a) or values in ({"nu": 1.0}, {"C": 4.0, "epsilon": 0.0})


@EACH
def test_a_warm_start_of_the_others(formulation, values):
    problem = stated(formulation, values, 5, n=200)
    cold = SMO(tau=1e-6).solve(problem)
    again = SMO(tau=1e-6).solve(problem, start=cold.dual_coef)
    assert again.steps <= 1
    assert again.dual_coef == pytest.approx(cold.dual_coef, abs=1e-12)
    near = {name: value * (1.0 if name == "D" else 0.98) for name, value in values.items()}
    wanted = stated(formulation, near, 5, n=200)
    start = wanted.dual_form().coef(wanted.dual_form().variables(cold.dual_coef))
    found = certified(wanted, SMO(tau=1e-6).solve(wanted, start=start))
    assert found.dual == pytest.approx(optimum(stated(formulation, near, 5, n=200)), rel=1e-6)


@given(st.sampled_from(list(FURTHER.values())), st.integers(0, 10_000), st.integers(8, 30))
@settings(max_examples=40)
def test_permuted_points_give_the_permuted_model_of_the_others(case, seed, n):
    formulation, values = case
    x, y = curve(seed, n) if formulation is EpsSVR else overlapping(seed, n)
    if formulation is ReducedHull:  # the smaller class may be a single point
        values, y[:2] = {"D": 1.0}, (1.0, -1.0)
        x[:, 0] += 2.5 * y
    order = np.random.default_rng(seed).permutation(n)
    problem, one, found = tight(x, y, formulation=formulation, **values)
    _, other, again = tight(x[order], y[order], formulation=formulation, **values)
    assert again.dual == pytest.approx(found.dual, rel=1e-6, abs=1e-9)
    scores = problem.kernel.expand(one.dual_coef)
    assert problem.restrict(order).kernel.expand(other.dual_coef) == pytest.approx(scores[order], abs=1e-4)


@given(st.integers(0, 10_000), st.sampled_from([-3.0, 100.0]))
@settings(max_examples=20)
def test_shifted_targets_shift_the_intercept(seed, shift):
    x, y = curve(seed, 25)
    problem, one, found = tight(x, y, formulation=EpsSVR, C=2.0, epsilon=0.1)
    _, other, again = tight(x, y + shift, formulation=EpsSVR, C=2.0, epsilon=0.1)
    assert again.dual == pytest.approx(found.dual, rel=1e-6, abs=1e-7)
    assert other.intercept - one.intercept == pytest.approx(shift, abs=1e-4)
    assert problem.kernel.expand(other.dual_coef) == pytest.approx(problem.kernel.expand(one.dual_coef), abs=1e-4)


@pytest.mark.parametrize("nu", [0.1, 0.5, 0.9])
def test_nu_bounds_outliers_and_support_vectors(nu):
    x, y = overlapping(6, n=200)
    problem = build(x, y, formulation=OneClass, nu=nu)
    solution = SMO(tau=1e-8).solve(problem)
    outside = problem.kernel.expand(solution.dual_coef) + solution.intercept < -1e-7
    assert outside.mean() <= nu
    assert (solution.dual_coef > 0.0).mean() >= nu - 1e-12


def test_labels_take_no_part_in_one_class():
    x, y = overlapping(7, n=80)
    runs = [SMO().solve(build(x, labels, formulation=OneClass, nu=0.4)) for labels in (y, -y, np.ones(80))]
    assert runs[0].dual_coef.tobytes() == runs[1].dual_coef.tobytes() == runs[2].dual_coef.tobytes()


def test_a_constant_target_needs_no_support_vector():
    x, _ = curve(8, 30)
    problem = build(x, np.full(30, 7.5), formulation=EpsSVR, C=10.0, epsilon=0.1)
    solution = SMO().solve(problem)
    assert not solution.dual_coef.any()
    assert solution.intercept == pytest.approx(7.5)
    assert certified(problem, solution).relative_gap == pytest.approx(0.0, abs=1e-12)


def test_one_point_is_its_own_class():
    problem = build(np.ones((1, 2)), np.array([1.0]), formulation=OneClass, nu=0.5)
    solution = SMO().solve(problem)
    assert solution.dual_coef.tolist() == [1.0]
    assert solution.intercept == -1.0
