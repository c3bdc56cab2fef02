"""``--path``: the parameters a run goes through, and their values.

``C,gamma`` takes the usual grid of both; ``C=[0.1,1,10]`` lists values, ``gamma=2^-15..2^3:2^2`` goes from the first number
to the last by a factor, ``C=1e-3..1e3/50`` takes so many between them, each the same factor above the one before.
"""

from __future__ import annotations

import math
import re

from harness import selection
from harness.cli import values
from harness.errors import UsageError

# of LIBSVM's guide (Hsu, Chang, Lin): C 2^-5, 2^-3, ..., 2^15 and gamma 2^-15, 2^-13, ..., 2^3
USUAL = {"C": [2.0**k for k in range(-5, 16, 2)], "gamma": [2.0**k for k in range(-15, 4, 2)]}
MOST_VALUES = 10_000  # of a parameter
_RANGE = re.compile(r"(?P<first>[^:/]+?)\.\.(?P<last>[^:/]+?)(?P<how>[:/])(?P<step>.+)")
_EXAMPLE = "write for example --path 'C=2^-5..2^15:2^2,gamma=[0.1,1]'"


def path(text: str) -> dict[str, list[float]]:
    """Return the values of each parameter, in the order given.

    Raises
    ------
    UsageError : what is wrong with the text, and an example.
    """
    found: dict[str, list[float]] = {}
    for part in selection.split(text):
        name, equals, given = (piece.strip() for piece in part.partition("="))
        if not name or (equals and not given):
            raise UsageError(f"--path: {text!r} has a part without a {'value' if name else 'parameter'}; {_EXAMPLE}.")
        if name in found:
            raise UsageError(f"--path: {name} is given twice; {_EXAMPLE}.")
        if not equals and name not in USUAL:
            known = " and ".join(USUAL)
            raise UsageError(f"--path: only {known} have usual values; say which {name} takes: {name}=[0.1,1].")
        found[name] = _values(name, given) if equals else list(USUAL[name])
    return found


def _values(name: str, text: str) -> list[float]:
    listed = selection.split(text[1:-1]) if text.startswith("[") and text.endswith("]") else [text]
    try:
        found = [value for part in listed for value in _part(part.strip())]
    except (ValueError, OverflowError, ZeroDivisionError):
        raise UsageError(
            f"--path: {name}={text} is no number, list or range of numbers; write {name}=1, {name}=[0.1,1], "
            f"{name}=2^-5..2^15:2^2 (by a factor) or {name}=1e-3..1e3/50 (so many)."
        ) from None
    return list(dict.fromkeys(found))


def _part(text: str) -> list[float]:
    match = _RANGE.fullmatch(text)
    if match is None:
        return [_number(text)]
    first, last = values.positive(str(_number(match["first"]))), values.positive(str(_number(match["last"])))
    if last < first:
        raise ValueError(text)
    if match["how"] == "/":
        count = values.whole(match["step"], least=1)
        if count == 1 and last != first:
            raise ValueError(text)
        factor = math.exp((math.log(last) - math.log(first)) / max(1, count - 1))
    else:
        factor = _number(match["step"])
        if not factor > 1.0:
            raise ValueError(text)
        count = 1 + math.floor((math.log(last) - math.log(first)) / math.log(factor) + 1e-9)
    if count > MOST_VALUES:
        raise UsageError(f"--path: {text} are {count:,} values; at most {MOST_VALUES:,} are taken.")
    found = [first * factor**k for k in range(count)]
    return found if match["how"] == ":" else [*found[:-1], last]


def _number(text: str) -> float:
    """Return a finite number; ``2^-5`` is one."""
    base, power, exponent = text.partition("^")
    return values.real(str(float(base) ** float(exponent))) if power else values.real(text)


PATH = values.Converted("GRID", path, f"a list of parameters; {_EXAMPLE}")
FOLDS = values.Converted("K", lambda text: values.whole(text, least=2), "a whole number >= 2; write for example 5")
