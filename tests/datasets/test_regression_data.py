"""The sets for regression: the drawn one against its definition, the real ones against their classes."""

import json
import subprocess

import numpy as np
import pytest

from harness.datasets import builtin_sources, validate
from harness.datasets.generators import Friedman
from harness.datasets.images import Mnist
from harness.datasets.sparse import Covtype
from tests.run.conftest import HARNESS


def expected(x, square):
    """The target without its noise, point by point."""
    found = []
    for a, b, c, d, e, *_ in x:
        third = 20.0 * (c - 0.5) ** 2 if square else 20.0 * (c - 0.5)
        found.append(10.0 * np.sin(np.pi * a * b) + third + 10.0 * d + 5.0 * e)
    return np.array(found)


@pytest.mark.parametrize("square", [True, False])
def test_friedman_is_its_definition_plus_unit_noise(square):
    data = Friedman(n=20_000, n_test=500, square=square, seed=1).load()
    validate(data)
    assert (data.task, data.x_train.shape, data.x_test.shape) == ("regression", (20_000, 10), (500, 10))
    assert (data.x_train.min() >= 0.0, data.x_train.max() < 1.0) == (True, True)
    noise = data.y_train - expected(data.x_train, square)
    assert noise.mean() == pytest.approx(0.0, abs=0.03)  # 4 standard errors
    assert noise.std() == pytest.approx(1.0, abs=0.02)
    for feature in range(10):
        assert abs(np.corrcoef(noise, data.x_train[:, feature])[0, 1]) < 0.03
    # the paper's mean squared errors and correlations belong to targets of variance 24 to 25
    assert np.var(data.y_train) == pytest.approx(24.8 if square else 55.9, rel=0.04)


def test_friedman_is_drawn_from_its_seed():
    first, again, other = Friedman(n=50).load(), Friedman(n=50).load(), Friedman(n=50, seed=1).load()
    assert first.sha256 == again.sha256 != other.sha256
    np.testing.assert_array_equal(Friedman(n=20).load().x_test, first.x_test)
    assert first.defaults["epsilon"] == 1.0
    assert Friedman in builtin_sources()


@pytest.mark.slow
def test_covtype_as_regression_has_the_signs_as_targets(raw_data):
    classes = Covtype(n=300, n_test=100).load()
    numbers = Covtype(n=300, n_test=100).for_task("regression").load()
    validate(numbers)
    assert (numbers.task, numbers.defaults["kernel"]) == ("regression", "linear")
    np.testing.assert_array_equal(numbers.y_train, classes.y_train)
    np.testing.assert_array_equal(numbers.x_test, classes.x_test)
    assert Covtype(regression=True).for_task("classification") == Covtype()


@pytest.mark.slow
def test_mnist_as_regression_has_the_digits_as_targets(raw_data):
    numbers = Mnist(n=200, regression=True).load()
    validate(numbers)
    assert numbers.task == "regression"
    assert set(numbers.y_train) == set(range(10))
    for digit in (3, 8):
        sign = Mnist(n=200, digit=digit).load()
        np.testing.assert_array_equal(sign.y_train > 0, numbers.y_train == digit)
        np.testing.assert_array_equal(sign.y_test > 0, numbers.y_test == digit)
        np.testing.assert_array_equal(sign.x_train, numbers.x_train)


@pytest.mark.slow
def test_eps_svr_from_the_command_line(tmp_path):
    command = [
        *HARNESS, "compare", "--plugins", "qp,libsvm-svr", "--datasets", "friedman[n=300,n_test=2000]",
        "--formulation", "eps-svr", "--store", str(tmp_path / "store.sqlite"), "--format", "json",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    exact, library = json.loads(done.stdout)
    assert (exact["solver"], library["solver"]) == ("qp", "libsvm-svr")
    for record in (exact, library):
        metrics = record["metrics"]
        assert set(metrics) == {"mse", "mae", "r2", "pearson"}
        assert 1.0 < metrics["mse"] < 6.0  # 1 is the noise
        assert metrics["pearson"] ** 2 == pytest.approx(metrics["r2"], abs=0.05)
        assert 0.7 < metrics["mae"] < metrics["mse"] ** 0.5
    assert library["relative_gap"] < 1e-2
    assert library["metrics"]["mse"] == pytest.approx(exact["metrics"]["mse"], rel=0.02)
