"""The first table of the pages: time, kernel evaluations, core set, test accuracy and failures of each solver.

There is one for each class of problems. Its sentences are those of `harness.report.verdict`, its ranks, ratios and ranges
are of the same comparison.
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
from harness_dashboard.names import bare
from harness_dashboard.numbers import rounded

if TYPE_CHECKING:
    from harness_dashboard.tables import Cells

MEASURES = {"time": FIT, "evaluations": EVALUATIONS, "core_set": SIZE, "accuracy": ACCURACY}
_MOST = 20_000  # ratios of times that a page has at most


def landing(cells: Cells, place: Sequence[int], classes: Sequence[Sequence[int]]) -> dict[str, Any]:
    """Return the sentences and the lines of each class of problems, and between which values ratios of times lie.

    place : the number of the problem of each cell, in the order of their names
    classes : the problems of each class
    """
    problems = dict(zip(sorted(cells), place, strict=True))
    numbers = {name: i for i, name in enumerate(sorted({solver for solver, _ in cells}))}
    problem_of, solver_of = dict[int, int](), dict[int, int]()  # by the id of a record
    records = list[Record]()
    for (solver, dataset), (_, runs) in cells.items():
        for run in runs:
            if run.get("status") != ABSENT:
                records.append(Record({**run, "dataset": bare(dataset, runs)}))
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
    """Yield problem, two solvers and the range of the ratio of their times; nothing of a site with very many."""
    units = [unit for name, units in contests(groups).items() if name for unit in units]
    if sum(len(unit.rows) ** 2 for unit in units) > 2 * _MOST:
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
    idle: dict[str, list[Row]] = {}  # solvers that were not begun on any problem
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
    """Return who a line is of, and the failures of its runs."""
    records = [record for row in rows for record in row.records]
    failed = Counter(str(record.get("status")) for record in records if record.failed)
    return {
        "formulation": formulation, "name": name, "solver": solver_of[id(records[0])], "on": len(rows),
        "runs": len(records), "failed": failed.total(), "status": ", ".join(failed),
    }  # fmt: skip


def _lines(formulation: str, units: Sequence[Group], solver_of: Mapping[int, int]) -> list[dict[str, Any]]:
    """Return the lines of a formulation, the fastest first; who failed somewhere, or was not run everywhere, has no rank."""
    places = [Place.of(unit) for unit in units]
    rows: dict[str, list[Row]] = {}
    for name, row in ((name, row) for place in places for name, row in place.rows.items()):
        rows.setdefault(name, []).append(row)
    able = able_in(places, rows)
    of = {key: Comparison.of(measure, places, able) for key, measure in MEASURES.items()}
    loose = any(unit.loose for unit in units)
    best = {key: set() if loose and key != "accuracy" else _best(found, MEASURES[key]) for key, found in of.items()}
    values = {name: {key: _value(name, of[key], MEASURES[key]) for key in MEASURES} for name in rows}
    speed = of["time"].middle
    order = sorted(rows, key=lambda name: (name not in speed, speed.get(name) or (values[name]["time"] or [0.0])[0]))
    lines = []
    for name in order:
        line = _line(formulation, name, rows[name], solver_of) | {"all": len(places), "clock": of["time"].clock}
        if name in speed and name != order[0] and not loose:
            lows, highs = zip(*of["time"].ratios(order[0], name), strict=True)
            line["ratio"] = [rounded(each, 4) for each in (speed[name] / speed[order[0]], min(lows), max(highs))]
        line |= {"values": values[name], "best": [key for key in MEASURES if name in best[key]]}
        lines.append(line)
    return lines


def _value(name: str, of: Comparison, measure: Measure) -> list[float] | None:
    """Return a mean of a solver's medians, geometric but of shares, and over how many problems it is."""
    rows = [(each, place.rows[name]) for each, place in zip(of.measures, of.places, strict=True) if name in place.rows]
    medians = [median(values) for each, row in rows if (values := each.ranked(row))]
    if not medians:
        return None
    mean = fmean(medians) if measure.share else geometric_mean([max(each, figures.TINY) for each in medians])
    return [rounded(mean), len(medians)]


def _best(of: Comparison, measure: Measure) -> set[str]:
    """Return who has the best figure, and who could not be distinguished from it; nobody if that is all."""
    if not of.middle:
        return set()
    first = (max if measure.best == "high" else min)(of.middle, key=lambda name: of.middle[name])
    alike = {name for name in of.middle if rounded(of.middle[name], 3) == rounded(of.middle[first], 3)}
    level = alike | {name for name in of.middle if of.ahead(name, first) or not of.ahead(first, name)}
    return level if len(level) < len(of.middle) else set()
