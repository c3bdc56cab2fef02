"""Names of solvers, data sets, machines and files in the dashboard, and the latest records of each name.

A cell is a solver on a data set. Its two names depend only on the record and not on other exported records, so a name does not
change its meaning when solvers or data sets are added, removed or renamed. As a store may be from an unknown source, the length of
names is limited, and the names of machines are safe as parts of file names.
"""

from __future__ import annotations

import hashlib
import json
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from harness.report.rows import kernel_text, problem_text, settings_text
from harness_dashboard.history import safe_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from harness import Record

# settings that change a run -> default, which a name does not mention
DEFAULT = {
    "threads": 1, "cache_mb": 256.0, "target_gap": None, "iteration_limit": None, "kernel_evaluation_limit": None,
}  # fmt: skip
# fields that are equal in the runs of a cell at a commit
IDENTITY = ("plugin", "parameters", "code_sha256", "versions", "time_limit", "memory_limit")
# largest number of characters of a name, of a fact of a machine, and of a part of a file name
LONGEST_NAME, LONGEST_FACT, LONGEST_PART = 200, 120, 40
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST = datetime(2200, 1, 1, tzinfo=UTC)


def solver_name(record: Record) -> str:
    """Return the label with every setting that is not the default: ``smo (cache 1 MB)``."""
    label = str(record.get("label") or record.get("solver") or record.get("plugin") or "?")
    settings = settings_text(record, [name for name, default in DEFAULT.items() if record.get(name) != default])
    return short_name(f"{label} ({settings})" if settings else label)


def dataset_name(record: Mapping[str, Any]) -> str:
    """Return the data set with its problem and kernel: ``digits, c-svc C=10, rbf gamma=0.05``.

    A run that ended before its problem was known has only the name of the data set.
    """
    return short_name(f"{record.get('dataset') or '?'}{_problem(record)}")


def bare_dataset(name: str, runs: Iterable[Mapping[str, Any]]) -> str:
    """Return the result of `dataset_name` for one of these runs without problem and kernel."""
    return name.removesuffix(next((_problem(run) for run in runs if run.get("kernel")), ""))


def _problem(record: Mapping[str, Any]) -> str:
    formulation = record.get("formulation")
    problem = problem_text(formulation, record.get("problem_parameters")) if formulation else ""
    kernel = kernel_text(record.get("kernel"), record.get("kernel_parameters"))
    return "".join(f", {part}" for part in (problem, kernel) if part)


def identity(record: Mapping[str, Any]) -> str:
    """Return a short hash of the code, versions, parameters and limits of a run."""
    text = json.dumps([record.get(name) for name in IDENTITY], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def latest_records(records: Iterable[Record]) -> list[Record]:
    """Return the latest records of a cell.

    These are the records with the newest identity (code, versions, parameters, limits), for each seed and repetition the last one,
    if its data are the newest of its seed. The records need ``group`` (see `identity`), ``measured_at``, ``seed`` and
    ``repetition``; ``data`` is optional.
    """
    records = sorted(records, key=lambda record: str(record.get("measured_at")))
    last: dict[tuple[Any, Any], Record] = {}
    data: dict[Any, Any] = {}
    for record in records:
        if record.get("group") == records[-1].get("group"):
            last[record.get("seed"), record.get("repetition")] = record
            data[record.get("seed")] = record.get("data")
    return [record for (seed, _), record in sorted(last.items(), key=str) if record.get("data") == data[seed]]


def short_name(text: str) -> str:
    """Return a name in one line of limited length, which differs for different names."""
    line = " ".join(text.split())
    if len(line) <= LONGEST_NAME:
        return line or "?"
    return f"{line[: LONGEST_NAME - 12]} {hashlib.sha256(text.encode()).hexdigest()[:8]}"


def machine_fact(value: Any) -> str:
    """Return a text or number as text of letters, digits, blanks and a few signs; '' for other values."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return re.sub(r"[^\w .,:;@+()/-]+", "_", str(value)[:LONGEST_FACT]).strip()


def file_name_part(value: Any, length: int = LONGEST_PART) -> str:
    """Return a part of a file name: letters, digits and ``._-``, first a letter or a digit."""
    return safe_name(machine_fact(value))[:length].strip("._-") or "unknown"


def python_version(value: Any) -> str:
    """Return ``3.11`` for ``3.11.7``; ``unknown`` if the value is no version."""
    match = re.match(r"\d{1,3}\.\d{1,3}(?![^.\w+-])", value) if isinstance(value, str) else None
    return match.group() if match else "unknown"


def parse_time(value: Any) -> datetime:
    """Return the time of an ISO text; 1970 if it is invalid or not between 1970 and 2200."""
    try:
        time = datetime.fromisoformat(str(value))
    except ValueError:
        return _EPOCH
    time = time if time.tzinfo else time.replace(tzinfo=UTC)
    return time if _EPOCH <= time < _LATEST else _EPOCH
