"""The files of a plugin: found by a path, imported, and hashed with all that a change of its code changes."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import re
import sys
from collections.abc import Callable, Iterable
from importlib import metadata
from importlib.machinery import EXTENSION_SUFFIXES, SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

from harness.support.errors import PluginError, UsageError
from harness.support.printable import plain_line

_SUFFIXES = (".py", *EXTENSION_SUFFIXES)
_from_path: set[str] = set()  # names of modules that came from a plugin path


def plugin_file(given: str | Path) -> Path:
    """Return the file of a plugin that is named by a file or a package's folder.

    Raises
    ------
    UsageError : it is neither.
    """
    what = "does not exist"
    try:
        path = Path(given).resolve()
        file = path / "__init__.py" if path.is_dir() else path
        if file.is_file() and file.suffix == ".py":
            return file
        if path.exists():
            what = "is a folder without __init__.py" if path.is_dir() else "is no Python file"
    except (OSError, ValueError, TypeError) as error:  # too long for a name, a null byte, a number
        what = f"cannot be read ({getattr(error, 'strerror', None) or error})"
    name = plain_line(str(given), 200)
    raise UsageError(f"plugin path {name} {what}; --plugin-path takes a .py file or a package folder.")


def module_name(file: Path) -> str:
    """Return the name of the module, and so of the plugin, in a file: that of the folder for a package's ``__init__.py``."""
    return file.parent.name if file.name == "__init__.py" else file.stem


class _FreshSource(SourceFileLoader):
    """Loader that runs the source as it is now: a .pyc may be of another state with the same size, written in the same second."""

    def path_stats(self, path: Any) -> Any:
        """Raise OSError, so that no .pyc is read or written."""
        raise OSError(f"{path} is read anew")


def module_from(file: Path) -> ModuleType:
    """Import a plugin from a file, or from a package's ``__init__.py``, under its name.

    Raises
    ------
    PluginError : another module has this name; whatever the file raises.
    """
    name = _import_name(file)
    if name not in _from_path and _is_taken(name, file):
        raise PluginError(f"{file} has the name of the Python module '{name}'; rename it.")
    imported = sys.modules.get(name) if name not in _from_path else None  # by a script, which goes on with it
    for stale in [known for known in sys.modules if known == name or known.startswith(f"{name}.")]:
        del sys.modules[stale]
    folders = [str(file.parent)] if file.name == "__init__.py" else None
    loader = _FreshSource(name, str(file))
    spec = importlib.util.spec_from_file_location(name, file, loader=loader, submodule_search_locations=folders)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        loader.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    finally:
        if imported is not None:
            sys.modules[name] = imported
        else:
            _from_path.add(name)
    return module


def _import_name(file: Path) -> str:
    """Return the name under which a file is imported: that within its package if it has relative imports."""
    name, folder = module_name(file), file.parent
    if file.name != "__init__.py" and re.search(rb"^\s*from\s+\.", file.read_bytes(), re.MULTILINE):
        while (folder / "__init__.py").is_file():
            name, folder = f"{folder.name}.{name}", folder.parent
    return name


def _is_taken(name: str, file: Path) -> bool:
    """Return whether a module in another file has a name: one of Python's, an imported one, or an installed one."""
    if name in sys.stdlib_module_names:
        return True
    if name in sys.modules:
        return Path(getattr(sys.modules[name], "__file__", None) or "").resolve() != file
    spec = importlib.util.find_spec(name) if name.isidentifier() else None
    return spec is not None and spec.origin is not None and Path(spec.origin).resolve() != file


def source_files(module: ModuleType, distribution: str = "") -> tuple[Path, set[Path]]:
    """Return what a module ships, and the folder above: all files of its folder if it is a package, else it and its helpers.

    distribution : whose other modules count too, compiled ones among them, as its RECORD lists them
    """
    path = Path(module.__file__ or "").resolve()
    is_package = path.name == "__init__.py"
    root = path.parent.parent if is_package else path.parent
    listed = (metadata.files(distribution) or []) if distribution else []
    files = {Path(str(file.locate())).resolve() for file in listed}
    files |= set(path.parent.rglob("*")) if is_package else with_imports([path], sibling_files)
    return root, {file for file in files if file.is_relative_to(root)}


def digest(root: Path, files: Iterable[Path]) -> str:
    """Return the SHA-256 of the files below ``root`` that can change what runs, names and contents."""
    sha256 = hashlib.sha256()
    for file in sorted(file for file in files if _is_code(file.relative_to(root)) and file.is_file()):
        sha256.update(str(file.relative_to(root)).encode() + b"\0" + file.read_bytes())
    return sha256.hexdigest()


def _is_code(name: Path) -> bool:
    """Return whether a file can change what runs: no cache can, nor what pip writes, which has the time of installing."""
    return "__pycache__" not in name.parts and not any(part.endswith(".dist-info") for part in name.parts)


def imported_modules(file: Path) -> set[str]:
    """Return the modules that a file imports by name, at its top or later; none if it is no Python."""
    if file.suffix != ".py":
        return set()
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError, OSError):
        return set()
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            package = [node.module] if node.module else []  # none in `from . import parts`
            names |= {*package, *(".".join([*package, name.name]) for name in node.names)}
    return names


def with_imports(files: Iterable[Path], locate: Callable[[Path, str], Iterable[Path]]) -> set[Path]:
    """Return files and all that they import, as far as ``locate(file, module)`` returns the files of a module."""
    reached: set[Path] = set()
    todo = list(files)
    while todo:
        file = todo.pop()
        if file not in reached:
            reached.add(file)
            todo += [path for module in imported_modules(file) for path in locate(file, module)]
    return reached


def sibling_files(file: Path, module: str) -> list[Path]:
    """Return the files of a module, compiled or not, in the folder of a plugin's one file."""
    name = module.partition(".")[0]
    files = [path for suffix in _SUFFIXES if (path := file.parent / f"{name}{suffix}").is_file()]
    return files or list((file.parent / name).rglob("*"))
