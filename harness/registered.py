"""What the installed plugins add, and the exact names it is asked for by.

Plugins are loaded one by one, so a broken one is reported by name and the others still work.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Mapping
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

import pluggy

from harness import admission, hookspecs, parameters, selection
from harness.entries import Broken, Plugin, code_of, last_line
from harness.errors import PluginError, UsageError
from harness.parameters import Parameter, did_you_mean

if TYPE_CHECKING:
    from harness.datasets.dataset import DataSource
    from harness.kernels.functions import Kernel
    from harness.problems.problem import Problem
    from harness.solver import Solver

T = TypeVar("T")


class Registered:
    """Everything the plugins registered."""

    def __init__(self) -> None:
        self.manager = pluggy.PluginManager(hookspecs.GROUP)
        self.manager.add_hookspecs(hookspecs)
        self.plugins: dict[str, Plugin] = {}
        self.broken: dict[str, Broken] = {}
        self.solvers: dict[str, dict[str, type[Solver]]] = {}  # plugin -> solver name -> class
        self.datasets: dict[str, type[DataSource]] = {}
        self.kernels: dict[str, type[Kernel]] = {}
        self.formulations: dict[str, type[Problem]] = {}
        self.metrics: dict[str, Callable[[Any, Any], float]] = {}
        self.report_formats: dict[str, Callable[..., str]] = {}
        self._owner: dict[tuple[str, str], str] = {}  # (kind, name) -> plugin
        self._files: set[Path] = set()  # that plugins were loaded from
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
                self.register(name, module)
        except Exception as error:  # a plugin may raise anything at import
            if name not in self.plugins and self.manager.has_plugin(name):
                self.manager.unregister(name=name)
            self.broken[name] = Broken(name, last_line(error))
            return
        self.plugins[name] = Plugin(name, module, distribution, version)

    def register(self, name: str, module: ModuleType) -> None:
        """Take what a module adds, all or nothing.

        Raises
        ------
        PluginError : it is no plugin, or what it adds cannot be taken; whatever its hooks raise.
        """
        admission.check_hooks(self.manager, module)
        self.manager.register(module, name=name)
        self._admit(name, self._collect(module))

    def load_all(
        self, entries: Iterable[EntryPoint], paths: Iterable[str | Path] = (), only: Collection[str] | None = None
    ) -> None:
        """Load installed plugins, then those of files, each once; ``only`` those of these names, None: all."""
        given = {admission.plugin_file(path): path for path in paths}  # before code runs that may go elsewhere
        for entry in entries:
            if only is None or entry.name in only:
                distribution = entry.dist
                name, version = (distribution.name, distribution.version) if distribution is not None else ("", "")
                self.load(entry.name, entry.load, name, version)
        for path in given:
            plugin_name = path.parent.name if path.name == "__init__.py" else path.stem
            if path not in self._files and (only is None or plugin_name in only):
                self._files.add(path)
                self.load(plugin_name, functools.partial(admission.module_from, path))

    def _collect(self, module: ModuleType) -> dict[str, Any]:
        def call(hook: str) -> Any:
            function = getattr(module, hook, None)
            return function() if function is not None else ()

        def classes(hook: str) -> list[Any]:
            given = call(hook)
            if not isinstance(given, Iterable) or isinstance(given, (str, type)):
                raise PluginError(f"{hook} returned {given!r}; it must return a list of classes: return [MyOwn].")
            return list(given)

        added: dict[str, Any] = {
            "solver": classes("harness_solvers"),
            "data set": classes("harness_datasets"),
            "kernel": classes("harness_kernels"),
            "formulation": classes("harness_formulations"),
            "metric": dict(call("harness_metrics") or {}),
            "report format": dict(call("harness_report_formats") or {}),
        }
        for cls in added["solver"]:
            admission.check_solver(cls)
        for kind, hook in (("data set", "harness_datasets"), ("kernel", "harness_kernels")):
            for cls in added[kind]:
                if not isinstance(cls, type):
                    raise PluginError(f"{hook} returned {cls!r}; it must return classes, not instances.")
                admission.check_class(cls, kind)
        for cls in added["formulation"]:
            admission.check_formulation(cls)
        for kind in ("metric", "report format"):
            for name in added[kind]:
                admission.check_name(kind, name)
        return added

    def _admit(self, name: str, added: Mapping[str, Any]) -> None:
        """Check that no name is taken, then add everything: a plugin is taken whole or not at all."""
        named = {
            kind: list(given) if isinstance(given, dict) else [cls.name for cls in given]
            for kind, given in added.items()
        }
        for kind, names in named.items():
            for taken in names:
                owner = self._owner.get((kind, taken))
                if owner is not None or names.count(taken) > 1:
                    by = f"already registered by plugin '{owner}'" if owner else "registered twice"
                    raise PluginError(f"{kind} '{taken}' is {by}; rename one of them.")
        self._owner.update({(kind, taken): name for kind, names in named.items() for taken in names})
        if added["solver"]:
            self.solvers[name] = {cls.name: cls for cls in added["solver"]}
        self.datasets.update({cls.name: cls for cls in added["data set"]})
        self.kernels.update({cls.name: cls for cls in added["kernel"]})
        self.formulations.update({cls.name: cls for cls in added["formulation"]})
        self.metrics.update(added["metric"])
        self.report_formats.update(added["report format"])

    # -- asking --------------------------------------------------------------------------------------

    def solver_names(self) -> list[str]:
        """All solver names, plugin by plugin."""
        return [name for solvers in self.solvers.values() for name in solvers]

    def owner(self, kind: str, name: str) -> str:
        """Return the plugin that registered a thing of a kind (``solver``, ``data set`` ...); empty if none did."""
        return self._owner.get((kind, name), "")

    def solved_by(self, solver: type[Solver]) -> tuple[type[Problem], ...]:
        """Return the formulations that a solver solves: those it names, then what else it takes of the registered ones."""
        named = {formulation.name for formulation in solver.solves}
        others = [cls for cls in self.formulations.values() if cls.name not in named and solver.takes(cls)]
        return (*solver.solves, *others)

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
        raise UsageError(self._unknown("solver", name))

    def solver(self, text: str, **values: Any) -> Solver:
        """Return the one configured solver that a selection string and further ``values`` mean.

        Raises
        ------
        UsageError : an unknown solver or parameter, several solvers, or a grid.
        """
        name, given = selection.single(text)
        cls = self.solver_class(name)
        return cls(**parameters.validated(cls, {**given, **values}, owner=f"solver '{name}'"))

    def serving(self, role: str) -> Solver:
        """Return the first solver that declares to serve the host in ``role`` (``Solver.serves``), as it comes.

        Raises
        ------
        UsageError : no solver does.
        """
        for name in self.solver_names():
            if role in self._found(name)[1].serves:
                return self.solver(name)
        raise UsageError(
            f"no installed solver serves as '{role}'; install a plugin with one whose class declares it (`serves`)."
        )

    def _unknown(self, kind: str, name: str) -> str:
        known = [*self.solvers, *self.solver_names(), *(f"{p}/{s}" for p, own in self.solvers.items() for s in own)]
        reason = self.broken.get(name.partition("/")[0])
        if reason is not None:
            return f"plugin '{reason.plugin}' could not be loaded: {reason.reason}"
        return (
            f"there is no {kind} or plugin called '{name}'{did_you_mean(name, known)}; "
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
        if name not in known:
            near, listing = did_you_mean(name, known), ", ".join(known)
            raise UsageError(f"there is no {kind} called '{name}'{near}; known: {listing}{self._broken_ones()}")
        self._note_use(kind, name)
        return known[name]

    def source_class(self, name: str) -> type[DataSource]:
        """Return a data source's class by name; a file is read by the host's own."""
        from harness.datasets import FileSource

        self._note_use("data set", name)
        return self.datasets.get(name, FileSource)

    def metric(self, name: str) -> Callable[[Any, Any], float]:
        """Return a test metric by name, which is known to be there."""
        self._note_use("metric", name)
        return self.metrics[name]
