"""Kernels in coordinates along pivots: the coordinates against a slow twin, and Newton's method on them."""

from __future__ import annotations

import numpy as np
import pytest
from harness_fw import NewtonFrankWolfe, newton, pivots
from harness_fw.pivots import Coordinates, Pivots

from harness import RBF, Limits, drive
from tests.plugins.hull_problems import PROBLEMS, clouds, exact_margin, l2, matrix_of, rng0


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


def test_scores_and_sums_are_those_of_the_coordinates():
    problem = plane(80)
    kernel = problem.kernel
    found = Pivots(kernel, np.arange(0, 80, 2), 80)
    found.grow(1e-3)
    part = np.array([7, 3, 50, 64, 11])
    for points, numbers in ((None, np.arange(80)), (part, np.arange(5))):
        coordinates = Coordinates(found, kernel.ridge, points)
        d, n = coordinates.d, coordinates.n
        z = coordinates.rows(numbers)
        assert z.shape == (n, d) == (len(numbers), len(found.index))
        w, coef = rng0().normal(size=d), rng0().normal(size=n)
        before = kernel.counter.evaluations
        out = np.empty(n)
        assert coordinates.scores(w, out) is out
        assert kernel.counter.evaluations == before + n * d
        np.testing.assert_allclose(out, z @ w, atol=1e-10)
        np.testing.assert_allclose(coordinates.scores(w), out)
        before, start = kernel.counter.evaluations, np.ones(d)
        np.testing.assert_allclose(
            coordinates.add(numbers[::2], coef[::2], start), 1.0 + coef[::2] @ z[::2], atol=1e-10
        )
        assert kernel.counter.evaluations == before + len(numbers[::2]) * d
    np.testing.assert_array_equal(z, Coordinates(found, kernel.ridge).rows(part))


def test_no_pivot_beyond_rounding_or_the_limit():
    same = l2(np.repeat(np.eye(3), 5, axis=0), np.tile([1.0, -1.0, 1.0], 5))
    found = Pivots(same.kernel, np.arange(15), 15)
    found.grow(0.0)
    assert found.exhausted
    assert len(found.index) == 3
    limited = Pivots(plane(60).kernel, np.arange(60), 4)
    limited.grow(0.0)
    assert limited.exhausted
    assert len(limited.index) == 4
    assert limited.residual > 1e-3
    many = Pivots(plane(400).kernel, np.arange(400), 400)
    many.grow(0.0)
    assert 50 < len(many.index) == len(set(many.index)) < 300


@pytest.mark.parametrize("name", ["overlapping clouds", "large chi", "duplicates, l2", "two equal points"])
def test_the_margin_is_the_exact_one(name):
    problem = PROBLEMS[name]()
    outcome = drive(NewtonFrankWolfe(epsilon=1e-6, max_iterations=300), problem, rng0())
    assert outcome.claimed_done
    certificate = problem.certify(outcome.dual_coef, outcome.intercept)
    margin = exact_margin(problem)
    assert certificate.feasibility_violation < 1e-12
    assert max(certificate.epsilon_plus, certificate.epsilon_minus) <= 1.01e-6
    assert outcome.info["epsilon_plus"] == pytest.approx(certificate.epsilon_plus, abs=1e-9)
    assert outcome.info["epsilon_minus"] == pytest.approx(certificate.epsilon_minus, abs=1e-9)
    assert certificate.margin_lower <= margin * (1 + 1e-6)
    assert margin * (1 - 1e-6) <= certificate.margin_upper <= margin * (1 + 1e-6)


@pytest.mark.parametrize("seed", range(1))
def test_first_rounds_on_a_part_lead_to_the_same_model(seed, monkeypatch):
    problem = plane(600, chi=100.0)
    alone = drive(NewtonFrankWolfe(epsilon=1e-7), problem, rng0())
    monkeypatch.setattr(newton, "_MANY", 600)
    looked = []
    for found in NewtonFrankWolfe(epsilon=1e-7).iterates(problem, np.random.default_rng(seed)):
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
    monkeypatch.setattr(Pivots, "of", lambda kernel, rng, cache_mb: found)
    outcome = drive(NewtonFrankWolfe(epsilon=1e-6), problem, rng0(), Limits(seconds=60))
    assert outcome.claimed_done
    assert outcome.info["exact_checks"] >= 2  # the first said no
    assert (found.index < 20).any()
    certificate = problem.certify(outcome.dual_coef, outcome.intercept)
    assert max(certificate.epsilon_plus, certificate.epsilon_minus) <= 1.01e-6


def test_another_sample_leaves_the_pivots_as_they_are():
    problem = plane(80)
    found = Pivots(problem.kernel, np.arange(40), 40)
    found.grow(1e-2)
    before = found.index.copy()
    z = Coordinates(found, 0.0).rows(np.arange(80))
    found.watch(np.arange(79, -1, -1))
    np.testing.assert_array_equal(found.index, before)
    seen = np.concatenate([np.setdiff1d(np.arange(79, -1, -1), before)[::-1][: 40 - len(before)], before])
    matrix = matrix_of(problem) - problem.kernel.ridge * np.eye(80)
    rest = matrix.diagonal() - (z**2).sum(axis=1)
    assert found.residual == pytest.approx(rest[seen].max(), rel=1e-9)
    found.grow(0.5 * found.residual)
    np.testing.assert_array_equal(found.index[: len(before)], before)
    assert set(found.index) <= set(seen)
    again = Coordinates(found, 0.0).rows(np.arange(80))
    np.testing.assert_allclose(again[:, : len(before)], z, atol=1e-9)
    assert ((matrix.diagonal() - (again**2).sum(axis=1))[seen] <= found.residual + 1e-9).all()


@pytest.mark.parametrize("cache_mb", [256.0, 0.1], ids=["by a factor", "by gradients"])
@pytest.mark.parametrize("many", [100, 1000])
@pytest.mark.parametrize(("gamma", "chi", "flipped"), [(2.0, 10.0, 0.0), (0.1, 1.0, 0.2), (0.1, 100.0, 0.1)])
def test_a_kernel_of_too_many_dimensions_goes_on_without_pivots(gamma, chi, flipped, many, cache_mb, monkeypatch):
    monkeypatch.setattr(pivots, "_MOST", 30)
    monkeypatch.setattr(newton, "_MANY", many)
    x, y = clouds(0, 150, 150, 8, 1.0)
    y = np.where(rng0().random(300) < flipped, -y, y)
    problem = l2(x, y, RBF(gamma=gamma), chi=chi)
    outcome = drive(NewtonFrankWolfe(cache_mb=cache_mb).with_target_gap(1e-3), problem, rng0())
    assert outcome.claimed_done
    assert "pivots" not in outcome.info  # they were given up
    found = problem.certify(outcome.dual_coef, outcome.intercept)
    assert found.relative_gap <= 1e-3
    assert outcome.info["epsilon_plus"] == pytest.approx(found.epsilon_plus, abs=1e-9)


@pytest.mark.slow
def test_memory_does_not_grow_with_the_core_set(monkeypatch):
    import tracemalloc

    monkeypatch.setattr(pivots, "_SAMPLE", 1024)
    problem = plane(6000, chi=0.3)
    drive(NewtonFrankWolfe(max_iterations=1), problem, rng0())  # compiled, laid out
    tracemalloc.start()
    outcome = drive(NewtonFrankWolfe(cache_mb=4.0), problem, rng0())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert outcome.claimed_done
    assert 8 * outcome.working_set**2 > 4 * peak
    assert peak < 30e6
