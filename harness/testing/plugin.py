"""The suites of a plugin, one for each thing that it registers, and pytest tests made from them.

In a test file, one line makes every check of a plugin a test::

    checks = harness.testing.checks_of("my_solver.py")  # or the name of an installed plugin, or of one thing
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.kernels.functions import Precomputed
from harness.registry.discovery import Registry, shared_registry
from harness.registry.hookspecs import OBSERVERS
from harness.registry.plugin_files import module_name, plugin_file
from harness.registry.plugin_validation import KINDS
from harness.run.environments import lacking
from harness.solver.protocol import Conformance, with_target
from harness.support.errors import PluginError, UsageError
from harness.support.parameters import validated
from harness.testing import things
from harness.testing.checks import Checks, ValueChecks
from harness.testing.conformance import SolverConformance

if TYPE_CHECKING:
    from harness.solver.protocol import Solver

_EXACT_GAP = 1e-3  # relative gap expected of exact solvers that declare none
_SUITES: dict[str, type[Checks]] = {
    "data set": things.DatasetChecks, "kernel": things.KernelChecks, "formulation": things.FormulationChecks,
    "metric": things.MetricChecks, "report format": things.FormatChecks, "executor": things.ExecutorChecks,
}  # fmt: skip


@dataclass(frozen=True)
class ChecksOf:
    """Checks of plugins or of single things, which the pytest plugin of the harness collects as tests."""

    targets: tuple[str, ...]

    def suites(self) -> list[type[Checks]]:
        """Return a suite for each thing.

        Raises
        ------
        UsageError, PluginError : nothing has that name, or the plugin cannot be loaded.
        """
        return [suite for suites in suites_of_each(self.targets).values() for suite in suites]


def checks_of(*targets: str) -> ChecksOf:
    """Return the checks of plugins by name or file, or of single things such as ``lasvm[epochs=5]``, as tests."""
    return ChecksOf(targets)


def suites_of_each(targets: Sequence[str], registry: Registry | None = None) -> dict[str, list[type[Checks]]]:
    """Return the suites of targets, as :func:`suites_of` does, when the files of all are loaded: a solver of one may need another."""
    for target in targets:
        suites_of(target, registry)
    return {target: suites_of(target, registry) for target in targets}


def suites_of(target: str, registry: Registry | None = None) -> list[type[Checks]]:
    """Return the suites of all things that a plugin registers, or of one thing of that name.

    target : an installed plugin, a file or a package's folder, or a thing that `harness list` shows, by its name

    Raises
    ------
    UsageError, PluginError : nothing has that name, or the plugin cannot be loaded.
    """
    registry = registry or shared_registry()
    owner = target.partition(os.sep)[0]  # of alpha/solver, which is no path
    named = target in registry.plugins or (owner in registry.plugins and not Path(target).exists())
    if not named and (os.sep in target or target.endswith(".py")):
        file = plugin_file(target)
        registry.load_all((), [file])
        target = module_name(file)
    if target in registry.broken:
        raise PluginError(registry.broken[target].sentence)
    if target in registry.plugins:
        return [*_suites(registry, target)]
    if "[" in target:
        return [_of_solver(registry.solver(target))]
    suites = [suite for plugin in registry.plugins for suite in _suites(registry, plugin, target)]
    if not suites:
        project = Path(target, "pyproject.toml").is_file()
        hint = (
            f" The folder '{target}' is a project that is not installed: pip install -e ./{target}" if project else ""
        )
        raise UsageError(
            f"nothing has the name '{target}'; name a plugin ({', '.join(registry.plugins)}), a file such as ./my_solver.py, "
            f"or a thing that `harness list` shows.{hint}"
        )
    return suites


def _suites(registry: Registry, plugin: str, name: str = "") -> Iterator[type[Checks]]:
    """Yield the suites of the things that a plugin registers, or of those that are called ``name`` or ``plugin/name``."""
    module = registry.plugins[plugin].module
    if not name:
        yield _made(things.PluginChecks, module, thing=registry.plugins[plugin])
    for kind in KINDS:
        wanted = registry.resolve(kind, name)  # refuses a name that several plugins have
        for key, thing in registry.things(kind).items():
            if registry.owner(kind, key) != plugin or wanted not in ("", key) or thing is Precomputed:
                continue  # the values of Precomputed are the data
            if kind != "solver":
                yield suite_of_thing(kind, key, thing)
                continue
            for values in (thing.conformance.values, *thing.conformance.variants):
                yield _of_solver(thing(**validated(thing, values, owner=f"solver '{thing.name}'")))
    for command in getattr(module, "harness_commands", tuple)():
        if name in ("", command.name, f"{plugin}/{command.name}"):
            yield _made(things.CommandChecks, command.callback, thing=command)
    if not name and any(hasattr(module, hook) for hook in OBSERVERS):
        yield _made(things.ObserverChecks, module, thing=module, called=plugin)


def suite_of_thing(kind: str, name: str, thing: Any) -> type[Checks]:
    """Return the suite of a thing that is neither a solver nor a command."""
    suite, declared = _SUITES[kind], getattr(thing, "conformance", Conformance())
    if issubclass(suite, ValueChecks):
        thing = thing(**declared.values)
    return _made(suite, getattr(thing, "function", thing), excused=declared.excused, thing=thing, called=name)


def _of_solver(solver: Solver) -> type[Checks]:
    """Return the suite of a configured solver, set to the gap that its model must reach."""
    gap = solver.conformance.gap or (_EXACT_GAP if solver.exact else None)
    try:
        targeted = with_target(solver, gap)
    except Exception:  # a check reports it, and the others run without the target
        targeted = solver
    missing = " ".join(f"'{text}'" for text in lacking(solver.requires))  # checks run in this process
    unmet = missing and f"{solver.name} needs what is not installed here: pip install {missing}"
    attributes = {"gap": gap, "excused": solver.conformance.excused, "called": solver.label, "unmet": unmet}
    return _made(SolverConformance, type(solver), solver=targeted, **attributes)


def _made(base: type[Checks], place: Any, **attributes: Any) -> type[Checks]:
    return type(base.__name__, (base,), {**attributes, "__module__": getattr(place, "__module__", __name__)})
