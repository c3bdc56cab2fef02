"""A report before it is set as text, Markdown or HTML: one builder for the tables of runs and of paths."""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from harness.report import layout
from harness.report.layout import Cell, Column
from harness.report.rows import Group, Row

# columns of a terminal that names of solvers have before a figure is shown
WIDE, MIDDLE, TIGHT, NARROW = 40, 24, 18, 10
_PROBLEM_SHARE = 0.8  # of that room, for the names of problems
BEST = "{} best among comparable rows, or could not be distinguished from the best."


@dataclass(frozen=True)
class Figure(Column):
    """A column with what it shows of a row.

    text : of a row
    best : the positions of the best rows of a group
    names : room that names keep where there is too little for all; 0: every table has the column
    room : width that counts for it where names keep `WIDE`, so that no digit decides which columns there are
    meaning : a sentence on what it shows
    failures : it shows whether runs failed
    """

    text: Callable[[Row], str] = str
    best: Callable[[Group], Collection[int]] = lambda _: ()
    names: float = 0
    room: int = 0
    meaning: str = ""
    failures: bool = False


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


def build(
    groups: Sequence[Group], figures: Sequence[Figure], notes: Sequence[str], explained: Sequence[str], *,
    width: int | None = None, dated: bool = False, expendable: Sequence[Figure] = (),
) -> Sheet:  # fmt: skip
    """Return the sheet of some groups: the solver, its problem where they differ, the figures and the status.

    notes, explained : behind the reasons of failures, and before the meanings of the columns
    width : of the table, at most; None: every column is shown
    expendable : columns that a narrow table loses, those first for which names have most room
    """
    rows = [row for group in groups for row in group.rows]
    reasons = list(dict.fromkeys(reason for row in rows for reason in _reasons(row)))
    # where all runs are reused a note says so, without marks
    dagger = "" if all(record.get("reused") for row in rows for record in row.records) else "†"
    solver = Figure("solver", wrap="label", text=operator.attrgetter("name"))
    problem = Figure("problem", wrap="words", text=operator.attrgetter("problem"))
    status = Figure("status", text=lambda row: _status(row, reasons, dagger), failures=True)
    measured = [Figure("measured", text=_date, names=TIGHT)] * dated
    several = any(len(group.problems) > 1 for group in groups)
    cells = {column: [_cells(column, group) for group in groups]
             for column in (solver, *[problem] * several, *figures, *measured, status)}  # fmt: skip
    shown = list(cells)
    for column in sorted((*expendable, *measured), key=lambda each: -each.names) if width else ():
        if layout.total_width(shown, [_width(each, cells[each], column.names) for each in shown]) <= (width or 0):
            break
        shown.remove(column)
    hidden = ", ".join(column.line for column in cells if column not in shown and column.names != WIDE)
    by_group = (zip(*(cells[column][i] for column in shown), strict=True) for i in range(len(groups)))
    sections = [(group, list(map(list, found))) for group, found in zip(groups, by_group, strict=True)]
    sentences = [*(f"[{i}] {reason}" for i, reason in enumerate(reasons, 1)), *notes]
    sentences += [f"Not shown at {width} columns: {hidden}. --format markdown shows all."] * bool(hidden)
    return Sheet(shown, sections, sentences, [*explained, *(each.meaning for each in shown if each.meaning)])


def _cells(column: Figure, group: Group) -> list[Cell]:
    best = column.best(group)
    failed = [column.failures and any(record.failed for record in row.records) for row in group.rows]
    return [Cell(column.text(row), i in best, failed[i]) for i, row in enumerate(group.rows)]


def _width(column: Figure, cells: Sequence[Sequence[Cell]], names: float) -> int:
    """Return the width of a column where names have at most the room ``names``."""
    (width,) = layout.natural_widths([column], [[cell] for of_group in cells for cell in of_group])
    if column.wrap:
        return int(min(width, names if column.wrap == "label" else max(_PROBLEM_SHARE * names, layout.NARROWEST)))
    return max(width, column.room + 1) if names == WIDE and column.room else width


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
