"""Carry out the grids of a study through the harness's own sessions, each run in a file of JSON lines as it ends."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness import HarnessError, Limits, Record, Status, default_store
from harness.entries import Chosen
from harness.errors import NotKept
from harness.registry import Registry, load_registry
from harness.run.driver import compare
from harness.run.plan import Study
from harness.run.pool import Pool, numba_cache_folder
from reports.kit.course import Course, Quiet
from reports.kit.grids import Grid
from reports.kit.journal import Journal, Row

IDENTITY = ("set", "dataset", "solver", "seed", "formulation", "cache_mb", "C", "gamma")
"""What tells one run of a study from another; the newest row of each counts."""

_KEPT = (
    "seed", "formulation", "cache_mb", "status", "stopped_by", "reason", "iterations", "support_vectors", "core_set_size",
    "working_set_size", "kernel_evaluations", "primal", "dual", "relative_gap", "kkt_violation", "margin_lower", "margin_upper",
    "metrics", "killed_cpu_seconds", "labels_used", "positive_support_vectors", "aubc", "load_average", "peak_rss_bytes",
    "n_train", "n_features", "n_test", "measured_at", "git_commit", "code_sha256",
)  # fmt: skip
_LONGEST = 100  # entries of a list that a journal keeps
_POINT = ("seconds", "iteration", "kernel_evaluations", "support_vectors", "relative_gap", "test_accuracy", "info")
_BOUGHT = ("seconds", "labels_used", "support_vectors", "positive_support_vectors", "test_accuracy")
_DIGITS = 6  # of a figure of a learning curve


def studies_store() -> Path:
    """Return the store of the studies: beside the user's own, since some of their metrics are no numbers."""
    return default_store().with_name("papers.sqlite")


class Runner:
    """Runs grids; what a session's store holds of the same code, data and machine is not measured again.

    keep : nor is any run that the journal holds, whatever code made it; but for runs whose scores are wanted, which the
        journal does not hold
    course : is told of each run that ended
    expected : whether a run ended as it was meant to, though it was not done
    """

    def __init__(
        self,
        journal: Journal,
        *,
        plugins: Sequence[str],
        store: Path | None = None,
        keep: bool = False,
        fresh: bool = False,
        course: Course | None = None,
        expected: Callable[[Row], bool] = lambda row: False,
    ) -> None:
        self.journal, self.plugins, self.keep, self.fresh = journal, list(plugins), keep, fresh
        self.course, self.amiss, self.expected = course or Quiet((), {}), 0, expected
        self.store = store or studies_store()
        self.registry: Registry = load_registry(self.plugins)
        self._pool = Pool(None, numba_cache_folder(), threading.Event())  # its processes serve all grids

    def close(self) -> None:
        """End the processes."""
        self._pool.close()

    def run(self, grid: Grid) -> list[Row]:
        """Carry out the runs of ``grid``; return the rows of those that a session measured, or took from its store.

        Each row has the whole ``record`` beside what the journal keeps. A solver or data set that is not there becomes
        a row with ``missing``, the reason, and the rest goes on. ``amiss`` counts them, and the runs that failed.

        Raises
        ------
        NotKept : the store could not be written; what was measured is in the journal.
        """
        chosen = self._solvers(grid)
        found: list[Row] = []
        for labels, datasets, seeds in self._wanted(grid, chosen):
            part = replace(grid, datasets=datasets, seeds=seeds)
            try:
                found += self._compared(part, {label: chosen[label] for label in labels})
            except NotKept:
                raise
            except HarnessError as error:
                self._missing(grid, str(error), datasets=list(datasets))
        self.course.skipped(grid)
        return found

    def _solvers(self, grid: Grid) -> dict[str, Chosen]:
        """Return the solvers that are there, by the selection that names them."""
        chosen: dict[str, Chosen] = {}
        for label in grid.solvers:
            try:
                (found,) = self.registry.select_solvers(label)
            except HarnessError as error:
                self._missing(grid, str(error), solver=label)
                continue
            if isinstance(found, Chosen):
                chosen[label] = found
            else:
                self._missing(grid, found.reason, solver=label)
        return chosen

    def _wanted(
        self, grid: Grid, chosen: dict[str, Chosen]
    ) -> Iterable[tuple[tuple[str, ...], tuple[str, ...], tuple[int, ...]]]:
        """Yield (solvers, data sets, seeds) of the sessions; without ``keep`` one with everything."""
        if not self.keep or SCORES in grid.metrics:
            if chosen:
                yield tuple(chosen), grid.datasets, grid.seeds
            return
        known = {(row["solver"], row["dataset"], row["seed"]) for row in self.journal.rows if _asked(row, grid)}
        groups: dict[tuple[str, ...], list[tuple[str, int]]] = {}
        for dataset in grid.datasets:
            for seed in grid.seeds:
                lacking = tuple(label for label in chosen if (label, dataset, seed) not in known)
                if lacking:
                    groups.setdefault(lacking, []).append((dataset, seed))
        for labels, places in groups.items():  # of several data sets or several seeds there is never both
            datasets, seeds = zip(*places, strict=True)
            yield labels, tuple(dict.fromkeys(datasets)), tuple(dict.fromkeys(seeds))

    def _compared(self, grid: Grid, chosen: dict[str, Chosen]) -> list[Row]:
        sources = {self.registry.select_datasets(text)[0].label: text for text in grid.datasets}
        study = Study(
            list(chosen.values()),
            self.registry.select_datasets(grid.datasets),
            formulations=list(grid.formulations),
            kernel=grid.kernel,
            problem_values={} if grid.C is None else {"C": [grid.C]},
            kernel_values={} if grid.gamma is None else {"gamma": [grid.gamma]},
            seeds=list(grid.seeds),
            limits=Limits(seconds=grid.limit, target_gap=grid.target_gap),
            cache_mb=grid.cache_mb,
            fresh=self.fresh,
            store=self.store,
            plugin_paths=self.plugins,
            metrics=list(grid.metrics),
        )
        rows: list[Row] = []

        def finished(record: Record, reused: bool) -> None:
            row = slim(record, set=grid.set, solver=_meant(record, chosen), dataset=sources[record["dataset"]])
            if not grid.traced:
                del row["trace"]
            rows.append({**row, "record": record})
            self._note(row)
            failed = record.failed and not self.expected(row)
            self.amiss += failed
            told = line(row) + ("  (measured earlier)" if reused else "")
            self.course.finished(row, reused=reused, failed=failed, text=told)

        try:
            compare(study, self.registry, on_finished=finished, on_note=self.course.say, pool=self._pool)
        except NotKept as error:
            for record in error.records:
                self._note(
                    slim(record, set=grid.set, solver=_meant(record, chosen), dataset=sources[record["dataset"]])
                )
            raise
        return rows

    def _note(self, row: Row) -> None:
        """Write a row down unless the journal holds this very measurement."""
        key = {name: row[name] for name in (*IDENTITY, "measured_at")}
        if self.journal.find(key) is None:
            self.journal.append(row)

    def _missing(self, grid: Grid, reason: str, **what: Any) -> None:
        row = {"set": grid.set, "missing": reason, **what}
        if self.journal.find(row) is None:
            self.journal.append(row)
        self.amiss += 1
        self.course.say(f"{grid.set}: not measured: {reason}")


def _meant(record: Row, chosen: Mapping[str, Chosen]) -> str:
    """Return the selection a record belongs to; ``lasvm-nc[s=0]`` differs from ``lasvm-nc`` in the problem alone."""
    values = {**(record["problem_parameters"] or {}), **(record["kernel_parameters"] or {})}
    fitting = [
        label
        for label, each in chosen.items()
        if each.solver.label == record["label"]
        and all(values.get(name) == value for name, value in each.problem_values.items())
    ]
    return max(fitting, key=lambda label: len(chosen[label].problem_values))


def _asked(row: Row, grid: Grid) -> bool:
    """Return whether ``row`` is a finished run of ``grid``, whatever its limit was."""
    return (
        row.get("status") == Status.OK
        and row["set"] == grid.set
        and row["solver"] in grid.solvers
        and row["dataset"] in grid.datasets
        and row["seed"] in grid.seeds
        and row["formulation"] in grid.formulations
        and row["cache_mb"] == grid.cache_mb
        and (grid.C is None or row["C"] == grid.C)
        and (grid.gamma is None or row["gamma"] == grid.gamma)
        and set(grid.metrics) <= set(row["metrics"] or {})
    )


SCORES = "test-scores"
"""The metric that is no number: it stays in the store, out of the journal."""


def slim(record: Row, **named: Any) -> Row:
    """Return what a study keeps of a record.

    ``cpu`` and ``seconds`` are those inside the solver, without the conversion of the data to a library's own format;
    ``error`` is in percent of the test points. ``info`` of a run that was killed is that of its last trace point; lists in
    it with more than a hundred entries stay in the store.
    """
    left = record["trace"][-1].get("info") if record["trace"] else None
    info = {name: value for name, value in (record["info"] or left or {}).items() if not _long(value)}
    wall, cpu = info.pop("conversion_seconds", 0.0), info.pop("conversion_cpu_seconds", 0.0)
    row = {**named, **{name: record.get(name) for name in _KEPT}}
    row["metrics"] = {name: value for name, value in (row["metrics"] or {}).items() if name != SCORES}
    accuracy, seconds, spent = record.get("test_accuracy"), record.get("fit_seconds"), record.get("cpu_seconds")
    return {
        **row,
        "C": (record.get("problem_parameters") or {}).get("C"),
        "gamma": (record.get("kernel_parameters") or {}).get("gamma"),
        "error": None if accuracy is None else 100.0 * (1.0 - accuracy),
        "seconds": None if seconds is None else max(0.0, seconds - wall),
        "cpu": None if spent is None else max(0.0, spent - cpu),
        "info": info,
        "trace": _trace(record),
    }


def _trace(record: Row) -> list[Row]:
    """Return what a study keeps of the trace; where labels are bought, a learning curve: the ladder of labels, and the end."""
    if not record.get("labels_used"):
        return [{name: point[name] for name in _POINT if name in point} for point in record["trace"]]
    return [
        {name: _rounded(point[name]) for name in _BOUGHT if name in point}
        | {"metrics": {name: _rounded(value) for name, value in point.get("metrics", {}).items()}}
        for point in record["trace"]
        if point["reason"] in ("labels", "end")
    ]


def _rounded(value: Any) -> Any:
    return round(value, _DIGITS) if isinstance(value, float) else value


def _long(value: Any) -> bool:
    return isinstance(value, list) and len(value) > _LONGEST


def line(row: Row) -> str:
    """Return a run as a line of progress."""
    head = f"{row['dataset']:32} {row['solver']:44} seed {row['seed']}"
    if row["cpu"] is None:
        return f"{head} {row['status']}: {row['reason']}"
    count = "-" if row["kernel_evaluations"] is None else f"{row['kernel_evaluations']:.3g}"
    error = "-" if row["error"] is None else f"{row['error']:.2f} %"
    return f"{head} {row['cpu']:9.3f} CPU s  error {error}  SV {row['support_vectors']}  kernel values {count}"
