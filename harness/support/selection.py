"""Selection strings: ``lasvm``, ``fw/gilbert``, ``lasvm[epochs=[1,2],C=10]``, ``fw/*``.

Grammar: items separated by commas; an item is a name (with ``*`` and ``?`` as wildcards) and, in
brackets, ``parameter=value`` pairs; a value in brackets is a list and makes a grid, one in parentheses is a tuple:
``net[layers=[(1,2),(3)]]``. In a name or a value that begins with
double quotes, brackets and commas have no meaning: ``"./a,b[1].csv"[positive=2]``. A double quote in it is written twice.
"""

from __future__ import annotations

import itertools
import math
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from harness.support.errors import UsageError

_SUFFIXES = {
    ".csv", ".npz", ".npy", ".parquet", ".arff", ".libsvm", ".svm", ".svmlight", ".txt", ".gz", ".bz2", ".xz"
}  # fmt: skip

_QUOTED = re.compile(r'"(?:[^"]|"")*"')
_TUPLE = re.compile(r'\([^()\[\]"=]*\)')
_TOKEN = re.compile(rf"\s*(?:{_QUOTED.pattern}|{_TUPLE.pattern})")


@dataclass(frozen=True)
class Item:
    """One item of a selection: a name or pattern, and for each parameter the list of its values, as text."""

    name: str
    values: dict[str, list[str]] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Number of cells of the grid, counted without making one."""
        return math.prod(map(len, self.values.values()))

    def grid(self) -> list[dict[str, str]]:
        """Return one parameter assignment for each cell of the grid; one empty assignment without parameters."""
        names = list(self.values)
        return [dict(zip(names, cell, strict=True)) for cell in itertools.product(*self.values.values())]


def parse(texts: str | Iterable[str | Item], *, paths: bool = False) -> list[Item]:
    """Return the items of one or several selection strings; an item as it is.

    paths : whether a text with brackets, commas or quotes may be the path of an existing file as a whole

    Raises
    ------
    UsageError : unbalanced brackets, a parameter without a value, an empty name.
    """
    items = []
    for text in [texts] if isinstance(texts, str) else texts:
        if isinstance(text, Item):
            items.append(text)
        elif paths and quoted(text) != text and is_file(text):
            items.append(Item(text))
        else:
            items += [_item(part.strip()) for part in split(text) if part.strip()]
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
            f"selection {text!r} names {len(items)} things, and one is expected; write name[parameter=value]."
        )
    if items[0].size != 1:
        raise UsageError(
            f"selection {text!r} is a grid of {items[0].size:,}, and one is expected; give each parameter one value."
        )
    return items[0].name, items[0].grid()[0]


def _marks(text: str) -> Iterator[tuple[int, str]]:
    """Yield the place of each bracket, comma and equals sign, and the character, outside quotes and tuples."""
    place, begins = 0, True  # whether a name or a value may begin here
    while place < len(text):
        token = _TOKEN.match(text, place) if begins else None
        if token:
            place, begins = token.end(), False
            continue
        if text[place] in "[],=":
            yield place, text[place]
            begins = text[place] != "]"
        elif not text[place].isspace():
            begins = False
        place += 1


def split(text: str, separator: str = ",", *, whole: str = "") -> list[str]:
    """Return the parts of a text between the separators outside brackets and quotes.

    whole : the selection that an error message shows; empty: the text itself
    """
    parts, start, depth = [], 0, 0
    for place, mark in _marks(text):
        depth += (mark == "[") - (mark == "]")
        if depth < 0:
            raise _refusal(whole or text, "has a ']' without its '['")
        if mark == separator and depth == 0:
            parts.append(text[start:place])
            start = place + 1
    if depth:
        raise _refusal(whole or text, "has a '[' without its ']'")
    return [*parts, text[start:]]


def _refusal(text: str, why: str) -> UsageError:
    return UsageError(
        f"selection {text!r} {why}; write name[parameter=value,...], a list as [a,b], a tuple as (1,2), and a path with brackets or "
        "commas in double quotes: '\"./a,b[1].csv\"'."
    )


def quoted(text: str) -> str:
    """Return a name or a value as a selection string has it: in double quotes if it would not be taken as it is."""
    plain = not any(character in '[],"(' for character in text) and text == text.strip()
    return text if plain else '"' + text.replace('"', '""') + '"'


def text_of(item: Item) -> str:
    """Return the text that means an item, which :func:`parse` reads as that item."""
    pairs = []
    for name, values in item.values.items():
        text = ",".join(value if _TUPLE.fullmatch(value) else quoted(value) for value in values)
        pairs.append(f"{name}={text}" if len(values) == 1 else f"{name}=[{text}]")
    return f"{quoted(item.name)}[{','.join(pairs)}]" if pairs else quoted(item.name)


def is_path(text: str, folder: Path | None = None) -> bool:
    """Return whether a name that no plugin registered is the path or address of a file: by its look, or because it exists."""
    path = (folder or Path()) / text
    try:
        exists = path.exists()
    except (OSError, ValueError):  # too long for a name, a null byte
        exists = False
    return os.sep in text or text.startswith("openml:") or exists or path.suffix.lower() in _SUFFIXES


def is_file(path: str | Path) -> bool:
    """Return whether there is a file, whatever the text."""
    try:
        return Path(path).is_file()
    except (OSError, ValueError):
        return False


def _item(text: str) -> Item:
    opening = next((place for place, mark in _marks(text) if mark == "["), len(text))
    name, inside = _unquoted(text[:opening], text), text[opening + 1 :]
    if opening < len(text) and inside[-1:] != "]":
        raise _refusal(text, "goes on after its ']'")
    if not name:
        raise _refusal(text, "has no name")
    values: dict[str, list[str]] = {}
    for pair in filter(str.strip, split(inside[:-1], whole=text)):
        key, _, value = (part.strip() for part in pair.partition("="))
        if not key or not value or key.startswith('"'):
            raise _refusal(text, f"has {pair.strip()!r}, which is not parameter=value")
        if key in values:
            raise _refusal(text, f"has the parameter '{key}' twice; for a grid write {key}=[a,b]")
        is_list = value.startswith("[") and value.endswith("]")
        listed = split(value[1:-1], whole=text) if is_list else [value]
        values[key] = [_unquoted(part, text) for part in listed]
        if not all(values[key]):
            raise _refusal(text, f"has an empty value in {key}={value}")
    return Item(name, values)


def _unquoted(part: str, text: str) -> str:
    """Return a name or a value without the double quotes around it."""
    part = part.strip()
    if not part.startswith('"'):
        return part
    if not _QUOTED.fullmatch(part):
        closed = _QUOTED.match(part)
        raise _refusal(text, "goes on after a double quote" if closed else "has a double quote without its second")
    return part[1:-1].replace('""', '"')
