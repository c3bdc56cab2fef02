"""Small files of what plugins offer, so that neither the help nor a TAB loads a plugin.

Each holds one thing, such as the names for completion, and a stamp: the modification times of the folders packages are
installed into and of the files that the content comes from. One that is missing, damaged or out of date is made anew.
"""

from __future__ import annotations

import json
import os
import sys
import zlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

_VERSION = 1


def path(kind: str) -> str:
    """Return the file: one for each environment, in the cache folder that ``HARNESS_CACHE`` can move."""
    root = os.environ.get("HARNESS_CACHE")
    if root:
        root = os.path.expanduser(root)  # noqa: PTH111 (pathlib costs more than the rest of a completion)
    else:
        import platformdirs

        root = platformdirs.user_cache_dir("svm-harness")
    surroundings = "\0".join([sys.prefix, *_folders(), os.environ.get("HARNESS_DISABLE_PLUGINS", "")])
    return f"{root}/{kind}-{zlib.crc32(surroundings.encode()):08x}.json"


def _folders() -> list[str]:
    """Return the folders of ``sys.path`` where packages are installed; the script's own folder comes and goes."""
    script = os.path.dirname(os.path.abspath(sys.argv[0])) if sys.argv[0] else ""  # noqa: PTH100, PTH120
    return [entry for entry in dict.fromkeys(sys.path) if entry not in ("", script, os.getcwd())]  # noqa: PTH109


def _times(files: list[str]) -> list[int]:
    """Return modification times in ns; 0 for what does not exist."""
    times = []
    for file in files:
        try:
            times.append(os.stat(file).st_mtime_ns)  # noqa: PTH116
        except OSError:
            times.append(0)
    return times


def read(kind: str) -> Any:
    """Return the content of a file that is up to date, else None."""
    try:
        with open(path(kind), encoding="utf-8") as file:
            index = json.load(file)
        if index["version"] == _VERSION and index["times"] == _times([*_folders(), *index["files"]]):
            return index["content"]
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return None


def write(kind: str, content: Any, files: Iterable[str]) -> None:
    """Write what comes from these files; a cache that cannot be written only costs the next command its time."""
    import contextlib
    from pathlib import Path

    from harness.files import write_whole

    ordered = sorted(set(files))
    index = {"version": _VERSION, "files": ordered, "times": _times([*_folders(), *ordered]), "content": content}
    with contextlib.suppress(OSError):
        write_whole(Path(path(kind)), json.dumps(index).encode())
