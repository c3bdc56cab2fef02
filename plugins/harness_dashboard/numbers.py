"""The numbers of exported results that asv keeps: one benchmark a figure, its parameters solver and data set.

The lists of solvers and data sets of all exports so far stand in ``exported.json`` beside asv's results, because
`asv run` writes a ``benchmarks.json`` that knows only its own benchmarks. `merge` puts ours back before a site is made.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from harness import Record, UsageError, is_number, write_whole
from harness_dashboard.history import LEAST_GAP
from harness_dashboard.records import NO_RUN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from harness_dashboard.records import Cell

PREFIX = "grid."
BENCHMARK_VERSION = "1"  # asv hides results of another version: it changes when a figure changes its meaning
_NOT_RUN = (float("nan"), None)  # asv's n/a


@dataclass(frozen=True)
class Number:
    """A figure as asv keeps it: less is better.

    of : the figure of one run, None if the run has none
    samples : asv keeps the runs of a cell as samples, and tells noise from change by them
    digits : what the figure is worth; more would only fill the site
    """

    name: str
    title: str
    unit: str
    of: Callable[[Record], float | None]
    type: str = "track"
    samples: bool = False
    digits: int = 6


def _figure(name: str) -> Callable[[Record], float | None]:
    def of(record: Record) -> float | None:
        value = record.get(name)
        return value if is_number(value) else None

    return of


def _evaluations(record: Record) -> float | None:
    return None if record.get("evaluations_at_least") else _figure("kernel_evaluations")(record)


def _error(record: Record) -> float | None:
    accuracy = record.get("test_accuracy")
    return 100.0 * (1.0 - accuracy) if is_number(accuracy) else None


def _gap(record: Record) -> float | None:
    gap = record.get("relative_gap")
    return max(gap, LEAST_GAP) if is_number(gap) else None


NUMBERS = (
    Number("time_fit", "seconds inside the solver", "seconds", _figure("fit_seconds"), "time", samples=True, digits=4),
    Number("peakmem_fit", "peak memory of the run", "bytes", _figure("peak_rss_bytes"), "memory", digits=4),
    Number("track_kernel_evaluations", "kernel evaluations", "evaluations", _evaluations),
    Number("track_support_vectors", "support vectors", "vectors", _figure("support_vectors")),
    Number("track_working_set_size", "working set", "points", _figure("working_set_size")),
    Number("track_test_error_pct", "test error in per cent", "%", _error, digits=4),
    Number("track_relative_gap", "certified relative gap", "", _gap, digits=3),
)
FAILURES = Number("track_failed", "share of runs that failed", "", lambda record: int(record.failed))


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
    grid = [cells.get((solver, dataset)) for solver in solvers for dataset in datasets]
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


def _value(number: Number, records: list[Record] | None) -> tuple[float | None, list[float] | None]:
    if not records:
        return _NOT_RUN
    if len(records) > 1:
        return _value_of_many(number, records)
    (record,) = records
    if record.get("status") in NO_RUN:
        return _NOT_RUN
    if number is not FAILURES and not _counts(record):
        return None, None
    value = number.of(record)
    return _NOT_RUN if value is None else (rounded(value, number.digits), None)


def _counts(record: Record) -> bool:
    """Return whether a run's figures enter the history: it has a model, and did what was asked."""
    return record.measured and not record.failed


def _value_of_many(number: Number, records: list[Record]) -> tuple[float | None, list[float] | None]:
    if all(record.get("status") in NO_RUN for record in records):
        return _NOT_RUN
    if number is FAILURES:
        return rounded(sum(record.failed for record in records) / len(records)), None
    measured = [record for record in records if _counts(record)]
    found = [value for record in measured if (value := number.of(record)) is not None]
    if not found:
        return _NOT_RUN if measured else (None, None)
    runs = [rounded(value, number.digits) for value in found] if number.samples and len(found) > 1 else None
    return rounded(median(found), number.digits), runs


def remember(file: Path, solvers: Iterable[str], datasets: Iterable[str]) -> tuple[list[str], list[str]]:
    """Add names to the lists of everything ever exported, and return the lists."""
    known_solvers, known_datasets = remembered(file)
    all_solvers = sorted({*known_solvers, *solvers})
    all_datasets = sorted({*known_datasets, *datasets})
    content = json.dumps({"version": 1, "solvers": all_solvers, "datasets": all_datasets}, indent=1) + "\n"
    write_whole(file, content.encode())
    return all_solvers, all_datasets


def remembered(file: Path) -> tuple[list[str], list[str]]:
    """Return the solvers and data sets ever exported; two empty lists before the first export.

    Raises
    ------
    UsageError : the file is broken.
    """
    if not file.exists():
        return [], []
    try:
        read = json.loads(file.read_bytes())
        return [str(name) for name in read["solvers"]], [str(name) for name in read["datasets"]]
    except (ValueError, KeyError, TypeError):
        raise UsageError(f"{file} is broken; delete it and export again.") from None


def merge(benchmarks_file: Path, exported_file: Path) -> None:
    """Put the benchmarks of exported results into asv's list, beside those of `asv run`; make the list if there is none."""
    from asv.benchmarks import Benchmarks
    from asv.util import UserError, load_json, write_json

    try:
        listed = load_json(str(benchmarks_file), Benchmarks.api_version) if benchmarks_file.exists() else {}
    except UserError as error:
        raise UsageError(f"{' '.join(str(error).split())}; delete it, `harness dashboard run` makes it anew.") from None
    solvers, datasets = remembered(exported_file)
    merged = {name: each for name, each in listed.items() if not name.startswith(PREFIX) and name != "version"}
    if solvers and datasets:
        merged.update(benchmarks(solvers, datasets))
    if merged != listed or not benchmarks_file.exists():
        benchmarks_file.parent.mkdir(parents=True, exist_ok=True)
        write_json(str(benchmarks_file), merged, Benchmarks.api_version)
