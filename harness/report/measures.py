"""The measured columns of a report: what is read, how it is written, what is best, and among whom.

Test figures compare over a whole data set. Costs (seconds, kernel evaluations, sizes), gaps and violations of
optimality compare only within one problem (formulation and parameters). Objectives are never ranked.
What depends on where a solver stopped compares only among rows with the same target gap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any, Literal, TypeVar

from harness.measure.metrics import METRICS
from harness.measure.repetition import CLOCKS, Interval, are_equal, ratio_interval
from harness.report import figures, noise, timing
from harness.report.rows import Group, Row
from harness.run.record import TYPES

K = TypeVar("K")
DIFFERING = 1.2  # ratio of wall and CPU seconds from which both are shown
SHARES = tuple(name for name, metric in METRICS.items() if metric.task == "classification")
LOSSES = tuple(name for name, metric in METRICS.items() if metric.better == "low")


@dataclass(frozen=True)
class Measure:
    """One measured column.

    figure, instead : the record's field, ``metrics.name`` for one of its metrics; and the one that a row without it has
    text : a median as text
    best : which end is better; None: the column is never ranked
    stops : it depends on where a solver stopped
    doubt : field of a record; a row of which any run has it is not ranked
    doubted : what such a row shows, ``{}`` is the figure
    within : rows that may be ranked against each other: those of the ``group`` or only those of one ``problem``
    timed : it is wall seconds, which differ from one run to the next, ranked by the honest clock of its group (`timing.clocks`)
    comparisons : over how many problems a ratio of times is looked at together
    share : it is a share of the test points, or made of such shares, as sure as their number ``points`` lets it be at best
    meaning : what the column shows, a sentence that begins with its title; of a column that a formulation declares
    """

    title: str
    figure: str
    text: Callable[[float], str]
    best: Literal["low", "high"] | None = None
    stops: bool = False
    instead: str = ""
    doubt: str = ""
    doubted: str = ""
    within: Literal["group", "problem"] = "problem"
    timed: bool = False
    comparisons: int = 1
    share: bool = False
    points: int = 0
    meaning: str = ""

    def values(self, row: Row) -> list[float]:
        """Return the figure of each run; what is shown is their median."""
        return row.values(self.figure) or row.values(self.instead)

    def ranked(self, row: Row) -> list[float]:
        """Return the figures by which a row is ranked; none if it ranks nowhere."""
        unsure = row.entries(self.doubt) or (self.stops and row.differing)
        return [] if unsure else self.values(row)

    def interval(self, values: Sequence[float]) -> Interval:
        """Return between which figures the median of runs lies."""
        low, high = noise.interval(values, noisy=self.timed)
        return (noise.share(low, self.points)[0], noise.share(high, self.points)[1]) if self.points else (low, high)

    def honest(self, group: Group) -> Measure:
        """Return the measure as a group is ranked: a time by its clock, a share with the number of its test points."""
        if self.share:
            return replace(self, points=int(group.known("n_test") or 0))
        if not self.timed:
            return self
        clock, _ = timing.clocks([record for row in group.rows for record in row.measured])
        return replace(self, figure=CLOCKS[clock], comparisons=group.comparisons)

    def cell(self, row: Row) -> str:
        """Return the figure as text: empty without a measured run, ``-`` if the runs do not have it."""
        if not row.measured:
            return ""
        values = self.values(row)
        text = self.text(median(values)) if values else figures.NOT_OBSERVABLE
        if row.entries(self.doubt):
            return self.doubted.format(text)
        return text + (figures.spread(values) if self.timed and self.best and values else "")


FIT = Measure("wall\nseconds", "fit_seconds", figures.seconds, "low", stops=True, timed=True)
CPU = replace(FIT, title="CPU\nseconds", figure="cpu_seconds")
EVALUATIONS = Measure("kernel\nevals", "kernel_evaluations", figures.count, "low", stops=True)
EVALUATIONS = replace(EVALUATIONS, doubt="evaluations_at_least", doubted="≥{}")
SIZE = Measure("core\nset", "core_set_size", figures.count, "low", stops=True, instead="support_vectors")
GAP = Measure("rel\ngap", "relative_gap", figures.gap, "low", doubt="undecidable", doubted="?")
SUBOPTIMALITY = replace(GAP, title="subopt", figure="suboptimality")
CORE_RATIO = Measure("core\nratio", "core_set.ratio", figures.ratio)
WORKING_SET = Measure("working\nset", "working_set_size", figures.count)
ACCURACY = Measure("test\n%", "test_accuracy", figures.percent, "high", share=True, within="group")

WIDER = (
    WORKING_SET,
    Measure("peak\nMB", "peak_rss_bytes", lambda value: f"{value / 1e6:.0f}"),
    Measure("iterations", "iterations", figures.count),
    Measure("primal", "primal", figures.significant),
    Measure("dual", "dual", figures.significant),
)
"""Columns for wide terminals and Markdown, in the order in which they are given room."""


def optimality(rows: Sequence[Row]) -> Measure:
    """Return the optimality column, with a title that says which of its two figures the rows have."""
    violations = any(row.values("kkt_violation") for row in rows)
    hulls = any(row.values("epsilon") and not row.values("kkt_violation") for row in rows)
    title = "KKT\n/eps" if violations and hulls else "eps" if hulls else "KKT"
    return Measure(title, "kkt_violation", figures.gap, "low", instead="epsilon")


def times(groups: Sequence[Group]) -> list[Measure]:
    """Return the columns of the clocks that rank, and behind them the other one, without a rank, if it says something else."""
    scopes = [unit for group in groups for unit in group.units]
    ranking = {FIT.honest(scope).figure for scope in scopes}
    shown = [measure for measure in (CPU, FIT) if measure.figure in ranking]
    rest = [measure for measure in (CPU, FIT) if measure.figure not in ranking]
    pairs = [[row.median(each.figure) or 0.0 for each in (FIT, CPU)] for scope in scopes for row in scope.rows]
    differing = any(max(pair) >= DIFFERING * min(pair) > 0.0 for pair in pairs)
    return [*shown, *(replace(each, best=None) for each in rest if differing)]


def core(rows: Sequence[Row]) -> list[Measure]:
    """Return the columns but times that every report has; a formulation's, core ratio and accuracy only where the rows have them."""
    kkt = optimality(rows)
    further = [SUBOPTIMALITY] * any(row.borrows_dual for row in rows)
    every = (EVALUATIONS, SIZE, ACCURACY, GAP, *further, kkt, *columns(rows), CORE_RATIO)
    always = (EVALUATIONS, SIZE, GAP, kkt)
    return [measure for measure in every if measure in always or any(row.values(measure.figure) for row in rows)]


def columns(rows: Iterable[Row]) -> list[Measure]:
    """Return the columns that the records' formulations declare, see `harness.Column`."""
    declared: dict[str, Mapping[str, Any]] = {}
    for record in (record for row in rows for record in row.measured):
        declared = {**(record.get("columns") or {}), **declared}
    return [_column(name, column) for name, column in declared.items() if isinstance(column, dict)]


def _column(name: str, column: Mapping[str, Any]) -> Measure:
    """Return a column of a table from its declaration in a record."""
    title, unit, meaning = (str(column.get(key) or "") for key in ("title", "unit", "meaning"))
    field, better = name if name in TYPES else f"figures.{name}", column.get("better")
    meaning = f"{' '.join(title.split())}{f' ({unit})' if unit else ''}: {meaning}" if meaning else ""
    measure = Measure(title or name, field, figures.quantity, meaning=meaning)
    return replace(measure, best=better) if better in ("low", "high") else measure


def metrics(rows: Iterable[Row]) -> list[Measure]:
    """Return one column for each test metric of the records; accuracy has its own."""
    better: dict[str, Literal["low", "high"] | None] = {}
    for record in (record for row in rows for record in row.measured):
        declared = record.get("metrics_better") or {}
        for name in record.get("metrics") or {}:
            known = METRICS[name].better if name in METRICS else None  # an older row does not say it
            better[name] = declared.get(name) or better.get(name) or known
    better.pop("accuracy", None)
    return [
        Measure(name, f"metrics.{name}", figures.significant, best, within="group", share=name in SHARES)
        for name, best in better.items()
    ]


def ranked(rows: Sequence[Row]) -> list[Measure]:
    """Return the measures by which rows are ranked."""
    return [measure for measure in (FIT, CPU, *core(rows), *metrics(rows)) if measure.best is not None]


def separated(measure: Measure, a: Sequence[float], b: Sequence[float]) -> bool:
    """Return whether two figures of runs can be distinguished: their ratio is surely not 1, or of times not near 1."""
    low, high = ratio(measure, a, b)
    equal = low <= 1.0 <= high or (measure.timed and are_equal((low, high)))
    return not equal and measure.text(median(a)) != measure.text(median(b))


def ratio(measure: Measure, a: Sequence[float], b: Sequence[float]) -> Interval:
    """Return between which values the ratio of ``b`` over ``a`` lies: of times by `ratio_interval`, of others by both intervals."""
    if measure.timed:
        return ratio_interval(a, b, measure.comparisons)
    (low, high), (least, most) = measure.interval(b), measure.interval(a)
    return low / max(most, figures.TINY), high / max(least, figures.TINY)


def winners(measure: Measure, values: Mapping[K, Sequence[float]]) -> list[K]:
    """Return who has the best of some figures of runs, and then those that could not be distinguished from it."""
    middle = {key: median(each) for key, each in values.items()}
    first = (min if measure.best == "low" else max)(middle, key=lambda key: middle[key])
    return [first, *(key for key in values if key != first and not separated(measure, values[key], values[first]))]


def scopes(measure: Measure, group: Group) -> list[Group]:
    """Return the groups of rows within which a measure is ranked."""
    return [group] if measure.within == "group" else group.units


def best_rows(measure: Measure, group: Group) -> set[int]:
    """Return the positions of the rows that are best in a column.

    Only rows whose every run did what was asked are candidates, and for what depends on where a solver stopped only those
    with a common target, so that stopping early is no advantage. Rows that could not be distinguished from the best are
    equally good; if all candidates are, none stands out.
    """
    best: set[int] = set()
    for scope in scopes(measure, group) if measure.best else ():
        honest = measure.honest(scope)
        if measure.timed and honest.figure != measure.figure:
            continue  # the other clock ranks here
        ranked = {id(row): honest.ranked(row) for row in scope.rows if row.complete}
        rivals = {row: values for row, values in ranked.items() if values and not (measure.stops and scope.loose)}
        if rivals and len(found := winners(honest, rivals)) < len(rivals):
            best.update(found)
    return {i for i, row in enumerate(group.rows) if id(row) in best}
