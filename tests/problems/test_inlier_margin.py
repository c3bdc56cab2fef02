"""The margin of the points that were not planted: its interval, who solves it, what fails, and where a user sees it."""

from __future__ import annotations

import textwrap

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


def test_it_counts_nothing_and_is_solved_once():
    stated, asked = problem(), []

    class Asked(type(get_solver("qp"))):
        def iterates(self, problem, rng):
            asked.append(problem.n)
            yield from super().iterates(problem, rng)

    first = inlier_margin(stated, PLANTED, Asked())
    assert inlier_margin(stated, PLANTED, Asked()) == first
    assert asked == [5]
    assert stated.kernel.counter.evaluations == 0


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


SOURCE = """
    from dataclasses import dataclass
    import numpy as np
    from harness import Dataset, DataSource, Solver, content_sha256, hookimpl
    from harness.problems import OutlierMargin

    @dataclass(frozen=True)
    class Line(DataSource):
        "A line with an outlier."
        name = "planted"
        description = "A line with an outlier."

        def load(self):
            x = np.array([[2.0, 0.0], [3.0, 1.0], [4.0, 0.0], [-9.0, 0.0], [-1.0, 0.0], [-5.0, 2.0]])
            y = np.array([1.0, 1.0, 1.0, 1.0, -1.0, -1.0])
            planted = np.arange(6) == 3
            sha = content_sha256(x, y, x, y)
            return Dataset("planted", x, y, x, y, sha, defaults={"kernel": "linear"}, planted=planted)

    @hookimpl
    def harness_datasets():
        return [Line]
"""


def compare(tmp_path, *options):
    (tmp_path / "planted_line.py").write_text(textwrap.dedent(SOURCE))
    options = [
        "--datasets", "planted", "--formulation", "outlier-margin[outliers=0.17,delta=0]", "--store", str(tmp_path / "runs.db"),
        "--format", "markdown", *options,
    ]  # fmt: skip
    with pytest.raises(SystemExit) as ended:
        main(["compare", "--plugins", "outlier-exact", "--plugin-path", str(tmp_path / "planted_line.py"), *options])
    assert not ended.value.code


@pytest.mark.slow
def test_the_command_shows_it_beside_the_margin(tmp_path, capsys):
    compare(tmp_path, "--core-set-oracle", "nearest-point")
    told = capsys.readouterr().out
    assert "inliers' margin" in told
    assert "margin bound" in told
    assert "solved by nearest-point" in told
    line = next(line for line in told.splitlines() if line.startswith("| outlier-exact"))
    assert line.split("|").count(" 3 ") >= 2
