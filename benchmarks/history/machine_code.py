"""Where numba keeps machine code: apart for each state of the source that it depends on.

numba keys its cache by the file that defines a function alone; after a change in another file the old machine code
would be measured. The harness has a way of its own to tell numba where each plugin's belongs; a commit that is older
has a folder for each state of all its source.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import hashlib
import importlib.util
import os
import shutil
import stat
import sys
import tempfile
from pathlib import Path

_KEPT = 12  # folders of about 20 MB; the longest unused go first
_NO_MACHINE_CODE = ("cli", "dashboard", "datasets", "report", "run", "testing")  # nothing compiled can call these
_LOCATOR = "measure/machine_code.py"


def environment() -> dict[str, str]:
    """Return the variables that numba reads when it is imported."""
    if not any((site / "harness" / _LOCATOR).exists() for site in _site()):
        return {"NUMBA_CACHE_DIR": str(folder()), "NUMBA_CACHE_LOCATOR_CLASSES": ""}
    root = os.environ.get("NUMBA_CACHE_DIR") or str(_root() / "packages")
    return {"NUMBA_CACHE_DIR": root, "NUMBA_CACHE_LOCATOR_CLASSES": "harness.measure.machine_code.SourceKeyedLocator"}


@functools.cache
def folder() -> Path:
    """Return a folder for the source that is installed; it exists."""
    found = _root() / _key()
    found.mkdir(parents=True, exist_ok=True)
    os.utime(found)
    states = [path for path in found.parent.iterdir() if path.is_dir() and path.name != "packages"]
    for old in sorted(states, key=lambda path: path.stat().st_mtime)[:-_KEPT]:
        shutil.rmtree(old, ignore_errors=True)
    return found


def _root() -> Path:
    environment = os.environ.get("ASV_ENV_DIR")  # .asv/env/<hash>; asv does not say for environments it did not make
    if environment:
        return Path(environment).parent.parent / "numba"
    return _private(Path(tempfile.gettempdir()) / f"harness-history-numba-{os.getuid()}")


@functools.cache
def _private(wanted: Path) -> Path:
    """Return a folder that nobody else can write to; ``wanted`` if it is one, else a new one for this process alone.

    numba's files hold pickles: whoever can put one into the folder runs code here. Everybody knows the name, and in the
    folder of temporary files everybody may have taken it before.
    """
    with contextlib.suppress(OSError):  # it is there, or cannot be made
        wanted.mkdir(mode=0o700)
    with contextlib.suppress(OSError):
        found = wanted.lstat()  # of a symbolic link itself
        if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022:
            return wanted
    own, maker = tempfile.mkdtemp(prefix="harness-history-numba-"), os.getpid()
    print(f"{wanted} is not a folder that only this user can write to; machine code is kept in {own}", file=sys.stderr)
    atexit.register(lambda: shutil.rmtree(own, ignore_errors=True) if os.getpid() == maker else None)
    return Path(own)


def _site() -> list[Path]:
    spec = importlib.util.find_spec("harness")
    return [] if spec is None or spec.origin is None else [Path(spec.origin).parent.parent]


def _key() -> str:
    """Return the hash of what the installed packages of the harness compile."""
    digest = hashlib.sha256()
    for site in _site():
        for file in sorted([*site.glob("harness/**/*.py"), *site.glob("harness_*/**/*.py")]):
            inside = file.relative_to(site)
            if inside.parts[0] != "harness" or inside.parts[1] not in _NO_MACHINE_CODE:
                digest.update(str(inside).encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:20]
