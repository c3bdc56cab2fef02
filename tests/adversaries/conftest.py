"""One grid of every solver that deceives: driven once, judged by many tests."""

import json
import subprocess

import pytest

from tests.adversaries.plugins import PLUGINS
from tests.run.conftest import HARNESS

CHEATS = PLUGINS / "cheats.py"


@pytest.fixture(scope="session")
def cheats(tmp_path_factory):
    """Return (exit code, records by solver, standard error, store) of `harness compare` over all of them."""
    store = tmp_path_factory.mktemp("cheats") / "store.sqlite"
    command = [
        *HARNESS, "compare", "--plugin-path", str(CHEATS), "--plugins", "cheats/*", "--formulation", "c-svc-nobias",
        "--datasets", "checkerboard[n=200,n_test=50]", "--time-limit", "20", "--store", str(store), "--format", "json",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)
    assert done.stdout, done.stderr
    return done.returncode, {record["solver"]: record for record in json.loads(done.stdout)}, done.stderr, store
