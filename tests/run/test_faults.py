"""Faults of solvers, each in a real bad plugin: one row with status and reason, the others intact."""

import numpy as np
import pytest

from harness.datasets.generators import Checkerboard
from tests.run.conftest import PLUGINS, check_end, grid, seconds_until_killed

pytestmark = pytest.mark.slow  # the first one runs them all

LIMIT_SECONDS = 1.0
EXPECTED = {
    "raises": ("error", "in raises: ValueError: a fault of the solver"),
    "writes-to-a-row": ("error", "read-only"),
    "sleeps": ("timeout", "time limit of 1 s"),
    "never-yields": ("timeout", "time limit of 1 s"),
    "ignores-sigterm": ("timeout", "time limit of 1 s"),
    "segfaults": ("crashed", "SIGSEGV"),
    "calls-exit": ("crashed", "sys.exit(4)"),
    "eats-memory": ("memory", "memory"),
    "yields-forever": ("budget|environment", "time limit of 1 s"),
    "prints-megabytes": ("error", "printed"),
    "spawns-and-waits": ("timeout", "time limit of 1 s"),
    "free": ("ok", ""),
    "forged-nan": ("invalid", "number 200 is nan"),
    "forged-width": ("invalid", "a training point has 2 features"),
    "forged-size": ("error", "bytes arrived, which none has"),
}


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    """One grid of every fault beside two good solvers; two at a time, since most of it is processes that start."""
    return grid(
        tmp_path_factory.mktemp("faults"), PLUGINS / "faulty.py", "fault", EXPECTED, "--time-limit", LIMIT_SECONDS,
        "--memory-limit", "600M", "--jobs", "2", "--kernel", "rbf", "--gamma", "4", "--metrics", "g-means",
        others=("smo", "well-behaved"),
    )  # fmt: skip


@pytest.mark.parametrize("fault", EXPECTED)
def test_each_fault_is_one_row_with_its_status_and_reason(records, fault):
    check_end(records[fault], *EXPECTED[fault])


def test_the_others_are_intact(records):
    assert set(records) == {*EXPECTED, "smo", "well-behaved"}
    assert records["smo"]["status"] == records["well-behaved"]["status"] == "ok"


def test_a_run_without_a_result_is_killed_in_time_and_has_the_cpu_time_inside_the_solver(records):
    """One that sleeps is killed at its limit and 2 s; one that works too, or within five limits on a busy machine."""
    for fault, limits in (("sleeps", 1.0), ("ignores-sigterm", 1.0), ("never-yields", 5.0)):
        assert seconds_until_killed(records[fault]) <= limits * LIMIT_SECONDS + 2.0
    assert records["sleeps"]["killed_cpu_seconds"] < 0.3
    assert 0.0 < records["never-yields"]["killed_cpu_seconds"] < LIMIT_SECONDS + 2.0
    for record in records.values():
        assert (record["killed_cpu_seconds"] is None) or record["fit_seconds"] is None
    assert records["smo"]["killed_cpu_seconds"] is None
    assert records["eats-memory"]["peak_rss_bytes"] <= 650 * 2**20


def test_a_model_with_points_of_its_own_is_scored_by_its_definition(records):
    data, record = Checkerboard(n=200, n_test=50).load(), records["free"]
    x, y = data.x_train, data.y_train
    for part, points, labels in (("train", x, y), ("test", data.x_test, data.y_test)):
        values = np.exp(-4.0 * ((points[:, None, :] - x[None]) ** 2).sum(-1))
        scores = values[:, y > 0].mean(1) - values[:, y < 0].mean(1)
        assert record[f"{part}_accuracy"] == pytest.approx(np.mean((scores >= 0) == (labels > 0)), abs=1e-12)
    assert 0.0 < record["metrics"]["g-means"] <= 1.0
    assert record["support_vectors"] == record["core_set_size"] == 200
    assert record["trace"][-1]["test_accuracy"] == record["test_accuracy"]
    assert {records[way]["test_accuracy"] for way in EXPECTED if way.startswith("forged")} == {None}
