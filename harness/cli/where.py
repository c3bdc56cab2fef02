"""``--where``: conditions on the fields of a run, read here and compared here; none is ever evaluated as code.

``solver=smo-block,libsvm`` (any of them, * and ? as in file names), ``fit_seconds>1``, ``dataset~twonorm`` (contains it),
``problem_parameters.C=10`` (an entry of a field), ``relative_gap=none`` (unknown).
"""

from __future__ import annotations

import contextlib
import fnmatch
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from harness.run.record import COLUMNS, TYPES
from harness.support import selection
from harness.support.errors import UsageError
from harness.support.parameters import did_you_mean

_TEXT = re.compile(
    r"\s*(?P<field>\w+)(\.(?P<entry>[^=<>~!]+?))?\s*(?P<sign>!=|!~|<=|>=|=|~|<|>)\s*(?P<value>.*\S)\s*", re.DOTALL
)
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
            return _ordered(_ORDERS[self.sign], value, self.value)
        shown = "none" if value in (None, "", [], {}) else str(value).lower() if isinstance(value, bool) else str(value)
        if self.sign.endswith("~"):
            fits = self.value.casefold() in shown.casefold()
        else:
            fits = any(_equal(value, shown, part.strip()) for part in selection.split(self.value))
        return fits is not self.sign.startswith("!")


def _ordered(order: Callable[[Any, Any], bool], value: Any, given: str) -> bool:
    """Return whether a number, or a time such as ``2026-11``, has the order; no other value has one."""
    if isinstance(value, str):
        return order(value[: len(given)], given)
    with contextlib.suppress(TypeError, ValueError):
        return order(value, float(given))
    return False


def _equal(value: Any, shown: str, given: str) -> bool:
    with contextlib.suppress(ValueError):
        return matches(shown, given) or (isinstance(value, int | float) and float(given) == value)
    return False


def matches(text: str, pattern: str) -> bool:
    """Return whether a text fits a pattern with * and ?; brackets in it are those of a label."""
    return text == pattern or fnmatch.fnmatchcase(text, pattern)


def condition(text: str) -> Condition:
    """Return the condition of a text.

    Raises
    ------
    UsageError : no condition, no such field, or an order with what is no number and no time.
    """
    match = _TEXT.fullmatch(text)
    if match is None:
        raise UsageError(
            f"--where: {text!r} is not FIELD, a comparison and a value; write for example 'fit_seconds>1'."
        )
    field, entry, sign, value = match["field"], match["entry"] or "", match["sign"], match["value"]
    kind = TYPES.get(field)
    if kind is None or (kind is dict) is not bool(entry):
        near = (
            did_you_mean(field, COLUMNS)
            if kind is None
            else f"; write {field}.NAME"
            if kind is dict
            else f"; write {field}"
        )
        raise UsageError(f"--where: {text!r}: a run has no such field{near}; the fields are those of --format json.")
    if sign in _ORDERS and field != "measured_at":
        try:
            float(value)
        except ValueError:
            raise UsageError(f"--where: {text!r}: {value!r} is no number; compare text by =, != or ~.") from None
    selection.split(value)
    return Condition(text, field, entry, sign, value)
