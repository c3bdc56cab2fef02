"""The folder of numba's machine code, one for each state of the source that it was compiled from.

numba keys its disk cache by the file that defines a function only; after a change in another file the old machine code
would be measured. The machine code of a plugin depends on the plugin's files and on the host's kernels, whose hash names
the folder; a change in one plugin recompiles no other. numba imports this module by the name in the environment of the
harness's processes (:mod:`harness.run.host_process`).

Processes that compile a function at the same time save one after another: numba itself would give two signatures the same
file, and code for float64 would be run on float32 from then on.
"""

from __future__ import annotations

import fcntl
import functools
import hashlib
import os
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numba
from numba import config
from numba.core.caching import IndexDataCacheFile, UserProvidedCacheLocator

import harness
from harness.registry.plugin_files import digest, sibling_files, with_imports

_MAX_STATES = 8  # largest number of stored states of one package; the least recently used are removed
_HOST = Path(harness.__file__).resolve().parent


def _locked(save: Callable[[Any, Any, Any], None]) -> Callable[[Any, Any, Any], None]:
    """Return numba's ``save`` of machine code under a lock of its folder."""

    @functools.wraps(save)
    def locked(file: Any, key: Any, data: Any) -> None:
        with (Path(file._cache_path) / ".lock").open("w") as lock:  # noqa: SLF001 - numba has no other name for it
            fcntl.flock(lock, fcntl.LOCK_EX)
            save(file, key, data)

    return locked


_numba: Any = IndexDataCacheFile
_numba.save = _locked(_numba.save)


class SourceKeyedLocator(UserProvidedCacheLocator):
    """Locator that stores the machine code of a function below NUMBA_CACHE_DIR, in the folder of its package's state."""

    def __init__(self, py_func: Any, py_file: str) -> None:
        made: Any = super().__init__
        made(py_func, py_file)
        file = Path(py_file).resolve()
        package = package_of(file)
        folder = _folder(package)
        self._key = folder.name
        self._cache_path = str(folder / file.parent.relative_to(package if package.is_dir() else package.parent))

    def get_source_stamp(self) -> str:
        """Return the key of the package's state, independent of its location and its times."""
        return self._key


def package_of(file: Path) -> Path:
    """Return the folder of the outermost package that a file is in, or the file if it is in none."""
    path = file.resolve()
    while (path.parent / "__init__.py").is_file():
        path = path.parent
    return path


def source_key(package: Path) -> str:
    """Return the SHA-256 of all source on which the machine code of a package, or of a single-file plugin, depends."""
    if package == _HOST:
        return _host_key()
    return digest(package.parent, _sources(package)) + _host_key()


def _sources(package: Path) -> Iterable[Path]:
    return package.rglob("*.py") if package.is_dir() else with_imports([package], sibling_files)


def warm_up_mark(file: Path, kind: str) -> Path:
    """Return the path of the file that marks a warm-up of this ``kind`` that a child got through, for the current state of a package.

    The mark only decides when code is compiled, and whether a worker runs the warm-up itself.

    file : a file of the package, or the file of a single-file plugin
    """
    name = hashlib.sha256(f"{numba.__version__} {kind}".encode()).hexdigest()[:16]
    return _folder(package_of(file)) / f"{name}.safe"


@functools.cache
def _host_key() -> str:
    return digest(_HOST, compiled_of_host())


def compiled_of_host() -> list[Path]:
    """Return the files of the host that contain compiled code."""
    return [_HOST / "support/jit.py", *(_HOST / "kernels").rglob("*.py")]


@functools.cache
def _folder(package: Path) -> Path:
    settings: Any = config
    root = Path(settings.CACHE_DIR)
    key = hashlib.sha256(source_key(package).encode()).hexdigest()[:16]
    folder = root / f"{package.stem}-{key}"
    folder.mkdir(parents=True, exist_ok=True)
    os.utime(folder)
    for old in sorted(root.glob(f"{package.stem}-*"), key=_last_used)[:-_MAX_STATES]:
        shutil.rmtree(old, ignore_errors=True)
    return folder


def _last_used(folder: Path) -> float:
    return folder.stat().st_mtime if folder.exists() else 0.0  # another process may have removed it
