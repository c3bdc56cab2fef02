"""What a registry holds of each plugin: what was loaded, what was not, what was chosen of it, and its source's hash."""

from __future__ import annotations

import ast
import contextlib
import functools
import hashlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from importlib import metadata
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

from harness.support.errors import PluginError, UsageError
from harness.support.faults import reason
from harness.support.printable import plain_line

if TYPE_CHECKING:
    from harness.solver.protocol import Solver

OWN = "svm-harness"
"""The distribution of the host and its plugins: of these, each depends on its own package alone."""


@dataclass(frozen=True)
class Plugin:
    """A loaded plugin: its name, module, version, and the files that a change of its code changes."""

    name: str
    module: ModuleType
    distribution: str
    version: str

    @property
    def release(self) -> str:
        """The distribution and its version; empty for a plugin that is not installed."""
        return f"{self.distribution} {self.version}".strip()

    @functools.cached_property
    def fingerprint(self) -> str:
        """SHA-256 of all that the plugin ships: a change of its code, compiled or not, makes stored results stale."""
        return source_sha256(self.module, "" if self.distribution == OWN else self.distribution)


@dataclass(frozen=True)
class BrokenPlugin:
    """A plugin that could not be loaded, and why, in a sentence."""

    plugin: str
    reason: str
    solver: str = ""  # the solver that could not be configured; empty: the whole plugin

    @property
    def sentence(self) -> str:
        """What is wrong, with the plugin's name."""
        return self.reason if self.solver else f"plugin '{self.plugin}' could not be loaded: {self.reason}"


@dataclass(frozen=True)
class ConfiguredSolver:
    """A solver chosen by a selection string, with problem parameters set beside it (``lasvm[C=10]``)."""

    plugin: str
    solver: Solver
    problem_values: dict[str, Any] = field(default_factory=dict)

    @functools.cached_property
    def label(self) -> str:
        """``lasvm[epochs=2,C=10]``; the solver is asked once."""
        own = self.solver.label
        extra = ",".join(f"{name}={value}" for name, value in self.problem_values.items())
        if not extra:
            return own
        return f"{own[:-1]},{extra}]" if own.endswith("]") else f"{own}[{extra}]"


_MODULES = (".py", *EXTENSION_SUFFIXES)
_place: ContextVar[str] = ContextVar("place", default="")  # which plugin's code runs in this process


def check_not_in_plugin(call: str) -> None:
    """Raise UsageError if a plugin's code makes a call that is for scripts: its import would repeat it without end."""
    if place := _place.get():
        raise UsageError(
            f'{call} was called {place}; put the call under `if __name__ == "__main__":`, so that the file can be imported.'
        )


@contextlib.contextmanager
def code_of(plugin: str, what: str = "its import") -> Iterator[None]:
    """Context in which a plugin's code runs in this process: what it prints goes to standard error.

    If the user or a signal ends it, the message names the plugin: it may be what took so long.

    Raises
    ------
    PluginError : the code raised what is no ``Exception``, `SystemExit` for one.
    KeyboardInterrupt : the user interrupted; its text names the plugin.
    """
    place = f"while plugin '{plain_line(plugin)}' was at {what}"

    def ended(number: int, _frame: object) -> NoReturn:
        os.write(2, f"harness: ended by {signal.Signals(number).name} {place}.\n".encode(errors="replace"))
        os._exit(128 + number)

    token = _place.set(place)
    in_main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGTERM, ended) if in_main else None
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    except KeyboardInterrupt:
        raise KeyboardInterrupt(place) from None
    except (Exception, GeneratorExit):  # the latter where an interrupt came between
        raise
    except BaseException as error:
        raise PluginError(reason(error)) from error
    finally:
        _place.reset(token)
        if in_main:
            signal.signal(signal.SIGTERM, before)


def source_sha256(module: ModuleType, distribution: str = "") -> str:
    """Return the SHA-256 of what a module ships: all files of its folder if it is a package, else it and its helpers.

    distribution : whose other modules count too, compiled ones among them, as its RECORD lists them
    """
    path = Path(module.__file__ or "").resolve()
    is_package = path.name == "__init__.py"
    root = path.parent.parent if is_package else path.parent
    listed = (metadata.files(distribution) or []) if distribution else []
    files = {Path(str(file.locate())).resolve() for file in listed}
    files |= set(path.parent.rglob("*")) if is_package else closure([path], beside)
    return digest(root, (file for file in files if file.is_relative_to(root)))


def _is_code(name: Path) -> bool:
    """Return whether a file can change what runs: caches cannot, nor can what pip writes, which has the time of installing."""
    return "__pycache__" not in name.parts and not any(part.endswith(".dist-info") for part in name.parts)


def digest(root: Path, files: Iterable[Path]) -> str:
    """Return the SHA-256 of the files below ``root`` that can change what runs, names and contents."""
    found = hashlib.sha256()
    for file in sorted(file for file in files if _is_code(file.relative_to(root)) and file.is_file()):
        found.update(str(file.relative_to(root)).encode() + b"\0" + file.read_bytes())
    return found.hexdigest()


def imported(file: Path) -> set[str]:
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
            names |= {".".join(filter(None, (node.module, name.name))) for name in node.names}
    return names


def closure(files: Iterable[Path], located: Callable[[Path, str], Iterable[Path]]) -> set[Path]:
    """Return files and all that they import, as far as ``located(file, module)`` knows where it is."""
    found: set[Path] = set()
    todo = list(files)
    while todo:
        file = todo.pop()
        if file not in found:
            found.add(file)
            todo += [each for module in imported(file) for each in located(file, module)]
    return found


def beside(file: Path, module: str) -> list[Path]:
    """Return the files of a module, compiled or not, that stands beside a plugin's one file."""
    first = module.partition(".")[0]
    own = [found for suffix in _MODULES if (found := file.parent / f"{first}{suffix}").is_file()]
    return own or list((file.parent / first).rglob("*"))
