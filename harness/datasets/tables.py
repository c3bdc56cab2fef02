"""Tables as they are read: what all have in common, and CSV, whose first row may hold names.

Whether the first row of a CSV file holds names is told by its cells, each of which is a number, missing (blank, ``?``,
``NA``) or text:

* without text it is a point;
* a ``label``, ``target`` or ``class`` among its cells, or text and no number, makes it names;
* numbers that count the columns (``0,1,2``: names, or a point?), and names that occur twice, are refused with a sentence that
  asks for ``header``;
* every other one is a point.
"""

from __future__ import annotations

import codecs
import csv
import functools
import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from harness.datasets.bounds import AS_TEXT
from harness.datasets.compression import opened
from harness.datasets.labels import MISSING, refuse_missing
from harness.datasets.validation import first_non_finite
from harness.errors import DataError
from harness.plain import plain_line

if TYPE_CHECKING:
    import pandas as pd

    from harness.arrays import Array
    from harness.datasets.dataset import Points

_BLOCK = (1 << 31) - 2  # bytes of text by which pyarrow tells the types of columns: as many as it can
DENSE_FROM = 0.25
"""Share of non-zeros from which points become a dense array: CSR (12 bytes a value) then gains little."""

IndexBase = Literal["auto", "0", "1"]


@dataclass(frozen=True)
class Table:
    """The content of one file.

    ``x``: (n, d), dense or CSR, finite but for NaN in empty cells that are filled in later. ``labels``: (n,) float64 or
    text. ``test``: the file's own test part, if any. ``names``: of the features, where the file has them. ``defaults``: those of
    the data set that was kept in the file, see :class:`harness.datasets.Dataset`. ``categories``: of a column of text, which
    holds their numbers from 0, and -1 where there is none. ``label_column``: its name, if it has one.
    """

    x: Points
    labels: Array
    test: tuple[Points, Array] | None = None
    names: tuple[str, ...] | None = None
    defaults: Mapping[str, Any] = field(default_factory=dict)
    categories: Mapping[int, Array] = field(default_factory=dict)
    label_column: str = ""


def refuse_non_finite(x: Any, path: Path | str, first: int = 0) -> None:
    """Raise if (n, d) points hold NaN or infinity.

    Parameters
    ----------
    first : rows of the file that are above these

    Raises
    ------
    DataError : with the first offending row and column, both counted from 1.
    """
    bad = first_non_finite(x)
    if bad is not None:
        row, column = bad
        raise DataError(
            f"'{path}': row {first + row + 1}, column {column + 1} holds {x[row, column]}; expected a finite number "
            "(rows and columns counted from 1, the label not counted). Fill in or drop such rows."
        )


def checked(table: Table, path: Path, *, gaps: bool = False) -> Table:
    """Return the table after refusing 0 rows, 0 features, NaN, infinity and missing labels.

    gaps : NaN is what is filled in later, and infinity has been looked for

    Raises
    ------
    DataError : with the first offending row and column, both counted from 1.
    """
    for x, labels in ((table.x, table.labels), *([table.test] if table.test else [])):
        n, d = x.shape
        if n == 0 or d == 0:
            lacks = "0 rows of data" if n == 0 else "no features, only labels"
            raise DataError(
                f"'{path}' has {lacks}; expected points of both classes, numbers beside their label. Write it again."
            )
        if labels.shape != (n,):
            raise DataError(
                f"'{path}': {n} rows of points and labels of shape {labels.shape}; expected ({n},), one label for each "
                "row. Write the file again with points and labels of equal length."
            )
        if not gaps:
            refuse_non_finite(x, path)
        if labels.dtype.kind == "f":
            refuse_missing(~np.isfinite(labels), labels, path)
    return table


# -- CSV ---------------------------------------------------------------------------------------------------


def read_csv(path: Path, source: Any) -> tuple[pd.DataFrame, bool, Callable[[], Sequence[int]]]:
    """Return a table, whether its first row holds names, and what says in which line of the file each other row begins.

    Its columns are separated by commas, semicolons, tabs or blanks.

    source : a `FileSource`, which says what the file does not say itself

    Raises
    ------
    DataError : rows of different lengths, a first row that may be names or a point, not numbers.
    """
    import pyarrow.csv

    with opened(path, AS_TEXT) as file:
        content = file.read()
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        content = content.decode("utf-16").encode()
    whole = content.removeprefix(codecs.BOM_UTF8)
    content = whole.lstrip()
    try:
        content.decode()
    except UnicodeDecodeError as error:
        line = whole.count(b"\n", 0, len(whole) - len(content) + error.start) + 1
        raise DataError(
            f"'{path}': line {line} has letters that are not UTF-8. Save it as UTF-8: iconv -f WINDOWS-1252 -t UTF-8 {path.name}"
            " > utf8.csv."
        ) from None
    first = re.sub(r'"[^"]*"', "", content[: content.find(b"\n") if b"\n" in content else None].decode())
    marks = (";", "\t", ",") if not re.search(r",(?!\d)", first) else (",", ";", "\t")  # 1,5;2,5 are two numbers
    separator = next((mark for mark in marks if mark in first), " ")
    if separator == " ":
        content = re.sub(rb"(?m)^ +| +(?=\r?$)", b"", re.sub(rb"[ \t]+", b" ", content))
    start = io.StringIO(content[: 1 << 20].decode(errors="ignore"), newline=None)
    row = next(filter(None, csv.reader(start, delimiter=separator, skipinitialspace=True)), None)
    if row is None:
        raise DataError(f"'{path}' has 0 rows of data, only blank lines. Fetch or write it again.")
    cells = [cell.strip() for cell in row]
    named = source.header == "yes" or (source.header == "auto" and _holds_names(cells, source, path))

    @functools.cache
    def lines() -> list[int]:
        """Return the line in which each row begins, as an editor counts: the first one is 1, those within quotes count."""
        before, found = whole[: len(whole) - len(whole.lstrip())].count(b"\n"), []
        rows = csv.reader(io.StringIO(content.decode(), newline=""), delimiter=separator)
        start = 1
        for each in rows:
            found += [before + start] if each else []
            start = rows.line_num + 1
        return found

    ragged: list[Any] = []

    def left_out(row: Any) -> str:
        ragged.append(row)
        return "skip"

    table = pyarrow.csv.read_csv(
        io.BytesIO(content),
        read_options=pyarrow.csv.ReadOptions(
            use_threads=False,  # it then says which rows are wrong
            block_size=min(len(content) + 1, _BLOCK),
            column_names=None if named else list(map(str, range(len(cells)))),
        ),
        parse_options=pyarrow.csv.ParseOptions(delimiter=separator, invalid_row_handler=left_out),
        convert_options=pyarrow.csv.ConvertOptions(
            null_values=[*pyarrow.csv.ConvertOptions().null_values, "?"], strings_can_be_null=True
        ),
    )
    if ragged:
        told = ", ".join(f"line {lines()[each.number - 1]} has {each.actual_columns}" for each in ragged[:3])
        raise DataError(
            f"'{path}': rows with more or fewer than {len(cells)} cells, as the first has ({len(ragged):,}: {told}"
            f"{', ...' * (len(ragged) > 3)}). Correct them; a cell with {separator!r} in it stands in double quotes."
        )
    return table.to_pandas(), named, lambda: lines()[named:]


def _holds_names(cells: list[str], source: Any, path: Path) -> bool:
    """Return whether the first row holds names, by the rules at the top of this file.

    Raises
    ------
    DataError : it may be names or a point.
    """
    if len(cells) > 1 and cells in ([str(first + place) for place in range(len(cells))] for first in (0, 1)):
        raise DataError(
            f"'{path}': the first row, {plain_line(','.join(cells), 60)}, may be names or a point: its numbers count the columns. "
            f"Say which with {source.typed(header='yes')} or header=no."
        )
    text = [cell for cell in cells if _is_text(cell)]
    twice = next((cell for place, cell in enumerate(text) if cell in text[:place]), None)
    numbers = [cell for cell in cells if not _is_text(cell) and cell.lower() not in MISSING]
    known = {cell.lower() for cell in text} & {"label", "target", "class"} or source.label_column in text
    if twice is not None and (known or not numbers):
        raise DataError(
            f"'{path}': the first row has {plain_line(twice, 60)!r} twice. Rename one if these are names, or write "
            f"{source.typed(header='yes')}; if the row is a point, header=no."
        )
    return bool(known or (text and not numbers))


def _is_text(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return cell.lower() not in MISSING
    return False
