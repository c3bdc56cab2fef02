"""Discovery of plugins, whole ones and broken ones."""

from __future__ import annotations

import importlib
import os
import sys
import textwrap
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.metadata import EntryPoint

import pytest

from harness import CSVC, CSVCNoBias, Solver, UsageError, __version__
from harness.problems import EpsSVR
from harness.registry.discovery import Registry, load_registry
from harness.registry.entries import running_plugin
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
        (3, "cannot be read"),
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
    "no-hooks": (
        "x = 1\n",
        "it defines no hooks and no solver at its top level; expected at least one of harness_solvers, harness_datasets, ",
    ),
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
    "metric-no-function": (METRICS.format("{'one': 1.0}"), "metric 'one' is 1.0; it must be a function."),
    "metric-of-number": (
        "import harness\n" + METRICS.format("{'one': harness.Metric(1.0)}"),
        "metric 'one' is 1.0; it must be a",
    ),
    "metric-better": (
        "import harness\n" + METRICS.format("{'one': harness.Metric(min, better='up')}"),
        "a metric: parameter better='up' is not valid; expected 'low' or 'high' or none.",
    ),
    "metric-name": (METRICS.format("{'a b': min}"), "metric has the name 'a b'; it must be text of letters, digits"),
    "serves-text": (
        GOOD.replace('name = "{plugin}"\n', 'name = "{plugin}"\n        serves = "optimum"\n'),
        "solver class First has serves='optimum'; it must be a tuple: serves = ('reference',).",
    ),
    "hook-raises": (METRICS.format("helper()"), "alpha.py:3, in helper: ZeroDivisionError: division by zero"),
    "no-python": ("x = 1\ndef f(:\n", "alpha.py:2: SyntaxError: invalid syntax"),
    "no-part": ("import harness.none\n", "alpha.py:1: ModuleNotFoundError: No module named 'harness.none'"),
    "arguments": (
        METRICS.replace("metrics():", "run_finished(rec, record, x=1):").format("{}"),
        "its hook 'harness_run_finished' takes 'rec', which the harness does not pass; write def",
    ),
    "keyword-only": (
        METRICS.replace("metrics():", "run_finished(*, record):").format("{}"),
        "its hook 'harness_run_finished' takes 'record', which the harness does not pass; write def harness_run_finished(record).",
    ),
    "async": (METRICS.replace("def harness_", "async def harness_").format("{}"), "is a wrapper or async; a hook"),
    "hook-no-function": (
        "harness_solvers = 3\n",
        "its 'harness_solvers' is not marked as a hook; put @harness.hookimpl",
    ),
    "dict-of-classes": (
        GOOD.replace("[First, Second]", "{'alpha': First}"),
        "harness_solvers returned {'alpha': <class 'alpha.First'>}; it must return a list of classes",
    ),
    "generator-exit": ("raise GeneratorExit('no')\n", "alpha.py:1: GeneratorExit: no"),
    "null-byte": ("x = 1\0\n", "SyntaxError: source code string cannot contain null bytes"),
    "no-default": (
        GOOD.replace("epochs: int", "seed: int\n        epochs: int"),
        "has parameters without a default: seed",
    ),
    "type-unknown": (
        GOOD.replace("epochs: int", "epochs: 'Whole'"),
        "First has a parameter 'epochs' of the type 'Whole', which cannot be evaluated (name 'Whole' is not defined); import",
    ),
    "type-unreadable": (
        GOOD.replace("epochs: int = parameter(1", "epochs: Enum('E', {'half': 0.5}) = parameter(0.5").replace(
            "from dataclasses", "from enum import Enum\n    from dataclasses", 1
        ),
        "solver class First: parameter epochs has the type 0.5, which cannot be checked (Enums must contain either",
    ),
    "default-bool": (
        GOOD.replace("ter(1, ", "ter(True, "),
        "parameter epochs=True is not valid; expected int in [1, inf).",
    ),
    "default-long": (
        GOOD.replace("ter(1, ", "ter('9' * 5000, "),
        f"parameter epochs='{'9' * 79} is not valid; expected int in [1, inf).",
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
    assert "<frozen" not in registry.broken["alpha"].reason, "a place is a file"
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


def test_a_plugin_file_may_not_hide_another_module(tmp_path, monkeypatch) -> None:
    module = sys.modules["numpy"]
    installed = tmp_path / "site"
    installed.mkdir()
    (installed / "not_imported.py").touch()
    monkeypatch.syspath_prepend(str(installed))
    for name in ("numpy", "not_imported", "antigravity"):
        if name == "antigravity":
            monkeypatch.syspath_prepend(str(tmp_path))  # as `python -m harness` does in the plugin's folder
        (tmp_path / f"{name}.py").write_text(textwrap.dedent(GOOD))
        registry = load_registry([tmp_path / f"{name}.py"])
        assert registry.broken[name].reason.endswith(
            f"{name}.py has the name of the Python module '{name}'; rename it."
        )
    assert sys.modules["numpy"] is module
    assert not {"antigravity", "not_imported"} & set(sys.modules)


@pytest.mark.parametrize("package", [True, False])
def test_a_plugin_is_imported_as_its_files_are_now(plugin, tmp_path, package: bool) -> None:
    home = tmp_path / "alpha"
    home.mkdir()
    source = textwrap.dedent(GOOD).replace("{plugin}", "alpha")
    file = home / ("parts.py" if package else "alpha.py")
    (home / "__init__.py").write_text("from .parts import harness_solvers\n")
    for passes in (1, 2):  # files of one size, written in one second
        file.write_text(source.replace("parameter(1", f"parameter({passes}"))
        importlib.invalidate_caches()
        if package:
            os.utime(file, (passes, passes))
        registry = load_registry([home if package else file])
        assert registry.solver_class("alpha")().epochs == passes


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (
            "no_such_module_at_all",
            "it needs the package 'no_such_module_at_all', which is not installed: pip install no_such",
        ),
        (
            "os:getcwd",
            "it is <built-in function getcwd>, which is no module; the entry point of a plugin names a module",
        ),
        ("json", "it defines no hooks and no solver at its top level; expected at least one of harness_solvers"),
    ],
)
def test_an_entry_point_that_fails_is_a_broken_plugin(value: str, reason: str) -> None:
    registry = Registry()
    registry.load_all([EntryPoint("mine", value, "harness"), EntryPoint("qp", "harness_qp", "harness")])
    assert registry.broken["mine"].reason.startswith(reason)
    assert list(registry.plugins) == ["qp"]


def test_an_interrupt_between_two_lines_of_the_host_is_no_error_of_a_plugin():
    context = running_plugin("own")
    context.__enter__()
    context.gen.close()  # as Python does where the interrupt came before the body
    assert context.gen.gi_frame is None
