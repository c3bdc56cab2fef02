"""The sets with planted outliers: their sizes and shares, the margin between the inliers, what their seed decides."""

from __future__ import annotations

import numpy as np
import pytest
from harness_rgd import GaussianOutliers, OneClassOutliers, planted
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from harness import DataError
from harness.datasets import validate
from harness.datasets.bounds import reading_within

TINY = {"least": 30, "most": 60, "d": 5}


def inliers(data, sign):
    return data.x_train[~data.planted & (data.y_train == sign)]


def diameter(x):
    return max(float(np.linalg.norm(p - q)) for p in x for q in x)


def distance(p, q):
    """Return the distance of two hulls: the width of the hard margin between them."""
    x, y = np.vstack([p, q]), np.repeat([1.0, -1.0], [len(p), len(q)])
    return 2.0 / float(np.linalg.norm(SVC(C=1e12, kernel="linear", tol=1e-10).fit(x, y).coef_))


@pytest.mark.parametrize("cls", [GaussianOutliers, OneClassOutliers])
def test_a_set_says_what_it_planted_and_its_seed_decides_every_bit(cls):
    sizes = {"n": 900, "n_test": 50} if cls is OneClassOutliers else {"least": 400, "most": 700, "test": 3}
    found = []
    for seed, threads in ((2, 1), (2, 2), (9, 1)):  # the threads of the process do not, which a d of 100 would not show
        with threadpool_limits(threads, user_api="blas"):
            found.append(cls(**sizes, d=257, outliers=0.23, seed=seed).load())
    data, again, other = found
    validate(data)
    assert data.sha256 == again.sha256 != other.sha256
    assert np.mean(np.diff(data.y_train) != 0) > 0.25, "in random order"
    assert (data.planted.dtype, data.planted.shape, data.defaults["outliers"]) == (bool, data.y_train.shape, 0.23)


@pytest.mark.parametrize("seed", range(3))
def test_classes_have_their_sizes_and_their_share_of_outliers_from_the_other_class(seed):
    data = GaussianOutliers(**TINY, test=3, outliers=0.15, seed=seed).load()
    for y, least, most in ((data.y_train, 30, 60), (data.y_test, 90, 180)):
        assert all(least <= (y == sign).sum() <= most for sign in (-1, 1))
    for sign in (-1, 1):
        own = data.y_train == sign
        assert (data.planted & own).sum() == int(0.15 * own.sum() + 1e-9)
    data = GaussianOutliers(least=400, most=400, d=4, ratio=2.0, outliers=0.25, seed=seed).load()
    means = {sign: inliers(data, sign).mean(axis=0) for sign in (-1.0, 1.0)}
    side, middle = means[1.0] - means[-1.0], 0.5 * (means[1.0] + means[-1.0])

    def wrong(x, y):
        return np.mean(np.sign((x - middle) @ side) != y)

    assert wrong(data.x_train[data.planted], data.y_train[data.planted]) > 0.97
    assert wrong(data.x_train[~data.planted], data.y_train[~data.planted]) < 0.03
    assert wrong(data.x_test, data.y_test) < 0.03


@pytest.mark.parametrize(("ratio", "seed"), [(5.0, 0), (30.0, 2)])
def test_the_ratio_is_that_of_the_inliers_diameter_and_margin(ratio, seed):
    data = GaussianOutliers(**TINY, ratio=ratio, seed=seed).load()
    p, q = inliers(data, 1.0), inliers(data, -1.0)
    assert max(diameter(p), diameter(q)) / distance(p, q) == pytest.approx(ratio, rel=1e-5)
    data = OneClassOutliers(n=80, n_test=10, d=5, ratio=ratio, seed=seed).load()
    p, origin = inliers(data, 1.0), np.zeros((1, 5))
    assert diameter(p) / distance(p, origin) == pytest.approx(ratio, rel=1e-5)


def test_the_diameter_of_many_points_is_met_by_the_search_of_few(monkeypatch):
    x = np.random.default_rng(0).normal(size=(700, 3)) * [5.0, 1.0, 1.0]
    exact = planted._diameter(x)
    assert exact == pytest.approx(diameter(x[np.linalg.norm(x, axis=1) > 8.0]))
    monkeypatch.setattr(planted, "_MAX_EXACT_POINTS", 10)
    assert 0.8 * exact <= planted._diameter(x) <= exact * (1 + 1e-12)


def test_one_class_outliers_lie_around_the_origin_in_both_parts():
    data = OneClassOutliers(n=2000, n_test=3000, d=5, ratio=2.0, outliers=0.2).load()
    np.testing.assert_array_equal(data.planted, data.y_train < 0)
    assert ((data.y_train < 0).sum(), (data.y_test < 0).sum()) == (400, 600)
    direction = inliers(data, 1.0).mean(axis=0)
    for x, y in ((data.x_train, data.y_train), (data.x_test, data.y_test)):
        np.testing.assert_allclose(x[y < 0].mean(axis=0), 0.0, atol=0.6)
        assert 0.3 < np.mean(x[y < 0] @ direction < 0) < 0.7, "as many beyond the origin as before it"
        assert np.mean(x[y > 0] @ direction > 0) > 0.99
    assert {**data.defaults} == {"kernel": "linear", "C": 1.0, "nu": 0.2, "outliers": 0.2, "against": "origin"}


def test_sizes_that_cannot_be_are_refused_before_anything_is_drawn():
    with reading_within(8 * 4 * (13 * 11 + 200)):
        assert OneClassOutliers(n=3, n_test=10, d=10).load().x_test.shape == (10, 10)
        for larger in (OneClassOutliers(n=4, n_test=10, d=10), GaussianOutliers(least=2, most=2, test=3, d=10)):
            with pytest.raises(DataError, match=r"outliers\[.*drawing it takes .*--memory-limit, or choose smaller"):
                larger.load()
