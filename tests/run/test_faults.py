"""Faults of solvers, each a real bad plugin: one row with status and reason, the others intact, exit code 1."""

import pytest

from tests.run.conftest import PLUGINS, compared

pytestmark = pytest.mark.slow  # each test starts processes of its own, or drives every solver

LIMIT_SECONDS = 1.0

EXPECTED = {
    "raises": ("error", "plugin 'faulty', faulty.py:71, in raises: ValueError: a fault of the solver"),
    "writes-to-a-row": ("error", "read-only; what the problem hands out is read-only: copy it first, row = problem"),
    "sleeps": ("timeout", "time limit of 1 s"),
    "never-yields": ("timeout", "time limit of 1 s"),
    "ignores-sigterm": ("timeout", "time limit of 1 s"),
    "segfaults": ("crashed", "SIGSEGV"),
    "calls-exit": ("crashed", "sys.exit(4)"),
    "eats-memory": ("memory", "memory"),
    "yields-forever": ("budget", "time limit of 1 s"),
    "prints-megabytes": ("error", "printed"),
    "spawns-and-waits": ("timeout", "time limit of 1 s"),
}


@pytest.fixture(scope="module")
def grid(tmp_path_factory):
    """One grid of every faulty solver beside two good ones; two at a time, since most of it is processes that start."""
    folder = tmp_path_factory.mktemp("faults")
    selection = f"smo,well-behaved,faulty[fault=[{','.join(EXPECTED)}]]"
    code, records, errors = compared(
        folder / "store.sqlite", PLUGINS / "faulty.py", selection,
        "--datasets", "checkerboard[n=200,n_test=50]", "--time-limit", LIMIT_SECONDS, "--memory-limit", "600M", "--jobs", "2",
    )  # fmt: skip
    return code, {record["parameters"].get("fault") or record["solver"]: record for record in records}, errors


@pytest.mark.parametrize("fault", EXPECTED)
def test_each_fault_is_one_row_with_its_status_and_reason(grid, fault):
    status, reason = EXPECTED[fault]
    record = grid[1][fault]
    assert record["status"] == status, record["reason"]
    assert reason in record["reason"]


def test_there_is_one_row_each_and_exit_code_1_without_a_traceback(grid):
    code, records, errors = grid
    assert set(records) == {*EXPECTED, "smo", "well-behaved"}
    assert records["smo"]["status"] == records["well-behaved"]["status"] == "ok"
    assert code == 1
    assert "Traceback" not in errors


def test_a_sleeper_is_killed_within_its_limit_plus_two_seconds(grid):
    """One that works is, too, on a machine that does nothing else, and within five limits on a busy one."""
    for solver, limits in (("sleeps", 1.0), ("ignores-sigterm", 1.0), ("never-yields", 5.0)):
        killed_after = float(grid[1][solver]["reason"].rpartition("killed after ")[2].split()[0])
        assert killed_after <= limits * LIMIT_SECONDS + 2.0


def test_of_a_run_without_a_result_the_host_keeps_the_cpu_time_inside_the_solver(grid):
    records = grid[1]
    assert records["sleeps"]["killed_cpu_seconds"] < 0.3
    assert 0.0 < records["never-yields"]["killed_cpu_seconds"] < LIMIT_SECONDS + 2.0
    for record in records.values():
        assert (record["killed_cpu_seconds"] is None) or record["fit_seconds"] is None
    assert records["smo"]["killed_cpu_seconds"] is None


def test_memory_limit_holds(grid):
    assert grid[1]["eats-memory"]["peak_rss_bytes"] <= 650 * 2**20
