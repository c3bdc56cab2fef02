"""The margin of the points that were not planted: its interval, who solves it, what fails, and where a user sees it."""

from __future__ import annotations

import numpy as np
import pytest
from harness_rgd.outlier_margin import OutlierMargin

from harness import CertifiedRun, KernelOracle, Linear, PluginError, get_solver
from harness.cli.main import main
from harness.problems import HardMargin, PolytopeDistance

PLANTED = np.array([False, False, False, True, False, False])
LINE = np.array([[2.0, 0.0], [3.0, 1.0], [4.0, 0.0], [-9.0, 0.0], [-1.0, 0.0], [-5.0, 2.0]])
LABELS = np.array([1.0, 1.0, 1.0, 1.0, -1.0, -1.0])
COEF = np.array([1.0, 0.0, 0.0, 0.0, -1.0, 0.0])


def problem(x=LINE, **values):
    return OutlierMargin.build(KernelOracle(Linear(), x), LABELS, {"outliers": 0.17, **values})


def figures(stated, solver=None, planted=PLANTED):
    """Return the figures of the nearest points of the inliers, as the certifier computes them."""
    coef = np.abs(COEF) / 2.0 if stated.against_origin else COEF
    scores, oracle = stated.kernel.expand(coef), None if solver is None else solver
    run = CertifiedRun(coef, 0.0, scores, stated.certify(coef, 0.0), planted, oracle)
    return {name: value() if callable(value) else value for name, value in stated.figures(run).items()}


@pytest.mark.parametrize("oracle", [None, "qp", "nearest-point"])
@pytest.mark.parametrize(("values", "margin"), [({}, 3.0), ({"against": "origin"}, 1.0)])
def test_it_is_the_margin_of_the_others(oracle, values, margin):
    found = figures(problem(np.abs(LINE) if values else LINE, **values), oracle and get_solver(oracle))
    assert found["inlier_margin"] == pytest.approx(margin, abs=1e-3)
    assert found["inlier_margin"] >= margin * (1.0 - 1e-9)
    assert found["inlier_solver"] == oracle or not oracle
    assert (
        set(found)
        == {"given_up", "inlier_margin", "inlier_ratio", "inlier_solver"}
        <= {column.name for column in OutlierMargin.columns}
    )


def test_the_ratio_is_that_of_the_models_margin_and_a_model_counts_what_it_gives_up():
    found = figures(problem())
    assert (found["given_up"], found["inlier_ratio"]) == (1, pytest.approx(1.0, abs=1e-3))
    assert set(figures(problem(), planted=None)) == {"given_up"}


def test_hulls_that_meet_have_the_margin_0_and_no_ratio():
    x = LINE.copy()
    x[4] = [3.0, 0.5]
    found = figures(problem(x), get_solver("qp"))
    assert (found["inlier_margin"], found["inlier_ratio"]) == (0.0, None)


def test_it_is_solved_once():
    stated, asked = problem(), []

    class Asked(type(get_solver("qp"))):
        def iterates(self, problem, rng):
            asked.append(problem.n)
            yield from super().iterates(problem, rng)

    assert figures(stated, Asked()) == figures(stated, Asked())
    assert asked == [5]


def test_a_solver_that_cannot_is_a_reason():
    assert isinstance(problem().inliers(np.arange(5)), HardMargin)
    assert isinstance(problem(against="origin").inliers(np.arange(5)), PolytopeDistance)
    with pytest.raises(PluginError, match="does not solve hard-margin"):
        figures(problem(), get_solver("lasvm"))


@pytest.mark.slow
@pytest.mark.parametrize("oracle", ["nearest-point", "lasvm"])
def test_the_command_shows_it_beside_the_margin(tmp_path, capsys, oracle):
    given = [
        "--plugins", "outlier-exact", "--datasets", "gaussian-outliers[least=8,most=12,d=2]", "--core-set-oracle", oracle,
        "--formulation", "outlier-margin[outliers=0.1,delta=0]", "--store", str(tmp_path / "runs.db"), "--format", "markdown",
        "--explain",
    ]  # fmt: skip
    with pytest.raises(SystemExit) as ended:
        main(["compare", *given])
    text = capsys.readouterr().out
    assert not ended.value.code
    head, _, row = ([cell.strip() for cell in line.split("|")] for line in text.splitlines() if line.startswith("|"))
    shown = dict(zip(head, row, strict=True))
    assert float(shown["margin"]) <= float(shown["margin bound"])
    if oracle == "lasvm":
        assert "inliers' margin" not in shown
        assert "no inliers' margin: plugin 'rgd', " in text
        assert "lasvm does not solve hard-margin" in text
        return
    assert "margin bound: no model that gives up the share alone has a wider margin." in text
    assert float(shown["margin"]) / float(shown["inliers' margin"]) == pytest.approx(
        float(shown["of inliers'"]), rel=1e-3
    )
