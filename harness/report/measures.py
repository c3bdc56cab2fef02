"""The measured columns of a report: what is read, how it is written, what is best, and among whom.

Seconds, kernel evaluations, sizes and test figures compare over a whole data set. A gap and a violation
of optimality compare only within one problem (formulation and parameters). Objectives are never ranked.
What depends on where a solver stopped compares only among rows that were asked for the same gap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from harness.report import figures, noise, timing

if TYPE_CHECKING:
    from harness.report.rows import Group, Row

BEST = (
    "{} best of its data set among rows whose every run is ok, and what differs from it by less than the runs do (seconds, by CPU "
    f"time where all have one thread, of one run: a factor of {noise.ONE_RUN:g} either way); gap and optimality, and costs "
    "where a parameter has several values: of its problem"
)
"""What a reader is told of the mark."""

LOSSES = ("mse", "mae")  # metrics of which less is better; all others are scores


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
    spread : show half the range over the runs behind the median
    room : the width that is kept for the column when it is decided what else there is room for; not the width of
        this time's figures, so that the same command has the same columns every time
    """

    title: str
    figure: str
    text: Callable[[float], str]
    best: Literal["low", "high"] | None = None
    stops: bool = False
    instead: str = ""
    doubt: str = ""
    doubted: str = ""
    within: Literal["group", "problem"] = "group"
    timed: bool = False
    spread: bool = False
    room: int = 0

    def value(self, row: Row) -> float | None:
        """Return the figure that is shown."""
        value = row.median(self.figure)
        return row.median(self.instead) if value is None else value

    def ranked(self, row: Row) -> float | None:
        """Return the figure that is ranked, None if it ranks nowhere."""
        return None if row.said(self.doubt) else self.value(row)

    def interval(self, row: Row) -> noise.Interval:
        """Return between which figures the one that is shown lies; there is one."""
        return noise.interval(row.values(self.figure) or row.values(self.instead), noisy=self.timed)

    def cell(self, row: Row) -> str:
        """Return the figure as text: empty without a measured run, ``-`` if the runs do not have it."""
        if not row.measured:
            return ""
        value = self.value(row)
        text = figures.NOT_OBSERVABLE if value is None else self.text(value)
        if row.said(self.doubt):
            return self.doubted.format(text)
        return text + (figures.spread(row.values(self.figure)) if self.spread and value is not None else "")


FIT = Measure("seconds", "fit_seconds", figures.seconds, "low", stops=True, timed=True, spread=True, room=13)
EVALUATIONS = Measure("kernel\nevals", "kernel_evaluations", figures.count, "low", stops=True,
                      doubt="evaluations_at_least", doubted="≥{}", room=6)  # fmt: skip
SIZE = Measure("SV", "support_vectors", figures.count, "low", stops=True, room=5)
GAP = Measure(
    "rel\ngap", "relative_gap", figures.gap, "low", doubt="undecidable", doubted="?", within="problem", room=7
)
CORE_RATIO = Measure("core\nratio", "core_set.ratio", figures.ratio, room=8)
MARGIN = Measure("margin", "margin_lower", figures.significant, "high", within="problem", room=9)
BOUND = Measure("margin\nbound", "margin_upper", figures.significant, room=9)
GIVEN_UP = Measure("given\nup", "given_up", figures.count, room=6)
INLIERS = Measure("inliers'\nmargin", "inlier_margin.upper", figures.significant, room=9)
OF_INLIERS = Measure("of\ninliers'", "inlier_margin.ratio", figures.significant, room=9)
# neither is ranked: how many labels a solver buys, and so over which range its area is, is its own or the user's choice
LABELS = Measure("labels", "labels_used", figures.count, room=6)
AREA = Measure("AUBC", "aubc.accuracy", figures.significant, room=6)
WORKING_SET = Measure("working\nset", "working_set_size", figures.count, room=7)
ACCURACY = Measure("test\n%", "test_accuracy", figures.percent, "high", room=6)

WIDER = (
    (WORKING_SET,),
    (Measure("CPU\nseconds", "cpu_seconds", figures.seconds, room=8),),
    (Measure("peak\nMB", "peak_rss_bytes", lambda value: f"{value / 1e6:.0f}", room=5),),
    (Measure("iterations", "iterations", figures.count, room=11),),
    (
        Measure("primal", "primal", figures.significant, room=10),
        Measure("dual", "dual", figures.significant, room=10),
    ),
)
"""Columns for wide terminals and Markdown, in the order in which they are given room; both objectives or neither."""


def optimality(rows: Sequence[Row]) -> Measure:
    """Return the optimality column, with a title that says which of its two figures the rows have."""
    violations = any(row.values("kkt_violation") for row in rows)
    hulls = any(row.values("epsilon") and not row.values("kkt_violation") for row in rows)
    title = "KKT\n/eps" if violations and hulls else "eps" if hulls else "KKT"
    return Measure(title, "kkt_violation", figures.gap, "low", instead="epsilon", within="problem", room=7)


EXPENDABLE = ("kkt_violation", "support_vectors", "relative_gap", "test_accuracy", "kernel_evaluations")
"""Figures whose columns a narrow terminal loses, the first one first."""


def core(rows: Sequence[Row]) -> list[Measure]:
    """Return the columns that every report has; margins, core ratio, labels and accuracy only where the rows have them.

    A row that was given all labels, beside others that bought theirs, has bought none: ``-``.
    """
    accuracy = [ACCURACY] if any(row.values("test_accuracy") for row in rows) else []
    ratio = [CORE_RATIO] if any(row.values("core_set.ratio") for row in rows) else []
    labels = [LABELS] if any(row.values("labels_used") for row in rows) else []
    area = [AREA] if any(row.values("aubc.accuracy") for row in rows) else []
    return [FIT, EVALUATIONS, *labels, SIZE, GAP, optimality(rows), *margins(rows), *ratio, *area, *accuracy]


def margins(rows: Sequence[Row]) -> list[Measure]:
    """Return the columns of formulations whose models give points up; empty where no row has one."""
    if not any(row.values("given_up") for row in rows):
        return []
    known = [each for each in (INLIERS, OF_INLIERS) if any(row.values(each.figure) for row in rows)]
    return [MARGIN, BOUND, GIVEN_UP, *known]


def metrics(rows: Iterable[Row]) -> list[Measure]:
    """Return one column for each test metric of the records; accuracy has its own."""
    names = dict.fromkeys(
        name for row in rows for record in row.measured for name in record.get("metrics") or {} if name != "accuracy"
    )
    return [
        Measure(name, f"metrics.{name}", figures.significant, "low" if name in LOSSES else "high") for name in names
    ]


def best_rows(measure: Measure, group: Group) -> set[int]:
    """Return the positions of the rows that are best in a column.

    Only rows whose every run ended with ``ok`` are candidates, and for what depends on where a solver stopped only those
    with a common target, so that stopping early is no advantage. Rows that are not told apart from the best (`noise`), or
    have the same text, are equally good; if all candidates are, none stands out.
    """
    if measure.best is None or (measure.stops and group.loose):
        return set()
    if measure.timed:
        clock, _ = timing.clocks([record for row in group.rows for record in row.measured])
        measure = replace(measure, figure=timing.CLOCKS[clock])
    best: set[int] = set()
    whole = measure.within == "group" and not (measure.stops and group.swept)
    scopes = [None] if whole else [*dict.fromkeys(row.problem for row in group.rows)]
    for scope in scopes:
        rivals = {
            i: value
            for i, row in enumerate(group.rows)
            if row.complete and scope in (None, row.problem) and (value := measure.ranked(row)) is not None
        }
        if len(rivals) < 2:
            continue
        winner = (min if measure.best == "low" else max)(rivals, key=lambda i: rivals[i])
        text, sure = measure.text(rivals[winner]), measure.interval(group.rows[winner])
        winners = {
            i
            for i, value in rivals.items()
            if measure.text(value) == text or not noise.apart(measure.interval(group.rows[i]), sure)
        }
        if len(winners) < len(rivals):
            best |= winners
    return best
