"""A comparison as HTML for a notebook: the table's rows and marks, every text escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from harness.call.settings import in_python
from harness.report import table
from harness.report.verdict import of_records
from harness.support.printable import plain_line

if TYPE_CHECKING:
    from harness.report.layout import Cell, Column
    from harness.run.record import Record


def html(records: Sequence[Record]) -> str:
    """Return a table a data set, the best figures in bold, and what is to be said of them below."""
    parts = []
    for sheet in table.sheets(records, optional=False):
        for section in sheet.sections:
            parts += [f"<p><b>{_text(section.heading)}</b></p>", *map(_note, filter(None, [section.remark]))]
            parts += [_table(sheet.columns, section.rows)]
        parts += map(_note, sheet.sentences("bold:"))
        meanings = "".join(map(_note, sheet.explained))
        parts += [f"<details><summary>What columns and marks mean</summary>{meanings}</details>"] if meanings else []
    answer = of_records(records)
    parts += [f"<p><b>{_text(sentence)}</b></p>" for sentence in answer.sentences]
    parts += [f"<p>{_text(line)}</p>" for line in answer.further("")]
    return f'<div class="harness-result" style="overflow-x: auto">{"".join(parts) or "<p>no records</p>"}</div>'


def _note(text: str) -> str:
    return f'<p style="margin: 0.2em 0; font-size: smaller">{_text(in_python(text))}</p>'


def _table(columns: Sequence[Column], rows: Sequence[Sequence[Cell]]) -> str:
    def line(kind: str, texts: Iterable[str]) -> str:
        cells = (
            f'<{kind} style="text-align: {"right" if column.right else "left"}; padding: 0.1em 0.6em">{text}</{kind}>'
            for text, column in zip(texts, columns, strict=True)
        )
        return f"<tr>{''.join(cells)}</tr>"

    head = line("th", (_text(column.line) for column in columns))
    body = "".join(
        line("td", (f"<b>{_text(cell.text)}</b>" if cell.best else _text(cell.text) for cell in row)) for row in rows
    )
    return f"<table><thead>{head}</thead><tbody>{body}</tbody></table>"


def _text(text: str) -> str:
    return escape(plain_line(text))
