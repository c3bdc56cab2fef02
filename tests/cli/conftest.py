import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

SLOW = str(Path(__file__).parent / "slow_plugin.py")
COMMAND = [sys.executable, "-m", "harness.cli.main"]


@pytest.fixture
def invoke(tmp_path, monkeypatch):
    """Run the command in this process."""
    from harness.registry import discovery as registry

    monkeypatch.setenv("HARNESS_STORE", str(tmp_path / "default.sqlite"))
    monkeypatch.setattr(registry, "_shared_registry", registry._shared_registry)  # the command shares its own

    def run(*arguments):
        from harness.cli.main import cli

        return CliRunner().invoke(cli, list(arguments), prog_name="harness")

    return run


@pytest.fixture
def harness(tmp_path):
    """Run the command in a process of its own."""

    def run(*arguments, **environment):
        surroundings = {**os.environ, "HARNESS_STORE": str(tmp_path / "default.sqlite"), **environment}
        return subprocess.run(
            [*COMMAND, *arguments], capture_output=True, text=True, env=surroundings, timeout=60, check=False
        )

    return run


@pytest.fixture
def slow():
    """Path of a plugin whose solvers sleep, raise, skip or return at once."""
    return SLOW
