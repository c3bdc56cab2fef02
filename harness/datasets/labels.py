"""From the labels of a file to -1 and +1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.errors import DataError
from harness.parameters import did_you_mean
from harness.plain import plain_line

if TYPE_CHECKING:
    from harness.arrays import Array, Vector

_LISTED = 12  # classes named in a message
MISSING = ("", "?", "nan", "na", "n/a", "null", "none")
"""What stands for a value that is not there, in any case; pyarrow knows some more."""


def from_text(text: Any, path: Any) -> Array:
    """Return (n,) labels: numbers if all of the text reads as numbers ('+1', '-1', '1.0'), else the text, stripped.

    Parameters
    ----------
    text : (n,) text, missing labels as one of :data:`MISSING`
    path : the file, for the message

    Raises
    ------
    DataError : labels are missing; it says how many and which is the first.
    """
    stripped = np.char.strip(np.asarray(text, dtype=np.str_))
    refuse_missing(np.isin(np.char.lower(stripped), MISSING), stripped, path)
    try:
        numbers = stripped.astype(np.float64)
    except ValueError:
        return stripped
    # Python reads 1_0 as 10, no other program does
    return numbers if np.isfinite(numbers).all() and (np.char.find(stripped, "_") < 0).all() else stripped


def refuse_missing(gone: Array, labels: Array, path: Any) -> None:
    """Raise if a label is missing: the first one's row, counted from 1, and how many there are.

    Parameters
    ----------
    gone : (n,) of bool, which labels are missing
    labels : (n,), as they stand in the file
    """
    rows = np.flatnonzero(gone)
    if not len(rows):
        return
    text = labels.dtype.kind == "U"
    raise DataError(
        f"'{path}': the label of row {rows[0] + 1} is {'missing' if text else labels[rows[0]]}, {len(rows)} of the "
        f"{len(labels)} labels are; expected a class. Fill in or drop such rows"
        + ("; a class that is called none, NA or nan needs another name." if text else ".")
    )


def class_name(value: Any) -> str:
    """Return a label as a user would type it: 2.0 is '2'."""
    return f"{value:.15g}" if isinstance(value, float) else plain_line(str(value), 40)


@dataclass(frozen=True)
class Classes:
    """Which labels are +1 and which are -1; learnt from the training file, applied to the test file too."""

    values: tuple[Any, ...]  # all distinct labels, sorted
    positive: Any  # one of values; every other one is -1

    def signs(self, labels: Array, where: str) -> Vector:
        """Return (n,) -1.0 / +1.0.

        Raises
        ------
        DataError : a label that the training part does not have.
        """
        unknown = sorted(set(np.unique(labels).tolist()) - set(self.values), key=str)
        if unknown:
            raise DataError(
                f"{where}: the label '{class_name(unknown[0])}' does not occur in the training data, "
                f"whose classes are {_listing(self.values)}. Correct the labels of the one file or the other."
            )
        return np.where(labels == self.positive, 1.0, -1.0)


def learn_classes(labels: Array, positive: str | None, where: str) -> Classes:
    """Decide which class is +1.

    Two distinct values: the greater one in sorted order is +1 (hence -1 < +1, 0 < 1, 1 < 2, 'ham' < 'spam').
    With ``positive``: that class is +1 and all the others -1, however many there are.

    Parameters
    ----------
    labels : (n,) float64 or text
    positive : a class as text; '2' names the numeric label 2.0
    where : the file, for the message

    Raises
    ------
    DataError : one class only; more than two and no ``positive``; a ``positive`` that does not occur.
    """
    values = tuple(np.unique(labels).tolist())
    if len(values) == 1:
        raise DataError(
            f"{where}: each of the {len(labels)} labels is '{class_name(values[0])}'; expected two classes. "
            "If the labels are in another column, name it with the parameter 'label_column'."
        )
    if positive is not None:
        wanted = positive.strip()
        matches = [value for value in values if wanted in (str(value), class_name(value))]
        if not matches:
            known = [class_name(value) for value in values]
            raise DataError(
                f"{where}: no row has the label '{positive}'{did_you_mean(positive, known)}; "
                f"the classes are {_listing(values)}. Choose one with [positive=CLASS]."
            )
        return Classes(values, matches[0])
    if len(values) > 2:
        raise DataError(
            f"{where}: {len(values)} classes ({_listing(values)}); expected two. Choose the one that is to be +1, all others "
            f"being -1: {where}[positive={class_name(values[0])}]; or, if these are numbers to predict, "
            f"{where}[task=regression]."
        )
    return Classes(values, values[1])


def _listing(values: tuple[Any, ...]) -> str:
    names = [f"'{class_name(value)}'" for value in values[:_LISTED]]
    return ", ".join(names) + (f" and {len(values) - _LISTED} more" if len(values) > _LISTED else "")
