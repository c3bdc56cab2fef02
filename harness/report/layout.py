"""Aligned columns of text: the one table layout of the command, for measurements and listings alike.

A table has columns of fixed width and columns that may wrap; the wrapping ones share what the fixed
ones leave. A cell can be marked as the best of its column: ``*`` behind it, bold on a terminal.
"""

from __future__ import annotations

import itertools
import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from rich.cells import cell_len as text_width

from harness.report.output import BOLD, RED, UNSTYLED
from harness.support.printable import plain, plain_line

NARROWEST = 8  # columns of a terminal that a wrapping column has at least
WORD_ROOM = 20  # columns of a name such as polytope-distance, which is not broken while there is room
_BREAKS = re.compile(r"(?<=[,\[/ ])")  # where a label may be broken


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

    @property
    def line(self) -> str:
        """The title in one line."""
        return " ".join(self.title.split())

    def lines(self, text: str, width: int) -> list[str]:
        """Return the lines of a cell; a word that is longer than the column is cut."""
        if self.wrap is None or text_width(text) <= width:
            return [text]
        wrapper = textwrap.TextWrapper(width, break_on_hyphens=False)
        if self.wrap == "label":
            wrapper.wordsep_simple_re = _BREAKS
        return wrapper.wrap(text) or [""]

    def set(self, text: str, width: int, style: str = "", *, best: bool = False) -> str:
        """Return one line of a cell with its blanks; texts stand a little apart from the figures behind them."""
        mark = ("*" if best else " ") if self.marks else ""
        padding, content = " " * (width - text_width(text) - len(mark)), in_style(text, style) + mark
        return padding + content if self.right else f"{content}{padding} "


@dataclass(frozen=True)
class Cell:
    """A cell's text, whether it is the best of its column, and whether it shows a failure."""

    text: str
    best: bool = False
    failed: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", plain_line(self.text))  # it may come from a plugin, a store or a file's name


def in_style(text: str, style: str) -> str:
    """Return ``text`` in the styles of a terminal, `BOLD` and `RED`; as it is if there are none."""
    return f"{style}{text}{UNSTYLED}" if style and text else text


def natural_widths(columns: Sequence[Column], rows: Sequence[Sequence[Cell]]) -> list[int]:
    """Return the width of each column if nothing wraps."""
    texts = [[*column.title.split("\n"), *(row[i].text for row in rows)] for i, column in enumerate(columns)]
    return [max(map(text_width, texts[i])) + column.marks for i, column in enumerate(columns)]


def fitted_widths(columns: Sequence[Column], rows: Sequence[Sequence[Cell]], width: int) -> list[int]:
    """Return the widths with which a table is at most ``width`` wide: wrapping columns share what is left."""
    widths = natural_widths(columns, rows)
    wrapping = sorted((i for i, column in enumerate(columns) if column.wrap), key=lambda i: widths[i])
    left = width - total_width(columns, widths) + sum(widths[i] for i in wrapping)
    # the narrow ones leave room to the wide
    for after, i in zip(reversed(range(len(wrapping))), wrapping, strict=True):
        longest = max((text_width(word) for row in rows for word in row[i].text.split()), default=0)
        unbroken = min(longest, WORD_ROOM, left - after * NARROWEST)
        widths[i] = max(NARROWEST, unbroken, min(widths[i], left // (after + 1)))
        left -= widths[i]
    return widths


def total_width(columns: Sequence[Column], widths: Sequence[int]) -> int:
    """Return the width of a table: its columns, a blank between two, and one more behind each column of texts."""
    return sum(widths) + len(columns) - 1 + sum(not column.right for column in columns)


def lines(
    columns: Sequence[Column], rows: Iterable[Sequence[Cell]], widths: Sequence[int], *, styled: bool = False
) -> list[str]:
    """Return the title line and the lines of all rows.

    styled : for a terminal, with bold titles and best cells, and failures in red
    """
    titles = [column.title.split("\n")[::-1] for column in columns]  # short ones beside the last line of the longest
    result = [
        in_style(line, BOLD * styled) for line in _joined(columns, titles, [Cell("")] * len(columns), widths)[::-1]
    ]
    for row in rows:
        texts = [column.lines(cell.text, size) for column, cell, size in zip(columns, row, widths, strict=True)]
        result += _joined(columns, texts, row, widths, styled=styled)
    return result


def _joined(
    columns: Sequence[Column], texts: Sequence[list[str]], cells: Sequence[Cell], widths: Sequence[int], *,
    styled: bool = False,
) -> list[str]:  # fmt: skip
    """Return the lines of a row whose cells have one or more lines."""
    styles = [(RED * cell.failed + BOLD * cell.best) * styled for cell in cells]
    lines = []
    for line in itertools.zip_longest(*texts, fillvalue=""):
        every = zip(columns, line, widths, styles, cells, strict=True)
        parts = (each.set(text, size, style, best=cell.best and bool(text)) for each, text, size, style, cell in every)
        lines.append(" ".join(parts).rstrip())
    return lines


def table(columns: Sequence[Column], rows: Iterable[Sequence[str]], width: int, *, styled: bool = False) -> str:
    """Return a listing: plain cells, fitted to ``width``."""
    cells = [[Cell(text) for text in row] for row in rows]
    return "\n".join(lines(columns, cells, fitted_widths(columns, cells, width), styled=styled))


def paragraph(text: str, width: int) -> list[str]:
    """Return a sentence wrapped to ``width``, further lines indented; words that are longer (paths) are not cut."""
    return textwrap.wrap(plain(text), width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
