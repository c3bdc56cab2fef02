"""What a store or a folder of results says is data. Here it is made harmless, before anything is named or shown by it.

A store may come from anybody. Its records are typed when they are read (`harness.checked`: finite numbers,
bounded texts without control characters), but their texts may be
anything. Our own pages make texts of them and never markup. asv's pages put some of them into HTML as they are, and
file names are made of others.
"""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from harness import UsageError
from harness_dashboard.history import plain

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; style-src-elem 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'"
)
"""What the pages of the site may load and carry out: files of the site. Attributes named style are allowed, which asv's
pages have; elements of that name are not."""

NAME, FACT, WORD = 200, 120, 40  # letters of the name of a cell, of what is told of a machine, and of a file's name
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST = datetime(2200, 1, 1, tzinfo=UTC)
_OPENS = str.maketrans({"<": "\N{SINGLE LEFT-POINTING ANGLE QUOTATION MARK}", "&": "\N{FULLWIDTH AMPERSAND}"})
_MARKUP = re.compile(r"<(?=[A-Za-z/!?])|&(?=[#A-Za-z])")
_ADDRESS = re.compile(r"(?:https?://|[#./]|$)[^\s\"'<>\\]*", re.IGNORECASE)


def harmless(text: str) -> str:
    """Return text that HTML shows as it is written: what would begin a tag or a character's name is a look-alike."""
    return _MARKUP.sub(lambda found: found.group().translate(_OPENS), text)


def name(text: str) -> str:
    """Return the name of a solver or a data set: one line, harmless, and bounded, different for different names."""
    line = harmless(" ".join(text.split())).replace('"', "'")
    if len(line) <= NAME:
        return line or "?"
    return f"{line[: NAME - 12]} {hashlib.sha256(text.encode()).hexdigest()[:8]}"


def fact(value: Any) -> str:
    """Return what is told of a machine: letters, digits, blanks and a few signs; nothing of what is no text or number."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return re.sub(r"[^\w .,:;@+()/-]+", "_", str(value)[:FACT]).strip()


def word(value: Any, otherwise: str, length: int = WORD) -> str:
    """Return a part of a file's name: letters, digits and ``._-``, first a letter or a digit."""
    return plain(fact(value))[:length].strip("._-") or otherwise


def moment(value: Any) -> datetime:
    """Return the time that an ISO text names; 1970 for what is none, or none of this age."""
    try:
        found = datetime.fromisoformat(str(value))
    except ValueError:
        return _EPOCH
    found = found if found.tzinfo else found.replace(tzinfo=UTC)
    return found if _EPOCH <= found < _LATEST else _EPOCH


def time_text(value: Any) -> str:
    """Return an ISO text that names a time as it is, else that of 1970."""
    return str(value) if moment(value) != _EPOCH else _EPOCH.isoformat(timespec="milliseconds")


def python_version(value: Any) -> str:
    """Return ``3.11`` of ``3.11.7``; ``unknown`` of what is no version."""
    found = re.match(r"\d{1,3}\.\d{1,3}(?![^.\w+-])", value) if isinstance(value, str) else None
    return found.group() if found else "unknown"


def below(folder: Path, path: Path) -> Path:
    """Return ``path``.

    Raises
    ------
    UsageError : it lies outside the folder, by its name or by a symbolic link.
    """
    if not path.resolve().is_relative_to(folder.resolve()):
        raise UsageError(f"{path} lies outside {folder}, by its name or by a symbolic link; nothing was written there.")
    return path


# -- what asv reads and writes -------------------------------------------------------------------------------


def fits_attribute(text: str) -> bool:
    """Whether asv may put a benchmark's name between double quotes and into an address."""
    return not re.search(r"[\"<>&]", text)


def shown(content: Any) -> Any:
    """Return JSON data of asv's pages with every text and every name in it harmless."""
    if isinstance(content, str):
        return harmless(content)
    if isinstance(content, list):
        return [shown(each) for each in content]
    if isinstance(content, dict):
        return {harmless(key): shown(value) for key, value in content.items()}
    return content


def index(content: dict[str, Any]) -> dict[str, Any]:
    """Return asv's ``index.json`` with harmless texts, machines of which facts are told, and links that are links."""
    found: dict[str, Any] = shown(content)
    found["machines"] = {
        machine: {fact(key): fact(value) for key, value in told.items()} if isinstance(told, dict) else {}
        for machine, told in found["machines"].items()
    }
    for key in ("project_url", "show_commit_url"):
        if not _ADDRESS.fullmatch(str(found.get(key) or "")):
            found[key] = "#"
    return found
