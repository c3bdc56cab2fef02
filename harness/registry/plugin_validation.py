"""What the registry requires of a plugin before it is loaded: of its module, and of the classes and functions it registers."""

from __future__ import annotations

import functools
import inspect
import linecache
import re
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, fields
from types import ModuleType
from typing import Any, NamedTuple

import pluggy

import harness
from harness.registry import hookspecs
from harness.registry.metric import Metric
from harness.support import parameters
from harness.support.column import Column
from harness.support.errors import PluginError
from harness.support.parameters import did_you_mean

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*")  # what a selection string can name
_REQUIRES = re.compile(r"""^requires_harness\s*=\s*["']([^"']*)["']""", re.MULTILINE)


_ANY_NUMBER = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


class Kind(NamedTuple):
    """A kind of things that plugins register.

    hook : the function that returns them
    base : public class of the harness of which the hook returns subclasses; empty: it returns functions by name
    """

    hook: str
    base: str = ""


KINDS = {
    "solver": Kind("harness_solvers", "Solver"),
    "data set": Kind("harness_datasets", "DataSource"),
    "kernel": Kind("harness_kernels", "Kernel"),
    "formulation": Kind("harness_formulations", "Problem"),
    "metric": Kind("harness_metrics"),
    "report format": Kind("harness_report_formats"),
    "executor": Kind("harness_executors"),
}


def _require(condition: object, sentence: str) -> None:
    if not condition:
        raise PluginError(sentence)


def check_hooks(manager: pluggy.PluginManager, module: ModuleType) -> None:
    """Refuse a module without hooks, with a hook that is not marked, or one that the harness cannot call."""
    entry = "the entry point of a plugin names a module: [project.entry-points.harness] mine = 'my_module'"
    _require(isinstance(module, ModuleType), f"it is {module!r:.200}, which is no module; {entry}.")
    hooks = [name for name in vars(hookspecs) if name.startswith("harness_")]
    listing = ", ".join(hooks)
    for name, value in vars(module).items():
        options: Any = manager.parse_hookimpl_opts(module, name)
        if not (options or name in hooks or (name.startswith("harness_") and callable(value))):
            continue
        near = "" if name in hooks else did_you_mean(name, hooks)
        _require(name in hooks, f"it has an unknown hook '{name}'{near}; the hooks are: {listing}.")
        _require(options, f"its '{name}' is not marked as a hook; put @harness.hookimpl above its def.")
        plain = not (options["wrapper"] or options["hookwrapper"] or inspect.iscoroutinefunction(value))
        _require(plain, f"its hook '{name}' is a wrapper or async; a hook of the harness is a plain function.")
        passed = inspect.signature(getattr(hookspecs, name)).parameters
        for argument in inspect.signature(value).parameters.values():
            optional = argument.default is not argument.empty or argument.kind in _ANY_NUMBER
            by_position = argument.name in passed and argument.kind is not argument.KEYWORD_ONLY
            _require(
                optional or by_position,
                f"its hook '{name}' takes '{argument}', which the harness does not pass; write def {name}({', '.join(passed)}).",
            )
    _require(
        set(hooks) & set(vars(module)) or solvers_of(module),
        f"it defines no hooks and no solver at its top level; expected at least one of {listing}: write one and put "
        "@harness.hookimpl above it.",
    )


def solvers_of(module: ModuleType) -> list[Any]:
    """Return the solver classes that a module itself defines, which a module without any hook registers; else none."""
    if any(hasattr(module, hook) for hook, _ in KINDS.values()):
        return []
    classes = [cls for cls in vars(module).values() if getattr(cls, "__module__", "") == module.__name__]
    return [cls for cls in dict.fromkeys(classes) if _is_subclass(cls, harness.Solver) and hasattr(cls, "name")]


def check_version(required: Any) -> None:
    """Refuse a plugin whose ``requires_harness``, a version specifier such as ``">=0.2"``, this harness does not meet."""
    if required == "":
        return
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    version = harness.__version__
    try:
        met = SpecifierSet(required).contains(version, prereleases=True)
    except (InvalidSpecifier, AttributeError, TypeError):
        sentence = f"its requires_harness is {required!r:.80}; it must be a version specifier, for example '>=0.2'."
        raise PluginError(sentence) from None
    _require(met, f"it needs svm-harness {required}, and this is version {version}; install another one of either.")


def version_refusal(error: BaseException) -> str:
    """Return the sentence on a wrong version of the harness, if a plugin that failed at import needs another one; else empty."""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        for required in _REQUIRES.findall("".join(linecache.getlines(frame.f_code.co_filename))):
            try:
                check_version(required)
            except PluginError as refusal:
                return str(refusal)
    return ""


def things_of(kind: str, module: ModuleType) -> dict[str, Any]:
    """Return what a module registers of a kind, by name, checked.

    Raises
    ------
    PluginError : it cannot be used; whatever the module's hook raises.
    """
    hook, base = KINDS[kind]
    default: Any = list if base else dict
    if kind == "solver":
        default = functools.partial(solvers_of, module)
    returned: Any = getattr(module, hook, default)()
    if not base:
        example = "it must return functions by name: return {'mine': mine}."
        _require(isinstance(returned, Mapping), f"{hook} returned {returned!r:.200}; {example}")
        return {name: _checked_function(kind, name, value) for name, value in returned.items()}
    is_list = isinstance(returned, Iterable) and not isinstance(returned, (str, type, Mapping))
    _require(is_list, f"{hook} returned {returned!r:.200}; it must return a list of classes: return [Mine].")
    classes = list(returned)
    for cls in classes:
        check_class(kind, cls)
    for name, times in Counter(cls.name for cls in classes).items():
        _require(times == 1, f"{kind} '{name}' is registered twice; rename one of them.")
    return {cls.name: cls for cls in classes}


def _checked_function(kind: str, name: Any, value: Any) -> Any:
    """Return a metric, a renderer or an executor as the host calls it; a plain function of a metric ranks nobody."""
    check_name(kind, name)
    function = value.function if isinstance(value, Metric) else value
    _require(callable(function), f"{kind} '{name}' is {function!r:.200}; it must be a function.")
    return Metric(value) if kind == "metric" and value is function else value


def check_name(what: str, name: Any) -> None:
    """Refuse a name that no selection or option can have."""
    fits = isinstance(name, str) and _NAME.fullmatch(name)
    _require(fits, f"{what} has the name {name!r:.200}; it must be text of letters, digits and - _ . + only.")


def check_class(kind: str, cls: Any) -> None:
    """Refuse a class of a kind (``solver``, ``data set``, ``kernel``, ``formulation``) that cannot be named, configured or driven."""
    hook, base_name = KINDS[kind]
    base: Any = getattr(harness, base_name)
    _require(
        _is_subclass(cls, base),
        f"{hook} returned {cls!r:.200}; it must return subclasses of harness.{base_name} (classes, not instances).",
    )
    what = f"{kind} class {cls.__name__}"
    check_name(what, getattr(cls, "name", None))
    missing = sorted(getattr(cls, "__abstractmethods__", ()))
    _require(not missing, f"{what} has no method {', '.join(missing)}; it must have one.")
    for attribute, (fits, expected) in _RULES.get(kind, {}).items():
        value = getattr(cls, attribute, None)
        _require(fits(value), f"{what} has {attribute}={value!r:.200}; it must be {expected}.")
    if kind == "formulation":
        _check_defaults(what, cls.parameter_class)
        return
    declared = [name for name, text in vars(cls).get("__annotations__", {}).items() if "ClassVar" not in str(text)]
    _require(
        not declared or "__dataclass_fields__" in vars(cls),
        f"{what} declares {', '.join(declared)} but is no dataclass; put @dataclass(frozen=True) above it.",
    )
    reserved = {*dir(base), *base.__annotations__} - {field.name for field in fields(base)}
    for parameter in parameters.parameters_of(cls):
        _require(
            parameter.name not in reserved,
            f"{what} has a parameter '{parameter.name}', which every harness.{base_name} has as an attribute; choose another "
            "name, or leave out the type: name = 'my-own'.",
        )
    _check_defaults(what, cls)


def _check_defaults(what: str, cls: Any) -> None:
    """Refuse parameters without a default, or with one that the parameter does not accept."""
    bare = [parameter.name for parameter in parameters.parameters_of(cls) if parameter.default is MISSING]
    _require(
        not bare,
        f"{what} has parameters without a default: {', '.join(bare)}; give them one, so that it can be chosen by its name.",
    )
    parameters.check_defaults(cls, owner=what)


def _is_subclass(candidate: Any, base: type) -> bool:
    return isinstance(candidate, type) and issubclass(candidate, base)


def _are_formulations(value: Any) -> bool:
    is_list = isinstance(value, (tuple, list)) and len(value) > 0
    return is_list and all(isinstance(item, str) or _is_subclass(item, harness.Problem) for item in value)


def _are_requirements(value: Any) -> bool:
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        return isinstance(value, tuple) and all(Requirement(item) for item in value)
    except (InvalidRequirement, TypeError):
        return False


def _is_frozen_dataclass(value: Any) -> bool:
    return bool(getattr(getattr(value, "__dataclass_params__", None), "frozen", False))


def _are_columns(value: Any) -> bool:
    are_columns = isinstance(value, tuple) and all(isinstance(item, Column) for item in value)
    return are_columns and len({item.name for item in value}) == len(value)


_RULES: dict[str, dict[str, tuple[Callable[[Any], bool], str]]] = {
    "solver": {
        "solves": (
            _are_formulations,
            'a tuple of formulations, the preferred one first: solves = (harness.CSVC,) or solves = ("c-svc",)',
        ),
        "requires": (_are_requirements, "a tuple of pip's requirements: requires = ('libsvm-official>=3.35',)"),
        "serves": (lambda value: isinstance(value, (tuple, list, set, frozenset)), "a tuple: serves = ('reference',)"),
    },
    "formulation": {
        "parameter_class": (
            _is_frozen_dataclass,
            "a frozen dataclass of its parameters: put @dataclass(frozen=True) above it",
        ),
        "columns": (_are_columns, "a tuple of harness.Column, each with another name"),
        "task": (lambda value: value in ("classification", "regression"), "'classification' or 'regression'"),
    },
}
"""Kind -> attribute of its classes -> whether a value fits, and what it must be."""
