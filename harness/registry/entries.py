"""Plugins as a registry has them: loaded, broken, or a solver that a selection chose of one."""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

from harness.registry.plugin_files import digest, source_files
from harness.support.errors import PluginError, UsageError
from harness.support.faults import reason
from harness.support.printable import plain_line

if TYPE_CHECKING:
    from harness.solver.protocol import Solver

OWN = "svm-harness"
"""The distribution of the host and its plugins: of these, each depends on its own package alone."""


@dataclass(frozen=True)
class Plugin:
    """A loaded plugin: its name, module, distribution and version."""

    name: str
    module: ModuleType
    distribution: str
    version: str

    @property
    def release(self) -> str:
        """The distribution and its version; empty for a plugin that is not installed."""
        return f"{self.distribution} {self.version}".strip()

    @functools.cached_property
    def _source(self) -> tuple[Path, set[Path]]:
        return source_files(self.module, "" if self.distribution == OWN else self.distribution)

    @property
    def files(self) -> set[Path]:
        """The files that the plugin ships."""
        return self._source[1]

    @functools.cached_property
    def fingerprint(self) -> str:
        """SHA-256 of all that the plugin ships: a change of its code, compiled or not, makes stored results stale."""
        return digest(*self._source)


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
    """A solver chosen by a selection string, and the problem parameters of that string (``lasvm[C=10]``)."""

    plugin: str
    solver: Solver
    problem_values: dict[str, Any] = field(default_factory=dict)

    @functools.cached_property
    def label(self) -> str:
        """``lasvm[epochs=2,C=10]``, from the solver's label, which is computed once."""
        label = self.solver.label
        values = ",".join(f"{name}={value}" for name, value in self.problem_values.items())
        if not values:
            return label
        return f"{label[:-1]},{values}]" if label.endswith("]") else f"{label}[{values}]"


_place: ContextVar[str] = ContextVar("place", default="")  # the plugin whose code runs in this process, in words


def check_not_in_plugin(call: str) -> None:
    """Raise UsageError if a plugin's code makes a call that is for scripts: its import would repeat it without end."""
    if place := _place.get():
        raise UsageError(
            f'{call} was called {place}; put the call under `if __name__ == "__main__":`, so that the file can be imported.'
        )


@contextlib.contextmanager
def running_plugin(plugin: str, what: str = "its import") -> Iterator[None]:
    """Context in which a plugin's code runs in this process: what it prints goes to standard error.

    If the user or a signal ends it, the message names the plugin: it may be what took so long.

    Raises
    ------
    PluginError : the code raised what is no ``Exception``, `SystemExit` for one.
    KeyboardInterrupt : the user interrupted; its text names the plugin.
    """
    place = f"while plugin '{plain_line(plugin)}' was at {what}"

    def terminate(number: int, _frame: object) -> NoReturn:
        os.write(2, f"harness: ended by {signal.Signals(number).name} {place}.\n".encode(errors="replace"))
        os._exit(128 + number)

    in_main = threading.current_thread() is threading.main_thread()
    handler = signal.signal(signal.SIGTERM, terminate) if in_main else None
    token = _place.set(place)
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
            signal.signal(signal.SIGTERM, handler)
