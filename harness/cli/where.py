"""``--where``: conditions on the fields of a run, read here and compared here; nothing of them is ever evaluated as code.

``solver=smo-block,libsvm`` (any of them, * and ? as in file names), ``fit_seconds>1``, ``dataset~twonorm`` (has it in it),
``problem_parameters.C=10`` (of a field that is a mapping), ``relative_gap=none`` (unknown).
"""

from __future__ import annotations

import fnmatch
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from harness.call import values
from harness.measure.outcome import Status
from harness.run.record import COLUMNS, TYPES
from harness.support import selection
from harness.support.errors import UsageError

EXAMPLES = "solver=smo-block,libsvm  'fit_seconds>1'  dataset~twonorm  problem_parameters.C=10  relative_gap=none"
NONE = "none"
_TEXT = re.compile(r"\s*(?P<field>[^=<>~!]+?)\s*(?P<sign>==|!=|!~|<=|>=|=|~|<|>)(?P<value>.*)", re.DOTALL)
_DATE = re.compile(r"\d{4}(-\d\d(-\d\d(T\d\d(:\d\d(:\d\d(\.\d+)?)?)?)?)?)?")
_ORDERS: dict[str, Callable[[Any, Any], bool]]
_ORDERS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
_KERNEL = ("gamma", "degree", "coef0")


@dataclass(frozen=True)
class Condition:
    """A condition on a field.

    text : as it was given
    inner : the entry of a field that is a mapping; empty: the field itself
    sign : one of = ~ < <= > >=
    negated : what fits does not, and the other way round
    given : the values, any of which will do
    """

    text: str
    field: str
    inner: str
    sign: str
    negated: bool
    given: tuple[str, ...]

    def fits(self, record: Mapping[str, Any]) -> bool:
        """Return whether a run is as the condition says; what is unknown is like ``none`` alone."""
        value = record.get(self.field)
        if self.inner:
            value = value.get(self.inner) if isinstance(value, Mapping) else None
        return self._holds(value) is not self.negated

    def _holds(self, value: Any) -> bool:
        if value in (None, "", [], {}):
            return self.sign == "=" and NONE in self.given
        if self.sign == "~":
            return self.given[0].casefold() in _shown(value).casefold()
        if self.sign in _ORDERS:
            return self._ordered(value)
        return any(_same(value, given, dated=self.field == "measured_at") for given in self.given)

    def _ordered(self, value: Any) -> bool:
        (given,) = self.given
        if self.field == "measured_at":
            return _ORDERS[self.sign](str(value)[: len(given)], given)  # a day ends with its last second
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return is_number and _ORDERS[self.sign](value, float(given))


def _shown(value: Any) -> str:
    """Return a value as it would be typed."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _same(value: Any, given: str, *, dated: bool) -> bool:
    if dated:
        return str(value).startswith(given)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        number = _number(given)
        return number is not None and number == value
    return matches(_shown(value), given)


def _number(text: str) -> float | None:
    try:
        return values.real(text)
    except ValueError:
        return None


def matches(text: str, pattern: str) -> bool:
    """Return whether a text is what a pattern with * and ? means; brackets in it are those of a label."""
    return text == pattern or fnmatch.fnmatchcase(text, pattern)


def condition(text: str) -> Condition:
    """Read a condition.

    Raises
    ------
    UsageError : no condition, no such field, or a value that the field cannot have; the sentence says which.
    """
    match = _TEXT.fullmatch(text)
    if match is None or not match["value"].strip():
        raise UsageError(
            f"--where: {text!r} is not FIELD, a comparison and a value; write in quotes, for example: {EXAMPLES}."
        )
    name, sign, value = match["field"].strip(), match["sign"], match["value"].strip()
    field, _, inner = name.partition(".")
    _check_field(name, field, inner)
    negated, sign = sign.startswith("!"), {"==": "=", "!=": "=", "!~": "~"}.get(sign, sign)
    given = tuple(part.strip() for part in selection.split(value)) if sign == "=" else (value,)
    kind = dict if inner else TYPES[field]
    for each in given:
        _check_value(text, name, kind, sign, each)
    return Condition(text, field, inner, sign, negated, given)


def _check_field(name: str, field: str, inner: str) -> None:
    from harness.registry.discovery import shared_registry
    from harness.support.parameters import did_you_mean

    kind = TYPES.get(field)
    if kind is None:
        owners = {"kernel_parameters": _KERNEL, "problem_parameters": shared_registry().problem_parameters()}
        own = [f"; write {owner}.{field}" for owner, names in owners.items() if field in names]
        near = own[0] if own else did_you_mean(field, COLUMNS)
        raise UsageError(f"--where: a run has no field '{field}'{near}; the fields are those of --format json.")
    if (kind is dict) is not bool(inner):
        has = "entries of its own, name one behind a dot" if kind is dict else "no entries, name it without a dot"
        raise UsageError(f"--where: {name}: the field {field} has {has}; as in problem_parameters.C=10 and seed=1.")


def _check_value(text: str, name: str, kind: type, sign: str, value: str) -> None:
    """Refuse a value that a field of a kind cannot have; ``dict``: of an entry whose kind nobody knows."""
    if sign == "~" or (sign == "=" and value == NONE):
        return
    if name == "measured_at":
        fits, expected = _DATE.fullmatch(value) is not None, "a time as 2026-11-23 or 2026-11-23T09:30"
    elif sign in _ORDERS and kind in (str, bool, list):
        raise UsageError(f"--where: {text!r}: {name} has no order; compare it by =, != or ~.")
    elif sign in _ORDERS or kind in (int, float):
        fits, expected = _number(value) is not None, "a number"
    elif kind is bool:
        fits, expected = value in ("true", "false"), "true or false"
    else:
        fits, expected = name != "status" or any(matches(each, value) for each in Status), f"one of {', '.join(Status)}"
    if not fits:
        raise UsageError(f"--where: {text!r}: '{value}' is not what {name} can be; it is {expected}, or none.")
