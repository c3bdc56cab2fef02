"""Names and the format of the records, shared by the dashboard and the benchmarks of old commits.

This module uses only the standard library, as ``benchmarks`` runs with the code of any commit installed and loads it by its path.

asv stores one number for each benchmark, without a reason if there is none. So a measurement also writes a file for each commit,
environment and machine: ``records/<commit>-<environment>-<machine>.json``.
"""

from __future__ import annotations

import json
import math
import os
import re
from pathlib import Path
from typing import Any

# environment variables: folder of the benchmarks, folder of the records, name of the machine, measured cells as JSON (unset: all)
BENCHMARKS, RECORDS, MACHINE, ONLY = (
    "HARNESS_HISTORY_BENCHMARKS", "HARNESS_HISTORY_RECORDS", "HARNESS_HISTORY_MACHINE", "HARNESS_HISTORY_ONLY",
)  # fmt: skip
# environment variables that asv sets for the benchmarks
ASV_COMMIT, ASV_FOLDER, ASV_ENVIRONMENT = "ASV_COMMIT", "ASV_CONF_DIR", "ASV_ENV_NAME"
ENVIRONMENT = "compare-py"  # prefix of the environments of exported results; Python's version follows
VERSION = 1
ABSENT = "absent"  # status of a cell whose solver the commit does not have
LEAST_GAP = 1e-9  # relative gap below which differences are rounding
# fields of a run that are stored besides ``solver`` and ``dataset``, which are the names in asv
FIELDS = (
    "plugin", "parameters", "formulation", "problem_parameters", "kernel", "kernel_parameters", "seed", "repetition", "threads",
    "iteration_limit", "kernel_evaluation_limit", "status", "stopped_by", "reason", "fit_seconds", "cpu_seconds", "waited_seconds",
    "steady_fit_seconds", "steady_cpu_seconds", "compile_seconds", "peak_rss_bytes", "kernel_evaluations", "iterations",
    "support_vectors", "core_set_size", "working_set_size", "relative_gap", "suboptimality", "kkt_violation", "epsilon",
    "epsilon_plus", "test_accuracy", "metrics", "evaluations_at_least", "gap_rounding", "undecidable", "target_gap", "trace",
    "label", "n_train", "n_features", "n_test", "density", "positive_share",
)  # fmt: skip


def records_folder(results: str | Path) -> Path:
    """Return the folder of the records, next to the folder of asv's results."""
    return Path(results).parent / "records"


def safe_name(name: str) -> str:
    """Return a name with only letters, digits, dots, dashes and underscores, for a file name."""
    return re.sub(r"[^A-Za-z0-9._-]+", "_", name)


def digits(gap: float | None) -> float | None:
    """Return the number of certified digits of the objective: 3 at a relative gap of 1e-3, at most 9."""
    return None if gap is None else -math.log10(max(gap, LEAST_GAP))


def record_file_path(folder: Path, commit: str, environment: str, machine: str) -> Path:
    """Return the file of a commit's records."""
    return folder / f"{safe_name(commit)}-{safe_name(environment)}-{safe_name(machine)}.json"


def write(
    folder: Path, *, commit: str, commit_time: int | None, machine: str, environment: str, measured_at: str,
    records: list[Any], changes: list[Any] | None = None, against: str | None = None,
) -> Path:  # fmt: skip
    """Write the runs of one commit in one environment on one machine, atomically.

    commit : the full hash
    commit_time : milliseconds since 1970, None if unknown
    measured_at : ISO time of the newest run
    records : dicts with ``solver``, ``dataset`` and the known ``FIELDS``; ``status`` may be `ABSENT`
    changes : changes since the commit ``against``; None if the commits were not compared
    """
    content = {
        "version": VERSION, "commit": commit, "commit_time": commit_time, "machine": machine, "environment": environment,
        "measured_at": measured_at, "records": records, "changes": changes, "against": against,
    }  # fmt: skip
    target = record_file_path(folder, commit, environment, machine)
    replace_file(target, json.dumps(content, allow_nan=False, separators=(",", ":")))
    return target


def replace_file(target: Path, text: str) -> None:
    """Replace the file ``target`` atomically."""
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_name(f".{target.name[:60]}-{os.getpid()}.tmp")
    unfinished.write_text(text)
    unfinished.replace(target)
