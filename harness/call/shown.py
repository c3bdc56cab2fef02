"""A comparison as HTML for a notebook: the table's rows and marks, every text escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from harness.call.settings import in_python
from harness.report import table
from harness.support.printable import plain_line

if TYPE_CHECKING:
    from harness.report.layout import Cell, Column
    from harness.run.record import Record


_RED = ' style="color: #d33"'  # of failures; legible on white and on black


def html(records: Sequence[Record]) -> str:
    """Return a table a data set, the best figures in bold, and what is to be said of them below."""
    parts, meanings = list[str](), ""
    for kind, content in table.blocks(
        records, table.sheets(records, optional=False), "bold:", explain=True, command=""
    ):
        if kind == "table":
            sheet, rows = content
            parts.append(_table(sheet.columns, rows))
        elif kind == "explanation":
            meanings += _note(content)
        elif kind in ("heading", "failure", "answer"):
            parts.append(f"<p{_RED * (kind == 'failure')}><b>{_text(content)}</b></p>")
        elif content:
            parts.append(_note(content))
    parts += [f"<details><summary>What columns and marks mean</summary>{meanings}</details>"] if meanings else []
    return f'<div class="harness-result" style="overflow-x: auto">{"".join(parts)}</div>'


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
    body = "".join(line("td", map(_cell, row)) for row in rows)
    return f"<table><thead>{head}</thead><tbody>{body}</tbody></table>"


def _cell(cell: Cell) -> str:
    text = f"<b>{_text(cell.text)}</b>" if cell.best else _text(cell.text)
    return f"<span{_RED}>{text}</span>" if cell.failed else text


def _text(text: str) -> str:
    return escape(plain_line(text))
