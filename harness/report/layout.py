"""Aligned columns of text: the table layout of the command.

A table has columns of fixed width and columns that wrap; the wrapping ones share the width that the fixed ones leave. A cell
can be marked as the best of its column: ``*`` behind it, bold on a terminal.
"""

from __future__ import annotations

import itertools
import re
import textwrap
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len as text_width

from harness.report.output import BOLD, RED, UNSTYLED
from harness.support.printable import plain, plain_line

if TYPE_CHECKING:
    from harness.report.rows import Group, Row

_NARROWEST = 8  # least width of a wrapping column
_BREAKS = re.compile(r"(?<=[,\[/ ])")  # where a text may be broken


@dataclass(frozen=True)
class Column:
    """One column of a table.

    title : with a line break where it is long
    text : the text of a row
    best : the positions of the best rows of a group
    wrap : whether long texts are broken, at blanks and after commas, brackets and slashes
    marks : room for ``*`` behind each cell, so that marked and unmarked figures stay aligned
    meaning : a sentence on what the column shows
    failures : whether cells of rows with a failed run are red
    """

    title: str
    text: Callable[[Row], str]
    best: Callable[[Group], Collection[int]] = lambda _: ()
    right: bool = False
    wrap: bool = False
    marks: bool = False
    meaning: str = ""
    failures: bool = False

    @property
    def line(self) -> str:
        """The title in one line."""
        return " ".join(self.title.split())

    def lines(self, text: str, width: int) -> list[str]:
        """Return the lines of a cell; a word that is longer than the column is cut."""
        if not self.wrap or text_width(text) <= width:
            return [text]
        wrapper = textwrap.TextWrapper(width, break_on_hyphens=False)
        wrapper.wordsep_simple_re = _BREAKS
        return wrapper.wrap(text) or [""]

    def set(self, text: str, width: int, style: str = "", *, best: bool = False) -> str:
        """Return one line of a cell, padded to the width of the column."""
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


def fits(columns: Sequence[Column], rows: Sequence[Sequence[Cell]], width: int, names: int) -> bool:
    """Return whether a table has room for its columns, with at most the width ``names`` for each wrapping one."""
    natural = zip(columns, _natural_widths(columns, rows), strict=True)
    return sum(min(size, names) if column.wrap else size for column, size in natural) + _gaps(columns) <= width


def fitted_widths(columns: Sequence[Column], rows: Sequence[Sequence[Cell]], width: int) -> list[int]:
    """Return the widths with which a table is at most ``width`` wide: wrapping columns share what is left."""
    widths = _natural_widths(columns, rows)
    wrapping = sorted((i for i, column in enumerate(columns) if column.wrap), key=lambda i: widths[i])
    left = width - _gaps(columns) - sum(size for i, size in enumerate(widths) if i not in wrapping)
    # the narrow ones leave room to the wide
    for after, i in zip(reversed(range(len(wrapping))), wrapping, strict=True):
        widths[i] = max(_NARROWEST, min(widths[i], left // (after + 1)))
        left -= widths[i]
    return widths


def _natural_widths(columns: Sequence[Column], rows: Sequence[Sequence[Cell]]) -> list[int]:
    texts = [[*column.title.split("\n"), *(row[i].text for row in rows)] for i, column in enumerate(columns)]
    return [max(map(text_width, texts[i])) + column.marks for i, column in enumerate(columns)]


def _gaps(columns: Sequence[Column]) -> int:
    """Return the blanks between columns: one between two, and one more behind each column of texts."""
    return len(columns) - 1 + sum(not column.right for column in columns)


def lines(
    columns: Sequence[Column], rows: Iterable[Sequence[Cell]], widths: Sequence[int], *, styled: bool = False
) -> list[str]:
    """Return the title line and the lines of all rows.

    styled : for a terminal, with bold titles and best cells, and failures in red
    """
    titles = [column.title.split("\n")[::-1] for column in columns]  # short ones beside the last line of the longest
    heads = _joined(columns, titles, [Cell("")] * len(columns), widths)[::-1]
    result = [in_style(line, BOLD * styled) for line in heads]
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


def paragraph(text: str, width: int) -> list[str]:
    """Return a sentence wrapped to ``width``, further lines indented; words that are longer (paths) are not cut."""
    return textwrap.wrap(plain(text), width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
