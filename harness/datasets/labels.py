"""Labels as classes: which labels there are, which of them is +1, and what stands for a missing one."""

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
"""Words for a value that is missing, in any case: those of pandas, Weka and KEEL."""

EXACT = 2.0**53
"""From this magnitude on, neighbouring integers are the same float64."""

NUMBER = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"
"""Regular expression of a number in text."""

_LISTED = 5  # classes or columns that a message names
_MOST_CLASSES = 20  # distinct labels that may be classes
_PLAIN = re.compile(r"[+-]?(0|[1-9]\d*)(\.\d+)?")  # a number without leading zeros or exponent
_POSITIVE_WORDS = ("yes", "true", "+")


@dataclass(frozen=True)
class Fault:
    """What is wrong with data, a clause, and the parameters with which they can be read all the same."""

    text: str
    needs: Mapping[str, Any] = field(default_factory=dict)


class Refusal(DataError):
    """Data that are not read as they stand, with all that is wrong at once."""

    def __init__(self, where: str, faults: Sequence[Fault], n: int, label: str = "") -> None:
        """``n`` : rows of the data; ``label`` : the column that was taken for the label because none was named."""
        self.n, self.label = n, f" The label is '{shown(label)}'; label_column=NAME chooses another." if label else ""
        self.needs = {name: value for fault in faults for name, value in fault.needs.items()}
        self.is_mendable = all(fault.needs for fault in faults)
        super().__init__(f"'{where}': {'; '.join(dict.fromkeys(fault.text for fault in faults))}.")


def class_name(value: Any) -> str:
    """Return a label as text, different for different values: 2.0 is ``2``, True is ``true``, text is itself."""
    if isinstance(value, bool | np.bool_):
        return str(value).lower()
    if isinstance(value, float | np.floating):
        number = float(value)
        return str(int(number)) if number.is_integer() and abs(number) < EXACT else repr(number)
    return str(value)


def shown(name: str) -> str:
    """Return the name of a class as a message has it."""
    return plain_line(name, 40)


def is_number(text: str) -> bool:
    """Return whether text is a finite number in digits, as neither ``1_0`` nor ``nan`` are."""
    return bool(re.fullmatch(NUMBER, text.strip()) and np.isfinite(float(text)))


def is_missing(labels: Array) -> Mask:
    """Return which of (n,) labels, numbers or text, stand for a missing value."""
    if labels.dtype.kind == "U":
        return np.isin(np.char.lower(np.char.strip(labels)), list(MISSING))
    return np.isnan(labels) if labels.dtype.kind == "f" else np.zeros(labels.shape, dtype=bool)


@dataclass(frozen=True)
class Classes:
    """The classes of the training part, and which of them is +1; every other one is -1."""

    names: tuple[str, ...]  # sorted: by value if all are numbers
    positive: str

    def signs(self, labels: Array, where: str) -> Vector:
        """Return (n,) -1.0 / +1.0. A label is a class if it is written like it, or else is the same number.

        Raises
        ------
        DataError : a label that the training part does not have.
        """
        values, codes = np.unique(labels, return_inverse=True)
        positive = np.empty(len(values), dtype=bool)
        for index, name in enumerate(map(class_name, values.tolist())):
            matches = _matches(self.names, name, _certain_key)
            if len(matches) != 1:
                what = f"the label '{shown(name)}' does not occur in the training data; expected one of {listing(self.names)}"
                raise DataError(f"'{where}': {what}. Correct the labels of one file.")
            positive[index] = matches[0] == self.positive
        return np.where(positive[codes], 1.0, -1.0)


def learn_classes(labels: Array, positive: str | None) -> Classes | Fault:
    """Decide which class is +1, or return why the labels are no two classes.

    Two labels that are written differently are two classes. Of two classes yes, true or + is +1, else the greater one
    (hence -1 < +1, 0 < 1, 1 < 2, 'ham' < 'spam'). With ``positive``: that class is +1 and all others are -1, however many
    there are. At fault are: one class only; more than two and no ``positive``; a ``positive`` that does not occur; two that
    are the same number, as 1 and 01, and no ``positive``.

    Parameters
    ----------
    labels : (n,) numbers or text, n > 0, none missing
    positive : a class as text; '2' also names the numeric label 2.0
    """
    names = [class_name(value) for value in np.unique(labels).tolist()]
    are_numbers = all(map(is_number, names))
    names.sort(key=float if are_numbers else str)
    if len(names) == 1:
        return Fault(f"all labels are '{shown(names[0])}'; expected two classes")
    if positive is not None:
        if len(matches := _matches(names, positive, _likely_key)) == 1:
            return Classes(tuple(names), matches[0])
        near = did_you_mean(positive, [shown(name) for name in names])
        return Fault(f"no row has the label '{positive}'{near}; the classes are {listing(names)}")
    for one, other in itertools.combinations(names, 2) if len(names) <= _MOST_CLASSES else ():
        if _likely_key(one) == _likely_key(other):
            what = f"the labels '{shown(one)}' and '{shown(other)}' are written differently and may mean the same"
            return Fault(f"{what}; write them alike, or name the class that is +1 with positive")
    if len(names) > 2:
        what = f"{len(names):,} classes ({listing(names)}); expected two. Name the one that is +1 with positive"
        if len(names) <= _MOST_CLASSES:
            return Fault(what, {"positive": names[0]})
        more = ", another column with label_column, or give task=regression if they are numbers to predict"
        return Fault(what + more, {"task": "regression"} if are_numbers else {})
    return Classes(tuple(names), next((name for name in names if name.casefold() in _POSITIVE_WORDS), names[1]))


def is_regression(labels: Array, options: Any) -> bool:
    """Return whether labels are numbers to predict: as the task says, else more than two different ones, not all of them whole."""
    if options.task != "auto" or options.positive is not None:
        return bool(options.task == "regression")
    names = [class_name(value) for value in np.unique(labels).tolist()]
    return len(names) > 2 and all(map(is_number, names)) and not all(float(name).is_integer() for name in names)


def listing(names: Sequence[str], details: Sequence[str] = ("",) * _LISTED) -> str:
    """Return the first names as a message has them, each with its detail, and the number of the others."""
    texts = [f"'{shown(name)}'{detail}" for name, detail in zip(names[:_LISTED], details, strict=False)]
    return ", ".join(texts) + (f" and {len(names) - _LISTED:,} more" if len(names) > _LISTED else "")


def _matches(names: Sequence[str], wanted: str, key: Callable[[str], float | str]) -> list[str]:
    """Return the class that is written like ``wanted``, else those with the same key."""
    return [wanted] if wanted in names else [name for name in names if key(name) == key(wanted)]


def _likely_key(name: str) -> float | str:
    """Return what is equal for two labels that may mean the same: they differ in blanks or capitals, or are one number."""
    number = float(name) if is_number(name) else EXACT
    return number if abs(number) < EXACT else name.strip().casefold()


def _certain_key(name: str) -> float | str:
    """Return what is equal for labels that certainly mean the same: 1 and +1.0, but neither 01 nor 1e0; true and True."""
    return _likely_key(name) if _PLAIN.fullmatch(name) or name.casefold() in ("true", "false") else name
