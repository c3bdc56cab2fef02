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
SPEC = RunSpec("p", "s", {}, "d", "d", {}, "c-svc", {}, "rbf", {}, 0, 0, limits=Limits(time_limit=2.0))


def compared(store, plugins, selection, *options, environment=None, cwd=None):
    """Run `harness compare` as a user would; return its exit code, its records and what it said beside them.

    plugins : a file of them, or several
    """
    paths = [
        option for path in ([plugins] if isinstance(plugins, Path) else plugins) for option in ("--plugin-path", path)
    ]
    command = [*HARNESS, "compare", *paths, "--plugins", selection, *options, "--store", store, "--format", "json"]
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, timeout=280, check=False, cwd=cwd,
        env={**os.environ, **(environment or {})},
    )  # fmt: skip
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout), done.stderr


@pytest.fixture
def log(tmp_path, monkeypatch):
    """Where slow-steps says which runs it carries out; it is alone."""
    path = tmp_path / "log"
    monkeypatch.setenv("SLOW_STEPS_LOG", str(path))
    for name, value in ALONE.items():
        monkeypatch.setenv(name, value)
    return path
