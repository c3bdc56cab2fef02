"""What a run's process starts is held, counted and ended, with control groups and without; and it is waited for alone."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from harness.run.descendants import Descendants, living, own_group
from tests.run.conftest import ALONE, HARNESS, PLUGINS

LIMIT_SECONDS = 5.0
LEFT = {"executor": 2, "many": 60, "guards": 2, "hidden-grandchild": 1, "stopped-program": 1, "printing": 1}
EXPECTED = {
    **{what: ("error", f"left {count} child process") for what, count in LEFT.items()},
    "daemon": ("error", "child process"),  # one after another: how many are seen at once is chance
    "pool-closed": ("ok", ""),
    "exits-with-helpers": ("crashed", "exited with code 0 without a result"),
    "daemon-and-hangs": ("timeout", f"time limit of {LIMIT_SECONDS:g} s"),
    "forks-idle": ("ok", ""),
    "forks-large": ("memory", "resident memory passed the limit of 450 MB"),
    "shared-map": ("memory", "resident memory passed the limit of 450 MB"),
    "nothing": ("ok", ""),
}
WITHOUT_GROUPS = ("executor", "daemon", "daemon-and-hangs", "guards", "hidden-grandchild", "forks-large", "nothing")


@pytest.fixture(scope="module", params=["as the machine has it", "no groups"])
def grid(request, tmp_path_factory):
    """One drive of the command with control groups, if the machine has them, and one without: their records."""
    things, variable = (EXPECTED, "") if request.param != "no groups" else (WITHOUT_GROUPS, "1")
    folder = tmp_path_factory.mktemp("processes")
    command = [
        *HARNESS, "compare", "--plugin-path", str(PLUGINS / "leaves.py"),
        "--plugins", f"leaves[what=[{','.join(things)}]]", "--datasets", "checkerboard[n=200,n_test=50]",
        "--time-limit", str(LIMIT_SECONDS), "--memory-limit", "450M",
        "--store", str(folder / "store.sqlite"), "--format", "json",
    ]  # fmt: skip
    environment = {**os.environ, **ALONE, "HARNESS_NO_GROUPS": variable}
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, env=environment, check=False)
    assert done.stdout, done.stderr
    return {record["parameters"]["what"]: record for record in json.loads(done.stdout)}


@pytest.mark.slow
@pytest.mark.parametrize("what", EXPECTED)
def test_what_starts_processes_has_its_row(grid, what):
    if what not in grid:
        pytest.skip("the same with groups and without")
    status, reason = EXPECTED[what]
    assert grid[what]["status"] == status, grid[what]["reason"]
    assert reason in grid[what]["reason"]
    assert "could not kill" not in grid[what]["reason"]


@pytest.mark.slow
def test_nothing_lives_on(grid):
    until = time.monotonic() + 2.0
    while left := _living():
        assert time.monotonic() < until, left
        time.sleep(0.1)


def _living():
    names = [p.info["cmdline"] or [] for p in psutil.process_iter(["cmdline"])]
    return [name for name in names if name in (["sleep", "300.0"], ["yes"]) or "leaves.py" in " ".join(name)]


def names(pids):
    return [Path(f"/proc/{pid}/comm").read_text().strip() for pid in pids]


def test_living_finds_what_threads_forked_and_leaves_out_the_dead():
    script = (
        "import subprocess, threading, time\n"
        "def run(): subprocess.Popen(['sleep', '60']); time.sleep(60)\n"
        "subprocess.Popen(['true'])\n"
        "threading.Thread(target=run, daemon=True).start()\n"
        "time.sleep(60)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", script])
    try:
        until = time.monotonic() + 20.0
        while names(living(parent.pid)) != ["sleep"] and time.monotonic() < until:
            time.sleep(0.02)
        assert names(living(parent.pid)) == ["sleep"]
    finally:
        for pid in [*living(parent.pid), parent.pid]:
            os.kill(pid, 9)
        parent.wait()


def test_what_was_there_before_a_run_is_not_its(monkeypatch):
    monkeypatch.setenv("HARNESS_NO_GROUPS", "1")
    own_group.cache_clear()
    helper = subprocess.Popen(["sleep", "60"])
    try:
        descendants = Descendants()
        descendants.begin()
        assert descendants.end() == (0, [])
        assert helper.poll() is None
    finally:
        helper.kill()
        helper.wait()
        own_group.cache_clear()
