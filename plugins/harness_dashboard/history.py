"""What the dashboard and the benchmarks that run under old commits agree on: names, and the format of the records.

Standard library only: ``benchmarks`` runs with the code of a commit of any age installed, and loads this file by its path.

asv keeps one number a benchmark and forgets why there is none. So whoever measures also writes one file for each
commit, environment and machine: ``records/<commit>-<environment>-<machine>.json``.
"""

from __future__ import annotations

import json
import math
import os
import re
from pathlib import Path
from typing import Any

BENCHMARKS, RECORDS, MACHINE, ONLY = (
    "HARNESS_HISTORY_BENCHMARKS", "HARNESS_HISTORY_RECORDS", "HARNESS_HISTORY_MACHINE", "HARNESS_HISTORY_ONLY",
)  # fmt: skip
"""Variables: folder of our benchmarks, folder of the records, the machine's name, the measured cells as JSON (not set: all)."""

ASV_COMMIT, ASV_FOLDER, ASV_ENVIRONMENT = "ASV_COMMIT", "ASV_CONF_DIR", "ASV_ENV_NAME"
"""Variables that asv sets for the benchmarks."""

ENVIRONMENT = "compare-py"
"""What the environments of exported results begin with; behind it Python's version."""

VERSION = 1
ABSENT = "absent"
"""What stands for the status of a solver that a commit does not have: no run, so none of its statuses."""

LEAST_GAP = 1e-9
"""Below, a gap is rounding, and a multiple of it no regression."""

FIELDS = (
    "plugin", "parameters", "formulation", "problem_parameters", "kernel", "kernel_parameters", "seed", "repetition", "threads",
    "iteration_limit", "kernel_evaluation_limit", "status", "stopped_by", "reason", "fit_seconds", "cpu_seconds", "waited_seconds",
    "steady_fit_seconds", "steady_cpu_seconds", "compile_seconds", "peak_rss_bytes", "kernel_evaluations", "iterations",
    "support_vectors", "core_set_size", "working_set_size", "relative_gap", "suboptimality", "kkt_violation", "epsilon",
    "epsilon_plus", "test_accuracy", "metrics", "evaluations_at_least", "gap_rounding", "undecidable", "target_gap", "trace",
    "label", "n_train", "n_features", "n_test", "density", "positive_share",
)  # fmt: skip
"""What is kept of a run, beside ``solver`` and ``dataset``, the names as asv has them."""


def records_folder(results: str | Path) -> Path:
    """Return where the records stand beside the folder of asv's results."""
    return Path(results).parent / "records"


def plain(name: str) -> str:
    """Return a name as part of a file's name: letters, digits, dots, dashes and underscores."""
    return re.sub(r"[^A-Za-z0-9._-]+", "_", name)


def digits(gap: float | None) -> float | None:
    """Return how many digits of the objective are certified: 3 at a relative gap of 1e-3, at most 9."""
    return None if gap is None else -math.log10(max(gap, LEAST_GAP))


def file_of(folder: Path, commit: str, environment: str, machine: str) -> Path:
    """Return the file of a commit's records."""
    return folder / f"{plain(commit)}-{plain(environment)}-{plain(machine)}.json"


def write(
    folder: Path, *, commit: str, commit_time: int | None, machine: str, environment: str, measured_at: str,
    records: list[Any], changes: list[Any] | None = None, against: str | None = None,
) -> Path:  # fmt: skip
    """Write the runs of one commit in one environment on one machine, whole or not at all.

    commit : the full hash
    commit_time : milliseconds since 1970, None if unknown
    measured_at : ISO time of the newest run
    records : dicts with ``solver``, ``dataset`` and those of ``FIELDS`` that are known; ``status`` may be `ABSENT`
    changes : what changed since the commit ``against``; None if nobody has compared them
    """
    content = {
        "version": VERSION, "commit": commit, "commit_time": commit_time, "machine": machine, "environment": environment,
        "measured_at": measured_at, "records": records, "changes": changes, "against": against,
    }  # fmt: skip
    target = file_of(folder, commit, environment, machine)
    put(target, json.dumps(content, allow_nan=False, separators=(",", ":")))
    return target


def put(target: Path, text: str) -> None:
    """Put a new file in the place of ``target`` in one step."""
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_name(f".{target.name[:60]}-{os.getpid()}.tmp")
    unfinished.write_text(text)
    unfinished.replace(target)
