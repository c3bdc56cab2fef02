"""Read the files of records: status, reason, certificate and trace of each run. `history` defines their format."""

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
Cell = tuple[str, str]  # names of a solver and a data set


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
        """Write the file atomically: a reader gets the old file or the whole new one."""
        return history.write(folder, **vars(self))

    def cells(self) -> dict[Cell, list[Record]]:
        """Return the runs by cell."""
        cells: dict[Cell, list[Record]] = {}
        for record in self.records:
            cells.setdefault((str(record["solver"]), str(record["dataset"])), []).append(record)
        return cells


def read_file(path: Path) -> RecordFile:
    """Read one file.

    Raises
    ------
    UsageError : the file is no file of records, or has another version.
    """
    try:
        content = json.loads(path.read_bytes())
        if (version := content.pop("version")) != history.VERSION:
            raise UsageError(f"{path} has version {version}; this harness reads {history.VERSION}: update svm-harness.")
        records = [_validated(fields) for fields in content.pop("records")]
        file = RecordFile(**content, records=records)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError(
            f"{path} is no file of records ({type(error).__name__}: {error}); delete it and measure that commit again."
        ) from None
    if not file.environment.startswith(history.ENVIRONMENT):
        for record in records:  # files of older versions lack the number of threads, which is 1 in the history
            record["threads"] = record.get("threads") or 1
    return file


def _validated(fields: dict[str, Any]) -> Record:
    record = Record(dict.fromkeys(name for name in history.FIELDS if name in fields))
    record.update(validate_record(fields))
    record.update({name: str(fields[name]) for name in ("group", "data") if name in fields})
    record.update({name: short_name(str(fields[name])) for name in ("solver", "dataset")})
    return record


def read_all(folder: Path) -> Iterator[RecordFile]:
    """Yield every file of a folder in the order of their names; none if the folder does not exist."""
    for path in sorted(folder.glob("*.json")):
        yield read_file(path)
