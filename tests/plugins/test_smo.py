"""SMO on every formulation with a dual form: the printed algorithm, the optimum, shrinking, warm starts, rows, limits."""

import numpy as np
import pytest
from harness_smo import SMO, SMOBlock, hot, smo
from harness_smo.smo import _State

from harness import InvalidModel, Limits, drive
from harness.problems import ReducedHull
from tests.plugins.naive_smo import naive_smo
from tests.plugins.points import overlapping
from tests.plugins.smo_problems import EACH, build, certified, optimum, stated

SOLVERS = pytest.mark.parametrize(
    "solver", [SMO(), SMOBlock(working_set=16, dtype="float64")], ids=["smo", "smo-block"]
)


@EACH
def test_every_iterate_is_that_of_the_printed_algorithm(monkeypatch, formulation, values):
    monkeypatch.setattr(smo, "_STEP_VALUES", 0)
    monkeypatch.setattr(smo, "_LEAST_STEPS", 1)
    problem = stated(formulation, values, 1, n=40)
    form, full = problem.dual_form(), np.stack([problem.kernel.row(i) for i in range(problem.n)])
    scores = problem.kernel.expand(form.coef(form.start))
    history, b = naive_smo(full, problem.kernel.diagonal(), form, scores, tau=1e-3 * form.unit)
    steps = []
    for last in SMO(shrinking=False).iterates(problem, np.random.default_rng(0)):
        if 0 < last.step < 30:  # thousands of steps later rounding would break ties differently
            assert last.dual_coef == pytest.approx(history[last.step - 1], abs=1e-9)
        steps.append(last.step)
    # where tau is tightened, as of hulls, none is yielded
    assert len(set(range(1, min(30, len(history)))) - set(steps)) <= 2 * (formulation is ReducedHull)
    assert last.intercept == pytest.approx(b, abs=1e-3 * form.unit)
    assert len(history) == 0 or last.dual_coef == pytest.approx(history[-1], abs=0.05 * np.abs(history[-1]).max())


@EACH
@pytest.mark.parametrize("setting", [{}, {"shrinking": False, "cache_mb": 0.01}], ids=str)
def test_it_ends_at_the_interior_point_solvers_optimum(formulation, values, setting):
    problem = stated(formulation, values, 2, n=150)
    solution = SMO(tau=1e-6, **setting).solve(problem)
    found = certified(problem, solution)
    assert found.dual == pytest.approx(optimum(stated(formulation, values, 2, n=150)), rel=1e-6)
    if formulation is not ReducedHull:  # whose certificate states the violation over the hull
        assert found.kkt_violation <= 1.01e-6 * problem.dual_form().unit
    free = solution.dual_coef[(np.abs(solution.dual_coef) > 0.0)]
    assert (np.abs(free) > 1e-12).all(), "no coefficient is one rounding error off its bound"


@EACH
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
    kernel = np.array(problem.kernel.block(np.arange(problem.n)))
    state.unshrink()
    exact = state.form.gradient(kernel @ state.form.coef(state.a))
    assert state.gradient == pytest.approx(exact, abs=1e-10)
    assert least < len(state.a) or values in ({"nu": 1.0}, {"C": 4.0, "epsilon": 0.0})


@EACH
def test_a_warm_start(formulation, values):
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


def test_each_row_is_computed_once_while_the_buffer_holds_them():
    x, y = overlapping(8, n=200)
    problem, tight = build(x, y, C=10.0), build(x, y, C=10.0, cache_mb=200 * 8 * 2 / 2**20)
    solution, other = SMO(shrinking=False).solve(problem), SMO(shrinking=False).solve(tight)
    rows = solution.info["rows_computed"]
    assert rows <= 200
    assert problem.kernel.counter.evaluations == 200 * rows + 200  # and the diagonal
    # every step reads two rows: computed now or a hit
    assert problem.kernel.counter.cache_hits == 2 * solution.steps - rows
    assert rows < other.info["rows_computed"] <= 2 * other.steps, "fetching j never drops the row of i"
    assert other.dual_coef.tolist() == solution.dual_coef.tolist()


@SOLVERS
def test_iterates_climb_and_budgets_stop_them(solver):
    x, y = overlapping(8, 500)
    problem = build(x, y, C=100.0)
    duals, steps = [], []
    for iterate in solver.iterates(problem, np.random.default_rng(0)):
        duals.append(problem.certify(iterate.dual_coef, 0.0).dual)
        steps.append(iterate.step)
    assert len(steps) > 20
    assert steps == sorted(steps)
    assert (np.diff(duals) >= -1e-9 * abs(duals[-1])).all()
    budget = Limits(kernel_evaluation_limit=20_000)
    assert drive(solver, build(x, y, C=100.0), np.random.default_rng(0), budget).status == "budget"


@SOLVERS
def test_a_tolerance_below_rounding_ends(solver):
    x, y = overlapping(17, n=80)
    solution = solver.replace(tau=1e-300).solve(build(x, y, C=100.0))
    assert solution.done or "stalled" in solution.info["stopped"]
    assert solution.info["kkt_violation"] < 1e-9


@SOLVERS
def test_a_start_that_cannot_be_is_refused(solver):
    x, y = overlapping(13, n=20)
    for start, message in (
        (2.0 * y, "violates the constraints of c-svc"),
        (np.zeros(19), "shape"),
        (y * np.nan, "finite"),
    ):
        with pytest.raises(InvalidModel, match=message):
            solver.solve(build(x, y, C=1.0), start=start)
