"""Text and values from elsewhere: as any terminal, page or file can take them, and as strict JSON data of bounded size."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard

_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
# controls of terminals (C0 but newline and tab, DEL, C1), line separators, and what overrides the direction of writing
_UNSAFE = dict.fromkeys((code for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"), _REPLACEMENT)
_UNSAFE.update(dict.fromkeys((*range(0x2028, 0x202F), *range(0x2066, 0x206A)), _REPLACEMENT))
_BREAKS = str.maketrans("\n\t", "  ")


def plain(text: str) -> str:
    """Return the text in valid UTF-8 and without control characters: each stands as one replacement character."""
    return text if text.isprintable() else text.encode("utf-8", "replace").decode().translate(_UNSAFE)


def plain_line(text: str, length: int | None = None) -> str:
    """Return the text in one line, cut after ``length`` characters with a note of how many there were."""
    return clipped(text, len(text) if length is None else length).translate(_BREAKS)


def is_number(value: Any) -> TypeGuard[float]:
    """Return whether ``value`` is a finite number (a truth value is none)."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


TEXT_CHARACTERS = 4000  # of a text in a record
ENTRIES = 100_000  # of the lists and mappings of one field
_CHARACTERS = 2_000_000  # of all texts and names of one field
_DEPTH = 8
LARGEST = 2**63 - 1


def clean(value: Any, entries: int = ENTRIES, characters: int = _CHARACTERS) -> Any:
    """Return ``value`` as strict JSON data of bounded size.

    No NaN, no infinity, no numpy scalars or arrays, no tuples; at most so many entries and characters in all, eight
    levels, no text longer than 4,000 characters or with control characters.
    """
    if value is None or _is_clean(value, TEXT_CHARACTERS):
        return value  # as are most values of 200,000 records
    return bounded(value, entries, characters)[0]


def _is_clean(value: Any, length: int) -> bool:
    """Return whether a value is a text that can stay as it is."""
    return type(value) is str and len(value) <= length and value.isprintable()


def bounded(value: Any, entries: int, characters: int) -> tuple[Any, bool]:
    """Return what :func:`clean` does, and whether anything was cut."""
    room = _Room(entries, characters)
    return _cleaned(value, _DEPTH, room), room.cut


@dataclass
class _Room:
    """How many entries and characters there may still be, counted down; whether something did not fit."""

    entries: int
    characters: int
    cut: bool = False

    def text(self, value: Any, length: int = TEXT_CHARACTERS) -> str:
        text: str = value
        if not _is_clean(value, length):
            given = _as_text(value)
            self.cut |= len(given) > length
            text = clipped(given, length)
        self.characters -= len(text)
        return text


def _cleaned(value: Any, depth: int, room: _Room) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if type(value) is str:
        return room.text(value)
    if hasattr(value, "dtype") and hasattr(value, "reshape"):  # a numpy scalar or array, without importing numpy
        value = value.reshape(-1)[0].item() if value.ndim == 0 else value[: room.entries + 1].tolist()
    if isinstance(value, int):
        return int(value) if abs(value) <= LARGEST else f"a whole number of {value.bit_length()} bits"
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if depth == 0 or not isinstance(value, (Mapping, list, tuple)):
        return room.text(value)
    cleaned: list[tuple[str, Any]] = []
    entries = value.items() if isinstance(value, Mapping) else (("", item) for item in value)
    for name, item in entries:
        if min(room.entries, room.characters) <= 0:
            room.cut = True
            cleaned.append(("...", f"... {len(value)} entries"))
            break
        room.entries -= 1
        cleaned.append((room.text(name, 200), _cleaned(item, depth - 1, room)))
    return dict(cleaned) if isinstance(value, Mapping) else [item for _, item in cleaned]


def _as_text(value: Any) -> str:
    """Return a value as text, whatever its class does."""
    try:
        return value if isinstance(value, str) else str(value)
    except BaseException as error:  # a plugin's object may raise anything
        return f"<{type(value).__name__} whose text raised {type(error).__name__}>"


def clipped(text: str, length: int = TEXT_CHARACTERS) -> str:
    """Return text that any terminal, page or file can take: valid UTF-8, no control characters, bounded length."""
    return plain(text if len(text) <= length else f"{text[:length]} ... ({len(text)} characters)")
