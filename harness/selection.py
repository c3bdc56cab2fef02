"""Selection strings: ``lasvm``, ``fw/gilbert``, ``lasvm[epochs=[1,2],C=10]``, ``fw/*``.

Grammar: items separated by commas; an item is a name (with ``*`` and ``?`` as wildcards) and, in
brackets, ``parameter=value`` pairs; a value in brackets is a list and makes a grid.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from harness.errors import UsageError


@dataclass(frozen=True)
class Item:
    """One item of a selection: a name or pattern, and for each parameter the list of its values, as text."""

    name: str
    values: dict[str, list[str]] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """How many cells the grid has, counted without making one."""
        return math.prod(map(len, self.values.values()))

    def grid(self) -> list[dict[str, str]]:
        """Return one parameter assignment for each cell of the grid; one empty assignment without parameters."""
        names = list(self.values)
        return [dict(zip(names, cell, strict=True)) for cell in itertools.product(*self.values.values())]


def parse(texts: str | Iterable[str]) -> list[Item]:
    """Return the items of one or several selection strings.

    Raises
    ------
    UsageError : unbalanced brackets, a parameter without a value, an empty name.
    """
    items = []
    for text in [texts] if isinstance(texts, str) else texts:
        for part in split(text):
            if part.strip():
                items += [_item(part.strip())]
    return items


def single(text: str) -> tuple[str, dict[str, str]]:
    """Return the name and the parameters of a selection string that means one thing: ``libsvm[tol=1e-5]``.

    Raises
    ------
    UsageError : no item or several, or a grid; and as :func:`parse` does.
    """
    items = parse(text)
    if len(items) != 1:
        raise UsageError(
            f"selection {text!r} names {len(items)} things where one is meant; write name[parameter=value]."
        )
    if items[0].size != 1:
        raise UsageError(
            f"selection {text!r} is a grid of {items[0].size:,} where one is meant; give each parameter one value."
        )
    return items[0].name, items[0].grid()[0]


def split(text: str, separator: str = ",") -> list[str]:
    """Split at separators outside brackets."""
    parts, depth, current = [], 0, ""
    for character in text:
        depth += {"[": 1, "]": -1}.get(character, 0)
        if depth < 0:
            raise UsageError(f"selection {text!r} has a ']' without its '['; write name[parameter=value,...].")
        if character == separator and depth == 0:
            parts.append(current)
            current = ""
        else:
            current += character
    if depth:
        raise UsageError(f"selection {text!r} has a '[' without its ']'; write name[parameter=value,...].")
    return [*parts, current]


def _item(text: str) -> Item:
    if not text.endswith("]"):
        if "[" in text or "]" in text:
            raise UsageError(f"selection {text!r} goes on after its ']'; separate items by commas.")
        return Item(text)
    name, _, inside = text[:-1].partition("[")
    if not name:
        raise UsageError(f"selection {text!r} has parameters but no name before '['.")
    values: dict[str, list[str]] = {}
    for pair in split(inside):
        if not pair.strip():
            continue
        key, equals, value = pair.partition("=")
        key, value = key.strip(), value.strip()
        if not equals or not key or not value:
            raise UsageError(
                f"{name}[...]: {pair.strip()!r} is not parameter=value; write for example {name}[{key or 'epochs'}=2]."
            )
        if key in values:
            raise UsageError(f"{name}[...]: parameter '{key}' is given twice; for a grid write {key}=[a,b].")
        listed = value.startswith("[") and value.endswith("]")
        values[key] = [part.strip() for part in split(value[1:-1])] if listed else [value]
        if not all(values[key]):
            raise UsageError(f"{name}[...]: the list {key}={value} has an empty value.")
    return Item(name.strip(), values)
