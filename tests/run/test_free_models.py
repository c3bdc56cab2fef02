"""Models that are no dual solution, in isolated runs: scored and not certified, and refused where they are no model."""

import numpy as np
import pytest

from harness.datasets.generators import Checkerboard
from tests.run.conftest import PLUGINS, compared

pytestmark = pytest.mark.slow  # starts processes

DATA = "checkerboard[n=300,n_test=100]"
REFUSED = {
    "forged-nan": ("invalid", "free_coef must be finite numbers; number 300 is nan"),
    "forged-width": ("invalid", "a training point has 2 features"),
    "forged-size": ("error", "bytes arrived, which none has"),
}


def records_of(folder, ways, *further):
    _, records, _ = compared(
        folder / "store.sqlite", PLUGINS / "free_models.py", f"free-model[way=[{','.join(ways)}]]", "--datasets", DATA,
        "--metrics", "g-means", "--time-limit", "20", "--kernel", "rbf", "--gamma", "4", *further,
    )  # fmt: skip
    return {record["parameters"].get("way", "honest"): record for record in records}


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    return records_of(tmp_path_factory.mktemp("free"), ("honest", *REFUSED))


def expected_accuracies():
    """The accuracies on the training and test data of the difference of means, computed from its definition."""
    data = Checkerboard(n=300, n_test=100).load()
    x, y = data.x_train, data.y_train

    def scores(points):
        values = np.exp(-4.0 * ((points[:, None, :] - x[None]) ** 2).sum(-1))
        return values[:, y > 0].mean(1) - values[:, y < 0].mean(1)

    return (np.mean((scores(x) >= 0) == (y > 0)), np.mean((scores(data.x_test) >= 0) == (data.y_test > 0)))


def test_an_expansion_with_points_of_its_own_is_scored_by_its_definition(records):
    record = records["honest"]
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
    record = records_of(tmp_path, ("honest",), "--target-gap", "1e-3")["honest"]
    assert record["status"] == "missed"
    told = "free-model has no parameter gap and no with_target_gap: it is not told the target"
    assert record["reason"] == f"no gap can be certified of a model that is no dual solution of the problem; {told}"
    assert record["test_accuracy"] is not None
