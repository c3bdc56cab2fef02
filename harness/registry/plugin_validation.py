"""What the registry asks of a plugin before it is taken: its module, and the classes it registers."""

from __future__ import annotations

import dataclasses
import importlib.util
import inspect
import linecache
import re
import sys
import traceback
from collections import Counter
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

import pluggy
from packaging.requirements import InvalidRequirement, Requirement

from harness import __version__
from harness.registry import hookspecs
from harness.registry.metric import Metric
from harness.support import parameters
from harness.support.column import Column
from harness.support.errors import PluginError, UsageError
from harness.support.parameters import did_you_mean
from harness.support.printable import plain_line

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*")  # what a selection string can name
_REQUIRES = re.compile(r"""^requires_harness\s*=\s*["']([^"']*)["']""", re.MULTILINE)


def _require(kept: bool, sentence: str) -> None:
    if not kept:
        raise PluginError(sentence)


def check_hooks(manager: pluggy.PluginManager, module: ModuleType) -> None:
    """Refuse a module without hooks, with a hook that is not marked, or one that nobody calls."""
    known = [attribute for attribute in vars(hookspecs) if attribute.startswith("harness_")]
    hooks = ", ".join(known)
    for attribute, value in vars(module).items():
        options: Any = manager.parse_hookimpl_opts(module, attribute)
        if options or (attribute.startswith("harness_") and callable(value)):
            near = did_you_mean(attribute, known)
            _require(attribute in known, f"it has an unknown hook '{attribute}'{near}; the hooks are: {hooks}.")
            _require(
                bool(options), f"its function '{attribute}' is not marked as a hook; put @harness.hookimpl above it."
            )
            _require(
                not options["wrapper"] and not options["hookwrapper"],
                f"its hook '{attribute}' is a wrapper; a hook of the harness is a plain function.",
            )
            _check_arguments(attribute, value)
    _require(
        any(hasattr(module, hook) for hook in known) or bool(solvers_of(module)),
        "it defines no hooks and no solver at its top level; "
        f"expected at least one of {hooks}: write one and put @harness.hookimpl above it.",
    )


def solvers_of(module: ModuleType) -> list[Any]:
    """Return the solver classes that a module itself defines: what a file without the hook ``harness_solvers`` registers."""
    from harness.solver.protocol import Solver

    own = [value for value in vars(module).values() if getattr(value, "__module__", "") == module.__name__]
    return [
        each
        for each in dict.fromkeys(filter(inspect.isclass, own))
        if issubclass(each, Solver) and hasattr(each, "name")
    ]


def _check_arguments(hook: str, given: Any) -> None:
    """Refuse a hook with arguments that the harness does not pass."""
    can = list(inspect.signature(getattr(hookspecs, hook)).parameters)
    code, asked = inspect.unwrap(given).__code__, inspect.signature(given).parameters.values()
    place, meant = f"{Path(code.co_filename).name}:{code.co_firstlineno}", f"write def {hook}({', '.join(can)})"
    for each in asked:
        known = each.name in can or each.default is not each.empty or each.kind is not each.POSITIONAL_OR_KEYWORD
        _require(known, f"{place}: its hook '{hook}' takes '{each.name}', which the harness does not pass; {meant}.")


def check_version(wanted: Any) -> None:
    """Refuse a plugin whose ``requires_harness``, a version specifier such as ``">=0.2"``, this harness does not meet."""
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        met = SpecifierSet(wanted).contains(__version__, prereleases=True)
    except (InvalidSpecifier, AttributeError, TypeError):
        sentence = f"its requires_harness is {wanted!r:.80}; it must be a version specifier, for example '>=0.2'."
        raise PluginError(sentence) from None
    _require(met, f"it needs svm-harness {wanted}, and this is version {__version__}; install another one of either.")


def version_refusal(error: Exception) -> str:
    """Return the sentence on a wrong version of the harness, if a plugin that failed at import asks for another one; else empty."""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        for wanted in _REQUIRES.findall("".join(linecache.getlines(frame.f_code.co_filename))):
            try:
                check_version(wanted)
            except PluginError as refused:
                return str(refused)
    return ""


def check_class(kind: str, hook: str, cls: Any) -> None:
    """Refuse a class of a kind (``solver``, ``data set``, ``kernel``, ``formulation``) that cannot be named, configured or driven."""
    from harness.datasets.dataset import DataSource
    from harness.kernels.functions import Kernel
    from harness.problems.problem import Problem
    from harness.solver.protocol import Solver

    base: Any = {"solver": Solver, "data set": DataSource, "kernel": Kernel, "formulation": Problem}[kind]
    _require(
        _is_subclass(cls, base),
        f"{hook} returned {cls!r}; it must return subclasses of harness.{base.__name__} (classes, not instances).",
    )
    what = f"{kind} class {cls.__name__}"
    check_name(what, getattr(cls, "name", None))
    missing = sorted(getattr(cls, "__abstractmethods__", ()))
    _require(not missing, f"{what} has no method {', '.join(missing)}; it must have one.")
    if kind == "solver":
        solves = getattr(cls, "solves", ())
        fits = isinstance(solves, (tuple, list)) and bool(solves)
        _require(
            fits and all(isinstance(each, str) or _is_subclass(each, Problem) for each in solves),
            f"{what} has solves={solves!r}; it must be a tuple of formulations, the preferred one first: "
            'solves = (harness.CSVC,) or solves = ("c-svc",).',
        )
        _check_requires(what, cls.requires)
    if kind == "formulation":
        _check_formulation(what, cls)
        return
    own = [field for field, text in vars(cls).get("__annotations__", {}).items() if "ClassVar" not in str(text)]
    _require(
        not own or "__dataclass_fields__" in vars(cls),
        f"{what} declares {', '.join(own)} but is no dataclass; put @dataclass(frozen=True) above it.",
    )
    of_base = {*dir(base), *base.__annotations__} - {known.name for known in dataclasses.fields(base)}
    for known in parameters.parameters_of(cls):
        meaning = f"which every harness.{base.__name__} has as an attribute; choose another name, or leave out the type"
        _require(known.name not in of_base, f"{what} has a parameter '{known.name}', {meaning}: name = 'my-own'.")
    parameters.check_defaults(cls, owner=what)


def _check_requires(what: str, requires: Any) -> None:
    try:
        fits = isinstance(requires, tuple) and all(Requirement(each) for each in requires)
    except (InvalidRequirement, TypeError):
        fits = False
    wrong = f"{what} has requires={requires!r}; it must be a tuple of pip's requirements"
    _require(fits, f"{wrong}: requires = ('libsvm-official>=3.35',).")


def checked_function(kind: str, name: str, value: Any) -> Any:
    """Return a metric or a renderer as the host calls it, a plain function of a metric as one that ranks nobody."""
    _require(callable(value), f"{kind} '{name}' is {value!r}; it must be a function.")
    return Metric(value) if kind == "metric" and not isinstance(value, Metric) else value


def _check_formulation(what: str, cls: Any) -> None:
    declared = getattr(cls, "parameter_class", None)
    _require(
        getattr(getattr(declared, "__dataclass_params__", None), "frozen", False),
        f"{what} has parameter_class={declared!r}; it must be a frozen dataclass of its parameters: put "
        "@dataclass(frozen=True) above it.",
    )
    bare = [known.name for known in cls.known_parameters() if known.default is dataclasses.MISSING]
    _require(
        not bare,
        f"{what} has parameters without a default: {', '.join(bare)}; give them one, so that it can be chosen by its name.",
    )
    parameters.check_defaults(cls.parameter_class, owner=what)
    columns = cls.columns
    _require(
        isinstance(columns, tuple) and all(isinstance(each, Column) for each in columns),
        f"{what} has columns={columns!r}; it must be a tuple of harness.Column.",
    )
    twice = [name for name, times in Counter(each.name for each in columns).items() if times > 1]
    _require(not twice, f"{what} has two columns of the name {', '.join(twice)}; give each a name of its own.")
    _require(
        cls.task in ("classification", "regression"),
        f"{what} has task={cls.task!r}; it must be 'classification' or 'regression'.",
    )


def check_name(what: str, name: Any) -> None:
    """Refuse a name that no selection or option can say."""
    _require(
        isinstance(name, str) and _NAME.fullmatch(name) is not None,
        f"{what} has the name {name!r}; it must be text of letters, digits and - _ . + only.",
    )


def _is_subclass(candidate: Any, base: type) -> bool:
    return isinstance(candidate, type) and issubclass(candidate, base)


_from_path: set[str] = set()  # names of modules that came from a plugin path


def plugin_file(given: str | Path) -> Path:
    """Return the file of a plugin that is named by a file or a package's folder.

    Raises
    ------
    UsageError : it is neither.
    """
    what = "does not exist"
    try:
        path = Path(given).resolve()
        file = path / "__init__.py" if path.is_dir() else path
        if file.is_file() and file.suffix == ".py":
            return file
        if path.exists():
            what = "is a folder without __init__.py" if path.is_dir() else "is no Python file"
    except (OSError, ValueError) as error:  # too long for a name, a null byte
        what = f"cannot be read ({getattr(error, 'strerror', None) or error})"
    name = plain_line(str(given), 200)
    raise UsageError(f"plugin path {name} {what}; --plugin-path takes a .py file or a package folder.")


class _FromSource(SourceFileLoader):
    """Runs the source as it is now: of two states of one size, written within a second, a .pyc may be the other one's."""

    def path_stats(self, path: Any) -> Any:
        """Refuse to say how old the source is, without which no .pyc is read or written."""
        raise OSError(f"{path} is read anew")


def _module_name(path: Path) -> str:
    """Return the name under which a file is imported: that within its package if it has relative imports."""
    name, folder = path.stem, path.parent
    if re.search(rb"^\s*from\s+\.", path.read_bytes(), re.MULTILINE):
        while (folder / "__init__.py").is_file():
            name, folder = f"{folder.name}.{name}", folder.parent
    return name


def module_from(path: Path) -> ModuleType:
    """Import a plugin from a file, or from a package's ``__init__.py``, under its own name."""
    package = path.name == "__init__.py"
    name = path.parent.name if package else _module_name(path)
    known = sys.modules.get(name) if name not in _from_path else None
    itself = Path(getattr(known, "__file__", None) or "").resolve() == path  # imported by a script, which keeps it
    taken = name in sys.stdlib_module_names or (known is not None and not itself)
    _require(not taken, f"{path} has the name of the Python module '{name}'; rename it.")
    folders = [str(path.parent)] if package else None
    spec = importlib.util.spec_from_file_location(name, path, submodule_search_locations=folders)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python file")
    if isinstance(spec.loader, SourceFileLoader):
        spec.loader = _FromSource(name, str(path))
    for stale in [known for known in sys.modules if known == name or known.startswith(f"{name}.")]:
        del sys.modules[stale]
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    finally:
        if known is not None:
            sys.modules[name] = known
        else:
            _from_path.add(name)
    return module
