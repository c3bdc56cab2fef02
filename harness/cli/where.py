"""``--where``: conditions on the fields of a run, read here and compared here; none is ever evaluated as code.

``solver=smo-block,libsvm`` (any of them, * and ? as in file names), ``fit_seconds>1``, ``dataset~twonorm`` (contains it),
``problem_parameters.C=10`` (an entry of a field), ``relative_gap=none`` (unknown).
"""

from __future__ import annotations

import contextlib
import fnmatch
import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from harness.measure.outcome import Status
from harness.run.record import COLUMNS, TYPES
from harness.support import selection
from harness.support.errors import UsageError
from harness.support.parameters import did_you_mean

_TEXT = re.compile(
    r"\s*(?P<field>\w+)(\.(?P<entry>[^=<>~!]+?))?\s*(?P<sign>!=|!~|<=|>=|==?|~|<|>)\s*(?P<value>.*\S)\s*", re.DOTALL
)
_DATE = re.compile(r"\d{4}(-\d\d(-\d\d(T\d\d(:\d\d(:\d\d(\.\d+)?)?)?)?)?)?")
_ORDERS: dict[str, Callable[[Any, Any], bool]]
_ORDERS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


@dataclass(frozen=True)
class Condition:
    """A condition on a field, as it was given: ``entry`` of the field, or the field itself where it is empty."""

    text: str
    field: str
    entry: str
    sign: str
    value: str

    def fits(self, record: Mapping[str, Any]) -> bool:
        """Return whether a run meets the condition; a field without a value equals ``none`` alone."""
        value = record.get(self.field)
        if self.entry:
            value = value.get(self.entry) if isinstance(value, Mapping) else None
        if self.sign in _ORDERS:
            return _ordered(_ORDERS[self.sign], value, self.value, dated=self.field == "measured_at")
        text = "none" if value in (None, "", [], {}) else str(value).lower() if isinstance(value, bool) else str(value)
        if self.sign.endswith("~"):
            fits = self.value.casefold() in text.casefold()
        else:
            fits = any(_equal(value, text, part.strip()) for part in selection.split(self.value))
        return fits is not self.sign.startswith("!")


def _ordered(order: Callable[[Any, Any], bool], value: Any, given: str, *, dated: bool) -> bool:
    """Return whether a number has the order, or a time, of which so much counts as was given; no other value has one."""
    if dated:
        return order(str(value)[: len(given)], given)
    return isinstance(value, int | float) and not isinstance(value, bool) and order(value, float(given))


def _equal(value: Any, text: str, given: str) -> bool:
    """Return whether a value is the given one, a number in any notation; the beginning of a time is enough."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _is_number(given) and float(given) == value
    return matches(text, given) or (_DATE.fullmatch(given) is not None and text.startswith(given))


def matches(text: str, pattern: str) -> bool:
    """Return whether a text fits a pattern with * and ?; brackets in it are those of a label."""
    return text == pattern or fnmatch.fnmatchcase(text, pattern)


def condition(text: str) -> Condition:
    """Return the condition of a text.

    Raises
    ------
    UsageError : no condition, no such field, or a value that the field cannot have.
    """
    match = _TEXT.fullmatch(text)
    if match is None:
        raise UsageError(
            f"--where: {text!r} is not FIELD, a comparison and a value; write for example 'fit_seconds>1'."
        )
    field, entry, sign, value = match["field"], match["entry"] or "", match["sign"].replace("==", "="), match["value"]
    if field not in TYPES:
        near = did_you_mean(field, COLUMNS) or "; write problem_parameters.C for an entry of a field"
        raise UsageError(f"--where: {text!r}: a run has no field '{field}'{near}; --format json has all fields.")
    if (TYPES[field] is dict) is not bool(entry):
        why = f"{field} has no entries" if entry else f"expected {field}.NAME, an entry"
        raise UsageError(f"--where: {text!r}: {why}.")
    for part in selection.split(value) if sign in ("=", "!=") else [value]:
        if part.strip() != "none":
            _check(text, field, entry, sign, part.strip())
    return Condition(text, field, entry, sign, value)


def _check(text: str, field: str, entry: str, sign: str, value: str) -> None:
    """Refuse a value that a field cannot have: a condition that nothing meets is a mistake, and its opposite deletes all."""
    if sign.endswith("~"):
        return
    expected, allowed = "", True
    if field == "measured_at":
        expected, allowed = "a time such as 2026-11-23T09:30", _DATE.fullmatch(value) is not None
    elif sign in _ORDERS or (not entry and TYPES[field] in (int, float)):
        expected, allowed = "a number", _is_number(value)
    elif field == "status":
        expected, allowed = f"one of {', '.join(Status)}", any(matches(status, value) for status in Status)
    elif TYPES[field] is bool:
        expected, allowed = "true or false", value in ("true", "false")
    if not allowed:
        raise UsageError(f"--where: {text!r}: {value!r} must be {expected}.")


def _is_number(text: str) -> bool:
    with contextlib.suppress(ValueError):
        return math.isfinite(float(text))
    return False
