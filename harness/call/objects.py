"""Solvers, data sets, kernels and formulations given as objects, and the selection strings that mean the same."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.call.data import data, renamed
from harness.call.values import as_list, text_of
from harness.datasets.dataset import Dataset, DataSource
from harness.datasets.files import FileSource
from harness.kernels.functions import Kernel
from harness.problems.problem import Problem
from harness.registry.entries import ConfiguredSolver
from harness.solver.protocol import Solver
from harness.support import parameters, selection
from harness.support.errors import UsageError
from harness.support.selection import Item

if TYPE_CHECKING:
    from harness.registry.discovery import Registry

_NO_POINTS = (str, Path, DataSource, Dataset)
_EXAMPLES = {"kernel": "rbf", "formulation": "c-svc"}


class Objects:
    """The objects of one call.

    registry : of the loaded plugins; those that define a given solver are added
    plugin_paths : files of the added plugins
    """

    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        self.plugin_paths: list[str] = []

    def resolve(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings that were given: solvers configured, data sets as sources, kernels and formulations by name.

        Raises
        ------
        UsageError : an object that a setting does not take; and as :func:`data` does.
        """
        settings = {name: value for name, value in given.items() if value is not None}
        if "plugins" in settings:
            settings["plugins"] = [self._solver(item) for item in as_list(settings["plugins"])]
        if "datasets" in settings:
            settings["datasets"] = list(self._datasets(settings["datasets"]))
        for name, kind in (("kernel", Kernel), ("formulation", Problem)):
            if name in settings:
                settings[name] = ",".join(_selections(settings[name], name, kind))
        if "core_set_oracle" in settings:
            settings["core_set_oracle"] = selection_text(self._solver(settings["core_set_oracle"]))
        settings["plugin_path"] = [*settings.get("plugin_path", []), *self.plugin_paths]
        return {name: value for name, value in settings.items() if not (name == "plugin_path" and not value)}

    def _solver(self, item: Any) -> Any:
        """Return a selection string as it is, a solver or its class as the solver of the plugin that defines it."""
        cls = item if inspect.isclass(item) else type(item)
        if isinstance(item, str):
            return item
        if not issubclass(cls, Solver):
            raise UsageError(f"plugins: {item!r:.80} is no solver; give its name, its class or an instance of it.")
        plugin = self._plugin(cls)
        values = {} if inspect.isclass(item) else parameters.changed(item)
        return ConfiguredSolver(plugin, self.registry.solver(selection.quoted(f"{plugin}/{cls.name}"), **values))

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
        for plugin, loaded in self.registry.plugins.items():  # imported here and, as a plugin, once more
            if Path(loaded.module.__file__ or "").resolve() == file and name in self.registry.solvers.get(plugin, {}):
                return plugin
        plugin = file.parent.name if file.name == "__init__.py" else file.stem
        self.registry.load_all([], [file])
        self.plugin_paths.append(str(file))
        if plugin in self.registry.broken:
            raise UsageError(self.registry.broken[plugin].sentence)
        if name not in self.registry.solvers.get(plugin, {}):
            raise UsageError(
                f"{file} does not define solver '{name}' when it is imported, or its hook harness_solvers does not return it; "
                f"move the class {cls.__name__} to the top level of the file, and add it to the hook."
            )
        return plugin

    def _datasets(self, value: Any, name: str = "") -> Iterable[str | DataSource]:
        """Yield data sets: selection strings, sources, arrays with labels, frames, or a dict of what is in memory.

        name : of what is in memory; a selection, a path and any other source have their own
        """
        if isinstance(value, str | Path) and not name:
            yield value if isinstance(value, str) else selection.text_of(Item(str(value)))
        elif isinstance(value, FileSource) and value.memory_name:
            yield renamed(value, name) if name else value
        elif isinstance(value, DataSource) and not name:
            if not isinstance(value, FileSource) and type(value) not in self.registry.datasets.values():
                raise UsageError(f"datasets: no plugin registers {type(value).__name__}; give its load() as a Dataset.")
            yield value
        elif isinstance(value, Dataset) or hasattr(value, "columns"):
            yield data(value, name=name)
        elif isinstance(value, tuple) and len(value) in (2, 4) and not isinstance(value[0], _NO_POINTS):
            yield data(*value[:2], **dict(zip(("X_test", "y_test"), value[2:], strict=False)), name=name)
        elif isinstance(value, Mapping):
            for key, part in value.items():
                yield from self._datasets(part, str(key))
        elif isinstance(value, list | tuple) and not name:
            for part in value:
                yield from self._datasets(part)
        else:
            also = "" if name else "a name, a path, a dict of what is in memory, "
            what = f"{name!r}: " * bool(name) + " ".join(f"{value!r:.80}".split())
            raise UsageError(
                f"datasets: {what} is no data set; give {also}(X, y), (X, y, X_test, y_test), a frame, a Dataset or "
                "what harness.data(...) returns."
            )


def selection_text(thing: Any) -> str:
    """Return the selection string that means a configured solver or a data source; a text as it is."""
    if isinstance(thing, str):
        return thing
    if isinstance(thing, ConfiguredSolver):
        name, values = f"{thing.plugin}/{thing.solver.name}", parameters.changed(thing.solver)
    else:
        name, values = thing.name, parameters.changed(thing)
    if isinstance(thing, FileSource):
        name = values.pop("path")
    return selection.text_of(Item(name, {key: [_parameter(value)] for key, value in values.items()}))


def _parameter(value: Any) -> str:
    """Return a parameter's value as a selection string has it: ``(1,2)`` of a tuple."""
    return parameters.as_text(value) if isinstance(value, tuple) else text_of(value)


def _selections(given: Any, setting: str, kind: type) -> Iterable[str]:
    """Yield selection strings of names, classes and configured kernels, or of a dict from these to parameters."""
    for item, values in (given if isinstance(given, Mapping) else dict.fromkeys(as_list(given))).items():
        cls = item if inspect.isclass(item) else type(item)
        if not (isinstance(item, str) or issubclass(cls, kind)) or isinstance(item, Problem):
            raise UsageError(
                f"{setting}: {item!r:.80} is no {setting}; give a name or a class: '{_EXAMPLES[setting]}'."
            )
        values = parameters.values_of(item) if isinstance(item, Kernel) else values or {}
        texts = {name: [_parameter(each) for each in as_list(value)] for name, value in values.items()}
        name = str(getattr(item, "name", item))
        yield selection.text_of(Item(name, texts)) if texts else name
