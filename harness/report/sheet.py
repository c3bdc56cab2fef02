"""A report before it is set as text, Markdown or HTML: one builder for the tables of runs and of paths."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from harness.report import layout
from harness.report.layout import Cell, Column
from harness.report.rows import Group, Row

WIDE, MIDDLE, NARROW = 40, 24, 10  # columns of a terminal that solvers' names have before a figure is shown
_PROBLEM_SHARE = 0.6  # of that room, for the names of problems
BEST = "{} best among comparable rows, or could not be distinguished from the best."


@dataclass(frozen=True)
class Figure(Column):
    """A column with what it shows of a row.

    text : of a row
    best : the positions of the best rows of a group
    names : room that names keep where there is too little for all; 0: every table has the column
    room : width that counts for it where names keep `WIDE`, so that no digit decides which columns there are
    meaning : a sentence on what it shows
    """

    text: Callable[[Row], str] = str
    best: Callable[[Group], Collection[int]] = lambda _: ()
    names: float = 0
    room: int = 0
    meaning: str = ""


@dataclass(frozen=True)
class Section:
    """The rows of a table under one heading, each a list of cells; ``remark`` stands between the two."""

    heading: str
    rows: list[list[Cell]]
    remark: str = ""


@dataclass(frozen=True)
class Sheet:
    """Columns that all sections share, and the sentences under them.

    notes : what every reader must know
    explained : what columns and marks mean
    """

    columns: Sequence[Column]
    sections: list[Section]
    notes: list[str]
    explained: list[str]
    groups: Sequence[Group]

    @property
    def rows(self) -> list[list[Cell]]:
        """The rows of all sections."""
        return [row for section in self.sections for row in section.rows]

    @property
    def titles(self) -> list[str]:
        """The titles of the columns, in one line each."""
        return [column.line for column in self.columns]

    def sentences(self, mark: str, *, explain: bool = False) -> list[str]:
        """Return what stands under the table: what ``mark`` means, the notes, and the explanations if wanted."""
        marked = any(cell.best for row in self.rows for cell in row)
        return [*([BEST.format(mark)] if marked else []), *self.notes, *(self.explained if explain else [])]


def build(
    groups: Sequence[Group],
    figures: Sequence[Figure],
    notes: Sequence[str],
    explained: Sequence[str],
    *,
    width: int | None = None,
    dated: bool = False,
    expendable: Sequence[Figure] = (),
) -> Sheet:
    """Return the sheet of some groups: the solver, its problem where they differ, the figures and the status.

    notes, explained : behind the reasons of failures, and before the meanings of the columns
    width : of the table, at most; None: every column is shown
    expendable : columns that a narrow table loses, the first one first
    """
    columns: list[Figure] = [Figure("solver", wrap="label", text=lambda row: row.name)]
    if any(len(group.problems) > 1 for group in groups):
        columns.append(Figure("problem", wrap="words", text=lambda row: row.problem))
    columns += figures
    if dated:
        columns.append(Figure("measured", text=_date, names=NARROW))
        expendable = [*expendable, columns[-1]]
    reasons: dict[str, int] = {}
    rows = [row for group in groups for row in group.rows]
    # where all runs are reused a note says so, without marks
    dagger = "" if all(record.get("reused") for row in rows for record in row.records) else "†"
    columns.append(Figure("status", text=lambda row: _status(row, reasons, dagger)))
    texts = {id(row): [column.text(row) for column in columns] for row in rows}
    best = [[column.best(group) for column in columns] for group in groups]
    cells = [
        [
            [
                Cell(text, i in winners, failed=column is columns[-1] and any(record.failed for record in row.records))
                for text, winners, column in zip(texts[id(row)], of_group, columns, strict=True)
            ]
            for i, row in enumerate(group.rows)
        ]
        for group, of_group in zip(groups, best, strict=True)
    ]
    every = [row for section in cells for row in section]
    shown, hidden = list(range(len(columns))), list[Figure]()
    for column in expendable if width else ():
        if _least_width([columns[i] for i in shown], [[row[i] for i in shown] for row in every], column.names) <= (
            width or 0
        ):
            break
        shown.remove(next(i for i in shown if columns[i] is column))
        hidden += [column] if column.names != WIDE else []
    titles = ", ".join(column.line for column in columns if column in hidden)
    return Sheet(
        [columns[i] for i in shown],
        [
            Section(group.heading, [[row[i] for i in shown] for row in section], group.remark)
            for group, section in zip(groups, cells, strict=True)
        ],
        [
            *(f"[{number}] {text}" for text, number in reasons.items()),
            *notes,
            *([f"Not shown at {width} columns: {titles}. --format markdown shows all."] if hidden else []),
        ],
        [*explained, *(columns[i].meaning for i in shown if columns[i].meaning)],
        groups,
    )


def _least_width(columns: Sequence[Figure], rows: Sequence[Sequence[Cell]], names: float) -> int:
    """Return the width of a table whose names have at most the room ``names``."""
    widths = layout.natural_widths(columns, rows)
    for i, column in enumerate(columns):
        if column.wrap:
            share = names if column.wrap == "label" else max(_PROBLEM_SHARE * names, layout.NARROWEST)
            widths[i] = int(min(widths[i], share))
        elif names == WIDE and column.room:
            widths[i] = max(widths[i], column.room + 1)
    return layout.total_width(columns, widths)


def _date(row: Row) -> str:
    """Return the day of the newest run."""
    return max(str(record.get("measured_at") or "") for record in row.records)[:10]


def _status(row: Row, reasons: dict[str, int], dagger: str) -> str:
    """Return ``timeout 1/3† [1,2]``; the same reason of the same solver has one number in the whole sheet."""
    found = dict.fromkeys(f"{row.name}: {_reason(record)}" for record in row.astray)
    numbers = ",".join(str(reasons.setdefault(text, len(reasons) + 1)) for text in found)
    reused = any(record.get("reused") for record in row.records)
    return f"{row.status}{dagger * reused}{f' [{numbers}]' * bool(numbers)}"


def _reason(record: Mapping[str, object]) -> str:
    return f"{record.get('status')}: {' '.join(str(record.get('reason') or 'no reason was given').split())}"
