"""Discovery of plugins, whole ones and broken ones, and what selection strings mean among them."""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from harness import UsageError, hookspecs
from harness.registry import Broken, Chosen, Registry, get_solver, load_registry

GOOD = """
    from dataclasses import dataclass
    from harness import CSVC, HardMargin, Iterate, Solver, hookimpl, parameter
    import numpy as np

    @dataclass(frozen=True)
    class First(Solver):
        "The first."
        name = "{plugin}"
        solves = (CSVC,)
        epochs: int = parameter(1, "passes", ge=1)
        tau: float = parameter(1e-3, "tolerance", gt=0)

        def iterates(self, problem, rng):
            yield Iterate(np.zeros(problem.n), 1.0, done=True)

    @dataclass(frozen=True)
    class Second(First):
        "The second."
        name = "{plugin}-two"
        gamma: float = parameter(0.5, "a solver's own gamma", gt=0)

    @hookimpl
    def harness_solvers():
        return [First, Second]
"""


@pytest.fixture(autouse=True)
def _forget_modules():
    """Plugins of one test are unknown to the next."""
    yield
    for name in [known for known in sys.modules if known.partition(".")[0] in ("alpha", "beta", "gamma_plugin")]:
        del sys.modules[name]


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    """Write a plugin file and load it, the installed ones left out."""
    monkeypatch.setenv("HARNESS_DISABLE_PLUGINS", "fw,lasvm,peers,perceptron,qp,sampling,smo")

    def load(*sources: str, names: tuple[str, ...] = ("alpha", "beta")) -> Registry:
        paths = []
        for name, source in zip(names, sources, strict=False):
            path = tmp_path / f"{name}.py"
            path.write_text(textwrap.dedent(source).replace("{plugin}", name))
            paths.append(path)
        return load_registry(paths)

    return load


def labels(chosen: list[Chosen | Broken]) -> list[str]:
    return [each.label if isinstance(each, Chosen) else f"broken {each.plugin}" for each in chosen]


# -- loading -------------------------------------------------------------------------------------------


def test_hook_harness_solvers(plugin) -> None:
    registry = plugin(GOOD)
    assert registry.broken == {}
    assert registry.solver_names() == ["alpha", "alpha-two"]
    assert registry.plugin_of("alpha-two") == "alpha"
    assert registry.solver_class("alpha/alpha-two").__name__ == "Second"
    assert registry.plugins["alpha"].distribution == ""
    assert len(registry.plugins["alpha"].fingerprint) == 64


def test_the_installed_plugins_are_found_with_their_version() -> None:
    registry = load_registry()
    assert {"harness", "smo", "fw"} <= set(registry.plugins)
    assert registry.plugins["smo"].distribution == "svm-harness"
    assert registry.plugins["smo"].version


def test_a_folder_is_a_plugin_with_relative_imports(tmp_path) -> None:
    folder = tmp_path / "gamma_plugin"
    folder.mkdir()
    (folder / "parts.py").write_text(textwrap.dedent(GOOD).replace("{plugin}", "gamma_plugin"))
    (folder / "__init__.py").write_text("from .parts import harness_solvers\n")
    registry = load_registry([folder])
    assert "gamma_plugin" not in registry.broken
    assert registry.solver_class("gamma_plugin-two").__module__ == "gamma_plugin.parts"
    before = registry.plugins["gamma_plugin"].fingerprint
    (folder / "parts.py").write_text((folder / "parts.py").read_text() + "\n# changed\n")
    again = load_registry([folder])
    assert again.plugins["gamma_plugin"].fingerprint != before, "a change anywhere in the package is a change"


def test_a_plugin_path_that_does_not_exist_is_refused() -> None:
    with pytest.raises(UsageError, match=r"plugin path ./nowhere.py does not exist; --plugin-path takes"):
        load_registry(["./nowhere.py"])


def test_a_plugin_path_that_is_a_folder_of_other_files_is_refused(tmp_path) -> None:
    (tmp_path / "my_solver.py").write_text(textwrap.dedent(GOOD))
    with pytest.raises(
        UsageError, match=r"is a folder without __init__\.py; --plugin-path takes .* Name the plugin's file"
    ):
        load_registry([tmp_path])


def test_plugins_can_be_disabled(monkeypatch) -> None:
    monkeypatch.setenv("HARNESS_DISABLE_PLUGINS", "smo, fw")
    registry = load_registry()
    assert not {"smo", "fw"} & set(registry.plugins)
    with pytest.raises(UsageError, match="no solver or plugin called 'smo'"):
        registry.select_solvers("smo")


BROKEN = {
    "import-error": (
        "import no_such_library_at_all\n",
        "ModuleNotFoundError: No module named 'no_such_library_at_all'",
    ),
    "syntax-error": ("def f(:\n", "SyntaxError: invalid syntax (alpha.py, line 1)"),
    "exit": ("raise SystemExit('bye')\n", "SystemExit: bye"),
    "error-without-words": ("raise ValueError\n", "ValueError"),
    "misspelt-hook": (GOOD.replace("harness_solvers", "harness_solver"), "unknown hook 'harness_solver' (did you mean"),
    "misspelt-prefix": (
        GOOD.replace("harness_solvers", "harnes_solvers"),
        "unknown hook 'harnes_solvers' (did you mean",
    ),
    "unmarked-hook": (
        GOOD.replace("@hookimpl", ""),
        "'harness_solvers' is not marked as a hook; put @harness.hookimpl",
    ),
    "no-hooks": ("x = 1\n", "it defines no hooks; expected at least one of harness_solvers, harness_datasets, "),
    "no-hooks-but-classes": (
        GOOD.partition("    @hookimpl")[0],
        "it defines no hooks; expected at least one of harness_solvers",
    ),
    "instance": (
        GOOD.replace("[First, Second]", "[First()]"),
        "must return subclasses of harness.Solver (classes, not",
    ),
    "not-a-solver": (GOOD.replace("[First, Second]", "[int]"), "must return subclasses of harness.Solver"),
    "returns-nothing": (GOOD.replace("return [First, Second]", "pass"), "'NoneType' object is not iterable"),
    "no-name": (GOOD.replace('name = "{plugin}"', ""), "First needs the class attributes 'name' (text) and 'solves'"),
    "no-solves": (GOOD.replace("solves = (CSVC,)", ""), "First needs the class attributes 'name' (text) and 'solves'"),
    "solves-no-tuple": (GOOD.replace("(CSVC,)", "CSVC"), "it must be a tuple of formulations, the preferred one first"),
    "solves-names": (
        GOOD.replace("(CSVC,)", "('c-svc',)"),
        "has solves=('c-svc',); it must be a tuple of formulations",
    ),
    "odd-name": (GOOD.replace('"{plugin}"', '"a[b]"'), "has the name 'a[b]'; it must be text of letters"),
    "no-dataclass": (
        GOOD.replace("@dataclass(frozen=True)\n    class First", "class First"),
        "First declares 'epochs' but is no dataclass; put @dataclass(frozen=True) above it",
    ),
    "not-frozen": (GOOD.replace("(frozen=True)\n    class First", "\n    class First"), "cannot inherit non-frozen"),
    "abstract": (GOOD.replace("def iterates", "def iterate"), "First has no method 'iterates'; it must have one"),
    "twice-in-one": (
        GOOD.replace("[First, Second]", "[First, First]"),
        "solver 'alpha' is registered twice; rename one",
    ),
    "hook-arguments": (
        GOOD + "\n    @hookimpl\n    def harness_run_finished(rec):\n        pass\n",
        "can not be found in the hookspec",
    ),
    "kernel-instance": (
        "from harness import RBF, hookimpl\n@hookimpl\ndef harness_kernels():\n    return [RBF()]\n",
        "harness_kernels returned RBF(gamma=1.0); it must return classes, not instances",
    ),
    "kernel-taken": (
        "from harness import RBF, hookimpl\n@hookimpl\ndef harness_kernels():\n    return [RBF]\n",
        "kernel 'rbf' is already registered by plugin 'harness'; rename one of them.",
    ),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_plugin_is_reported_by_name_and_the_others_work(plugin, fault: str) -> None:
    source, reason = BROKEN[fault]
    registry = plugin(source, GOOD)
    assert reason in registry.broken["alpha"].reason
    assert "\n" not in registry.broken["alpha"].reason or fault == "hook-arguments"
    assert "alpha" not in registry.solvers, "a plugin is taken whole or not at all"
    assert not registry.manager.has_plugin("alpha")
    chosen = registry.select_solvers("alpha,beta")
    assert labels(chosen) == ["broken alpha", "beta"]
    assert labels(registry.select_solvers("alpha/x[n=3]")) == ["broken alpha"]
    with pytest.raises(UsageError, match="plugin 'alpha' could not be loaded: "):
        registry.solver_class("alpha")


def test_a_solver_name_belongs_to_the_plugin_that_came_first(plugin) -> None:
    registry = plugin(GOOD, GOOD.replace("{plugin}", "alpha"))
    assert registry.broken["beta"].reason == (
        "solver 'alpha' is already registered by plugin 'alpha'; rename one of them."
    )
    assert registry.plugin_of("alpha") == "alpha"


@pytest.mark.parametrize("name", ["json", "numpy", "harness"])
def test_a_plugin_file_may_not_hide_another_module(tmp_path, name: str) -> None:
    module = sys.modules[name]
    path = tmp_path / f"{name}.py"
    path.write_text(textwrap.dedent(GOOD).replace("{plugin}", "anything"))
    registry = load_registry([path])
    assert registry.broken[name].reason
    assert sys.modules[name] is module


def test_a_plugin_file_can_be_loaded_again(plugin) -> None:
    first = plugin(GOOD).solver_class("alpha")
    second = plugin(GOOD).solver_class("alpha")
    assert first is not second
    assert sys.modules["alpha"].First is second


# -- the other hooks -----------------------------------------------------------------------------------


def test_hook_harness_datasets(plugin) -> None:
    registry = plugin("""
        from dataclasses import dataclass
        import numpy as np
        from harness import Dataset, DataSource, content_sha256, hookimpl, parameter

        @dataclass(frozen=True)
        class Line(DataSource):
            name = "line"
            description = "Points on a line; the right half is +1."
            n: int = parameter(10, "points", ge=2)

            def load(self):
                x = np.linspace(-1, 1, self.n)[:, None]
                y = np.where(x[:, 0] > 0, 1.0, -1.0)
                return Dataset(self.label, x, y, x, y, content_sha256(x, y))

        @hookimpl
        def harness_datasets():
            return [Line]
    """)
    small, large = registry.select_datasets("line[n=[4,8]]")
    assert (small.label, large.label) == ("line[n=4]", "line[n=8]")
    assert small.load().x_train.shape == (4, 1)
    with pytest.raises(
        UsageError, match=r"data set 'line': parameter n='1' is not valid .* expected int in \[2, inf\)"
    ):
        registry.select_datasets("line[n=1]")


def test_hook_harness_kernels(plugin) -> None:
    source = """
        from dataclasses import dataclass
        from harness import Linear, hookimpl

        @dataclass(frozen=True)
        class Twice(Linear):
            name = "twice"
            def from_products(self, products, sq_x, sq_z):
                products *= 2.0

        @hookimpl
        def harness_kernels():
            return [Twice]
    """
    kernel = plugin(source).kernel_class("twice")()
    np.testing.assert_array_equal(kernel.block(np.eye(2), np.eye(2)), 2.0 * np.eye(2))


def test_an_unknown_kernel_names_the_near_and_the_known() -> None:
    with pytest.raises(UsageError, match=r"no kernel called 'rbg' \(did you mean 'rbf'\?\); known: linear, rbf, poly"):
        load_registry().kernel_class("rbg")


def test_hook_harness_metrics(plugin) -> None:
    registry = plugin("""
        from harness import hookimpl

        @hookimpl
        def harness_metrics():
            return {"positives": lambda targets, scores: float((targets > 0).sum())}
    """)
    assert registry.metrics["positives"](np.array([1.0, -1.0, 1.0]), None) == 2.0
    assert "accuracy" in registry.metrics


def test_hook_harness_report_formats(plugin) -> None:
    registry = plugin("""
        from harness import hookimpl

        @hookimpl
        def harness_report_formats():
            return {"count": lambda records: str(len(records))}
    """)
    assert registry.report_formats["count"]([{}, {}]) == "2"


def test_hooks_harness_run_started_and_harness_run_finished(plugin) -> None:
    registry = plugin("""
        from harness import hookimpl
        seen = []

        @hookimpl
        def harness_run_started(spec):
            seen.append(("started", spec["solver"]))

        @hookimpl
        def harness_run_finished(record):
            seen.append(("finished", record["status"]))
    """)
    assert "alpha" in registry.plugins, "observers are hooks"
    assert registry.broken == {}
    registry.manager.hook.harness_run_started(spec={"solver": "smo"})
    registry.manager.hook.harness_run_finished(record={"status": "ok"})
    assert sys.modules["alpha"].seen == [("started", "smo"), ("finished", "ok")]


HOOKS = [name for name in vars(hookspecs) if name.startswith("harness_")]


@pytest.mark.parametrize("hook", HOOKS)
def test_every_hook_is_documented_and_tested_here(hook: str) -> None:
    function = getattr(hookspecs, hook)
    assert inspect.getdoc(function), hook
    assert inspect.signature(function).return_annotation is not inspect.Signature.empty
    tree = ast.parse(Path(__file__).read_text())
    tests = [node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_hook")]
    assert any(hook in name for name in tests), f"no test_hook_... of this module names {hook}"


# -- selecting -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("alpha", ["alpha"]),
        ("alpha/alpha-two", ["alpha-two"]),
        ("alpha*", ["alpha", "alpha-two"]),
        ("alpha/*", ["alpha", "alpha-two"]),
        ("*-two", ["alpha-two", "beta-two"]),
        ("????", ["beta"]),
        ("beta,alpha", ["beta", "alpha"]),
        ("alpha,alpha", ["alpha"]),
        ("alpha[epochs=2]", ["alpha[epochs=2]"]),
        ("alpha[epochs=1]", ["alpha"]),
        ("alpha[epochs=[1,2],tau=[0.1,1]]", [
            "alpha[tau=0.1]", "alpha[tau=1.0]", "alpha[epochs=2,tau=0.1]", "alpha[epochs=2,tau=1.0]",
        ]),
        ("alpha[C=10]", ["alpha[C=10]"]),
        ("alpha[epochs=2,C=[1,10]]", ["alpha[epochs=2,C=1]", "alpha[epochs=2,C=10]"]),
        ("alpha*[epochs=3]", ["alpha[epochs=3]", "alpha-two[epochs=3]"]),
    ],
)  # fmt: skip
def test_a_selection_means_these_solvers(plugin, text: str, expected: list[str]) -> None:
    assert labels(plugin(GOOD, GOOD).select_solvers(text)) == expected


def test_a_plugin_without_a_solver_of_its_name_means_all_its_solvers(plugin) -> None:
    registry = plugin(GOOD.replace('"{plugin}"', '"one"').replace('"{plugin}-two"', '"two"'))
    assert labels(registry.select_solvers("alpha")) == ["one", "two"]


def test_problem_parameters_stand_beside_the_solvers(plugin) -> None:
    registry = plugin(GOOD)
    (chosen,) = registry.select_solvers("alpha[C=10,gamma=0.25,epochs=2,class_weight=balanced]")
    assert chosen.problem_values == {"C": 10, "gamma": 0.25, "class_weight": "balanced"}
    assert type(chosen.problem_values["C"]) is int
    assert chosen.solver.epochs == 2
    assert chosen.plugin == "alpha"
    (own,) = registry.select_solvers("alpha-two[gamma=0.25]")
    assert own.problem_values == {}, "a parameter of the solver's own wins over the problem's"
    assert own.solver.gamma == 0.25


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("alpa", "there is no solver or plugin called 'alpa' (did you mean 'alpha'"),
        ("alpha/alpha-tow", "(did you mean 'alpha/alpha-two'"),
        ("zzz", "called 'zzz'; `harness list solvers` shows what there is."),
        ("zz*", "called 'zz*'"),
        ("alpha[epoch=2]", "solver 'alpha' has no parameter 'epoch' (did you mean 'epochs'?); its parameters are: epochs, tau."),
        ("alpha[epochs=0]", "solver 'alpha': parameter epochs='0' is not valid"),
        ("alpha[tau=x]", "expected float in (0, inf)."),
        ("", "no solver is selected; name at least one"),
    ],
)  # fmt: skip
def test_a_selection_that_means_nothing_is_refused(plugin, text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        plugin(GOOD).select_solvers(text)
    assert message in str(caught.value)


def test_an_unknown_name_may_be_that_of_a_broken_plugins_solver(plugin) -> None:
    registry = plugin(GOOD, "import no_such_library\n")
    why = "; plugin 'beta' could not be loaded: ModuleNotFoundError: No module named 'no_such_library'."
    for ask, name in (
        (registry.select_solvers, "dual-ascent"),
        (registry.solver_class, "dual-ascent"),
        (registry.select_datasets, "spirals"),
        (registry.kernel_class, "sigmoid"),
    ):
        with pytest.raises(UsageError) as caught:
            ask(name)
        assert f"called '{name}'" in str(caught.value)
        assert str(caught.value).endswith(why)


def test_get_solver_serves_oracles_by_name() -> None:
    assert get_solver("smo", tau="1e-5").tau == 1e-5
    with pytest.raises(UsageError, match="called 'smoo' "):
        get_solver("smoo")
    with pytest.raises(UsageError, match="has no parameter 'tua'"):
        get_solver("smo", tua=1)


def test_a_shared_registry_answers_for_plugins_given_by_path(plugin, monkeypatch) -> None:
    from harness import registry as module

    monkeypatch.setattr(module, "_shared_registry", module._shared_registry)
    module.share_registry(plugin(GOOD))
    assert get_solver("alpha", epochs=4).epochs == 4


# -- data sets -----------------------------------------------------------------------------------------


def test_a_path_is_a_data_set(tmp_path, monkeypatch) -> None:
    (tmp_path / "my_data.csv").write_text("a,b,label\n1,2,0\n3,4,1\n5,6,1\n2,2,0\n")
    monkeypatch.chdir(tmp_path)
    registry = load_registry()
    for text in ("my_data.csv", "./my_data.csv", str(tmp_path / "my_data.csv")):
        (source,) = registry.select_datasets(f"{text}[scale=standard]")
        assert source.scale == "standard"
        assert source.load().x_train.shape[1] == 2
    with pytest.raises(UsageError, match=r"data file 'my_data.csv' has no parameter 'scal' \(did you mean 'scale'\?\)"):
        registry.select_datasets("my_data.csv[scal=standard]")


def test_an_unknown_data_set_names_the_near_ones_and_that_paths_work() -> None:
    with pytest.raises(UsageError) as caught:
        load_registry().select_datasets("checkerbord")
    assert "no data set called 'checkerbord' (did you mean 'checkerboard'" in str(caught.value)
    assert "a path to a file works too (./my_data.csv)" in str(caught.value)


def test_no_data_set_is_refused() -> None:
    with pytest.raises(UsageError, match="no data set is selected; name at least one"):
        load_registry().select_datasets("")


def test_a_pattern_means_all_data_sets_it_fits() -> None:
    labels_ = [source.name for source in load_registry().select_datasets("checker*")]
    assert "checkerboard" in labels_


def test_loading_one_plugin_name_twice_keeps_the_first(plugin) -> None:
    registry = plugin(GOOD)
    registry.load("alpha", lambda: sys.modules["alpha"])
    assert "already loaded from" in registry.broken["alpha"].reason
    assert labels(registry.select_solvers("alpha")) == ["alpha"]
