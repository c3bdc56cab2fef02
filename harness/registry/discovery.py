"""Discovery: the installed plugins, what they register, and what of it a selection string selects.

Plugins are loaded one by one, so a broken one is reported by name and the others still work.
"""

from __future__ import annotations

import fnmatch
import functools
import importlib
import itertools
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

import pluggy

from harness.registry import hookspecs, plugin_validation
from harness.registry.entries import OWN, BrokenPlugin, ConfiguredSolver, Plugin, running_plugin
from harness.registry.names import NameTable
from harness.registry.plugin_files import module_from, module_name, plugin_file
from harness.solver.protocol import formulation_names
from harness.support import faults, parameters, selection
from harness.support.errors import PluginError, UsageError
from harness.support.parameters import Parameter, did_you_mean
from harness.support.selection import Item

if TYPE_CHECKING:
    from harness.datasets.dataset import DataSource
    from harness.kernels.functions import Kernel
    from harness.problems.problem import Problem
    from harness.registry.executor import Executor
    from harness.registry.metric import Metric
    from harness.solver.protocol import Solver

T = TypeVar("T")
_HOST = "harness"  # the plugin of what the package harness itself registers


class Registry:
    """Everything the plugins registered, and what selections choose of it."""

    def __init__(self) -> None:
        self.manager = pluggy.PluginManager(hookspecs.GROUP)
        self.manager.add_hookspecs(hookspecs)
        self.plugins: dict[str, Plugin] = {}
        self.broken: dict[str, BrokenPlugin] = {}
        self._names = {kind: NameTable(kind=kind) for kind in plugin_validation.KINDS}
        formats = dict.fromkeys(hookspecs.FORMATS, _HOST)  # equal in upper and lower case
        self._names["report format"] = NameTable({}, formats, "report format", str.lower)
        self.solvers: dict[str, dict[str, type[Solver]]] = {}  # plugin -> solver name -> class
        self.datasets: dict[str, type[DataSource]] = self.things("data set")
        self.kernels: dict[str, type[Kernel]] = self.things("kernel")
        self.formulations: dict[str, type[Problem]] = self.things("formulation")
        self.metrics: dict[str, Metric] = self.things("metric")
        self.report_formats: dict[str, Callable[..., str]] = self.things("report format")
        self.executors: dict[str, Callable[..., Executor]] = self.things("executor")
        self._loaded: set[EntryPoint | Path] = set()  # entry points and files that plugins were loaded from
        self.used: set[str] = set()  # plugins whose classes and functions were looked up

    # -- loading -------------------------------------------------------------------------------------

    def load(self, name: str, importer: Callable[[], ModuleType], distribution: str = "", version: str = "") -> None:
        """Import and register one plugin; a failure is stored in ``broken`` under its name."""
        try:
            if name in self.plugins:
                raise PluginError(
                    f"a plugin called '{name}' is already loaded from {self.plugins[name].module.__file__}; rename one."
                )
            with running_plugin(name):
                module = importer()
                plugin_validation.check_version(getattr(module, "requires_harness", ""))
                plugin_validation.check_hooks(self.manager, module)
                things = {kind: plugin_validation.things_of(kind, module) for kind in plugin_validation.KINDS}
                self.manager.register(module, name=name)
        except (Exception, GeneratorExit) as error:  # a plugin may raise anything at import
            self.broken[name] = BrokenPlugin(name, plugin_validation.version_refusal(error) or faults.reason(error))
            return
        faults.know(name, module)
        self.plugins[name] = Plugin(name, module, distribution, version)
        if things["solver"]:
            self.solvers[name] = things["solver"]
        for kind, named in things.items():
            for thing in named:
                self._names[kind].add(thing, named[thing], name, built_in=self.is_built_in(name))

    def load_all(
        self, entries: Iterable[EntryPoint], paths: Iterable[str | Path] = (), only: Collection[str] | None = None
    ) -> None:
        """Load installed plugins, then those of files, each once; ``only`` those of these names, None: all."""
        files = dict.fromkeys(map(plugin_file, paths))  # before plugins are imported, which may change the folder
        sources: list[tuple[EntryPoint | Path, str]] = [(entry, entry.name) for entry in entries]
        sources += [(file, module_name(file)) for file in files]
        release_of = functools.cache(lambda distribution: (distribution.name, distribution.version))  # read from a file
        for source, name in sources:
            if source in self._loaded or (only is not None and name not in only):
                continue
            self._loaded.add(source)
            if isinstance(source, Path):
                self.load(name, functools.partial(module_from, source))
            else:
                release = release_of(source.dist) if source.dist is not None else ()
                self.load(name, source.load, *release)

    def is_built_in(self, plugin: str) -> bool:
        """Return whether a plugin comes with the harness."""
        return plugin == _HOST or self.plugins[plugin].distribution == OWN

    # -- looking up --------------------------------------------------------------------------------------

    def owner(self, kind: str, name: str) -> str:
        """Return the plugin that registered a thing of a kind (``solver``, ``data set`` ...); empty if none did."""
        return self._names[kind].owners.get(name, "")

    def things(self, kind: str) -> dict[str, Any]:
        """Return what plugins registered of a kind (``solver``, ``data set`` ...) by name, ``plugin/name`` where several share it."""
        return self._names[kind].things

    def rivals(self, kind: str, name: str) -> list[str]:
        """Return the names under which all things of a kind that are called ``name`` are registered."""
        return self._names[kind].rivals(name)

    def resolve(self, kind: str, name: str) -> str:
        """Return the name under which ``name`` or ``plugin/name`` is registered, or ``name`` if nothing is called so.

        Raises
        ------
        UsageError : several plugins have a thing of this name.
        """
        return self._names[kind].resolve(name)

    def known(self, kind: str, name: str) -> str:
        """Return what :meth:`resolve` does; UsageError with near names if nothing is called so."""
        key = self.resolve(kind, name)
        parameters.check_known(kind, key, self.things(kind), self._broken_ones())
        return key

    def name_of(self, kind: str, thing: Any) -> str:
        """Return the name under which a class is registered; its attribute ``name`` if it is not."""
        return next((key for key, other in self.things(kind).items() if other is thing), str(thing.name))

    def label(self, kind: str, thing: Any) -> str:
        """Return the label of a configured solver or data source, with its plugin where others have the name too."""
        plugin, slash, _ = self.name_of(kind, type(thing)).rpartition("/")
        return f"{plugin}{slash}{thing.label}"

    def declared_by(self, solver: type[Solver]) -> list[type[Problem]]:
        """Return the formulations in a solver's ``solves``, the preferred one first, without those that are not installed."""
        named = [
            self.formulations.get(self.resolve("formulation", item)) if isinstance(item, str) else item
            for item in solver.solves
        ]
        return [cls for cls in named if cls is not None]

    def solved_by(self, solver: type[Solver]) -> list[type[Problem]]:
        """Return the formulations that a solver solves: those it declares, then what else it takes of the registered ones."""
        declared = formulation_names(solver.solves)
        others = [cls for cls in self.formulations.values() if cls.name not in declared and solver.takes(cls)]
        return [*self.declared_by(solver), *others]

    def not_installed(self, solver: type[Solver]) -> list[str]:
        """Return the names in a solver's ``solves`` of formulations that no plugin registers."""
        names = [self.resolve("formulation", item) for item in solver.solves if isinstance(item, str)]
        return [name for name in names if name not in self.formulations]

    def why_unsolvable(self, solver: type[Solver]) -> str:
        """Return a sentence if none of the formulations that a solver solves is installed; empty if one is."""
        if self.solved_by(solver):
            return ""
        missing = " and ".join(self.not_installed(solver))
        return f"{solver.name} solves {missing}, which no installed plugin registers; install the plugin that does"

    def problem_parameters(self) -> dict[str, dict[str, Parameter]]:
        """Return the parameters of all formulations: name of a parameter -> name of a formulation -> the parameter."""
        by_name: dict[str, dict[str, Parameter]] = {}
        for formulation in self.formulations.values():
            for parameter in formulation.known_parameters():
                by_name.setdefault(parameter.name, {})[formulation.name] = parameter
        return by_name

    def owners(
        self, formulation: str, kernel: str, source: str, metrics: Iterable[str], oracle: str
    ) -> tuple[str, ...]:
        """Return the plugins that a certificate needs: those of its formulation, kernel, data, metrics and oracle."""
        things = [("formulation", formulation), ("kernel", kernel), ("data set", source)]
        things += [("metric", name) for name in metrics]
        plugins = {owner for thing in things if (owner := self.owner(*thing))}
        if oracle:
            plugins.add(self._owner_and_class(selection.single(oracle)[0])[0])
        return tuple(sorted(plugins))

    def sources(self) -> dict[str, str]:
        """Return the fingerprints of the plugins used so far, by name: a result depends on them and on the host."""
        return {name: self.plugins[name].fingerprint for name in sorted(self.used)}

    def solver_class(self, name: str) -> type[Solver]:
        """Return the class of ``solver`` or ``plugin/solver``; UsageError with near names if unknown."""
        owner, cls = self._owner_and_class(name)
        self.used.add(owner)
        return cls

    def _owner_and_class(self, name: str) -> tuple[str, type[Solver]]:
        key = self.resolve("solver", name)
        if key not in self.things("solver"):
            raise UsageError(self._unknown(name))
        return self.owner("solver", key), self.things("solver")[key]

    def solver(self, text: str, **values: Any) -> Solver:
        """Return the one configured solver that a selection string and further ``values`` mean.

        Raises
        ------
        UsageError : an unknown solver or parameter, several solvers, or a grid.
        """
        name, given = selection.single(text)
        cls = self.solver_class(name)
        return cls(**parameters.validated(cls, {**given, **values}, owner=f"solver '{name}'"))

    def _unknown(self, name: str) -> str:
        """Return the sentence on a solver or plugin that is not there."""
        plugin = name.partition("/")[0]
        if plugin in self.broken:
            return self.broken[plugin].sentence
        sentence = f"there is no solver or plugin called '{name:.200}'"
        if "(" in name:
            square = name.translate(str.maketrans("()", "[]"))
            return f"{sentence}; parameters stand in square brackets: '{square:.200}'."
        names = [
            f"{plugin}/{solver}" if "/" in name else solver for plugin, of in self.solvers.items() for solver in of
        ]
        near = did_you_mean(name, [*self.solvers, *names])
        return f"{sentence}{near}; `harness list solvers` shows what there is{self._broken_ones()}"

    def _broken_ones(self) -> str:
        """Return the end of a sentence on an unknown name: a plugin that is broken may be why it is unknown."""
        text = "".join(f"; {plugin.sentence}" for plugin in self.broken.values())
        return text if text.endswith(".") else f"{text}."

    def kernel_class(self, name: str) -> type[Kernel]:
        """Return a kernel class by name; UsageError with near names if unknown."""
        return self._look_up("kernel", name, self.kernels)

    def formulation(self, name: str) -> type[Problem]:
        """Return a formulation by name; UsageError with near names if unknown."""
        return self._look_up("formulation", name, self.formulations)

    def metric(self, name: str) -> Metric:
        """Return a test metric by name; UsageError with near names if unknown."""
        return self._look_up("metric", name, self.metrics)

    def source_class(self, name: str) -> type[DataSource]:
        """Return a data source's class by name; the host's class for files if no source has this name."""
        from harness.datasets import FileSource

        is_registered = self.resolve("data set", name) in self.datasets
        return self._look_up("data set", name, self.datasets) if is_registered else FileSource

    def _look_up(self, kind: str, name: str, things: Mapping[str, T]) -> T:
        key = self.known(kind, name)
        self.used.add(self.owner(kind, key))
        return things[key]

    # -- what selections mean --------------------------------------------------------------------------

    def _matches(self, pattern: str) -> list[tuple[str, type[Solver]]]:
        """Return the plugins and classes of solvers that match: the solver of this name, else all of the plugin, else a pattern's."""
        solvers = [(plugin, cls) for plugin, classes in self.solvers.items() for cls in classes.values()]
        key = self.resolve("solver", pattern)
        exact = [self._owner_and_class(key)] if key in self.things("solver") else []
        of_plugin = [(plugin, cls) for plugin, cls in solvers if pattern == plugin]
        alike = [
            (plugin, cls) for plugin, cls in solvers if fnmatch.filter((cls.name, f"{plugin}/{cls.name}"), pattern)
        ]
        return exact or of_plugin or alike

    def select_solvers(self, texts: str | Iterable[str | Item]) -> list[ConfiguredSolver | BrokenPlugin]:
        """Return the configured solvers that selection strings mean, in order, without repetition.

        A plugin that is broken stands in the list with its reason, so that it becomes a row.

        Raises
        ------
        UsageError : an unknown name or parameter, or a value of the wrong type or range.
        """
        kernels: list[Any] = list(self.kernels.values())
        of_kernels = {parameter.name for cls in kernels for parameter in parameters.parameters_of(cls)}
        of_problems = of_kernels | set(self.problem_parameters())
        chosen: dict[tuple[str, str], ConfiguredSolver | BrokenPlugin] = {}
        for item in _items("solver", texts, "--plugins lasvm,fw"):
            matches, plugin = self._matches(item.name), item.name.partition("/")[0]
            if not matches and plugin not in self.broken:
                raise UsageError(self._unknown(item.name))
            solvers = [_configured(*match, cell, of_problems) for match in matches for cell in item.grid()]
            for solver in solvers or [self.broken[plugin]]:
                label = solver.label if isinstance(solver, ConfiguredSolver) else solver.sentence
                chosen.setdefault((solver.plugin, label), solver)
        return list(chosen.values())

    def select_datasets(self, texts: str | Iterable[str | Item]) -> list[DataSource]:
        """Return the data sources that selection strings mean; a path to a file is a data source too."""
        from harness.datasets import FileSource

        sources: dict[DataSource, None] = {}
        for item in _items("data set", texts, "--datasets digits", paths=True):
            key = self.resolve("data set", item.name)
            names = [key] if key in self.datasets else fnmatch.filter(self.datasets, item.name)
            if not names and not selection.is_path(item.name):
                near = did_you_mean(item.name, self.datasets)
                raise UsageError(
                    f"there is no data set called '{item.name}'{near}; `harness list datasets` shows what there is, "
                    f"and a path to a file works too (./my_data.csv), with commas in double quotes{self._broken_ones()}"
                )
            classes: dict[str, Any] = {f"data set '{name}'": self.datasets[name] for name in names}
            for cell, (owner, cls) in itertools.product(
                item.grid(), classes.items() or [(f"data file '{item.name}'", FileSource)]
            ):
                values = cell if names else {**cell, "path": item.name}
                sources[cls(**parameters.validated(cls, values, owner=owner))] = None
        return list(sources)

    def select_kernels(self, texts: str | Iterable[str | Item]) -> list[tuple[str, dict[str, str]]]:
        """Return the kernels that selection strings such as ``rbf[gamma=[0.1,1]],linear`` mean: names and parameters.

        Raises
        ------
        UsageError : an unknown name or parameter, or a value of the wrong type or range; ``gamma=scale`` is left to the
            data.
        """
        chosen = []
        for item in _items("kernel", texts, "--kernel rbf"):
            cls = self.kernel_class(item.name)
            for cell in item.grid():
                numbers = {name: "1" if (name, value) == ("gamma", "scale") else value for name, value in cell.items()}
                parameters.validated(cls, numbers, owner=f"kernel '{item.name}'")
                chosen.append((self.resolve("kernel", item.name), cell))
        return chosen

    def select_formulations(self, texts: str | Iterable[str | Item]) -> dict[str, dict[str, list[Any]]]:
        """Return the formulations that selection strings such as ``c-svc,nu-svc[nu=[0.1,0.5]]`` mean, and what each is given.

        Raises
        ------
        UsageError : an unknown name or parameter, a value of the wrong type or range, a formulation that is named twice.
        """
        chosen: dict[str, dict[str, list[Any]]] = {}
        for item in _items("formulation", texts, "--formulation c-svc"):
            cls, owner = self.formulation(item.name).parameter_class, f"formulation '{item.name}'"
            key = self.resolve("formulation", item.name)
            if key in chosen:
                raise UsageError(f"{owner} is named twice; write a grid: {item.name}[C=[1,10]].")
            chosen[key] = {
                name: [parameters.validated(cls, {name: value}, owner=owner)[name] for value in values]
                for name, values in item.values.items()
            }
        return chosen


def _items(kind: str, texts: str | Iterable[str | Item], example: str, *, paths: bool = False) -> list[selection.Item]:
    items = selection.parse(texts, paths=paths)
    if not items:
        raise UsageError(f"no {kind} is selected; name at least one, for example {example}.")
    return items


def _configured(
    plugin: str, cls: type[Solver], cell: Mapping[str, str], of_problems: Collection[str]
) -> ConfiguredSolver | BrokenPlugin:
    """Return a solver with its values of a cell of a grid, and with the other values as those of the problem.

    of_problems : names of the parameters that formulations and kernels have

    A solver whose code raises meanwhile is a broken plugin.
    """
    problem_names = set(of_problems) - {parameter.name for parameter in parameters.parameters_of(cls)}
    problem_values = {name: _scalar(value) for name, value in cell.items() if name in problem_names}
    solver_values = {name: value for name, value in cell.items() if name not in problem_names}
    values = parameters.validated(cls, solver_values, owner=f"solver '{cls.name}'")
    try:
        with running_plugin(plugin, f"the configuration of its solver '{cls.name}'"):
            solver = ConfiguredSolver(plugin, cls(**values), problem_values)
            parameters.values_of(solver.solver)
            hash(solver.label)
    except UsageError:
        raise  # the solver's sentence on a value
    except Exception as error:
        return BrokenPlugin(
            plugin, f"solver '{cls.name}' could not be configured: {faults.format_error(error, plugin)}", cls.name
        )
    return solver


def _scalar(text: str) -> Any:
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            continue
    return text


def installed() -> list[EntryPoint]:
    """Return the entry points of the installed plugins in the order of their names, without disabled ones."""
    disabled = {name.strip() for name in os.environ.get("HARNESS_DISABLE_PLUGINS", "").split(",")}
    entries = sorted(entry_points(group=hookspecs.GROUP), key=lambda entry: entry.name)
    return [entry for entry in entries if entry.name not in disabled]


def load_registry(plugin_paths: Iterable[str | Path] = (), only: Collection[str] | None = None) -> Registry:
    """Load the data sets, kernels and formulations of the host, every installed plugin, and the files of ``plugin_paths``.

    only : names of the plugins to load besides the host; None: all

    Raises
    ------
    UsageError : a plugin path that is no file and no package folder. A plugin that fails to load is an entry of ``broken``.
    """
    registry = Registry()
    registry.load(_HOST, lambda: importlib.import_module("harness.builtin"))
    registry.load_all(installed() if only is None or {*only} - {_HOST} else (), plugin_paths, only)
    return registry


_shared_registry: Callable[[], Registry] = functools.cache(load_registry)
_loaded_registry: Any = None  # a registry whose solvers need no other plugin to be loaded


def get_solver(text: str, **values: Any) -> Solver:
    """Return a configured solver, for whoever needs an oracle: ``get_solver('smo[tau=1e-6]')``, ``get_solver('smo', tau=1e-6)``.

    Raises
    ------
    UsageError : an unknown solver or parameter, several solvers, or a grid.
    """
    known = _loaded_registry is not None and _loaded_registry.owner("solver", selection.single(text)[0])
    return (_loaded_registry if known else shared_registry()).solver(text, **values)


def solver_serving(role: str, formulation: type[Problem] | None = None) -> Solver:
    """Return the first solver whose class declares ``role`` in ``Solver.serves``, with its default parameters.

    formulation : a formulation that it must solve; None: any

    Raises
    ------
    UsageError : no solver does.
    """
    registry = shared_registry()
    for name, cls in registry.things("solver").items():
        if role in cls.serves and (formulation is None or cls.takes(formulation)):
            return registry.solver(name)
    raise UsageError(
        f"no installed solver serves as '{role}'{f' for {formulation.name}' if formulation else ''}; install a plugin with one "
        "whose class declares it (`serves`)."
    )


def shared_registry() -> Registry:
    """Return the registry of this process: the one that was shared, else that of the installed plugins."""
    return _shared_registry()


def share_registry(registry: Registry | Callable[[], Registry], loaded: Registry | None = None) -> None:
    """Make a registry, or what a function returns at the first use, the one of this process.

    loaded : a registry that :func:`get_solver` looks into before that first use

    A process has one registry for code that is given none. Whoever starts the process shares a registry before a solver
    runs, as a worker and the certifier do; else it is that of the installed plugins, loaded at its first use.
    """
    global _shared_registry, _loaded_registry
    _loaded_registry = loaded
    _shared_registry = functools.cache(registry if callable(registry) else lambda: registry)
