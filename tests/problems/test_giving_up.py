"""What the bounds of outlier-margin are made of: compiled hulls, disjoint groups, coordinates, ellipsoids, weights."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import RBF, GivingUp, KernelOracle, Linear, OutlierMargin, Poly
from harness.kernels.nearest import groups, nearest
from harness.problems import upper_margin
from harness.problems.coordinates import Coordinates
from harness.problems.upper_margin import Relaxation
from tests.problems.widest import distance

EVERYBODY = {"outliers": 0.0, "delta": 0.0}


def hulls(seed, n=None, d=None, gap=None):
    rng = np.random.default_rng(seed)
    n, d = n or int(rng.integers(2, 30)), d or int(rng.integers(1, 12))
    side = np.where(np.arange(n) % 2 == 0, 1, -1)
    x = rng.normal(size=(n, d))
    x[:, 0] += side * (rng.choice([0.0, 1.0, 3.0]) if gap is None else gap)
    if seed % 3 == 0:
        x[n // 2 :] = x[: n - n // 2]
    return x, side, rng


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10**6), st.booleans())
def test_the_nearest_points_are_those_of_least_squares(seed, origin):
    x, side, rng = hulls(seed)
    side = np.ones(len(side), dtype=int) if origin else side
    active = rng.random(len(side)) < 0.8
    coef = np.empty(len(side))
    squared = nearest(x @ x.T, side, active, coef)
    if not (active & (side > 0)).any() or (not origin and not (active & (side < 0)).any()):
        assert squared == np.inf
        return
    assert np.sqrt(squared) == pytest.approx(distance(x, side > 0, active, origin), abs=2e-6, rel=1e-6)
    assert not coef[~active].any()
    assert (coef * side).min() >= 0.0
    assert coef[side > 0].sum() == pytest.approx(1.0)
    assert squared == pytest.approx(float(np.sum((coef @ x) ** 2)), abs=1e-9)


def groups_one_after_another(x, side, free, budget):
    """The twin: solve, take out the free support, solve again."""
    active, found = np.ones(len(side), dtype=bool), []
    for _ in range(budget + 1):
        coef = np.empty(len(side))
        found.append(nearest(x @ x.T, side, active, coef))
        support = np.flatnonzero((coef != 0.0) & free)
        if np.isinf(found[-1]) or not len(support):
            break
        active[support] = False
    return found[0], max(found)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 5))
def test_the_groups_are_disjoint_supports(seed, budget):
    x, side, rng = hulls(seed, gap=1.0)
    free = rng.random(len(side)) < 0.8
    found = groups(x @ x.T, side, np.ones(len(side), dtype=bool), free, budget, np.empty(len(side)))
    assert found == pytest.approx(groups_one_after_another(x, side, free, budget), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("kernel", [Linear(), RBF(gamma=0.3), Poly(degree=2, gamma=0.5, coef0=1.0)])
@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_coordinates_and_rests_are_the_points(kernel, wide, sparse, monkeypatch):
    if not wide:
        monkeypatch.setattr("harness.problems.coordinates._COLUMNS", 5)
    x = np.random.default_rng(0).normal(size=(30, 410 if wide else 7)) / (10.0 if wide else 1.0)
    oracle = KernelOracle(kernel, scipy.sparse.csr_array(x) if sparse else x, ridge=0.25)
    found = Coordinates(oracle)
    gram = np.array(oracle.block(np.arange(30))) - 0.25 * np.eye(30)
    rows = np.vstack([found.along(axis) for axis in np.eye(found.width)]).T + found.centre
    left = gram - rows @ rows.T
    np.testing.assert_allclose(np.diag(left), found.rest, atol=1e-9)
    assert np.linalg.eigvalsh(left).min() > -1e-9
    assert found.largest >= np.diag(gram).max() + 0.25 - 1e-9
    mean, products = found.moments(np.array([3, 5, 8]))
    chosen = rows[[3, 5, 8]] - found.centre
    np.testing.assert_allclose(mean, chosen.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(products, chosen.T @ chosen / 3.0, atol=1e-9)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 4))
def test_the_longest_point_of_an_ellipsoid(seed, d):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(d, int(rng.integers(1, d + 1))))
    m, rest = rng.normal(size=d) * rng.choice([0.0, 1.0]), float(rng.choice([0.0, 0.7]))
    found = upper_margin._longest(m, 0.0, root @ root.T, rest)
    ways = rng.normal(size=(20_000, root.shape[1] + 1))
    ways /= np.linalg.norm(ways, axis=1)[:, None]
    lengths = ((m + ways[:, :-1] @ root.T) ** 2).sum(axis=1) + rest * ways[:, -1] ** 2
    assert found.squared >= lengths.max() * (1.0 - 1e-9)
    best = ways[np.argmax(lengths)]
    for _ in range(2000):  # the fixed point of the ascent from the best of them
        slope = np.append(root.T @ (m + root @ best[:-1]), rest * best[-1])
        best = slope / max(np.linalg.norm(slope), 1e-300)
    climbed = float(((m + root @ best[:-1]) ** 2).sum() + rest * best[-1] ** 2)
    assert found.squared == pytest.approx(max(climbed, lengths.max()), rel=2e-3, abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 6))
def test_the_best_window_is_the_best_of_those_tried(seed, given_up):
    values = np.sort(np.random.default_rng(seed).normal(size=25))
    start, size = upper_margin._best_window(values, given_up)
    assert size > given_up

    def bound(start, size):
        part = values[start : start + size]
        return part.mean() + part.std() * np.sqrt(given_up / (size - given_up))

    found = bound(start, size)
    assert all(found <= bound(other, size) + 1e-12 for other in range(25 - size + 1))
    assert found <= bound(0, 25) + 1e-12
    assert values[given_up] <= found + 1e-12, "what is kept reaches no further than the bound says"


def test_nothing_to_give_up_leaves_the_distance_of_the_hulls():
    x, side, _ = hulls(1, n=60, d=4, gap=4.0)
    problem = OutlierMargin.build(KernelOracle(Linear(), x), side.astype(float), EVERYBODY)
    exact = distance(x, side > 0, np.ones(60, dtype=bool), origin=False)
    assert problem.bounds[1] == pytest.approx(exact, rel=1e-6)
    assert Relaxation(problem).bound() >= exact


def test_a_share_of_one_class_alone_takes_the_other_whole():
    x, side, _ = hulls(2, n=50, d=3, gap=4.0)
    x[0] = -x[0]  # one positive on the wrong side
    oracle = KernelOracle(Linear(), x)
    first, second = (
        OutlierMargin.build(oracle, side.astype(float), {"delta": 0.0, **shares}).bounds[1]
        for shares in (
            {"outliers_plus": 0.04, "outliers_minus": 0.0},
            {"outliers_plus": 0.0, "outliers_minus": 0.04},
        )
    )
    assert first > 2.0 > second


def test_too_many_points_for_the_search():
    problem = OutlierMargin.build(KernelOracle(Linear(), np.eye(41)), np.resize([1.0, -1.0], 41), {})
    with pytest.raises(ValueError, match="takes 40 at most"):
        GivingUp(problem)
