"""The records beside asv's numbers: status, reason, certificate and trace of each run.

asv keeps one number a benchmark and forgets why there is none. So whoever measures also writes one file for each
commit, environment and machine: ``records/<commit>-<environment>-<machine>.json``.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from harness.errors import UsageError
from harness.files import write_whole
from harness.run.record import Record, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

VERSION = 1
ABSENT = "absent"
"""What stands for the status of a solver that a commit does not have: no run, so none of `Status`."""

NO_RUN = (ABSENT, Status.SKIPPED)

FIELDS = (
    "label", "formulation", "problem_parameters", "kernel", "kernel_parameters", "seed", "repetition", "status",
    "stopped_by", "reason", "fit_seconds", "cpu_seconds", "compile_seconds", "peak_rss_bytes", "kernel_evaluations", "iterations",
    "support_vectors", "working_set_size", "relative_gap", "kkt_violation", "epsilon", "epsilon_plus", "test_accuracy",
    "metrics", "n_train", "n_features", "n_test", "trace",
    "target_gap", "evaluations_at_least", "gap_rounding", "undecidable",
)  # fmt: skip
"""What is kept of a record of the result store, beside ``solver`` and ``dataset``, the names as asv has them."""


@dataclass(frozen=True)
class RecordFile:
    """The runs of one commit in one environment on one machine.

    commit : the full hash
    commit_time : milliseconds since 1970, None if unknown
    measured_at : ISO time of the newest run
    records : dicts with ``solver``, ``dataset`` and those of ``FIELDS`` that are known; ``status`` may be `ABSENT`
    """

    commit: str
    commit_time: int | None
    machine: str
    environment: str
    measured_at: str
    records: list[Record]

    @property
    def name(self) -> str:
        """The file's name."""
        return f"{self.commit}-{plain(self.environment)}-{plain(self.machine)}.json"

    def write(self, folder: Path) -> Path:
        """Write the file in one step: a reader finds the old one or the whole new one."""
        content = {
            "version": VERSION,
            "commit": self.commit,
            "commit_time": self.commit_time,
            "machine": self.machine,
            "environment": self.environment,
            "measured_at": self.measured_at,
            "records": self.records,
        }
        target = folder / self.name
        write_whole(target, json.dumps(content, allow_nan=False, separators=(",", ":")).encode())
        return target


def plain(name: str) -> str:
    """Return a name as part of a file's name: letters, digits, dots, dashes and underscores."""
    return re.sub(r"[^A-Za-z0-9._-]+", "_", name)


def read_file(path: Path) -> RecordFile:
    """Read one file.

    Raises
    ------
    UsageError : it is no such file, or one of a newer version.
    """
    try:
        read = json.loads(path.read_bytes())
        version = read["version"]
        found = RecordFile(
            commit=str(read["commit"]),
            commit_time=read.get("commit_time"),
            machine=str(read["machine"]),
            environment=str(read["environment"]),
            measured_at=str(read["measured_at"]),
            records=[Record(each) for each in read["records"]],
        )
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"{path} is no file of records ({type(error).__name__}: {error}); delete it and measure that commit again."
        ) from None
    if version != VERSION:
        raise UsageError(f"{path} has version {version}, this harness knows {VERSION}; update svm-harness.")
    return found


def read_all(folder: Path) -> Iterator[RecordFile]:
    """Return every file of a folder in the order of their names; none if there is no such folder."""
    for path in sorted(folder.glob("*.json")):
        yield read_file(path)
