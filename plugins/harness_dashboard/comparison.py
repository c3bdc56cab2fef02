"""Our own pages in asv's site: the solvers of a commit side by side.

The pages are static (``pages/``) and read what is written here: for each machine and environment the newest
measurement of every cell with its trace, and the cells of a few commits before.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from asv.publishing import OutputPublisher

from harness import LOSSES, Record, Status, is_number
from harness_dashboard import commits, front, history, traces
from harness_dashboard.numbers import PREFIX, figure, rounded
from harness_dashboard.records import NO_RUN, Cell, RecordFile, read_all

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from harness_dashboard.commits import Told

KEPT = 6
"""Commits before the newest whose cells are kept for the table."""

FIGURES = (
    "fit_seconds", "cpu_seconds", "compile_seconds", "kernel_evaluations", "iterations", "support_vectors", "working_set_size",
    "test_error", "relative_gap", "kkt_violation", "epsilon", "epsilon_plus", "peak_rss_bytes", *LOSSES,
)  # fmt: skip
"""The figures of a cell, in the order in which a table of one data set shows them."""

_FACTS = ("n_train", "n_features", "n_test")
_TRACED = ("seconds", "kernel_evaluations", "labels_used", "relative_gap", "test_error", "support_vectors", "epsilon")
LONGEST_REASON = 600


class Comparison(OutputPublisher):
    """Puts our pages and their data in front of asv's own."""

    name, button_label, description, order = "comparison", None, "solvers side by side", 100

    @classmethod
    def publish(cls, conf: Any, repo: Any, benchmarks: Any, graphs: Any, revisions: Any) -> None:
        """Write the pages into the site that asv has just copied."""
        site = Path(conf.html_dir)
        told = commits.told(conf.repo)
        front.arrange(site, told)
        records = read_all(history.records_folder(conf.results_dir))
        write_data(records, site / "solvers" / "data", project=str(conf.project), beside=True, told=told)


class Known(OutputPublisher):
    """Takes the combinations that were never measured out of asv's list: a grid of names has many."""

    name, button_label, description, order = "known", None, "only what was measured", 2

    @classmethod
    def publish(cls, conf: Any, repo: Any, benchmarks: Any, graphs: Any, revisions: Any) -> None:
        """Rewrite the lists that asv has just written; of other benchmarks than ours nothing is taken."""
        for path in Path(conf.html_dir, "graphs").rglob("summary.json"):
            rows = json.loads(path.read_bytes())
            if isinstance(rows, list) and all(isinstance(row, dict) for row in rows):
                known = [row for row in rows if row["last_value"] is not None or not row["name"].startswith(PREFIX)]
                _write(path, [{name: _short(value) for name, value in row.items()} for row in known])


def _short(value: Any) -> Any:
    return rounded(value) if isinstance(value, float) and is_number(value) else value


def write_data(
    files: Iterable[RecordFile],
    folder: Path,
    *,
    project: str,
    beside: bool = False,
    told: Mapping[str, Told] = MappingProxyType({}),
) -> None:
    """Write the data of the pages: ``index.json``, and for each machine and environment its cells and traces.

    beside : asv's pages are in the site; ours lead there if any place has two commits: one point is no curve
    told : how the commits are called; a commit that is not there has its hash and no title
    """
    folder.mkdir(parents=True, exist_ok=True)
    places: dict[tuple[str, str], list[RecordFile]] = {}
    for file in files:
        places.setdefault((file.machine, file.environment), []).append(file)
    ordered = sorted(places.items(), key=lambda item: _age(item[1]), reverse=True)
    curves = any(len({file.commit for file in members}) > 1 for _, members in ordered)
    _write(
        folder / "index.json",
        {
            "project": project,
            "made": datetime.now(UTC).isoformat(timespec="seconds"),
            "targets": traces.TARGETS,
            "figures": FIGURES,
            "history": beside and curves,
            "places": [_write_place(folder, i, *place, members, told) for i, (place, members) in enumerate(ordered)],
        },
    )


def _age(files: list[RecordFile]) -> tuple[int, str]:
    return max((file.commit_time or 0, file.measured_at) for file in files)


def _write_place(
    folder: Path, number: int, machine: str, environment: str, files: list[RecordFile], told: Mapping[str, Told]
) -> dict[str, Any]:
    """Write the cells and traces of one machine and environment; return its entry in the index."""
    files.sort(key=lambda file: (file.commit_time or 0, file.measured_at), reverse=True)
    newest: dict[Cell, tuple[RecordFile, list[Record]]] = {}
    entries = []
    for place, file in enumerate(files):
        cells = file.cells()
        for cell, runs in cells.items():
            # That a commit lacks a solver is no measurement: what an older one measured is the newest there is.
            if cell not in newest or all(run.get("status") == history.ABSENT for run in newest[cell][1]):
                newest[cell] = (file, runs)
        if place <= KEPT:
            name = f"{number}-{place}.json" if place else None  # the newest commit's cells are among the newest of all
            if name:
                _write(folder / name, table({cell: (file, runs) for cell, runs in cells.items()}, costs=False))
            called = told.get(file.commit) or commits.Told(file.commit[: commits.SHOWN], "")
            entries.append({"commit": file.commit, **vars(called), "time": file.commit_time, "measured": file.measured_at,
                            "cells": len(cells), "file": name})  # fmt: skip
    latest = table(newest, costs=True)
    _write(folder / f"{number}-latest.json", latest)
    for i, dataset in enumerate(latest["datasets"]):
        points = {solver: _trace(runs) for (solver, name), (_, runs) in newest.items() if name == dataset}
        _write(
            folder / f"{number}-trace-{i}.json",
            {"columns": _TRACED, "solvers": {solver: trace for solver, trace in points.items() if trace}},
        )
    return {
        "machine": machine,
        "environment": environment,
        "commits": entries,
        "older": max(0, len(files) - len(entries)),
        "latest": {"file": f"{number}-latest.json", "cells": len(newest), "trace": f"{number}-trace-"},
    }


def table(cells: dict[Cell, tuple[RecordFile, list[Record]]], *, costs: bool) -> dict[str, Any]:
    """Return cells column by column: names as places in lists, figures as medians over the runs that have a model.

    costs : with what each run had spent at each certified target, where its trace is known
    """
    solvers, datasets = (sorted({cell[place] for cell in cells}) for place in (0, 1))
    commits = sorted({file.commit for file, _ in cells.values()})
    columns: dict[str, list[Any]] = {
        name: [] for name in ("solver", "dataset", "commit", "formulation", "status", "reason", "runs", *_ENDED)
    }
    columns.update({name: [] for name in (*FIGURES, *_FACTS, "spread")})
    if costs:
        columns.update({"seconds_to": [], "kernel_evaluations_to": []})
    of_solver, of_dataset, of_commit = (
        {name: i for i, name in enumerate(names)} for names in (solvers, datasets, commits)
    )
    for (solver, dataset), (file, runs) in sorted(cells.items(), key=lambda item: item[0]):
        measured = [run for run in runs if run.measured]
        columns["solver"].append(of_solver[solver])
        columns["dataset"].append(of_dataset[dataset])
        columns["commit"].append(of_commit[file.commit])
        columns["formulation"].append(next((run["formulation"] for run in runs if run.get("formulation")), None))
        columns["status"].append(_status(runs))
        columns["reason"].append(_reason(runs))
        columns["runs"].append(len(runs))
        for name, of in _ENDED.items():
            columns[name].append(of(runs))
        for name in FIGURES:
            columns[name].append(_median(measured, name))
        for name in _FACTS:
            columns[name].append(next((run[name] for run in runs if run.get(name) is not None), None))
        seconds = [run["fit_seconds"] for run in measured if is_number(run.get("fit_seconds"))]
        columns["spread"].append([rounded(min(seconds)), rounded(max(seconds))] if len(seconds) > 1 else None)
        if costs:
            columns["seconds_to"].append(_costs(runs, "seconds"))
            columns["kernel_evaluations_to"].append(_costs(runs, "kernel_evaluations"))
    kept = {name: values for name, values in columns.items() if any(value is not None for value in values)}
    return {"solvers": solvers, "datasets": datasets, "commits": commits, "columns": kept, "rows": len(cells)}


def _median(runs: list[Record], name: str) -> float | None:
    values = [value for run in runs if (value := figure(run, name)) is not None]
    return rounded(median(values)) if values else None


def _target(runs: list[Record]) -> float | None:
    """Return the relative gap that all runs were asked for, None if there is none."""
    targets = {run.get("target_gap") for run in runs}
    return targets.pop() if len(targets) == 1 else None


_ENDED: dict[str, Callable[[list[Record]], Any]] = {
    "ran": lambda runs: any(run.get("status") not in NO_RUN for run in runs),
    "measured": lambda runs: any(run.measured for run in runs),
    "complete": lambda runs: all(run.get("status") == Status.OK for run in runs),
    "failed": lambda runs: any(run.failed for run in runs),
    "target_gap": _target,
    "at_least": lambda runs: any(run.get("evaluations_at_least") for run in runs),
}
"""What the pages need to know of how a cell's runs ended; they know no status."""


def _status(runs: list[Record]) -> str:
    """Return ``ok``, ``timeout``, ``timeout 1/3``."""
    counts = Counter(str(run.get("status")) for run in runs)
    fine = {str(run.get("status")): run.measured for run in runs}
    worst = min(counts, key=lambda status: (fine[status] or status in NO_RUN, fine[status], -counts[status]))
    return worst if len(counts) == 1 else f"{worst} {counts[worst]}/{len(runs)}"


def _reason(runs: list[Record]) -> str | None:
    found = Counter(str(run["reason"]) for run in runs if run.get("reason") and run.get("status") != Status.OK)
    return found.most_common(1)[0][0][:LONGEST_REASON] if found else None


def _costs(runs: list[Record], figure: str) -> list[float | None] | None:
    """Return for each target the median over the runs of what they had spent; half the runs must have reached it."""
    if not any(run.get("relative_gap") is not None for run in runs):
        return None
    each = [traces.cost_of_targets(run, figure) for run in runs if run.get("status") != Status.SKIPPED]
    middle = [median(float("inf") if value is None else value for value in spent) for spent in zip(*each, strict=True)]
    return [None if value == float("inf") else rounded(value) for value in middle]


def _trace(runs: list[Record]) -> list[list[Any]]:
    """Return the trace of the run of median time, point by point; its end is the run's own figures."""
    traced = sorted((run for run in runs if run.get("trace")), key=lambda run: run.get("fit_seconds") or 0.0)
    if not traced:
        return []
    run = traced[(len(traced) - 1) // 2]
    points = [[figure(point, name) for name in _TRACED] for point in traces.thinned(run["trace"])]
    return [[None if value is None else rounded(value, 4) for value in point] for point in points]


def _write(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, allow_nan=False, separators=(",", ":"), ensure_ascii=False), encoding="utf-8")
