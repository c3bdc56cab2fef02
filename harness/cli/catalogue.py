"""What is registered, as plain entries and as JSON data: for ``harness list``, ``harness describe`` and pages."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from harness.cli import commands
from harness.measure.outcome import Status
from harness.registry.hookspecs import FORMATS, OBSERVERS
from harness.support.errors import UsageError
from harness.support.parameters import did_you_mean

if TYPE_CHECKING:
    from harness.problems.problem import Problem
    from harness.registry.discovery import Registry
    from harness.solver.protocol import Solver

LISTED = {
    "solvers": "solver", "plugins": "plugin", "datasets": "data set", "kernels": "kernel", "formulations": "formulation",
    "metrics": "metric", "formats": "report format", "executors": "executor", "observers": "observer", "commands": "command",
}  # fmt: skip
"""What ``harness list`` takes -> the kind that it lists."""
_MARKUP = re.compile(r"(?::[\w:]+:)?`{1,2}([^`]+)`{1,2}")  # ``code``, `name`, :mod:`module`


@dataclass(frozen=True)
class Entry:
    """One registered thing.

    subject : the class, function or module itself
    facts : further columns of its listing
    """

    kind: str
    name: str
    plugin: str
    summary: str
    subject: Any
    facts: dict[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return the entry as JSON data."""
        return {"name": self.name, "plugin": self.plugin, **self.facts, "description": self.summary}


def entries(registry: Registry, listed: str) -> list[Entry]:
    """Return what is registered of a kind, one of the keys of ``LISTED``."""
    kind = LISTED[listed]
    if kind == "plugin":
        return _plugins(registry)
    if kind == "command":
        added = commands.of(registry)
        found = [(name, each.get_short_help_str(limit=80), each.callback) for name, each in added.things.items()]
        return [Entry(kind, name, added.owners[name], line, callback) for name, line, callback in found]
    if kind == "observer":
        hooks = [getattr(registry.manager.hook, hook).get_hookimpls() for hook in OBSERVERS]
        observers = [(each.function, each.plugin_name) for of_hook in hooks for each in of_hook]
        return [Entry(kind, function.__name__, plugin, summary(function), function) for function, plugin in observers]
    things = {name: SimpleNamespace(__doc__=line) for name, line in FORMATS.items()} if kind == "report format" else {}
    things |= registry.things(kind)
    entries = [Entry(kind, name, registry.owner(kind, name), _line(each), each) for name, each in things.items()]
    for entry in entries:
        if kind == "solver":
            entry.facts["solves"] = solved_names(registry, entry.subject)
        elif kind == "formulation":
            entry.facts["solvers"] = solvers_of(registry, entry.subject)
    return entries


def solved_names(registry: Registry, solver: type[Solver]) -> list[str]:
    """Return the names of the formulations that a solver solves, those that are not installed last."""
    solved = [registry.name_of("formulation", cls) for cls in registry.solved_by(solver)]
    return [*solved, *registry.not_installed(solver)]


def solvers_of(registry: Registry, formulation: type[Problem]) -> list[str]:
    """Return the solvers that can solve a formulation."""
    return [name for name, cls in registry.things("solver").items() if cls.takes(formulation)]


def _plugins(registry: Registry) -> list[Entry]:
    facts = {"version": "", "status": "broken", "solvers": []}
    broken = [Entry("plugin", name, name, each.reason, each, facts) for name, each in registry.broken.items()]
    loaded = []
    for name, plugin in registry.plugins.items():
        facts = {"version": plugin.version, "status": str(Status.OK), "solvers": list(registry.solvers.get(name, {}))}
        loaded.append(Entry("plugin", name, name, summary(plugin.module), plugin, facts))
    return [*loaded, *broken]


def _line(subject: Any) -> str:
    """Return the description of a thing in one line: its attribute ``description``, else the summary of its docstring."""
    return unmarked(str(getattr(subject, "description", ""))) or summary(subject)


def summary(subject: Any) -> str:
    """Return the first paragraph of a docstring in one line, without its markup."""
    return " ".join(docstring(subject).partition("\n\n")[0].split())


def docstring(subject: Any) -> str:
    """Return the docstring, empty without one; the signature that a dataclass generates is none."""
    text = inspect.cleandoc(getattr(subject, "__doc__", None) or "")
    generated = isinstance(subject, type) and text.startswith(f"{subject.__name__}(")
    return "" if generated else unmarked(text)


def unmarked(text: str) -> str:
    """Return a text without its markup: ``code``, `names` and the roles of references as plain text."""
    return _MARKUP.sub(r"\1", text)


def find(registry: Registry, name: str) -> list[Entry]:
    """Return everything called ``name`` or ``plugin/name``, of any kind.

    Raises
    ------
    UsageError : nothing has this name; with the nearest names of all kinds.
    """
    everything = [entry for listed in LISTED for entry in entries(registry, listed)]
    named = [entry for entry in everything if name in (entry.name, f"{entry.plugin}/{entry.name}")]
    named = named or [entry for entry in everything if entry.name.endswith(f"/{name}")]
    if not named:
        near = did_you_mean(name, dict.fromkeys(entry.name for entry in everything))
        raise UsageError(f"nothing is called '{name}'{near}; `harness list KIND` lists {', '.join(LISTED)}.")
    return named
