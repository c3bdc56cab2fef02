"""The sets with planted outliers: sizes, shares, covariances, and a margin that is what their ratio says."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.optimize
from threadpoolctl import threadpool_limits

from harness.datasets import content_sha256, planted, validate
from harness.datasets.planted import GaussianOutliers, OneClassOutliers
from harness.errors import DataError, UsageError

TINY = {"least": 30, "most": 60, "d": 5}


def inliers(data, sign):
    return data.x_train[~data.planted & (data.y_train == sign)]


def diameter(x):
    return max(float(np.linalg.norm(p - q)) for p in x for q in x)


def distance(p, q):
    """Return the distance of two hulls as a quadratic program over w and b: max gap with |w| = 1, by its dual norm."""
    points = np.vstack([p, -q])
    sides = np.repeat([1.0, -1.0], [len(p), len(q)])
    # min 1/2 |w|^2 subject to y_i (<w, x_i> + b) >= 1: the margin is 2 / |w|
    found = scipy.optimize.minimize(
        lambda v: 0.5 * float(v[:-1] @ v[:-1]),
        np.append(2.0 * (p.mean(axis=0) - q.mean(axis=0)) / diameter([p.mean(axis=0), q.mean(axis=0)]), 0.0),
        jac=lambda v: np.append(v[:-1], 0.0),
        constraints={
            "type": "ineq",
            "fun": lambda v: points @ v[:-1] + sides * v[-1] - 1.0,
            "jac": lambda _: np.column_stack([points, sides]),
        },
        options={"maxiter": 500, "ftol": 1e-14},
    )
    return 2.0 / float(np.linalg.norm(found.x[:-1]))


@pytest.mark.parametrize("cls", [GaussianOutliers, OneClassOutliers])
@pytest.mark.parametrize("given", [{"seed": 1}, {"seed": 2, "outliers": 0.23}])
def test_a_set_is_valid_says_what_it_planted_and_its_seed_decides_every_bit(cls, given):
    given = {**given, "d": 6, **({"least": 20, "most": 40} if cls is GaussianOutliers else {"n": 90, "n_test": 50})}
    data, again, other = cls(**given).load(), cls(**given).load(), cls(**{**given, "seed": 9}).load()
    validate(data)
    assert data.sha256 == content_sha256(data.x_train, data.y_train, data.x_test, data.y_test)
    assert data.sha256 == again.sha256 != other.sha256
    np.testing.assert_array_equal(data.planted, again.planted)
    assert (data.planted.dtype, data.planted.shape) == (np.dtype(bool), data.y_train.shape)
    assert data.defaults["outliers"] == cls(**given).outliers
    assert data.name == cls(**given).label


def test_the_bits_do_not_depend_on_the_threads_of_the_process():
    source, found = GaussianOutliers(least=400, most=700, test=3), []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            found.append(source.load().sha256)
    assert found[0] == found[1]


@pytest.mark.parametrize("seed", range(4))
def test_the_classes_have_the_sizes_that_were_asked_for_and_their_share_of_outliers(seed):
    data = GaussianOutliers(**TINY, test=3, outliers=0.15, seed=seed).load()
    for y, least, most in ((data.y_train, 30, 60), (data.y_test, 90, 180)):
        sizes = [int((y == sign).sum()) for sign in (-1, 1)]
        assert all(least <= size <= most for size in sizes)
    for sign in (-1, 1):
        own = data.y_train == sign
        assert (data.planted & own).sum() == int(0.15 * own.sum() + 1e-9)
    assert data.planted.sum() <= 0.15 * len(data.planted), "what a formulation with that share may give up"
    assert GaussianOutliers(**TINY, test=0).load().x_test.shape == (0, 5)


def test_sizes_are_drawn_from_the_papers_ranges_by_default():
    data = GaussianOutliers().load()
    assert data.x_train.shape[1] == data.x_test.shape[1] == 100
    for y, least in ((data.y_train, 1000), (data.y_test, 10_000)):
        assert all(least <= (y == sign).sum() <= 3 * least for sign in (-1, 1))


def test_outliers_are_drawn_from_the_other_class_and_only_in_training():
    data = GaussianOutliers(least=400, most=400, d=4, ratio=2.0, outliers=0.25).load()
    means = {sign: inliers(data, sign).mean(axis=0) for sign in (-1.0, 1.0)}
    side = means[1.0] - means[-1.0]
    middle = 0.5 * (means[1.0] + means[-1.0])

    def wrong(x, y):
        return np.mean(np.sign((x - middle) @ side) != y)

    assert wrong(data.x_train[data.planted], data.y_train[data.planted]) > 0.97
    assert wrong(data.x_train[~data.planted], data.y_train[~data.planted]) < 0.03
    assert wrong(data.x_test, data.y_test) < 0.03
    assert GaussianOutliers(**TINY, outliers=0.0).load().planted.sum() == 0


@pytest.mark.parametrize(("ratio", "seed"), [(5.0, 0), (12.5, 1), (30.0, 2)])
def test_the_ratio_is_that_of_the_inliers_diameter_and_margin(ratio, seed):
    data = GaussianOutliers(**TINY, ratio=ratio, seed=seed).load()
    p, q = inliers(data, 1.0), inliers(data, -1.0)
    assert max(diameter(p), diameter(q)) / distance(p, q) == pytest.approx(ratio, rel=1e-5)
    data = OneClassOutliers(n=80, n_test=10, d=5, ratio=ratio, seed=seed).load()
    p, origin = inliers(data, 1.0), np.zeros((1, 5))
    assert diameter(p) / distance(p, origin) == pytest.approx(ratio, rel=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_two_hulls_in_the_plane_are_as_far_apart_as_their_sides(seed):
    """In the plane the nearest pair is a corner and a side: looked for one by one."""
    rng = np.random.default_rng(seed)
    p, q, offset = rng.normal(size=(7, 2)), rng.normal(size=(9, 2)), np.array([7.0, 1.0])

    def to_sides(corners, others):
        least = np.inf
        for c in corners:
            for a in others:
                for b in others:
                    along = b - a
                    t = 0.0 if not along.any() else np.clip((c - a) @ along / (along @ along), 0.0, 1.0)
                    least = min(least, float(np.linalg.norm(c - a - t * along)))
        return least

    expected = min(to_sides(p + offset, q), to_sides(q, p + offset))
    assert np.linalg.norm(planted._shortest(p, q, offset)) == pytest.approx(expected, rel=1e-9)


def test_the_diameter_of_many_points_is_met_by_the_search_of_few(monkeypatch):
    x = np.random.default_rng(0).normal(size=(700, 3)) * [5.0, 1.0, 1.0]
    exact = planted._diameter(x)
    assert exact == pytest.approx(diameter(x[np.linalg.norm(x, axis=1) > 8.0]))
    monkeypatch.setattr(planted, "_EXACT", 10)
    assert 0.8 * exact <= planted._diameter(x) <= exact * (1 + 1e-12)


@pytest.mark.parametrize("spread", [1.0, 10.0])
def test_covariances_are_arbitrary_with_the_spread_on_their_diagonal(spread):
    root = planted._root(30, spread, np.random.default_rng(3))
    covariance = root @ root.T
    diagonal = np.diag(covariance)
    assert diagonal.min() == pytest.approx(1.0)
    assert diagonal.max() == pytest.approx(spread)
    assert np.linalg.eigvalsh(covariance).min() > 0
    off = covariance - np.diag(diagonal)
    assert np.abs(off).max() > 0.1, "features hang together"


def test_one_class_outliers_lie_around_the_origin_in_both_parts():
    data = OneClassOutliers(n=2000, n_test=3000, d=5, ratio=2.0, outliers=0.2).load()
    np.testing.assert_array_equal(data.planted, data.y_train < 0)
    assert ((data.y_train < 0).sum(), (data.y_test < 0).sum()) == (400, 600)
    direction = inliers(data, 1.0).mean(axis=0)
    for x, y in ((data.x_train, data.y_train), (data.x_test, data.y_test)):
        np.testing.assert_allclose(x[y < 0].mean(axis=0), 0.0, atol=0.6)
        assert 0.3 < np.mean(x[y < 0] @ direction < 0) < 0.7, "as many beyond the origin as before it"
        assert np.mean(x[y > 0] @ direction > 0) > 0.99
    assert {name: data.defaults[name] for name in ("kernel", "nu", "outliers", "against")} == {
        "kernel": "linear", "nu": 0.2, "outliers": 0.2, "against": "origin"
    }  # fmt: skip


def test_noise_adds_to_what_was_planted():
    clean, noisy = (GaussianOutliers(**TINY, noise=noise).load() for noise in (0.0, 0.2))
    np.testing.assert_array_equal(noisy.planted, clean.planted | (noisy.y_train != clean.y_train))


def test_bad_sizes_are_refused_in_sentences(monkeypatch):
    with pytest.raises(UsageError, match=r"'gaussian-outliers': least=50 and most=20; the size .* not below least\."):
        GaussianOutliers(least=50, most=20)
    with pytest.raises(UsageError, match=r"parameter d=1 is not valid .* expected int in \[2, inf\)"):
        GaussianOutliers(d=1)
    with pytest.raises(UsageError, match=r"outliers=0 is not valid .* expected float in \(0, 0\.5\)"):
        OneClassOutliers(outliers=0)
    with pytest.raises(DataError, match=r"all 5 training labels are \+1; expected both"):
        validate(OneClassOutliers(n=5, outliers=0.1, d=2).load())
    import psutil

    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=10**9))
    for source, remedy in (
        (GaussianOutliers(most=10**8), "a smaller most, or a smaller test"),
        (GaussianOutliers(d=10**6), "a smaller d"),
        (OneClassOutliers(n=10**9), "a smaller n"),
        (OneClassOutliers(n_test=10**9), "a smaller n_test"),
        (OneClassOutliers(d=10**6), "a smaller d"),
    ):
        with pytest.raises(DataError, match=rf"of memory to be drawn; .* Choose {remedy}\."):
            source.load()
