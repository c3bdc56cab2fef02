"""Discovery: which plugins are installed, and which of what they add a selection string means."""

from __future__ import annotations

import fnmatch
import functools
import importlib
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness import hookspecs, parameters, selection
from harness.entries import Broken, Chosen, Plugin, code_of, last_line
from harness.errors import UsageError
from harness.parameters import did_you_mean
from harness.registered import Registered

if TYPE_CHECKING:
    from harness.datasets.dataset import DataSource
    from harness.solver import Solver


class Registry(Registered):
    """Everything the plugins registered, and what selections choose of it."""

    def _matches(self, name: str) -> list[tuple[str, type[Solver]]]:
        """Return (plugin, class) pairs a name or pattern means: a solver, else all solvers of a plugin."""
        everything = [(plugin, cls) for plugin, solvers in self.solvers.items() for cls in solvers.values()]
        exact = [(plugin, cls) for plugin, cls in everything if name in (cls.name, f"{plugin}/{cls.name}")]
        if exact:
            return exact
        if name in self.solvers:
            return [(name, cls) for cls in self.solvers[name].values()]
        if any(character in name for character in "*?"):
            return [
                (plugin, cls)
                for plugin, cls in everything
                if fnmatch.fnmatchcase(cls.name, name) or fnmatch.fnmatchcase(f"{plugin}/{cls.name}", name)
            ]
        return []

    def select_solvers(self, texts: str | Iterable[str]) -> list[Chosen | Broken]:
        """Return the configured solvers that selection strings mean, in order, without repetition.

        A plugin that is broken stands in the list with its reason, so that it becomes a row.

        Raises
        ------
        UsageError : an unknown name or parameter, or a value of the wrong type or range.
        """
        chosen: list[Chosen | Broken] = []
        for item in selection.parse(texts):
            plugin = item.name.partition("/")[0]
            matches = self._matches(item.name)
            if not matches and plugin in self.broken:
                chosen.append(self.broken[plugin])
                continue
            if not matches:
                raise UsageError(self._unknown("solver", item.name))
            of_the_problem = self._of_the_problem()
            for owner, cls in matches:
                chosen.extend(_configured(owner, cls, cell, of_the_problem) for cell in item.grid())
        unique = {(c.plugin, c.label if isinstance(c, Chosen) else f"{c.solver} {c.reason}"): c for c in chosen}
        if not unique:
            raise UsageError("no solver is selected; name at least one, for example --plugins lasvm,fw.")
        return list(unique.values())

    def select_datasets(self, texts: str | Iterable[str]) -> list[DataSource]:
        """Return the data sources that selection strings mean; a path to a file is a data source too."""
        from harness.datasets import FileSource

        sources: list[DataSource] = []
        for item in selection.parse(texts, paths=True):
            names = [item.name] if item.name in self.datasets else []
            if not names and any(c in item.name for c in "*?") and os.sep not in item.name:
                names = [name for name in self.datasets if fnmatch.fnmatchcase(name, item.name)]
            for cell in item.grid():
                for name in names:
                    cls = self.datasets[name]
                    sources.append(cls(**parameters.validated(cls, cell, owner=f"data set '{name}'")))
                if not names and selection.is_path(item.name):
                    values = parameters.validated(
                        FileSource, {**cell, "path": item.name}, owner=f"data file '{item.name}'"
                    )
                    sources.append(FileSource(**values))
                elif not names:
                    near = did_you_mean(item.name, self.datasets)
                    raise UsageError(
                        f"there is no data set called '{item.name}'{near}; `harness list datasets` shows what there is, "
                        f"and a path to a file works too (./my_data.csv), with commas in double quotes{self._broken_ones()}"
                    )
        if not sources:
            raise UsageError("no data set is selected; name at least one, for example --datasets digits.")
        return list(dict.fromkeys(sources))

    def select_kernels(self, texts: str | Iterable[str]) -> list[tuple[str, dict[str, str]]]:
        """Return the kernels that selection strings such as ``rbf[gamma=[0.1,1]],linear`` mean: names and parameters.

        Raises
        ------
        UsageError : an unknown name or parameter, or a value of the wrong type or range; ``gamma=scale`` is left to the
            data.
        """
        chosen = []
        for item in selection.parse(texts):
            cls = self.kernel_class(item.name)
            for cell in item.grid():
                numbers = {name: "1" if (name, value) == ("gamma", "scale") else value for name, value in cell.items()}
                parameters.validated(cls, numbers, owner=f"kernel '{item.name}'")
                chosen.append((item.name, cell))
        if not chosen:
            raise UsageError("no kernel is selected; name at least one, for example --kernel rbf.")
        return chosen

    def select_formulations(self, texts: str | Iterable[str]) -> dict[str, dict[str, list[Any]]]:
        """Return the formulations that selection strings such as ``c-svc,ramp-svc[s=[-1,0]]`` mean, and what each is given.

        Raises
        ------
        UsageError : an unknown name or parameter, a value of the wrong type or range, a formulation that is named twice.
        """
        chosen: dict[str, dict[str, list[Any]]] = {}
        for item in selection.parse(texts):
            cls, owner = self.formulation(item.name), f"formulation '{item.name}'"
            if item.name in chosen:
                raise UsageError(f"{owner} is named twice; write a grid: {item.name}[C=[1,10]].")
            chosen[item.name] = {
                name: [parameters.validated(cls.parameter_class, {name: each}, owner=owner)[name] for each in given]
                for name, given in item.values.items()
            }
        if not chosen:
            raise UsageError("no formulation is selected; name at least one, for example --formulation c-svc.")
        return chosen


def _configured(
    plugin: str, cls: type[Solver], cell: Mapping[str, str], of_the_problem: Collection[str]
) -> Chosen | Broken:
    """Split a cell of a grid into the solver's parameters and the problem's, and configure the solver.

    A solver whose own code raises meanwhile stands in the list with its reason.
    """
    own = {known.name for known in parameters.parameters_of(cls)}
    problem_values: dict[str, Any] = {}
    solver_values: dict[str, Any] = {}
    for name, value in cell.items():
        if name in of_the_problem and name not in own:
            problem_values[name] = _scalar(value)
        else:
            solver_values[name] = value
    values = parameters.validated(cls, solver_values, owner=f"solver '{cls.name}'")
    try:
        with code_of(plugin, f"the configuration of its solver '{cls.name}'"):
            chosen = Chosen(plugin, cls(**values), problem_values)
            parameters.values_of(chosen.solver)
            hash(chosen.label)
    except UsageError:
        raise  # the solver's own sentence on a value
    except Exception as error:
        return Broken(plugin, f"solver '{cls.name}' could not be configured: {last_line(error)}", cls.name)
    return chosen


def _scalar(text: str) -> Any:
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            continue
    return text


def _builtin(registry: Registry) -> None:
    """Register what comes with the host, through the same door as a plugin's."""
    module = importlib.import_module("harness.builtin")
    registry.register("harness", module)
    registry.plugins["harness"] = Plugin("harness", module, "", "")


def installed() -> list[EntryPoint]:
    """Return the entry points of the installed plugins in the order of their names, without disabled ones."""
    blocked = {name.strip() for name in os.environ.get("HARNESS_DISABLE_PLUGINS", "").split(",") if name.strip()}
    found = sorted(entry_points(group=hookspecs.GROUP), key=lambda entry: entry.name)
    return [entry for entry in found if entry.name not in blocked]


def load_registry(plugin_paths: Iterable[str | Path] = (), only: Collection[str] | None = None) -> Registry:
    """Load the host's own data sets, kernels and formulations, every installed plugin, and the files of ``plugin_paths``.

    only : names of the plugins to load beside the host's own; None: all

    Raises
    ------
    UsageError : a plugin path that is no file and no package folder. A plugin that fails to load is kept in ``broken``.
    """
    registry = Registry()
    _builtin(registry)
    registry.load_all(installed(), plugin_paths, only)
    return registry


@functools.cache
def _shared_registry() -> Registry:
    return load_registry()


def get_solver(text: str, **values: Any) -> Solver:
    """Return a configured solver, for whoever needs an oracle: ``get_solver('smo[tau=1e-6]')``, ``get_solver('smo', tau=1e-6)``.

    Raises
    ------
    UsageError : an unknown solver or parameter, several solvers, or a grid.
    """
    return _shared_registry().solver(text, **values)


def solver_serving(role: str) -> Solver:
    """Return the solver that the host asks where the user named none, see :meth:`Registry.serving`."""
    return _shared_registry().serving(role)


def shared_registry() -> Registry:
    """Return the registry that answers for the process: the one that was shared, else that of the installed plugins."""
    return _shared_registry()


def share_registry(registry: Registry | Callable[[], Registry]) -> None:
    """Let this registry answer for the process, or what this function makes when it is first asked.

    A process has one registry for those who have none at hand. Whoever starts the process shares its own before a solver
    runs, as a worker and the certifier do; else it is that of what is installed, loaded when somebody first asks.
    """
    global _shared_registry
    _shared_registry = functools.cache(registry if callable(registry) else lambda: registry)
