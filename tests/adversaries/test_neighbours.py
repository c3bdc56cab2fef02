"""What is done to a run from outside, by a rival or anybody: it goes on, or its row is the machine's and is measured again."""

import time

import pytest

from tests.adversaries.plugins import PLUGINS
from tests.run.conftest import check_end, compared

pytestmark = pytest.mark.slow  # each compares
DISTURBED = {  # way -> what its reason says
    "stopped-and-fails": "its process was stopped",
    "worker-limited-and-fails": "RLIMIT_NOFILE of its process is (20, 20)",
}


def neighbours(store, solvers, *options, **environment):
    options = ("--time-limit", "20", *options)
    code, records, errors = compared(store, PLUGINS / "neighbours.py", solvers, *options, environment=environment)
    return code, {(record["solver"], record["parameters"]["way"]): record for record in records}, errors


@pytest.fixture(scope="module")
def disturbed(tmp_path_factory):
    """Runs that were disturbed, twice by the same command."""
    store = tmp_path_factory.mktemp("neighbours") / "store.sqlite"
    solvers = f"neighbour[way=[stopped,limits-itself-and-fails,{','.join(DISTURBED)}]]"
    return [neighbours(store, solvers)[1] for _ in range(2)]


@pytest.mark.parametrize("way", DISTURBED)
def test_a_run_that_fails_after_it_was_stopped_or_limited_from_outside_is_measured_again(disturbed, way):
    for records in disturbed:
        record = records["neighbour", way]
        check_end(record, "environment", DISTURBED[way])
        assert not record["reused"]


def test_a_solver_that_limits_its_own_process_and_fails_has_failed(disturbed):
    record = disturbed[1]["neighbour", "limits-itself-and-fails"]
    check_end(record, "error", "ValueError: no luck")
    assert record["reused"]


def test_a_run_that_is_stopped_from_outside_is_continued_and_says_so(disturbed):
    record = disturbed[0]["neighbour", "stopped"]
    assert record["status"] == "ok"
    assert len(record["faults"]) == 1
    assert record["fit_seconds"] < 10.0


def test_what_a_solver_does_to_its_rivals_costs_them_nothing(tmp_path):
    began, solvers = time.monotonic(), "victim,neighbour[way=[stops-rivals,limits-rivals]]"
    code, records, errors = neighbours(tmp_path / "store", solvers, "--repeat", "2")
    assert code == 0, errors
    assert all(record["status"] == "ok" and record["relative_gap"] < 1e-2 for record in records.values())
    assert time.monotonic() - began < 60.0


def test_a_certifier_that_is_stopped_is_continued_and_the_row_has_all_its_figures(tmp_path):
    began = time.monotonic()
    options, mark = ("--metrics", "stops-the-certifier"), str(tmp_path / "mark")
    code, records, errors = neighbours(tmp_path / "store", "victim", *options, STOPPED_MARK=mark)
    assert code == 0, errors
    record = records["victim", "none"]
    assert record["metrics"] == {"stops-the-certifier": 1.0}
    assert record["relative_gap"] < 1e-2
    assert time.monotonic() - began < 60.0
