"""What options accept: numbers, lists, durations, sizes; each refuses with value, expectation and remedy."""

from __future__ import annotations

import itertools
import math
import re
from typing import TYPE_CHECKING, Any, TypeVar

import click

from harness import selection

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

T = TypeVar("T")

_SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_BYTES = {"": 1, "B": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
MOST_SEEDS = 1_000_000  # in a list; a range is none
_LONGEST = 10**15  # of a range
_AMOUNT = re.compile(r"\s*(\d+\.?\d*(?:e[+-]?\d+)?|\.\d+)\s*([A-Za-z]*)\s*", re.ASCII)


if TYPE_CHECKING:
    _Base = click.ParamType[Any]
else:
    _Base = click.ParamType  # takes a type argument in new versions of click only


class TooMany(ValueError):
    """A list longer than anybody can mean; its text ends the sentence ``'x' ...``."""


class Converted(_Base):
    """An option type from a function that raises ValueError for what it does not accept.

    expects : ends the sentence ``'x' is not ...``: the expectation and an example
    """

    def __init__(self, name: str, convert: Callable[[str], Any], expects: str) -> None:
        self.name = name
        self._convert = convert
        self._expects = expects

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the value; a default that is no text passes as it is."""
        if not isinstance(value, str):
            return value
        try:
            return self._convert(value)
        except TooMany as error:
            self.fail(f"{value!r} {error}.", param, ctx)
        except (ValueError, OverflowError):
            self.fail(f"{value!r} is not {self._expects}.", param, ctx)


def listed(convert: Callable[[str], T]) -> Callable[[str], list[T]]:
    """Return the converter of a comma list; what occurs twice counts once."""

    def read(text: str) -> list[T]:
        parts = [part.strip() for part in text.split(",")]
        if not all(parts):
            raise ValueError(text)
        return list(dict.fromkeys(convert(part) for part in parts))

    return read


def labels(text: str) -> list[str]:
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


def _gamma(text: str) -> float | str:
    return text if text == "scale" else positive(text)


def seeds(text: str) -> Sequence[int]:
    """Return the seeds of ``0,1,2``, ``0-4`` or a mixture; one range stays a range, however long."""
    ranges = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        low = whole(first)
        high = whole(last) if dash else low
        if high < low:
            raise ValueError(text)
        if high - low >= _LONGEST:
            raise TooMany("means too many seeds; write for example 0-4")
        ranges.append(range(low, high + 1))
    if len(ranges) == 1:
        return ranges[0]
    if sum(map(len, ranges)) > MOST_SEEDS:
        raise TooMany(f"lists more than {MOST_SEEDS:,} seeds; write one range, for example 0-4")
    return list(dict.fromkeys(itertools.chain.from_iterable(ranges)))


def duration(text: str) -> float:
    """Return the seconds of ``90``, ``90s``, ``1.5m`` or ``1h``."""
    return _amount(text, _SECONDS, str.lower)


def memory(text: str) -> int:
    """Return the bytes of ``512M``, ``2G``, ``2GiB`` or a plain number; K, M, G are powers of 1024."""
    return int(_amount(text, _BYTES, lambda unit: unit.upper().removesuffix("IB").removesuffix("B")))


def _amount(text: str, units: Any, normal: Callable[[str], str]) -> float:
    match = _AMOUNT.fullmatch(text)
    if match is None or normal(match[2]) not in units:
        raise ValueError(text)
    result = float(match[1]) * float(units[normal(match[2])])
    if not 0 < result < math.inf:
        raise ValueError(text)
    return result


NAMES = Converted("NAMES", listed(str), "a list of names; separate them by commas, for example a,b")
LABELS = Converted("NAMES", labels, "a list of names; separate them by commas, for example 'lasvm*,fw'")
GAMMAS = Converted("LIST", listed(_gamma), "a list of positive numbers or 'scale'; write for example 0.1,1 or scale")
DEGREES = Converted(
    "LIST", listed(lambda text: whole(text, least=1)), "a list of whole numbers >= 1; write for example 2,3"
)
CONSTANTS = Converted(
    "LIST", listed(lambda text: real(text, least=0.0)), "a list of numbers >= 0; write for example 0,1"
)
SEEDS = Converted("SEEDS", seeds, "a list of seeds; write whole numbers and ranges >= 0, for example 0,1,2 or 0-4")
DURATION = Converted("TIME", duration, "a positive duration; write seconds or a number with s, m or h, for example 90s")
MEMORY = Converted("SIZE", memory, "a positive size; write bytes or a number with K, M or G, for example 512M")
POSITIVE = Converted("NUMBER", positive, "a positive number; write for example 0.001")
MEGABYTES = Converted("MB", positive, "a positive number of megabytes; write for example 256")
COUNT = Converted("N", lambda text: whole(text, least=1), "a whole number >= 1; write for example 3")
