"""Newton's method on linear l2-svc: the exact optimum on hard little problems, steps and biases against slow twins."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
from harness_fw import NewtonFrankWolfe, newton
from harness_fw import newton_hot as hot
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import L2SVC, KernelOracle, Linear, drive
from tests.plugins.hull_problems import clouds, exact_margin, rng0


def l2(x, y, chi=10.0):
    return L2SVC.build(KernelOracle(Linear(), x), y, {"chi": chi})


def rounds_of(problem):
    return newton.Rounds(problem.kernel.features(), problem.targets)


def collinear():
    return np.outer(np.arange(12.0), [1.0, 2.0, -0.5]), np.where(np.arange(12) > 6, 1.0, -1.0)


def opposite_duplicates():
    x, y = clouds(4, 10, 10, 2, 1.0)
    return np.vstack([x, x]), np.concatenate([y, -y])


PROBLEMS = {
    "overlapping": lambda: l2(*clouds(0, 25, 35, 3, 1.0)),
    "small chi": lambda: l2(*clouds(1, 20, 30, 2, 1.0), chi=0.01),
    "large chi": lambda: l2(*clouds(2, 20, 30, 2, 1.0), chi=1e4),
    "separable, large chi": lambda: l2(*clouds(7, 20, 25, 3, 9.0), chi=1e5),
    "one positive": lambda: l2(*clouds(10, 1, 40, 3, 2.0)),
    "two points": lambda: l2(np.array([[0.0, 1.0], [3.0, 5.0]]), np.array([-1.0, 1.0])),
    "equal points": lambda: l2(np.ones((2, 3)), np.array([1.0, -1.0])),
    "all at the origin": lambda: l2(np.zeros((5, 2)), np.array([1.0, -1.0, -1.0, 1.0, 1.0])),
    "duplicates": lambda: l2(
        np.repeat(clouds(3, 8, 9, 2, 1.0)[0], 3, axis=0), np.repeat(clouds(3, 8, 9, 2, 1.0)[1], 3)
    ),
    "opposite duplicates": lambda: l2(*opposite_duplicates(), chi=5.0),
    "collinear": lambda: l2(*collinear(), chi=100.0),
    "far from the origin": lambda: l2(clouds(12, 10, 10, 2, 2.0)[0] + 50.0, clouds(12, 10, 10, 2, 2.0)[1]),
    "more features than points": lambda: l2(*clouds(5, 9, 7, 40, 2.0)),
}


@pytest.mark.parametrize("way", ["direct", "conjugate"])
@pytest.mark.parametrize("make", PROBLEMS.values(), ids=list(PROBLEMS))
def test_the_margin_is_the_exact_one(make, way, monkeypatch):
    monkeypatch.setattr(newton, "_DIRECT", 10**6 if way == "direct" else 0)
    problem = make()
    outcome = drive(NewtonFrankWolfe(epsilon=1e-7, max_iterations=300), problem, rng0())
    assert outcome.claimed_done
    assert outcome.info["gradients" if way == "direct" else "systems"] == 0
    certificate = problem.certify(outcome.dual_coef, outcome.intercept)
    margin = exact_margin(problem)
    assert certificate.feasibility_violation < 1e-12
    assert certificate.epsilon_plus <= 1.01e-7
    assert outcome.info["epsilon_plus"] == pytest.approx(certificate.epsilon_plus, abs=1e-9)
    assert outcome.info["epsilon_minus"] == pytest.approx(certificate.epsilon_minus, abs=1e-9)
    assert certificate.margin_lower <= margin * (1 + 1e-6)
    assert margin * (1 - 1e-6) <= certificate.margin_upper <= margin * (1 + 1e-6)


@pytest.mark.parametrize("storage", ["float32", "csr"])
def test_the_storage_of_the_points_does_not_matter(storage):
    x, y = clouds(0, 60, 50, 6, 1.5)
    x = np.where(np.abs(x) < 0.4, 0.0, x).astype(np.float32).astype(np.float64)
    stored = x.astype(np.float32) if storage == "float32" else scipy.sparse.csr_array(x)
    one, other = (drive(NewtonFrankWolfe(epsilon=1e-9), l2(each, y), rng0()) for each in (x, stored))
    assert one.claimed_done
    np.testing.assert_allclose(other.dual_coef, one.dual_coef, atol=1e-10)


def slow_objective(w, bias, x, y, chi):
    return 0.5 * w @ w + 0.5 * chi * sum(max(0.0, 1.0 - a * (w @ p + bias)) ** 2 for p, a in zip(x, y, strict=True))


def test_every_round_makes_the_objective_smaller_and_leaves_products_that_are_those_of_w():
    x, y = clouds(2, 40, 30, 4, 1.0)
    rounds = rounds_of(l2(x, y, chi=1e3))
    values = [slow_objective(rounds.w, rounds.bias, x, y, 1e3)]
    for _ in range(6):
        rounds.look()
        rounds.correct()
        np.testing.assert_allclose(rounds.products, x @ rounds.w, atol=1e-9)
        values.append(slow_objective(rounds.w, rounds.bias, x, y, 1e3))
    assert (np.diff(values) <= 1e-9 * values[0]).all()
    assert values[-1] < 0.85 * values[0]


def test_the_system_is_that_of_least_squares_over_the_core_set():
    x, y = clouds(2, 40, 30, 4, 1.0)
    rounds = rounds_of(l2(x, y, chi=3.0))
    rounds.look()
    rounds.support = np.arange(5, 50)
    part, sides = x[5:50], y[5:50]

    def objective(v):
        return 0.5 * v[:-1] @ v[:-1] + 1.5 * np.sum((sides - part @ v[:-1] - v[-1]) ** 2)

    expected = scipy.optimize.minimize(objective, np.zeros(5), tol=1e-12).x[:-1]
    np.testing.assert_allclose(rounds._direct(), expected, atol=1e-5)
    for _ in range(8):
        rounds.w = rounds._conjugate()
    np.testing.assert_allclose(rounds.w, rounds._direct(), atol=1e-6)


def test_a_separating_w_without_slack_is_shortened():
    x, y = clouds(7, 20, 25, 3, 9.0)
    problem = l2(x, y)
    rounds = rounds_of(problem)
    found = drive(NewtonFrankWolfe(epsilon=1e-9), problem, rng0())
    rounds.w = 1e3 * (x.T @ found.dual_coef)
    rounds.products = x @ rounds.w
    rounds.look()
    assert problem.feasibility_violation(rounds.coef) < 1e-12
    assert rounds.slack[y > 0].max() + rounds.slack[y < 0].max() == pytest.approx(1.0)
    np.testing.assert_allclose(rounds.products, x @ rounds.w, rtol=1e-12)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 30), ties=st.booleans())
def test_the_best_bias_and_step_are_those_of_a_slow_search(seed, n, ties):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    products = rng.integers(-3, 3, n).astype(float) if ties else 3.0 * rng.normal(size=n)

    def loss(b):
        return float(np.sum(np.maximum(0.0, 1.0 - y * (products + b)) ** 2))

    bias = hot.best_bias(y, products, float(rng.normal()))
    slack = np.empty(n)
    hot.slacks(y, products, bias, slack)
    np.testing.assert_allclose(slack, np.maximum(0.0, 1.0 - y * (products + bias)))
    assert abs(y @ slack) <= 1e-9 * max(1.0, slack.sum())
    assert loss(bias) <= min(loss(bias + shift) for shift in (-0.1, -1e-3, 1e-3, 0.1)) + 1e-12

    change, chi = rng.normal(size=n), 2.0
    straight, bent = float(rng.normal()), float(rng.uniform(0.1, 4.0))

    def along(t):
        return (
            straight * t + 0.5 * bent * t * t + 0.5 * chi * np.sum(np.maximum(0, 1 - y * (products + t * change)) ** 2)
        )

    slope = (along(1e-6) - along(-1e-6)) / 2e-6
    assert hot.slope_at(0.0, straight, bent, chi, y, products, change) == pytest.approx(slope, rel=1e-3, abs=1e-4)
    if slope < -1e-3:
        step = hot.best_step(straight, bent, chi, y, products, change)
        best = min(along(t) for t in np.linspace(0.0, 1.0, 2001))
        assert 0.0 < step <= 1.0
        assert along(step) <= best + 1e-6 * (along(0.0) - best) + 1e-12


def test_an_accuracy_beyond_rounding_ends():
    x, y = clouds(2, 400, 300, 4, 1.0)
    outcome = drive(NewtonFrankWolfe(epsilon=1e-300, max_iterations=1000), l2(x + 30.0, y, chi=1e4), rng0())
    assert outcome.claimed_done or outcome.info["status"] == "stalled"
    assert outcome.iterations < 100
    assert outcome.info["epsilon"] < 1e-6


def test_a_round_reads_every_point_twice_and_the_core_set_three_times():
    problem = l2(*clouds(2, 40, 30, 4, 1.0), chi=1e3)
    rounds = rounds_of(problem)
    rounds.look()
    support, before = len(rounds.support), problem.kernel.counter.evaluations
    rounds.correct()
    assert problem.kernel.counter.evaluations == before + 2 * support + problem.n
    rounds.look()
    assert problem.kernel.counter.evaluations == before + 2 * support + 2 * problem.n + len(rounds.support)
