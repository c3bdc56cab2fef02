"""SMO: the printed algorithm, the optimum, invariants, the row buffer, warm starts, edge cases."""

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse
from harness_qp import QP
from harness_smo import SMO, hot
from harness_smo.rows import RowBuffer
from harness_smo.smo import _State
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import (
    CSVC,
    L2SVC,
    RBF,
    Budget,
    CSVCNoBias,
    EpsSVR,
    HardMargin,
    InvalidModel,
    KernelOracle,
    Linear,
    OneClass,
    Poly,
    Precomputed,
    ReducedHull,
    UsageError,
    drive,
    get_solver,
)
from tests.plugins.naive_smo import naive_smo
from tests.plugins.points import cancer, digits, overlapping

BOTH = pytest.mark.parametrize("formulation", [CSVC, CSVCNoBias])


def build(x, y, kernel=None, formulation=CSVC, cache_mb=256.0, **values):
    return formulation.build(KernelOracle(kernel or RBF(0.5), x, cache_mb=cache_mb), y, values)


def certified(problem, solution):
    problem.checked(solution.dual_coef, solution.intercept)
    return problem.certify(solution.dual_coef, solution.intercept)


def optimum(problem):
    """The optimal objective, from the interior-point solver's primal and dual which agree."""
    found = certified(problem, QP().solve(problem))
    assert found.relative_gap < 1e-7
    return found.dual


def curve(seed=0, n=60):
    """Points in the plane and a noisy function of them."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    return x, np.sin(2.0 * x[:, 0]) + 0.5 * x[:, 1] + 0.1 * rng.normal(size=n)


FURTHER = {
    "eps-svr": (EpsSVR, {"C": 4.0, "epsilon": 0.1}),
    "eps-svr-without-tube": (EpsSVR, {"C": 4.0, "epsilon": 0.0}),
    "eps-svr-capped": (EpsSVR, {"C": 0.05, "epsilon": 0.3}),
    "one-class": (OneClass, {"nu": 0.3}),
    "one-class-all": (OneClass, {"nu": 1.0}),
    "one-class-few": (OneClass, {"nu": 0.02}),
    "reduced-hull": (ReducedHull, {"D": 0.1}),
    "full-hull": (ReducedHull, {"D": 1.0}),
}
EACH = pytest.mark.parametrize(("formulation", "values"), FURTHER.values(), ids=FURTHER)


def stated(formulation, values, seed=0, n=60, kernel=None, **oracle):
    x, y = curve(seed, n) if formulation is EpsSVR else overlapping(seed, n)
    if formulation is ReducedHull:
        x[:, 0] += (2.5 if values["D"] == 1.0 else 1.5) * y  # hulls that touch have w = 0, where no method ends quickly
    return build(x, y, kernel, formulation, **oracle, **values)


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


# -- every formulation with a dual form ------------------------------------------------------------------------------

small = st.tuples(st.integers(0, 10_000), st.integers(3, 25), st.sampled_from([0.2, 3.0, 100.0]))


def tight(x, y, kernel=None, formulation=CSVC, **values):
    problem = build(x, y, kernel, formulation, **values)
    solution = SMO(tau=1e-9).solve(problem)
    return problem, solution, certified(problem, solution)


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


# -- invariants ------------------------------------------------------------------------------------------------------


@given(small, st.sampled_from([CSVC, CSVCNoBias]))
@settings(max_examples=25)
def test_permuted_points_give_the_permuted_model(case, formulation):
    seed, n, cost = case
    x, y = overlapping(seed, n)
    order = np.random.default_rng(seed).permutation(n)
    problem, one, found = tight(x, y, formulation=formulation, C=cost)
    _, other, again = tight(x[order], y[order], formulation=formulation, C=cost)
    assert again.dual == pytest.approx(found.dual, rel=1e-7, abs=1e-9)
    scores = problem.kernel.expand(one.dual_coef)
    assert problem.restrict(order).kernel.expand(other.dual_coef) == pytest.approx(scores[order], abs=1e-4)


@given(small)
@settings(max_examples=25)
def test_flipped_labels_give_the_negated_model(case):
    seed, n, cost = case
    x, y = overlapping(seed, n)
    problem, one, found = tight(x, y, C=cost)
    _, other, again = tight(x, -y, C=cost)
    assert again.dual == pytest.approx(found.dual, rel=1e-7, abs=1e-9)
    assert problem.kernel.expand(-other.dual_coef) == pytest.approx(problem.kernel.expand(one.dual_coef), abs=1e-4)


@given(small)
@settings(max_examples=25)
def test_doubled_points_are_the_problem_with_twice_the_cost(case):
    seed, n, cost = case
    x, y = overlapping(seed, n)
    _, _, found = tight(x, y, C=2.0 * cost)
    _, _, doubled = tight(np.vstack([x, x]), np.concatenate([y, y]), C=cost)
    assert doubled.dual == pytest.approx(found.dual, rel=1e-7, abs=1e-9)


@given(small, st.sampled_from([0.01, 0.5, 40.0]))
@settings(max_examples=25)
def test_a_kernel_times_c_is_the_problem_with_c_times_the_cost(case, factor):
    seed, n, cost = case
    x, y = overlapping(seed, n)
    gram = RBF(0.5).block(x, x)
    _, one, found = tight(gram, y, Precomputed(), C=cost)
    problem, scaled, again = tight(factor * gram, y, Precomputed(), C=cost / factor)
    # coef / factor has the same scores, and every objective is 1 / factor of the other
    assert factor * again.dual == pytest.approx(found.dual, rel=1e-7, abs=1e-9)
    assert problem.kernel.expand(scaled.dual_coef) == pytest.approx(gram @ one.dual_coef, abs=1e-4)


# -- rows, storage, counting -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("storage", ["csr", "float32", "precomputed", "fortran"])
def test_storage_does_not_change_the_optimum(storage):
    x, y = overlapping(6, n=120)
    found = certified(build(x, y, C=10.0), SMO(tau=1e-6).solve(build(x, y, C=10.0)))
    data = {
        "csr": lambda: scipy.sparse.csr_array(x),
        "float32": lambda: x.astype(np.float32),
        "precomputed": lambda: RBF(0.5).block(x, x),
        "fortran": lambda: np.asfortranarray(x),
    }[storage]()
    problem = build(data, y, Precomputed() if storage == "precomputed" else RBF(0.5), C=10.0)
    again = certified(problem, SMO(tau=1e-6).solve(problem))
    assert again.dual == pytest.approx(found.dual, rel=1e-5)
    assert again.kkt_violation <= 1.01e-6


def test_linear_kernel_on_sparse_data():
    x, y = overlapping(7, n=100, d=5)
    x[np.abs(x) < 0.7] = 0.0
    problem = build(scipy.sparse.csr_array(x), y, Linear(), C=1.0)
    assert certified(problem, SMO(tau=1e-6).solve(problem)).dual == pytest.approx(optimum(problem), rel=1e-7)


def test_each_row_is_computed_once_while_the_buffer_holds_them():
    x, y = overlapping(8, n=200)
    problem = build(x, y, C=10.0)
    solution = SMO().solve(problem)
    rows = solution.info["rows_computed"]
    assert rows <= 200
    assert problem.kernel.counter.evaluations == 200 * rows + 200  # and the diagonal
    # every step reads two rows: computed now or a hit
    assert problem.kernel.counter.cache_hits == 2 * solution.steps - rows


def test_a_small_buffer_computes_more_rows_and_takes_the_same_steps():
    x, y = overlapping(8, n=200)
    roomy, tight_ = build(x, y, C=10.0), build(x, y, C=10.0, cache_mb=200 * 8 * 2 / 2**20)
    one, other = SMO(shrinking=False).solve(roomy), SMO(shrinking=False).solve(tight_)
    assert other.info["rows_computed"] > one.info["rows_computed"]
    assert other.info["rows_computed"] <= 2 * other.steps, "fetching j never drops the row of i"
    assert other.steps == one.steps
    assert other.dual_coef.tolist() == one.dual_coef.tolist()


def test_the_row_unused_for_longest_makes_room():
    x, _ = overlapping(9, n=10)
    buffer = RowBuffer(KernelOracle(RBF(1.0), x), 3 * 10 * 8 / 2**20)
    assert buffer.capacity == 3
    assert buffer.kernel.cached_rows == 2, "rows are not held a second time by the oracle"
    for now, k in enumerate([4, 7, 2]):
        buffer.fetch(k, now)
    buffer.last_used[buffer.slot_of[4]] = 5
    buffer.fetch(9, 6)
    assert buffer.slot_of[7] == -1
    assert np.flatnonzero(buffer.slot_of >= 0).tolist() == [2, 4, 9]
    assert buffer.rows[buffer.slot_of[9]] == pytest.approx(RBF(1.0).block(x[9:], x)[0])


def test_scores_use_held_rows_and_compute_only_the_others():
    x, _ = overlapping(10, n=20)
    kernel = KernelOracle(RBF(1.0), x)
    buffer = RowBuffer(kernel, 1.0)
    coef = np.zeros(20)
    coef[[3, 5, 8]] = [1.0, -2.0, 0.5]
    buffer.fetch(3, 0)
    buffer.fetch(8, 0)
    before = kernel.counter.evaluations
    wanted = np.array([0, 1, 2, 17])
    assert buffer.scores(coef, wanted) == pytest.approx((RBF(1.0).block(x, x) @ coef)[wanted])
    assert kernel.counter.evaluations - before == len(wanted)  # one row is missing


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
    outcome = drive(SMO(), build(x, y, C=100.0), np.random.default_rng(0), Budget(kernel_evaluations=3000))
    assert outcome.status == "budget"
    assert not outcome.claimed_done
    limited = SMO(max_iterations=50).solve(build(x, y, C=100.0))
    assert (limited.steps, limited.done, limited.info["stopped"]) == (50, False, "max_iterations")


def test_a_tolerance_below_rounding_ends_as_stalled():
    x, y = overlapping(17, n=80)
    solution = SMO(tau=1e-300).solve(build(x, y, C=100.0))
    assert solution.done == (solution.info["stopped"] == "converged")
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
    assert not {HardMargin, L2SVC} & set(SMO.solves)


def test_importing_the_plugin_compiles_nothing():
    code = "import sys, harness_smo; assert not {'numba', 'sklearn', 'cvxpy'} & set(sys.modules), 'too heavy'"
    subprocess.run([sys.executable, "-c", code], check=True)
