"""The cells of a commit as a table for the pages: names, facts of solvers and data sets, figures and how sure they are.

One honest clock: a figure ``time`` that is CPU seconds where every measured run of a data set ran in one thread and its
CPU time is known, else wall seconds. Other work on the machine is no part of it, and no chart mixes the two.
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
from harness_dashboard.names import bare
from harness_dashboard.numbers import figure, rounded
from harness_dashboard.records import NO_RUN, Cell, RecordFile

if TYPE_CHECKING:
    from collections.abc import Iterable

Cells = Mapping[Cell, tuple[RecordFile, list[Record]]]
"""The runs of each cell, and the file that they come from."""

FIGURES = (
    "time", "fit_seconds", "cpu_seconds", "compile_seconds", "kernel_evaluations", "iterations", "support_vectors",
    "working_set_size", "test_error", "relative_gap", "suboptimality", "kkt_violation", "epsilon", "epsilon_plus",
    "peak_rss_bytes", *LOSSES,
)  # fmt: skip
"""The figures of a cell, in the order in which a table of one data set shows them."""

NOISY = frozenset({"time", "fit_seconds", "cpu_seconds", "compile_seconds", "peak_rss_bytes", "seconds_to"})
"""Those that differ from one run to the next of the same code on the same data."""

POINTS = 32
TRACED = (
    "seconds",
    "kernel_evaluations",
    "queried",
    "relative_gap",
    "test_error",
    "support_vectors",
    "epsilon",
    "suboptimality",
)
_OF_A_POINT = (*TRACED[:4], "cpu_seconds", "test_accuracy", *TRACED[5:], "gap_rounding")
_OF_COST = {"seconds": "seconds_to", "kernel_evaluations": "kernel_evaluations_to"}
LONGEST_REASON = 600


def table(cells: Cells) -> dict[str, Any]:
    """Return cells column by column: names as places in lists, figures as medians over the runs that have a model.

    A column of which every value is none, or false, is left out. Beside the columns: ``solvers``, ``looks``, ``datasets`` and
    ``dataset_facts``, ``commits``, ``rows``; and ``problems`` where one data set has several, each a row's ``problem``.
    """
    solvers, datasets = (sorted({cell[place] for cell in cells}) for place in (0, 1))
    commits = sorted({file.commit for file, _ in cells.values()})
    of_solver, of_dataset, of_commit = (
        {name: i for i, name in enumerate(each)} for each in (solvers, datasets, commits)
    )
    runs_on: dict[str, list[Record]] = {}
    for (_, dataset), (_, runs) in cells.items():
        runs_on.setdefault(dataset, []).extend(runs)
    facts = {name: _dataset_facts(name, runs) for name, runs in runs_on.items()}
    problems: list[dict[str, Any]] = []
    columns: dict[str, list[Any]] = {}
    for (solver, dataset), (file, runs) in sorted(cells.items(), key=lambda item: item[0]):
        row: dict[str, Any] = {
            "solver": of_solver[solver], "dataset": of_dataset[dataset], "commit": of_commit[file.commit],
            "problem": _place(problems, _problem(runs)) if facts[dataset]["several"] else None,
            "status": _status(runs), "reason": _reason(runs), "runs": len(runs),
            **{name: of(runs) for name, of in _ENDED.items()},
            **_figures(runs, facts[dataset]["clock"]),
            **_costs(runs, facts[dataset]["trace_clock"]),
        }  # fmt: skip
        for name, value in row.items():
            columns.setdefault(name, []).append(value)
    for each in facts.values():
        del each["several"]
    return {
        "solvers": solvers, "datasets": datasets, "dataset_facts": [facts[name] for name in datasets],
        "looks": list(looks(solvers).values()), "commits": [commit[:SHOWN] for commit in commits], "rows": len(cells),
        **({"problems": problems} if problems else {}),
        "columns": {name: values for name, values in columns.items() if {*map(_blank, values)} != {True}},
    }  # fmt: skip


def _blank(value: Any) -> bool:
    return value is None or value is False


def _place(known: list[dict[str, Any]], item: dict[str, Any]) -> int:
    if item not in known:
        known.append(item)
    return known.index(item)


# -- facts ---------------------------------------------------------------------------------------------------


def _dataset_facts(name: str, runs: Sequence[Record]) -> dict[str, Any]:
    """Return the facts of a data set, and the clocks of its runs and of their traces."""
    kernel = kernel_text(_first(runs, "kernel"), _first(runs, "kernel_parameters"))
    stated = [run for run in runs if run.get("formulation")]
    problems = {(run["formulation"], repr(run.get("problem_parameters"))) for run in stated}
    problem = _problem(stated) if len(problems) == 1 else _problem([])
    clock, trace_clock = clocks([run for run in runs if run.measured])
    return {
        "set": bare(name, runs), **problem, "several": len(problems) > 1,
        "kernel": kernel,
        **{fact: _first(runs, fact) for fact in ("n_train", "n_features", "density")},
        "clock": clock, "trace_clock": trace_clock,
    }  # fmt: skip


def _problem(runs: Iterable[Record]) -> dict[str, Any]:
    """Return the problem of runs: ``formulation``, and ``problem`` as text."""
    run = next((run for run in runs if run.get("formulation")), Record())
    formulation = run.get("formulation")
    text = problem_text(formulation, run.get("problem_parameters") or {}) if formulation else ""
    return {"formulation": formulation, "problem": text}


def _first(runs: Iterable[Record], name: str) -> Any:
    return next((run[name] for run in runs if run.get(name) is not None), None)


# -- figures -------------------------------------------------------------------------------------------------


def _figures(runs: list[Record], clock: str) -> dict[str, Any]:
    """Return the medians of a cell, ``intervals`` of those in which several runs differ, and ``disturbed``."""
    measured = [run for run in runs if run.measured]
    result: dict[str, Any] = {}
    intervals: dict[str, list[float]] = {}
    for name in FIGURES:
        known = CLOCKS[clock] if name == "time" else name
        values = [value for run in measured if (value := figure(run, known)) is not None]
        result[name] = rounded(median(values)) if values else None
        if len(runs) > 1 and values:
            low, high = interval(values, noisy=name in NOISY)
            if low < high:
                intervals[name] = [rounded(low), rounded(high)]
    shared = disturbed(measured, result["fit_seconds"], result["cpu_seconds"])
    return {**result, "intervals": intervals or None, "disturbed": shared and rounded(shared, 3)}


def _costs(runs: list[Record], clock: str) -> dict[str, Any]:
    """Return for each target the median over the runs of what they had spent; half the runs must have reached it.

    With ``..._intervals`` where several runs differ: the upper end is None where a run that never reached it is there.
    """
    result: dict[str, Any] = {f"{name}{ending}": None for name in _OF_COST.values() for ending in ("", "_intervals")}
    certified = any(run.get(name) is not None for run in runs for name in ("relative_gap", "suboptimality"))
    if _differing(runs) or not certified:
        return result
    for cost, name in _OF_COST.items():
        targets = until(runs, cost, clock)
        result[name] = [_finite(median(costs)) for costs in targets]
        sure = [interval(costs, noisy=name in NOISY) for costs in targets] if len(runs) > 1 else []
        if any(low < high for low, high in sure):
            result[f"{name}_intervals"] = [
                [_finite(end) for end in each] if each[0] < each[1] else None for each in sure
            ]
    return result


def _finite(value: float) -> float | None:
    return None if value == float("inf") else rounded(value)


def thinned(trace: Sequence[Mapping[str, Any]], points: int = POINTS) -> list[dict[str, Any]]:
    """Return at most about ``points`` points of a trace with the figures that are drawn.

    The first, the last and those at which a target was first reached are always among them, so that thinning changes
    no performance profile.
    """
    wanted = {0, len(trace) - 1, *(place for place in places(trace, TARGETS) if place is not None)}
    if len(trace) > points:
        wanted.update(round(i * (len(trace) - 1) / (points - 1)) for i in range(points))
    else:
        wanted.update(range(len(trace)))
    return [
        {
            name: upward(point[name]) if name in ("relative_gap", "suboptimality") else _rounded(point[name])
            for name in _OF_A_POINT
            if is_number(point.get(name))
        }
        for place, point in enumerate(trace)
        if place in wanted
    ]


def _rounded(value: float) -> float | int:
    return value if isinstance(value, int) else rounded(value, 4)


def upward(gap: float, digits: int = 4) -> float:
    """Return a gap with a few significant digits, none below the measured one: rounding must not reach a target."""
    return float(Context(prec=digits, rounding=ROUND_CEILING).create_decimal(repr(float(gap))))


def traced(cells: Cells, dataset: str, clock: str) -> dict[str, Any]:
    """Return the traces on a data set: ``columns``, those of `TRACED` that any has, the ``clock``, and solver -> points."""
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
    """Return the trace of the run of median time, point by point (`TRACED`); its end is the figures of the run."""
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
    """Return the relative gap that all runs were asked for, None if there is none."""
    targets = {run.get("target_gap") for run in runs}
    return targets.pop() if len(targets) == 1 else None


_ENDED: dict[str, Callable[[list[Record]], Any]] = {
    "ran": lambda runs: any(run.get("status") not in NO_RUN for run in runs),
    "measured": lambda runs: any(run.measured for run in runs),
    "complete": lambda runs: all(run.get("status") == Status.OK for run in runs) and not _differing(runs),
    "failed": lambda runs: any(run.failed for run in runs),
    "target_gap": _target,
    "at_least": lambda runs: any(run.get("evaluations_at_least") for run in runs),
}
"""How the runs of a cell ended; the pages know no status."""


def _status(runs: list[Record]) -> str:
    """Return ``ok``, ``timeout``, ``timeout 1/3``."""
    counts = Counter(str(run.get("status")) for run in runs)
    fine = {str(run.get("status")): run.measured for run in runs}
    worst = min(counts, key=lambda status: (fine[status] or status in NO_RUN, fine[status], -counts[status]))
    return worst if len(counts) == 1 else f"{worst} {counts[worst]}/{len(runs)}"


def _reason(runs: list[Record]) -> str | None:
    result = Counter(str(run["reason"]) for run in runs if run.get("reason") and run.get("status") != Status.OK)
    return result.most_common(1)[0][0][:LONGEST_REASON] if result else _differing(runs) or None


def _differing(runs: list[Record]) -> str:
    """Return why repetitions compete nowhere: their counts cannot all be the solver's."""
    return differing([run for run in runs if run.measured])
