"""The table at the end of a comparison: grouped by data set, best figures marked, failures in sight."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from harness.report import footnotes, layout, measures, path_table
from harness.report.layout import PIPE_WIDTH, Cell, Column
from harness.report.measures import Measure
from harness.report.rows import Group, Row, Section, Sheet, grouped
from harness.report.verdict import of_records
from harness.run.record import Record

_ROOMY = {"label": 40, "words": 32}  # names keep this much where a column is optional
_TIGHT = {"label": 24, "words": 14}  # where a column is one of the core
_TIGHTER = {"label": 16, "words": 14}  # where it is the gap
_NARROW = {"label": 10, "words": layout.NARROWEST}


def render(
    records: Sequence[Record],
    *,
    width: int = PIPE_WIDTH,
    styled: bool = False,
    dated: bool = False,
    explain: bool = False,
    hint: str = "--explain says more.",
    command: str | None = None,
    remarks: Sequence[str] = (),
    picture: str = "",
) -> str:
    """Return the table as text, at most ``width`` columns wide, ending in a newline; a command behind it is not broken.

    styled : bold marks for a terminal; without it the text has no control characters
    dated : with a column that says when each row was measured
    explain : say what columns and marks mean too; ``hint`` says where that is said otherwise
    command : the line that made the comparison, to which a verdict adds what it lacks; empty: it was made in Python;
        None: the runs are no comparison and have no verdict
    remarks, picture : further sentences under it, and what is drawn above the verdict
    """
    if not records:
        return "no records.\n"
    result: list[str] = []
    for sheet_ in sheets(records, lambda own: fitted(own, width, dated=dated), width):
        widths = layout.fitted_widths(sheet_.columns, sheet_.rows, width)
        for section in sheet_.sections:
            result += [layout.bold(line, styled=styled) for line in layout.paragraph(section.heading, width)]
            sentence, _, line = section.remark.partition("\n")  # what is to be copied is not broken
            result += [*layout.paragraph(sentence, width), *([line] if line else [])]
            result += [*layout.lines(sheet_.columns, section.rows, widths, styled=styled), ""]
        told = footnotes.sentences(sheet_, "*", explain=explain)
        result += [*_set(told, hint if sheet_.explained and not explain else "", width), ""]
    while result and not result[-1]:
        result.pop()
    result += [line for remark in remarks for line in layout.paragraph(remark, width)]
    result += picture.splitlines()
    if command is not None and (answer := of_records(records)).sentences:
        lines = [line for sentence in answer.sentences for line in layout.paragraph(sentence, width)]
        result += ["", *(layout.bold(line, styled=styled) for line in lines), *answer.further(command)]
    return "\n".join(result) + "\n"


def _set(notes: Sequence[str], hint: str, width: int) -> list[str]:
    """Return the lines of the notes, a hint behind the first one that has room for it; none is in a failure's reason."""
    paragraphs = [layout.paragraph(note, width) for note in notes]
    for note, lines in zip(notes, paragraphs, strict=True):
        if hint and note[:1] != "[" and note[-1:] == "." and layout.text_width(lines[-1]) + len(hint) < width:
            lines[-1] += f" {hint}"
            hint = ""
    return [line for lines in [*paragraphs, *([[hint]] if hint else [])] for line in lines]


def sheets(
    records: Sequence[Record], of_problems: Callable[[Sequence[Record]], Sheet], width: int | None = None
) -> list[Sheet]:
    """Return the sheet of the paths, at most ``width`` columns wide, and that of all other records, as far as there are any."""
    others = path_table.without_paths(records)
    found = [path_table.sheet(records, width), of_problems(others) if others else None]
    return [each for each in found if each is not None]


def whole(records: Sequence[Record], wider: Iterable[Sequence[Measure]] = (), *, dated: bool = False) -> Sheet:
    """Return a sheet with every column that any row has a figure for, of the optional ones those of ``wider``."""
    groups = grouped(records)
    rows = [row for group in groups for row in group.rows]
    further = [measure for optional in known(wider, rows) for measure in optional]
    return sheet(
        groups, [*measures.times(groups), *measures.core(rows), *measures.metrics(rows), *further], dated=dated
    )


def report_table(records: Iterable[Mapping[str, Any]], *, width: int = PIPE_WIDTH) -> str:
    """Return the table of a comparison as plain text at most ``width`` columns wide, with all that explains it."""
    return render([Record(record) for record in records], width=width, explain=True)


def fitted(records: Sequence[Record], width: int, *, dated: bool = False) -> Sheet:
    """Return the sheet with as many columns as ``width`` has room for.

    Names come before figures: an optional column is there if no usual name wraps for it, always in the same order; a
    column of the core goes before names are squeezed, and the more it says the later. Metrics, which were asked for, go last.
    """
    groups = grouped(records)
    rows = [row for group in groups for row in group.rows]

    def fits(shown: Sequence[Measure], rooms: dict[str, int]) -> bool:
        return _least_width(groups, shown, rooms, dated=dated) <= width

    base, chosen, hidden = [*measures.times(groups), *measures.core(rows)], measures.metrics(rows), list[Measure]()
    for figure, rooms in zip(measures.EXPENDABLE, (_TIGHT, _TIGHT, _TIGHTER, _NARROW, _NARROW, _NARROW), strict=True):
        if not fits([*base, *chosen], rooms):
            lost = [each for each in base if figure in (each.figure, "clock" if each.timed and not each.best else "")]
            hidden += lost
            base = [measure for measure in base if measure not in lost]
    while chosen and not fits([*base, *chosen], _NARROW):
        hidden.append(chosen.pop())
    for further in known(measures.WIDER, rows):
        if hidden or not fits([*base, *chosen, *further], _ROOMY):
            break
        chosen += further
    names = [" ".join(measure.title.split()) for measure in hidden]
    if dated and not fits(base, _NARROW):
        dated = False
        names.append("measured")
    final = sheet(groups, [*base, *chosen], dated=dated)
    final.notes.extend(footnotes.not_shown(names, width))
    return final


def known(wider: Iterable[Sequence[Measure]], rows: Sequence[Row]) -> list[list[Measure]]:
    """Return the optional columns, in their groups, for which any row has a figure."""
    found = [[measure for measure in group if any(row.values(measure.figure) for row in rows)] for group in wider]
    return [group for group in found if group]


def _least_width(
    groups: Sequence[Group], shown: Sequence[Measure], rooms: dict[str, int], *, dated: bool = False
) -> int:
    """Return the width of a table whose names have at most the room given, and its figures at least their own."""
    trial = sheet(groups, shown, dated=dated)
    widths = layout.natural_widths(trial.columns, trial.rows)
    least = [rooms[column.wrap] if column.wrap else size for column, size in zip(trial.columns, widths, strict=True)]
    widths = [min(size, bound) for size, bound in zip(widths, least, strict=True)]
    if rooms is _ROOMY:  # what is optional does not depend on a digit more or less
        first = next(i for i, column in enumerate(trial.columns) if column.marks)
        for i, measure in enumerate(shown, first):
            widths[i] = max(widths[i], measure.room + 1)
    return layout.total_width(trial.columns, widths)


def sheet(groups: Sequence[Group], shown: Sequence[Measure], *, dated: bool = False) -> Sheet:
    """Return the cells of all groups for the given measured columns."""
    reasons = footnotes.Reasons()
    with_problem = any(len(group.problems) > 1 for group in groups)
    # where all runs are reused the footnote says so, without marks
    marked = not all(record.get("reused") for group in groups for row in group.rows for record in row.records)
    columns = [Column("solver", wrap="label")]
    if with_problem:
        columns.append(Column("problem", wrap="words"))
    columns += [Column(measure.title, right=True, marks=True) for measure in shown]
    if dated:
        years = {_newest(row)[:4] for group in groups for row in group.rows}
        year = years.pop() if len(years) == 1 else ""  # in which everything was measured: it stands in the title
        columns.append(Column(f"measured\n{f'{year} UTC'.strip()}"))
    columns.append(Column("status"))
    filled = []
    for group in groups:
        best = [measures.best_rows(measure, group) for measure in shown]
        rows = []
        for i, row in enumerate(group.rows):
            cells = [Cell(row.name)]
            if with_problem:
                cells.append(Cell(row.problem))
            cells += [Cell(measure.cell(row), i in winners) for measure, winners in zip(shown, best, strict=True)]
            if dated:
                cells.append(Cell(_newest(row).removeprefix(f"{year}-")))
            cells.append(Cell(_status(row, reasons, marked=marked)))
            rows.append(cells)
        filled.append(Section(group.heading, rows, group.remark))
    told = [*reasons.notes(), *footnotes.notes(groups, shown)]
    return Sheet(columns, filled, told, footnotes.explained(groups, shown), groups)


def _newest(row: Row) -> str:
    return footnotes.moment(max(str(record.get("measured_at") or "") for record in row.records))


def _status(row: Row, reasons: footnotes.Reasons, *, marked: bool) -> str:
    reused = marked and any(record.get("reused") for record in row.records)
    return f"{row.status}{'†' if reused else ''} {reasons.number(row)}".rstrip()
