"""What was measured, a row at a time in a file of JSON lines, and where and with what it was measured."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from harness.machine import git_commit, machine, now, versions

_PEER_PACKAGES = ("scikit-learn-intelex", "daal", "libsvm-official", "thundersvm-cpu")

Row = dict[str, Any]


class Journal:
    """The rows measured so far, appended to a file of JSON lines; a row is on disk before :meth:`append` returns."""

    def __init__(self, path: Path, *, resume: bool) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        if not resume:
            path.unlink(missing_ok=True)
        self.rows = read_rows(path)
        if path.exists():  # the end of a line that was cut off is no part of the next one
            path.write_text("".join(json.dumps(row) + "\n" for row in self.rows))

    def append(self, row: Row) -> None:
        self.rows.append(row)
        with self.path.open("a") as file:
            file.write(json.dumps(row) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def find(self, key: Row) -> Row | None:
        """Return the row whose columns have all the values of ``key``, or None."""
        for row in self.rows:
            if all(row.get(name) == value for name, value in key.items()):
                return row
        return None


def read_rows(path: Path) -> list[Row]:
    """Return the rows of a journal; a last line that a kill cut short is left out."""
    rows = []
    for line in path.read_text().splitlines() if path.exists() else ():
        try:
            rows.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return rows


def header(command: str) -> Row:
    """Return the row that says where, with what and by which command the others were measured."""
    from importlib.metadata import PackageNotFoundError, version

    found = dict(versions())
    for name in _PEER_PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return {
        "part": "header",
        "machine": machine(),
        "versions": found,
        "command": command,
        "git_commit": git_commit(),
        **now(),
    }
