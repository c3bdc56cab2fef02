"""What counts to the limits of a run, and what is written down of it: CPU time and memory of all its processes, on any machine."""

import contextlib
import os
import subprocess
import sys
import time

import pytest

from tests.run.conftest import ALONE, PLUGINS, compared
from tests.run.plugins import takes

LIMIT_MEGABYTES = 310  # a run of nothing takes 75 to 130 MB
OK = ("ok", "")
PASSED = ("memory", f"its memory passed the limit of {LIMIT_MEGABYTES} MB")
REFUSED = ("memory", "MemoryError: Unable to allocate 750. MiB")
ENDS = {
    "nothing": OK,
    "pool": OK,
    "unwaited": OK,
    "adopted": OK,
    "working": OK,
    "killed": ("timeout", "time limit"),
    "refused-in-a-pool": REFUSED,
    "refused-in-a-program": REFUSED,
    "refused-in-a-program-that-is-not-checked": REFUSED,
    "aborted-pool": ("memory", "std::bad_alloc"),
    "failed-program": ("error", "CalledProcessError"),
    "mapped-file": OK,
    "file-in-memory": PASSED,
    "shared-memory": PASSED,
    "shared-memory-once": OK,
    "system-v": PASSED,
    "forgotten-peak": OK,
}


def run(folder, selection, *options, limit, environment=None):
    _, records, _ = compared(
        folder / "store.sqlite", PLUGINS / "takes.py", selection, "--datasets", "checkerboard[n=200,n_test=50]",
        "--time-limit", limit, *options, environment={**ALONE, **(environment or {})},
    )  # fmt: skip
    return {record["parameters"].get("what", record["solver"]): record for record in records}


@pytest.fixture(scope="module")
def grid(tmp_path_factory):
    """One comparison of all that takes CPU time or memory; the time limit is no matter of theirs."""
    selection = f"asks-one,takes[what=[{','.join(ENDS)}]]"
    return run(tmp_path_factory.mktemp("grid"), selection, "--memory-limit", f"{LIMIT_MEGABYTES}M", limit=6.0)


@pytest.mark.slow
@pytest.mark.parametrize("what", ENDS)
def test_a_run_ends_by_what_all_its_processes_do(grid, what):
    status, reason = ENDS[what]
    assert grid[what]["status"] == status, grid[what]["reason"]
    assert reason in grid[what]["reason"]


@pytest.mark.slow
def test_cpu_time_is_that_of_all_processes(grid):
    assert grid["nothing"]["cpu_seconds"] < 0.5 * takes.CPU_SECONDS
    assert grid["pool"]["cpu_seconds"] >= 2 * takes.CPU_SECONDS
    for what in ("unwaited", "adopted"):
        assert 0.9 * takes.CPU_SECONDS <= grid[what]["cpu_seconds"] < 2 * takes.CPU_SECONDS
    assert 0.0 < grid["working"]["cpu_seconds"] < grid["working"]["fit_seconds"] + 0.2
    assert grid["killed"]["killed_cpu_seconds"] > 0.2


@pytest.mark.slow
def test_memory_is_anonymous_or_shared_and_each_page_counts_once(grid):
    none = grid["nothing"]["peak_rss_bytes"]
    half = takes.MEGABYTES << 19
    assert grid["mapped-file"]["peak_rss_bytes"] < none + half
    assert none + 0.9 * half < grid["shared-memory-once"]["peak_rss_bytes"] < none + 1.7 * half
    assert none + 0.9 * half < grid["forgotten-peak"]["peak_rss_bytes"] < none + 1.7 * half
    assert grid["file-in-memory"]["peak_rss_bytes"] > LIMIT_MEGABYTES << 20


@pytest.mark.slow
def test_what_a_process_wrote_that_was_refused_memory_is_in_its_row(grid):
    for what in ("refused-in-a-program", "refused-in-a-program-that-is-not-checked"):
        assert "_ArrayMemoryError: Unable to allocate" in grid[what]["output"]


@pytest.mark.slow
def test_compilation_is_on_no_clock(grid):
    record = grid["asks-one"]
    assert record["compile_seconds"] > 0.1
    assert record["info"]["oracle_seconds"] <= record["fit_seconds"]


# -- a busy machine ---------------------------------------------------------------------------------------


SPINNING = {"spins-briefly": "ok", "spins-for-ever": "budget", "hangs": "timeout"}
SPINS = """
import os, sys, time
flag, began = sys.argv[1], 0.0
while True:
    changed = os.path.getmtime(flag)
    if changed == began:
        time.sleep(0.01)
        continue
    began, until = changed, time.monotonic() + 4.0
    while time.monotonic() < until and os.path.getmtime(flag) == began:
        sum(range(1000))
"""


@contextlib.contextmanager
def busy_core(folder, processes):
    """Have other processes work on one core once a run's clock began, and what this process starts on no other."""
    before, flag = os.sched_getaffinity(0), folder / "busy"
    flag.touch()
    os.utime(flag, (0, 0))
    os.sched_setaffinity(0, {min(before)})
    with contextlib.ExitStack() as others:
        try:
            for _ in range(processes):  # each in a session, since sessions may have equal shares
                command = [sys.executable, "-c", SPINS, str(flag)]
                others.callback(others.enter_context(subprocess.Popen(command, start_new_session=True)).kill)
            yield {"TAKES_BUSY": str(flag)}
        finally:
            os.sched_setaffinity(0, before)


@pytest.mark.slow
def test_the_time_that_other_work_took_does_not_count_to_the_limit(tmp_path):
    """On a machine that is busier than the test makes it a run may be cut by the bound of wall time."""
    limit = 1.25 * takes.CPU_SECONDS
    with busy_core(tmp_path, 3) as environment:
        records = run(tmp_path, f"takes[what=[{','.join(SPINNING)}]]", limit=limit, environment=environment)
    for what, status in SPINNING.items():
        record = records[what]
        assert record["status"] in (status, "environment"), record["reason"]
        assert record["fit_seconds"] is None or record["fit_seconds"] > limit
        used = record["cpu_seconds"] or record["killed_cpu_seconds"]
        assert (used > 0.7 * limit) or record["status"] == "environment"


@pytest.mark.slow
def test_a_run_cut_on_a_disturbed_machine_is_measured_again(tmp_path):
    options = {"selection": "takes[what=[spins-for-ever,hangs]]", "limit": 0.5}
    with busy_core(tmp_path, 12) as environment:
        records = run(tmp_path, environment=environment, **options)
    for record in records.values():
        assert record["status"] == "environment", record["reason"]
        assert "cut at the time limit of 0.5 s after 0." in record["reason"]
        assert "the machine was busy; such a run is measured again when the command is repeated" in record["reason"]
    again = run(tmp_path, **options)
    assert all(again[what]["measured_at"] > record["measured_at"] for what, record in records.items())


def test_who_sleeps_uses_the_limit(tmp_path):
    began = time.monotonic()
    record = run(tmp_path, "takes[what=sleeps]", limit=0.5)["sleeps"]
    assert (record["status"], record["stopped_by"]) == ("timeout", "time")
    assert float(record["reason"].rpartition("killed after ")[2].split()[0]) < 3.0
    assert time.monotonic() - began < 30.0
