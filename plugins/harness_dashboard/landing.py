"""Data of the first table of the pages: time, kernel evaluations, core set, test accuracy and failures of each solver.

There is a table for each class of problems. Its sentences, ranks, ratios and ranges are those of `harness.report.verdict`.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import fmean, geometric_mean, median
from typing import TYPE_CHECKING, Any

from harness import Record
from harness.report import figures
from harness.report.measures import ACCURACY, EVALUATIONS, FIT, SIZE, Measure
from harness.report.rows import Group, Row, count_comparisons, grouped
from harness.report.verdict import Comparison, Place, able_in, contests, verdict
from harness_dashboard.history import ABSENT
from harness_dashboard.names import bare_dataset
from harness_dashboard.numbers import rounded

if TYPE_CHECKING:
    from harness_dashboard.tables import Cells

MEASURES = {"time": FIT, "evaluations": EVALUATIONS, "core_set": SIZE, "accuracy": ACCURACY}
_MAX_RATIOS = 20_000  # largest number of ratios of times in a page


def landing(cells: Cells, place: Sequence[int], classes: Sequence[Sequence[int]]) -> dict[str, Any]:
    """Return the sentences and the lines of each class of problems, and the ranges of ratios of times.

    place : index of the problem of each cell, in the order of their names
    classes : the problems of each class
    """
    problems = dict(zip(sorted(cells), place, strict=True))
    numbers = {name: i for i, name in enumerate(sorted({solver for solver, _ in cells}))}
    problem_of, solver_of = dict[int, int](), dict[int, int]()  # id of a record -> index
    records = list[Record]()
    for (solver, dataset), (_, runs) in cells.items():
        for run in runs:
            if run.get("status") != ABSENT:
                records.append(Record({**run, "dataset": bare_dataset(dataset, runs)}))
                problem_of[id(records[-1])], solver_of[id(records[-1])] = problems[solver, dataset], numbers[solver]
    groups = grouped(records)
    summaries = []
    for members in classes:
        parts = [
            replace(group, rows=[row for row in group.rows if problem_of[id(row.first)] in members]) for group in groups
        ]
        parts = [part for part in parts if part.rows]
        count_comparisons(parts)
        summaries.append(_summary(parts, solver_of))
    return {"classes": summaries, "ratios": list(_ratios(groups, problem_of, solver_of))}


def _ratios(
    groups: Sequence[Group], problem_of: Mapping[int, int], solver_of: Mapping[int, int]
) -> Iterator[list[Any]]:
    """Yield problem, two solvers and the range of the ratio of their times; nothing if there are too many."""
    units = [unit for name, units in contests(groups).items() if name for unit in units]
    if sum(len(unit.rows) ** 2 for unit in units) > 2 * _MAX_RATIOS:
        return
    for place in map(Place.of, units):
        times = Comparison.of(FIT, [place], place.rows)
        for a, b in itertools.combinations(times.middle, 2):
            first, second = (place.rows[name].first for name in (a, b))
            ((low, high),) = times.ratios(a, b)
            ends = [rounded(low, 4), rounded(high, 4)]
            yield [problem_of[id(first)], solver_of[id(first)], solver_of[id(second)], *ends]


def _summary(groups: Sequence[Group], solver_of: Mapping[int, int]) -> dict[str, Any]:
    lines = [line for name, units in contests(groups).items() if name for line in _lines(name, units, solver_of)]
    listed = {line["name"] for line in lines}
    idle: dict[str, list[Row]] = {}  # solvers without a started run
    for row in (row for group in groups for row in group.rows if not row.begun and row.name not in listed):
        idle.setdefault(row.name, []).append(row)
    lines += [_line("", name, rows, solver_of) for name, rows in idle.items()]
    targets = {record.get("target_gap") for group in groups for row in group.rows for record in row.records}
    target = targets.pop() if len(targets) == 1 else None
    return {
        "sentences": verdict(groups).sentences,
        "gap": figures.target(target) if figures.is_number(target) else "",
        "sets": len({row.first.get("dataset") for group in groups for row in group.rows}),
        "lines": lines,
    }


def _line(formulation: str, name: str, rows: Sequence[Row], solver_of: Mapping[int, int]) -> dict[str, Any]:
    """Return the solver of a line, and the failures of its runs."""
    records = [record for row in rows for record in row.records]
    failed = Counter(str(record.get("status")) for record in records if record.failed)
    return {
        "formulation": formulation, "name": name, "solver": solver_of[id(records[0])], "on": len(rows),
        "runs": len(records), "failed": failed.total(), "status": ", ".join(failed),
    }  # fmt: skip


def _lines(formulation: str, units: Sequence[Group], solver_of: Mapping[int, int]) -> list[dict[str, Any]]:
    """Return the lines of a formulation, the fastest first; a solver that failed or was not run on a problem has no rank."""
    places = [Place.of(unit) for unit in units]
    rows: dict[str, list[Row]] = {}
    for name, row in ((name, row) for place in places for name, row in place.rows.items()):
        rows.setdefault(name, []).append(row)
    able = able_in(places, rows)
    comparisons = {key: Comparison.of(measure, places, able) for key, measure in MEASURES.items()}
    loose = any(unit.loose for unit in units)
    best = {key: _best(comparisons[key], MEASURES[key]) for key in MEASURES if key == "accuracy" or not loose}
    values = {name: {key: _value(name, comparisons[key], MEASURES[key]) for key in MEASURES} for name in rows}
    times = comparisons["time"]
    speed = times.middle
    order = sorted(rows, key=lambda name: (name not in speed, speed.get(name) or (values[name]["time"] or [0.0])[0]))
    lines = []
    for name in order:
        line = _line(formulation, name, rows[name], solver_of) | {"all": len(places), "clock": times.clock}
        if name in speed and name != order[0] and not loose:
            lows, highs = zip(*times.ratios(order[0], name), strict=True)
            line["ratio"] = [rounded(ratio, 4) for ratio in (speed[name] / speed[order[0]], min(lows), max(highs))]
        line |= {"values": values[name], "best": [key for key in best if name in best[key]]}
        lines.append(line)
    return lines


def _value(name: str, comparison: Comparison, measure: Measure) -> list[float] | None:
    """Return the mean of a solver's medians, geometric except for shares, and the number of problems."""
    pairs = zip(comparison.measures, comparison.places, strict=True)
    rows = [(of_place, place.rows[name]) for of_place, place in pairs if name in place.rows]
    medians = [median(values) for of_place, row in rows if (values := of_place.ranked(row))]
    if not medians:
        return None
    mean = fmean(medians) if measure.share else geometric_mean([max(value, figures.TINY) for value in medians])
    return [rounded(mean), len(medians)]


def _best(comparison: Comparison, measure: Measure) -> set[str]:
    """Return the solvers with the best figure or a tie with it; no solver if that is all of them."""
    middle, ahead = comparison.middle, comparison.ahead
    if not middle:
        return set()
    first = (max if measure.best == "high" else min)(middle, key=lambda name: middle[name])
    equal = {name for name in middle if rounded(middle[name], 3) == rounded(middle[first], 3)}
    ties = equal | {name for name in middle if ahead(name, first) or not ahead(first, name)}
    return ties if len(ties) < len(middle) else set()
