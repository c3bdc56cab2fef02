"""Text from elsewhere as any terminal, page or file can take it: messages, names, labels, paths of plugins and data."""

from __future__ import annotations

_SHOWN = "\N{REPLACEMENT CHARACTER}"
# controls of terminals (C0 but newline and tab, DEL, C1), line separators, and what overrides the direction of writing
_UNSAFE = dict.fromkeys((code for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"), _SHOWN)
_UNSAFE.update(dict.fromkeys((*range(0x2028, 0x202F), *range(0x2066, 0x206A)), _SHOWN))
_BREAKS = str.maketrans("\n\t", "  ")


def plain(text: str) -> str:
    """Return the text in valid UTF-8 and without control characters: each stands as one replacement character."""
    return text if text.isprintable() else text.encode("utf-8", "replace").decode().translate(_UNSAFE)


def plain_line(text: str, length: int | None = None) -> str:
    """Return the text in one line, of at most ``length`` characters and what says that there were more."""
    if length is not None and len(text) > length:
        text = f"{text[:length]} ... ({len(text)} characters)"
    return text if text.isprintable() else plain(text).translate(_BREAKS)
