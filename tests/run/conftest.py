import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PLUGINS = Path(__file__).parent / "plugins"
HARNESS = [sys.executable, "-m", "harness.cli.main"]


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
