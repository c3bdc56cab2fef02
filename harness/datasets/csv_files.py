"""Tables as text: commas, semicolons, tabs or blanks between the cells. pandas reads them, the rest is decided here.

Whether the first row holds names is told by its cells, each of which is a number, missing (blank, ``?``, ``NA``) or text:

* without text it is a point;
* text without numbers are names, and so is a row in which a cell is ``label``, ``target`` or ``class``;
* text in the label's column only is the label of a point, if it occurs again or no label, all being text, does.

Not guessed at, but refused with a sentence that asks for ``header``, are all other rows, among them text above numbers
beside numbers (``1.O,2,0``: a slip, or names?); and numbers that rise like those of columns (``0,1,2``: names, or a
point?); and names of which the label's is a label too.
"""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.datasets.compression import opened_text
from harness.datasets.labels import MISSING, clipped
from harness.datasets.tables import LABEL_NAMES, Options, Table, from_frame
from harness.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

_BLANKS = r"\s+"
_SHOWN = 6  # cells of a row in a message
_MANY = 6  # numbers that rise by chance in one row of 720


def read_csv(path: Path, options: Options) -> Table:
    """Return the points and labels of a table.

    Parameters
    ----------
    options : with ``header=auto`` whether the first row holds names is told by the rules above

    Raises
    ------
    DataError : not UTF-8, rows of different lengths, a first row that may be names or a point, not numbers.
    """
    import pandas as pd

    label, header = options.label_column, options.header
    content = _utf8(path)
    separator, rows = _rows(content, path)
    first = next(rows, None)
    if first is None:
        raise DataError(f"'{path}' has 0 rows of data, only blank lines. Fetch or write it again.")
    cells, end = first[1], first[2]
    below = next(rows, (0, [""] * len(cells), 0))[1]
    if len(below) != len(cells):
        _refuse_ragged(content, path)
    named = header == "yes" if header != "auto" else _holds_names(cells, below, label, path)
    if named and header == "auto" and options.categories == "one-hot":
        _refuse_all_text(cells, below, label, path)
    frame = _frame(content, end if named else 0, separator, len(cells), path)
    if header == "auto":
        _refuse_doubtful_label(frame, cells, label, named=named, path=path)
    frame.columns = pd.Index(cells if named else range(len(cells)))
    return from_frame(frame, path, options, named=named)


def _utf8(path: Path) -> bytes:
    """Return the file's content, UTF-8 for sure, without a byte-order mark, its lines ending in line feeds."""
    with opened_text(path) as file:
        content = file.read().removeprefix(codecs.BOM_UTF8)
    try:
        content.decode()
    except UnicodeDecodeError as error:
        raise DataError(
            f"'{path}' is not UTF-8 text ({error.reason} at byte {error.start}). Convert it first."
        ) from None
    if b"\0" in content:
        raise DataError(f"'{path}' is not text (it holds the byte 0 at {content.index(0)}). Fetch or write it again.")
    return content.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in content else content


def _rows(content: bytes, path: Path) -> tuple[str, Iterator[tuple[int, list[str], int]]]:
    """Return the separator and the rows that are not blank: their last line's number, cells, where the next begins."""
    file = io.BytesIO(content)
    first = next((line for line in file if line.strip()), b"").decode()
    separator = next((mark for mark in (",", ";", "\t") if mark in first), _BLANKS)
    file.seek(0)
    lines = (line.decode() for line in iter(file.readline, b""))

    def rows() -> Iterator[tuple[int, list[str], int]]:
        if separator == _BLANKS:
            for number, line in enumerate(lines, start=1):
                if row := [cell.strip("\"'") for cell in re.findall(r'"[^"]*"|\S+', line)]:
                    yield number, row, file.tell()
            return
        reader = csv.reader(lines, delimiter=separator, skipinitialspace=True)
        try:
            for row in reader:
                if any(row) or len(row) > 1:
                    yield reader.line_num, [cell.strip() for cell in row], file.tell()
        except csv.Error as error:
            raise DataError(f"'{path}' is not a table (line {reader.line_num}: {error}). Write it again.") from None

    return separator, rows()


def _frame(content: bytes, start: int, separator: str, width: int, path: Path) -> pd.DataFrame:
    """Return the cells from a position on; a column more than there are cells shows the rows that are too long."""
    import pandas as pd

    # From 3.1 on pandas reads floats exactly and warns about this option; before, it is needed for the last bit.
    version = tuple(int(part) for part in pd.__version__.split(".")[:2])
    exact: dict[str, Any] = {} if version >= (3, 1) else {"float_precision": "round_trip"}
    beyond = str(width)
    body = io.BytesIO(content)
    body.seek(start)
    try:
        frame: pd.DataFrame = pd.read_csv(
            body,
            sep=separator,
            header=None,
            names=[*map(str, range(width)), beyond],
            converters={beyond: bool},
            index_col=False,
            na_values=["?"],
            skipinitialspace=True,
            low_memory=False,
            **exact,
        )
    except pd.errors.EmptyDataError:
        return pd.DataFrame(columns=range(width))
    except pd.errors.ParserError as error:
        _refuse_ragged(content, path)
        raise DataError(f"'{path}' is not a table ({str(error).strip()}). Write it again.") from None
    if frame.pop(beyond).any() or frame.iloc[:, -1].isna().any():  # too long, or perhaps too short
        _refuse_ragged(content, path)
    return frame


def _refuse_ragged(content: bytes, path: Path) -> None:
    """Raise if a row has more or fewer cells than the first one."""
    _, rows = _rows(content, path)
    first, cells, _ = next(rows)
    for line, row, _ in rows:
        if len(row) != len(cells):
            raise DataError(
                f"'{path}' is not a table: line {line} has {_cells(row)}, line {first} has {len(cells)}. "
                "Give each row the same number of cells."
            )


def _cells(row: list[str]) -> str:
    return f"{len(row)} cell{'s' if len(row) != 1 else ''}"


# -- names or a point ----------------------------------------------------------------------------------


def _holds_names(cells: list[str], below: list[str], label: str | None, path: Path) -> bool:
    """Return whether the first row holds names, by the rules at the top of this file.

    Raises
    ------
    DataError : it may be names or a point.
    """
    text = [index for index, cell in enumerate(cells) if _is_text(cell)]
    numbers = [cell for cell in cells if not _is_text(cell) and cell.lower() not in MISSING]
    if not text:
        if _counts(cells, below):
            raise _doubtful(cells, "its numbers rise from cell to cell, as names that count columns do", path)
        return False
    by_name = label is not None and not _is_position(label) and label in cells
    if by_name or {cells[index].lower() for index in text} & {"label", "target", "class"}:
        return True
    of_features = [index for index in text if index != _label_at(cells, label)]
    above = [cells[index] for index in of_features if not _is_text(below[index])]
    if above and numbers:
        raise _doubtful(
            cells, f"'{clipped(numbers[0])}' is a number, and '{clipped(above[0])}', above a number, is text", path
        )
    return not numbers and (bool(of_features) or len(cells) == 1)


def _refuse_all_text(cells: list[str], below: list[str], label: str | None, path: Path) -> None:
    """Raise if a first row is text above text, as of categories, and none of it is what only a label's column is called."""
    known = {cell.lower() for cell in cells} & set(LABEL_NAMES) or (label is not None and label in cells)
    if not known and all(map(_is_text, cells)) and all(map(_is_text, below)):
        raise _doubtful(cells, "the second row is text too", path)


def _refuse_doubtful_label(
    frame: pd.DataFrame, cells: list[str], label: str | None, *, named: bool, path: Path
) -> None:
    """Raise if the first row, taken for names, holds a label; or, taken for a point, a label that is none."""
    at = _label_at(cells, label)
    if not _is_text(cells[at]):
        return
    labels = frame.iloc[0 if named else 1 :, at].astype("object").astype(str).str.strip()
    again = (labels == cells[at]).any()
    if named and again:
        raise _doubtful(cells, f"'{clipped(cells[at])}' is the label of other rows too", path)
    if not named and not again and not (labels.is_unique and labels.map(_is_text).all()):
        raise _doubtful(cells, f"no other row has the label '{clipped(cells[at])}'", path)


def _label_at(cells: list[str], label: str | None) -> int:
    """Return the label's column as far as the first row tells it."""
    if label is not None and _is_position(label) and -len(cells) <= int(label) < len(cells):
        return int(label) % len(cells)
    known = (label,) if label is not None else LABEL_NAMES
    return next((index for index, cell in enumerate(cells) if cell == label or cell.lower() in known), len(cells) - 1)


def _is_position(label: str) -> bool:
    return re.fullmatch(r"[+-]?\d+", label.strip()) is not None


def _is_text(cell: str) -> bool:
    if cell.lower() in MISSING:
        return False
    try:
        float(cell)
    except ValueError:
        return True
    return False


def _counts(cells: list[str], below: list[str]) -> bool:
    """Return whether numbers may be names: ``0,1,2``; ``1,2,4,4`` with a slip; ``400,405,...`` above a row that falls."""
    if len(cells) < 2 or not all(map(str.strip, cells)) or any(cell.lower() in MISSING for cell in cells):
        return False
    first, last = float(cells[0]), float(cells[-1])
    whole = all(cell.isdecimal() for cell in cells)
    if whole and _rises(cells) and last - first == len(cells) - 1 and (first < 2 or len(cells) > 2):
        return True
    falls = not any(_is_text(cell) or cell.lower() in MISSING for cell in below) and not _rises(below)
    return len(cells) >= _MANY and len(set(cells)) == len(cells) and _rises(cells) and falls


def _rises(cells: list[str]) -> bool:
    return all(float(here) <= float(there) for here, there in itertools.pairwise(cells))


def _doubtful(cells: list[str], why: str, path: Path) -> DataError:
    shown = ",".join(clipped(cell) for cell in cells[:_SHOWN]) + (",..." if len(cells) > _SHOWN else "")
    return DataError(
        f"'{path}': the first row, {shown}, may be names or a point: {why}. Say which with [header=yes] or [header=no]."
    )
