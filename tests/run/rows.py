"""Rows for the tests of stores."""

from pathlib import Path

from harness import Record
from harness.run.store import Store

OLD = Path(__file__).with_name("store_929e25f.sql")
"""What is in a store that an older harness made."""


def record(key="k", **values):
    """Return a record that can be stored."""
    return Record({"key": key, "status": "ok", "measured_at": "2026-01-01T00:00:00+00:00", "solver": "smo", **values})


def filled(path, rows=3):
    """Make a store of rows 0, 1, 2 ... and return its path."""
    with Store(path) as store:
        for number in range(rows):
            store.append(record(str(number), fit_seconds=float(number)))
    return path
