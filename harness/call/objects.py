"""Solvers, data sets, kernels and formulations as objects: turned into the settings of a study file."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.call.data import data, renamed
from harness.datasets.dataset import Dataset, DataSource
from harness.datasets.files import FileSource
from harness.kernels.functions import Kernel
from harness.problems.problem import Problem
from harness.solver.protocol import Solver
from harness.support import parameters
from harness.support.errors import UsageError
from harness.support.selection import Item, text_of

if TYPE_CHECKING:
    from harness.registry.discovery import Registry

_NO_POINTS = (str, Path, DataSource, Dataset)
_EXAMPLES = {"kernel": "rbf", "formulation": "c-svc"}


class Objects:
    """What a call is given, as settings.

    registry : of the plugins that are known; those that hold the solvers given are added
    """

    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        self._own_paths: list[str] = []

    def settings(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings as a study file has them: text, numbers, truth values, lists of these.

        Raises
        ------
        UsageError : an object that means none of what a setting takes; and as :func:`data` does.
        """
        found: dict[str, Any] = {}
        for name, value in given.items():
            if value is None:
                continue
            if name in ("plugins", "core_set_oracle"):
                found[name] = [self.solver(each, name) for each in _listed(value)]
            elif name == "datasets":
                found[name] = list(self.datasets(value))
            elif name in ("kernel", "formulation"):
                found[name] = ",".join(_selected(value, name, Kernel if name == "kernel" else Problem))
            else:
                found[name] = plain(value)
        if paths := [*found.pop("plugin_path", []), *self._own_paths]:
            found["plugin_path"] = paths
        return found

    def solver(self, item: Any, option: str) -> str:
        """Return the selection that means a solver: its name, its class or an instance."""
        if isinstance(item, str):
            return item
        cls = item if inspect.isclass(item) else type(item)
        if not issubclass(cls, Solver):
            raise UsageError(f"{option}: {item!r:.80} is no solver; give its name, its class or an instance of it.")
        values = {} if inspect.isclass(item) else parameters.changed(item)
        try:
            texts = {name: [_text(value)] for name, value in values.items()}
        except TypeError:
            raise UsageError(
                f"{option}: {item!r:.200} has a parameter that is no number and no text; give it by name."
            ) from None
        return text_of(Item(f"{self._plugin(cls)}/{cls.name}", texts))

    def _plugin(self, cls: type[Solver]) -> str:
        """Return the name of the plugin that a class is of: of the file that defines it if no loaded plugin has it.

        Raises
        ------
        UsageError : no file defines the class, or the file cannot be loaded as a plugin.
        """
        name = getattr(cls, "name", "")
        for plugin, solvers in self.registry.solvers.items():
            if solvers.get(name) is cls:
                return plugin
        file = Path(getattr(sys.modules.get(cls.__module__), "__file__", None) or "").resolve()
        if not file.is_file() or cls.__qualname__ != cls.__name__:
            raise UsageError(
                f"solver '{name}' is defined in a notebook cell, at a prompt or within a function, where the processes of its "
                "runs cannot import it. In a notebook, put %%writefile my_solver.py on the cell's first line, the hook "
                f"harness_solvers into it, and call harness.compare('{name}', plugin_path='my_solver.py'). In a script, move "
                "the class to the top level."
            )
        for plugin, known in self.registry.plugins.items():  # imported here and, as a plugin, once more
            if Path(known.module.__file__ or "").resolve() == file and name in self.registry.solvers.get(plugin, {}):
                return plugin
        plugin = file.parent.name if file.name == "__init__.py" else file.stem
        self.registry.load_all([], [file])
        self._own_paths.append(str(file))
        if plugin in self.registry.broken:
            raise UsageError(self.registry.broken[plugin].sentence)
        if name not in self.registry.solvers.get(plugin, {}):
            raise UsageError(
                f"{file} does not define solver '{name}' when it is imported, or its hook harness_solvers does not return it; "
                f"move the class {cls.__name__} to the top level of the file, and add it to the hook."
            )
        return plugin

    def datasets(self, value: Any, name: str = "") -> Iterable[str]:
        """Yield the selections that mean data sets: names, sources, arrays with labels, frames, or a dict of what is in memory.

        name : of what is in memory; a name, a path and any other source have their own
        """
        if isinstance(value, str) and not name:
            yield value
        elif isinstance(value, Path) and not name:
            yield text_of(Item(str(value)))
        elif isinstance(value, DataSource) and not name:
            yield self._source(value)
        elif isinstance(value, FileSource) and value.memory_name:
            yield self._source(renamed(value, name))
        elif isinstance(value, Dataset) or hasattr(value, "columns"):
            yield self._source(data(value, name=name))
        elif isinstance(value, tuple) and len(value) in (2, 4) and not isinstance(value[0], _NO_POINTS):
            tested = dict(zip(("X_test", "y_test"), value[2:], strict=False))
            yield self._source(data(*value[:2], **tested, name=name))
        elif isinstance(value, Mapping):
            for key, each in value.items():
                yield from self.datasets(each, str(key))
        elif isinstance(value, list | tuple) and not name:
            for each in value:
                yield from self.datasets(each)
        else:
            what, also = (f"{name!r}: ", "") if name else ("", "a name, a path, a dict of what is in memory, ")
            raise UsageError(
                f"datasets: {what}a {type(value).__name__} is no data set; give {also}(X, y), (X, y, X_test, y_test), a frame, a "
                "Dataset or what harness.data(...) returns."
            )

    def _source(self, source: DataSource) -> str:
        values = {name: [_text(value)] for name, value in parameters.changed(source).items() if name != "path"}
        cls = type(source)
        if cls is not FileSource and self.registry.datasets.get(cls.name) is not cls:
            raise UsageError(
                f"datasets: {cls.__name__} is a source that no plugin registers; give its load() as a Dataset."
            )
        return text_of(Item(source.path if isinstance(source, FileSource) else cls.name, values))


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple | set | frozenset) else [value]


def _text(value: Any) -> str:
    value = parameters.as_text(value) if isinstance(value, tuple) else plain(value)
    if isinstance(value, bool | None):
        return str(value).lower()
    if isinstance(value, str | int | float):
        return str(value)
    raise TypeError(value)


def plain(value: Any) -> Any:
    """Return numbers, texts and lists of them as TOML would have them: those of NumPy, tuples, ranges and paths too."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, range) and value.step == 1 and len(value):
        return f"{value[0]}-{value[-1]}"
    if isinstance(value, Mapping):
        return {_name(key): plain(each) for key, each in value.items()}
    if hasattr(value, "to_list"):  # a series
        value = value.to_list()
    if isinstance(value, list | tuple | set | frozenset | range):
        return ["none" if each is None else plain(each) for each in value]
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 10_000:
        raise UsageError("a number has too many digits.")
    return value


def _name(thing: Any) -> str:
    return str(getattr(thing, "name", thing))


def _selected(given: Any, setting: str, kind: type) -> Iterable[str]:
    """Yield the selections that names, classes and a configured kernel mean, or a dict from these to parameters."""
    asked = given if isinstance(given, Mapping) else dict.fromkeys(_listed(given))
    for item, own in asked.items():
        cls = item if inspect.isclass(item) else type(item)
        if not (isinstance(item, str) or issubclass(cls, kind)) or isinstance(item, Problem):
            raise UsageError(
                f"{setting}: {item!r:.80} is none; give its name or its class, as in {setting}='{_EXAMPLES[setting]}'."
            )
        values = parameters.values_of(item) if isinstance(item, Kernel) else own or {}
        texts = {name: [_text(each) for each in _listed(plain(value))] for name, value in values.items()}
        yield text_of(Item(_name(item), texts)) if texts else _name(item)
