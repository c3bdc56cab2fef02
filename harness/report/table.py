"""The tables of a comparison as text: grouped by data set, best figures marked, failures in sight, the verdict at the end."""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.report import footnotes, layout, measures, paths
from harness.report.layout import Cell, Column
from harness.report.measures import Measure
from harness.report.output import BOLD, PIPE_WIDTH, RED
from harness.report.rows import Group, Row, grouped, is_path, without_paths
from harness.report.verdict import of_records
from harness.run.record import Record

BEST = "{} best among comparable rows, or could not be distinguished from the best."
_EXPENDABLE = (
    "kkt_violation", "clock", "relative_gap", "suboptimality", "core_set_size", "test_accuracy", "kernel_evaluations"
)  # fmt: skip
"""Figures whose columns a narrow terminal loses, the first one first; ``clock`` is the time that does not rank."""

_NAME_WIDTH = 18  # width of names for which usual columns leave room
_LONG_NAME_WIDTH = 40  # width of names for which optional columns leave room
_FREE = 20  # width that stays free behind optional columns, as the figures of the next run may be longer
_WHOLE = ("command", "picture", "space")  # blocks that no line break is put into
_STYLES = {"heading": BOLD, "failure": BOLD + RED, "answer": BOLD}


def render(
    records: Sequence[Record], *, width: int = PIPE_WIDTH, styled: bool = False, dated: bool = False,
    spelled: Callable[[str], str] = str, **options: Any,
) -> str:  # fmt: skip
    """Return the table as text, at most ``width`` columns wide, ending in a newline; a command behind it is not broken.

    styled : for a terminal, bold and in colours; without it the text has no control characters
    dated : with a column that says when each row was measured
    spelled : what the notes are written with; in Python options are arguments
    options : of `blocks`
    """
    lines: list[str] = []
    for kind, content in blocks(records, sheets(records, width, dated=dated), "*", **options):
        if kind == "table":
            sheet, rows = content
            widths = layout.fitted_widths(sheet.columns, sheet.rows, width)
            lines += layout.lines(sheet.columns, rows, widths, styled=styled)
        elif kind in _WHOLE:
            lines += content.split("\n")
        else:
            text = content if kind in _STYLES else spelled(content)
            style = _STYLES.get(kind, "") * styled
            lines += [layout.in_style(line, style) for line in layout.paragraph(text, width)]
    return "\n".join(lines).strip("\n") + "\n"


def blocks(
    records: Sequence[Record], sheets: Sequence[Sheet], mark: str, *, explain: bool = False, command: str | None = None,
    remarks: Sequence[str] = (), picture: str = "",
) -> list[tuple[str, Any]]:  # fmt: skip
    """Return what a report consists of, for text, Markdown and HTML alike: the kind of each block, and its text or table.

    mark : what marks the best of a column
    explain : with what columns and marks mean
    command : the line that made the comparison, to which a verdict adds what it lacks; empty: it was made in Python;
        None: the runs are no comparison and have no verdict
    remarks, picture : further notes, and what is drawn above the verdict
    """
    found: list[tuple[str, Any]] = [] if records else [("note", "no records")]
    for sheet in sheets:
        found.append(("space", ""))
        for group, rows in sheet.sections:
            warning, _, line = group.remark.partition("\n")
            found += [("heading", group.heading), ("note", warning), ("command", line)]
            found += [("table", (sheet, rows)), ("space", "")]
        best = [BEST.format(mark)] if any(cell.best for row in sheet.rows for cell in row) else []
        hint = ["--explain says more."] if sheet.explained and not explain else []
        found += [*(("note", note) for note in (*best, *sheet.notes, *hint))]
        found += [*(("explanation", text) for text in sheet.explained if explain)]
    found += [*(("note", remark) for remark in remarks), ("picture", picture)]
    if records and command is not None and (answer := of_records(records)).sentences:
        first = "failure" if any(record.failed for record in records) else "answer"
        found += [("space", ""), (first, answer.sentences[0]), *(("answer", each) for each in answer.sentences[1:])]
        found += [("command" if line.startswith(" ") else "hint", line) for line in answer.further(command)]
    return [(kind, content) for kind, content in found if content or kind == "space"]


def report_table(records: Iterable[Mapping[str, object]], *, width: int = PIPE_WIDTH) -> str:
    """Return the table of a comparison as plain text at most ``width`` columns wide, with all that explains it."""
    return render([Record(record) for record in records], width=width, explain=True)


@dataclass(frozen=True)
class Sheet:
    """Columns that all groups share, for each group its rows of cells, and the sentences under them.

    notes : what every reader must know
    explained : what columns and marks mean
    """

    columns: Sequence[Column]
    sections: list[tuple[Group, list[list[Cell]]]]
    notes: list[str]
    explained: list[str]

    @property
    def rows(self) -> list[list[Cell]]:
        """The rows of all groups."""
        return [row for _, rows in self.sections for row in rows]


def sheets(
    records: Sequence[Record], width: int | None = None, *, dated: bool = False, optional: bool = True
) -> list[Sheet]:
    """Return the sheet of the paths and that of all other records, as far as there are any.

    width : of a table, at most; None: every column is shown, those for wide terminals if ``optional``
    """
    both = [record for record in records if is_path(record)], without_paths(records)
    return [_sheet(grouped(part), width, dated=dated, optional=optional) for part in both if part]


def _sheet(groups: Sequence[Group], width: int | None, *, dated: bool, optional: bool) -> Sheet:
    """Return the sheet of paths or of runs of single problems: solver, problem where they differ, figures and status."""
    rows = [row for group in groups for row in group.rows]
    whole = is_path(rows[0].first)
    core = [measures.EVALUATIONS, measures.ACCURACY] if whole else measures.core(rows)
    costs = {each: _column(each, rows) for each in (*measures.times(groups), *core)}
    metrics = [_column(each, rows) for each in measures.metrics(rows)]
    of_paths = paths.columns(rows)
    wider = [_column(each, rows) for each in measures.WIDER if any(row.values(each.figure) for row in rows)]
    further = wider if optional and not whole else []
    measured = [Column("measured", _date)] * dated
    figures = [*costs.values(), *of_paths, *metrics, *further, *measured]
    reasons = list(dict.fromkeys(reason for row in rows for reason in _reasons(row)))
    # where all runs are reused a note says so, without marks
    dagger = "" if all(record.get("reused") for row in rows for record in row.records) else "†"
    names = [Column("solver", operator.attrgetter("name"), wrap=True)]
    if any(len(group.problems) > 1 for group in groups):
        names.append(Column("problem", operator.attrgetter("problem"), wrap=True))
    status = Column("status", lambda row: _status(row, reasons, dagger), failures=True)
    cells = {column: [_cells(column, group) for group in groups] for column in (*names, *figures, status)}
    shown = list(cells)
    in_order = [column for name in _EXPENDABLE for measure, column in costs.items() if _name(measure) == name]
    in_order[:0] = [column for column in of_paths if column.title not in ("chosen", "CV error")]
    for column in (*reversed(further), *in_order, *measured, *reversed(metrics)) if width else ():
        every = zip(*(itertools.chain(*cells[each]) for each in shown), strict=True)
        free, name_width = (_FREE, _LONG_NAME_WIDTH) if column in further else (0, _NAME_WIDTH)
        if layout.fits(shown, list(every), (width or 0) - free, name_width):
            break
        shown.remove(column)
    sections = [(group, [list(row) for row in zip(*(cells[column][i] for column in shown), strict=True)])
                for i, group in enumerate(groups)]  # fmt: skip
    notes = [*(f"[{i}] {reason}" for i, reason in enumerate(reasons, 1)), *footnotes.notes(groups)]
    notes += [note for group in groups for note in paths.advice(group.rows)] if whole else []
    hidden = ", ".join(column.line for column in cells if column not in shown and column not in further)
    notes += [f"Not shown at {width} columns: {hidden}. --format markdown shows all."] * bool(hidden)
    explained = [*footnotes.explained(rows), *[paths.NOTE] * whole, *(each.meaning for each in shown if each.meaning)]
    return Sheet(shown, sections, notes, explained)


def _name(measure: Measure) -> str:
    """Return the name of a column in `_EXPENDABLE`."""
    return "clock" if measure.timed and not measure.best else measure.figure


def _column(measure: Measure, rows: Sequence[Row]) -> Column:
    """Return the column of a measure."""
    meaning = footnotes.meaning(measure) if any(row.values(measure.figure) for row in rows) else ""
    best = functools.partial(measures.best_rows, measure)
    return Column(measure.title, measure.cell, best, right=True, marks=True, meaning=meaning)


def _cells(column: Column, group: Group) -> list[Cell]:
    best = column.best(group)
    failed = [column.failures and any(record.failed for record in row.records) for row in group.rows]
    return [Cell(column.text(row), i in best, failed[i]) for i, row in enumerate(group.rows)]


def _date(row: Row) -> str:
    """Return the day of the newest run."""
    return max(str(record.get("measured_at") or "") for record in row.records)[:10]


def _status(row: Row, reasons: Sequence[str], dagger: str) -> str:
    """Return ``timeout 1/3† [1,2]``; the same reason of the same solver has one number in the whole sheet."""
    numbers = ",".join(str(reasons.index(reason) + 1) for reason in _reasons(row))
    reused = any(record.get("reused") for record in row.records)
    return f"{row.status}{dagger * reused}{f' [{numbers}]' * bool(numbers)}"


def _reasons(row: Row) -> list[str]:
    """Return the different reasons of the runs of a row that are not ok."""
    texts = ((record.get("status"), record.get("reason") or "no reason was given") for record in row.astray)
    return list(dict.fromkeys(f"{row.name}: {status}: {' '.join(str(reason).split())}" for status, reason in texts))
