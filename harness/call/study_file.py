"""``study.toml``: what a comparison measures, as a file.

A key is the name of an option, its value what the option takes: a text, a number, or a list of these.

.. code-block:: toml

    plugins = ["lasvm[epochs=[1,2]]", "smo-block"]
    datasets = ["digits", "./my_data.csv"]  # a relative path is relative to the file
    C = [1, 10]
    time_limit = "5m"

    [path]
    gamma = [0.1, 1]

Options that say how a comparison is shown and where it is stored cannot stand in it: give them with the command. The keywords
of a call are read like the keys of a file.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from harness.call.settings import SETTINGS
from harness.call.values import SELECTION, as_list, text_of
from harness.datasets.dataset import DataSource
from harness.datasets.fetching import is_address
from harness.registry.entries import ConfiguredSolver
from harness.support import selection
from harness.support.errors import UsageError
from harness.support.parameters import did_you_mean
from harness.support.printable import plain_line
from harness.support.selection import Item

if TYPE_CHECKING:
    from harness.registry.discovery import Registry

T = TypeVar("T")

OF_THE_COMMAND = ("study", "fresh", "yes", "dry_run", "cells", "store", "format", "output", "quiet")
"""Options that are no part of a study: how it is shown, where it is stored."""


@dataclass(frozen=True)
class StudyFile:
    """The settings of a file, a call or a command, as they were given.

    source : what messages call it; empty: a command, whose keys are options
    folder : where its relative paths begin; None: they are left as they are
    values : key -> what TOML or Python has
    """

    source: str
    folder: Path | None
    values: Mapping[str, Any]

    def called(self, key: str) -> str:
        """Return what messages call a key."""
        return f"{self.source}: {plain_line(key, 100)}" if self.source else f"--{key.replace('_', '-')}"

    @property
    def plugin_paths(self) -> list[str]:
        """The plugin files that it names; they register what else it names, so they are loaded first."""
        given = as_list(self.values.get("plugin_path", self.values.get("plugin-path", [])))
        return [str((self.folder or Path()) / str(path)) for path in given]


@dataclass
class Mistakes:
    """What is wrong with a request: gathered, so that the user reads all of it at once.

    where : name of a setting -> what messages call it where it was given
    """

    errors: list[UsageError] = field(default_factory=list)
    where: dict[str, str] = field(default_factory=dict)

    def collect(self, name: str, read: Callable[..., T], *given: Any) -> T | None:
        """Return what ``read`` makes of the values of a setting; None, and one mistake more, if it refuses them."""
        try:
            return read(*given)
        except UsageError as error:
            self.add(name, error)
            return None

    def add(self, name: str, error: UsageError) -> None:
        """Add what is wrong with a setting; with none where ``name`` is empty."""
        where = self.where.get(name, name)
        self.errors.append(type(error)(f"{where}: {error}" if where else str(error)))

    def refuse(self) -> None:
        """Raise UsageError if there are any: one as it is, several a line each."""
        if len(self.errors) > 1:
            raise UsageError("\n  ".join([f"{len(self.errors)} mistakes:", *map(str, self.errors)]))
        for error in self.errors:
            raise error


def parsed(path: str | Path) -> StudyFile:
    """Return the content of a file, not yet checked.

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


def read(file: StudyFile, registry: Registry, mistakes: Mistakes) -> dict[str, Any]:
    """Return the settings of a study by name, selections as lists of items; what is wrong goes to ``mistakes``."""
    settings = dict[str, Any]()
    for key, value in file.values.items():
        name = key.replace("-", "_")
        mistakes.where[name] = file.called(key)
        if name in SETTINGS:
            given = mistakes.collect(name, _read, file, name, value, registry, mistakes)
            settings |= {name: given} if given is not None else {}
        elif name in OF_THE_COMMAND:
            option = f"--{name.replace('_', '-')}"
            mistakes.add(name, UsageError(f"it is no part of a study; give {option} with the command."))
        else:
            near = did_you_mean(name, SETTINGS) if len(name) < 100 else ""
            mistakes.add(name, UsageError(f"there is no such option{near}; `harness compare --help-all` lists all."))
    return settings


def _read(file: StudyFile, name: str, value: Any, registry: Registry, mistakes: Mistakes) -> Any:
    """Return a setting's value: of a selection its items but refused ones, else what the setting's reader returns."""
    setting = SETTINGS[name]
    if setting.reader is None:
        if not isinstance(value, bool):
            raise UsageError(f"must be true or false, not {text_of(value)!r}.")
        return value
    if name == "plugin_path":
        return file.plugin_paths
    if setting.reader is SELECTION:
        parts = (mistakes.collect(name, _items, file, part, registry, name == "datasets") for part in as_list(value))
        return [item for items in parts for item in items or ()]
    return setting.reader(value)


def _items(file: StudyFile, given: Any, registry: Registry, paths: bool) -> list[Any]:
    """Return the items of a selection string, paths of a study from its folder; a solver or a data source as it is."""
    if isinstance(given, ConfiguredSolver | DataSource):
        return [given]
    text, folder = text_of(given), file.folder if paths else None
    if folder is None:
        return selection.parse(text, paths=paths)
    whole = selection.quoted(text) != text and selection.is_file(folder / text)
    return [_located(item, folder, registry) for item in ([Item(text)] if whole else selection.parse(text))]


def _located(item: Item, folder: Path, registry: Registry) -> Item:
    """Return an item whose path begins in a folder with an absolute one; names and patterns of data sets as they are."""
    wild = os.sep not in item.name and any(character in item.name for character in "*?")
    if wild or registry.resolve("data set", item.name) in registry.datasets or not selection.is_path(item.name, folder):
        return item
    tests = {"test": [_absolute(folder, path) for path in item.values["test"]]} if "test" in item.values else {}
    return Item(_absolute(folder, item.name), item.values | tests)


def _absolute(folder: Path, path: str) -> str:
    return path if is_address(path) else str((folder / Path(path).expanduser()).resolve())
