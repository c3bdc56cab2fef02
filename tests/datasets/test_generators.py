"""The drawn and the embedded sets: shapes, balance, determinism, and the moments their definitions imply."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from harness.datasets import builtin_sources, validate
from harness.datasets.embedded import BreastCancer, Diabetes, Digits
from harness.datasets.generators import BananaLike, Checkerboard, Ringnorm, Twonorm, WaveformBreiman
from harness.errors import DataError, UsageError

GENERATORS = {Twonorm: 20, Ringnorm: 20, Checkerboard: 2, WaveformBreiman: 21, BananaLike: 2}


@pytest.mark.parametrize("cls", GENERATORS)
def test_a_generator_draws_what_was_asked_for(cls):
    dataset = cls(n=501, n_test=40).load()
    validate(dataset)
    assert dataset.x_train.shape == (501, GENERATORS[cls])
    assert dataset.x_test.shape == (40, GENERATORS[cls])
    positive = 501 // 3 if cls is WaveformBreiman else 250
    assert (dataset.y_train > 0).sum() == positive
    assert dataset.name == f"{cls.name}[n=501,n_test=40]"


@pytest.mark.parametrize("cls", GENERATORS)
def test_the_seed_decides_every_bit(cls):
    first, again, other = cls(n=50, seed=3).load(), cls(n=50, seed=3).load(), cls(n=50, seed=4).load()
    np.testing.assert_array_equal(first.x_train, again.x_train)
    assert first.sha256 == again.sha256 != other.sha256


@pytest.mark.parametrize("cls", GENERATORS)
def test_test_points_do_not_change_with_n_and_are_not_the_training_points(cls):
    small, large = cls(n=20, n_test=100).load(), cls(n=100, n_test=100).load()
    np.testing.assert_array_equal(small.x_test, large.x_test)
    assert not np.isin(large.x_train[:, 0], large.x_test[:, 0]).any()


@pytest.mark.parametrize("cls", GENERATORS)
def test_two_points_already_define_a_problem(cls):
    dataset = cls(n=2, n_test=0).load()
    validate(dataset)
    assert sorted(dataset.y_train) == [-1, 1]
    assert dataset.x_test.shape == (0, GENERATORS[cls])


@pytest.mark.parametrize("cls", GENERATORS)
@pytest.mark.parametrize("n", [10**12, 2**62 + 1, 10**400], ids=["large", "int64", "float64"])
def test_a_size_beyond_memory_is_refused_before_it_is_drawn(cls, n, monkeypatch):
    monkeypatch.setattr(cls, "draw", lambda *_: pytest.fail("drawn"))
    for values, remedy in (({"n": n}, "a smaller n"), ({"n_test": n}, "a smaller n_test")):
        with pytest.raises(DataError) as caught:
            cls(**values).load()
        message = str(caught.value)
        assert f"data set '{cls.name}[" in message
        assert "GB of memory to be drawn; expected at most half of the" in message
        assert message.endswith(f"GB that are available. Choose {remedy}.")


def test_the_refusal_names_what_is_needed_and_what_is_available(monkeypatch):
    import psutil

    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=8_000_000_000))
    with pytest.raises(DataError, match=r"needs 672 GB of memory .* of the 8\.0 GB that are available\. Choose"):
        Twonorm(n=10**9, n_test=0).load()
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=2 * 672_000))
    assert Twonorm(n=1000, n_test=0).load().x_train.shape == (1000, 20)
    with pytest.raises(DataError, match="needs 1 GB"):
        Twonorm(n=1001, n_test=0).load()


def test_a_board_of_too_many_cells_is_refused():
    with pytest.raises(DataError, match=r"checkerboard\[cells=10000000\]' needs .* Choose fewer cells\."):
        Checkerboard(cells=10**7).load()


def test_twonorm_has_breimans_means_and_error():
    data = Twonorm(n=40_000).load()
    for sign in (-1, 1):
        x = data.x_train[data.y_train == sign]
        np.testing.assert_allclose(x.mean(axis=0), sign * 2 / np.sqrt(20), atol=0.04)
        np.testing.assert_allclose(np.cov(x.T), np.eye(20), atol=0.05)
    error = (np.sign(data.x_train.sum(axis=1)) != data.y_train).mean()
    assert error == pytest.approx(0.02275, abs=0.003)  # Phi(-2)


def test_ringnorm_is_a_wide_normal_around_a_shifted_unit_normal():
    data = Ringnorm(n=40_000).load()
    wide, narrow = data.x_train[data.y_train > 0], data.x_train[data.y_train < 0]
    np.testing.assert_allclose(np.cov(wide.T), 4 * np.eye(20), atol=0.2)
    np.testing.assert_allclose(wide.mean(axis=0), 0, atol=0.06)
    np.testing.assert_allclose(np.cov(narrow.T), np.eye(20), atol=0.05)
    np.testing.assert_allclose(narrow.mean(axis=0), 2 / np.sqrt(20), atol=0.04)
    x = data.x_train
    log_ratio = -20 * np.log(2) - (x**2).sum(axis=1) / 8 + ((x - 2 / np.sqrt(20)) ** 2).sum(axis=1) / 2
    assert (np.where(log_ratio > 0, 1, -1) != data.y_train).mean() == pytest.approx(0.0124, abs=0.002)
    off_centre = Ringnorm(n=1000, mean=1.0).load()
    moved = off_centre.x_train - Ringnorm(n=1000).load().x_train
    np.testing.assert_allclose(moved, np.repeat(off_centre.y_train > 0, 20).reshape(-1, 20), atol=1e-12)


@pytest.mark.parametrize("cells", [2, 3, 4, 7])
def test_checkerboard_labels_are_the_parity_of_the_cell(cells):
    data = Checkerboard(n=5000, cells=cells).load()
    column, row = np.floor(data.x_train).astype(int).T
    np.testing.assert_array_equal(data.y_train, np.where((column + row) % 2 == 0, 1, -1))
    assert data.x_train.min() >= 0
    assert data.x_train.max() < cells
    for sign in (-1, 1):  # uniform on the cells of its colour
        _, counts = np.unique((column * cells + row)[data.y_train == sign], return_counts=True)
        assert len(counts) == (cells**2 + sign * (cells % 2)) // 2
        assert counts.min() > 0.7 * counts.mean()


def test_waveform_classes_have_the_means_of_their_waves():
    data = WaveformBreiman(n=30_000).load()
    i = np.arange(1, 22)
    h1, h2, h3 = (np.maximum(6 - abs(i - peak), 0) for peak in (11, 15, 7))
    np.testing.assert_allclose(data.x_train[data.y_train > 0].mean(axis=0), (h1 + h2) / 2, atol=0.08)
    np.testing.assert_allclose(data.x_train[data.y_train < 0].mean(axis=0), (h1 + h3 + h2 + h3) / 4, atol=0.08)
    # The variance where all waves vanish is that of the noise.
    np.testing.assert_allclose(data.x_train[:, 0].var(), 1, atol=0.05)


def test_banana_without_spread_lies_on_two_half_circles():
    data = BananaLike(n=200, spread=0.0).load()
    centred = data.y_train[:, None] * data.x_train + [1.0, 0.5]
    np.testing.assert_allclose(np.hypot(*centred.T), 2.0)
    assert centred[:, 1].min() >= -1e-12


def test_digits_are_scaled_and_split_by_class():
    data = Digits().load()
    validate(data)
    assert (data.x_train.shape, data.x_test.shape) == ((1198, 64), (599, 64))
    assert (data.x_train.min(), data.x_train.max()) == (0, 1)
    assert ((data.y_train > 0).sum(), (data.y_test > 0).sum()) == (116, 58)  # 174 eights
    assert Digits(split_seed=1).load().sha256 != data.sha256 == Digits().load().sha256
    assert (Digits(digit=3).load().y_train > 0).sum() == 122  # 183 threes
    assert Digits(test_fraction=0).load().x_test.shape == (0, 64)


def test_breast_cancer_is_standardised_by_its_training_part():
    data = BreastCancer().load()
    validate(data)
    assert (data.x_train.shape, data.x_test.shape) == ((379, 30), (190, 30))
    np.testing.assert_allclose(data.x_train.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(data.x_train.std(axis=0), 1)
    assert abs(data.x_test.mean(axis=0)).max() > 1e-3
    assert ((data.y_train > 0).sum() + (data.y_test > 0).sum()) == 357  # benign


@pytest.mark.parametrize(("cls", "least"), [(Twonorm, 0.96), (Ringnorm, 0.97), (Checkerboard, 0.9), (BananaLike, 0.85)])
def test_the_recommended_parameters_learn_the_distribution(cls, least):
    from sklearn.svm import SVC

    data = cls(n=1000, n_test=2000).load()
    model = SVC(C=data.defaults["C"], gamma=data.defaults["gamma"]).fit(data.x_train, data.y_train)
    assert model.score(data.x_test, data.y_test) > least


def test_parameters_are_refused_with_their_range():
    with pytest.raises(
        UsageError, match=r"data set 'checkerboard': parameter noise=0\.7 .* expected float in \[0, 0\.5\)"
    ):
        Checkerboard(noise=0.7)


def test_every_builtin_source_has_a_name_of_its_own_and_says_which_class_is_positive():
    sources = builtin_sources()
    names = [cls.name for cls in sources]
    assert len(set(names)) == len(names) == 29
    for cls in sources:
        assert cls().label == cls.name
        assert any(word in cls.description for word in ("+1", "labels as", "regression")), cls.name


def test_importing_the_package_loads_numpy_at_most():
    code = (
        "import sys, harness.datasets as d; d.builtin_sources();"
        "print([m for m in ('scipy', 'pandas', 'sklearn', 'psutil') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_diabetes_is_regression_with_its_own_tube():
    data = Diabetes().load()
    validate(data)
    assert (data.task, data.x_train.shape, data.x_test.shape) == ("regression", (295, 10), (147, 10))
    progression = np.concatenate([data.y_train, data.y_test])
    assert (progression.min(), progression.max()) == (25.0, 346.0)
    assert data.x_train.mean(axis=0) == pytest.approx(np.zeros(10), abs=1e-12)
    assert data.x_train.std(axis=0) == pytest.approx(np.ones(10))
    assert data.defaults["epsilon"] == 10.0
    assert Diabetes().for_task("classification") == Diabetes(), "it has no other targets"
