"""Values at new points are those between training points: they lose no more to where the points lie."""

import numpy as np
import pytest
import scipy.sparse

import harness
from harness import RBF, KernelOracle, Poly
from harness.testing.running import recorded_work


@pytest.mark.parametrize("kind", ["dense", "float32", "csr"])
@pytest.mark.parametrize("width", [3, 40])
@pytest.mark.parametrize("kernel", [RBF(gamma=0.1), Poly(degree=2)])
def test_a_model_s_scores_of_its_training_points_are_those_of_training(kernel, width, kind):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30, width))
    x = {"dense": x, "float32": x.astype(np.float32), "csr": scipy.sparse.csr_array(x * (x > 0))}[kind]
    coef = rng.normal(size=30) * (np.arange(30) % 3 > 0)
    oracle = KernelOracle(kernel, x)
    with recorded_work() as work:
        new = oracle.expand_new(coef, x)
    assert oracle.counter.evaluations == work.values == 30 * 20
    assert new == pytest.approx(oracle.expand(coef), rel=1e-11, abs=1e-11)


@pytest.mark.parametrize("width", [3, 40])
@pytest.mark.parametrize("offset", [1e4, 1e8])
def test_neither_training_nor_new_points_lose_digits_to_an_offset(offset, width):
    rng = np.random.default_rng(1)
    x, new, coef = rng.normal(size=(30, width)), rng.normal(size=(7, width)), rng.normal(size=30)
    tame, far = KernelOracle(RBF(gamma=1.0 / width), x), KernelOracle(RBF(gamma=1.0 / width), x + offset)
    close = 1e-14 * offset * 30
    assert far.expand(coef) == pytest.approx(tame.expand(coef), abs=close)
    assert far.expand_new(coef, new + offset) == pytest.approx(tame.expand_new(coef, new), abs=close)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_scores_that_are_no_numbers_are_a_fault_and_no_errors(task, tmp_path):
    rng = np.random.default_rng(2)
    x = rng.normal(size=(40, 3))
    test = x.copy()
    test[5] = 1e200  # its cube overflows
    y = np.sign(x[:, 0]) if task == "classification" else x[:, 0]
    data = harness.data(x, y, X_test=test, y_test=y, task=task)
    result = harness.compare("smo", data, kernel=Poly(degree=3), C=1.0, quiet=True, store=tmp_path / "s.sqlite")
    (record,) = result.records
    assert record["status"] == "ok"
    assert record["test_accuracy"] is None
    assert record["metrics"] == {}
    (fault,) = record["faults"]
    assert fault.startswith("f(x) is not a finite number at 1 of 40 test points, so that no test error is given")
