import json
import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from harness import Limits
from harness.run.messages import RunSpec

PLUGINS = Path(__file__).parent / "plugins"
HARNESS = [sys.executable, "-m", "harness.cli.main"]
ALONE = {"HARNESS_DISABLE_PLUGINS": ",".join(entry.name for entry in entry_points(group="harness"))}
"""For a command that finds no installed plugin: each of its processes is there 0.1 s earlier."""
CHECKERBOARD = "checkerboard[n=200,n_test=50]"
SPEC = RunSpec("p", "s", {}, "d", "d", {}, "c-svc", {}, "rbf", {}, 0, 0, limits=Limits(time_limit=2.0))


def compared(store, plugin, selection, *options, environment=None, cwd=None):
    """Run `harness compare` with a file of plugins as a user would; return its exit code, its records and its messages."""
    if "--datasets" not in options:
        options = ("--datasets", CHECKERBOARD, *options)
    options = (*options, "--store", store, "--format", "json")
    command = [*HARNESS, "compare", "--plugin-path", plugin, "--plugins", selection, *options]
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, timeout=280, check=False, cwd=cwd,
        env={**os.environ, **(environment or {})},
    )  # fmt: skip
    assert done.stdout, done.stderr
    assert "Traceback" not in done.stderr
    return done.returncode, json.loads(done.stdout), done.stderr


def grid(folder, plugin, parameter, expected, *options, others=(), **more):
    """Compare a solver, which has the name of its plugin's file, with each value of a parameter; return the records by value."""
    solver = plugin.stem.replace("_", "-")
    selection = ",".join([*others, f"{solver}[{parameter}=[{','.join(expected)}]]"])
    _, records, _ = compared(folder / "store.sqlite", plugin, selection, *options, **more)
    return {record["parameters"].get(parameter) or record["solver"]: record for record in records}


def check_end(record, status, reason):
    """Raise AssertionError unless a record has one of the statuses (a|b) and a reason with these words."""
    assert record["status"] in status.split("|"), record["reason"]
    assert reason in record["reason"]


def seconds_until_killed(record):
    return float(record["reason"].rpartition("killed after ")[2].split()[0])


@pytest.fixture
def log(tmp_path, monkeypatch):
    """Where slow-steps says which runs it carries out; it is alone."""
    path = tmp_path / "log"
    monkeypatch.setenv("SLOW_STEPS_LOG", str(path))
    for name, value in ALONE.items():
        monkeypatch.setenv(name, value)
    return path
