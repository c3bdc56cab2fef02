"""What is known of an installed solver or data set, as JSON data: the ground of ``harness describe``, and of the dashboard."""

from __future__ import annotations

import dataclasses
import re
import sys
from typing import TYPE_CHECKING, Any

from harness.cli.catalogue import docstring, summary, unmarked

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from harness.datasets.dataset import DataSource
    from harness.registry import Registry
    from harness.solver import Solver

_YEAR = re.compile(r"\b(?:19[5-9]|20[0-3])\d\b")


def about_solver(name: str) -> dict[str, Any] | None:
    """Return what is known of the installed solver called ``name``, None if there is none.

    ``plugin``, ``version``; ``text``, its docstring; ``papers``, what its own text, its module's or its plugin's names as
    its source; ``solves``, pairs of a formulation and its meaning; ``counted``, whether its kernel evaluations are;
    ``exact``, whether it converges to the optimum; ``parameters`` as `parameters_told` has them.
    """
    return _of(
        name, lambda registry: {name: cls for own in registry.solvers.values() for name, cls in own.items()}, _solver
    )


def about_dataset(name: str) -> dict[str, Any] | None:
    """Return what is known of the data set called ``name``, None if there is none; the data are not read.

    ``plugin``, ``version``; ``text``, its docstring; ``description`` in a sentence; ``files`` that it reads;
    ``parameters`` as `parameters_told` has them.
    """
    return _of(name, lambda registry: registry.datasets, _dataset)


def parameters_told(cls: type) -> list[dict[str, str]]:
    """Return the parameters of a class in words: ``name``, ``type``, ``range``, ``default`` as a user types it, ``meaning``."""
    from harness import parameters

    return [
        {
            "name": known.name,
            "type": known.type_name,
            "range": known.range,
            "default": "required" if known.default is dataclasses.MISSING else _as_typed(known.default),
            "meaning": unmarked(known.doc),
        }
        for known in parameters.parameters_of(cls)
    ]


def _as_typed(value: Any) -> str:
    """Return a default as a user would type it: ``none``, ``true``."""
    from harness.report import figures

    return str(value).lower() if value is None or isinstance(value, bool) else figures.setting(value)


def _of(
    name: str, known: Callable[[Registry], dict[str, Any]], told: Callable[[Registry, Any], dict[str, Any]]
) -> dict[str, Any] | None:
    from harness.registry import shared_registry

    registry = shared_registry()
    cls = known(registry).get(name)
    return None if cls is None else told(registry, cls)


def _solver(registry: Registry, cls: type[Solver]) -> dict[str, Any]:
    owner = next(plugin for plugin, own in registry.solvers.items() if own.get(cls.name) is cls)
    return {
        **_plugin(registry, owner),
        "text": docstring(cls),
        "papers": _papers(cls, registry.plugins[owner].module),
        "solves": [[problem.name, summary(problem)] for problem in registry.solved_by(cls)],
        "counted": bool(cls.observable),  # may be a property: by its parameters
        "exact": bool(cls.exact),
        "parameters": parameters_told(cls),
    }


def _papers(cls: type[Solver], plugin: ModuleType) -> list[str]:
    """Return the paragraphs that begin with 'Source:', else those with a year; without what differs from the paper."""
    near, far = (docstring(subject).split("\n\n") for subject in (sys.modules[cls.__module__], plugin))
    own = [*docstring(cls).split("\n\n"), *near]
    stated = [text.removeprefix("Source: ") for text in own if text.startswith("Source: ")]
    dated = stated or [text for text in own if _YEAR.search(text)] or [text for text in far if _YEAR.search(text)]
    return [" ".join(cut.split()) for text in dated if (cut := text.partition("Differs in")[0]) and text[0] != "*"]


def _dataset(registry: Registry, cls: type[DataSource]) -> dict[str, Any]:
    return {
        **_plugin(registry, registry.owner("data set", cls.name)),
        "text": docstring(cls),
        "description": cls.description,
        "files": list(getattr(cls, "files", ())),
        "parameters": parameters_told(cls),
    }


def _plugin(registry: Registry, name: str) -> dict[str, Any]:
    plugin = registry.plugins[name]
    return {"plugin": name, "version": " ".join(part for part in (plugin.distribution, plugin.version) if part)}
