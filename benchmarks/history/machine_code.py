"""Where numba keeps machine code: one folder for each state of the installed source.

numba keys its cache by the file that defines a function alone; after a change in another file the old machine code
would be measured. So each state of the source has a folder of its own. What a plugin compiles depends on its own
files and on the host's alone, so a new folder begins with the machine code of the plugins that did not change.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.util
import json
import os
import shutil
import tempfile
from pathlib import Path

from . import shared

_KEPT = 12  # folders of about 20 MB; the longest unused go first
_NO_MACHINE_CODE = ("cli", "dashboard", "datasets", "report", "run", "testing")  # nothing compiled can call these
_MANIFEST = "packages.json"


@functools.cache
def folder() -> Path:
    """Return the folder for the source that is installed; it exists and holds what older states have in common."""
    keys = _package_keys()
    root = _root()
    found = root / hashlib.sha256(json.dumps(keys, sort_keys=True).encode()).hexdigest()[:20]
    found.mkdir(parents=True, exist_ok=True)
    if not (found / _MANIFEST).exists():
        _take_over(root, found, keys)
        shared.put(found / _MANIFEST, json.dumps(keys))
    os.utime(found)
    for old in sorted((path for path in root.iterdir() if path.is_dir()), key=lambda path: path.stat().st_mtime)[
        :-_KEPT
    ]:
        shutil.rmtree(old, ignore_errors=True)
    return found


def _root() -> Path:
    environment = os.environ.get("ASV_ENV_DIR")  # .asv/env/<hash>; asv does not say for environments it did not make
    if environment:
        return Path(environment).parent.parent / "numba"
    return Path(tempfile.gettempdir()) / f"harness-history-numba-{os.getuid()}"


def _package_keys() -> dict[str, str]:
    """Return the hash of what each installed package of the harness compiles."""
    spec = importlib.util.find_spec("harness")
    if spec is None or spec.origin is None:
        return {}
    site = Path(spec.origin).parent.parent
    host = _hash(
        [path for path in _sources(site / "harness") if path.parts[len(site.parts) + 1] not in _NO_MACHINE_CODE]
    )
    plugins = sorted(path.parent for path in site.glob("harness_*/__init__.py"))
    return {"harness": host, **{path.name: host[:16] + _hash(_sources(path)) for path in plugins}}


def _sources(package: Path) -> list[Path]:
    return sorted(package.rglob("*.py"))


def _hash(files: list[Path]) -> str:
    digest = hashlib.sha256()
    for file in files:
        digest.update(str(file).encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def _take_over(root: Path, new: Path, keys: dict[str, str]) -> None:
    """Link the machine code of unchanged packages from the other folders; numba names a folder after a package's."""
    missing = dict(keys)
    for other in root.iterdir():
        try:
            known = json.loads((other / _MANIFEST).read_text())
        except (OSError, ValueError):
            continue
        for package in [name for name, key in missing.items() if known.get(name) == key]:
            del missing[package]
            for compiled in other.iterdir():
                if compiled.is_dir() and _package_of(compiled.name, keys) == package:
                    _link(compiled, new / compiled.name)


def _package_of(name: str, keys: dict[str, str]) -> str:
    """Return the package a folder of machine code belongs to: ``harness_fw_<sha1>`` to a plugin, ``kernels_<sha1>`` to the host."""
    stem = name.rpartition("_")[0]
    return stem if stem in keys else "harness"


def _link(source: Path, target: Path) -> None:
    target.mkdir(exist_ok=True)
    for file in source.iterdir():
        if not file.name.endswith(".tmp"):
            with contextlib.suppress(FileExistsError):
                os.link(file, target / file.name)  # numba replaces files, it does not write into them
