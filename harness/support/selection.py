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
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from harness.support.errors import UsageError

_SUFFIXES = {
    ".csv", ".npz", ".npy", ".parquet", ".arff", ".libsvm", ".svm", ".svmlight", ".txt", ".gz", ".bz2", ".xz"
}  # fmt: skip


# where a name or a value begins, in quotes, and where a value does, in parentheses
_QUOTED = re.compile(r"""((?:^|[\[,=])\s*)"((?:[^"]|"")*)"|([\[,=]\s*)(\([^()\[\]"=]*\))""")
_TUPLE = re.compile(r"""\([^()\[\]"=]*\)""")
_MARK = re.compile("\0([0-9]+)\0")  # stands for what was quoted while brackets and commas are looked for


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
            f"selection {text!r} names {len(items)} things, and one is expected; write name[parameter=value]."
        )
    if items[0].size != 1:
        raise UsageError(
            f"selection {text!r} is a grid of {items[0].size:,}, and one is expected; give each parameter one value."
        )
    return items[0].name, items[0].grid()[0]


def split(text: str, separator: str = ",") -> list[str]:
    """Split at separators outside brackets and quotes."""
    masked, kept = _masked(text)
    return [_MARK.sub(lambda mark: kept[int(mark[1])], part) for part in _parts(masked, text, separator)]


def _parts(masked: str, text: str, separator: str = ",") -> list[str]:
    parts, depth = [""], 0
    for character in masked:
        depth += {"[": 1, "]": -1}.get(character, 0)
        if depth < 0:
            raise _refusal(text, "has a ']' without its '['")
        if character == separator and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    if depth:
        raise _refusal(text, "has a '[' without its ']'")
    return parts


def _masked(text: str) -> tuple[str, list[str]]:
    """Return the text with a mark for each of its quotes and tuples, and these as they stand."""
    kept: list[str] = []

    def mark(found: re.Match[str]) -> str:
        before = found[1] or found[3] or ""
        kept.append(found[0].removeprefix(before))
        return f"{before}\0{len(kept) - 1}\0"

    masked = _QUOTED.sub(mark, text.replace("\0", "\N{REPLACEMENT CHARACTER}"))
    if re.search(r'(?:^|[\[,=])\s*"', masked):
        raise _refusal(text, "has a double quote without its second")
    return masked, kept


def _refusal(text: str, why: str) -> UsageError:
    return UsageError(
        f"selection {text!r} {why}; write name[parameter=value,...], a list as [a,b], a tuple as (1,2), and a path with brackets or "
        "commas in double quotes: '\"./a,b[1].csv\"'."
    )


def quoted(text: str) -> str:
    """Return a name or a value as a selection string has it: in double quotes if it would not be taken as it is."""
    plain = not any(character in '[],"(' for character in text) and text == text.strip()
    return text if plain else '"' + text.replace('"', '""') + '"'


def _unquoted(text: str) -> str:
    return text[1:-1].replace('""', '"') if text.startswith('"') else text


def text_of(item: Item) -> str:
    """Return the text that means an item: what :func:`parse` reads as it."""
    lists = {
        name: ",".join(each if _TUPLE.fullmatch(each) else quoted(each) for each in given)
        for name, given in item.values.items()
    }
    pairs = [f"{name}={text if len(item.values[name]) == 1 else f'[{text}]'}" for name, text in lists.items()]
    return f"{quoted(item.name)}[{','.join(pairs)}]" if pairs else quoted(item.name)


def is_path(text: str, folder: Path | None = None) -> bool:
    """Return whether a name that nothing registered has is the path or address of a file: by its look, or because it is there."""
    found = (folder or Path()) / text
    try:
        there = found.exists()
    except (OSError, ValueError):  # too long for a name, a null byte
        there = False
    return os.sep in text or text.startswith("openml:") or there or found.suffix.lower() in _SUFFIXES


def is_file(path: str | Path) -> bool:
    """Return whether there is a file, whatever the text."""
    try:
        return Path(path).is_file()
    except (OSError, ValueError):
        return False


def _item(text: str) -> Item:
    masked, kept = _masked(text)

    def plain(part: str) -> str:
        return _MARK.sub(lambda mark: _unquoted(kept[int(mark[1])]), part.strip())

    name, bracket, inside = masked.partition("[")
    if (bracket and inside[-1:] != "]") or "]" in name:
        raise _refusal(text, "goes on after its ']'")
    if not plain(name):
        raise _refusal(text, "has no name")
    values: dict[str, list[str]] = {}
    for pair in filter(str.strip, _parts(inside[:-1], text)):
        key, _, value = (part.strip() for part in pair.partition("="))
        if not key or not value:
            raise _refusal(text, f"has {plain(pair)!r}, which is not parameter=value")
        if key in values:
            raise _refusal(text, f"has the parameter '{key}' twice; for a grid write {key}=[a,b]")
        listed = value.startswith("[") and value.endswith("]")
        values[key] = [plain(part) for part in (_parts(value[1:-1], text) if listed else [value])]
        if not all(values[key]):
            raise _refusal(text, f"has an empty value in the list {key}={plain(value)}")
    return Item(plain(name), values)
