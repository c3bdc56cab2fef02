"""Newton's method on l2-svc: w itself, and coordinates along pivots where the kernel is not linear, against slow twins."""

from __future__ import annotations

import numpy as np
import pytest
from harness_fw import NewtonFrankWolfe, newton, pivots
from harness_fw.pivots import Coordinates, Pivots
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import RBF, Limits, Linear, drive
from tests.plugins.common import matrix_of
from tests.plugins.hull_problems import clouds, exact_margin, l2, opposite_duplicates, rng0

LINEAR = {
    "overlapping": lambda: l2(*clouds(0, 25, 35, 3, 1.0), Linear()),
    "large chi": lambda: l2(*clouds(2, 20, 30, 2, 1.0), Linear(), chi=1e4),
    "separable, large chi": lambda: l2(*clouds(7, 20, 25, 3, 9.0), Linear(), chi=1e5),
    "equal points": lambda: l2(np.ones((2, 3)), np.array([1.0, -1.0]), Linear()),
    "opposite duplicates": lambda: opposite_duplicates(Linear()),
    "far from the origin": lambda: l2(clouds(12, 10, 10, 2, 2.0)[0] + 50.0, clouds(12, 10, 10, 2, 2.0)[1], Linear()),
    "more features than points": lambda: l2(*clouds(5, 9, 7, 40, 2.0), Linear()),
}


@pytest.mark.parametrize("direct", [True, False])
@pytest.mark.parametrize("name", LINEAR)
def test_the_margin_is_the_exact_one(name, direct, monkeypatch):
    monkeypatch.setattr(newton, "_DIRECT", 10**6 if direct else 0)
    problem = LINEAR[name]()
    outcome = drive(NewtonFrankWolfe(epsilon=1e-7), problem, rng0())
    assert (outcome.claimed_done, outcome.info["gradients" if direct else "systems"]) == (True, 0)
    found, margin = problem.certify(outcome.dual_coef, outcome.intercept), exact_margin(problem)
    assert found.feasibility_violation < 1e-12
    assert found.epsilon_plus <= 1.01e-7
    epsilons = outcome.info["epsilon_plus"], outcome.info["epsilon_minus"]
    assert epsilons == pytest.approx((found.epsilon_plus, found.epsilon_minus), abs=1e-9)
    assert found.margin_lower * (1 - 1e-6) <= margin == pytest.approx(found.margin_upper, rel=1e-6)


def test_a_separating_w_without_slack_is_shortened():
    x, y = clouds(7, 20, 25, 3, 9.0)
    problem = l2(x, y, Linear())
    rounds = newton.Rounds(problem.kernel.features(), problem.targets)
    rounds.start(1e3 * (x.T @ drive(NewtonFrankWolfe(epsilon=1e-9), problem, rng0()).dual_coef), 0.0)
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

    bias, slack = newton.balance(y, products, float(rng.normal()))
    np.testing.assert_allclose(slack, np.maximum(0.0, 1.0 - y * (products + bias)), atol=1e-14)
    assert abs(y @ slack) <= 1e-9 * max(1.0, slack.sum())
    assert loss(bias) <= min(loss(bias + shift) for shift in (-0.1, -1e-3, 1e-3, 0.1)) + 1e-12

    change, straight, bent = rng.normal(size=n), float(rng.normal()), float(rng.uniform(0.1, 4.0))

    def slope(t):
        return straight + bent * t - float(np.maximum(0.0, 1.0 - y * (products + t * change)) @ (y * change))

    def derivative(t):
        active = 1.0 - y * (products + t * change) > 0.0
        return slope(t), bent + change[active] @ change[active], abs(slope(0.0))

    if slope(0.0) < 0.0:
        step = newton.root(derivative, 1.0, 0.0, 1.0, 1e-9)
        assert 0.0 < step <= 1.0
        assert slope(step) <= -1e-9 * slope(0.0)
        assert step == 1.0 or slope(step) >= 1e-9 * slope(0.0)


def plane(n=400, gamma=0.5, chi=10.0):
    """Two clouds in the plane, whose kernel matrix has few large eigenvalues."""
    return l2(*clouds(3, n // 2, n - n // 2, 2, 2.0), RBF(gamma=gamma), chi=chi)


def naive_pivots(matrix, tolerance):
    """Return the pivots in their order and what remains of the matrix: one Schur complement after another."""
    rest, chosen = matrix.copy(), []
    while np.max(rest.diagonal()) > tolerance:
        p = int(np.argmax(rest.diagonal()))
        rest = rest - np.outer(rest[:, p], rest[p]) / rest[p, p]
        rest[p], rest[:, p] = 0.0, 0.0
        chosen.append(p)
    return chosen, rest


@pytest.mark.parametrize("tolerance", [0.05, 1e-2, 1e-5])
def test_pivots_and_what_they_leave_are_those_of_the_slow_twin(tolerance):
    problem = plane(60)
    matrix = matrix_of(problem) - problem.kernel.ridge * np.eye(60)
    chosen, rest = naive_pivots(matrix, tolerance)
    found = Pivots(problem.kernel, np.arange(60), 60)
    before = list(found.index)
    found.grow(tolerance)
    assert list(found.index) == chosen
    assert list(found.index[: len(before)]) == before  # the earlier ones stay the first
    assert found.residual == pytest.approx(rest.diagonal().max(), rel=1e-6)
    z = Coordinates(found, problem.kernel.ridge).rows(np.arange(60))
    np.testing.assert_allclose(z @ z.T, matrix - rest, atol=1e-9)


def test_coordinates_of_a_part_are_those_of_its_points_and_counted():
    kernel, part = plane(80).kernel, np.array([7, 3, 50, 64, 11])
    found = Pivots(kernel, np.arange(0, 80, 2), 80)
    whole, some = Coordinates(found, 0.1), Coordinates(found, 0.1, part)
    z, d, coef = whole.rows(part), whole.d, rng0().normal(size=5)
    np.testing.assert_array_equal(some.rows(np.arange(5)), z)
    before, w = kernel.counter.evaluations, rng0().normal(size=d)
    np.testing.assert_allclose(some.scores(w), z @ w, atol=1e-10)
    np.testing.assert_allclose(some.add(np.arange(5), coef, np.ones(d)), 1.0 + coef @ z, atol=1e-10)
    assert kernel.counter.evaluations == before + 2 * 5 * d


def test_no_pivot_beyond_rounding_or_the_limit():
    same = l2(np.repeat(np.eye(3), 5, axis=0), np.tile([1.0, -1.0, 1.0], 5))
    found = Pivots(same.kernel, np.arange(15), 15)
    found.grow(0.0)
    limited = Pivots(plane(60).kernel, np.arange(60), 4)
    limited.grow(0.0)
    assert (found.exhausted, len(found.index), limited.exhausted, len(limited.index)) == (True, 3, True, 4)
    assert limited.residual > 1e-3
    many = Pivots(plane(400).kernel, np.arange(400), 400)
    many.grow(0.0)
    assert 50 < len(many.index) == len(set(many.index)) < 300


def test_first_rounds_on_a_part_lead_to_the_same_model(monkeypatch):
    problem = plane(600, chi=100.0)
    alone = drive(NewtonFrankWolfe(epsilon=1e-7), problem, rng0())
    monkeypatch.setattr(newton, "_MANY", 600)
    looked = []
    for found in NewtonFrankWolfe(epsilon=1e-7).iterates(problem, rng0()):
        assert problem.feasibility_violation(found.dual_coef) < 1e-12
        assert found.working_set == np.count_nonzero(found.dual_coef) <= found.info["points"]
        looked.append((found.info["points"], found.step))
    assert found.done
    assert {points for points, _ in looked} == {600, 38}  # a sixteenth of either class, rounded up
    assert looked == sorted(looked)
    np.testing.assert_allclose(found.dual_coef, alone.dual_coef, atol=1e-7)


def test_pivots_of_a_sample_that_misses_a_cluster_are_not_taken_on_trust(monkeypatch):
    x, y = clouds(3, 100, 100, 2, 2.0)
    x[:20] += 40.0  # a cluster without a pivot has no coordinates, and <w, phi(x)> = 0 there
    problem = l2(x, y, RBF(gamma=0.5))
    found = Pivots(problem.kernel, np.arange(20, 200), 180)
    monkeypatch.setattr(Pivots, "of", lambda kernel, rng: found)
    outcome = drive(NewtonFrankWolfe(epsilon=1e-6), problem, rng0(), Limits(time_limit=60))
    assert outcome.claimed_done
    assert outcome.info["exact_checks"] >= 2  # the first said no
    assert (found.index < 20).any()
    certificate = problem.certify(outcome.dual_coef, outcome.intercept)
    assert max(certificate.epsilon_plus, certificate.epsilon_minus) <= 1.01e-6


@pytest.mark.parametrize("cache_mb", [256.0, 0.1], ids=["by a factor", "by gradients"])
@pytest.mark.parametrize("many", [100, 1000])
@pytest.mark.parametrize(("gamma", "chi", "flipped"), [(2.0, 10.0, 0.0), (0.1, 1.0, 0.2), (0.1, 100.0, 0.1)])
def test_a_kernel_of_too_many_dimensions_goes_on_without_pivots(gamma, chi, flipped, many, cache_mb, monkeypatch):
    monkeypatch.setattr(pivots, "_MOST", 30)
    monkeypatch.setattr(newton, "_MANY", many)
    x, y = clouds(0, 150, 150, 8, 1.0)
    y = np.where(rng0().random(300) < flipped, -y, y)
    problem = l2(x, y, RBF(gamma=gamma), chi, cache_mb=cache_mb)
    outcome = drive(NewtonFrankWolfe().with_target_gap(1e-3), problem, rng0())
    assert (outcome.claimed_done, "pivots" in outcome.info) == (True, False), "they were given up"
    found = problem.certify(outcome.dual_coef, outcome.intercept)
    assert found.relative_gap <= 1e-3
    assert outcome.info["epsilon_plus"] == pytest.approx(found.epsilon_plus, abs=1e-9)
