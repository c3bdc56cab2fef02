"""The margin of the points that were not planted: its interval, who solves it, what fails, and where a user sees it."""

from __future__ import annotations

import numpy as np
import pytest

from harness import CSVC, KernelOracle, Linear, get_solver
from harness.cli.main import main
from harness.measure.inlier_margin import inlier_margin
from harness.problems import HardMargin, OutlierMargin, PolytopeDistance

PLANTED = np.array([False, False, False, True, False, False])
LINE = np.array([[2.0, 0.0], [3.0, 1.0], [4.0, 0.0], [-9.0, 0.0], [-1.0, 0.0], [-5.0, 2.0]])
LABELS = np.array([1.0, 1.0, 1.0, 1.0, -1.0, -1.0])


def problem(x=LINE, **values):
    return OutlierMargin.build(KernelOracle(Linear(), x), LABELS, {"outliers": 0.17, **values})


@pytest.mark.parametrize("oracle", [None, "qp", "nearest-point"])
@pytest.mark.parametrize(("values", "margin"), [({}, 3.0), ({"against": "origin"}, 0.0)])
def test_the_interval_holds_the_margin_of_the_others(oracle, values, margin):
    x = LINE if not values else np.abs(LINE)
    found = inlier_margin(problem(x, **values), PLANTED, get_solver(oracle) if oracle else None)
    exact = margin or float(np.hypot(1.0, 0.0))
    assert found.lower <= exact + 1e-9
    assert exact <= found.upper * (1.0 + 1e-9)
    assert found.upper - found.lower < 1e-3
    assert (found.size, found.meets, found.reason) == (5, False, "")


def test_hulls_that_meet_are_said_to():
    x = LINE.copy()
    x[4] = [3.0, 0.5]
    found = inlier_margin(problem(x), PLANTED, get_solver("qp"))
    assert found.meets
    assert found.lower == 0.0


def test_it_is_solved_once():
    stated, asked = problem(), []

    class Asked(type(get_solver("qp"))):
        def iterates(self, problem, rng):
            asked.append(problem.n)
            yield from super().iterates(problem, rng)

    first = inlier_margin(stated, PLANTED, Asked())
    assert inlier_margin(stated, PLANTED, Asked()) == first
    assert asked == [5]


def test_a_formulation_that_gives_up_nothing_has_none():
    stated = CSVC.build(KernelOracle(Linear(), LINE), LABELS)
    assert inlier_margin(stated, PLANTED, None) is None
    assert not CSVC.gives_up_points()
    assert OutlierMargin.gives_up_points()
    assert isinstance(problem().inliers(np.arange(5)), HardMargin)
    assert isinstance(problem(against="origin").inliers(np.arange(5)), PolytopeDistance)
    refused = inlier_margin(problem(), PLANTED, get_solver("lasvm"))
    assert refused.upper is None
    assert "does not solve hard-margin" in refused.reason


@pytest.mark.slow
def test_the_command_shows_it_beside_the_margin(tmp_path, capsys):
    given = [
        "--plugins", "outlier-exact", "--datasets", "gaussian-outliers[least=8,most=12,d=2]", "--core-set-oracle", "nearest-point",
        "--formulation", "outlier-margin[outliers=0.1,delta=0]", "--store", str(tmp_path / "runs.db"), "--format", "markdown",
        "--explain",
    ]  # fmt: skip
    with pytest.raises(SystemExit) as ended:
        main(["compare", *given])
    told = capsys.readouterr().out
    assert not ended.value.code
    assert "solved by nearest-point" in told
    head, _, row = ([cell.strip() for cell in line.split("|")] for line in told.splitlines() if line.startswith("|"))
    shown = dict(zip(head, row, strict=True))
    assert float(shown["margin"]) / float(shown["inliers' margin"]) == pytest.approx(
        float(shown["of inliers'"]), rel=1e-3
    )
    assert float(shown["margin"]) <= float(shown["margin bound"])
