"""Aligned columns of text: the one table layout of the command, for measurements and listings alike.

A table has columns of fixed width and columns that may wrap; the wrapping ones share what the fixed
ones leave. A cell can be marked as the best of its column: ``*`` behind it, bold on a terminal.
"""

from __future__ import annotations

import itertools
import re
import textwrap
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from harness.support.printable import plain, plain_line

PIPE_WIDTH = 100
_BOLD, _PLAIN = "\x1b[1m", "\x1b[0m"
STYLES = re.compile(f"({re.escape(_BOLD)}|{re.escape(_PLAIN)}|\x1b\\[38;5;[1-6]m)")  # bold, and the colours of curves
_GAP = " "
_AFTER = re.compile(r"(?<=[,\[/ ])")
NARROWEST = 8
WORD_ROOM = 20  # of a name such as polytope-distance, which is not broken while there is room


@dataclass(frozen=True)
class Column:
    """One column: its title (with a line break where it is long), and how it is set.

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

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", plain_line(self.text))  # it may come from a plugin, a store or a file's name


def text_width(text: str) -> int:
    """Return the columns of a terminal that ``text`` takes."""
    return sum(
        0 if unicodedata.combining(letter) else 1 + (unicodedata.east_asian_width(letter) in "WF") for letter in text
    )


def natural_widths(columns: Sequence[Column], rows: Sequence[Sequence[Cell]]) -> list[int]:
    """Return the width of each column if nothing wraps."""
    texts = [[*column.title.split("\n"), *(row[i].text for row in rows)] for i, column in enumerate(columns)]
    return [max(map(text_width, own)) + column.marks for own, column in zip(texts, columns, strict=True)]


def fitted_widths(columns: Sequence[Column], rows: Sequence[Sequence[Cell]], width: int) -> list[int]:
    """Return the widths with which a table is at most ``width`` wide: wrapping columns share what is left."""
    widths = natural_widths(columns, rows)
    flexible = sorted((i for i, column in enumerate(columns) if column.wrap), key=lambda i: widths[i])
    left = width - total_width(columns, widths) + sum(widths[i] for i in flexible)
    for position, i in enumerate(flexible):  # the narrow ones first: what they do not need goes to the wide ones
        after = len(flexible) - position - 1
        unbroken = min(_longest_word(columns[i], rows, i), WORD_ROOM, left - after * NARROWEST)
        widths[i] = max(NARROWEST, unbroken, min(widths[i], left // (after + 1)))
        left -= widths[i]
    return widths


def _longest_word(column: Column, rows: Sequence[Sequence[Cell]], i: int) -> int:
    """Return the width below which a column of words breaks one of them."""
    return max((text_width(word) for row in rows for word in row[i].text.split()), default=0) if column.wrap else 0


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
    titles = [column.title.split("\n") for column in columns]
    height = max(map(len, titles))
    lowered = [[""] * (height - len(title)) + title for title in titles]  # beside the last line of the longest
    unmarked = [False] * len(columns)
    result = [bold(line, styled=styled) for line in _set_lines(columns, lowered, unmarked, widths, styled=False)]
    for row in rows:
        pieces = [
            wrapped(cell.text, width, column.wrap) for cell, width, column in zip(row, widths, columns, strict=True)
        ]
        result += _set_lines(columns, pieces, [cell.best for cell in row], widths, styled=styled)
    return result


def _set_lines(
    columns: Sequence[Column], cells: Sequence[list[str]], best: Sequence[bool], widths: Sequence[int], *, styled: bool
) -> list[str]:
    """Return the lines of a row whose cells have one or more lines each."""
    result = []
    for texts in itertools.zip_longest(*cells, fillvalue=""):
        along = zip(texts, columns, widths, best, strict=True)
        line = (_set(text, column, size, best=mark and bool(text), styled=styled) for text, column, size, mark in along)
        result.append(_GAP.join(line).rstrip())
    return result


def _set(text: str, column: Column, width: int, *, best: bool, styled: bool) -> str:
    mark = ("*" if best else " ") if column.marks else ""
    padding = " " * max(0, width - text_width(text) - len(mark))
    shown = bold(text, styled=best and styled)
    return f"{padding}{shown}{mark}" if column.right else f"{shown}{mark}{padding} "


def bold(text: str, *, styled: bool) -> str:
    """Return ``text`` in bold on a terminal, else as it is."""
    return f"{_BOLD}{text}{_PLAIN}" if styled else text


def wrapped(text: str, width: int, wrap: Literal["words", "label"] | None) -> list[str]:
    """Return the lines of a cell; a piece without a place to break is cut into pieces."""
    if wrap is None or text_width(text) <= width:
        return [text]
    if wrap == "words":
        return textwrap.wrap(text, width, break_on_hyphens=False) or [""]
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
    widths = fitted_widths(columns, cells, width)
    return "\n".join(lines(columns, cells, widths, styled=styled))


def paragraph(text: str, width: int) -> list[str]:
    """Return a sentence wrapped to ``width``, further lines indented; words that are longer (paths) are not cut."""
    return textwrap.wrap(plain(text), width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
