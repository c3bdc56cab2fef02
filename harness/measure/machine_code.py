"""Where numba keeps machine code: a folder for each state of the source that it was compiled from.

numba keys its disk cache by the file that defines a function alone; after a change in another file the old machine code
would be measured. What a plugin compiles depends on its own files and on what the host compiles, so that is what its
folder is named by: a change in one plugin recompiles no other. numba imports this module by the name in the
environment of the harness's processes (:mod:`harness.run.pool`).
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numba
from numba import config
from numba.core.caching import UserProvidedCacheLocator

import harness
from harness.entries import beside, closure, digest

_KEPT = 8  # states of one package; the longest unused go first
_AT_TOP = re.compile(r"^(?:from ([\w.]+) )?import (\([^)]*\)|.*)", re.M)
_HOST = Path(harness.__file__).resolve().parent


class SourceKeyedLocator(UserProvidedCacheLocator):
    """Puts the machine code of a function below NUMBA_CACHE_DIR, in the folder of its package's state."""

    def __init__(self, py_func: Any, py_file: str) -> None:
        made: Any = super().__init__
        made(py_func, py_file)
        file = Path(py_file).resolve()
        package = package_of(file)
        folder = _folder(package)
        self._key = folder.name
        self._cache_path = str(folder / file.parent.relative_to(package if package.is_dir() else package.parent))

    def get_source_stamp(self) -> str:
        """Return the key of the package's state: where it lies, and when it was written there, says nothing."""
        return self._key


def package_of(file: Path) -> Path:
    """Return the folder of the outermost package that a file is in, or the file if it is in none."""
    found = file.resolve()
    while (found.parent / "__init__.py").is_file():
        found = found.parent
    return found


def source_key(package: Path) -> str:
    """Return the SHA-256 of all source that the machine code of a package, or of a plugin's one file, depends on."""
    if package == _HOST:
        return _host_key()
    return digest(package.parent, _sources(package)) + _host_key()


def _sources(package: Path) -> Iterable[Path]:
    return package.rglob("*.py") if package.is_dir() else closure([package], beside)


def warmed_up(file: Path, kind: str) -> Path | None:
    """Return the file that is there when a warm-up of this ``kind`` was compiled from the present state of a package.

    It decides when something is compiled, and nothing else. None: the package names no compiler.

    file : of the package, or the plugin's one file
    """
    package = package_of(file)
    name = hashlib.sha256(f"{numba.__version__} {kind}".encode()).hexdigest()[:16]
    return _folder(package) / f"{name}.warm" if _compiles(package) else None


@functools.cache
def _compiles(package: Path) -> bool:
    return any(word in each.read_bytes() for each in _sources(package) for word in (b"numba", b"harness.jit"))


@functools.cache
def _host_key() -> str:
    return digest(_HOST, compiled_of_host())


@functools.cache
def _folder(package: Path) -> Path:
    settings: Any = config
    root = Path(settings.CACHE_DIR)
    key = hashlib.sha256(source_key(package).encode()).hexdigest()[:16]
    folder = root / f"{package.stem}-{key}"
    folder.mkdir(parents=True, exist_ok=True)
    os.utime(folder)
    for old in sorted(root.glob(f"{package.stem}-*"), key=_last_used)[:-_KEPT]:
        shutil.rmtree(old, ignore_errors=True)
    return folder


def _last_used(folder: Path) -> float:
    return folder.stat().st_mtime if folder.exists() else 0.0  # another process may have removed it


def compiled_of_host() -> set[Path]:
    """Return the files of the host that machine code is made of: those that use numba, and what they import."""
    others = (file for file in _HOST.rglob("*.py") if file != Path(__file__).resolve())
    named = (file for file in others if any(word in file.read_bytes() for word in (b"numba", b"jit")))
    compiled = [file for file in named if not {"numba", "harness.jit"}.isdisjoint(_imported_at_top(file))]
    return closure(compiled, _in_host, _imported_at_top)


@functools.cache
def _imported_at_top(file: Path) -> set[str]:
    """Return the modules that a file of the host imports as it is imported itself; parsed it would take a second."""
    names: set[str] = set()
    for module, found in _AT_TOP.findall(file.read_text()):
        each = re.findall(r"[\w.]+", found)
        names |= {module, *(f"{module}.{name}" for name in each)} if module else set(each)
    return names


def _in_host(_: Path, module: str) -> list[Path]:
    file = _HOST.parent.joinpath(*module.split(".")).with_suffix(".py")
    return [file] if module.startswith("harness.") and file.is_file() else []
