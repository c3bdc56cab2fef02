"""From the labels of a file to -1 and +1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.errors import DataError
from harness.parameters import did_you_mean
from harness.plain import plain_line

if TYPE_CHECKING:
    from harness.arrays import Array, Vector

_LISTED = 5  # classes named in a message
_MOST = 20  # values of a label that may be classes
_YES = ("yes", "true", "+")
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
class Fault:
    """What is wrong with a file, a clause, and the parameters with which it can be read all the same."""

    text: str
    needs: Mapping[str, Any] = field(default_factory=dict)


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


def learn_classes(labels: Array, positive: str | None) -> Classes | Fault:
    """Decide which class is +1, or return why the labels are no two classes.

    Two distinct values: yes, true or + is +1, else the greater one in sorted order (hence -1 < +1, 0 < 1, 1 < 2, 'ham' <
    'spam'). With ``positive``: that class is +1 and all the others -1, however many there are. At fault are one class only;
    more than two and no ``positive``; a ``positive`` that does not occur.

    Parameters
    ----------
    labels : (n,) float64 or text, n > 0
    positive : a class as text; '2' names the numeric label 2.0
    """
    values = tuple(np.unique(labels).tolist())
    if len(values) == 1:
        alike = f"each of the {len(labels)} labels is '{class_name(values[0])}'; expected two classes"
        return Fault(f"{alike}. If another column is the label, name it with label_column")
    if positive is not None:
        if matches := _matches(values, positive):
            return Classes(values, matches[0])
        near = did_you_mean(positive, [class_name(value) for value in values])
        return Fault(f"no row has the label '{positive}'{near}; the classes are {_listing(values)}")
    if len(values) == 2:
        return Classes(values, next((value for value in values if str(value).casefold() in _YES), values[1]))
    if len(values) <= _MOST:
        told = f"{len(values)} classes ({_listing(values)}); expected two. Say which one is +1, all others being -1"
        return Fault(told, {"positive": class_name(values[0])})
    told = f"{len(values):,} different values ({_listing(values)}); expected two classes"
    if labels.dtype.kind == "f":
        return Fault(f"{told}. Numbers to predict are a regression", {"task": "regression"})
    return Fault(f"{told}. Name another column with label_column, or one class with positive")


def _matches(values: tuple[Any, ...], positive: str) -> list[Any]:
    """Return the classes that a text means, as it stands or else in other letters: True is true."""
    wanted = positive.strip()
    exact = [value for value in values if wanted in (str(value), class_name(value))]
    return exact or [value for value in values if str(value).casefold() == wanted.casefold()]


def _listing(values: tuple[Any, ...]) -> str:
    names = [f"'{class_name(value)}'" for value in values[:_LISTED]]
    return ", ".join(names) + (f" and {len(values) - _LISTED:,} more" if len(values) > _LISTED else "")
