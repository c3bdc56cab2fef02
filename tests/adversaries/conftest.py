"""One grid of every way to deceive: driven once, judged by many tests."""

import json
import subprocess

import pytest

from tests.adversaries.plugins import PLUGINS
from tests.adversaries.plugins import cheats as ways
from tests.run.conftest import HARNESS

CHEATS = PLUGINS / "cheats.py"
WAYS = ("honest", *dict.fromkeys((*ways.BEFORE, *ways.AT_END, *ways.INSTEAD)))
OTHERS = ("skip-raises", "skip-true", "init-raises", "label-raises")


def way_of(record):
    return record["parameters"]["way"] if record["solver"] == "cheat" else record["solver"]


def command(store, names):
    chosen = [name for name in names if name not in OTHERS]
    selection = ",".join([f"cheat[way=[{','.join(chosen)}]]", *(name for name in names if name in OTHERS)])
    return [
        *HARNESS, "compare", "--plugin-path", str(CHEATS), "--plugins", selection, "--formulation", "c-svc-nobias",
        "--datasets", "checkerboard[n=200,n_test=50]", "--time-limit", "20", "--store", str(store), "--format", "json",
    ]  # fmt: skip


@pytest.fixture(scope="session")
def cheats(tmp_path_factory):
    """Return (exit code, records by way, standard error, store) of `harness compare` over all of them."""
    store = tmp_path_factory.mktemp("cheats") / "store.sqlite"
    done = subprocess.run(command(store, (*WAYS, *OTHERS)), capture_output=True, text=True, timeout=280, check=False)
    assert done.stdout, done.stderr
    return done.returncode, {way_of(record): record for record in json.loads(done.stdout)}, done.stderr, store
