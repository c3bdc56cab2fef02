"""Columns of a formulation: what the certifier makes of its figures, and which declarations are refused."""

from types import SimpleNamespace

import numpy as np
import pytest

from harness import CSVC, RBF, CertifiedRun, Column, KernelOracle, PluginError
from harness.registry.plugin_validation import check_class
from harness.run.certifier import RunCertifier

RUN = CertifiedRun(np.zeros(2), 0.0, np.zeros(2), None)
COLUMNS = (Column("share", "points", "low", "what it is"), Column("other_one"), Column("late"))


@pytest.mark.parametrize(
    ("figures", "expected", "faults"),
    [
        ({"share": np.float64(0.5), "other_one": lambda: 1 // 0, "late": lambda: 3}, {"share": 0.5, "late": 3}, ["no other one: "]),
        ({"share": 2, "more": 1}, {"share": 2}, ["no more: "]),
        ({"share": "high", "late": np.ones(2), "other_one": 2}, {"share": "high", "other_one": 2}, ["no late: "]),
        (lambda run: {"share": run.dual_coef.size, "late": float("nan")}, {"share": 2, "late": None}, []),
        (lambda run: {"share": 1 // 0}, {}, ["own has no figures: "]),
    ],
)  # fmt: skip
def test_a_figure_that_fails_costs_itself_alone(figures, expected, faults):
    certifier = RunCertifier(None, None, None)
    problem = SimpleNamespace(
        name="own", columns=COLUMNS, figures=figures if callable(figures) else lambda run: figures
    )
    found = certifier._figures(problem, RUN)
    assert found["figures"] == expected
    assert {type(each) for each in found["figures"].values()} <= {float, int, str, type(None)}, "plain values"
    assert [fault.startswith(begin) for fault, begin in zip(certifier.faults, faults, strict=True)] == [True] * len(
        faults
    )
    assert list(found["columns"]) == ["share", "other_one", "late"]
    assert found["columns"]["share"] == {"title": "share", "unit": "points", "better": "low", "meaning": "what it is"}
    assert found["columns"]["other_one"]["title"] == "other\none"
    assert certifier._figures(SimpleNamespace(columns=(), figures=None), RUN) == {}, "nor asked for without columns"


def test_what_a_certificate_is_not_is_said_by_the_formulation_s_name():
    class Numbered(CSVC):
        name = "numbered"

        def certificate(self, dual_coef, intercept, scores):
            return 0.0

    problem = Numbered.build(KernelOracle(RBF(), np.eye(2)), [1.0, -1.0])
    with pytest.raises(PluginError, match="'numbered' certified a float"):
        problem.certify(np.zeros(2), 0.0)


@pytest.mark.parametrize("values", [("My Margin",), ("margin", "", "up")])
def test_a_column_that_cannot_be(values):
    with pytest.raises(PluginError, match=r"lower-case letters|better='up'"):
        Column(*values)


@pytest.mark.parametrize("columns", [["margin"], (Column("a"), Column("a"))])
def test_columns_that_a_formulation_cannot_declare(columns):
    with pytest.raises(PluginError, match=r"a tuple of harness\.Column"):
        check_class("formulation", type("Own", (CSVC,), {"name": "own", "columns": columns}))
