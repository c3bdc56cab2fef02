"""The drawn and the embedded sets: shapes, determinism, and the moments their definitions imply."""

from __future__ import annotations

import numpy as np
import pytest

from harness import DataError
from harness.datasets import builtin_sources, validate
from harness.datasets.bounds import reading_within
from harness.datasets.catalogue import BreastCancer, Diabetes, Digits
from harness.datasets.generators import BananaLike, Checkerboard, Friedman, Ringnorm, Twonorm, WaveformBreiman

GENERATORS = {Twonorm: 20, Ringnorm: 20, Checkerboard: 2, WaveformBreiman: 21, BananaLike: 2, Friedman: 10}


@pytest.mark.parametrize("cls", GENERATORS)
def test_a_generator_draws_what_was_asked_for(cls, monkeypatch):
    d, (data, again, other, small) = GENERATORS[cls], (
        cls(n=n, n_test=40, seed=seed).load() for n, seed in ((501, 3), (501, 3), (501, 4), (20, 3))
    )  # fmt: skip
    validate(data)
    assert (data.x_train.shape, data.x_test.shape) == ((501, d), (40, d))
    if cls is not Friedman:
        assert (data.y_train > 0).sum() == (501 // 3 if cls is WaveformBreiman else 250)
        two = cls(n=2, n_test=0).load()  # which already define a problem
        validate(two)
        assert (sorted(two.y_train), two.x_test.shape) == ([-1, 1], (0, d))
    assert data.name == f"{cls.name}[n=501,n_test=40,seed=3]"
    assert data.sha256 == again.sha256 != other.sha256
    np.testing.assert_array_equal(data.x_test, small.x_test)  # does not change with n
    assert not np.isin(data.x_train[:, 0], data.x_test[:, 0]).any()
    monkeypatch.setattr(cls, "draw", lambda *_: pytest.fail("drawn"))
    for size in (10**12, 2**62 + 1, 10**400):
        for values in ({"n": size}, {"n_test": size}):
            with pytest.raises(
                DataError, match=rf"'{cls.name}\[.*drawing it takes .*--memory-limit, or choose smaller"
            ):
                cls(**values).load()


def test_drawing_is_bounded_by_what_it_needs():
    with reading_within(8 * 4 * 1000 * 21):
        assert Twonorm(n=1000, n_test=0).load().x_train.shape == (1000, 20)
        for larger in (Twonorm(n=1001, n_test=0), Checkerboard(n=9, n_test=9, cells=200)):
            with pytest.raises(DataError, match="drawing it takes"):
                larger.load()


def test_the_norms_have_their_moments():
    for cls, mean, variance in ((Twonorm, -1, 1.0), (Ringnorm, 0, 4.0)):
        data = cls(n=40_000, n_test=0).load()
        a = 2 / np.sqrt(20)
        positive, negative = (data.x_train[data.y_train == sign] for sign in (1, -1))
        np.testing.assert_allclose(positive.mean(axis=0), a * (mean == -1), atol=0.07)
        np.testing.assert_allclose(negative.mean(axis=0), a if cls is Ringnorm else -a, atol=0.05)
        np.testing.assert_allclose(positive.var(axis=0), variance, rtol=0.07)
        np.testing.assert_allclose(negative.var(axis=0), 1.0, rtol=0.07)
    np.testing.assert_allclose(Ringnorm(n=20_000, mean=1.0).load().x_train.mean(axis=0), (1 + a) / 2, atol=0.07)


@pytest.mark.parametrize("cells", [2, 3, 5])
def test_a_board_has_the_colour_of_its_cell(cells):
    data = Checkerboard(n=3000, n_test=0, cells=cells).load()
    cell = np.floor(data.x_train).astype(int)
    assert (cell.min(), cell.max()) == (0, cells - 1)
    np.testing.assert_array_equal(data.y_train > 0, cell.sum(axis=1) % 2 == 0)
    assert len(set(map(tuple, cell.tolist()))) == cells**2


def test_waves_have_their_means_and_bananas_their_circles():
    data = WaveformBreiman(n=30_000).load()
    h1, h2, h3 = (np.maximum(6 - abs(np.arange(1, 22) - peak), 0) for peak in (11, 15, 7))
    np.testing.assert_allclose(data.x_train[data.y_train > 0].mean(axis=0), (h1 + h2) / 2, atol=0.08)
    np.testing.assert_allclose(data.x_train[data.y_train < 0].mean(axis=0), (h1 + h3 + h2 + h3) / 4, atol=0.08)
    np.testing.assert_allclose(data.x_train[:, 0].var(), 1, atol=0.05)  # where all waves vanish
    data = BananaLike(n=200, spread=0.0).load()
    centred = data.y_train[:, None] * data.x_train + [1.0, 0.5]
    np.testing.assert_allclose(np.hypot(*centred.T), 2.0)
    assert centred[:, 1].min() >= -1e-12


@pytest.mark.parametrize("square", [True, False])
def test_friedman_is_its_definition_plus_unit_noise(square):
    data = Friedman(n=20_000, n_test=500, square=square, seed=1).load()
    a, b, c, d, e = data.x_train.T[:5]
    third = 20.0 * (c - 0.5) ** 2 if square else 20.0 * (c - 0.5)
    noise = data.y_train - (10.0 * np.sin(np.pi * a * b) + third + 10.0 * d + 5.0 * e)
    assert (data.task, noise.mean(), noise.std()) == (
        "regression",
        pytest.approx(0, abs=0.03),
        pytest.approx(1, abs=0.02),
    )
    assert (data.x_train.min() >= 0.0, data.x_train.max() < 1.0) == (True, True)
    # the paper's mean squared errors and correlations belong to targets of variance 24 to 25
    assert np.var(data.y_train) == pytest.approx(24.8 if square else 55.9, rel=0.04)


# -- embedded ----------------------------------------------------------------------------------------------


def test_the_embedded_sets():
    digits, cancer, diabetes = Digits().load(), BreastCancer().load(), Diabetes().load()
    for data, shapes in ((digits, (1198, 599, 64)), (cancer, (379, 190, 30)), (diabetes, (295, 147, 10))):
        validate(data)
        assert (len(data.y_train), len(data.y_test), data.x_train.shape[1]) == shapes
        if data is not digits:
            np.testing.assert_allclose(data.x_train.mean(axis=0), 0, atol=1e-12)
            np.testing.assert_allclose(data.x_train.std(axis=0), 1)
            assert abs(data.x_test.mean(axis=0)).max() > 1e-3
    assert (digits.x_train.min(), digits.x_train.max()) == (0, 1)
    assert ((digits.y_train > 0).sum(), (digits.y_test > 0).sum()) == (116, 58)  # 174 eights
    assert (Digits(digit=3).load().y_train > 0).sum() == 122  # 183 threes
    assert Digits(test_fraction=0).load().x_test.shape == (0, 64)
    assert Digits(split_seed=1).load().sha256 != digits.sha256 == Digits().load().sha256
    assert ((cancer.y_train > 0).sum() + (cancer.y_test > 0).sum()) == 357  # benign
    progression = np.concatenate([diabetes.y_train, diabetes.y_test])
    assert (progression.min(), progression.max(), diabetes.task) == (25.0, 346.0, "regression")
    assert Diabetes().for_task("classification") == Diabetes(), "it has no other targets"


def test_every_source_has_a_name_of_its_own_and_says_which_class_is_positive():
    names = [cls.name for cls in builtin_sources()]
    assert len(set(names)) == len(names) == 27
    for cls in builtin_sources():
        assert cls().label == cls.name
        assert any(word in cls.description for word in ("+1", "labels as", "regression")), cls.name
