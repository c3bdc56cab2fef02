"""Random gradient descent trees against the naive twin, Gilbert's algorithm, and planted outliers."""

from __future__ import annotations

import numpy as np
import pytest
from harness_rgd import RGDBoosted, RGDTree, hot
from harness_rgd.forest import Forest
from harness_rgd.outlier_margin import OutlierMargin
from harness_rgd.sides import Sides
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import RBF, Linear, Precomputed
from tests.plugins.common import build, last_of
from tests.plugins.hull_problems import one_hull
from tests.plugins.naive_rgd import NaiveTree


def clouds(n=40, d=3, apart=4.0, outliers=0.0, seed=0):
    """Two Gaussian clouds ``apart`` along the first axis, a share of whose labels is wrong."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    x = rng.normal(size=(n, d))
    x[:, 0] += 0.5 * apart * y
    return x, np.where(rng.permutation(n) < round(outliers * n), -y, y)


def outlier_margin(x, y, kernel=None, **values):
    return build(OutlierMargin, x, y, kernel or Linear(), **values)


def levels_of(solver, problem, seed=0, samples=4, height=3, start=None):
    """The nodes of each level as the solver has them, from its own root or from a point, and the run."""
    run = Forest(solver, problem, np.random.default_rng(seed))
    root = run.root() if start is None else run.space.root(np.array([start]), np.empty(0, dtype=np.intp))
    return list(run.tree.grow(root, height, samples)), run


def naive_levels(problem, points, run, seed, samples=4, height=3, most=None):
    """The same of the twin, which draws what the solver draws before: the probe's points, the root."""
    rng = np.random.default_rng(seed)
    Forest(run.solver, problem, rng).root()
    drops = list(zip(run.sides.drops[0].tolist(), run.sides.drops[1].tolist(), strict=True))
    sides = [side.tolist() for side in run.sides.points]
    tree = NaiveTree(points, sides, drops, rng, samples=samples, most=most, probe=run.space.probe.tolist())
    first = Forest(run.solver, problem, np.random.default_rng(seed)).root()
    i, j = int(first.first[0, 0]), int(first.second[0, 0]) if first.second.size else None
    return list(tree.grow(i, j, height))


CASES = {
    "two shares": {"outliers_plus": 0.2, "outliers_minus": 0.1},
    "one share": {"outliers": 0.1},
    "origin": {"outliers": 0.15, "against": "origin"},
    "nothing given up": {"outliers": 0.0},
    "delta 0": {"outliers": 0.1, "delta": 0.0},
}


EACH = pytest.mark.parametrize("values", CASES.values(), ids=CASES)


def points(values):
    x, y = clouds(outliers=0.1)
    return x + 6.0 if "against" in values else x, y


@pytest.mark.parametrize("most", [None, 6])
@EACH
def test_the_nodes_are_those_of_the_twin(values, most):
    (x, y), solver = points(values), RGDTree(nodes=most, probe=25)
    found, run = levels_of(solver, outlier_margin(x, y, **values), seed=3, height=2 if most is None else 4)
    expected = naive_levels(outlier_margin(x, y, **values), x, run, 3, height=2 if most is None else 4, most=most)
    assert [len(level) for level in found] == [len(level) for level in expected]
    for level, twins in zip(found, expected, strict=True):
        for v, twin in enumerate(twins):
            second = [j for j in twin.second if j is not None]
            assert (level.first[v].tolist(), level.second[v].tolist()) == (twin.first, second)
            np.testing.assert_allclose([*level.coef[v], *level.w[v]], [*twin.coef, *twin.x], atol=1e-9)
    widest = max(twin.width for twins in expected for twin in twins)
    assert run.tree.best.width >= widest - 1e-9  # all splits are looked at once the best node is known
    if "outliers_plus" in values or "against" in values:
        assert run.tree.best.width == pytest.approx(widest, abs=1e-9)


@EACH
def test_kernel_values_give_the_nodes_that_w_gives(values):
    (x, y), solver = points(values), RGDTree(nodes=5, probe=25)
    ours, one = levels_of(solver, outlier_margin(x, y, **values), height=4)
    theirs, other = levels_of(solver, outlier_margin(x @ x.T, y, Precomputed(), **values), height=4)
    assert one.tree.best.width == pytest.approx(other.tree.best.width)
    for level, same in zip(ours, theirs, strict=True):
        assert (level.first.tolist(), level.second.tolist()) == (same.first.tolist(), same.second.tolist())
        np.testing.assert_allclose(level.coef, same.coef, atol=1e-9)


def gilbert(points, i, steps):
    """Algorithm 1 from the point i."""
    x = points[i].copy()
    yield x
    for _ in range(steps):
        p = points[np.argmin(points @ x)]
        if x @ (x - p) <= 1e-12 * (x @ x):
            return
        t = min(1.0, (x @ (x - p)) / ((x - p) @ (x - p)))
        x = (1.0 - t) * x + t * p
        yield x


def test_a_share_of_nothing_is_gilberts_algorithm():
    x = np.random.default_rng(1).normal(size=(60, 4)) + 3.0
    start = int(np.argmin((x * x).sum(axis=1)))
    expected = list(gilbert(x, start, 12))
    for problem in (one_hull(x), outlier_margin(x, np.ones(60), outliers=0.0, against="origin")):
        found, _ = levels_of(RGDTree(), problem, samples=7, height=12, start=start)
        assert [len(level) for level in found] == [1] * len(expected)
        assert np.allclose([level.w[0] for level in found], expected, atol=1e-10)


@pytest.mark.parametrize("kernel", [Linear(), RBF(gamma=0.3)], ids=["w", "kernel values"])
@pytest.mark.parametrize("solver", [RGDTree(), RGDBoosted()], ids=["tree", "boosted"])
@pytest.mark.parametrize("share", [pytest.param("two shares", marks=pytest.mark.slow), "one share"])
def test_the_width_it_says_is_the_certificates(solver, share, kernel):
    problem = outlier_margin(*clouds(60, outliers=0.1, apart=6.0), kernel, **CASES[share])
    widths = []
    for found in solver.iterates(problem, np.random.default_rng(0)):
        certificate = problem.certify(*problem.checked(found.dual_coef, found.intercept))
        assert found.info["width"] == pytest.approx(certificate.margin_lower, rel=1e-9)
        widths.append(found.info["width"])
        scores = problem.kernel.expand(found.dual_coef)
        assert found.intercept == pytest.approx(problem.slab(scores).intercept)
    assert found.done
    assert widths == sorted(widths)  # the best so far


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=60), st.data())
@settings(deadline=None, max_examples=60)
def test_selection_is_that_of_sorting(values, data):
    scores = np.array([values], dtype=np.float64)
    side = np.array(sorted(data.draw(st.sets(st.integers(0, len(values) - 1), min_size=1))))
    drops = np.array(data.draw(st.lists(st.integers(0, len(side) - 1), min_size=1, max_size=3)))
    sign = data.draw(st.sampled_from([1.0, -1.0]))
    draws = np.array([[[data.draw(st.integers(0, max(1, k) - 1)) for _ in range(4)] for k in drops]])
    cuts, chosen = np.empty((1, len(drops))), np.empty(draws.shape, dtype=np.int64)
    hot.worst(scores, side, sign, drops, draws, cuts, chosen)
    order = sorted(side.tolist(), key=lambda i: (sign * values[i], i))
    for g, k in enumerate(drops):
        pool = sorted(order[: max(1, k)])
        assert (cuts[0, g], chosen[0, g].tolist()) == (values[order[k]], [pool[place] for place in draws[0, g]])


def test_the_slab_is_the_formulations():
    rng = np.random.default_rng(5)
    for seed in range(20):
        x, y = clouds(31, outliers=0.2, seed=seed)
        for values in CASES.values():
            problem = outlier_margin(x, y, **values)
            scores = np.round(rng.normal(size=31), 1)
            expected, slab = problem.slab(scores), Sides.of(problem, 3).slab(scores)
            assert expected[:2] == slab[:2]


def test_the_evidence_where_nothing_separates():
    coincide = outlier_margin(np.ones((6, 2)), np.array([1.0, 1, 1, -1, -1, -1]))
    for solver in (RGDTree(), RGDBoosted()):
        found = last_of(solver, coincide)
        assert (found.done, found.info["width"], "coincide" in found.info["stopped"]) == (False, None, True)
        found = last_of(solver, outlier_margin(*clouds(60, apart=0.0), outliers=0.05))
        assert not found.done
        assert "the widest slab of" in found.info["stopped"]
        assert "of 30 positives" in found.info["stopped"]
