"""Which cell of the dashboard a record of the result store belongs to, and which of its records count.

A cell is a solver on a data set. Its two names depend on the record alone, never on what else is exported: so a name
never comes to mean something else when solvers or data sets are added, removed or renamed.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from harness import kernel_text, problem_text, settings_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from harness import Record

USUAL = {"threads": 1, "cache_mb": 256.0, "target_gap": None, "iteration_limit": None, "kernel_evaluation_limit": None}
"""Settings that change what a run does, and the value that a name does not mention."""

IDENTITY = ("plugin", "parameters", "code_sha256", "versions", "time_limit", "memory_limit")
"""What the runs of one cell at one commit have in common."""


def solver_name(record: Record) -> str:
    """Return the label with every setting that is not the usual one: ``smo (cache 1 MB)``."""
    label = str(record.get("label") or record.get("solver") or record.get("plugin") or "?")
    told = settings_text(record, [name for name, usual in USUAL.items() if record.get(name) != usual])
    return f"{label} ({told})" if told else label


def dataset_name(record: Mapping[str, Any]) -> str:
    """Return the data set with its problem and kernel: ``digits, c-svc C=10, rbf gamma=0.05``.

    A run that ended before its problem was known has the bare name; see `settle`.
    """
    return f"{record.get('dataset') or '?'}{_problem(record)}"


def bare(name: str, runs: Iterable[Mapping[str, Any]]) -> str:
    """Return the name of a data set as `dataset_name` made it of one of these runs, without problem and kernel."""
    return name.removesuffix(next((_problem(run) for run in runs if run.get("kernel")), ""))


def _problem(record: Mapping[str, Any]) -> str:
    formulation = record.get("formulation")
    problem = problem_text(formulation, record.get("problem_parameters")) if formulation else ""
    kernel = kernel_text(record.get("kernel"), record.get("kernel_parameters"))
    return "".join(f", {part}" for part in (problem, kernel) if part)


def identity(record: Mapping[str, Any]) -> str:
    """Return a short hash of what the runs of one cell have in common: code, versions, parameters, limits."""
    text = json.dumps([record.get(name) for name in IDENTITY], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def settle(datasets: Iterable[str], dataset: str) -> str:
    """Return where a run without a problem is shown: in the first problem of its data set, else by itself."""
    return next((name for name in datasets if name.startswith(f"{dataset}, ")), dataset)


def counting(records: Iterable[Record]) -> tuple[list[Record], int]:
    """Return the records of one cell that count, and the number of older ones left out.

    Those of the newest identity (code, versions, parameters, limits) count, each seed and repetition as it was measured
    last, and of a seed only those on the newest data. The records need ``group`` (see `identity`), ``measured_at``,
    ``seed``, ``repetition``; ``data`` is compared if there is one.
    """
    records = sorted(records, key=lambda record: str(record.get("measured_at")))
    if not records:
        return [], 0
    group = records[-1].get("group")
    last: dict[tuple[Any, Any], Record] = {}
    data: dict[Any, Any] = {}
    for record in records:
        if record.get("group") == group:
            last[record.get("seed"), record.get("repetition")] = record
            data[record.get("seed")] = record.get("data")
    kept = [record for (seed, _), record in sorted(last.items(), key=str) if record.get("data") == data[seed]]
    return kept, len(records) - len(kept)
