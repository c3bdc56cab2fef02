"""Tables: which column is the label and whether all others are numbers; and CSV, whose first row may hold names.

Whether the first row of a CSV file holds names is told by its cells, each of which is a number, missing (blank, ``?``,
``NA``) or text:

* without text it is a point;
* a ``label``, ``target`` or ``class`` among its cells, or text and no number, makes it names;
* numbers that count the columns (``0,1,2``: names, or a point?) are refused with a sentence that asks for ``header``;
* every other one is a point.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from harness.datasets.bounds import AS_TEXT
from harness.datasets.compression import opened
from harness.datasets.labels import MISSING, from_text, refuse_missing
from harness.datasets.validation import first_non_finite
from harness.errors import DataError
from harness.parameters import did_you_mean
from harness.plain import plain_line

if TYPE_CHECKING:
    import pandas as pd

    from harness.arrays import Array
    from harness.datasets.dataset import Points

_NAME = 100  # characters of a column's name
_BLOCK = (1 << 31) - 2  # bytes of text by which pyarrow tells the types of columns: as many as it can
DENSE_FROM = 0.25
"""Share of non-zeros from which points become a dense array: CSR (12 bytes a value) then gains little."""
LABEL_NAMES = ("label", "target", "class", "y")

IndexBase = Literal["auto", "0", "1"]


@dataclass(frozen=True)
class Table:
    """The content of one file.

    ``x``: (n, d), dense or CSR, finite. ``labels``: (n,) float64 or text. ``test``: the file's own test part, if any.
    ``names``: of the features, where the file has them. ``defaults``: those of the data set that was kept in the file, see
    :class:`harness.datasets.Dataset`.
    """

    x: Points
    labels: Array
    test: tuple[Points, Array] | None = None
    names: tuple[str, ...] | None = None
    defaults: Mapping[str, Any] = field(default_factory=dict)


def refuse_non_finite(x: Any, path: Path | str, first: int = 0, columns: Sequence[str] = ()) -> None:
    """Raise if (n, d) points hold NaN or infinity.

    Parameters
    ----------
    first : rows of the file that are above these
    columns : the names of the features; none: they are numbered

    Raises
    ------
    DataError : with the first offending row and column, both counted from 1.
    """
    bad = first_non_finite(x)
    if bad is not None:
        row, column = bad
        name = f"'{columns[column]}' (column {column + 1})" if columns else str(column + 1)
        raise DataError(
            f"'{path}': row {first + row + 1}, column {name} holds {x[row, column]}; expected a finite number "
            "(rows and columns counted from 1, a header and the label not counted). Fill in or drop such rows."
        )


def checked(table: Table, path: Path, columns: Sequence[str] = ()) -> Table:
    """Return the table after refusing 0 rows, 0 features, NaN, infinity and missing labels.

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
        refuse_non_finite(x, path, columns=columns)
        if labels.dtype.kind == "f":
            refuse_missing(~np.isfinite(labels), labels, path)
    return table


# -- CSV ---------------------------------------------------------------------------------------------------


def read_csv(path: Path, source: Any) -> Table:
    """Return the points and labels of a table, its columns separated by commas, semicolons, tabs or blanks.

    source : a `FileSource`, which says what the file does not say itself

    Raises
    ------
    DataError : rows of different lengths, a first row that may be names or a point, not numbers.
    """
    import pyarrow.csv

    with opened(path, AS_TEXT) as file:
        content = file.read().removeprefix(codecs.BOM_UTF8).lstrip()
    if not content.isascii():
        content.decode()  # what is not UTF-8 is refused by this
    first = content[: content.find(b"\n") if b"\n" in content else None].decode()
    separator = next((mark for mark in (",", ";", "\t") if mark in first), " ")
    if separator == " ":
        content = re.sub(rb"(?m)^ +| +(?=\r?$)", b"", re.sub(rb"[ \t]+", b" ", content))
    start = io.StringIO(content[: 1 << 20].decode(errors="ignore"), newline=None)
    row = next(filter(None, csv.reader(start, delimiter=separator, skipinitialspace=True)), None)
    if row is None:
        raise DataError(f"'{path}' has 0 rows of data, only blank lines. Fetch or write it again.")
    cells = [cell.strip() for cell in row]
    named = source.header == "yes" or (source.header == "auto" and _holds_names(cells, source, path))
    table = pyarrow.csv.read_csv(
        io.BytesIO(content),
        read_options=pyarrow.csv.ReadOptions(
            use_threads=False,  # it then says which row it refuses
            block_size=min(len(content) + 1, _BLOCK),
            column_names=None if named else list(map(str, range(len(cells)))),
        ),
        parse_options=pyarrow.csv.ParseOptions(delimiter=separator),
        convert_options=pyarrow.csv.ConvertOptions(
            null_values=[*pyarrow.csv.ConvertOptions().null_values, "?"], strings_can_be_null=True
        ),
    )
    return from_frame(table.to_pandas(), path, source.label_column, named=named)


def _holds_names(cells: list[str], source: Any, path: Path) -> bool:
    """Return whether the first row holds names, by the rules at the top of this file.

    Raises
    ------
    DataError : it may be names or a point.
    """
    if len(cells) > 1 and cells in ([str(first + place) for place in range(len(cells))] for first in (0, 1)):
        raise DataError(
            f"'{path}': the first row, {plain_line(','.join(cells), 60)}, may be names or a point: its numbers count the columns. "
            "Say which with [header=yes] or [header=no]."
        )
    text = [cell for cell in cells if _is_text(cell)]
    numbers = [cell for cell in cells if not _is_text(cell) and cell.lower() not in MISSING]
    known = {cell.lower() for cell in text} & {"label", "target", "class"} or source.label_column in text
    return bool(known or (text and not numbers))


def _is_text(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return cell.lower() not in MISSING
    return False


# -- columns -----------------------------------------------------------------------------------------------


def from_frame(frame: pd.DataFrame, path: Path, label: str | None, *, named: bool = True) -> Table:
    """Return a table from columns: the label's and, in their order, all others as features.

    Parameters
    ----------
    label : a name, or a position (0 the first, -1 the last); None: the column named label, target, class or y, whatever
        the case (there must not be two of them), else the last one
    named : whether the columns have names of their own (messages and ``label_column`` then use them)

    Raises
    ------
    DataError : no such column; a feature that is not a number, with its column and a sample of its values.
    """
    names = [plain_line(str(name).strip(), _NAME) for name in frame.columns]
    if not names:
        raise DataError(f"'{path}' has 0 rows of data; expected points of both classes. Fetch or write it again.")
    position = _label_position(names if named else [], len(names), path, label)
    features = [index for index in range(len(names)) if index != position]
    shown = [names[index] if named else f"#{index + 1}" for index in features]
    x = np.empty((len(frame), len(features)))
    for target, index in enumerate(features):
        column = frame.iloc[:, index]
        x[:, target], strange = _numbers(column)
        if strange is not None:
            raise DataError(
                f"'{path}': column '{shown[target]}' is not numeric: row {strange + 1} holds "
                f"'{plain_line(str(column.iloc[strange]), 40)}'. Encode it as numbers first (pandas.get_dummies makes a column for "
                "each value); if it is the label, say so with label_column, and if row 1 holds names, with header=yes."
            )
    names_of = tuple(shown) if named else None
    return checked(Table(x, _labels(frame.iloc[:, position], path), names=names_of), path, shown)


def _label_position(names: list[str], width: int, path: Path, label: str | None) -> int:
    wanted = LABEL_NAMES if label is None else (label,)
    found = [i for i, name in enumerate(names) if (name if label is not None else name.lower()) in wanted]
    if len(found) > 1:
        choice = names[found[0]] if names.count(names[found[0]]) == 1 else found[0]  # of one name: the position tells
        raise DataError(
            f"'{path}' has the columns {' and '.join(repr(names[index]) for index in found)}, each of which could be the "
            f"label; expected one such column. Say which it is with [label_column={choice}]."
        )
    if found or label is None:
        return found[0] if found else width - 1
    if re.fullmatch(r"[+-]?\d+", label.strip()) and -width <= int(label) < width:
        return int(label) % width
    columns = ", ".join(names[:30]) if names else "it has no header"
    raise DataError(
        f"'{path}' has no column '{label}'{did_you_mean(label, names)}; expected one of its {width} columns ({columns}) or "
        f"its position, 0..{width - 1} (-1: the last)."
    )


def _numbers(column: pd.Series[Any]) -> tuple[Array, int | None]:
    """Return a column's numbers, NaN where there is none, and the first row that holds something else."""
    import pandas as pd

    if column.dtype.kind in "fiub":
        return column.to_numpy(dtype=np.float64, na_value=np.nan), None
    missing = (column.isna() | column.astype(str).str.strip().str.lower().isin(MISSING)).to_numpy()
    # as text: a time would pass as its nanoseconds, and no cell of a strange kind is a number
    values = pd.to_numeric(column.astype(str), errors="coerce").to_numpy(dtype=np.float64)
    strange = np.flatnonzero(np.isnan(values) & ~missing)
    return values, int(strange[0]) if len(strange) else None


def _labels(column: pd.Series[Any], path: Path) -> Array:
    if column.dtype.kind in "fiub":
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    text = column.astype("object")
    return from_text(text.where(text.notna(), "").astype(str), path)
