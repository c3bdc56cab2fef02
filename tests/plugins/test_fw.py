"""Frank-Wolfe with away steps and Gilbert: the printed algorithm, the margin, the paper's bounds, the counts."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse
from harness_fw import FrankWolfe, Gilbert, core_set_bound, delta_bound, delta_of, iteration_bound
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness import (
    RBF,
    HardMargin,
    KernelOracle,
    Limits,
    Linear,
    Precomputed,
    TracePlan,
    UsageError,
    drive,
    get_solver,
)
from harness.kernels.oracle import uncounted
from tests.plugins.hull_problems import PROBLEMS, clouds, exact_margin, hard, l2, matrix_of, rng0
from tests.plugins.naive_fw import naive_frank_wolfe

BOTH = pytest.mark.parametrize("solver_class", [FrankWolfe, Gilbert])


@BOTH
@pytest.mark.parametrize(
    "make",
    [
        lambda: l2(*clouds(0, 40, 60, 3, 1.0)),
        lambda: l2(*clouds(1, 30, 30, 2, 1.0), chi=1000.0),
        lambda: hard(
            *clouds(6, 50, 40, 5, 5.0)
        ),  # no exact tie of epsilon_+ and epsilon_-, which rounding would decide
        lambda: l2(*clouds(3, 700, 900, 4, 1.0), chi=100.0),  # several blocks of the compiled pass
        lambda: hard(*clouds(4, 30, 30, 2, 1.0), RBF(gamma=3.0)),
        lambda: l2(*clouds(5, 3, 3, 2, 0.5), Linear(), chi=100.0),
    ],
)
def test_every_iterate_is_that_of_the_printed_algorithm(solver_class, make):
    problem = make()
    matrix = matrix_of(problem)
    problem = HardMargin.build(KernelOracle(Precomputed(), matrix), problem.targets)  # the same values to the bit
    away = solver_class is FrankWolfe
    printed = naive_frank_wolfe(matrix, problem.targets, 1e-5, 300, away)
    positive = problem.targets > 0
    kinds = {"add": 0, "decrease": 0, "drop": 0}
    for expected in printed:
        if expected.kind:
            kinds[expected.kind] += 1
        if expected.k > 40 and expected.k % 10 and expected is not printed[-1]:
            continue
        limit = max(1, expected.k)
        *_, found = solver_class(epsilon=1e-5, max_iterations=limit).iterates(problem, rng0())
        if expected.k == 0:
            found = next(iter(solver_class(epsilon=1e-5).iterates(problem, rng0())))
        assert found.step == expected.k
        np.testing.assert_allclose(found.dual_coef[positive], expected.u, atol=1e-10)
        np.testing.assert_allclose(found.dual_coef[~positive], -expected.v, atol=1e-10)
        np.testing.assert_array_equal(found.dual_coef[positive] > 0, expected.u > 0)
        assert found.info["epsilon_plus"] == pytest.approx(expected.epsilon_plus, abs=1e-9)
        assert found.info["epsilon_minus"] == pytest.approx(expected.epsilon_minus, abs=1e-9)
        assert {kind: found.info[kind] for kind in kinds} == kinds


def test_the_printed_algorithm_takes_all_three_kinds_of_steps_in_these_tests():
    problem = l2(*clouds(1, 30, 30, 2, 1.0), chi=1000.0)
    kinds = {step.kind for step in naive_frank_wolfe(matrix_of(problem), problem.targets, 1e-5, 300)}
    assert kinds == {"", "add", "decrease", "drop"}


@BOTH
@pytest.mark.parametrize("name", PROBLEMS)
def test_margin_bounds_bracket_the_exact_margin_at_every_yield(solver_class, name):
    problem = PROBLEMS[name]()
    margin = exact_margin(problem)
    epsilon = 1e-3 if solver_class is FrankWolfe else 0.1
    last = None
    for last in solver_class(epsilon=epsilon, max_iterations=200_000).iterates(problem, rng0()):
        coef, intercept = problem.checked(last.dual_coef, last.intercept)
        found = problem.certify(coef, intercept)
        assert found.margin_lower <= margin * (1 + 1e-6)
        assert found.margin_upper >= margin * (1 - 1e-6)
        assert last.working_set == np.count_nonzero(coef)
    assert last is not None
    assert last.done, last.info
    assert found.epsilon_plus <= epsilon * (1 + 1e-6) + 1e-9
    assert found.margin_upper <= margin / (1 - epsilon) * (1 + 1e-6)
    if solver_class is FrankWolfe:
        assert found.epsilon_minus <= epsilon * (1 + 1e-6) + 1e-9
    assert last.info["drift"] < 1e-8


@BOTH
@pytest.mark.parametrize("name", PROBLEMS)
def test_iterations_and_core_set_stay_within_the_paper_s_bounds(solver_class, name):
    problem = PROBLEMS[name]()
    with uncounted(problem.kernel):
        delta = delta_of(problem.kernel, problem.targets > 0)
    assert delta <= delta_bound(problem.kernel.diagonal(), problem.targets > 0) * (1 + 1e-12)
    psi_star = 0.5 * exact_margin(problem) ** 2
    assert psi_star <= delta * (1 + 1e-6)
    for epsilon in (0.6, 0.1, 0.01):
        outcome = drive(solver_class(epsilon=epsilon), problem, rng0())
        bound = iteration_bound(max(delta, psi_star), psi_star, epsilon)
        assert outcome.iterations <= bound
        assert np.count_nonzero(outcome.dual_coef) <= core_set_bound(max(delta, psi_star), psi_star, epsilon)
        assert outcome.info["iteration_bound"] >= bound * (1 - 1e-6)


def test_delta_is_half_the_largest_squared_distance_between_the_classes(monkeypatch):
    x, y = clouds(0, 13, 17, 3, 1.0)
    farthest = max(np.sum((p - q) ** 2) for p in x[y > 0] for q in x[y < 0])
    monkeypatch.setattr("harness_fw.bounds._BLOCK_VALUES", 50)
    assert delta_of(KernelOracle(Linear(), x), y > 0) == pytest.approx(0.5 * farthest)


def test_the_iteration_bound_is_formula_29():
    assert iteration_bound(1.0, 1.0, 0.5) == 2.0
    assert iteration_bound(np.e, 1.0, 0.9) == pytest.approx(2.0 + 10.0 * np.e)
    assert iteration_bound(np.e, 1.0, 0.01) == pytest.approx(6.0 + 10.0 * np.e + 3200.0 * np.e)
    assert iteration_bound(1.0, 0.0, 0.1) == np.inf
    assert core_set_bound(1.0, 1.0, 0.5) == 6.0


def test_the_core_set_holds_the_margin_of_all_points():
    problem = l2(*clouds(0, 60, 60, 2, 1.0))
    outcome = drive(FrankWolfe(epsilon=0.05), problem, rng0())
    core = problem.restrict(np.flatnonzero(outcome.dual_coef))
    ratio = exact_margin(problem) / exact_margin(core)
    assert 1 - 0.05 <= ratio <= 1 + 1e-8


@BOTH
def test_each_row_is_computed_once_while_memory_lasts(solver_class):
    problem = l2(*clouds(0, 60, 90, 3, 1.0))
    drive(solver_class(epsilon=1e-2), problem, rng0())
    n, evaluations = problem.n, problem.kernel.counter.evaluations
    asked = 0
    for step in naive_frank_wolfe(matrix_of(problem), problem.targets, 1e-2, 10**6, solver_class is FrankWolfe):
        asked = np.union1d(asked, np.flatnonzero(np.concatenate([step.u, step.v])))
    assert evaluations % n == 0
    # the diagonal, the row of p^1, and one row for every point that ever had a weight
    assert evaluations <= n * (2 + len(asked))
    assert evaluations >= n * len(asked) - n


@BOTH
@pytest.mark.parametrize("cache_mb", [1e-9, 0.005, 256.0])
def test_an_iteration_costs_two_rows_at_most(solver_class, cache_mb):
    problem = l2(*clouds(0, 60, 90, 3, 1.0))
    n, counter = problem.n, problem.kernel.counter
    for found in solver_class(epsilon=1e-3, cache_mb=cache_mb, refresh=10**9, max_iterations=500).iterates(
        problem, rng0()
    ):
        if not found.done:  # the end is judged by scores from scratch
            assert counter.evaluations <= n * (4 + 2 * found.step)


def test_a_small_memory_changes_the_counts_and_not_the_iterates():
    x, y = clouds(0, 60, 90, 3, 1.0)
    matrix = matrix_of(l2(x, y))
    outcomes = []
    for cache_mb in (1e-9, 0.02, 256.0):
        problem = HardMargin.build(KernelOracle(Precomputed(), matrix), y)
        outcomes.append((drive(FrankWolfe(cache_mb=cache_mb), problem, rng0()), problem.kernel.counter.evaluations))
    small, middle, large = outcomes
    assert small[1] > middle[1] > large[1]
    for outcome, _ in (small, middle):
        assert outcome.iterations == large[0].iterations
        np.testing.assert_allclose(outcome.dual_coef, large[0].dual_coef, atol=1e-12)


@BOTH
def test_refreshing_often_changes_nothing_but_rounding(solver_class):
    x, y = clouds(0, 40, 60, 3, 1.0)
    rare, often = (drive(solver_class(epsilon=0.01, refresh=r), l2(x, y), rng0()) for r in (10**9, 7))
    assert rare.iterations == often.iterations
    np.testing.assert_allclose(rare.dual_coef, often.dual_coef, atol=1e-11)
    assert 0.0 < rare.info["drift"] < 1e-10


def test_gilbert_takes_add_steps_only_and_needs_more_of_them():
    x, y = clouds(1, 30, 30, 2, 1.0)
    gilbert, fw = (drive(c(epsilon=1e-3), l2(x, y), rng0()) for c in (Gilbert, FrankWolfe))
    assert gilbert.info["decrease"] == gilbert.info["drop"] == 0
    assert gilbert.info["add"] == gilbert.iterations > fw.iterations
    assert fw.info["add"] + fw.info["decrease"] + fw.info["drop"] == fw.iterations


def test_away_steps_converge_linearly():
    x, y = clouds(1, 30, 30, 2, 1.0)
    taken = [drive(FrankWolfe(epsilon=e), l2(x, y), rng0()).iterations for e in (1e-4, 1e-6, 1e-8)]
    assert taken[2] - taken[1] < 2 * (taken[1] - taken[0]) + 50


@BOTH
@pytest.mark.parametrize(
    "make",
    [
        lambda: hard(*clouds(0, 30, 30, 2, 0.5)),  # overlapping
        lambda: hard(np.ones((2, 2)), np.array([1.0, -1.0])),  # equal points
        lambda: hard(np.zeros((3, 2)), np.array([1.0, -1.0, -1.0])),  # all at the origin
        lambda: hard(np.array([[0.0], [1.0], [2.0]]), np.array([1.0, -1.0, 1.0])),  # inside
    ],
)
def test_hulls_that_meet_end_the_run_and_say_so(solver_class, make):
    problem = make()
    outcome = drive(solver_class(max_iterations=300_000), problem, rng0())
    assert not outcome.claimed_done
    assert outcome.info["status"] == "hulls intersect"
    assert outcome.info["norm"] <= solver_class().touching * problem.largest_diagonal() ** 0.5
    assert "|w|" in outcome.info["stopped"]
    assert np.isfinite(outcome.dual_coef).all()


@pytest.mark.parametrize("refresh", [7, 5000])
@pytest.mark.parametrize("seed", range(3))
def test_an_accuracy_beyond_rounding_ends(seed, refresh):
    outcome = drive(
        FrankWolfe(epsilon=1e-300, refresh=refresh), l2(*clouds(seed, 20, 20, 2, 1.0)), rng0(), Limits(seconds=20)
    )
    assert outcome.status == ("ok" if outcome.claimed_done else "unfinished")
    assert outcome.claimed_done or outcome.info["status"] == "stalled"
    assert outcome.info["epsilon"] < 1e-10


def test_the_iteration_limit_ends_the_run():
    problem = l2(*clouds(0, 40, 60, 3, 1.0))
    outcome = drive(FrankWolfe(epsilon=1e-9, max_iterations=37), problem, rng0())
    assert outcome.iterations == 37
    assert not outcome.claimed_done
    assert outcome.info["status"] == "max_iterations"


@pytest.mark.parametrize("stride", [1, 7])
def test_a_stride_bounds_the_iterations_between_two_yields(stride):
    problem = l2(*clouds(0, 40, 60, 3, 1.0))
    found = [(each.step, each.dual_coef.copy()) for each in FrankWolfe(stride=stride).iterates(problem, rng0())]
    steps = [step for step, _ in found]
    assert max(np.diff(steps)) == stride
    assert steps == sorted(steps)
    alone = drive(FrankWolfe(), l2(*clouds(0, 40, 60, 3, 1.0)), rng0())
    assert steps[-1] == alone.iterations > 100
    np.testing.assert_allclose(found[-1][1], alone.dual_coef, atol=1e-12)


def test_a_target_gap_sets_epsilon_to_half_of_it():
    assert FrankWolfe().with_target_gap(1e-4).epsilon == 5e-5
    problem = l2(*clouds(0, 40, 60, 3, 1.0))
    outcome = drive(FrankWolfe().with_target_gap(1e-3), problem, rng0())
    assert problem.certify(outcome.dual_coef, outcome.intercept).relative_gap <= 1e-3


@pytest.mark.parametrize("change", [{"epsilon": 0.0}, {"epsilon": 1.0}, {"refresh": 0}, {"cache_mb": -1.0}])
def test_parameters_out_of_range_are_refused(change):
    with pytest.raises(UsageError, match=next(iter(change))):
        FrankWolfe(**change)


@BOTH
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(data=st.data())
def test_labels_order_and_scale_do_not_matter(solver_class, data):
    seed = data.draw(st.integers(0, 10**6))
    n_plus, n_minus = data.draw(st.integers(1, 12)), data.draw(st.integers(1, 12))
    x, y = clouds(seed, n_plus, n_minus, 3, 1.0)
    epsilon = 1e-2
    base = drive(solver_class(epsilon=epsilon), l2(x, y, chi=10.0), rng0())
    margin = base.info["norm"]

    def close(other, scale=1.0):
        # both are within epsilon of the one optimum; so is everything that follows from it
        assert other.claimed_done
        assert (1 - 2 * epsilon) * scale * margin <= other.info["norm"] <= scale * margin / (1 - 2 * epsilon)

    close(drive(solver_class(epsilon=epsilon), l2(x, -y, chi=10.0), rng0()))
    order = np.random.default_rng(seed).permutation(len(y))
    close(drive(solver_class(epsilon=epsilon), l2(x[order], y[order], chi=10.0), rng0()))
    # k -> 4 k, ridge included: every step is the same, powers of two round nothing
    matrix = 4.0 * matrix_of(l2(x, y, chi=10.0))
    scaled = drive(solver_class(epsilon=epsilon), HardMargin.build(KernelOracle(Precomputed(), matrix), y), rng0())
    close(scaled, 2.0)
    np.testing.assert_allclose(scaled.dual_coef, base.dual_coef, atol=1e-9)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(data=st.data())
def test_random_small_problems_with_ties_reach_the_exact_margin(data):
    n = data.draw(st.integers(2, 14))
    numbers = data.draw(st.lists(st.integers(-2, 2), min_size=2 * n, max_size=2 * n))
    labels = data.draw(st.lists(st.sampled_from([-1.0, 1.0]), min_size=n, max_size=n))
    y = np.array(labels)
    y[0], y[1] = 1.0, -1.0
    problem = l2(
        np.array(numbers, dtype=float).reshape(n, 2), y, Linear(), chi=data.draw(st.sampled_from([0.1, 10.0, 1e3]))
    )
    margin = exact_margin(problem)
    outcome = drive(FrankWolfe(epsilon=1e-4), problem, rng0())
    assert outcome.claimed_done
    assert problem.feasibility_violation(outcome.dual_coef) < 1e-12
    assert margin * (1 - 1e-6) <= outcome.info["norm"] <= margin * (1 + 2e-4)


@BOTH
def test_two_runs_give_the_same_bits(solver_class):
    x, y = clouds(0, 40, 60, 3, 1.0)
    first, second = (drive(solver_class(epsilon=0.01), l2(x, y), np.random.default_rng(seed)) for seed in (1, 2))
    np.testing.assert_array_equal(first.dual_coef, second.dual_coef)
    assert first.intercept == second.intercept
    assert first.info == second.info


def test_dense_sparse_and_precomputed_data_give_the_same_model():
    x, y = clouds(0, 40, 60, 3, 1.0)
    x[np.abs(x) < 0.5] = 0.0
    dense = drive(FrankWolfe(), l2(x, y), rng0())
    sparse = drive(FrankWolfe(), l2(scipy.sparse.csr_array(x), y), rng0())
    values = np.array(KernelOracle(RBF(gamma=0.5), x).block(np.arange(len(y))))
    precomputed = drive(FrankWolfe(), l2(values, y, Precomputed()), rng0())
    for other in (sparse, precomputed):
        np.testing.assert_allclose(other.dual_coef, dense.dual_coef, atol=1e-6)
        assert other.info["norm"] == pytest.approx(dense.info["norm"], rel=1e-9)


def test_the_model_separates_and_its_threshold_is_in_the_middle():
    x, y = clouds(7, 20, 25, 3, 9.0)
    problem = hard(x, y)
    outcome = drive(FrankWolfe(), problem, rng0())
    scores = problem.kernel.expand(outcome.dual_coef) + outcome.intercept
    assert (y * scores > 0).all()
    assert scores[y > 0].min() == pytest.approx(-scores[y < 0].max(), rel=1e-6)


def test_the_budget_stops_a_run_at_a_yield():
    problem = l2(*clouds(3, 700, 900, 4, 1.0), chi=1000.0)
    outcome = drive(Gilbert(epsilon=1e-9), problem, rng0(), Limits(seconds=0.2), TracePlan())
    assert outcome.status == "budget"
    assert outcome.seconds < 1.0
    assert len(outcome.trace) > 3
    assert problem.feasibility_violation(outcome.dual_coef) < 1e-10


def test_the_registry_finds_both_solvers():
    assert type(get_solver("fw")) is FrankWolfe
    assert type(get_solver("gilbert")) is Gilbert


def test_importing_the_plugin_does_not_load_the_compiler():
    code = "import harness_fw, sys; assert 'numba' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("name", ["fw", "gilbert", "fw-pairwise", "mdm", "nearest-point"])
@pytest.mark.parametrize("kernel", [RBF(gamma=0.5), Linear()])
def test_a_run_that_starts_at_a_solution_is_done_at_once(name, kernel):
    """Its first model is the start; of a neighbouring problem's solution fewer iterations are left."""
    solver = get_solver(name).replaced(epsilon=1e-2)
    before, problem = (l2(*clouds(0, 30, 40, 3, 1.5), kernel, chi=chi) for chi in (5.0, 10.0))
    cold = drive(solver, problem, rng0())
    again = list(solver.iterates_from(l2(*clouds(0, 30, 40, 3, 1.5), kernel, chi=10.0), rng0(), cold.dual_coef))
    assert again[-1].done
    assert len(again) == 1
    np.testing.assert_allclose(again[0].dual_coef, cold.dual_coef, atol=1e-12)
    start = drive(solver, before, rng0()).dual_coef
    *_, last = solver.iterates_from(problem, rng0(), start)
    problem.checked(last.dual_coef, last.intercept)
    assert problem.certify(last.dual_coef, last.intercept).relative_gap <= 2.5e-2
    assert last.step <= cold.iterations
