"""Columns of a formulation: what the certifier makes of its figures, and which declarations are refused."""

from types import SimpleNamespace

import numpy as np
import pytest

from harness import CSVC, RBF, CertifiedRun, Column, KernelOracle, PluginError
from harness.registry.plugin_validation import check_class
from harness.run.certifier import RunCertifier

RUN = CertifiedRun(np.zeros(2), 0.0, np.zeros(2), None)
COLUMNS = (Column("share", "points", "low", "what it is"), Column("other_one"), Column("late"))


def certified(figures):
    """Return what a record gets of a formulation with these figures, and the faults."""
    certifier = RunCertifier(None, None, None)
    problem = SimpleNamespace(name="own", columns=COLUMNS, figures=figures)
    return certifier._figures(problem, RUN), certifier.faults


def test_a_figure_that_fails_costs_itself_alone():
    found, faults = certified(
        lambda run: {"share": np.float64(0.5), "other_one": lambda: 1 // 0, "late": lambda: 3, "more": 1}
    )
    assert found["figures"] == {"share": 0.5, "late": 3}
    assert [type(each) for each in found["figures"].values()] == [float, int], "plain numbers"
    assert found["columns"]["share"] == {"title": "share", "unit": "points", "better": "low", "meaning": "what it is"}
    assert found["columns"]["other_one"]["title"] == "other\none"
    assert len(faults) == 2
    assert faults[0].startswith("no other one: ")
    assert faults[0].endswith("ZeroDivisionError: integer division or modulo by zero")
    assert faults[1].endswith("own declares no such column; its columns: share, other_one, late")


def test_figures_that_fail_as_a_whole_leave_the_columns_without_values():
    found, faults = certified(lambda run: {"share": 1 // 0})
    assert (found["figures"], list(found["columns"]), len(faults)) == ({}, ["share", "other_one", "late"], 1)
    assert faults[0].startswith("own has no figures: ")
    nothing = SimpleNamespace(columns=(), figures=None)
    assert RunCertifier(None, None, None)._figures(nothing, RUN) == {}, (
        "nor are they asked for where there are no columns"
    )


def test_a_figure_is_one_value():
    found, faults = certified(lambda run: {"share": "high", "late": np.ones(2), "other_one": 2})
    assert found["figures"] == {"share": "high", "other_one": 2}
    (fault,) = faults
    assert fault.startswith("no late: ")
    assert fault.endswith("figures() gave [1.0, 1.0]; a figure is one number or text")


def test_what_a_certificate_is_not_is_said_by_the_formulation_s_name():
    class Numbered(CSVC):
        name = "numbered"

        def certificate(self, dual_coef, intercept, scores):
            return 0.0

    problem = Numbered.build(KernelOracle(RBF(), np.eye(2)), [1.0, -1.0])
    with pytest.raises(PluginError, match="'numbered' certified a float; return a"):
        problem.certify(np.zeros(2), 0.0)


def test_what_a_figure_sees_is_the_certified_run():
    found, _ = certified(lambda run: {"share": run.dual_coef.size, "late": float("nan"), "other_one": run.planted})
    assert found["figures"] == {"share": 2, "late": None, "other_one": None}


@pytest.mark.parametrize(
    ("values", "message"), [(("My Margin",), "lower-case letters"), (("margin", "", "up"), "better='up'")]
)
def test_a_column_that_cannot_be(values, message):
    with pytest.raises(PluginError, match=message):
        Column(*values)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["margin"], "a tuple of harness.Column"),
        ((Column("a"), Column("a")), "a tuple of harness.Column, each with another name"),
    ],
)
def test_columns_that_a_formulation_cannot_declare(columns, message):
    formulation = type("Own", (CSVC,), {"name": "own", "columns": columns})
    with pytest.raises(PluginError, match=message):
        check_class("formulation", formulation)
