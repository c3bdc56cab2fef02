"""Models that are no dual solution, in isolated runs: scored and not certified, and refused where they are no model."""

import json
import subprocess

import numpy as np
import pytest

from harness.datasets.generators import Checkerboard
from tests.run.conftest import HARNESS, PLUGINS

pytestmark = pytest.mark.slow  # starts processes

DATA = "checkerboard[n=300,n_test=100]"
HONEST = ("honest", "sparse", "alone")
REFUSED = {
    "nan": ("invalid", "free_coef[3] is nan; coefficients must be finite"),
    "short": ("invalid", "one for each of 300 training points and 150 extra_points"),
    "no-coefficients": ("invalid", "ended with extra_points and no free_coef"),
    "two-models": ("invalid", "free_coef beside dual_coef or weights; a model is one of them"),
    "other-width": ("invalid", "a training point has 2 features: give an (m, 2) array"),
    "infinite-points": ("invalid", "hold inf; give finite numbers"),
    "text-points": ("invalid", "give real numbers"),
    "a-list": ("invalid", "expected (300,) real numbers, one for each of 300 training points and 0 extra_points"),
    "wide-claim": ("invalid", "have shape (0, 125000); a training point has 2 features"),
    "too-large": (
        "invalid",
        "the 100,000 that have a coefficient take 1.5 MB at least; a model's own points may take 1.0 MB",
    ),
    "long-claim": ("invalid", "the 600,000,000 take 4,577.6 MB at least; a model's own points may take 1.0 MB"),
    "forged-nan": ("invalid", "free_coef[300] is nan"),
    "forged-width": ("error", "own points are not of 2 features"),
    "forged-csr": ("invalid", "no CSR array"),
    "forged-size": ("error", "bytes arrived, which none has"),
}


def compared(tmp_path, ways, *further):
    command = [
        *HARNESS, "compare", "--plugin-path", str(PLUGINS / "free_models.py"), "--plugins",
        f"free-model[way=[{','.join(ways)}]]", "--datasets", DATA, "--metrics", "g-means", "--time-limit", "20",
        "--kernel", "rbf", "--gamma", "4", "--store", str(tmp_path / "store.sqlite"), "--format", "json", *further,
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)
    assert done.stdout, done.stderr
    return {record["parameters"].get("way", "honest"): record for record in json.loads(done.stdout)}


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    return compared(tmp_path_factory.mktemp("free"), (*HONEST, *REFUSED))


def expected_accuracies():
    """The accuracies on the training and test data of the difference of means, computed from its definition."""
    data = Checkerboard(n=300, n_test=100).load()
    x, y = data.x_train, data.y_train

    def scores(points):
        values = np.exp(-4.0 * ((points[:, None, :] - x[None]) ** 2).sum(-1))
        return values[:, y > 0].mean(1) - values[:, y < 0].mean(1)

    return (
        np.mean((scores(x) >= 0) == (y > 0)),
        np.mean((scores(data.x_test) >= 0) == (data.y_test > 0)),
    )


@pytest.mark.parametrize("way", ["honest", "sparse"])
def test_an_expansion_with_points_of_its_own_is_scored_by_its_definition(records, way):
    record = records[way]
    assert (record["status"], record["reason"]) == ("ok", "")
    train, test = expected_accuracies()
    assert record["train_accuracy"] == pytest.approx(train, abs=1e-12)
    assert record["test_accuracy"] == pytest.approx(test, abs=1e-12)
    assert 0.0 < record["metrics"]["g-means"] <= 1.0
    assert record["support_vectors"] == record["core_set_size"] == 300
    assert record["trace"][-1]["test_accuracy"] == record["test_accuracy"]


@pytest.mark.parametrize("way", REFUSED)
def test_what_is_no_model_is_refused_in_a_sentence(records, way):
    status, reason = REFUSED[way]
    assert records[way]["status"] == status, records[way]["reason"]
    assert reason in records[way]["reason"]
    assert records[way]["test_accuracy"] is None


def test_a_target_gap_is_missed_and_the_reason_says_why(tmp_path):
    record = compared(tmp_path, ("honest",), "--target-gap", "1e-3")["honest"]
    assert record["status"] == "missed"
    assert record["reason"] == "no gap can be certified of a model that is no dual solution of the problem"
    assert record["test_accuracy"] is not None
