import json
import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

PLUGINS = Path(__file__).parent / "plugins"
HARNESS = [sys.executable, "-m", "harness.cli.main"]
ALONE = {"HARNESS_DISABLE_PLUGINS": ",".join(entry.name for entry in entry_points(group="harness"))}
"""For a command that finds no installed plugin: each of its processes is there 0.1 s earlier."""


@pytest.fixture
def compare(tmp_path):
    """Run `harness compare` as a user would; returns (exit code, records, stderr)."""

    def run(*arguments, environment=None, timeout=240):
        command = [*HARNESS, "compare", "--format", "json", "--store", str(tmp_path / "store.sqlite"), *arguments]
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=timeout,
            env={**os.environ, **(environment or {})},
            check=False,
        )
        records = json.loads(done.stdout) if done.stdout.strip().startswith("[") else []
        return done.returncode, records, done.stderr

    return run


@pytest.fixture
def plugins():
    return PLUGINS


@pytest.fixture
def log(tmp_path, monkeypatch):
    """Where slow-steps says which runs it carries out; it is alone."""
    path = tmp_path / "log"
    monkeypatch.setenv("SLOW_STEPS_LOG", str(path))
    for name, value in ALONE.items():
        monkeypatch.setenv(name, value)
    return path
