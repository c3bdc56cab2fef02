"""Discovery of plugins, whole ones and broken ones."""

import importlib
import os
import sys
import textwrap
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.metadata import EntryPoint, entry_points

import numpy as np
import pytest

from harness import CSVC, CSVCNoBias, Solver, UsageError, __version__
from harness.problems import EpsSVR
from harness.registry import discovery
from harness.registry.discovery import Registry, load_registry
from harness.registry.entries import running_plugin
from harness.run.plan import Study, key_of_source, plan
from harness.support.faults import format_error
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
HARNESS_METRIC = "import harness\n" + METRICS


def good(old: str, new: str) -> str:
    """Return the good plugin with a fault."""
    assert old in GOOD
    return GOOD.replace(old, new)


BROKEN = {
    "import-error": ("import no_such_library\n", "alpha.py:1: the module 'no_such_library' could not be imported; install"),
    "misspelt-hook": (good("harness_solvers", "harness_solver"), "unknown hook 'harness_solver' (did you mean"),
    "unmarked-hook": (good("@hookimpl", ""), "put @harness.hookimpl"),
    "no-hooks": ("x = 1\n", "it defines no hooks"),
    "not-a-solver": (good("[First, Second]", "[int]"), "must return subclasses of harness.Solver"),
    "returns-nothing": (good("return [First, Second]", "pass"), "harness_solvers returned None"),
    "no-name": (good('name = "{plugin}"\n', "\n"), "class First has the name None"),
    "solves-no-tuple": (good("(CSVC,)", "CSVC"), "must be a tuple of formulations"),
    "requires-no-tuple": (good('name = "{plugin}"\n', 'name = "{plugin}"; requires = "numpy"\n'), "First has requires='numpy'"),
    "requires-an-option": (good('name = "{plugin}"\n', 'name = "{plugin}"; requires = ("--pre",)\n'), "requires=('--pre',)"),
    "odd-name": (good('"{plugin}"\n', '"a[b]"\n'), "has the name 'a[b]'"),
    "no-dataclass": (good("@dataclass(frozen=True)\n    class First", "class First"), "First declares epochs, tau"),
    "abstract": (good("def iterates", "def iterate"), "First has no method iterates"),
    "twice-in-one": (good("[First, Second]", "[First, First]"), "solver 'alpha' is registered twice"),
    "formulation-not-frozen": (FORMULATION.replace("(frozen=True)", ""), "must be a frozen dataclass"),
    "formulation-no-default": (FORMULATION.replace("C: float = 1.0", "C: float"), "parameters without a default: C"),
    "metrics-no-dict": (METRICS.format("[1]"), "harness_metrics returned [1]"),
    "metric-no-function": (METRICS.format("{'one': 1.0}"), "metric 'one' is 1.0"),
    "metric-of-number": (HARNESS_METRIC.format("{'one': harness.Metric(1.0)}"), "metric 'one' is 1.0"),
    "metric-better": (HARNESS_METRIC.format("{'one': harness.Metric(min, better='up')}"), "better='up' is not valid"),
    "metric-name": (METRICS.format("{'a b': min}"), "metric has the name 'a b'"),
    "serves-text": (good('name = "{plugin}"\n', 'name = "{plugin}"; serves = "optimum"\n'), "First has serves='optimum'"),
    "hook-raises": (METRICS.format("helper()"), "alpha.py:3, in helper: ZeroDivisionError"),
    "no-python": ("x = 1\ndef f(:\n", "alpha.py:2: SyntaxError"),
    "no-part": ("import harness.none\n", "alpha.py:1: ModuleNotFoundError"),
    "arguments": (METRICS.replace("metrics():", "run_finished(rec, record, x=1):").format("{}"), "takes 'rec', which"),
    "keyword-only": (METRICS.replace("metrics():", "run_finished(*, record):").format("{}"), "takes 'record', which"),
    "async": (METRICS.replace("def harness_", "async def harness_").format("{}"), "is a wrapper or async"),
    "wrapper": (METRICS.replace("@hookimpl", "@hookimpl(wrapper=True)").format("(yield)"), "is a wrapper"),
    "hook-no-function": ("harness_solvers = 3\n", "'harness_solvers' is not marked as a hook"),
    "dict-of-classes": (good("[First, Second]", "{'alpha': First}"), "it must return a list of classes"),
    "generator-exit": ("raise GeneratorExit('no')\n", "alpha.py:1: GeneratorExit: no"),
    "null-byte": ("x = 1\0\n", "SyntaxError: source code string cannot"),
    "no-default": (good("epochs: int", "seed: int\n        epochs: int"), "parameters without a default: seed"),
    "type-unknown": (good("epochs: int", "epochs: 'Whole'"), "'epochs' of the type 'Whole'"),
    "type-unreadable": (
        good("epochs: int = parameter(1", "epochs: Enum('E', {'half': 0.5}) = parameter(0.5").replace(
            "from dataclasses", "from enum import Enum\n    from dataclasses", 1
        ),
        "parameter epochs has the type 0.5",
    ),
    "default-bool": (good("ter(1, ", "ter(True, "), "epochs=True is not valid"),
    "default-long": (good("ter(1, ", "ter('9' * 5000, "), f"epochs='{'9' * 79} is not valid"),
    "default-range": (good("ter(1, ", "ter(0, "), "solver class First: parameter epochs=0"),
    "default-type": (good("ter(1, ", "ter('many', "), "parameter epochs='many' is not"),
    "default-infinite": (good("1e-3", "float('inf')"), "parameter tau=inf is not"),
    "newer": ("requires_harness = '>=99'\nfrom harness import NotYet\n", f"svm-harness >=99, and this is version {__version__}"),
    "older": (f"requires_harness = '<{__version__}'\n", f"it needs svm-harness <{__version__}"),
    "no-version": ("requires_harness = 0.2\n", "its requires_harness is 0.2"),
    **{
        f"field-{name}": (good("epochs: int", f"{name}: object = {value}\n        epochs: int"), f"has a parameter '{name}', which")
        for name, value in (("label", "''"), ("name", "'x'"), ("solves", "(CSVC,)"), ("exact", "True"))
    },
}  # fmt: skip


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_plugin_is_reported_by_name_and_the_others_work(plugin, fault: str) -> None:
    source, reason = BROKEN[fault]
    registry = plugin(source, GOOD)
    assert reason in registry.broken["alpha"].reason
    assert "\n" not in registry.broken["alpha"].reason
    assert "<frozen" not in registry.broken["alpha"].reason, "a place is a file"
    assert "alpha" not in registry.solvers, "a plugin is taken whole or not at all"
    assert not registry.manager.has_plugin("alpha")
    assert labels(registry.select_solvers("alpha,beta")) == ["broken alpha", "beta"]
    with pytest.raises(UsageError, match="plugin 'alpha' could not be loaded: "):
        registry.solver_class("alpha")


def test_what_this_harness_is_asked_for_by_one_that_it_meets_is_taken(plugin) -> None:
    assert plugin("requires_harness = '>=0.2,<99'\n" + textwrap.dedent(GOOD)).broken == {}


# -- a name that several plugins have: each thing is plugin/name, but what comes with the harness keeps its name

SHARED = GOOD.replace("{plugin}-two", "both").replace("return [First, Second]", "return [First, Second, Third]").replace(
    "    @hookimpl\n",
    """
    @dataclass(frozen=True)
    class Third(First):
        "The third."
        name = "smo"

    class Kernel(harness.RBF):
        name = "mine"

    class Own(harness.RBF):
        name = "rbf"

    class Data(harness.DataSource):
        name = "data"
        def load(self):
            x, y = np.arange(8.0).reshape(4, 2), np.array([1.0, -1.0, 1.0, -1.0])
            return harness.Dataset(self.name, x, y, x, y, harness.content_sha256(x, y, x, y))

    class Formulation(CSVC):
        name = "form"

    @hookimpl
    def harness_kernels():
        return [Kernel, Own]

    @hookimpl
    def harness_datasets():
        return [Data]

    @hookimpl
    def harness_formulations():
        return [Formulation]

    @hookimpl
    def harness_metrics():
        return {"score": min, "accuracy": max}

    @hookimpl
    def harness_report_formats():
        return {"lines": str, "json": str, "Markdown": str}

    @hookimpl
    def harness_executors():
        return {"nodes": harness.Executor, "threads": harness.Executor}

    @hookimpl
""",
    1,
).replace("    import numpy as np\n", "    import harness\n    import numpy as np\n")  # fmt: skip
STRANGERS = [
    ("solver", "both"), ("kernel", "mine"), ("data set", "data"), ("formulation", "form"), ("metric", "score"),
    ("report format", "lines"), ("executor", "nodes"),
]  # fmt: skip
OWN = [("kernel", "rbf"), ("metric", "accuracy"), ("executor", "threads")]


def test_of_one_name_of_two_plugins_neither_is_lost_nor_silently_taken(plugin) -> None:
    registry = plugin(SHARED, SHARED)
    assert registry.broken == {}
    for kind, name in STRANGERS:
        assert {f"alpha/{name}", f"beta/{name}"} <= registry.things(kind).keys()
        assert name not in registry.things(kind)
        with pytest.raises(
            UsageError, match=f"^{kind} '{name}' is in several plugins, alpha and beta; write alpha/{name} or beta/"
        ):
            registry.resolve(kind, name)
    for kind, name in OWN:
        assert (
            registry.owner(kind, name) == "harness" == registry.owner(kind, registry.resolve(kind, f"harness/{name}"))
        )
        assert {f"alpha/{name}", f"beta/{name}"} <= registry.things(kind).keys()
    assert labels(registry.select_solvers("alpha/both,beta/both,alpha,beta/beta")) == ["both", "both", "alpha", "beta"]
    assert [chosen.plugin for chosen in registry.select_solvers("beta/both,alpha/both")] == ["beta", "alpha"]
    assert registry.solver_class("beta/both").__module__ == "beta"
    assert {"alpha/json", "beta/json", "alpha/Markdown"} <= registry.report_formats.keys()
    for select in (registry.select_solvers, registry.solver):
        with pytest.raises(UsageError, match="write alpha/both or beta/both"):
            select("both")


def test_runs_say_whose_things_they_are_of(plugin) -> None:
    registry = plugin(SHARED, SHARED)
    study = Study(
        registry.select_solvers("beta/both,alpha"), registry.select_datasets("alpha/data,beta/data"),
        formulations=["beta/form", "c-svc"], kernel="alpha/mine", metrics=["beta/score"],
    )  # fmt: skip
    data = {key_of_source(source, registry): source.load() for source in study.datasets}
    specs = plan(study, registry, data)
    assert [(spec.plugin, spec.label, spec.source, spec.kernel) for spec in specs] == [
        (owner, label, source, "alpha/mine")
        for source in ("alpha/data", "beta/data")
        for owner, label in (("beta", "beta/both"), ("alpha", "alpha"))
    ]
    assert {(spec.formulation, spec.metrics[-1], spec.trusted) for spec in specs if spec.source == "beta/data"} == {
        ("c-svc", "beta/score", ("alpha", "beta", "harness"))
    }
    assert {spec.dataset for spec in specs} == {"alpha/data", "beta/data"}


def test_a_name_of_one_plugin_is_known_with_and_without_it(plugin) -> None:
    registry = plugin(SHARED)
    for kind, name in STRANGERS:
        assert registry.resolve(kind, name) == name == registry.resolve(kind, f"alpha/{name}")
        assert registry.resolve(kind, f"beta/{name}") == f"beta/{name}", "unknown, not another plugin's"
    assert registry.kernel_class("alpha/mine") is registry.kernels["mine"]


@pytest.mark.parametrize("name", ["aaa", "zzz"])
def test_what_comes_with_the_harness_keeps_its_name_whatever_is_loaded_first(name: str, plugin, tmp_path) -> None:
    registry = Registry()
    path = tmp_path / f"{name}.py"
    path.write_text(textwrap.dedent(SHARED).replace("{plugin}", name))
    ours = next(entry for entry in entry_points(group="harness") if entry.name == "smo")
    for entries, paths in [([ours], []), ([], [path])][:: 1 if name > ours.name else -1]:
        registry.load_all(entries, paths)
    assert registry.solver_class("smo").__module__.startswith("harness_smo")
    assert registry.solver_class(f"{name}/smo").__module__ == name


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
        assert f"the name of the Python module '{name}'" in registry.broken[name].reason
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
        ("no_such_module_at_all", "the module 'no_such_module_at_all' could not"),
        ("os:getcwd", "it is <built-in function getcwd>, which"),
        ("json", "it defines no hooks"),
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


# -- where a plugin failed: the innermost of its own lines, not what it called.

CALLS = "import numpy as np\n\ndef solve():\n    return np.linalg.inv(np.zeros((2, 3)))\n"
KERNEL = """from dataclasses import dataclass
from harness import Linear, hookimpl
{}
@dataclass(frozen=True)
class Own(Linear):
    name = "own"
    def rows(self):
        return solve()
@hookimpl
def harness_kernels():
    return [Own]
"""


@pytest.mark.parametrize("package", [True, False])
def test_the_innermost_line_of_the_plugins_own_files_is_named(tmp_path, package: bool) -> None:
    home = tmp_path / "linear_own"
    home.mkdir()
    (home / "parts.py").write_text(CALLS)
    source = KERNEL.format("from .parts import solve" if package else CALLS)
    file = home / ("__init__.py" if package else "own_kernel.py")
    file.write_text(source)
    registry = load_registry([home if package else file], only=("linear_own", "own_kernel"))
    with pytest.raises(np.linalg.LinAlgError) as caught:
        registry.kernels["own"]().rows()
    where = "'linear_own', linear_own/parts.py:4" if package else "'own_kernel', own_kernel.py:6"
    assert format_error(caught.value).startswith(f"plugin {where}, in solve: LinAlgError: ")
    assert format_error(UsageError("no."), "own_kernel") == "plugin 'own_kernel': no."


def test_a_solver_of_a_loaded_plugin_needs_no_other_plugin(monkeypatch) -> None:
    def everything():
        raise AssertionError("all plugins are loaded")

    monkeypatch.setattr(discovery, "_shared_registry", None)
    monkeypatch.setattr(discovery, "_loaded_registry", None)
    discovery.share_registry(everything, load_registry(only={"smo"}))
    assert discovery.get_solver("smo[tau=1e-5]").tau == 1e-5
    with pytest.raises(AssertionError, match="all plugins"):
        discovery.get_solver("qp")
