"""The options that formulations bring: one for each parameter that any of them has, a plugin's too.

What an option says is plain data, kept beside the names that completion offers (see :mod:`harness.cli.names`): neither a
help nor a TAB loads a plugin for it.
"""

from __future__ import annotations

import math
import typing
from typing import TYPE_CHECKING, Any

from harness.cli import values
from harness.cli.options import Option
from harness.plain import plain_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from harness.parameters import Parameter
    from harness.registry import Registry

    Fact = dict[str, Any]


def facts_of(registry: Registry) -> list[Fact]:
    """Return what the options of the registered formulations say, as JSON data."""
    return [_fact(name, holders) for name, holders in registry.problem_parameters().items()]


def _fact(name: str, holders: Mapping[str, Parameter]) -> Fact:
    """Return what one option says: all that any formulation takes, which itself refuses what is not for it."""
    first, kinds, words = next(iter(holders.values())), set[str](), dict[str, None]()
    for known in holders.values():
        union = () if typing.get_origin(known.type) is typing.Literal else typing.get_args(known.type)
        for each in union or (known.type,):
            if typing.get_origin(each) is typing.Literal:
                words.update(dict.fromkeys(map(str, typing.get_args(each))))
            elif each in (bool, type(None)):
                words.update(dict.fromkeys(("true", "false") if each is bool else ("none",)))
            else:
                kinds.add(each.__name__ if each in (int, float) else "text")
    example = next((known.default for known in holders.values() if known.default is not None), 1)
    return {
        "name": name,
        "help": plain_line(f"{first.doc[:1].upper()}{first.doc[1:]} ({', '.join(holders)})."),
        "kinds": sorted(kinds),
        "words": list(words),
        "bounds": {**_widest(holders.values(), "ge", "gt", 1), **_widest(holders.values(), "le", "lt", -1)},
        "example": str(example),
    }


def _widest(holders: Iterable[Parameter], closed: str, open_: str, sign: int) -> dict[str, float]:
    """Return the outermost of the bounds on one side, {} if one of the parameters has none; ``sign`` -1: upper bounds."""
    found = []
    for known in holders:
        ends = [(sign * known.bounds[name], name == open_) for name in (closed, open_) if name in known.bounds]
        found.append(max(ends, default=(-math.inf, False)))
    value, is_open = min(found)
    return {} if math.isinf(value) else {(open_ if is_open else closed): sign * value}


def option(fact: Fact, section: str) -> Option:
    """Return the option that a fact is about: a list of values, each of which makes a run."""
    name: str = fact["name"]
    return Option([f"--{name.replace('_', '-')}", name], type=_type(fact), section=section, help=fact["help"])


def _type(fact: Fact) -> values.Converted:
    from harness.parameters import interval

    bounds, words, kinds = fact["bounds"], fact["words"], set(fact["kinds"])

    def convert(text: str) -> Any:
        if text in words or "text" in kinds:
            return text
        if not kinds:
            raise ValueError(text)
        number = values.whole(text, least=-(2**63)) if kinds == {"int"} else values.real(text)
        low, high = bounds.get("ge", bounds.get("gt", -math.inf)), bounds.get("le", bounds.get("lt", math.inf))
        if not low <= number <= high or number in (bounds.get("gt"), bounds.get("lt")):
            raise ValueError(text)
        return number

    number = "whole numbers" if kinds == {"int"} else "numbers"
    spread = interval(bounds)
    parts = [number + (f" in {spread}" if spread else "")] if kinds else []
    parts += [repr(word) for word in words]
    expects = f"a list of {' or '.join(parts)}; write for example {fact['example']}"
    return values.Converted("LIST", values.listed(convert), expects)
