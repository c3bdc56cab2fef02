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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from harness.call import values
from harness.cli import options
from harness.cli.options import Converted
from harness.measure.outcome import Status
from harness.report.output import say
from harness.run.record import COLUMNS, TYPES
from harness.support import selection
from harness.support.errors import UsageError
from harness.support.parameters import did_you_mean
from harness.support.printable import is_number

if TYPE_CHECKING:
    from harness.run.store import StoreReader

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
        if self.sign in _ORDERS and self.field == "measured_at":
            return _ORDERS[self.sign](str(value)[: len(self.value)], self.value)  # the beginning of a time is enough
        if self.sign in _ORDERS:
            return is_number(value) and _ORDERS[self.sign](value, float(self.value))
        text = "none" if value in (None, "", [], {}) else str(value).lower() if isinstance(value, bool) else str(value)
        if self.sign.endswith("~"):
            fits = self.value.casefold() in text.casefold()
        else:
            fits = any(_equal(value, text, part.strip()) for part in selection.split(self.value))
        return fits is not self.sign.startswith("!")


def _equal(value: Any, text: str, given: str) -> bool:
    """Return whether a value is the given one, a number in any notation; the beginning of a time is enough."""
    if is_number(value):
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
        raise UsageError(f"--where: {text!r} is no comparison of a FIELD; write for example 'fit_seconds>1'.")
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


# -- the runs that a command selects ---------------------------------------------------------------------------


def _conditions(_ctx: click.Context, _option: click.Parameter, given: Sequence[str]) -> list[Condition]:
    return [condition(text) for text in given]


_SELECTING = [
    click.option("--plugin-path", **options.PLUGIN_PATH),
    click.option("--store", **options.STORE),
    click.option(
        "--plugins", type=Converted(values.LABELS), help="Only these plugins, solvers or labels; * and ? too."
    ),
    click.option("--datasets", type=Converted(values.LABELS), help="Only these data sets; * and ? too."),
    click.option(
        "--where",
        multiple=True,
        callback=_conditions,
        metavar="CONDITION",
        help="Only runs with FIELD=VALUE; also !=, <, <=, >, >=, ~ (contains) and !~. Repeatable.",
    ),
]


def selecting_runs(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that name plugins and a store, and select runs of it; a decorator of a command."""
    for option in reversed(_SELECTING):
        command = option(command)
    return command


def meets(record: Mapping[str, Any], given: Mapping[str, Any]) -> bool:
    """Return whether a run meets the conditions of --where."""
    return all(condition.fits(record) for condition in given["where"])


def newest_rows(
    store: StoreReader, given: Mapping[str, Any], *, cells: bool = True, every: bool = False
) -> tuple[list[int], int]:
    """Return what `harness.report.rows.newest` does of the rows that a command selects; damaged rows are named."""
    from harness.report.rows import is_cell, newest

    rows = (row for row in store.rows() if (cells or not is_cell(row.record)) and selected(row.record, given))
    found = newest(rows, lambda record: meets(record, given), every=every)
    for sentence in store.damaged.values():
        say(f"note: {sentence}")
    return found


def nothing(given: Mapping[str, Any]) -> str:
    """Return the note on a selection that no run of the store meets."""
    parts = [f"--{name} {','.join(given[name])}" for name in ("plugins", "datasets") if given[name]]
    parts += [f"--where '{condition.text}'" for condition in given["where"]]
    if not parts:
        return "note: the store has no runs yet; `harness compare` measures some."
    return f"note: no run fits {' '.join(parts)}; `harness results` shows all runs."


def selected(record: Mapping[str, Any], given: Mapping[str, Any]) -> bool:
    """Return whether --plugins and --datasets name the solver and the data set of a run."""
    solver, label, plugin, dataset = (str(record.get(name)) for name in ("solver", "label", "plugin", "dataset"))
    texts = {"plugins": (label, solver, plugin, f"{plugin}/{solver}"), "datasets": (dataset, dataset.partition("[")[0])}
    chosen = {option: of for option, of in texts.items() if given[option] is not None}
    return all(any(matches(text, each) for each in given[option] for text in of) for option, of in chosen.items())
