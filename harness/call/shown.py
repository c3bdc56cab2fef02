"""A comparison as HTML for a notebook: the table's rows and marks, every text escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from harness.plain import plain_line
from harness.report import measures, path_table, table
from harness.report.rows import grouped

if TYPE_CHECKING:
    from harness.run.record import Record


def html(records: Sequence[Record]) -> str:
    """Return a table a data set, the best figures in bold, and what is to be said of them below."""
    parts = []
    for heading, titles, lines, notes in path_table.tables(records):
        parts += [
            _heading(heading),
            _table(titles, [[(cell, False) for cell in line] for line in lines], 1),
            *map(_note, notes),
        ]
    groups = grouped(path_table.without_paths(records))
    rows = [row for group in groups for row in group.rows]
    if rows:
        sheet = table.sheet(groups, [*measures.core(rows), *measures.metrics(rows)])
        titles = [column.title.replace("\n", " ") for column in sheet.columns]
        left = sum(not column.right for column in sheet.columns[:-1])
        for group, cells in sheet.groups:
            parts += [
                _heading(group.heading),
                _table(titles, [[(cell.text, cell.best) for cell in row] for row in cells], left),
            ]
        marked = any(cell.best for _, cells in sheet.groups for row in cells for cell in row)
        parts += [_note(f"{measures.BEST.format('bold:')}.")] if marked else []
        parts += [_note(note) for note in sheet.notes]
    return f'<div class="harness-result" style="overflow-x: auto">{"".join(parts) or "<p>no records</p>"}</div>'


def _heading(text: str) -> str:
    return f"<p><b>{_text(text)}</b></p>"


def _note(text: str) -> str:
    return f'<p style="margin: 0.2em 0; font-size: smaller">{_text(text)}</p>'


def _table(titles: Sequence[str], rows: Sequence[Sequence[tuple[str, bool]]], left: int) -> str:
    """Return a table whose first ``left`` columns and last one stand to the left."""

    def cell(kind: str, index: int, text: str) -> str:
        align = "left" if index < left or index == len(titles) - 1 else "right"
        return f'<{kind} style="text-align: {align}; padding: 0.1em 0.6em">{text}</{kind}>'

    head = "".join(cell("th", index, _text(title)) for index, title in enumerate(titles))
    body = "".join(
        "<tr>"
        + "".join(cell("td", i, f"<b>{_text(text)}</b>" if best else _text(text)) for i, (text, best) in enumerate(row))
        + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _text(text: str) -> str:
    return escape(plain_line(text))
