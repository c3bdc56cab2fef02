"""Aligned columns of text: the one table layout of the command, for measurements and listings alike.

A table has columns of fixed width and columns that may wrap; the wrapping ones share what the fixed
ones leave. A cell can be marked as the best of its column: ``*`` behind it, bold on a terminal.
"""

from __future__ import annotations

import re
import textwrap
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

PIPE_WIDTH = 100
_BOLD, _PLAIN = "\x1b[1m", "\x1b[0m"
_GAP = " "
_AFTER = re.compile(r"(?<=[,\[/ =])")


@dataclass(frozen=True)
class Column:
    """One column: its title, and how it is set.

    wrap : None: as wide as its widest cell; ``words``: at spaces; ``label``: after commas, brackets and slashes
    marks : room for ``*`` behind each cell, so that marked and unmarked figures stay aligned
    """

    title: str
    right: bool = False
    wrap: Literal["words", "label"] | None = None
    marks: bool = False


@dataclass(frozen=True)
class Cell:
    """A cell's text, and whether it is the best of its column."""

    text: str
    best: bool = False


def text_width(text: str) -> int:
    """Return the columns of a terminal that ``text`` takes."""
    return sum(
        0 if unicodedata.combining(letter) else 1 + (unicodedata.east_asian_width(letter) in "WF") for letter in text
    )


def natural_widths(columns: Sequence[Column], rows: Iterable[Sequence[Cell]]) -> list[int]:
    """Return the width of each column if nothing wraps."""
    widths = [text_width(column.title) + column.marks for column in columns]
    for row in rows:
        widths = [
            max(width, text_width(cell.text) + column.marks)
            for width, cell, column in zip(widths, row, columns, strict=True)
        ]
    return widths


def fitted_widths(columns: Sequence[Column], natural: Sequence[int], width: int) -> list[int]:
    """Return the widths with which a table is at most ``width`` wide: wrapping columns share what is left."""
    fixed = sum(size for column, size in zip(columns, natural, strict=True) if column.wrap is None)
    left = width - fixed - len(_GAP) * (len(columns) - 1) - sum(_extra(column) for column in columns)
    flexible = sorted((i for i, column in enumerate(columns) if column.wrap), key=lambda i: natural[i])
    widths = list(natural)
    for position, i in enumerate(flexible):  # the narrow ones first: what they do not need goes to the wide ones
        widths[i] = max(8, min(natural[i], left // (len(flexible) - position)))
        left -= widths[i]
    return widths


def _extra(column: Column) -> int:
    return 0 if column.right else 1  # text columns stand a little apart from the figures


def total_width(columns: Sequence[Column], widths: Sequence[int]) -> int:
    """Return the width of a table."""
    return sum(widths) + len(_GAP) * (len(columns) - 1) + sum(_extra(column) for column in columns)


def lines(
    columns: Sequence[Column], rows: Iterable[Sequence[Cell]], widths: Sequence[int], *, styled: bool = False
) -> list[str]:
    """Return the title line and the lines of all rows.

    styled : bold titles and best cells, for a terminal
    """
    titles = [Cell(column.title) for column in columns]
    result = [_bold(line) if styled else line for line in _row_lines(columns, titles, widths, styled=False)]
    for row in rows:
        result.extend(_row_lines(columns, row, widths, styled=styled))
    return result


def _row_lines(columns: Sequence[Column], row: Sequence[Cell], widths: Sequence[int], *, styled: bool) -> list[str]:
    pieces = [wrapped(cell.text, width, column.wrap) for cell, column, width in zip(row, columns, widths, strict=True)]
    result = []
    for i in range(max(len(piece) for piece in pieces)):
        parts = []
        for cell, column, width, piece in zip(row, columns, widths, pieces, strict=True):
            text = piece[i] if i < len(piece) else ""
            parts.append(_set(text, column, width, best=cell.best and bool(text), styled=styled))
        result.append(_GAP.join(parts).rstrip())
    return result


def _set(text: str, column: Column, width: int, *, best: bool, styled: bool) -> str:
    mark = ("*" if best else " ") if column.marks else ""
    padding = " " * max(0, width - text_width(text) - len(mark))
    shown = _bold(text) if best and styled else text
    return f"{padding}{shown}{mark}" if column.right else f"{shown}{mark}{padding} "


def _bold(text: str) -> str:
    return f"{_BOLD}{text}{_PLAIN}"


def bold(text: str, *, styled: bool) -> str:
    """Return ``text`` in bold on a terminal, else as it is."""
    return _bold(text) if styled else text


def wrapped(text: str, width: int, wrap: Literal["words", "label"] | None) -> list[str]:
    """Return the lines of a cell; a piece without a place to break is cut into pieces."""
    if wrap is None or text_width(text) <= width:
        return [text]
    if wrap == "words":
        return textwrap.wrap(text, width) or [""]
    result, current = [], ""
    for piece in _AFTER.split(text):
        if current and text_width(current + piece) > width:
            result.append(current.rstrip())
            current = ""
        current += piece
        while text_width(current) > width:
            result.append(current[:width])
            current = current[width:]
    return [*result, current.rstrip()] if current.strip() else result


def table(columns: Sequence[Column], rows: Iterable[Sequence[str]], width: int, *, styled: bool = False) -> str:
    """Return a listing: plain cells, fitted to ``width``."""
    cells = [[Cell(text) for text in row] for row in rows]
    widths = fitted_widths(columns, natural_widths(columns, cells), width)
    return "\n".join(lines(columns, cells, widths, styled=styled))


def paragraph(text: str, width: int, *, first: str = "", rest: str = "  ") -> list[str]:
    """Return a sentence wrapped to ``width``; words that are longer (paths) are not cut."""
    return textwrap.wrap(
        text, width, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )
