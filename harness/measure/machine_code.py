"""Where numba keeps machine code: a folder for each state of the source that it was compiled from.

numba keys its disk cache by the file that defines a function alone; after a change in another file the old machine code
would be measured. What a plugin compiles depends on its own files and on the host's kernels, so that is what its folder is
named by: a change in one plugin recompiles no other. numba imports this module by the name in the
environment of the harness's processes (:mod:`harness.run.host_process`).
"""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numba
from numba import config
from numba.core.caching import UserProvidedCacheLocator

import harness
from harness.registry.plugin_files import digest, sibling_files, with_imports

_KEPT = 8  # states of one package; the longest unused go first
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
    return package.rglob("*.py") if package.is_dir() else with_imports([package], sibling_files)


def warm_up_mark(file: Path, kind: str) -> Path | None:
    """Return the file that is there when a warm-up of this ``kind`` was compiled from the present state of a package.

    It decides when something is compiled, and nothing else. None: the package names no compiler.

    file : of the package, or the plugin's one file
    """
    package = package_of(file)
    name = hashlib.sha256(f"{numba.__version__} {kind}".encode()).hexdigest()[:16]
    return _folder(package) / f"{name}.warm" if _compiles(package) else None


@functools.cache
def _compiles(package: Path) -> bool:
    return any(word in each.read_bytes() for each in _sources(package) for word in (b"numba", b"harness.support.jit"))


@functools.cache
def _host_key() -> str:
    return digest(_HOST, compiled_of_host())


def compiled_of_host() -> list[Path]:
    """Return the files of the host that machine code is made of; code elsewhere in the host is not compiled."""
    return [_HOST / "support/jit.py", *(_HOST / "kernels").rglob("*.py")]


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
