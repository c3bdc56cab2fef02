"""The core vector machine: its ball against an explicit one, its rounds, the sample, the stopping rules."""

from __future__ import annotations

import numpy as np
import pytest
from harness_fw import CoreVectorMachine

from harness import (
    Limits,
    Linear,
    drive,
)
from tests.plugins.hull_problems import PROBLEMS, clouds, exact_margin, hard, l2, matrix_of, rng0
from tests.plugins.naive_core_set import enclosing_ball, naive_rounds

WAYS = pytest.mark.parametrize("sample", [0, 3])


def signed_matrix(problem):
    return matrix_of(problem) * np.outer(problem.targets, problem.targets)


def differences(problem, x):
    """Return all p - q with the coordinate that makes them equally long, and eta."""
    eta = sum(np.sqrt((x[problem.targets == label] ** 2).sum(axis=1).max()) for label in (1, -1)) ** 2
    p, q = x[problem.targets > 0], x[problem.targets < 0]
    z = (p[:, None, :] - q[None, :, :]).reshape(-1, x.shape[1])
    return np.column_stack([z, np.sqrt(np.maximum(eta - (z**2).sum(axis=1), 0.0))]), eta


@WAYS
@pytest.mark.parametrize("seed", range(1))
def test_the_ball_is_the_smallest_around_the_lifted_differences(sample, seed):
    x, y = clouds(seed, 6, 7, 3, 4.0)
    problem = hard(x, y)
    lifted, eta = differences(problem, x)
    radius, centre = enclosing_ball(lifted)
    outcome = drive(CoreVectorMachine(epsilon=1e-9, sample=sample), problem, rng0())
    assert outcome.claimed_done
    assert outcome.info["radius"] == pytest.approx(radius, rel=1e-6)
    assert outcome.info["norm"] ** 2 + outcome.info["radius"] ** 2 == pytest.approx(eta, rel=1e-12)
    w = x.T @ outcome.dual_coef
    np.testing.assert_allclose(centre, [*w, 0.0], atol=2e-3 * radius)
    farthest = np.sqrt(((lifted - np.append(w, 0.0)) ** 2).sum(axis=1).max())
    assert farthest <= outcome.info["radius"] * (1 + 1e-9)


@pytest.mark.parametrize("epsilon", [0.3, 0.05, 1e-3])
def test_it_stops_as_soon_as_no_point_is_outside_the_larger_ball(epsilon):
    x, y = clouds(1, 25, 30, 3, 4.0)
    problem = hard(x, y)
    lifted, _ = differences(problem, x)
    for found in CoreVectorMachine(epsilon=epsilon, sample=0).iterates(problem, rng0()):
        centre = np.append(x.T @ found.dual_coef, 0.0)
        farthest = np.sqrt(((lifted - centre) ** 2).sum(axis=1).max())
        assert found.info["epsilon_ball"] == pytest.approx(farthest / found.info["radius"] - 1.0, abs=1e-9)
        assert found.done == (farthest <= (1 + epsilon) * found.info["radius"] * (1 + 1e-12))
    assert found.done


@pytest.mark.parametrize("name", ["overlapping clouds", "linear l2", "hard margin rbf", "separable linear"])
def test_with_the_full_search_its_rounds_are_those_of_the_slow_twin(name, monkeypatch):
    monkeypatch.setattr("harness_fw.cvm.INNER", 1e-6)  # exact, as the twin is
    problem = PROBLEMS[name]()
    expected = naive_rounds(signed_matrix(problem), (problem.targets < 0).astype(int), 1e-4, 60, drop=False)
    found = [
        (each.working_set, each.info["norm"], each.info["support"])
        for each in CoreVectorMachine(gap=2e-4, sample=0).iterates(problem, rng0())
    ]
    assert [core for core, _, _ in found] == [len(core) for core, _ in expected]
    np.testing.assert_allclose([norm for _, norm, _ in found], [norm for _, norm in expected], rtol=1e-5)
    assert all(support <= core for core, _, support in found)


@WAYS
@pytest.mark.parametrize("name", PROBLEMS)
def test_margin_bounds_bracket_the_exact_margin_and_a_gap_is_reached(sample, name):
    problem = PROBLEMS[name]()
    margin = exact_margin(problem)
    last, core = None, 0
    for last in CoreVectorMachine(sample=sample).with_target_gap(1e-4).iterates(problem, rng0()):
        coef, intercept = problem.checked(last.dual_coef, last.intercept)
        found = problem.certify(coef, intercept)
        assert found.margin_lower <= margin * (1 + 1e-6)
        assert found.margin_upper >= margin * (1 - 1e-6)
        assert core <= last.working_set  # nothing leaves
        core = last.working_set
        assert np.count_nonzero(coef) == last.info["support"] <= core
    assert last is not None
    assert last.done
    assert found.relative_gap <= 1e-4 * (1 + 1e-6)
    assert last.info["epsilon_plus"] == pytest.approx(found.epsilon_plus, abs=1e-9)
    assert last.info["searches"] >= 1


def test_a_sample_needs_few_full_searches():
    x, y = clouds(0, 2000, 2000, 2, 6.0)
    sampled, full = (l2(x, y, Linear(), cache_mb=1e-9) for _ in range(2))
    one = drive(CoreVectorMachine(gap=0.05), sampled, rng0(), Limits(seconds=60))
    other = drive(CoreVectorMachine(gap=0.05, sample=0), full, rng0(), Limits(seconds=60))
    assert one.claimed_done
    assert other.claimed_done
    assert one.info["searches"] * 3 < one.iterations
    assert other.info["searches"] == other.iterations + 1
    assert sampled.kernel.counter.evaluations * 3 < full.kernel.counter.evaluations


def test_without_verification_the_number_of_points_hardly_matters():
    counts = []
    for n in (1000, 8000):
        x, y = clouds(0, n, n, 2, 6.0)
        problem = l2(x, y, Linear())
        outcome = drive(CoreVectorMachine(gap=0.05, verify=False), problem, rng0(), Limits(seconds=60))
        assert outcome.claimed_done
        assert outcome.info["searches"] == 0
        counts.append(problem.kernel.counter.evaluations - 3 * 2 * n)  # less the diagonal and the start
    assert counts[1] < 3 * counts[0]


def test_kernel_values_of_a_sampled_run_are_counted_to_the_last():
    problem = l2(*clouds(2, 200, 300, 2, 1.0), chi=1.0)
    n, members, searches, spent = problem.n, 0, 0, 0
    for found in CoreVectorMachine(gap=0.1, sample=10).iterates(problem, rng0()):
        core, searched = found.working_set, found.info["searches"] - searches
        # new points with all members, 20 drawn with all members, and where all points are searched, n with the support
        allowed = (core - members) * core + 20 * core + searched * n * core + (0 if members else 3 * n)
        assert problem.kernel.counter.evaluations - spent <= allowed
        spent, members, searches = problem.kernel.counter.evaluations, core, found.info["searches"]
    assert found.done
    assert searches < found.step


@WAYS
@pytest.mark.parametrize(
    "make",
    [
        lambda: hard(*clouds(0, 30, 30, 2, 0.5)),
        lambda: hard(np.ones((2, 2)), np.array([1.0, -1.0])),
        lambda: hard(np.zeros((3, 2)), np.array([1.0, -1.0, -1.0])),
        lambda: hard(np.array([[0.0], [1.0], [2.0]]), np.array([1.0, -1.0, 1.0])),
    ],
)
def test_hulls_that_meet_end_the_run_and_say_so(make, sample):
    outcome = drive(CoreVectorMachine(sample=sample, gap=1e-4), make(), rng0(), Limits(seconds=20))
    assert not outcome.claimed_done
    assert outcome.info["status"] == "hulls intersect"
    assert outcome.info["norm"] <= 1e-6
    assert "|w|" in outcome.info["stopped"]
