"""A comparison as HTML for a notebook: the table's rows and marks, every text escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from harness.report import footnotes, table
from harness.report.verdict import of_records
from harness.support.printable import plain_line

if TYPE_CHECKING:
    from harness.run.record import Record


def html(records: Sequence[Record]) -> str:
    """Return a table a data set, the best figures in bold, and what is to be said of them below."""
    parts = []
    for sheet in table.sheets(records, table.whole):
        left = next((i for i, column in enumerate(sheet.columns) if column.right), 1)
        for section in sheet.sections:
            rows = [[(cell.text, cell.best) for cell in row] for row in section.rows]
            parts += [f"<p><b>{_text(section.heading)}</b></p>", *([_note(section.remark)] if section.remark else [])]
            parts += [_table(sheet.titles, rows, left)]
        parts += map(_note, footnotes.sentences(sheet, "bold:"))
        told = "".join(map(_note, sheet.explained))
        parts += [f"<details><summary>What columns and marks mean</summary>{told}</details>"] if told else []
    answer = of_records(records)
    parts += [f"<p><b>{_text(sentence)}</b></p>" for sentence in answer.sentences]
    parts += [f"<p>{_text(line)}</p>" for line in answer.further("")]
    return f'<div class="harness-result" style="overflow-x: auto">{"".join(parts) or "<p>no records</p>"}</div>'


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
