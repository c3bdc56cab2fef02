"""Rows for the tests of stores."""

import contextlib
import sqlite3
import zlib

from harness import Record
from harness.run.store import Store


def record(key="k", **values):
    """Return a record that can be stored."""
    return Record({"key": key, "status": "ok", "measured_at": "2026-01-01T00:00:00+00:00", "solver": "smo", **values})


def filled(path, rows=3):
    """Make a store of rows 0, 1, 2 ... and return its path."""
    with Store(path) as store:
        for number in range(rows):
            store.append(record(str(number), fit_seconds=float(number)))
    return path


def rewrite(path, number, change):
    """Change the text of a row's record, and its checksum with it."""
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        select = "SELECT key, status, measured_at, record FROM records WHERE id = ?"
        *others, text = connection.execute(select, [number]).fetchone()
        checksum = zlib.crc32("\n".join([*others, text := change(text)]).encode())
        connection.execute("UPDATE records SET record = ?, checksum = ? WHERE id = ?", [text, checksum, number])
