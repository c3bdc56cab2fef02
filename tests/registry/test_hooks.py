"""Every hook, in a plugin that uses them all."""

import inspect
import sys

import numpy as np
import pytest

from harness import UsageError
from harness.cli.commands import of
from harness.registry import hookspecs
from harness.run.executors import select_executor
from tests.registry.good_plugin import GOOD

FURTHER = """
    import click
    from harness import Dataset, DataSource, Linear, content_sha256

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

    @dataclass(frozen=True)
    class Twice(Linear):
        name = "twice"
        def from_products(self, products, sq_x, sq_z):
            products *= 2.0

    @hookimpl
    def harness_kernels():
        return [Twice]

    class Mine(CSVC):
        "The C-SVM by another name."
        name = "mine"

    @hookimpl
    def harness_formulations():
        return [Mine]

    @hookimpl
    def harness_metrics():
        return {"positives": lambda targets, scores: float((targets > 0).sum())}

    @hookimpl
    def harness_report_formats():
        return {"count": lambda records: str(len(records))}

    @hookimpl
    def harness_executors():
        return {"own": lambda place: place}

    @click.command()
    def greet():
        "Say hello. And more."

    @hookimpl
    def harness_commands():
        return [greet]

    seen = []

    @hookimpl
    def harness_run_started(spec):
        seen.append(("started", spec["solver"]))

    @hookimpl
    def harness_run_finished(record):
        seen.append(("finished", record["status"]))
"""
EVERYTHING = GOOD + FURTHER


def test_what_a_plugin_adds_by_every_hook_is_there(plugin) -> None:
    registry = plugin(EVERYTHING)
    assert registry.broken == {}
    assert list(registry.solvers["alpha"]) == ["alpha", "alpha-two"]
    assert registry.owner("solver", "alpha-two") == "alpha"
    small, large = registry.select_datasets("line[n=[4,8]]")
    assert (small.label, large.label, small.load().x_train.shape) == ("line[n=4]", "line[n=8]", (4, 1))
    with pytest.raises(UsageError, match=r"data set 'line': parameter n='1'"):
        registry.select_datasets("line[n=1]")
    np.testing.assert_array_equal(registry.kernel_class("twice")().block(np.eye(2), np.eye(2)), 2.0 * np.eye(2))
    assert registry.formulation("mine").__name__ == "Mine"
    assert registry.used == {"alpha"}, "a run that states it depends on the plugin's source"
    assert registry.owners("mine", "rbf", "digits", (), "") == ("alpha", "harness")
    assert registry.owner("formulation", "c-svc") == "harness", "the host's own come by the same hook"
    with pytest.raises(UsageError, match="did you mean 'mine'"):
        registry.formulation("mien")
    assert registry.metrics["positives"](np.array([1.0, -1.0, 1.0]), None) == 2.0
    assert registry.report_formats["count"]([{}, {}]) == "2"
    assert select_executor("own://here", registry)() == "here"
    found = of(registry)
    assert (list(found.things), found.owners["greet"], found.broken) == (["greet"], "alpha", {})
    registry.manager.hook.harness_run_started(spec={"solver": "smo"})
    registry.manager.hook.harness_run_finished(record={"status": "ok"})
    assert sys.modules["alpha"].seen == [("started", "smo"), ("finished", "ok")]


def test_every_hook_is_documented_and_tested_here() -> None:
    for hook, function in vars(hookspecs).items():
        if not hook.startswith("harness_"):
            continue
        assert inspect.getdoc(function), hook
        assert inspect.signature(function).return_annotation is not inspect.Signature.empty
        assert f"def {hook}(" in EVERYTHING, hook
