"""Every hook, each in a plugin that uses it."""

from __future__ import annotations

import ast
import inspect
import sys
from pathlib import Path

import numpy as np
import pytest

from harness import UsageError, hookspecs
from tests.registry.good_plugin import GOOD


def test_hook_harness_solvers(plugin) -> None:
    registry = plugin(GOOD)
    assert registry.broken == {}
    assert registry.solver_names() == ["alpha", "alpha-two"]
    assert registry.owner("solver", "alpha-two") == "alpha"
    assert registry.solver_class("alpha/alpha-two").__name__ == "Second"
    assert registry.plugins["alpha"].distribution == ""
    assert len(registry.plugins["alpha"].fingerprint) == 64


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


def test_hook_harness_formulations(plugin) -> None:
    registry = plugin("""
        from harness import CSVC, Certificate, hookimpl

        class Mine(CSVC):
            "The C-SVM by another name."
            name = "mine"

        @hookimpl
        def harness_formulations():
            return [Mine]
    """)
    assert registry.broken == {}
    assert (registry.formulation("mine").__name__, registry.owner("formulation", "mine")) == ("Mine", "alpha")
    assert registry.used == {"alpha"}, "a run that states it depends on the plugin's source"
    assert registry.owners("mine", "rbf", "digits", (), "") == ("alpha", "harness")
    assert registry.owner("formulation", "c-svc") == "harness", "the host's own come by the same hook"
    with pytest.raises(
        UsageError, match=r"no formulation called 'mien' \(did you mean 'mine'\?\); known: c-svc, .*mine\."
    ):
        registry.formulation("mien")


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


def test_hook_harness_commands(plugin) -> None:
    from harness.cli.commands import of

    registry = plugin("""
        import click
        from harness import hookimpl

        @click.command()
        def greet():
            "Say hello. And more."

        @hookimpl
        def harness_commands():
            return [greet]
    """)
    found = of(registry)
    assert (list(found.commands), found.plugins, found.broken) == (["greet"], {"greet": "alpha"}, {})


HOOKS = [name for name in vars(hookspecs) if name.startswith("harness_")]


@pytest.mark.parametrize("hook", HOOKS)
def test_every_hook_is_documented_and_tested_here(hook: str) -> None:
    function = getattr(hookspecs, hook)
    assert inspect.getdoc(function), hook
    assert inspect.signature(function).return_annotation is not inspect.Signature.empty
    tree = ast.parse(Path(__file__).read_text())
    tests = [node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_hook")]
    assert any(hook in name for name in tests), f"no test_hook_... of this module names {hook}"
