"""The numbers of exported results that asv keeps: one benchmark a figure, its parameters solver and data set.

`asv run` writes a ``benchmarks.json`` that knows only its own benchmarks. `merge` puts ours back before a site is made.
"""

from __future__ import annotations

import ast
import json
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from harness import Record, UsageError
from harness.report.figures import is_number
from harness_dashboard.history import ENVIRONMENT, LEAST_GAP
from harness_dashboard.records import NO_RUN

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from harness_dashboard.records import Cell

PREFIX = "grid."
BENCHMARK_VERSION = "1"  # asv hides results of another version: it changes when a figure changes its meaning
_NOT_RUN = (float("nan"), None)  # asv's n/a
_GREATEST = 1e100  # asv squares and adds them


@dataclass(frozen=True)
class Number:
    """A figure as asv keeps it: less is better.

    figure : its name, as `figure` knows it
    samples : asv keeps the runs of a cell as samples, and tells noise from change by them
    digits : what the figure is worth; more would only fill the site
    """

    name: str
    title: str
    unit: str
    figure: str
    type: str = "track"
    samples: bool = False
    digits: int = 6

    def of(self, run: Record) -> float | None:
        """Return the figure of a run in this unit, None if it has none that could be compared."""
        value = figure(run, self.figure)
        if value is None or (self.figure == "kernel_evaluations" and run.get("evaluations_at_least")):
            return None
        if abs(value) > _GREATEST:
            return None
        if self.figure == "relative_gap":
            return max(value, LEAST_GAP)
        return 100.0 * value if self.unit == "%" else value


NUMBERS = (
    Number("time_fit", "seconds inside the solver", "seconds", "fit_seconds", "time", samples=True, digits=4),
    Number("peakmem_fit", "peak memory of the run", "bytes", "peak_rss_bytes", "memory", digits=4),
    Number("track_kernel_evaluations", "kernel evaluations", "evaluations", "kernel_evaluations"),
    Number("track_support_vectors", "support vectors", "vectors", "support_vectors"),
    Number("track_working_set_size", "working set", "points", "working_set_size"),
    Number("track_test_error_pct", "test error in per cent", "%", "test_error", digits=4),
    Number("track_relative_gap", "certified relative gap", "", "relative_gap", digits=3),
)
FAILURES = Number("track_failed", "share of runs that failed", "", "failed")


def figure(run: Mapping[str, Any], name: str) -> float | None:
    """Return a number of a run, or of a point of its trace: a field, a metric or ``test_error``; None if it has none."""
    if name == "test_error":
        accuracy = run.get("test_accuracy")
        return 1.0 - accuracy if is_number(accuracy) else None
    value = run[name] if name in run else (run.get("metrics") or {}).get(name)
    return value if is_number(value) else None


def rounded(value: float, digits: int = 6) -> float | int:
    """Return a few significant digits, whole numbers as such."""
    short = float(f"{value:.{digits}g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short


def benchmarks(solvers: Sequence[str], datasets: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the benchmarks as asv describes them."""
    parameters = [[repr(name) for name in solvers], [repr(name) for name in datasets]]
    return {
        PREFIX + number.name: {
            "name": PREFIX + number.name,
            "pretty_name": number.title,
            "params": parameters,
            "param_names": ["solver", "dataset"],
            "type": number.type,
            "unit": number.unit,
            "version": BENCHMARK_VERSION,
            "code": f"{number.title}: results of `harness compare`, median over repetitions and seeds",
            "timeout": 60,
        }
        for number in (*NUMBERS, FAILURES)
    }


def add_results(results: Any, cells: Mapping[Cell, list[Record]], started: Any) -> None:
    """Add the cells of one commit to asv's ``Results``: failed is null, not run is NaN."""
    from asv.runner import BenchmarkResult

    solvers, datasets = (sorted({cell[place] for cell in cells}) for place in (0, 1))
    described = benchmarks(solvers, datasets)
    grid = [cells.get((solver, dataset), []) for solver in solvers for dataset in datasets]
    for number in (*NUMBERS, FAILURES):
        values: list[Any] = []
        samples: list[list[float] | None] = []
        for records in grid:
            value, runs = _value(number, records)
            values.append(value)
            samples.append(runs)
        if not any(is_number(value) for value in values):
            continue
        found = BenchmarkResult(
            result=values,
            samples=samples,
            number=[1 if runs else None for runs in samples],
            errcode=0,
            stderr="",
            profile=None,
        )
        results.add_result(described[PREFIX + number.name], found, started_at=started, record_samples=True)


def _value(number: Number, records: list[Record]) -> tuple[float | None, list[float] | None]:
    """Return the median over the runs of a cell that have a model and did what was asked, and their figures."""
    if all(record.get("status") in NO_RUN for record in records):
        return _NOT_RUN
    if number is FAILURES:
        return rounded(sum(record.failed for record in records) / len(records)), None
    counted = [record for record in records if record.measured and not record.failed]
    found = [value for record in counted if (value := number.of(record)) is not None]
    if not found:
        return _NOT_RUN if counted else (None, None)
    runs = [rounded(value, number.digits) for value in found] if number.samples and len(found) > 1 else None
    return rounded(median(found), number.digits), runs


def exported(results: Path) -> tuple[list[str], list[str]]:
    """Return the solvers and data sets of everything ever exported into a folder of results."""
    names: tuple[set[str], set[str]] = (set(), set())
    for path in results.glob(f"*/*-{ENVIRONMENT}*.json"):
        for name, row in json.loads(path.read_bytes()).get("results", {}).items():
            if name.startswith(PREFIX):
                for known, stored in zip(names, row[1], strict=True):
                    known.update(str(ast.literal_eval(each)) for each in stored)
    return sorted(names[0]), sorted(names[1])


def merge(results: Path) -> None:
    """Put the benchmarks of exported results into asv's list, beside those of `asv run`; make the list if there is none."""
    from asv.benchmarks import Benchmarks
    from asv.util import UserError, load_json, write_json

    file = results / "benchmarks.json"
    try:
        listed = load_json(str(file), Benchmarks.api_version) if file.exists() else {}
    except UserError as error:
        raise UsageError(f"{' '.join(str(error).split())}; delete it, `harness dashboard run` makes it anew.") from None
    merged = {name: each for name, each in listed.items() if not name.startswith(PREFIX) and name != "version"}
    solvers, datasets = exported(results)
    if solvers and datasets:
        merged.update(benchmarks(solvers, datasets))
    file.parent.mkdir(parents=True, exist_ok=True)
    write_json(str(file), merged, Benchmarks.api_version)
