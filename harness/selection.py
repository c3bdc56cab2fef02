"""Selection strings: ``lasvm``, ``fw/gilbert``, ``lasvm[epochs=[1,2],C=10]``, ``fw/*``.

Grammar: items separated by commas; an item is a name (with ``*`` and ``?`` as wildcards) and, in
brackets, ``parameter=value`` pairs; a value in brackets is a list and makes a grid. In a name or a value that begins with
double quotes brackets and commas are as good as letters: ``"./a,b[1].csv"[positive=2]``; a double quote in it is written twice.
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from harness.errors import UsageError

_SUFFIXES = {
    ".csv", ".npz", ".npy", ".parquet", ".arff", ".libsvm", ".svm", ".svmlight", ".txt", ".gz", ".bz2", ".xz"
}  # fmt: skip


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


def parse(texts: str | Iterable[str], *, paths: bool = False) -> list[Item]:
    """Return the items of one or several selection strings.

    paths : a text with brackets, commas or quotes that is the path of a file as a whole is that file

    Raises
    ------
    UsageError : unbalanced brackets, a parameter without a value, an empty name.
    """
    items = []
    for text in [texts] if isinstance(texts, str) else texts:
        if paths and quoted(text) != text and is_file(text):
            items.append(Item(text))
            continue
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
    """Split at separators outside brackets and quotes."""
    parts, depth, current, quotes, begins = [], 0, "", False, True
    for character in text:
        if character == '"' and (quotes or begins):  # of two quotes in quotes, the second opens them again
            quotes = not quotes
        elif not quotes:
            depth += {"[": 1, "]": -1}.get(character, 0)
        if depth < 0:
            raise UsageError(
                f"selection {text!r} has a ']' without its '['; write name[parameter=value,...]{_of_paths(text)}."
            )
        if character == separator and depth == 0 and not quotes:
            parts.append(current)
            current, begins = "", True
            continue
        current += character
        begins = character in '[,="' or (begins and character.isspace())
    if quotes:
        raise UsageError(f'selection {text!r} has a double quote without its second; write "a,b.csv".')
    if depth:
        raise UsageError(
            f"selection {text!r} has a '[' without its ']'; write name[parameter=value,...]{_of_paths(text)}."
        )
    return [*parts, current]


def quoted(text: str) -> str:
    """Return a name or a value as a selection string has it: in double quotes if it would not be taken as it is."""
    plain = not any(character in '[],"' for character in text) and text == text.strip()
    return text if plain else '"' + text.replace('"', '""') + '"'


def text_of(item: Item) -> str:
    """Return the text that means an item: what :func:`parse` reads as it."""
    lists = {name: ",".join(map(quoted, given)) for name, given in item.values.items()}
    pairs = [f"{name}={text if len(item.values[name]) == 1 else f'[{text}]'}" for name, text in lists.items()]
    return f"{quoted(item.name)}[{','.join(pairs)}]" if pairs else quoted(item.name)


def is_path(text: str, folder: Path | None = None) -> bool:
    """Return whether a name that nothing registered has is the path of a file: by its look, or because it is there."""
    found = (folder or Path()) / text
    try:
        there = found.exists()
    except (OSError, ValueError):  # too long for a name, a null byte
        there = False
    return os.sep in text or there or found.suffix.lower() in _SUFFIXES


def is_file(path: str | Path) -> bool:
    """Return whether there is a file, whatever the text."""
    try:
        return Path(path).is_file()
    except (OSError, ValueError):
        return False


def _unquoted(text: str) -> str:
    text = text.strip()
    return text[1:-1].replace('""', '"') if len(text) > 1 and text[0] == text[-1] == '"' else text


def _of_paths(text: str) -> str:
    """Return the end of a sentence on brackets that may be those of a path."""
    return (
        "; a path with brackets or commas is put in double quotes: '\"./a,b[1].csv\"'"
        if "/" in text or "." in text
        else ""
    )


def _item(text: str) -> Item:
    name, inside = text, ""
    if text.startswith('"'):
        end = _end_of_quotes(text)
        name, inside = text[:end], text[end:].strip()
    elif "[" in text:
        name, inside = text[: text.index("[")], text[text.index("[") :]
    if (inside and not (inside[0] == "[" and inside[-1] == "]")) or (not inside and text[0] != '"' and "]" in text):
        raise UsageError(f"selection {text!r} goes on after its ']'; separate items by commas{_of_paths(text)}.")
    name, inside = _unquoted(name), inside[1:-1]
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
                f"{name}[...]: {pair.strip()!r} is not parameter=value; write for example "
                f"{name}[{key or 'epochs'}=2]{_of_paths(name)}."
            )
        if key in values:
            raise UsageError(f"{name}[...]: parameter '{key}' is given twice; for a grid write {key}=[a,b].")
        listed = value.startswith("[") and value.endswith("]")
        values[key] = [_unquoted(part) for part in split(value[1:-1])] if listed else [_unquoted(value)]
        if not all(values[key]):
            raise UsageError(f"{name}[...]: the list {key}={value} has an empty value.")
    return Item(name, values)


def _end_of_quotes(text: str) -> int:
    """Return the position after the quotes with which a text begins."""
    end = 1
    while text[end : end + 1] != '"' or text[end + 1 : end + 2] == '"':
        end += 2 if text[end : end + 1] == '"' else 1
    return end + 1
