"""What a reader hands on: points and labels as they stand in the file, checked to be numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.datasets.labels import MISSING, from_text, refuse_missing
from harness.datasets.validation import first_non_finite
from harness.errors import DataError
from harness.parameters import did_you_mean

if TYPE_CHECKING:
    import pandas as pd

    from harness.datasets.dataset import Points

LABEL_NAMES = ("label", "target", "class", "y")


@dataclass(frozen=True)
class Table:
    """The content of one file.

    ``x``: (n, d), dense or CSR, finite. ``labels``: (n,) float64 or text. ``test``: the file's own test part, if any.
    ``names``: of the features, where the file has them.
    """

    x: Points
    labels: np.ndarray[Any, Any]
    test: tuple[Points, np.ndarray[Any, Any]] | None = None
    names: tuple[str, ...] | None = None


def checked(table: Table, path: Path, columns: Sequence[str] | None = None) -> Table:
    """Return the table after refusing 0 rows, 0 features, NaN, infinity and missing labels.

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
        bad = first_non_finite(x)
        if bad is not None:
            row, column = bad
            name = f"'{columns[column]}' (column {column + 1})" if columns else str(column + 1)
            raise DataError(
                f"'{path}': row {row + 1}, column {name} holds {x[row, column]}; expected a finite number "
                "(rows and columns counted from 1, a header and the label not counted). Fill in or drop such rows."
            )
        if labels.dtype.kind == "f":
            refuse_missing(~np.isfinite(labels), labels, path)
    return table


def from_frame(frame: pd.DataFrame, path: Path, label: str | None, *, named: bool) -> Table:
    """Return a table from columns: the label's and, in their order, all others as features.

    Parameters
    ----------
    label : a column's name, or its position (0 the first, -1 the last); None: the column named label, target, class
        or y, whatever the case (there must not be two of them), else the last one
    named : whether the columns have names of their own (messages and ``label`` then use them)

    Raises
    ------
    DataError : no such column; a feature that is not a number, with its column and a sample of its values.
    """
    names = [str(name) for name in frame.columns]
    if len(names) == 0 or len(frame) == 0:
        raise DataError(
            f"'{path}' has 0 rows of data; expected at least one point of each class. Fetch or write it again."
        )
    position = _label_position(names, path, label, named=named)
    features = [index for index in range(len(names)) if index != position]
    shown = [names[index] if named else f"#{index + 1}" for index in features]
    x = np.empty((len(frame), len(features)))
    for target, index in enumerate(features):
        x[:, target] = _numbers(frame.iloc[:, index], shown[target], path)
    labels = _labels(frame.iloc[:, position], path)
    return checked(Table(x, labels, names=tuple(shown) if named else None), path, shown)


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


def _numbers(column: pd.Series[Any], name: str, path: Path) -> np.ndarray[Any, Any]:
    import pandas as pd

    if column.dtype.kind in "fiub":
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    text = column.astype("object")
    values = pd.to_numeric(text, errors="coerce").astype("float64").to_numpy(copy=True)
    missing = text.isna().to_numpy() | text.astype(str).str.strip().str.lower().isin(MISSING).to_numpy()
    strange = np.flatnonzero(np.isnan(values) & ~missing)
    if len(strange):
        raise DataError(
            f"'{path}': column '{name}' is not numeric: row {strange[0] + 1} holds {str(text.iloc[strange[0]])!r}. "
            "Encode it as numbers first (e.g. one column for each value); if it is the label, say so with label_column."
        )
    return values


def _labels(column: pd.Series[Any], path: Path) -> np.ndarray[Any, Any]:
    if column.dtype.kind in "fiub":
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    text = column.astype("object")
    return from_text(text.where(text.notna(), "").astype(str), path)
