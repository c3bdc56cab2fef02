"""``study.toml``: what a comparison measures, as a file.

A key is the name of an option, its value what the option takes: a text, a number, or a list of these.

.. code-block:: toml

    plugins = ["lasvm[epochs=[1,2]]", "smo-block"]
    datasets = ["digits", "./my_data.csv"]  # a relative path is relative to the file
    C = [1, 10]
    time_limit = "5m"

    [path]
    gamma = [0.01, 0.1]

Options that say how a comparison is shown and where it is kept cannot stand in it: give them with the command. The keywords
of a call are read like the keys of a file.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from harness.call.settings import SETTINGS, Setting
from harness.datasets.fetching import is_address
from harness.support import parameters, selection
from harness.support.errors import UsageError
from harness.support.parameters import did_you_mean
from harness.support.printable import plain_line

if TYPE_CHECKING:
    from harness.registry.discovery import Registry

T = TypeVar("T")

OF_THE_COMMAND = ("study", "fresh", "yes", "dry_run", "cells", "store", "format", "output", "quiet")
"""Options that are no part of a study: how it is shown, where it is kept."""

_ELSEWHERE = {
    "solver": "plugins", "solvers": "plugins", "algorithm": "plugins", "algorithms": "plugins", "data": "datasets", "cost": "C",
    "timeout": "time-limit", "tol": "target-gap", "tolerance": "target-gap", "repetitions": "repeat", "n_jobs": "jobs",
}  # fmt: skip
"""What other programs call an option -> the option."""


@dataclass(frozen=True)
class StudyFile:
    """What a file, a call or a command says.

    source : what messages call it; empty: a command, whose keys are options
    folder : from which its relative paths lead; None: they are left as they are
    values : key -> what TOML makes of it
    """

    source: str
    folder: Path | None
    values: Mapping[str, Any]

    def called(self, key: str) -> str:
        """Return what messages call a key."""
        return f"{self.source}: {plain_line(key, 100)}" if self.source else f"--{key.replace('_', '-')}"


@dataclass
class Mistakes:
    """What is wrong with a request: gathered, so that all of it is said at once.

    where : name of a setting -> what messages call it where it was given
    """

    found: list[UsageError] = field(default_factory=list)
    where: dict[str, str] = field(default_factory=dict)

    def taken(self, name: str, read: Callable[..., T], *given: Any) -> T | None:
        """Return what ``read`` makes of what a setting is given; None, and one mistake more, if it does not take it."""
        try:
            return read(*given)
        except UsageError as error:
            self.add(name, error)
            return None

    def add(self, name: str, error: UsageError) -> None:
        """Note what is wrong with a setting; with none where ``name`` is empty."""
        where = self.where.get(name, name)
        self.found.append(type(error)(f"{where}: {error}" if where else str(error)))

    def refuse(self) -> None:
        """Raise UsageError if there are any: one as it is, several a line each."""
        if len(self.found) > 1:
            raise UsageError("\n  ".join([f"{len(self.found)} mistakes:", *map(str, self.found)]))
        for one in self.found:
            raise one


def parsed(path: str | Path) -> StudyFile:
    """Return what a file holds, not yet checked.

    Raises
    ------
    UsageError : it cannot be read, or is no TOML: with the line.
    """
    path = Path(path)
    try:
        return StudyFile(str(path), path.resolve().parent, tomllib.loads(path.read_text(encoding="utf-8-sig")))
    except (OSError, ValueError, RecursionError) as error:  # ValueError: no TOML, no UTF-8, no name of a file
        reason = plain_line(str(getattr(error, "strerror", None) or error).rstrip("."))
        raise UsageError(
            f"the study {plain_line(str(path), 200)} cannot be read: {reason}; a study is a file of lines key = value, as in "
            "C = [1, 10]."
        ) from None


def plugin_paths(file: StudyFile) -> list[str]:
    """Return the plugin files that a study names, from where it lies; they bring what else it names, so they come first."""
    given = file.values.get("plugin_path", file.values.get("plugin-path", []))
    return [str((file.folder or Path()) / str(text)) for text in (given if isinstance(given, list) else [given])]


def read(file: StudyFile, registry: Registry, mistakes: Mistakes) -> dict[str, Any]:
    """Return the settings that a study gives, by name, as their readers have them; what is wrong goes to ``mistakes``."""
    found = dict[str, Any]()
    for key, value in file.values.items():
        name = key.replace("-", "_")
        mistakes.where[name] = file.called(key)
        if name not in SETTINGS:
            mistakes.add(name, UsageError(_unknown(key, registry)))
        elif (taken := mistakes.taken(name, _taken, SETTINGS[name], value, file.folder, registry)) is not None:
            found[name] = taken
    return found


def _unknown(key: str, registry: Registry) -> str:
    """Return why a key is none."""
    name = key.replace("-", "_")
    if name in OF_THE_COMMAND:
        return f"it is no part of a study; give --{name.replace('_', '-')} with the command."
    told = near(name, SETTINGS) + in_brackets(name, registry)
    return f"there is no such option{told}; `harness compare --help-all` shows all."


def near(name: str, known: Iterable[str]) -> str:
    """Return which option may be meant by one that is none, also by what other programs call it."""
    meant = _ELSEWHERE.get(name.replace("-", "_"))
    return f" (did you mean '{meant}'?)" if meant else did_you_mean(name, known) if len(name) < 100 else ""


def in_brackets(name: str, registry: Registry) -> str:
    """Return how a parameter of a formulation or a kernel is written: the end of a sentence on an option that is none."""
    owners = {
        "formulation": list(registry.problem_parameters().get(name, {})),
        "kernel": [
            kernel
            for kernel, cls in registry.kernels.items()
            if name in {known.name for known in parameters.parameters_of(cls)}
        ],
    }
    for option, names in owners.items():
        if names:
            return f"; write --{option} '{names[0]}[{name}=...]', as it is a parameter of {', '.join(names)}"
    return ""


def _taken(setting: Setting, value: Any, folder: Path | None, registry: Registry) -> Any:
    """Return a value as the setting's reader has it."""
    if setting.reader is None:
        if not isinstance(value, bool):
            raise UsageError(f"must be true or false, not {text_of(value)!r}.")
        return value
    if not setting.several:
        return setting.reader(text_of(value))
    texts = [text_of(each) for each in (value if isinstance(value, list) else [value])]
    if folder is None:
        return texts
    if setting.name == "plugin_path":
        return [str(folder / text) for text in texts]
    return [_from(folder, text, registry) for text in texts] if setting.name == "datasets" else texts


def text_of(value: Any) -> str:
    """Return a value as the command line has it: lists with commas, a table of axes as ``C=[1,10],gamma=[0.1]``.

    Raises
    ------
    UsageError : it is something else.
    """
    if isinstance(value, list):
        return ",".join(map(text_of, value))
    if isinstance(value, Mapping):
        return ",".join(f"{axis}=[{text_of(values)}]" for axis, values in value.items())
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int | float):
        return str(value)
    raise UsageError(f"{plain_line(str(value), 80)} is not a text, a number or a list of these.")


def _from(folder: Path, text: str, registry: Registry) -> str:
    """Return a selection of data sets, the paths in it absolute that lead from a folder."""
    items, changed = [], False
    for item in [selection.Item(text)] if selection.is_file(folder / text) else selection.parse(text):
        wild = os.sep not in item.name and any(character in item.name for character in "*?")
        if wild or item.name in registry.datasets or not selection.is_path(item.name, folder):
            items.append(item)
            continue
        values = {
            key: [_absolute(folder, each) for each in given] if key == "test" else given
            for key, given in item.values.items()
        }
        items.append(selection.Item(_absolute(folder, item.name), values))
        changed = True
    return ",".join(map(selection.text_of, items)) if changed else text


def _absolute(folder: Path, path: str) -> str:
    return path if is_address(path) else str((folder / Path(path).expanduser()).resolve())
