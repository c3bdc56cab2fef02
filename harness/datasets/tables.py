"""What a reader hands on: points and labels as they stand in the file, checked to be numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from harness.datasets.labels import MISSING, clipped, from_text, refuse_missing
from harness.datasets.validation import first_non_finite
from harness.errors import DataError
from harness.parameters import did_you_mean

if TYPE_CHECKING:
    import pandas as pd

    from harness.datasets.dataset import Points

_FEW = 50  # values of a category that may be as many as its rows
_LISTED = 8  # columns named in a message
_NAME = 100  # characters of a column's name
LABEL_NAMES = ("label", "target", "class", "y")


Header = Literal["auto", "yes", "no"]
IndexBase = Literal["auto", "0", "1"]
Categories = Literal["refuse", "one-hot"]
Missing = Literal["refuse", "mean", "drop"]


@dataclass(frozen=True)
class Options:
    """What a user says of a file that the file does not say itself.

    ``label_column`` : tables: the label's column by name or position; None: the column named label, target, class or y,
        else the last one
    ``header`` : CSV: whether the first row holds names; ``auto``: see :mod:`harness.datasets.csv_files`
    ``index_base`` : LIBSVM text: the index of the first feature; ``auto``: 0 if it occurs in either file, else 1
    ``categories``, ``missing`` : tables: what becomes of columns of text and of cells without a value, see
        :mod:`harness.datasets.encoding`
    """

    label_column: str | None = None
    header: Header = "auto"
    index_base: IndexBase = "auto"
    categories: Categories = "refuse"
    missing: Missing = "refuse"


@dataclass(frozen=True)
class Table:
    """The content of one file.

    ``x``: (n, d), dense or CSR, finite; a missing value is NaN where :class:`Options` allow it. ``labels``: (n,) float64
    or text. ``test``: the file's own test part, if any. ``names``: of the features, where the file has them.
    ``categories``: column -> the texts that it holds, a cell being the position of its text among them. ``defaults``: those
    of the data set that was kept in the file, see :class:`harness.datasets.Dataset`.
    """

    x: Points
    labels: np.ndarray[Any, Any]
    test: tuple[Points, np.ndarray[Any, Any]] | None = None
    names: tuple[str, ...] | None = None
    categories: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)


def checked(
    table: Table, path: Path, columns: Sequence[str] | None = None, *, may_miss: bool = False, remedy: str = ""
) -> Table:
    """Return the table after refusing 0 rows, 0 features, NaN, infinity and missing labels.

    Parameters
    ----------
    columns : the names of the features
    may_miss : whether NaN passes, as a value that is missing
    remedy : what to do about a value that is missing, beside filling it in

    Raises
    ------
    DataError : with the first offending row and column, both counted from 1.
    """
    for x, labels in ((table.x, table.labels), *([table.test] if table.test else [])):
        part = "test points" if x is not table.x else "points"
        n, d = x.shape
        if n == 0:
            raise DataError(
                f"'{path}' has 0 rows of data; expected at least one point of each class. Fetch or write it again."
            )
        if d == 0:
            raise DataError(
                f"'{path}' has no features, only labels; expected at least one column of numbers beside them. "
                "Write it again with the points."
            )
        if labels.shape != (n,):
            raise DataError(
                f"'{path}': the {part} have {n} rows, their labels shape {labels.shape}; expected ({n},), one label "
                "for each row. Write the file again with points and labels of equal length."
            )
        bad = first_non_finite(np.where(np.isnan(x), 0.0, x) if may_miss and isinstance(x, np.ndarray) else x)
        if bad is not None:
            row, column = bad
            name = f"'{columns[column]}' (column {column + 1})" if columns else str(column + 1)
            raise DataError(
                f"'{path}': row {row + 1}, column {name} holds {x[row, column]}; expected a finite number "
                "(rows and columns counted from 1, a header and the label not counted). Fill in or drop such rows"
                f"{remedy if np.isnan(x[row, column]) else ''}."
            )
        if labels.dtype.kind == "f":
            refuse_missing(~np.isfinite(labels), labels, path)
    return table


def from_frame(frame: pd.DataFrame, path: Path, options: Options, *, named: bool) -> Table:
    """Return a table from columns: the label's and, in their order, all others as features.

    Parameters
    ----------
    options : ``label_column``: a name, or a position (0 the first, -1 the last); None: the column named label, target,
        class or y, whatever the case (there must not be two of them), else the last one
    named : whether the columns have names of their own (messages and ``label_column`` then use them)

    Raises
    ------
    DataError : no such column; a feature that is not a number, with its column and a sample of its values.
    """
    names = [clipped(str(name), _NAME) for name in frame.columns]
    if len(names) == 0 or len(frame) == 0:
        raise DataError(
            f"'{path}' has 0 rows of data; expected at least one point of each class. Fetch or write it again."
        )
    position = _label_position(names, path, options.label_column, named=named)
    features = [index for index in range(len(names)) if index != position]
    shown = [names[index] if named else f"#{index + 1}" for index in features]
    labels = _labels(frame.iloc[:, position], path)
    x, categories, not_numbers = np.empty((len(frame), len(features))), {}, []
    for target, index in enumerate(features):
        column = frame.iloc[:, index]
        x[:, target], strange = _numbers(column)
        if strange is None:
            continue
        not_numbers.append((shown[target], strange, column))
        if options.categories == "one-hot":
            x[:, target], categories[target] = _codes(column, x[:, target], shown[target], path)
    if not_numbers and options.categories == "refuse":
        raise _not_numeric(not_numbers, path)
    table = Table(x, labels, names=tuple(shown) if named else None, categories=categories)
    remedy = ", or give the parameter missing=mean or missing=drop"
    return checked(table, path, shown, may_miss=options.missing != "refuse", remedy=remedy)


def with_categories_of(train: Table, test: Table) -> Points:
    """Return the test points, each cell of a category being the position of its text in the training table.

    A text that the training table does not have is one position further; what is text in one table only is left as it is.
    """
    if not train.categories and not test.categories:
        return test.x
    x: Any = np.array(test.x)
    for column, texts in test.categories.items():
        known = {text: code for code, text in enumerate(train.categories.get(column, ()))}
        codes = np.array([*(known.get(text, len(known)) for text in texts), np.nan])
        at = np.where(np.isnan(x[:, column]), len(texts), x[:, column]).astype(np.intp)
        x[:, column] = codes[at]
    return cast("Points", x)


def _label_position(names: list[str], path: Path, label: str | None, *, named: bool) -> int:
    wanted = LABEL_NAMES if label is None else (label,)
    found = [i for i, name in enumerate(names) if named and (name if label is not None else name.lower()) in wanted]
    if len(found) > 1:
        listing = " and ".join(f"'{names[index]}'" for index in found)
        choice = names[found[0]] if names.count(names[found[0]]) == 1 else found[0]  # of one name: the position tells
        raise DataError(
            f"'{path}' has the columns {listing}, each of which could be the label; expected one such column. "
            f"Say which it is with [label_column={choice}]."
        )
    if found or label is None:
        return found[0] if found else len(names) - 1
    try:
        index = int(label)
    except ValueError:
        known = names if named else []
        raise DataError(
            f"'{path}' has no column '{label}'{did_you_mean(label, known)}; "
            + (
                f"its columns are: {', '.join(known[:30])}."
                if named
                else "it has no header: give the column's position, 0 the first, -1 the last."
            )
        ) from None
    if not -len(names) <= index < len(names):
        raise DataError(
            f"'{path}' has {len(names)} columns; label_column={label} is not one of 0..{len(names) - 1} (-1: the last). "
            "Choose one of these."
        )
    return index % len(names)


def _numbers(column: pd.Series[Any]) -> tuple[np.ndarray[Any, Any], int | None]:
    """Return a column's numbers, NaN where there is none, and the first row that holds something else."""
    import pandas as pd

    if column.dtype.kind in "fiub":
        return column.to_numpy(dtype=np.float64, na_value=np.nan), None
    text = column.astype("object")
    if column.dtype.kind in "mM":  # times would pass as nanoseconds
        return np.full(len(text), np.nan), int(np.argmax(text.notna()))
    missing = text.isna().to_numpy() | text.astype(str).str.strip().str.lower().isin(MISSING).to_numpy()
    try:
        values = pd.to_numeric(text, errors="coerce").astype("float64").to_numpy(copy=True)
    except (TypeError, ValueError):  # lists and other things in cells
        return np.full(len(text), np.nan), int(np.argmin(missing))
    strange = np.flatnonzero(np.isnan(values) & ~missing)
    return values, int(strange[0]) if len(strange) else None


def _not_numeric(columns: list[tuple[str, int, pd.Series[Any]]], path: Path) -> DataError:
    name, row, cells = columns[0]
    others = [f"'{other}'" for other, _, _ in columns[1:]]
    more = ", ".join(others[:_LISTED]) + (f" and {len(others) - _LISTED} more" if len(others) > _LISTED else "")
    return DataError(
        f"'{path}': column '{name}' is not numeric: row {row + 1} holds '{clipped(str(cells.iloc[row]))}'"
        + (f" (nor are {more})" if others else "")
        + ". Encode it as numbers first, or give the parameter categories=one-hot, which makes a column for each value; "
        "if it is the label, say so with label_column."
    )


def _codes(
    column: pd.Series[Any], numbers: np.ndarray[Any, Any], name: str, path: Path
) -> tuple[np.ndarray[Any, Any], tuple[str, ...]]:
    """Return (n,) positions of a column's cells among its distinct texts, NaN where there is none; and these texts.

    Raises
    ------
    DataError : it is no category: mostly numbers, times or lists, or another text in most rows.
    """
    import pandas as pd

    cells = column.astype("object")
    text = cells.astype(str).str.strip()
    text = text.where(cells.notna() & ~text.str.lower().isin(MISSING), None)
    known = text.notna().to_numpy()
    kinds = {type(cell) for cell in cells[known]}
    codes, texts = pd.factorize(text, sort=True)
    why = ""
    if not kinds <= {str, int, float, bool}:
        why = f"it holds values of the type {clipped(next(iter(kinds - {str, int, float, bool})).__name__)}"
    elif 2 * np.count_nonzero(~np.isnan(numbers)) > np.count_nonzero(known):
        slip = text[known & np.isnan(numbers)].iloc[0]
        why = f"most of its cells are numbers, and '{clipped(slip)}' is none"
    elif len(texts) > _FEW and 2 * len(texts) > np.count_nonzero(known):
        why = f"it has {len(texts)} values in {np.count_nonzero(known)} rows, as names of rows do"
    if why:
        raise DataError(f"'{path}': column '{name}' is not a category: {why}. Correct it, or leave the column out.")
    return np.where(known, codes.astype(np.float64), np.nan), tuple(map(str, texts))


def _labels(column: pd.Series[Any], path: Path) -> np.ndarray[Any, Any]:
    if column.dtype.kind in "fiub":
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    text = column.astype("object")
    return from_text(text.where(text.notna(), "").astype(str), path)
