"""The table at the end of a comparison: grouped by data set, best figures marked, failures in sight."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.report import footnotes, layout, measures
from harness.report.layout import PIPE_WIDTH, Cell, Column
from harness.report.measures import Measure
from harness.report.rows import Group, Record, Row, grouped

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_LABEL_ROOM = 26  # a further column is shown only if the labels keep this much


@dataclass(frozen=True)
class Sheet:
    """A report before it is set: shared columns, and for each group its rows of cells."""

    columns: list[Column]
    groups: list[tuple[Group, list[list[Cell]]]]
    hidden: list[str]  # titles of the columns there was no room for
    notes: list[str]


def render(records: Sequence[Record], *, width: int = PIPE_WIDTH, styled: bool = False, dated: bool = False) -> str:
    """Return the table as text, at most ``width`` columns wide, ending in a newline.

    styled : bold marks for a terminal; without it the text has no control characters
    dated : with a column that says when each row was measured
    """
    if not records:
        return "no records.\n"
    sheet = fitted(records, width, dated=dated)
    everything = [row for _, rows in sheet.groups for row in rows]
    widths = layout.fitted_widths(sheet.columns, everything, width)
    result: list[str] = []
    for group, rows in sheet.groups:
        heading = heading_of(group)
        result.extend(layout.bold(line, styled=styled) for line in layout.paragraph(heading, width))
        result.extend(layout.lines(sheet.columns, rows, widths, styled=styled))
        result.append("")
    notes = list(sheet.notes)
    if any(cell.best for row in everything for cell in row):
        notes.insert(0, "* best of its data set among rows whose every run is ok; gap and optimality: of its problem.")
    if sheet.hidden:
        notes.append(f"no room at {width} columns for: {', '.join(sheet.hidden)}; --format markdown or csv shows all.")
    for note in notes:
        result.extend(layout.paragraph(note, width))
    return "\n".join(result).rstrip("\n") + "\n"


def heading_of(group: Group) -> str:
    """Return the group's heading, with the problem where all rows share it."""
    return f"{group.heading}, {group.problems[0]}" if len(group.problems) == 1 else group.heading


def fitted(records: Sequence[Record], width: int, *, dated: bool = False) -> Sheet:
    """Return the sheet with as many columns as ``width`` has room for."""
    groups = grouped(records)
    rows = [row for group in groups for row in group.rows]
    asked = measures.metrics(rows)
    base, chosen, hidden = measures.core(rows), list[Measure](), list[Measure]()

    def fits(shown: Sequence[Measure], label_room: int) -> bool:
        trial = sheet(groups, shown, dated=dated)
        natural = layout.natural_widths(trial.columns, [cells for _, members in trial.groups for cells in members])
        roomy = [min(w, label_room) if column.wrap else w for column, w in zip(trial.columns, natural, strict=True)]
        return layout.total_width(trial.columns, roomy) <= width

    for figure in measures.EXPENDABLE:
        if not fits(base, layout.NARROWEST):
            hidden += [measure for measure in base if measure.figure == figure]
            base = [measure for measure in base if measure.figure != figure]
    for measure in [*asked, *measures.WIDER]:
        if not any(row.values(measure.figure) for row in rows):
            continue
        if not hidden and fits([*base, *chosen, measure], _LABEL_ROOM):
            chosen.append(measure)
        elif measure in asked:
            hidden.append(measure)
    final = sheet(groups, [*base, *chosen], dated=dated)
    return Sheet(final.columns, final.groups, [" ".join(measure.title.split()) for measure in hidden], final.notes)


def sheet(groups: Sequence[Group], shown: Sequence[Measure], *, dated: bool = False) -> Sheet:
    """Return the cells of all groups for the given measured columns."""
    reasons = footnotes.Reasons()
    with_problem = any(len(group.problems) > 1 for group in groups)
    dagger = _partly_reused(groups)
    columns = [Column("solver", wrap="label")]
    if with_problem:
        columns.append(Column("problem", wrap="words"))
    columns += [Column(measure.title, right=True, marks=True) for measure in shown]
    if dated:
        columns.append(Column("measured (UTC)"))
    columns.append(Column("status"))
    filled = []
    for group in groups:
        best = [measures.best_rows(measure, group) for measure in shown]
        rows = []
        for i, row in enumerate(group.rows):
            cells = [Cell(row.label)]
            if with_problem:
                cells.append(Cell(row.problem))
            cells += [Cell(measure.cell(row), i in marked) for measure, marked in zip(shown, best, strict=True)]
            if dated:
                cells.append(Cell(_newest(row)))
            cells.append(Cell(_status(row, reasons, dagger)))
            rows.append(cells)
        filled.append((group, rows))
    return Sheet(columns, filled, [], [*reasons.notes(), *footnotes.notes(groups)])


def _newest(row: Row) -> str:
    return footnotes.moment(max(str(record.get("measured_at") or "") for record in row.records))


def _status(row: Row, reasons: footnotes.Reasons, dagger: Callable[[Row], bool]) -> str:
    parts = [row.status + ("†" if dagger(row) else ""), reasons.number(row)]
    return " ".join(part for part in parts if part)


def _partly_reused(groups: Sequence[Group]) -> Callable[[Row], bool]:
    """Return the test for a mark on reused rows; where all runs are reused the footnote says so, without marks."""
    marked = not all(record.get("reused") for group in groups for row in group.rows for record in row.records)
    return lambda row: marked and any(record.get("reused") for record in row.records)
