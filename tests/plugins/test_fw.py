"""Frank-Wolfe with away steps and Gilbert: the printed algorithm, the margin, the paper's bounds, the counts."""

from __future__ import annotations

import numpy as np
import pytest
from harness_fw import FrankWolfe, Gilbert, core_set_bound, delta_bound, delta_of, iteration_bound
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness import RBF, KernelOracle, Limits, Linear, Precomputed, drive, get_solver
from harness.kernels.oracle import uncounted
from harness.problems import HardMargin
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


@BOTH
@pytest.mark.parametrize(
    "name", ["overlapping clouds", "large chi", "separable linear", "nearly touching", "two points"]
)
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


def test_the_iteration_bound_is_formula_29():
    assert iteration_bound(1.0, 1.0, 0.5) == 2.0
    assert iteration_bound(np.e, 1.0, 0.9) == pytest.approx(2.0 + 10.0 * np.e)
    assert iteration_bound(np.e, 1.0, 0.01) == pytest.approx(6.0 + 10.0 * np.e + 3200.0 * np.e)
    assert iteration_bound(1.0, 0.0, 0.1) == np.inf
    assert core_set_bound(1.0, 1.0, 0.5) == 6.0


@pytest.mark.parametrize("refresh", [7, 5000])
def test_an_accuracy_beyond_rounding_ends(refresh):
    outcome = drive(
        FrankWolfe(epsilon=1e-300, refresh=refresh), l2(*clouds(1, 20, 20, 2, 1.0)), rng0(), Limits(seconds=20)
    )
    assert outcome.status == ("ok" if outcome.claimed_done else "unfinished")
    assert outcome.claimed_done or outcome.info["status"] == "stalled"
    assert outcome.info["epsilon"] < 1e-10


def test_a_stride_bounds_the_iterations_between_two_yields():
    stride = 7
    problem = l2(*clouds(0, 40, 60, 3, 1.0))
    found = [(each.step, each.dual_coef.copy()) for each in FrankWolfe(stride=stride).iterates(problem, rng0())]
    steps = [step for step, _ in found]
    assert max(np.diff(steps)) == stride
    assert steps == sorted(steps)
    alone = drive(FrankWolfe(), l2(*clouds(0, 40, 60, 3, 1.0)), rng0())
    assert steps[-1] == alone.iterations > 100
    np.testing.assert_allclose(found[-1][1], alone.dual_coef, atol=1e-12)


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


@pytest.mark.parametrize("name", ["fw", "nearest-point"])
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
