"""The files of records, read back: status, reason, certificate and trace of each run. Their format is `history`'s."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness import Record, Status, UsageError, validate_record
from harness_dashboard import history
from harness_dashboard.names import short_name

if TYPE_CHECKING:
    from collections.abc import Iterator

NO_RUN = (history.ABSENT, Status.SKIPPED)
Cell = tuple[str, str]
"""The names of a solver and a data set."""


@dataclass(frozen=True)
class RecordFile:
    """The runs of one commit in one environment on one machine; the fields are those of `history.write`."""

    commit: str
    commit_time: int | None
    machine: str
    environment: str
    measured_at: str
    records: list[Record]
    changes: list[Any] | None = None
    against: str | None = None

    def write(self, folder: Path) -> Path:
        """Write the file in one step: a reader finds the old one or the whole new one."""
        return history.write(folder, **vars(self))

    def cells(self) -> dict[Cell, list[Record]]:
        """Return the runs by cell."""
        found: dict[Cell, list[Record]] = {}
        for record in self.records:
            found.setdefault((str(record["solver"]), str(record["dataset"])), []).append(record)
        return found


def read_file(path: Path) -> RecordFile:
    """Read one file.

    Raises
    ------
    UsageError : it is no such file, or one of a newer version.
    """
    try:
        read = json.loads(path.read_bytes())
        if (version := read.pop("version")) != history.VERSION:
            raise UsageError(f"{path} has version {version}, this harness knows {history.VERSION}; update svm-harness.")
        records = [_record(each) for each in read.pop("records")]
        file = RecordFile(**read, records=records)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError(
            f"{path} is no file of records ({type(error).__name__}: {error}); delete it and measure that commit again."
        ) from None
    if not file.environment.startswith(history.ENVIRONMENT):
        for record in records:  # the grid of the history is fitted in one thread; files of older versions do not say so
            record["threads"] = record.get("threads") or 1
    return file


def _record(given: dict[str, Any]) -> Record:
    found = Record(dict.fromkeys(name for name in history.FIELDS if name in given))
    found.update(validate_record(given))
    found.update({name: str(given[name]) for name in ("group", "data") if name in given})
    found.update({name: short_name(str(given[name])) for name in ("solver", "dataset")})
    return found


def read_all(folder: Path) -> Iterator[RecordFile]:
    """Return every file of a folder in the order of their names; none if there is no such folder."""
    for path in sorted(folder.glob("*.json")):
        yield read_file(path)
