"""What the registry asks of a plugin before it is taken: its module, and the classes it registers."""

from __future__ import annotations

import dataclasses
import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pluggy

from harness import hookspecs, parameters
from harness.errors import PluginError, UsageError
from harness.parameters import did_you_mean
from harness.plain import plain_line

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*")  # what a selection string can name


def check_hooks(manager: pluggy.PluginManager, module: ModuleType) -> None:
    """Refuse a module without hooks, with a hook that is not marked, or one that nobody calls."""
    known = [attribute for attribute in vars(hookspecs) if attribute.startswith("harness_")]
    hooks = ", ".join(known)
    for attribute in vars(module):
        marked = manager.parse_hookimpl_opts(module, attribute) is not None
        if not marked and not (attribute.startswith("harness_") and callable(getattr(module, attribute))):
            continue
        if attribute not in known:
            raise PluginError(
                f"it has an unknown hook '{attribute}'{did_you_mean(attribute, known)}; the hooks are: {hooks}."
            )
        if not marked:
            raise PluginError(f"its function '{attribute}' is not marked as a hook; put @harness.hookimpl above it.")
    if not any(hasattr(module, hook) for hook in known):
        raise PluginError(
            f"it defines no hooks; expected at least one of {hooks}: write one and put @harness.hookimpl above it."
        )


def check_solver(cls: Any) -> None:
    """Refuse what cannot be configured or driven, before anybody selects it."""
    from harness.problems.problem import Problem
    from harness.solver import Solver

    if not (isinstance(cls, type) and issubclass(cls, Solver)):
        raise PluginError(
            f"harness_solvers returned {cls!r}; it must return subclasses of harness.Solver (classes, not instances)."
        )
    if not isinstance(getattr(cls, "name", None), str) or not getattr(cls, "solves", ()):
        raise PluginError(
            f"solver class {cls.__name__} needs the class attributes 'name' (text) and 'solves' (formulations)."
        )
    solves = cls.solves if isinstance(cls.solves, (tuple, list, set, frozenset)) else [cls.solves]
    wrong = [formulation for formulation in solves if not _is_subclass(formulation, Problem)]
    if wrong or not isinstance(cls.solves, (tuple, list)):
        raise PluginError(
            f"solver class {cls.__name__} has solves={cls.solves!r}; it must be a tuple of formulations, "
            "the preferred one first: solves = (harness.CSVC,)."
        )
    check_class(cls, "solver")


def check_formulation(cls: Any) -> None:
    """Refuse what states no problem, before anybody selects it."""
    from harness.problems.problem import Problem

    if not _is_subclass(cls, Problem):
        raise PluginError(
            f"harness_formulations returned {cls!r}; it must return subclasses of harness.Problem (classes, not instances)."
        )
    check_class(cls, "formulation", fields=False)
    declared = getattr(cls, "parameter_class", None)
    if not isinstance(declared, type) or not getattr(getattr(declared, "__dataclass_params__", None), "frozen", False):
        raise PluginError(
            f"formulation class {cls.__name__} has parameter_class={declared!r}; it must be a frozen dataclass of its "
            "parameters: put @dataclass(frozen=True) above it."
        )
    bare = [known.name for known in cls.known_parameters() if known.default is dataclasses.MISSING]
    if bare:
        raise PluginError(
            f"formulation class {cls.__name__} has the parameter {bare[0]!r} without a default; give it one, so that the "
            "formulation can be chosen by its name alone."
        )
    if cls.task not in ("classification", "regression"):
        raise PluginError(
            f"formulation class {cls.__name__} has task={cls.task!r}; it must be 'classification' or 'regression'."
        )


def check_class(cls: type, kind: str, *, fields: bool = True) -> None:
    """Refuse a registered class without a usable name, methods or, where its parameters are its own, ``fields``."""
    check_name(f"{kind} class {cls.__name__}", getattr(cls, "name", None))
    missing = sorted(getattr(cls, "__abstractmethods__", ()))
    if missing:
        raise PluginError(f"{kind} class {cls.__name__} has no method {missing[0]!r}; it must have one.")
    if not fields:
        return
    own = [field for field, text in vars(cls).get("__annotations__", {}).items() if "ClassVar" not in str(text)]
    if own and "__dataclass_fields__" not in vars(cls):
        raise PluginError(
            f"{kind} class {cls.__name__} declares {own[0]!r} but is no dataclass; put @dataclass(frozen=True) above it."
        )
    parameters.parameters_of(cls)


def check_name(what: str, name: Any) -> None:
    """Refuse a name that no selection or option can say."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise PluginError(f"{what} has the name {name!r}; it must be text of letters, digits and - _ . + only.")


def _is_subclass(candidate: Any, base: type) -> bool:
    return isinstance(candidate, type) and issubclass(candidate, base)


_from_path: set[str] = set()  # names of modules that came from a plugin path


def plugin_file(given: str | Path) -> Path:
    """Return the file of a plugin that is named by a file or a package's folder.

    Raises
    ------
    UsageError : it is neither.
    """
    expected = "--plugin-path takes a .py file or a package folder"
    try:
        path = Path(given).resolve()
        path.stat()
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:  # too long for a name, a null byte
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"plugin path {plain_line(str(given), 200)} cannot be read: {reason}; {expected}.") from None
    if path.is_dir():
        if not (path / "__init__.py").is_file():
            raise UsageError(
                f"plugin path {given} is a folder without __init__.py; {expected}. Name the plugin's file in it, "
                "or add an __init__.py."
            )
        return path / "__init__.py"
    if not path.is_file():
        raise UsageError(f"plugin path {given} {'is no file' if path.exists() else 'does not exist'}; {expected}.")
    if path.suffix != ".py":
        raise UsageError(f"plugin path {given} is no Python file; {expected}.")
    return path


def module_from(path: Path) -> ModuleType:
    """Import a plugin from a file, or from a package's ``__init__.py``, under its own name."""
    package = path.name == "__init__.py"
    name = path.parent.name if package else path.stem
    if name in sys.stdlib_module_names or (name in sys.modules and name not in _from_path):
        raise PluginError(f"{path} has the name of the Python module '{name}'; rename it.")
    folders = [str(path.parent)] if package else None
    spec = importlib.util.spec_from_file_location(name, path, submodule_search_locations=folders)
    if spec is None or spec.loader is None:
        raise PluginError(f"{path} is no Python file; --plugin-path takes a .py file or a package folder.")
    for stale in [known for known in sys.modules if known == name or known.startswith(f"{name}.")]:
        del sys.modules[stale]
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    _from_path.add(name)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
