"""The core set's optimum: the compiled loops against slow twins, exactness, points that come and go."""

from __future__ import annotations

import numpy as np
import pytest
from harness_fw import core_set
from harness_fw.core_set import CoreSet
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.plugins.hull_problems import clouds, l2, matrix_of
from tests.plugins.naive_core_set import exact_weights, naive_descent


def signed_matrix(problem):
    return matrix_of(problem) * np.outer(problem.targets, problem.targets)


def by_class(problem):
    """Return the signed matrix with the positives first, and the side of each point."""
    order = np.argsort(problem.targets <= 0, kind="stable")
    return signed_matrix(problem)[np.ix_(order, order)], (problem.targets[order] < 0).astype(int)


def filled(matrix, side, caps, weights):
    core = CoreSet(caps, 1e-14 * matrix.diagonal().max())
    core.add([np.flatnonzero(side == group) for group in np.unique(side)], matrix, weights)
    return core


def centres(side, caps):
    return 1.0 / np.bincount(side)[side]


# -- the loops -------------------------------------------------------------------------------------


@pytest.mark.parametrize("caps", [(1.0, 1.0), (0.1, 0.15)])
@pytest.mark.parametrize("seed", range(2))
def test_every_step_of_the_descent_is_that_of_the_slow_twin(seed, caps):
    matrix, side = by_class(l2(*clouds(seed, 13, 17, 3, 1.0)))
    expected = naive_descent(matrix, centres(side, caps), side, caps, 1e-6, 60)
    for steps in (1, 2, 5, 20, len(expected) - 1):
        weight = centres(side, caps)
        score = matrix @ weight
        begin, size = np.array([0, 13]), np.array([13, 17])
        _, taken = core_set.descend(matrix, weight, score, begin, size, np.array(caps), 1e-6, 1e-14, steps)
        assert taken == steps
        np.testing.assert_allclose(weight, expected[steps], atol=1e-12)
        np.testing.assert_allclose(score, matrix @ weight, atol=1e-12)


def test_the_descent_leaves_what_lies_between_the_panels_alone():
    matrix, side = by_class(l2(*clouds(1, 6, 7, 2, 1.0)))
    places = np.concatenate([np.arange(6), 10 + np.arange(7)])
    padded, weight, score = np.full((20, 20), np.nan), np.full(20, np.nan), np.full(20, np.nan)
    padded[np.ix_(places, places)] = matrix
    weight[places] = centres(side, (1, 1))
    score[places] = matrix @ weight[places]
    reason, _ = core_set.descend(
        padded, weight, score, np.array([0, 10]), np.array([6, 7]), np.ones(2), 1e-9, 1e-14, 10_000
    )
    assert reason == core_set.SOLVED
    between = np.setdiff1d(np.arange(20), places)
    assert np.isnan(weight[between]).all()
    assert np.isnan(score[between]).all()
    exact = exact_weights(matrix, side, (1, 1))
    assert weight[places] @ matrix @ weight[places] == pytest.approx(exact @ matrix @ exact, rel=1e-8)


# -- the core set's optimum ------------------------------------------------------------------------


@pytest.mark.parametrize("chi", [0.1, 10.0, 1e4])
@pytest.mark.parametrize("caps", [(1.0, 1.0), (0.08, 0.2)])
def test_the_optimum_of_a_core_set_is_exact_to_rounding(chi, caps):
    matrix, side = by_class(l2(*clouds(2, 30, 30, 2, 1.0), chi=chi))
    core = filled(matrix, side, caps, centres(side, caps))
    core.solve(1e-10)
    weights = np.zeros(len(side))
    weights[core.members] = core.weights
    scores = matrix @ weights
    for group in (0, 1):
        own = side == group
        assert weights[own].sum() == pytest.approx(1.0, abs=1e-13)
        low, high = scores[own & (weights < caps[group])].min(), scores[own & (weights > 0)].max()
        assert high - low <= 1e-9 * core.squared_norm
    assert weights.min() >= 0.0
    assert weights.max() <= max(caps)
    exact = exact_weights(matrix, side, caps)
    assert core.squared_norm == pytest.approx(exact @ matrix @ exact, rel=1e-5)
    assert core.squared_norm <= exact @ matrix @ exact * (1 + 1e-9)


def test_newton_steps_end_what_the_descent_does_not():
    matrix, side = by_class(l2(*clouds(3, 40, 40, 2, 1.0), chi=1e6))
    core = filled(matrix, side, (1, 1), centres(side, (1, 1)))
    assert core.solve(1e-6)
    assert core.factors > 0
    weight, score = centres(side, (1, 1)), matrix @ centres(side, (1, 1))
    reason, _ = core_set.descend(
        matrix, weight, score, np.array([0, 40]), np.array([40, 40]), np.ones(2), 1e-6, 1e-14, 2 * core.steps
    )
    assert reason == core_set.STEPS


@settings(max_examples=25, deadline=None, derandomize=True)
@given(data=st.data())
def test_points_that_come_and_go_leave_a_consistent_core_set(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    n = 120
    problem = l2(rng.normal(size=(n, 3)), np.where(np.arange(n) % 3 == 0, 1.0, -1.0))
    matrix, sides = signed_matrix(problem), [np.arange(0, n, 3), np.flatnonzero(np.arange(n) % 3)]
    first = [side[:1] for side in sides]
    core = CoreSet((1.0, 1.0), 1e-14)
    core.add(first, matrix[np.ix_(np.concatenate(first), np.concatenate(first))], np.ones(2))
    previous = core.squared_norm
    for _ in range(data.draw(st.integers(1, 5))):
        outside = [np.setdiff1d(side, core.members) for side in sides]
        new = [rng.permutation(side)[: data.draw(st.integers(0, 20))] for side in outside]
        members, added = core.members, np.concatenate(new)
        core.add(new, matrix[np.ix_(added, np.concatenate([members, added]))])
        core.solve(1e-8)
        assert core.squared_norm <= previous * (1 + 1e-12)
        previous = core.squared_norm
        before = core.members
        gone = core.drop()
        assert sorted([*gone, *core.members]) == sorted(before)
        weights = np.zeros(n)
        weights[core.members] = core.weights
        assert (core.weights > 0).all()
        scores = matrix @ weights
        assert core.squared_norm == pytest.approx(weights @ scores, rel=1e-10)
        for side, (low, high) in zip(sides, core.levels(), strict=True):
            own = np.intersect1d(side, core.members)
            assert low == pytest.approx(scores[own].min(), abs=1e-12)
            assert high == pytest.approx(scores[own].max(), abs=1e-12)
