"""Labels as classes: the classes, the one that is +1, and words for missing labels."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from harness.support.arrays import Array, Mask, Vector
from harness.support.errors import DataError
from harness.support.parameters import did_you_mean
from harness.support.printable import plain_line

_EMPTY_WORDS = ("", "?", "na", "n/a", "<na>", "nan", "-nan", "nat", "null", "<null>", "none", "#na", "#n/a", "#n/a n/a")
MISSING = frozenset((*_EMPTY_WORDS, "1.#ind", "-1.#ind", "1.#qnan", "-1.#qnan"))
"""Words for a missing value, in lower case: those of pandas, Weka and KEEL."""

EXACT = 2.0**53
"""Magnitude from which neighbouring integers may be the same float64."""

NUMBER = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"
"""Regular expression of a number in text."""

_LISTED = 5  # largest number of classes or columns that a message lists
_MOST_CLASSES = 20  # largest number of distinct labels that may be classes
_PLAIN = re.compile(r"[+-]?(0|[1-9]\d*)(\.\d+)?")  # a number without leading zeros or exponent
_POSITIVE_WORDS = ("yes", "true", "+")


@dataclass(frozen=True)
class Fault:
    """A fault of data, as a clause, and the parameters with which they can be read nevertheless."""

    text: str
    needs: Mapping[str, Any] = field(default_factory=dict)


class Refusal(DataError):
    """Data with faults, which the message lists together."""

    def __init__(self, where: str, faults: Sequence[Fault], n: int, label: str = "") -> None:
        """``n`` : number of rows; ``label`` : the column that is the label by default."""
        self.n, self.label = n, f" The label is '{short(label)}'; label_column=NAME chooses another." if label else ""
        self.needs = {name: value for fault in faults for name, value in fault.needs.items()}
        self.is_mendable = all(fault.needs for fault in faults)
        super().__init__(f"'{where}': {'; '.join(dict.fromkeys(fault.text for fault in faults))}.")


def class_name(value: Any) -> str:
    """Return a label as text, distinct for distinct values: 2.0 is ``2``, True is ``true``, text is unchanged."""
    if isinstance(value, bool | np.bool_):
        return str(value).lower()
    if isinstance(value, float | np.floating):
        number = float(value)
        return str(int(number)) if number.is_integer() and abs(number) < EXACT else repr(number)
    return value.decode() if isinstance(value, bytes) else str(value)


def short(name: str) -> str:
    """Return the name of a class, abbreviated for a message."""
    return plain_line(name, 40)


def is_number(text: str) -> bool:
    """Return whether text is a finite number in digits, unlike ``1_0`` or ``nan``."""
    return bool(re.fullmatch(NUMBER, text.strip()) and np.isfinite(float(text)))


def is_missing(labels: Array) -> Mask:
    """Return which of (n,) labels, numbers or text, are missing or infinite."""
    if labels.dtype.kind == "U":
        return np.isin(np.char.lower(np.char.strip(labels)), list(MISSING))
    return ~np.isfinite(labels) if labels.dtype.kind == "f" else np.zeros(labels.shape, dtype=bool)


@dataclass(frozen=True)
class Classes:
    """The classes of the training part, and the one that is +1; all others are -1."""

    names: tuple[str, ...]  # sorted: by value if all are numbers
    positive: str

    def signs(self, labels: Array, where: str) -> Vector:
        """Return (n,) -1.0 / +1.0. A label matches a class that is equal as text, or else as a number.

        Raises
        ------
        DataError : a label does not occur in the training part.
        """
        values, codes = np.unique(labels, return_inverse=True)
        positive = np.empty(len(values), dtype=bool)
        for index, name in enumerate(map(class_name, values.tolist())):
            matches = _matches(self.names, name, _certain_key)
            if len(matches) != 1:
                what = f"the label '{short(name)}' does not occur in the training data; expected one of {listing(self.names)}"
                raise DataError(f"'{where}': {what}. Correct the labels of one file.")
            positive[index] = matches[0] == self.positive
        return np.where(positive[codes], 1.0, -1.0)


def learn_classes(labels: Array, positive: str | None) -> Classes | Fault:
    """Return the classes and the one that is +1, or a fault if the labels are not two classes.

    Labels with different text are different classes. Of two classes yes, true or + is +1, else the greater one
    (hence -1 < +1, 0 < 1, 1 < 2, 'ham' < 'spam'). With ``positive``, that class is +1 and all others are -1. Faults are a
    single class; more than two classes without ``positive``; a ``positive`` that does not occur; and two labels that are
    the same number, such as 1 and 01, without ``positive``.

    Parameters
    ----------
    labels : (n,) numbers or text, n > 0, none missing
    positive : a class as text; '2' also names the numeric label 2.0
    """
    names = [class_name(value) for value in np.unique(labels).tolist()]
    are_numbers = all(map(is_number, names))
    names.sort(key=float if are_numbers else str)
    if len(names) == 1:
        return Fault(f"all labels are '{short(names[0])}'; expected two classes")
    if positive is not None:
        if len(matches := _matches(names, positive, _likely_key)) == 1:
            return Classes(tuple(names), matches[0])
        near = did_you_mean(positive, [short(name) for name in names])
        return Fault(f"no row has the label '{positive}'{near}; the classes are {listing(names)}")
    for one, other in itertools.combinations(names, 2) if len(names) <= _MOST_CLASSES else ():
        if _likely_key(one) == _likely_key(other):
            what = f"the labels '{short(one)}' and '{short(other)}' are written differently and may mean the same"
            return Fault(f"{what}; write them alike, or name the class that is +1 with positive")
    if len(names) > 2:
        what = f"{len(names):,} classes ({listing(names)}); expected two. Name the one that is +1 with positive"
        if len(names) <= _MOST_CLASSES:
            return Fault(what, {"positive": names[0]})
        more = ", another column with label_column, or give task=regression if they are numbers to predict"
        return Fault(what + more, {"task": "regression"} if are_numbers else {})
    return Classes(tuple(names), next((name for name in names if name.casefold() in _POSITIVE_WORDS), names[1]))


def is_regression(labels: Array, options: Any) -> bool:
    """Return whether labels are numbers to predict: by the task, else if there are more than two and not all are whole."""
    if options.task != "auto" or options.positive is not None:
        return bool(options.task == "regression")
    names = [class_name(value) for value in np.unique(labels).tolist()]
    return len(names) > 2 and all(map(is_number, names)) and not all(float(name).is_integer() for name in names)


def listing(names: Sequence[str], details: Sequence[str] = ("",) * _LISTED) -> str:
    """Return the first names with their details, abbreviated for a message, and the number of the others."""
    texts = [f"'{short(name)}'{detail}" for name, detail in zip(names[:_LISTED], details, strict=False)]
    return ", ".join(texts) + (f" and {len(names) - _LISTED:,} more" if len(names) > _LISTED else "")


def _matches(names: Sequence[str], label: str, key: Callable[[str], float | str]) -> list[str]:
    """Return the class that is equal to ``label`` as text, else those with the same key."""
    return [label] if label in names else [name for name in names if key(name) == key(label)]


def _likely_key(name: str) -> float | str:
    """Return a key that is equal for labels that may be the same: equal up to blanks or case, or the same number."""
    number = float(name) if is_number(name) else EXACT
    return number if abs(number) < EXACT else name.strip().casefold()


def _certain_key(name: str) -> float | str:
    """Return a key that is equal for labels that are certainly the same: 1 and +1.0, not 01 or 1e0; true and True."""
    return _likely_key(name) if _PLAIN.fullmatch(name) or name.casefold() in ("true", "false") else name
