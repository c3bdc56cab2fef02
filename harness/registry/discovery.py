"""Discovery: which plugins are installed, what they add, and which of it a selection string means.

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
from harness.registry.entries import BrokenPlugin, ConfiguredSolver, Plugin, code_of
from harness.solver.protocol import formulation_names
from harness.support import faults, parameters, selection
from harness.support.errors import PluginError, UsageError
from harness.support.parameters import Parameter, did_you_mean

if TYPE_CHECKING:
    from harness.datasets.dataset import DataSource
    from harness.kernels.functions import Kernel
    from harness.problems.problem import Problem
    from harness.registry.executor import Executor
    from harness.registry.metric import Metric
    from harness.solver.protocol import Solver

T = TypeVar("T")

_CLASSES = {
    "solver": "harness_solvers",
    "data set": "harness_datasets",
    "kernel": "harness_kernels",
    "formulation": "harness_formulations",
}
_FUNCTIONS = {
    "metric": "harness_metrics",
    "report format": "harness_report_formats",
    "executor": "harness_executors",
}


class Registry:
    """Everything the plugins registered, and what selections choose of it."""

    def __init__(self) -> None:
        self.manager = pluggy.PluginManager(hookspecs.GROUP)
        self.manager.add_hookspecs(hookspecs)
        self.plugins: dict[str, Plugin] = {}
        self.broken: dict[str, BrokenPlugin] = {}
        self.solvers: dict[str, dict[str, type[Solver]]] = {}  # plugin -> solver name -> class
        self.datasets: dict[str, type[DataSource]] = {}
        self.kernels: dict[str, type[Kernel]] = {}
        self.formulations: dict[str, type[Problem]] = {}
        self.metrics: dict[str, Metric] = {}
        self.report_formats: dict[str, Callable[..., str]] = {}
        self.executors: dict[str, Callable[..., Executor]] = {}
        self._owner = {("report format", name): "harness" for name in hookspecs.FORMATS}  # (kind, name) -> plugin
        self._entries: set[EntryPoint] = set()  # that plugins were loaded from, and files
        self._files: set[Path] = set()
        self.used: set[str] = set()  # plugins whose classes and functions were asked for

    # -- loading -------------------------------------------------------------------------------------

    def load(self, name: str, importer: Callable[[], ModuleType], distribution: str = "", version: str = "") -> None:
        """Import and register one plugin; a failure is kept in ``broken`` under its name."""
        try:
            if name in self.plugins:
                raise PluginError(
                    f"a plugin called '{name}' is already loaded from {self.plugins[name].module.__file__}; rename one."
                )
            with code_of(name):
                module = importer()
                plugin_validation.check_version(getattr(module, "requires_harness", ""))
                plugin_validation.check_hooks(self.manager, module)
                self.manager.register(module, name=name)
                self._admit(name, {kind: _added(kind, module) for kind in (*_CLASSES, *_FUNCTIONS)})
        except Exception as error:  # a plugin may raise anything at import
            if name not in self.plugins and self.manager.has_plugin(name):
                self.manager.unregister(name=name)
            self.broken[name] = BrokenPlugin(name, plugin_validation.version_refusal(error) or faults.reason(error))
            return
        faults.know(name, module)
        self.plugins[name] = Plugin(name, module, distribution, version)

    def load_all(
        self, entries: Iterable[EntryPoint], paths: Iterable[str | Path] = (), only: Collection[str] | None = None
    ) -> None:
        """Load installed plugins, then those of files, each once; ``only`` those of these names, None: all."""
        given = {plugin_validation.plugin_file(path): path for path in paths}  # before code runs that may go elsewhere
        for entry in entries:
            if entry not in self._entries and (only is None or entry.name in only):
                self._entries.add(entry)
                distribution = entry.dist
                name, version = (distribution.name, distribution.version) if distribution is not None else ("", "")
                self.load(entry.name, entry.load, name, version)
        for path in given:
            plugin_name = path.parent.name if path.name == "__init__.py" else path.stem
            if path not in self._files and (only is None or plugin_name in only):
                self._files.add(path)
                self.load(plugin_name, functools.partial(plugin_validation.module_from, path))

    def _admit(self, plugin: str, added: Mapping[str, list[tuple[str, Any]]]) -> None:
        """Check that no name is taken, then add everything: a plugin is taken whole or not at all."""
        for kind, named in added.items():
            names = [name for name, _ in named]
            for name in names:
                alike = name.lower() if kind == "report format" else name  # JSON is no other one than json
                owner = self._owner.get((kind, name)) or self._owner.get((kind, alike))
                if owner is not None or names.count(name) > 1:
                    by = f"already registered by plugin '{owner}'" if owner else "registered twice"
                    raise PluginError(f"{kind} '{name}' is {by}; rename one of them.")
        self._owner.update({(kind, name): plugin for kind, named in added.items() for name, _ in named})
        if added["solver"]:
            self.solvers[plugin] = dict(added["solver"])
        self.datasets.update(added["data set"])
        self.kernels.update(added["kernel"])
        self.formulations.update(added["formulation"])
        self.metrics.update(added["metric"])
        self.report_formats.update(added["report format"])
        self.executors.update(added["executor"])

    # -- asking --------------------------------------------------------------------------------------

    def owner(self, kind: str, name: str) -> str:
        """Return the plugin that registered a thing of a kind (``solver``, ``data set`` ...); empty if none did."""
        return self._owner.get((kind, name), "")

    def declared_by(self, solver: type[Solver]) -> list[type[Problem]]:
        """Return the formulations in a solver's ``solves``, the preferred one first, without those that are not installed."""
        resolved = [self.formulations.get(each) if isinstance(each, str) else each for each in solver.solves]
        return [cls for cls in resolved if cls is not None]

    def solved_by(self, solver: type[Solver]) -> list[type[Problem]]:
        """Return the formulations that a solver solves: those it declares, then what else it takes of the registered ones."""
        declared = formulation_names(solver.solves)
        others = [cls for cls in self.formulations.values() if cls.name not in declared and solver.takes(cls)]
        return [*self.declared_by(solver), *others]

    def not_installed(self, solver: type[Solver]) -> list[str]:
        """Return the names in a solver's ``solves`` of formulations that no plugin registers."""
        return [each for each in solver.solves if isinstance(each, str) and each not in self.formulations]

    def why_unsolvable(self, solver: type[Solver]) -> str:
        """Return a sentence if none of the formulations that a solver solves is installed; empty if one is."""
        if self.solved_by(solver):
            return ""
        missing = " and ".join(self.not_installed(solver))
        return f"{solver.name} solves {missing}, which no installed plugin registers; install the plugin that does"

    def problem_parameters(self) -> dict[str, dict[str, Parameter]]:
        """Return what a formulation can be given: name of a parameter -> formulation -> the parameter."""
        found: dict[str, dict[str, Parameter]] = {}
        for formulation in self.formulations.values():
            for known in formulation.known_parameters():
                found.setdefault(known.name, {})[formulation.name] = known
        return found

    def _of_the_problem(self) -> set[str]:
        """Return the names of the parameters that formulations and kernels have: a selection may set them beside a solver."""
        kernels: list[Any] = list(self.kernels.values())
        of_kernels = {known.name for cls in kernels for known in parameters.parameters_of(cls)}
        return of_kernels | set(self.problem_parameters())

    def owners(
        self, formulation: str, kernel: str, source: str, metrics: Iterable[str], oracle: str
    ) -> tuple[str, ...]:
        """Return the plugins that a certificate needs: those of its formulation, kernel, data, metrics and oracle."""
        asked = [("formulation", formulation), ("kernel", kernel), ("data set", source)]
        asked += [("metric", name) for name in metrics]
        found = {self._owner[each] for each in asked if each in self._owner}
        return tuple(sorted(found | ({self._found(selection.single(oracle)[0])[0]} if oracle else set())))

    def sources(self) -> dict[str, str]:
        """Return the fingerprints of the plugins used so far: what a result depends on, beside the host."""
        return {name: self.plugins[name].fingerprint for name in sorted(self.used)}

    def _note_use(self, kind: str, name: str) -> None:
        if (kind, name) in self._owner:
            self.used.add(self._owner[kind, name])

    def solver_class(self, name: str) -> type[Solver]:
        """Return the class of ``solver`` or ``plugin/solver``; UsageError with near names if unknown."""
        owner, cls = self._found(name)
        self.used.add(owner)
        return cls

    def _found(self, name: str) -> tuple[str, type[Solver]]:
        plugin, _, own = name.rpartition("/")
        for owner, solvers in self.solvers.items():
            if own in solvers and plugin in ("", owner):
                return owner, solvers[own]
        raise UsageError(self._unknown(name))

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
        known = [
            word for p, own in self.solvers.items() for s in own for word in ((f"{p}/{s}",) if "/" in name else (p, s))
        ]
        if "(" in name:
            square = name.translate(str.maketrans("()", "[]"))
            return f"there is no solver or plugin called '{name}'; parameters stand in square brackets: '{square}'."
        reason = self.broken.get(name.partition("/")[0])
        if reason is not None:
            return f"plugin '{reason.plugin}' could not be loaded: {reason.reason}"
        return (
            f"there is no solver or plugin called '{name}'{did_you_mean(name, known)}; "
            f"`harness list solvers` shows what there is{self._broken_ones()}"
        )

    def _broken_ones(self) -> str:
        """Return the end of a sentence on an unknown name: a plugin that is broken may be why it is unknown."""
        text = "".join(f"; plugin '{each.plugin}' could not be loaded: {each.reason}" for each in self.broken.values())
        return text if text.endswith(".") else f"{text}."

    def kernel_class(self, name: str) -> type[Kernel]:
        """Return a kernel class by name; UsageError with near names if unknown."""
        return self._named("kernel", name, self.kernels)

    def formulation(self, name: str) -> type[Problem]:
        """Return a formulation by name; UsageError with near names if unknown."""
        return self._named("formulation", name, self.formulations)

    def _named(self, kind: str, name: str, known: Mapping[str, T]) -> T:
        parameters.check_known(kind, name, known, self._broken_ones())
        self._note_use(kind, name)
        return known[name]

    def source_class(self, name: str) -> type[DataSource]:
        """Return a data source's class by name; a file is read by the host's own."""
        from harness.datasets import FileSource

        self._note_use("data set", name)
        return self.datasets.get(name, FileSource)

    def metric(self, name: str) -> Metric:
        """Return a test metric by name, which is known to be there."""
        self._note_use("metric", name)
        return self.metrics[name]

    # -- what selections mean --------------------------------------------------------------------------

    def _matches(self, name: str) -> list[tuple[str, type[Solver]]]:
        """Return (plugin, class) pairs a name or pattern means: a solver, else all solvers of a plugin."""
        everything = [(plugin, cls) for plugin, solvers in self.solvers.items() for cls in solvers.values()]
        names = {(plugin, cls): (cls.name, f"{plugin}/{cls.name}") for plugin, cls in everything}
        exact = [pair for pair in everything if name in names[pair]]
        of_plugin = [(name, cls) for cls in self.solvers.get(name, {}).values()]
        return exact or of_plugin or [pair for pair in everything if fnmatch.filter(names[pair], name)]

    def select_solvers(self, texts: str | Iterable[str]) -> list[ConfiguredSolver | BrokenPlugin]:
        """Return the configured solvers that selection strings mean, in order, without repetition.

        A plugin that is broken stands in the list with its reason, so that it becomes a row.

        Raises
        ------
        UsageError : an unknown name or parameter, or a value of the wrong type or range.
        """
        chosen: list[ConfiguredSolver | BrokenPlugin] = []
        for item in _items("solver", texts, "--plugins lasvm,fw"):
            plugin = item.name.partition("/")[0]
            matches = self._matches(item.name)
            if not matches and plugin in self.broken:
                chosen.append(self.broken[plugin])
                continue
            if not matches:
                raise UsageError(self._unknown(item.name))
            of_the_problem = self._of_the_problem()
            for owner, cls in matches:
                chosen.extend(_configured(owner, cls, cell, of_the_problem) for cell in item.grid())
        unique = {
            (c.plugin, c.label if isinstance(c, ConfiguredSolver) else f"{c.solver} {c.reason}"): c for c in chosen
        }
        return list(unique.values())

    def select_datasets(self, texts: str | Iterable[str]) -> list[DataSource]:
        """Return the data sources that selection strings mean; a path to a file is a data source too."""
        from harness.datasets import FileSource

        sources: list[DataSource] = []
        for item in _items("data set", texts, "--datasets digits", paths=True):
            names = [item.name] if item.name in self.datasets else fnmatch.filter(self.datasets, item.name)
            meant: list[tuple[Any, dict[str, str], str]] = [
                (self.datasets[name], {}, f"data set '{name}'") for name in names
            ]
            if not names and selection.is_path(item.name):
                meant = [(FileSource, {"path": item.name}, f"data file '{item.name}'")]
            if not meant:
                near = did_you_mean(item.name, self.datasets)
                raise UsageError(
                    f"there is no data set called '{item.name}'{near}; `harness list datasets` shows what there is, "
                    f"and a path to a file works too (./my_data.csv), with commas in double quotes{self._broken_ones()}"
                )
            for cell, (cls, given, owner) in itertools.product(item.grid(), meant):
                sources.append(cls(**parameters.validated(cls, {**cell, **given}, owner=owner)))
        return list(dict.fromkeys(sources))

    def select_kernels(self, texts: str | Iterable[str]) -> list[tuple[str, dict[str, str]]]:
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
                chosen.append((item.name, cell))
        return chosen

    def select_formulations(self, texts: str | Iterable[str]) -> dict[str, dict[str, list[Any]]]:
        """Return the formulations that selection strings such as ``c-svc,nu-svc[nu=[0.1,0.5]]`` mean, and what each is given.

        Raises
        ------
        UsageError : an unknown name or parameter, a value of the wrong type or range, a formulation that is named twice.
        """
        chosen: dict[str, dict[str, list[Any]]] = {}
        for item in _items("formulation", texts, "--formulation c-svc"):
            cls, owner = self.formulation(item.name), f"formulation '{item.name}'"
            if item.name in chosen:
                raise UsageError(f"{owner} is named twice; write a grid: {item.name}[C=[1,10]].")
            chosen[item.name] = {
                name: [parameters.validated(cls.parameter_class, {name: each}, owner=owner)[name] for each in given]
                for name, given in item.values.items()
            }
        return chosen


def _added(kind: str, module: ModuleType) -> list[tuple[str, Any]]:
    """Return what a module adds of a kind, checked, with the names of it.

    Raises
    ------
    PluginError : it cannot be taken; whatever the module's hook raises.
    """
    hook = _CLASSES.get(kind) or _FUNCTIONS[kind]
    default = (lambda: plugin_validation.solvers_of(module)) if kind == "solver" else dict
    given: Any = getattr(module, hook, default)()
    if kind in _FUNCTIONS:
        if not isinstance(given, Mapping):
            raise PluginError(f"{hook} returned {given!r}; it must return functions by name: return {{'own': own}}.")
        for name in given:
            plugin_validation.check_name(kind, name)
        return [(name, plugin_validation.checked_function(kind, name, value)) for name, value in given.items()]
    if not isinstance(given, Iterable) or isinstance(given, (str, type)):
        raise PluginError(f"{hook} returned {given!r}; it must return a list of classes: return [MyOwn].")
    classes = list(given)
    for cls in classes:
        plugin_validation.check_class(kind, hook, cls)
    return [(cls.name, cls) for cls in classes]


def _items(kind: str, texts: str | Iterable[str], example: str, *, paths: bool = False) -> list[selection.Item]:
    items = selection.parse(texts, paths=paths)
    if not items:
        raise UsageError(f"no {kind} is selected; name at least one, for example {example}.")
    return items


def _configured(
    plugin: str, cls: type[Solver], cell: Mapping[str, str], of_the_problem: Collection[str]
) -> ConfiguredSolver | BrokenPlugin:
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
            chosen = ConfiguredSolver(plugin, cls(**values), problem_values)
            parameters.values_of(chosen.solver)
            hash(chosen.label)
    except UsageError:
        raise  # the solver's own sentence on a value
    except Exception as error:
        return BrokenPlugin(
            plugin, f"solver '{cls.name}' could not be configured: {faults.format_error(error, plugin)}", cls.name
        )
    return chosen


def _scalar(text: str) -> Any:
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            continue
    return text


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
    registry.load("harness", lambda: importlib.import_module("harness.builtin"))
    registry.load_all(installed(), plugin_paths, only)
    return registry


_shared_registry: Callable[[], Registry] = functools.cache(load_registry)


def get_solver(text: str, **values: Any) -> Solver:
    """Return a configured solver, for whoever needs an oracle: ``get_solver('smo[tau=1e-6]')``, ``get_solver('smo', tau=1e-6)``.

    Raises
    ------
    UsageError : an unknown solver or parameter, several solvers, or a grid.
    """
    return shared_registry().solver(text, **values)


def solver_serving(role: str, formulation: type[Problem] | None = None) -> Solver:
    """Return the first solver that declares to serve the host in ``role`` (``Solver.serves``), as it comes.

    formulation : what it must solve

    Raises
    ------
    UsageError : no solver does.
    """
    registry = shared_registry()
    for solvers in registry.solvers.values():
        for name, cls in solvers.items():
            if role in cls.serves and (formulation is None or cls.takes(formulation)):
                return registry.solver(name)
    raise UsageError(
        f"no installed solver serves as '{role}'{f' for {formulation.name}' if formulation else ''}; install a plugin with one "
        "whose class declares it (`serves`)."
    )


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
