"""reports/first_comparison: a tiny run, and what its picture draws of rows."""

from dataclasses import replace

import matplotlib.pyplot as plt
import pytest

from reports.first_comparison import study
from reports.first_comparison.study import PLAN, QUICK, STUDY, Panel, Plan
from reports.kit import command, page
from reports.kit.grids import Options
from reports.kit.journal import read_rows
from reports.kit.results import Published, Results
from tests.reports.fabricated import HEADER, row

TINY = Plan((Panel("twonorm", "twonorm[n=80,n_test=50]"),), hulls_mb=10.0)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.usefixtures("warm_sessions")
def test_a_tiny_comparison_and_its_page(tmp_path):
    tiny = replace(STUDY, plan=TINY)
    command.run(tiny, ["--out", str(tmp_path), "--store", str(tmp_path / "store.sqlite"), "--limit", "60"])
    runs = [each for each in read_rows(tmp_path / "results.jsonl") if "status" in each]
    assert [(each["solver"], each["formulation"], each["status"]) for each in runs] == [
        ("lasvm", "c-svc", "ok"),
        ("lasvm[epochs=2]", "c-svc", "ok"),
        ("libsvm", "c-svc", "ok"),
        ("fw", "l2-svc", "ok"),
    ]
    assert len(runs[0]["trace"]) > 1
    page.make(tiny, tmp_path)
    assert (tmp_path / "anytime.png").read_bytes().startswith(b"\x89PNG")


def traced(solver, *points):
    trace = [{"seconds": seconds, "relative_gap": gap, "test_accuracy": right} for seconds, gap, right in points]
    return row("usps", solver, trace=trace, n_features=3, seconds=points[-1][0], cpu=0.1)


def test_the_axis_is_wall_time_and_a_black_box_is_no_lone_dot(monkeypatch, tmp_path):
    drawn = []
    monkeypatch.setattr(study, "save", lambda figure, path: drawn.append(figure) is None)
    rows = [traced("lasvm", (0.0, 1.0, 0.5), (1.0, 0.1, 0.9), (2.0, None, 0.99)), traced("libsvm", (3.0, 1e-3, 0.98))]
    assert study.picture(Results([HEADER, *rows], Published({}), PLAN), tmp_path / "x.png")
    above, below = drawn[0].axes
    assert above.lines[0].get_xydata().tolist() == [[1.0, 0.1]], "no point at zero seconds, none without a certificate"
    assert below.lines[0].get_xydata().ravel() == pytest.approx([1.0, 10.0, 2.0, 1.0])
    assert [list(line.get_xdata()) for line in below.lines if line.get_linestyle() == "--"] == [[3.0, 3.0], [0, 1]]
    assert below.get_xlabel() == "wall seconds in the solver"
    plt.close(drawn[0])
    assert not study.picture(Results([HEADER], Published({}), PLAN), tmp_path / "x.png")


def test_the_quick_sets_stand_for_others():
    assert {each.stands_for for each in QUICK.panels} < {each.name for each in PLAN.panels}
    grids = study.anytime(PLAN, Options(sets=("usps",)))
    assert [grid.datasets for grid in grids] == [("usps[split_seed=0]",)] * 2
