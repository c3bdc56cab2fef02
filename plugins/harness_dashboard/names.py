"""The names of solvers, data sets, machines and files, and which records of one name count.

A cell is a solver on a data set. Its two names depend on the record alone, never on what else is exported: so a name
never changes its meaning when solvers or data sets are added, removed or renamed. A store may come from anybody: so names are
bounded here, and those of machines can be parts of a file's name.
"""

from __future__ import annotations

import hashlib
import json
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from harness.report.rows import kernel_text, problem_text, settings_text
from harness_dashboard.history import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from harness import Record

USUAL = {"threads": 1, "cache_mb": 256.0, "target_gap": None, "iteration_limit": None, "kernel_evaluation_limit": None}
"""Settings that change what a run does, and the value that a name does not mention."""

IDENTITY = ("plugin", "parameters", "code_sha256", "versions", "time_limit", "memory_limit")
"""Fields that the runs of one cell at one commit have in common."""

LONGEST_NAME, LONGEST_FACT, LONGEST_WORD = 200, 120, 40
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST = datetime(2200, 1, 1, tzinfo=UTC)


def solver_name(record: Record) -> str:
    """Return the label with every setting that is not the usual one: ``smo (cache 1 MB)``."""
    label = str(record.get("label") or record.get("solver") or record.get("plugin") or "?")
    settings = settings_text(record, [name for name, usual in USUAL.items() if record.get(name) != usual])
    return short_name(f"{label} ({settings})" if settings else label)


def dataset_name(record: Mapping[str, Any]) -> str:
    """Return the data set with its problem and kernel: ``digits, c-svc C=10, rbf gamma=0.05``.

    A run that ended before its problem was known has the bare name.
    """
    return short_name(f"{record.get('dataset') or '?'}{_problem(record)}")


def bare(name: str, runs: Iterable[Mapping[str, Any]]) -> str:
    """Return the name of a data set as `dataset_name` made it of one of these runs, without problem and kernel."""
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


def counting(records: Iterable[Record]) -> list[Record]:
    """Return the records of one cell that count.

    Those of the newest identity (code, versions, parameters, limits) count, each seed and repetition as it was measured
    last, and of a seed only those on the newest data. The records need ``group`` (see `identity`), ``measured_at``,
    ``seed``, ``repetition``; ``data`` is compared if there is one.
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
    """Return a name in one line of bounded length, different for different names."""
    line = " ".join(text.split())
    if len(line) <= LONGEST_NAME:
        return line or "?"
    return f"{line[: LONGEST_NAME - 12]} {hashlib.sha256(text.encode()).hexdigest()[:8]}"


def fact(value: Any) -> str:
    """Return a fact of a machine: letters, digits, blanks and a few signs; nothing of what is no text or number."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return re.sub(r"[^\w .,:;@+()/-]+", "_", str(value)[:LONGEST_FACT]).strip()


def word(value: Any, length: int = LONGEST_WORD) -> str:
    """Return a part of a file's name: letters, digits and ``._-``, first a letter or a digit."""
    return plain(fact(value))[:length].strip("._-") or "unknown"


def python_version(value: Any) -> str:
    """Return ``3.11`` of ``3.11.7``; ``unknown`` of what is no version."""
    found = re.match(r"\d{1,3}\.\d{1,3}(?![^.\w+-])", value) if isinstance(value, str) else None
    return found.group() if found else "unknown"


def moment(value: Any) -> datetime:
    """Return the time that an ISO text names; 1970 for what is none, or none of this age."""
    try:
        found = datetime.fromisoformat(str(value))
    except ValueError:
        return _EPOCH
    found = found if found.tzinfo else found.replace(tzinfo=UTC)
    return found if _EPOCH <= found < _LATEST else _EPOCH
