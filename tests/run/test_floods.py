"""Much that a solver says of itself: bounded before it is made into text or sent, and said so."""

import json
import subprocess
import time

import numpy as np
import pytest

from harness.measure.trace import claims
from harness.run.cleaning import bounded
from harness.run.execute import fault, tail
from harness.run.record import INFO, Status
from tests.run.conftest import HARNESS, PLUGINS

LARGE = {"many-names": 1_000_000, "long-text": 50_000_000}
KEPT = 20_000  # bytes of a row that holds a thousand entries


@pytest.mark.parametrize(
    ("info", "cut"),
    [
        ({f"k{i}": i for i in range(1000)}, False),
        ({f"k{i}": i for i in range(1001)}, True),
        ({"a": list(range(20_000))}, True),
        ({"a": np.arange(20_000)}, True),
        ({"a": "x" * 4000}, False),
        ({"a": "x" * 4001}, True),
        ({f"k{i}": "x" * 4000 for i in range(30)}, True),
        ({"x" * 201: 1}, True),
        ({"a": [[[1.5]]], "b": float("inf")}, False),
    ],
)
def test_what_is_cut_is_known(info, cut):
    found, is_cut = claims(info, *INFO)
    assert is_cut is cut
    assert len(json.dumps(found)) < INFO[1] + 4000 + 30 * INFO[0]


def test_what_is_cut_is_not_looked_at():
    read = []

    class Watched(dict):
        def items(self):
            for item in super().items():
                read.append(item)
                yield item

    claims(Watched({f"k{i}": list(range(100_000)) for i in range(100)}), 10, 1000)
    assert len(read) <= 11
    found, _ = bounded({"a": (item for item in ())}, 10, 1000)
    assert found["a"].startswith("<generator")


def raised(error):
    try:
        raise error
    except type(error) as caught:
        return caught


def test_a_message_of_100_mb_is_shortened_before_anything_is_made_of_it():
    error = raised(RuntimeError("first line\n" + "x" * 100_000_000))
    began = time.perf_counter()
    found = fault(error)
    assert time.perf_counter() - began < 0.1, "a copy of it takes as long as that"
    assert found["status"] is Status.ERROR
    assert found["reason"].startswith("RuntimeError: first line (test_floods.py:")
    assert sum(len(str(value)) for value in found.values()) < 5000


def test_a_traceback_names_the_place_and_what_was_said():
    told = tail(raised(ValueError("no such luck")))
    assert told.endswith("ValueError: no such luck")
    assert "in raised" in told


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """Return records by way, and the bytes of the store that they are in."""
    store = tmp_path_factory.mktemp("floods") / "store.sqlite"
    command = [
        *HARNESS, "compare", "--plugin-path", str(PLUGINS / "phases.py"), "--datasets", "checkerboard[n=200,n_test=50]",
        "--plugins", "phases[way=[long-message,long-text,many-names]]", "--time-limit", "10", "--store", str(store),
        "--format", "json",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.stdout, done.stderr
    return {record["parameters"]["way"]: record for record in json.loads(done.stdout)}


@pytest.mark.slow
@pytest.mark.parametrize("way", LARGE)
def test_a_flood_is_cut_and_said_to_be_and_the_run_is_what_it_was(rows, way):
    record = rows[way]
    assert record["status"] == "ok", record["reason"]
    assert any(each.startswith("info was cut to 1,000 entries") for each in record["faults"])
    assert len(json.dumps(record["info"])) < KEPT
    assert len(json.dumps(record)) < 2 * KEPT


@pytest.mark.slow
def test_an_exception_of_100_mb_is_an_error(rows):
    record = rows["long-message"]
    assert record["status"] == "error"
    assert record["reason"].startswith("RuntimeError: xxx")
    assert len(json.dumps(record)) < KEPT
