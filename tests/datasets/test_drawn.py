"""The drawn and the embedded sets: shapes, determinism, and the moments their definitions imply."""

import numpy as np
import pytest

from harness import DataError
from harness.datasets import builtin_sources, validate
from harness.datasets.bounds import reading_within
from harness.datasets.generators import BananaLike, Checkerboard, Friedman, Ringnorm, Twonorm, WaveformBreiman

GENERATORS = {Twonorm: 20, Ringnorm: 20, Checkerboard: 2, WaveformBreiman: 21, BananaLike: 2, Friedman: 10}


@pytest.mark.parametrize(("cls", "d"), GENERATORS.items())
def test_a_generator_draws_what_was_asked_for(cls, d):
    sizes = ((501, 3), (501, 3), (501, 4), (20, 3))
    data, again, other, small = (cls(n=n, n_test=40, seed=seed).load() for n, seed in sizes)
    validate(data)
    assert (data.x_train.shape, data.name) == ((501, d), f"{cls.name}[n=501,n_test=40,seed=3]")
    assert data.sha256 == again.sha256 != other.sha256
    np.testing.assert_array_equal(data.x_test, small.x_test)  # does not change with n
    assert not np.isin(data.x_train[:, 0], data.x_test[:, 0]).any()
    if cls is not Friedman:
        assert (data.y_train > 0).sum() == (167 if cls is WaveformBreiman else 250)
        validate(cls(n=2, n_test=0).load())


@pytest.mark.parametrize("cls", GENERATORS)
def test_drawing_is_bounded_by_what_it_needs(cls, monkeypatch):
    with reading_within(8 * 4 * 1000 * 21):
        assert Twonorm(n=1000, n_test=0).load().x_train.shape == (1000, 20)
        with pytest.raises(DataError, match="drawing it takes"):
            Twonorm(n=1001, n_test=0).load()
    draw = cls.draw
    monkeypatch.setattr(cls, "draw", lambda self, n, rng: pytest.fail("drawn") if n else draw(self, n, rng))
    for sizes in ({"n": 10**12}, {"n_test": 2**62 + 1}, {"n": 10**400}):
        with pytest.raises(DataError, match=rf"'{cls.name}\[.*drawing it takes .*--memory-limit, or choose smaller"):
            cls(**sizes).load()


def test_the_norms_have_their_moments():
    a = 2 / np.sqrt(20)
    wide, moved = Ringnorm(n=40_000), Ringnorm(n=40_000, mean=1.0)
    for source, means, variance in ((Twonorm(n=40_000), (a, -a), 1.0), (wide, (0.0, a), 4.0), (moved, (1.0, a), 4.0)):
        data = source.load()
        for sign, mean, spread in zip((1, -1), means, (variance, 1.0), strict=True):
            x = data.x_train[data.y_train == sign]
            np.testing.assert_allclose(x.mean(axis=0), mean, atol=0.07)
            np.testing.assert_allclose(x.var(axis=0), spread, rtol=0.07)


@pytest.mark.parametrize("cells", [2, 3, 5])
def test_a_board_has_the_colour_of_its_cell(cells):
    data = Checkerboard(n=3000, n_test=0, cells=cells).load()
    cell = np.floor(data.x_train).astype(int)
    assert (cell.min(), cell.max(), len(np.unique(cell, axis=0))) == (0, cells - 1, cells**2)
    np.testing.assert_array_equal(data.y_train > 0, cell.sum(axis=1) % 2 == 0)


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


@pytest.mark.parametrize(("square", "variance"), [(True, 24.8), (False, 55.9)])
def test_friedman_is_its_definition_plus_unit_noise(square, variance):
    data = Friedman(n=20_000, n_test=500, square=square, seed=1).load()
    a, b, c, d, e = data.x_train.T[:5]
    third = 20.0 * (c - 0.5) ** 2 if square else 20.0 * (c - 0.5)
    noise = data.y_train - (10.0 * np.sin(np.pi * a * b) + third + 10.0 * d + 5.0 * e)
    assert (noise.mean(), noise.std()) == (pytest.approx(0, abs=0.03), pytest.approx(1, abs=0.02))
    assert 0.0 <= data.x_train.min() < data.x_train.max() < 1.0
    # the paper's mean squared errors and correlations belong to targets of variance 24 to 25
    assert (data.task, np.var(data.y_train)) == ("regression", pytest.approx(variance, rel=0.04))


def test_every_source_has_a_name_of_its_own_and_says_which_class_is_positive():
    names = [cls.name for cls in builtin_sources()]
    assert len(set(names)) == len(names)
    for cls in builtin_sources():
        assert cls().label == cls.name
        assert any(word in cls.description for word in ("+1", "labels as", "regression")), cls.name
