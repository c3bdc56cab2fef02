"""Discovery of plugins, whole ones and broken ones."""

from __future__ import annotations

import importlib
import sys
import textwrap
from importlib.machinery import EXTENSION_SUFFIXES

import pytest

from harness import CSVC, CSVCNoBias, Solver, UsageError, __version__
from harness.problems import EpsSVR
from harness.registry.discovery import load_registry
from harness.registry.hookspecs import FORMATS
from tests.registry.good_plugin import GOOD, labels


def test_a_folder_is_a_plugin_with_relative_imports(tmp_path) -> None:
    folder = tmp_path / "gamma_plugin"
    folder.mkdir()
    (folder / "parts.py").write_text(textwrap.dedent(GOOD).replace("{plugin}", "gamma_plugin"))
    (folder / "__init__.py").write_text("from .parts import harness_solvers\n")
    registry = load_registry([folder])
    assert "gamma_plugin" not in registry.broken
    assert registry.solver_class("gamma_plugin-two").__module__ == "gamma_plugin.parts"


@pytest.mark.parametrize("kind", ["package", "file", "installed"])
def test_a_change_of_anything_a_plugin_ships_changes_its_fingerprint(plugin, tmp_path, monkeypatch, kind) -> None:
    source = textwrap.dedent(GOOD).replace("{plugin}", "alpha")
    home = tmp_path / "alpha" if kind == "package" else tmp_path
    code, compiled = (home / name for name in ("parts.py", f"alpha_fast{EXTENSION_SUFFIXES[0]}"))
    (home / "__pycache__").mkdir(parents=True)
    compiled.write_bytes(b"\x7fELF\0" + b"first")
    code.write_text("")
    if kind == "package":
        (home / "__init__.py").write_text(source)
    else:
        used = "import parts, alpha_fast\n" if kind == "file" else ""
        (home / "alpha.py").write_text(source + f"\ndef later():\n    {used or 'pass'}\n")
    if kind == "installed":
        facts = tmp_path / "alpha_project-1.0.dist-info"
        facts.mkdir()
        (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: alpha-project\nVersion: 1.0\n")
        listed = ["alpha.py", code.name, compiled.name, "../../bin/alpha", f"{facts.name}/RECORD"]
        (facts / "RECORD").write_text("".join(f"{name},,\n" for name in listed))
        monkeypatch.syspath_prepend(str(tmp_path))

    def fingerprint() -> str:
        registry, path = plugin(), home if kind == "package" else home / "alpha.py"
        if kind == "installed":
            registry.load("alpha", lambda: importlib.import_module("alpha"), "alpha-project", "1.0")
        else:
            registry.load_all([], [path])
        assert registry.broken == {}
        return registry.plugins["alpha"].fingerprint

    first = fingerprint()
    (home / "__pycache__" / "parts.pyc").write_bytes(b"whatever")
    assert fingerprint() == first
    compiled.write_bytes(b"\x7fELF\0" + b"second")
    second = fingerprint()
    code.write_text("changed = 1\n")
    assert len({first, second, fingerprint()}) == 3


def test_a_plugin_path_that_is_no_plugin_is_refused(tmp_path) -> None:
    (tmp_path / "notes.txt").write_text("")
    for path, what in (
        (tmp_path, "is a folder without __init__.py"),
        (tmp_path / "notes.txt", "is no Python file"),
        (tmp_path / "none.py", "does not exist"),
        ("a\0b", "cannot be read"),
    ):
        with pytest.raises(UsageError, match=f"{what}.*; --plugin-path takes a .py file or a package folder"):
            load_registry([path])


def test_the_installed_plugins_are_found_but_for_disabled_ones(monkeypatch) -> None:
    registry = load_registry()
    assert {"harness", "smo", "fw"} <= set(registry.plugins)
    assert registry.plugins["smo"].release.startswith("svm-harness ")
    monkeypatch.setenv("HARNESS_DISABLE_PLUGINS", "smo, fw")
    registry = load_registry()
    assert not {"smo", "fw"} & set(registry.plugins)
    with pytest.raises(UsageError, match="no solver or plugin called 'smo'"):
        registry.select_solvers("smo")


def test_formulations_of_a_solver_may_be_names() -> None:
    registry = load_registry(only=())

    class Named(Solver):
        name = "named"
        solves = ("c-svc", CSVCNoBias, "not-there")

        def iterates(self, problem, rng):
            yield from ()

    assert registry.declared_by(Named) == [CSVC, CSVCNoBias] == registry.solved_by(Named)
    assert registry.not_installed(Named) == ["not-there"]
    assert registry.why_unsolvable(Named) == ""
    assert Named.takes(CSVC)
    assert not Named.takes(EpsSVR)
    assert Named.solved() == "c-svc, c-svc-nobias, not-there"
    Named.solves = ("not-there",)
    assert registry.why_unsolvable(Named).startswith("named solves not-there, which no installed plugin registers")
    Named.solves, Named.solves_dual_forms, Named.leaves_out = ("c-svc",), True, ("eps-svr",)
    assert CSVCNoBias in registry.solved_by(Named)
    assert EpsSVR not in registry.solved_by(Named)


FORMULATION = """
from dataclasses import dataclass
from harness import CSVC, Problem, hookimpl

@dataclass(frozen=True)
class Own:
    C: float = 1.0

class Mine(CSVC):
    name = "mine"
    parameter_class = Own

@hookimpl
def harness_formulations():
    return [Mine]
"""
METRICS = """from harness import hookimpl
def helper():
    return 1 / 0
@hookimpl
def harness_metrics():
    return {}
"""
BROKEN = {
    "import-error": (
        "import no_such_library_at_all\n",
        "alpha.py:1: it needs the package 'no_such_library_at_all', which is not installed: pip install no_such_library_at_all",
    ),
    "misspelt-hook": (GOOD.replace("harness_solvers", "harness_solver"), "unknown hook 'harness_solver' (did you mean"),
    "unmarked-hook": (
        GOOD.replace("@hookimpl", ""),
        "'harness_solvers' is not marked as a hook; put @harness.hookimpl",
    ),
    "no-hooks": ("x = 1\n", "it defines no hooks; expected at least one of harness_solvers, harness_datasets, "),
    "not-a-solver": (GOOD.replace("[First, Second]", "[int]"), "must return subclasses of harness.Solver"),
    "returns-nothing": (
        GOOD.replace("return [First, Second]", "pass"),
        "harness_solvers returned None; it must return a list",
    ),
    "no-name": (GOOD.replace('name = "{plugin}"', ""), "class First has the name None; it must be text of letters"),
    "solves-no-tuple": (GOOD.replace("(CSVC,)", "CSVC"), "it must be a tuple of formulations, the preferred one first"),
    "requires-no-tuple": (
        GOOD.replace('name = "{plugin}"', 'name = "{plugin}"\n        requires = "numpy"'),
        "First has requires='numpy'; it must be a tuple of pip's requirements",
    ),
    "requires-an-option": (
        GOOD.replace('name = "{plugin}"', 'name = "{plugin}"\n        requires = ("--pre",)'),
        "First has requires=('--pre',); it must be a tuple of pip's requirements",
    ),
    "odd-name": (GOOD.replace('"{plugin}"', '"a[b]"'), "has the name 'a[b]'; it must be text of letters"),
    "no-dataclass": (
        GOOD.replace("@dataclass(frozen=True)\n    class First", "class First"),
        "First declares epochs, tau but is no dataclass; put @dataclass(frozen=True) above it",
    ),
    "abstract": (GOOD.replace("def iterates", "def iterate"), "First has no method iterates; it must have one"),
    "twice-in-one": (
        GOOD.replace("[First, Second]", "[First, First]"),
        "solver 'alpha' is registered twice; rename one",
    ),
    "formulation-not-frozen": (
        FORMULATION.replace("(frozen=True)", ""),
        "it must be a frozen dataclass of its parameters: put @dataclass(frozen=True) above it.",
    ),
    "formulation-no-default": (
        FORMULATION.replace("C: float = 1.0", "C: float"),
        "parameters without a default: C; give",
    ),
    "kernel-taken": (
        "from harness import RBF, hookimpl\n@hookimpl\ndef harness_kernels():\n    return [RBF]\n",
        "kernel 'rbf' is already registered by plugin 'harness'; rename one of them.",
    ),
    **{
        f"format-{name}": (
            f"from harness import hookimpl\n@hookimpl\ndef harness_report_formats():\n    return {{'{name}': str}}\n",
            f"report format '{name}' is already registered by plugin 'harness'; rename one of them.",
        )
        for name in (*FORMATS, "JSON", "Table")
    },
    "metrics-no-dict": (METRICS.format("[1]"), "harness_metrics returned [1]; it must return functions by name"),
    "hook-raises": (METRICS.format("helper()"), "alpha.py:3, in helper: ZeroDivisionError: division by zero"),
    "no-python": ("x = 1\ndef f(:\n", "alpha.py:2: SyntaxError: invalid syntax"),
    "no-part": ("import harness.none\n", "alpha.py:1: ModuleNotFoundError: No module named 'harness.none'"),
    "arguments": (
        METRICS.replace("metrics():", "run_finished(rec, record, x=1):").format("{}"),
        "its hook 'harness_run_finished' takes 'rec', which the harness does not pass; write def",
    ),
    "wrapper": (METRICS.replace("@hookimpl", "@hookimpl(wrapper=True)").format("(yield)"), "is a wrapper"),
    "newer": (
        "requires_harness = '>=99'\nfrom harness import NotYet\n",
        f"it needs svm-harness >=99, and this is version {__version__}; install another one of either.",
    ),
    "older": (f"requires_harness = '<{__version__}'\n", f"it needs svm-harness <{__version__}, and this is version"),
    "no-version": ("requires_harness = 0.2\n", "its requires_harness is 0.2; it must be a version specifier"),
    "default-range": (
        GOOD.replace("parameter(1, ", "parameter(0, "),
        "the defaults of solver class First: parameter epochs=0 is not valid; expected int in [1, inf).",
    ),
    "default-type": (GOOD.replace("ter(1, ", "ter('many', "), "solver class First: parameter epochs='many' is not"),
    "default-infinite": (GOOD.replace("1e-3", "float('inf')"), "solver class First: parameter tau=inf is not"),
    **{
        f"field-{name}": (
            GOOD.replace("epochs: int", f"{name}: object = {value}\n        epochs: int"),
            f"solver class First has a parameter '{name}', which every harness.Solver has as an attribute; choose",
        )
        for name, value in (("label", "''"), ("name", "'x'"), ("solves", "(CSVC,)"), ("exact", "True"))
    },
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_plugin_is_reported_by_name_and_the_others_work(plugin, fault: str) -> None:
    source, reason = BROKEN[fault]
    registry = plugin(source, GOOD)
    assert reason in registry.broken["alpha"].reason
    assert "\n" not in registry.broken["alpha"].reason
    assert "alpha" not in registry.solvers, "a plugin is taken whole or not at all"
    assert not registry.manager.has_plugin("alpha")
    chosen = registry.select_solvers("alpha,beta")
    assert labels(chosen) == ["broken alpha", "beta"]
    with pytest.raises(UsageError, match="plugin 'alpha' could not be loaded: "):
        registry.solver_class("alpha")


def test_what_this_harness_is_asked_for_by_one_that_it_meets_is_taken(plugin) -> None:
    assert plugin("requires_harness = '>=0.2,<99'\n" + textwrap.dedent(GOOD)).broken == {}


def test_a_solver_name_belongs_to_the_plugin_that_came_first(plugin) -> None:
    registry = plugin(GOOD, GOOD.replace("{plugin}", "alpha"))
    assert registry.broken["beta"].reason == (
        "solver 'alpha' is already registered by plugin 'alpha'; rename one of them."
    )
    assert registry.owner("solver", "alpha") == "alpha"


def test_a_plugin_file_may_not_hide_another_module(tmp_path) -> None:
    module = sys.modules["numpy"]
    (tmp_path / "numpy.py").write_text(textwrap.dedent(GOOD))
    assert "has the name of the Python module 'numpy'" in load_registry([tmp_path / "numpy.py"]).broken["numpy"].reason
    assert sys.modules["numpy"] is module
