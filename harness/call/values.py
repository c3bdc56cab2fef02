"""What options and keywords accept: each reader refuses with the value, what it expects and an example."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from harness.support import selection
from harness.support.errors import UsageError
from harness.support.printable import plain_line

T = TypeVar("T")

_MOST_SEEDS = 10**15  # seeds of a range
_MOST_VALUES = 10_000  # values of one parameter of a path
# of LIBSVM's guide (Hsu, Chang, Lin): C 2^-5, 2^-3, ..., 2^15 and gamma 2^-15, 2^-13, ..., 2^3
USUAL = {"C": [2.0**k for k in range(-5, 16, 2)], "gamma": [2.0**k for k in range(-15, 4, 2)]}
_SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}  # unit -> seconds
_BYTES = {unit + b: 2.0 ** (10 * i) for i, unit in enumerate(("", *"kmgt")) for b in ("", "b", "ib")}  # unit -> bytes
_AMOUNT = re.compile(r"\s*(\d+\.?\d*(?:e[+-]?\d+)?|\.\d+)\s*([A-Za-z]*)\s*", re.ASCII)
_RANGE = re.compile(r"(?P<first>[^:]+?)\.\.(?P<last>[^:]+?):(?P<factor>.+)")


def text_of(value: Any) -> str:
    """Return a value as the command line has it: a list with commas, a range as ``0-4``, a mapping as ``C=[1,10],gamma=[0.1]``.

    Raises
    ------
    UsageError : it is no text, no number, and no collection of these.
    """
    if hasattr(value, "tolist"):  # of NumPy and pandas
        value = value.tolist()
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, range) and value.step == 1 and value:
        return f"{value[0]}-{value[-1]}"
    if isinstance(value, Mapping):
        return ",".join(f"{getattr(axis, 'name', axis)}=[{text_of(values)}]" for axis, values in value.items())
    if isinstance(value, list | tuple | set | frozenset | range):
        return ",".join(map(text_of, value))
    if not isinstance(value, str | int | float | Path):
        raise UsageError(f"{plain_line(str(value), 80)} is not a text, a number or a list of these.")
    try:
        return str(value)
    except ValueError:
        raise UsageError("a number has too many digits.") from None


def as_list(value: Any) -> list[Any]:
    """Return the items of a list, an array, a tuple or a set; anything else as a list of itself."""
    value = value.tolist() if hasattr(value, "tolist") else value
    return list(value) if isinstance(value, list | tuple | set | frozenset) else [value]


@dataclass(frozen=True)
class Reader:
    """The reader of an option's values.

    name : what it reads, for the help
    read : takes a text; raises ValueError if it is not accepted, or `UsageError` with a sentence of its own
    expects, example : parts of the sentence ``must be ..., not 'x'; write for example ...``
    """

    name: str
    read: Callable[[str], Any]
    expects: str = ""
    example: str = ""

    def __call__(self, given: Any) -> Any:
        """Return the value of a text, a number or a list of these; UsageError if it is not accepted."""
        text = text_of(given)
        try:
            return self.read(text)
        except (ValueError, OverflowError, ZeroDivisionError):
            raise UsageError(f"must be {self.expects}, not {text!r}; write for example {self.example}.") from None


def listed(convert: Callable[[str], T]) -> Callable[[str], list[T]]:
    """Return the reader of a comma list; what occurs twice counts once."""

    def read(text: str) -> list[T]:
        parts = [part.strip() for part in text.split(",")]
        if not all(parts):
            raise ValueError(text)
        return list(dict.fromkeys(map(convert, parts)))

    return read


def _labels(text: str) -> list[str]:
    """Return the items of a comma list; commas in brackets belong to an item: ``lasvm[C=1,tau=2],fw``."""
    parts = [part.strip() for part in selection.split(text)]
    if not all(parts):
        raise ValueError(text)
    return parts


def number(
    *, least: float = -math.inf, above: float = -math.inf, most: float = sys.float_info.max, word: str = ""
) -> Callable[[str], Any]:
    """Return the reader of a number in a range, or of a word."""

    def read(text: str) -> float | str:
        if word and text == word:
            return word
        if not (least <= (value := float(text)) <= most and value > above):
            raise ValueError(text)
        return value

    return read


def whole(text: str, *, least: int = 0) -> int:
    """Return a whole number; ``1e6`` is one."""
    number = float(text)
    if not number.is_integer() or number < least:
        raise ValueError(text)
    return int(text) if text.strip().isdigit() else int(number)


def _seeds(text: str) -> Sequence[int]:
    """Return the seeds of ``0,1,2``, or of the range ``0-4``, which stays a range, however long."""
    first, dash, last = text.partition("-")
    if not dash:
        return listed(whole)(text)
    seeds = range(whole(first), whole(last) + 1)
    if not 0 < len(seeds) <= _MOST_SEEDS:
        raise ValueError(text)
    return seeds


def amount(units: Mapping[str, float]) -> Callable[[str], float]:
    """Return the reader of a positive number with a unit, ``1.5m`` or ``2GiB``."""

    def read(text: str) -> float:
        match = _AMOUNT.fullmatch(text)
        if match is None or (unit := match[2].lower()) not in units:
            raise ValueError(text)
        result = float(match[1]) * units[unit]
        if not 0 < result < math.inf:
            raise ValueError(text)
        return result

    return read


def _memory(text: str) -> int:
    """Return the bytes of a size; a number alone may mean bytes or megabytes, and is refused."""
    value = int(amount(_BYTES)(text))
    if text.strip()[-1] in "0123456789.":
        raise UsageError(f"{text.strip()} has no unit; write {text.strip()}MB, or {text.strip()}B for bytes.")
    return value


def _path(text: str) -> dict[str, list[float]]:
    """Return what a path goes through: parameter -> its values.

    ``C,gamma`` takes the usual values of both; ``C=[0.1,1,10]`` lists values, ``gamma=2^-15..2^3:2^2`` goes from the first
    number to the last by a factor.
    """
    axes: dict[str, list[float]] = {}
    for part in selection.split(text):
        name, equals, given = (piece.strip() for piece in part.partition("="))
        if not name or (equals and not given):
            raise ValueError(text)
        if name in axes:
            raise UsageError(f"{name} is given twice; write {name}=[0.1,1].")
        if not equals and name not in USUAL:
            raise UsageError(f"only {' and '.join(USUAL)} have usual values; write {name}=[0.1,1].")
        parts = selection.split(given[1:-1]) if given.startswith("[") and given.endswith("]") else [given]
        values = [value for each in parts for value in _range(each.strip())] if equals else USUAL[name]
        axes[name] = list(dict.fromkeys(values))
    return axes


def _range(text: str) -> list[float]:
    match = _RANGE.fullmatch(text)
    if match is None:
        return [_power(text)]
    first, last, factor = (_power(match[part]) for part in ("first", "last", "factor"))
    if not (0.0 < first <= last and factor > 1.0):
        raise ValueError(text)
    count = 1 + math.floor((math.log(last) - math.log(first)) / math.log(factor) + 1e-9)
    if count > _MOST_VALUES:
        raise UsageError(f"{text} are {count:,} values; at most {_MOST_VALUES:,} are taken.")
    return [first * factor**k for k in range(count)]


def _power(text: str) -> float:
    """Return a finite number; ``2^-5`` is one."""
    base, power, exponent = text.partition("^")
    value = float(base) ** float(exponent) if power else float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


def _part_of_runs(text: str) -> tuple[int, int]:
    """Return I and N of ``I/N``, 1 <= I <= N."""
    match = re.fullmatch(r"\s*(\d{1,9})\s*/\s*(\d{1,9})\s*", text, re.ASCII)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise ValueError(text)
    return int(match[1]), int(match[2])


SELECTION = Reader("SELECTION", str)
NAMES = Reader("NAMES", listed(str), "names separated by commas", "a,b")
LABELS = Reader("NAMES", _labels, "names separated by commas", "'lasvm*,fw'")
COSTS = Reader("LIST", listed(number(above=0.0)), "a positive number", "1 or 1,10")
WIDTHS = Reader("LIST", listed(number(least=0.0)), "a number that is 0 or more", "0.1 or 0,0.1")
_SHARE = number(above=0.0, most=1.0, word="none")
SHARES = Reader("LIST", listed(_SHARE), "a number above 0 and at most 1, or 'none'", "0.5 or 0.1,0.5")
GAMMAS = Reader("LIST", listed(number(above=0.0, word="scale")), "a positive number or 'scale'", "0.1,1 or scale")
SEEDS = Reader("SEEDS", _seeds, "whole numbers from 0 on, or a range from the smaller to the larger", "0,1,2 or 0-4")
DURATION = Reader("TIME", amount(_SECONDS), "a positive time, in seconds or with s, m, h or d", "90 or 90s or 5m")
MEMORY = Reader("SIZE", _memory, "a positive size with its unit: B, K, M, G or T", "512M or 2G")
POSITIVE = Reader("NUMBER", number(above=0.0), "a positive number", "0.001")
MEGABYTES = Reader("MB", number(above=0.0), "a positive number of megabytes", "256")
AUTO = "auto"
COUNT = Reader("N", lambda text: whole(text, least=1), "a whole number, at least 1", "3")
REPEAT = Reader("N|auto", lambda text: text if text == AUTO else COUNT.read(text), f"{COUNT.expects}, or auto", "3")
FOLDS = Reader("K", lambda text: whole(text, least=2), "a whole number, at least 2", "5")
PART = Reader("I/N", _part_of_runs, "I/N, part I of N with I from 1 to N", "1/4")
PATH = Reader("GRID", _path, "parameters with numbers", "C=1, C=[0.1,1] or C=2^-5..2^15:2^2 (by a factor)")
