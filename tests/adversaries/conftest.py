"""One grid of every way to deceive: driven once, judged by many tests."""

import pytest

from tests.adversaries.plugins import PLUGINS
from tests.adversaries.plugins import cheats as ways
from tests.run.conftest import compared

WAYS = ("honest", *dict.fromkeys((*ways.BEFORE, *ways.AT_END, *ways.INSTEAD)))
OTHERS = ("skip-raises", "skip-true", "init-raises", "label-raises")


def way_of(record):
    return record["parameters"]["way"] if record["solver"] == "cheat" else record["solver"]


def driven(store, names):
    """Return (exit code, records by way, standard error) of `harness compare` over some of them."""
    chosen = [name for name in names if name not in OTHERS]
    selection = ",".join([f"cheat[way=[{','.join(chosen)}]]", *(name for name in names if name in OTHERS)])
    code, records, errors = compared(
        store, PLUGINS / "cheats.py", selection, "--formulation", "c-svc-nobias",
        "--datasets", "checkerboard[n=200,n_test=50]", "--time-limit", "20",
    )  # fmt: skip
    return code, {way_of(record): record for record in records}, errors


@pytest.fixture(scope="session")
def cheats(tmp_path_factory):
    """Return what :func:`driven` does over all of them, and the store."""
    store = tmp_path_factory.mktemp("cheats") / "store.sqlite"
    return *driven(store, (*WAYS, *OTHERS)), store
