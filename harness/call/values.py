"""What options and keywords accept, read from text; each refuses with the value, what it expects and an example."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from harness.support import selection
from harness.support.errors import UsageError

T = TypeVar("T")

MOST_SEEDS = 1_000_000  # in a list; a range is none
MOST_VALUES = 10_000  # of a parameter of a path
# of LIBSVM's guide (Hsu, Chang, Lin): C 2^-5, 2^-3, ..., 2^15 and gamma 2^-15, 2^-13, ..., 2^3
USUAL = {"C": [2.0**k for k in range(-5, 16, 2)], "gamma": [2.0**k for k in range(-15, 4, 2)]}
_SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_BYTES = {"": 1, "B": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_LONGEST = 10**15  # of a range of seeds
_AMOUNT = re.compile(r"\s*(\d+\.?\d*(?:e[+-]?\d+)?|\.\d+)\s*([A-Za-z]*)\s*", re.ASCII)
_RANGE = re.compile(r"(?P<first>[^:]+?)\.\.(?P<last>[^:]+?):(?P<factor>.+)")


@dataclass(frozen=True)
class Reader:
    """Reads a text that an option is given.

    name : of what it reads, for the help
    read : raises ValueError for what it does not accept, or `UsageError` with a sentence of its own
    expects, example : of the sentence ``must be ..., not 'x'; write for example ...``
    """

    name: str
    read: Callable[[str], Any]
    expects: str = ""
    example: str = ""

    def __call__(self, text: str) -> Any:
        """Return the value; UsageError for what is not accepted."""
        try:
            return self.read(text)
        except (ValueError, OverflowError, ZeroDivisionError) as error:
            wrong = f"{error.part!r} in {text!r}" if isinstance(error, _Part) and error.part != text else repr(text)
            raise UsageError(f"must be {self.expects}, not {wrong}; write for example {self.example}.") from None


class _Part(ValueError):
    """A part of a list is not accepted."""

    def __init__(self, part: str) -> None:
        super().__init__(part)
        self.part = part


def listed(convert: Callable[[str], T]) -> Callable[[str], list[T]]:
    """Return the reader of a comma list; what occurs twice counts once."""

    def read(text: str) -> list[T]:
        found = dict[T, None]()
        for part in map(str.strip, text.split(",")):
            if not part:
                raise ValueError(text)
            try:
                found[convert(part)] = None
            except (ValueError, OverflowError):
                raise _Part(part) from None
        return list(found)

    return read


def _labels(text: str) -> list[str]:
    """Return the items of a comma list; commas in brackets belong to an item: ``lasvm[C=1,tau=2],fw``."""
    parts = [part.strip() for part in selection.split(text)]
    if not all(parts):
        raise ValueError(text)
    return parts


def real(text: str, *, least: float = -math.inf, above: float = -math.inf) -> float:
    """Return a finite number that is at least ``least`` and greater than ``above``."""
    number = float(text)
    if not math.isfinite(number) or number < least or number <= above:
        raise ValueError(text)
    return number


def positive(text: str) -> float:
    """Return a number > 0."""
    return real(text, above=0.0)


def whole(text: str, *, least: int = 0) -> int:
    """Return a whole number; ``1e6`` is one."""
    number = float(text)
    if not number.is_integer() or number < least:
        raise ValueError(text)
    return int(text) if text.strip().isdigit() else int(number)


def _or(word: str, convert: Callable[[str], float]) -> Callable[[str], float | str]:
    """Return the reader of a number or of a word."""
    return lambda text: text if text == word else convert(text)


def _share(text: str) -> float:
    if (number := positive(text)) > 1.0:
        raise ValueError(text)
    return number


def _seeds(text: str) -> Sequence[int]:
    """Return the seeds of ``0,1,2``, ``0-4`` or a mixture; one range stays a range, however long."""
    ranges = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        low = whole(first)
        high = whole(last) if dash else low
        if high < low:
            raise ValueError(text)
        if high - low >= _LONGEST:
            raise UsageError(f"{text!r} means too many seeds; write for example 0-4.")
        ranges.append(range(low, high + 1))
    if len(ranges) == 1:
        return ranges[0]
    if sum(map(len, ranges)) > MOST_SEEDS:
        raise UsageError(f"{text!r} lists more than {MOST_SEEDS:,} seeds; write one range, for example 0-4.")
    return list(dict.fromkeys(itertools.chain.from_iterable(ranges)))


def _duration(text: str) -> float:
    """Return the seconds of ``90``, ``90s``, ``1.5m`` or ``1h``."""
    return _amount(text, _SECONDS, str.lower)


def _memory(text: str) -> int:
    """Return the bytes of ``512M``, ``2G``, ``2GiB`` or a plain number; K, M, G are powers of 1024."""
    return int(_amount(text, _BYTES, lambda unit: unit.upper().removesuffix("IB").removesuffix("B")))


def _amount(text: str, units: Mapping[str, float], normal: Callable[[str], str]) -> float:
    match = _AMOUNT.fullmatch(text)
    if match is None or normal(match[2]) not in units:
        raise ValueError(text)
    result = float(match[1]) * float(units[normal(match[2])])
    if not 0 < result < math.inf:
        raise ValueError(text)
    return result


def _path(text: str) -> dict[str, list[float]]:
    """Return what a path goes through: parameter -> its values.

    ``C,gamma`` takes the usual values of both; ``C=[0.1,1,10]`` lists values, ``gamma=2^-15..2^3:2^2`` goes from the first
    number to the last by a factor.
    """
    found: dict[str, list[float]] = {}
    for part in selection.split(text):
        name, equals, given = (piece.strip() for piece in part.partition("="))
        if not name or (equals and not given):
            raise ValueError(text)
        if name in found:
            raise UsageError(f"{name} is given twice; write {name}=[0.1,1].")
        if not equals and name not in USUAL:
            raise UsageError(f"only {' and '.join(USUAL)} have usual values; say which {name} takes: {name}=[0.1,1].")
        parts = selection.split(given[1:-1]) if given.startswith("[") and given.endswith("]") else [given]
        values = [value for each in parts for value in _range(each.strip())] if equals else USUAL[name]
        found[name] = list(dict.fromkeys(values))
    return found


def _range(text: str) -> list[float]:
    match = _RANGE.fullmatch(text)
    if match is None:
        return [_power(text)]
    first, last = positive(str(_power(match["first"]))), positive(str(_power(match["last"])))
    if last < first:
        raise ValueError(text)
    factor = _power(match["factor"])
    if not factor > 1.0:
        raise ValueError(text)
    count = 1 + math.floor((math.log(last) - math.log(first)) / math.log(factor) + 1e-9)
    if count > MOST_VALUES:
        raise UsageError(f"{text} are {count:,} values; at most {MOST_VALUES:,} are taken.")
    return [first * factor**k for k in range(count)]


def _power(text: str) -> float:
    """Return a finite number; ``2^-5`` is one."""
    base, power, exponent = text.partition("^")
    return real(str(float(base) ** float(exponent))) if power else real(text)


def _part_of_runs(text: str) -> tuple[int, int]:
    """Return I and N of ``I/N``, 1 <= I <= N."""
    match = re.fullmatch(r"\s*(\d{1,9})\s*/\s*(\d{1,9})\s*", text, re.ASCII)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise ValueError(text)
    return int(match[1]), int(match[2])


TEXT = Reader("SELECTION", str)
NAMES = Reader("NAMES", listed(str), "names separated by commas", "a,b")
LABELS = Reader("NAMES", _labels, "names separated by commas", "'lasvm*,fw'")
COSTS = Reader("LIST", listed(positive), "a positive number", "1 or 1,10")
WIDTHS = Reader("LIST", listed(lambda text: real(text, least=0.0)), "a number that is 0 or more", "0.1 or 0,0.1")
SHARES = Reader("LIST", listed(_or("none", _share)), "a number above 0 and at most 1, or 'none'", "0.5 or 0.1,0.5")
GAMMAS = Reader("LIST", listed(_or("scale", positive)), "a positive number or 'scale'", "0.1 or 0.1,1 or scale")
SEEDS = Reader("SEEDS", _seeds, "whole numbers from 0 on, or ranges from the smaller to the larger", "0,1,2 or 0-4")
DURATION = Reader("TIME", _duration, "a positive time, in seconds or with s, m, h or d", "90 or 90s or 5m")
MEMORY = Reader("SIZE", _memory, "a positive size, in bytes or with K, M, G or T", "512M or 2G")
POSITIVE = Reader("NUMBER", positive, "a positive number", "0.001")
MEGABYTES = Reader("MB", positive, "a positive number of megabytes", "256")
AUTO = "auto"
REPEAT = Reader(
    "N|auto", lambda text: AUTO if text == AUTO else whole(text, least=1), "a whole number, at least 1, or auto", "3"
)
COUNT = Reader("N", lambda text: whole(text, least=1), "a whole number, at least 1", "3")
FOLDS = Reader("K", lambda text: whole(text, least=2), "a whole number, at least 2", "5")
PART = Reader("I/N", _part_of_runs, "I/N, part I of N with I from 1 to N", "1/4")
PATH = Reader("GRID", _path, "parameters with numbers", "C=1, C=[0.1,1] or C=2^-5..2^15:2^2 (by a factor)")
