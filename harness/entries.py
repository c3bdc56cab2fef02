"""What a registry holds of each plugin: what was loaded, what was not, what was chosen of it, and its source's hash."""

from __future__ import annotations

import ast
import functools
import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.solver import Solver


@dataclass(frozen=True)
class Plugin:
    """A loaded plugin: its name, module, version, and the files that a change of its code changes."""

    name: str
    module: ModuleType
    distribution: str
    version: str

    @functools.cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the plugin's source files: a change of code makes stored results stale."""
        return source_sha256(self.module)


@dataclass(frozen=True)
class Broken:
    """A plugin that could not be loaded, and why, in a sentence."""

    plugin: str
    reason: str
    solver: str = ""  # the solver that could not be configured; empty: the whole plugin

    @property
    def sentence(self) -> str:
        """What is wrong, with the plugin's name."""
        return self.reason if self.solver else f"plugin '{self.plugin}' could not be loaded: {self.reason}"


@dataclass(frozen=True)
class Chosen:
    """A solver chosen by a selection string, with problem parameters set beside it (``lasvm[C=10]``)."""

    plugin: str
    solver: Solver
    problem_values: dict[str, Any] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """``lasvm[epochs=2,C=10]``."""
        own = self.solver.label
        extra = ",".join(f"{name}={value}" for name, value in self.problem_values.items())
        if not extra:
            return own
        return f"{own[:-1]},{extra}]" if own.endswith("]") else f"{own}[{extra}]"


def source_sha256(module: ModuleType) -> str:
    """Return the SHA-256 of a module's source: all .py files of its folder if it is a package, else it and its helpers."""
    path = Path(module.__file__ or "").resolve()
    files = sorted(path.parent.rglob("*.py")) if path.name == "__init__.py" else sorted(_with_helpers(path))
    digest = hashlib.sha256()
    for file in files:
        digest.update(str(file.relative_to(path.parent)).encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def _with_helpers(path: Path) -> set[Path]:
    """Return a plugin's file and the files beside it that it imports, at its top or later, by whatever way."""
    found: set[Path] = set()
    todo = [path]
    while todo:
        file = todo.pop()
        if file in found:
            continue
        found.add(file)
        try:
            tree = ast.parse(file.read_bytes())
        except (SyntaxError, ValueError, OSError):
            continue
        names = [name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names]
        names += [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        for first in {name.partition(".")[0] for name in names} - {""}:
            beside = path.parent / f"{first}.py"
            todo += [beside] if beside.is_file() else sorted((path.parent / first).rglob("*.py"))
    return found
