import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.run import session
from harness.run.pool import Pool

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


class WarmPool(Pool):
    """A pool that one session after another uses, as the runs of one session do."""

    def close(self) -> None:
        """Stay: the next session may need these processes."""

    def end(self) -> None:
        super().close()


@pytest.fixture(scope="module")
def warm_pools():
    """The pools by what their processes may have read; they end with the module's tests."""
    pools: dict[str, WarmPool] = {}
    yield pools
    for pool in pools.values():
        pool.end()


@pytest.fixture
def warm_sessions(warm_pools, monkeypatch, tmp_path):
    """Let sessions in this process find the processes warm that an earlier one of the module started.

    What those have read is told by the environment, and by the plugins and data in the test's folder: a session for
    which any of that is new has processes of its own, as has one of several jobs, which pins them to cores.
    """

    pools = warm_pools

    def pool_for(cores, numba_cache, stop):
        if cores is not None:
            return Pool(cores, numba_cache, stop)
        surroundings = sorted(item for item in os.environ.items() if item[0] != "PYTEST_CURRENT_TEST")
        files = sorted(path for path in tmp_path.rglob("*.*") if path.suffix in (".py", ".csv", ".npz"))
        read = hashlib.sha256(repr((surroundings, sys.path, files)).encode())
        for file in files:
            read.update(file.read_bytes())
        pool = pools.setdefault(read.hexdigest(), WarmPool(None, numba_cache, stop))
        pool.stop = stop
        return pool

    monkeypatch.setattr(session, "Pool", pool_for)
