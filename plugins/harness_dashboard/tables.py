"""Tables of cells for the pages: names, facts of solvers and data sets, figures and their intervals.

The figure ``time`` is CPU time if every measured run of a data set ran in one thread with a known CPU time, else wall time. CPU
time does not depend on other work on the machine, and no chart mixes the two.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_CEILING, Context
from statistics import median
from typing import TYPE_CHECKING, Any

from harness import Record, Status
from harness.report.figures import is_number
from harness.report.measures import LOSSES
from harness.report.noise import interval
from harness.report.pictures import looks
from harness.report.rows import kernel_text, problem_text
from harness.report.timing import CLOCKS, TARGETS, clocks, differing, disturbed, places, points, seconds, until
from harness_dashboard.commits import SHOWN
from harness_dashboard.names import bare_dataset
from harness_dashboard.numbers import figure, rounded
from harness_dashboard.records import NO_RUN, Cell, RecordFile

if TYPE_CHECKING:
    from collections.abc import Iterable

Cells = Mapping[Cell, tuple[RecordFile, list[Record]]]  # the file and the runs of each cell
# figures of a cell, in the order of the columns of the table of a data set
FIGURES = (
    "time", "fit_seconds", "cpu_seconds", "compile_seconds", "kernel_evaluations", "iterations", "support_vectors",
    "working_set_size", "test_error", "relative_gap", "suboptimality", "kkt_violation", "epsilon", "epsilon_plus",
    "peak_rss_bytes", *LOSSES,
)  # fmt: skip
# figures that differ between runs of the same code on the same data
NOISY = frozenset({"time", "fit_seconds", "cpu_seconds", "compile_seconds", "peak_rss_bytes", "seconds_to"})
POINTS = 32  # approximate number of points of a thinned trace
# figures of a point of a trace in the pages
TRACED = (
    "seconds", "kernel_evaluations", "queried", "relative_gap", "test_error", "support_vectors", "epsilon", "suboptimality",
)  # fmt: skip
_POINT_FIELDS = (*TRACED[:4], "cpu_seconds", "test_accuracy", *TRACED[5:], "gap_rounding")
_COSTS = {"seconds": "seconds_to", "kernel_evaluations": "kernel_evaluations_to"}
LONGEST_REASON = 600  # largest number of characters of a reason


def table(cells: Cells) -> dict[str, Any]:
    """Return the columns of the table: names as indices into lists, figures as medians over the runs with a model.

    Columns with only None or False are left out. Further keys are ``solvers``, ``looks``, ``datasets``, ``dataset_facts``,
    ``commits`` and ``rows``, and ``problems`` if a data set has several, which the column ``problem`` refers to.
    """
    solvers, datasets = (sorted({cell[place] for cell in cells}) for place in (0, 1))
    commits = sorted({file.commit for file, _ in cells.values()})
    solver_index, dataset_index, commit_index = (
        {name: i for i, name in enumerate(names)} for names in (solvers, datasets, commits)
    )
    runs_on: dict[str, list[Record]] = {}
    for (_, dataset), (_, runs) in cells.items():
        runs_on.setdefault(dataset, []).extend(runs)
    facts = {name: _dataset_facts(name, runs) for name, runs in runs_on.items()}
    problems: list[dict[str, Any]] = []
    columns: dict[str, list[Any]] = {}
    for (solver, dataset), (file, runs) in sorted(cells.items(), key=lambda item: item[0]):
        row: dict[str, Any] = {
            "solver": solver_index[solver], "dataset": dataset_index[dataset], "commit": commit_index[file.commit],
            "problem": _index_of(problems, _problem(runs)) if facts[dataset]["several"] else None,
            "status": _status(runs), "reason": _reason(runs), "runs": len(runs),
            **{name: of(runs) for name, of in _OUTCOMES.items()},
            **_figures(runs, facts[dataset]["clock"]),
            **_costs(runs, facts[dataset]["trace_clock"]),
        }  # fmt: skip
        for name, value in row.items():
            columns.setdefault(name, []).append(value)
    for of_dataset in facts.values():
        del of_dataset["several"]
    return {
        "solvers": solvers, "datasets": datasets, "dataset_facts": [facts[name] for name in datasets],
        "looks": list(looks(solvers).values()), "commits": [commit[:SHOWN] for commit in commits], "rows": len(cells),
        **({"problems": problems} if problems else {}),
        "columns": {name: values for name, values in columns.items() if any(v is not None and v is not False for v in values)},
    }  # fmt: skip


def _index_of(known: list[dict[str, Any]], item: dict[str, Any]) -> int:
    if item not in known:
        known.append(item)
    return known.index(item)


# -- facts ---------------------------------------------------------------------------------------------------


def _dataset_facts(name: str, runs: Sequence[Record]) -> dict[str, Any]:
    """Return the facts of a data set, with the clocks of its runs and of their traces."""
    kernel = kernel_text(_first(runs, "kernel"), _first(runs, "kernel_parameters"))
    stated = [run for run in runs if run.get("formulation")]
    problems = {(run["formulation"], repr(run.get("problem_parameters"))) for run in stated}
    problem = _problem(stated) if len(problems) == 1 else _problem([])
    clock, trace_clock = clocks([run for run in runs if run.measured])
    return {
        "set": bare_dataset(name, runs), **problem, "several": len(problems) > 1,
        "kernel": kernel,
        **{fact: _first(runs, fact) for fact in ("n_train", "n_features", "density")},
        "clock": clock, "trace_clock": trace_clock,
    }  # fmt: skip


def _problem(runs: Iterable[Record]) -> dict[str, Any]:
    """Return the formulation of runs, and the problem as text."""
    run = next((run for run in runs if run.get("formulation")), Record())
    formulation = run.get("formulation")
    text = problem_text(formulation, run.get("problem_parameters") or {}) if formulation else ""
    return {"formulation": formulation, "problem": text}


def _first(runs: Iterable[Record], name: str) -> Any:
    return next((run[name] for run in runs if run.get(name) is not None), None)


# -- figures -------------------------------------------------------------------------------------------------


def _figures(runs: list[Record], clock: str) -> dict[str, Any]:
    """Return the medians of a cell, ``intervals`` of the figures that differ between runs, and ``disturbed``."""
    measured = [run for run in runs if run.measured]
    result: dict[str, Any] = {}
    intervals: dict[str, list[float]] = {}
    for name in FIGURES:
        field = CLOCKS[clock] if name == "time" else name
        values = [value for run in measured if (value := figure(run, field)) is not None]
        result[name] = rounded(median(values)) if values else None
        if len(runs) > 1 and values:
            low, high = interval(values, noisy=name in NOISY)
            if low < high:
                intervals[name] = [rounded(low), rounded(high)]
    shared = disturbed(measured, result["fit_seconds"], result["cpu_seconds"])
    return {**result, "intervals": intervals or None, "disturbed": shared and rounded(shared, 3)}


def _costs(runs: list[Record], clock: str) -> dict[str, Any]:
    """Return the median cost over the runs until each target; None unless half of the runs reached it.

    ``..._intervals`` has the intervals of costs that differ between runs; an upper end of None is a run that did not reach it.
    """
    result: dict[str, Any] = {f"{name}{ending}": None for name in _COSTS.values() for ending in ("", "_intervals")}
    certified = any(run.get(name) is not None for run in runs for name in ("relative_gap", "suboptimality"))
    if _differing(runs) or not certified:
        return result
    for cost, name in _COSTS.items():
        targets = until(runs, cost, clock)
        result[name] = [_finite(median(costs)) for costs in targets]
        intervals = [interval(costs, noisy=name in NOISY) for costs in targets] if len(runs) > 1 else []
        if any(low < high for low, high in intervals):
            result[f"{name}_intervals"] = [
                [_finite(low), _finite(high)] if low < high else None for low, high in intervals
            ]
    return result


def _finite(value: float) -> float | None:
    return None if value == float("inf") else rounded(value)


def thinned(trace: Sequence[Mapping[str, Any]], points: int = POINTS) -> list[dict[str, Any]]:
    """Return about ``points`` points of a trace with the figures of the pages.

    They include the first and the last point and the first points that reach a target, so that thinning does not change
    performance profiles.
    """
    selected = {0, len(trace) - 1, *(place for place in places(trace, TARGETS) if place is not None)}
    if len(trace) > points:
        selected.update(round(i * (len(trace) - 1) / (points - 1)) for i in range(points))
    else:
        selected.update(range(len(trace)))
    return [
        {
            name: upward(point[name]) if name in ("relative_gap", "suboptimality") else _rounded(point[name])
            for name in _POINT_FIELDS
            if is_number(point.get(name))
        }
        for place, point in enumerate(trace)
        if place in selected
    ]


def _rounded(value: float) -> float | int:
    return value if isinstance(value, int) else rounded(value, 4)


def upward(gap: float, digits: int = 4) -> float:
    """Return a gap rounded up to ``digits`` significant digits, so that rounding does not reach a target."""
    return float(Context(prec=digits, rounding=ROUND_CEILING).create_decimal(repr(float(gap))))


def traced(cells: Cells, dataset: str, clock: str) -> dict[str, Any]:
    """Return the traces on a data set: the ``columns`` of `TRACED` with values, the ``clock``, and solver -> points."""
    result = {solver: _trace(runs, clock) for (solver, on), (_, runs) in cells.items() if on == dataset}
    traces = {solver: points for solver, points in result.items() if points}
    used = [
        i for i in range(len(TRACED)) if any(point[i] is not None for points in traces.values() for point in points)
    ]
    return {
        "columns": [TRACED[i] for i in used],
        "clock": clock,
        "solvers": {solver: [[point[i] for i in used] for point in points] for solver, points in traces.items()},
    }


def _trace(runs: list[Record], clock: str) -> list[list[Any]]:
    """Return the points (`TRACED`) of the trace of the run with median time, without the last, which is the run's result."""
    by = CLOCKS[clock]
    ordered = sorted((run for run in runs if run.get("trace")), key=lambda run: seconds(run, by) or 0.0)
    if not ordered:
        return []
    trace = thinned(points(ordered[(len(ordered) - 1) // 2])[:-1])
    timed = [{**point, "seconds": point.get("cpu_seconds")} for point in trace] if clock == "cpu" else trace
    return [
        [None if (value := figure(point, name)) is None else rounded(value, 4) for name in TRACED] for point in timed
    ]


# -- how it ended --------------------------------------------------------------------------------------------


def _target(runs: list[Record]) -> float | None:
    """Return the common target gap of the runs, or None."""
    targets = {run.get("target_gap") for run in runs}
    return targets.pop() if len(targets) == 1 else None


# column -> its function of the runs of a cell; the pages do not interpret statuses
_OUTCOMES: dict[str, Callable[[list[Record]], Any]] = {
    "ran": lambda runs: any(run.get("status") not in NO_RUN for run in runs),
    "measured": lambda runs: any(run.measured for run in runs),
    "complete": lambda runs: all(run.get("status") == Status.OK for run in runs) and not _differing(runs),
    "failed": lambda runs: any(run.failed for run in runs),
    "target_gap": _target,
    "at_least": lambda runs: any(run.get("evaluations_at_least") for run in runs),
}


def _status(runs: list[Record]) -> str:
    """Return the status of a cell: ``ok``, ``timeout``, or ``timeout 1/3`` if the runs differ."""
    counts = Counter(str(run.get("status")) for run in runs)
    fine = {str(run.get("status")): run.measured for run in runs}
    worst = min(counts, key=lambda status: (fine[status] or status in NO_RUN, fine[status], -counts[status]))
    return worst if len(counts) == 1 else f"{worst} {counts[worst]}/{len(runs)}"


def _reason(runs: list[Record]) -> str | None:
    result = Counter(str(run["reason"]) for run in runs if run.get("reason") and run.get("status") != Status.OK)
    return result.most_common(1)[0][0][:LONGEST_REASON] if result else _differing(runs) or None


def _differing(runs: list[Record]) -> str:
    """Return why the repetitions are not ranked, as their counts differ; '' if they do not."""
    return differing([run for run in runs if run.measured])
