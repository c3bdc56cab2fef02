"""SMO on every formulation with a dual form: the printed algorithm, the optimum, shrinking, warm starts, rows, limits."""

import numpy as np
import pytest
from harness_smo import SMO, SMOBlock, hot, smo
from harness_smo.smo import _State

from harness import CSVC, Limits, drive
from tests.plugins.common import build, certified, exact, iterates, matrix_of, overlapping
from tests.plugins.naive_smo import naive_smo
from tests.plugins.smo_problems import EACH_BY_SMO, stated

SOLVERS = pytest.mark.parametrize(
    "solver", [SMO(), SMOBlock(working_set=16, dtype="float64")], ids=["smo", "smo-block"]
)


@EACH_BY_SMO
def test_every_iterate_is_that_of_the_printed_algorithm(monkeypatch, formulation, values):
    monkeypatch.setattr(smo, "_STEP_VALUES", 0)
    monkeypatch.setattr(smo, "_LEAST_STEPS", 1)
    problem = stated(formulation, values, 1, n=40)
    form = problem.dual_form()
    scores = problem.kernel.expand(form.coef(form.start))
    history, b = naive_smo(matrix_of(problem), problem.kernel.diagonal(), form, scores, tau=1e-3 * form.unit)
    found = iterates(SMO(shrinking=False), problem)
    for each in found:
        if 0 < each.step < 30:  # thousands of steps later rounding would break ties differently
            assert each.dual_coef == pytest.approx(history[each.step - 1], abs=1e-9)
    # where tau is tightened, as of hulls, none is yielded
    assert len(set(range(1, min(30, len(history)))) - {each.step for each in found}) <= 2 * (form.groups == 2)
    assert found[-1].intercept == pytest.approx(b, abs=1e-3 * form.unit)
    assert not history or found[-1].dual_coef == pytest.approx(history[-1], abs=0.05 * np.abs(history[-1]).max())


@EACH_BY_SMO
@pytest.mark.parametrize("setting", [{}, {"shrinking": False, "cache_mb": 0.01}], ids=str)
def test_it_ends_at_the_optimum_and_from_there_at_once(formulation, values, setting):
    solver, problem = SMO(tau=1e-6, **setting), stated(formulation, values, 5, n=150)
    cold = solver.solve(problem)
    found = certified(problem, cold)
    assert found.dual == pytest.approx(exact(problem).dual, rel=1e-6)
    if problem.dual_form().groups < 2:  # the hulls' certificate states the violation over the hull
        assert found.kkt_violation <= 1.01e-6 * problem.dual_form().unit
    sizes = np.abs(cold.dual_coef)
    assert (sizes[sizes > 0.0] > 1e-12).all(), "no coefficient is one rounding error off its bound"
    again = solver.solve(problem, start=cold.dual_coef)
    assert again.steps <= 1
    assert again.dual_coef == pytest.approx(cold.dual_coef, abs=1e-12)
    near = stated(
        formulation, {name: value * (0.98 if value != 1.0 else 1.0) for name, value in values.items()}, 5, n=150
    )
    start = near.dual_form().coef(near.dual_form().variables(cold.dual_coef))
    assert certified(near, solver.solve(near, start=start)).dual == pytest.approx(exact(near).dual, rel=1e-6)


@EACH_BY_SMO
def test_shrinking_leaves_variables_out_and_takes_them_back(formulation, values):
    problem = stated(formulation, values, 4, n=400)
    state = _State(SMO(tau=1e-8), problem)
    state.goal.tau = min(state.goal.tau, 1e-9)  # of hulls the first one is wider
    least = len(state.a)
    outcome = hot.PAUSED
    while outcome != hot.CONVERGED:
        state.next_shrink = min(state.next_shrink, state.steps + 50)
        outcome = state.advance()
        least = min(least, len(state.active))
        inside = (state.a > state.form.lower) & (state.a < state.form.upper)
        assert np.isin(np.flatnonzero(inside), state.active).all(), "every free variable stays"
        assert (np.diff(state.form.group[state.active]) >= 0).all(), "the compiled loops want the groups apart"
    state.unshrink()
    gradient = state.form.gradient(matrix_of(problem) @ state.form.coef(state.a))
    assert state.gradient == pytest.approx(gradient, abs=1e-10)
    assert least < len(state.a) or values in ({"nu": 1.0}, {"C": 4.0, "epsilon": 0.0})


def test_each_row_is_computed_once_while_the_buffer_holds_them():
    x, y = overlapping(8, n=200)
    problem, tight = (build(CSVC, x, y, C=10.0, cache_mb=mb) for mb in (256.0, 200 * 8 * 2 / 2**20))
    solution, other = SMO(shrinking=False).solve(problem), SMO(shrinking=False).solve(tight)
    rows, counter = solution.info["rows_computed"], problem.kernel.counter
    # every step reads two rows: computed now or a hit; and the diagonal
    assert (counter.evaluations, counter.cache_hits) == (200 * rows + 200, 2 * solution.steps - rows)
    assert rows <= 200
    assert rows < other.info["rows_computed"] <= 2 * other.steps, "fetching j never drops the row of i"
    assert other.dual_coef.tolist() == solution.dual_coef.tolist()


@SOLVERS
def test_iterates_climb_and_budgets_and_a_tolerance_below_rounding_end_them(solver):
    problem = build(CSVC, *overlapping(8, 500), C=100.0)
    found = iterates(solver, problem)
    duals = [problem.certify(each.dual_coef, 0.0).dual for each in found]
    assert len(found) > 20
    assert (np.diff(duals) >= -1e-9 * abs(duals[-1])).all()
    budget = Limits(kernel_evaluation_limit=20_000)
    again = build(CSVC, *overlapping(8, 500), C=100.0)
    assert drive(solver, again, np.random.default_rng(0), budget).status == "budget"
    solution = solver.replace(tau=1e-300).solve(build(CSVC, *overlapping(17, n=80), C=100.0))
    assert solution.done or "stalled" in solution.info["stopped"]
    assert solution.info["kkt_violation"] < 1e-9
