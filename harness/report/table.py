"""The tables of a comparison as text: grouped by data set, best figures marked, failures in sight, the verdict at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from harness.report import footnotes, layout, measures, paths
from harness.report.measures import Measure
from harness.report.output import BOLD, PIPE_WIDTH, RED
from harness.report.rows import Group, Row, grouped, is_path, without_paths
from harness.report.sheet import BEST, MIDDLE, NARROW, TIGHT, WIDE, Figure, Sheet, build
from harness.report.verdict import of_records
from harness.run.record import Record

_NAMES = {"kkt_violation": MIDDLE, "clock": MIDDLE, "relative_gap": TIGHT, "suboptimality": TIGHT}
_NAMES |= dict.fromkeys(("core_set_size", "test_accuracy", "kernel_evaluations"), NARROW)
"""Figures whose columns a narrow terminal loses, the first one first, and the columns of a terminal that names have before
such a column is shown; ``clock`` is the time that does not rank."""

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


def sheets(
    records: Sequence[Record], width: int | None = None, *, dated: bool = False, optional: bool = True
) -> list[Sheet]:
    """Return the sheet of the paths and that of all other records, as far as there are any.

    width : of a table, at most; None: every column is shown, those for wide terminals if ``optional``
    """
    both = [record for record in records if is_path(record)], without_paths(records)
    return [_sheet(grouped(part), width, dated=dated, optional=optional) for part in both if part]


def _sheet(groups: Sequence[Group], width: int | None, *, dated: bool, optional: bool) -> Sheet:
    """Return the sheet of paths or of runs of single problems; metrics, which were wanted by name, are the last that it loses."""
    rows = [row for group in groups for row in group.rows]
    whole, of_paths = is_path(rows[0].first), paths.columns(rows)
    core = [measures.EVALUATIONS, measures.ACCURACY] if whole else measures.core(rows)
    costs = [(each, _figure(each, rows)) for each in (*measures.times(groups), *core)]
    metrics = [_figure(each, rows, NARROW) for each in measures.metrics(rows)]
    wider = [each for group in measures.WIDER for each in group if any(row.values(each.figure) for row in rows)]
    further = [_figure(each, rows, WIDE) for each in wider if optional and not whole]
    least_needed = [figure for name in _NAMES for measure, figure in costs if _name(measure) == name]
    figures = [*(figure for _, figure in costs), *of_paths, *metrics, *further]
    expendable = [*reversed(further), *(each for each in of_paths if each.names), *least_needed, *reversed(metrics)]
    notes, explained = footnotes.notes(groups), footnotes.explained(rows)
    if whole:
        notes += [note for group in groups for note in paths.advice(group.rows)]
        explained.append(paths.NOTE)
    return build(groups, figures, notes, explained, width=width, dated=dated, expendable=expendable)


def _name(measure: Measure) -> str:
    """Return the name of a column in `_NAMES`."""
    return "clock" if measure.timed and not measure.best else measure.figure


def _figure(measure: Measure, rows: Sequence[Row], names: int | None = None) -> Figure:
    """Return the column of a measure."""
    names = _NAMES.get(_name(measure), 0) if names is None else names
    meaning = footnotes.meaning(measure) if any(row.values(measure.figure) for row in rows) else ""
    shown = {"text": measure.cell, "room": measure.room, "best": lambda group: measures.best_rows(measure, group)}
    return Figure(measure.title, right=True, marks=True, names=names, meaning=meaning, **shown)  # type: ignore[arg-type]
