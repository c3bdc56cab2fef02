"""Benchmarks of asv: every solver of ``grid.json`` on every data set, by `harness.compare`.

This file runs with the harness of the measured commit. So it only uses `harness.compare`, and loads `history`, the format of the
records, by its path. A cell that the commit does not have is n/a; a cell that fails has ``track_failed`` = 1 and is n/a in the
other benchmarks. As asv stores one number for each benchmark, the runs are also written next to its results.
"""

from __future__ import annotations

import datetime
import json
import math
import os
import platform
import runpy
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

history = SimpleNamespace(**runpy.run_path(str(Path(__file__).parents[1] / "history.py")))

OK, ERROR, SKIPPED = map(
    str.lower, ("OK", "ERROR", "SKIPPED")
)  # values of harness.Status, which older commits may lack
REPEAT = 5  # number of runs of a cell
SLACK = 20.0  # [s] time for compilation and certificates of a cell in addition to the time limits of its runs

Cell = tuple[str, str]
Runs = dict[Cell, list[dict[str, Any]]]


# next to the repository's package of benchmarks, to which this module belongs
GRID = json.loads(
    Path(str(sys.modules[__package__ or ""].__file__)).resolve().parents[1].joinpath("grid.json").read_text()
)
ONLY = [tuple(cell) for cell in json.loads(os.environ.get(history.ONLY, "[]"))]  # the cells to measure; empty: all
SOLVERS, DATASETS = (
    {entry["name"]: entry for entry in GRID[kind] if not ONLY or entry["name"] in {cell[place] for cell in ONLY}}
    for place, kind in enumerate(("solvers", "datasets"))
)
EXCLUDED = {(solver, dataset) for solver, dataset, _ in GRID.get("excluded", ())}
CELLS = [
    (solver, dataset) for solver in SOLVERS for dataset in DATASETS
    if (solver, dataset) not in EXCLUDED and (not ONLY or (solver, dataset) in ONLY)
]  # fmt: skip


def run_cell(cell: Cell, store: Path) -> list[dict[str, Any]]:
    """Return the runs of a cell, or one record with the reason why there are none."""
    solver, data = SOLVERS[cell[0]], DATASETS[cell[1]]
    try:
        import harness

        records: Any = harness.compare(
            solver["select"], data["select"], formulation=solver["formulation"], kernel=data["kernel"],
            **data["kernel_parameters"], C=data["problem_parameters"]["C"], time_limit=GRID["timeout_seconds"],
            memory_limit=f"{GRID['memory_bytes']}B", repeat=REPEAT, store=store, fresh=True, quiet=True,
        ).records  # fmt: skip
    except Exception as error:
        absent = type(error).__name__ == "UsageError"  # the commit has no such solver, data set or formulation
        status, reason = (history.ABSENT, str(error)) if absent else (ERROR, f"{type(error).__name__}: {error}")
        records = [{"status": status, "reason": reason, "trace": []}]
    names = {"solver": cell[0], "dataset": cell[1]}
    return [{**{name: record.get(name) for name in history.FIELDS}, **names} for record in records]


def write(runs: Runs) -> None:
    """Write the runs next to asv's results; a measurement that asv does not save has no commit and writes none."""
    commit = os.environ.get(history.ASV_COMMIT)
    folder = os.environ.get(history.RECORDS) or Path(os.environ.get(history.ASV_FOLDER, "."), ".asv", "records")
    if not commit:
        return
    history.write(
        Path(folder), commit=commit, commit_time=None,
        machine=os.environ.get(history.MACHINE) or platform.node(), environment=os.environ.get(history.ASV_ENVIRONMENT, ""),
        measured_at=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        records=[run for of_cell in runs.values() for run in of_cell],
    )  # fmt: skip


def _time(name: str) -> Callable[[Any], float]:
    """Return the function from runs to the median of a time, for later fits if a run has them."""
    return lambda runs: statistics.median(run[f"steady_{name}"] or run[name] for run in runs)


# benchmark ``track_<name>`` -> its unit, and the figure of a cell's runs, which is n/a if it is None or raises TypeError
FIGURES: dict[str, tuple[str, Callable[[Any], float | None]]] = {
    "wall_seconds": ("seconds", _time("fit_seconds")),
    "cpu_seconds": ("seconds", _time("cpu_seconds")),
    "peak_memory": ("bytes", lambda runs: statistics.median(run["peak_rss_bytes"] for run in runs)),
    "kernel_evaluations": ("kernel evaluations", lambda runs: runs[0]["kernel_evaluations"]),
    "core_set_size": ("points", lambda runs: runs[0]["core_set_size"]),
    "support_vectors": ("points", lambda runs: runs[0]["support_vectors"]),
    "test_error_pct": ("%", lambda runs: round(100.0 * (1.0 - runs[0]["test_accuracy"]), 10)),
    "digits": ("digits", lambda runs: history.digits(runs[0]["relative_gap"])),
}


class Record:
    """The benchmarks: figures of the runs of each cell, which ``setup_cache`` measures."""

    params, param_names, version = [[*SOLVERS], [*DATASETS]], ["solver", "dataset"], str(GRID["version"])

    def setup_cache(self) -> Runs:
        """Measure the cells and write their runs; return the runs without traces, as asv reads them for each benchmark."""
        with tempfile.TemporaryDirectory(prefix="harness-history-") as folder:
            runs = {cell: run_cell(cell, Path(folder, "store.sqlite")) for cell in CELLS}
        write(runs)
        return {cell: [{**run, "trace": []} for run in of_cell] for cell, of_cell in runs.items()}

    setup_cache.timeout = 60.0 + len(CELLS) * (REPEAT * GRID["timeout_seconds"] + SLACK)  # type: ignore[attr-defined]

    def setup(self, cache: Runs, solver: str, dataset: str) -> None:
        """Raise NotImplementedError, which asv shows as n/a, for a cell that the commit does not have."""
        self.runs = cache.get((solver, dataset), [])
        if not self.runs or self.runs[0]["status"] in (history.ABSENT, SKIPPED):
            raise NotImplementedError

    def track_failed(self, *_: Any) -> float:
        """Return 1 if a run has no model, else 0."""
        return float(any(run["status"] != OK for run in self.runs))

    track_failed.unit = "0 or 1"  # type: ignore[attr-defined]


def _benchmark(unit: str, figure: Callable[[Any], float | None]) -> Any:
    def track(self: Record, *_: Any) -> float:
        try:
            value = None if self.track_failed() else figure(self.runs)
        except TypeError:  # a field is None, as it was not observed
            value = None
        return math.nan if value is None else float(value)

    track.unit = unit  # type: ignore[attr-defined]
    return track


for _name, _figure in FIGURES.items():
    setattr(Record, f"track_{_name}", _benchmark(*_figure))
