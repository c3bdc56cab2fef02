"""What is registered, as plain entries and as JSON data: the ground of ``harness list``, ``harness describe`` and of pages."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from harness.cli import commands, options
from harness.measure.outcome import Status
from harness.registry.hookspecs import FORMATS, OBSERVERS
from harness.solver.protocol import formulation_names
from harness.support.errors import UsageError
from harness.support.parameters import did_you_mean

if TYPE_CHECKING:
    from harness.problems.problem import Problem
    from harness.registry.discovery import Registry
    from harness.solver.protocol import Solver

_MARKUP = re.compile(r"(?::[\w:]+:)?`{1,2}([^`]+)`{1,2}")  # ``code``, `name`, :mod:`module`


@dataclass(frozen=True)
class Entry:
    """One registered thing.

    kind : singular, as a reader says it: ``data set``
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


def entries(registry: Registry, kind: str) -> list[Entry]:
    """Return what is registered of a kind, one of :data:`harness.cli.options.LISTED_KINDS`."""
    if kind == "solvers":
        return [
            Entry("solver", name, plugin, summary(cls), cls, {"solves": solved_names(registry, cls)})
            for plugin, own in registry.solvers.items()
            for name, cls in own.items()
        ]
    if kind == "plugins":
        return _plugins(registry)
    if kind == "commands":
        added = commands.of(registry)
        return [
            Entry("command", name, added.plugins[name], each.get_short_help_str(limit=80), each.callback)
            for name, each in added.commands.items()
        ]
    if kind == "observers":
        observers = [each for hook in OBSERVERS for each in getattr(registry.manager.hook, hook).get_hookimpls()]
        told = [(each.plugin_name, each.function) for each in observers]
        return [Entry("observer", each.__name__, plugin, summary(each), each) for plugin, each in told]
    own = {name: SimpleNamespace(__doc__=line) for name, line in FORMATS.items()}
    named: dict[str, Any] = own | registry.report_formats if kind == "formats" else getattr(registry, kind)
    singular = {"datasets": "data set", "formats": "report format"}.get(kind, kind[:-1])
    found = [Entry(singular, name, registry.owner(singular, name), _told(each), each) for name, each in named.items()]
    if kind == "formulations":
        return [replace(entry, facts={"solvers": solvers_of(registry, entry.subject)}) for entry in found]
    return found


def solved_names(registry: Registry, solver: type[Solver]) -> list[str]:
    """Return the names of the formulations that a solver solves, those that are not installed last."""
    return [*formulation_names(registry.solved_by(solver)), *registry.not_installed(solver)]


def solvers_of(registry: Registry, formulation: type[Problem]) -> list[str]:
    """Return the solvers that can solve a formulation."""
    return [cls.name for own in registry.solvers.values() for cls in own.values() if cls.takes(formulation)]


def _plugins(registry: Registry) -> list[Entry]:
    facts = {"version": "", "status": "broken", "solvers": []}
    broken = [Entry("plugin", name, name, each.reason, each, facts) for name, each in registry.broken.items()]
    loaded = []
    for name, plugin in registry.plugins.items():
        facts = {"version": plugin.version, "status": str(Status.OK), "solvers": list(registry.solvers.get(name, {}))}
        loaded.append(Entry("plugin", name, name, summary(plugin.module), plugin, facts))
    return [*loaded, *broken]


def _told(subject: Any) -> str:
    """Return what is said of a thing in a line: a data set has a description of its own."""
    return unmarked(str(getattr(subject, "description", ""))) or summary(subject)


def summary(subject: Any) -> str:
    """Return the first paragraph of a docstring in one line, without its markup."""
    return " ".join(docstring(subject).partition("\n\n")[0].split())


def docstring(subject: Any) -> str:
    """Return the docstring, empty without one; the signature that a dataclass makes up is none."""
    text = inspect.cleandoc(getattr(subject, "__doc__", None) or "")
    generated = isinstance(subject, type) and text.startswith(f"{subject.__name__}(")
    return "" if generated else unmarked(text)


def unmarked(text: str) -> str:
    """Return a text as a reader of plain text wants it: ``code``, `names` and the roles of references without their marks."""
    return _MARKUP.sub(r"\1", text)


def find(registry: Registry, name: str) -> list[Entry]:
    """Return everything called ``name``, of any kind; ``plugin/solver`` names a solver.

    Raises
    ------
    UsageError : nothing is called so; with the nearest names of all kinds.
    """
    everything = [entry for kind in options.LISTED_KINDS for entry in entries(registry, kind)]
    found = [entry for entry in everything if name == entry.name]
    found += [entry for entry in everything if entry.kind == "solver" and name == f"{entry.plugin}/{entry.name}"]
    if not found:
        near = did_you_mean(name, dict.fromkeys(entry.name for entry in everything))
        raise UsageError(
            f"nothing is called '{name}'{near}; `harness list KIND` shows what there is, KIND one of "
            f"{', '.join(options.LISTED_KINDS)}."
        )
    return found
