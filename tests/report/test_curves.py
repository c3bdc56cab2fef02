"""Time to gap, drawn: which points of which run, in how many columns, by which marks."""

import re
import sys

import pytest

from harness import UsageError
from harness.report import curves, output, pictures, plots
from harness.report.rows import grouped
from tests.report.fabricated import hull, record


def traced(solver="smo", seconds=1.0, make=record, **changes):
    """Half of the wall time is CPU time; of one point of the trace nothing is certified, of one rounding hides the gap."""
    trace = [{"seconds": 0.02, "cpu_seconds": 0.01, "relative_gap": 1.0}, {"seconds": 0.2, "cpu_seconds": 0.1, "relative_gap": None},
             {"seconds": 0.4, "cpu_seconds": 0.2, "relative_gap": 0.0, "gap_rounding": 0.1}]  # fmt: skip
    ends = {"fit_seconds": 2 * seconds, "relative_gap": 1e-3, "trace": trace}
    return make(solver, **{**ends, **changes, "cpu_seconds": seconds})


def test_a_curve_is_the_trace_and_the_end_of_the_run_of_median_time():
    rows = [traced("a", seconds, repetition=i) for i, seconds in enumerate((9.0, 1.0, 2.0))]
    rows += [
        traced("b", make=hull, trace=[]),
        record("c", relative_gap=None),
        record("d", dataset="other", status="crashed"),
    ]
    found = [(panel.title, panel.x, panel.curves) for panel in curves.panels(grouped(rows)) if panel.curves]
    assert found == [
        ("digits c-svc C=10, rbf gamma=0.05", "CPU seconds", {"a": [(0.01, 1.0), (0.2, 0.1), (2.0, 1e-3)]}),
        ("digits l2-svc chi=10, rbf gamma=0.05", "CPU seconds", {"b": [(1.0, 1e-3)]}),
    ], "gaps of two problems do not compare"
    _, panel, _ = curves.panels(grouped([type(row)({**row, "threads": 2}) for row in rows]))
    assert (panel.x, panel.curves["b"]) == ("wall seconds", [(2.0, 1e-3)])


@pytest.mark.parametrize("width", [80, 120, 200])
def test_in_the_terminal_each_solver_has_its_mark_and_a_picture_is_as_wide_as_the_terminal(monkeypatch, width):
    names = [f"solver-{i}[with=parameters]" for i in range(5)]
    rows = [traced(name, 1.0 + i, dataset=f"set-{j}") for i, name in enumerate(names) for j in range(6)]
    text = curves.text(rows, width=width)
    lines = text.splitlines()
    assert max(map(len, lines)) == width
    assert [line for line in lines if line.startswith("set-")] == [
        f"set-{j}, rbf gamma=0.05: relative gap (up) against CPU seconds" for j in range(4)
    ]
    assert lines[-1] == "2 more to draw: result.plot() in Python and --format html draw all."
    marks = dict(re.findall(r"(\S) (solver-\d\[with=parameters\])", text))
    assert sorted(marks.values()) == names
    assert all(any(mark in line.partition("│")[2] for line in lines) for mark in marks), "each curve is seen"
    assert ("1e-1┤" in text, "1e-3┤" in text) == (True, True)
    assert "\x1b" not in text
    passed = []
    monkeypatch.setattr(output, "styled", lambda: True)
    monkeypatch.setattr(output.click, "echo", lambda content, **_: passed.append(content))
    output.show(curves.text(rows, styled=True))
    mark, colour = pictures.in_a_terminal(pictures.looks(names)[names[0]])
    assert f"\x1b[38;5;{colour}m{mark}" in passed[0], "the colours pass to a terminal"
    assert "no run has a certified gap" in curves.text([record(relative_gap=None)])


def test_the_figure_has_a_panel_a_data_set_and_the_curves_points():
    rows = [traced(name, dataset=dataset) for name in "ab" for dataset in ("digits", "banana")]
    drawn = plots.figure(rows)
    assert [axes.get_title() for axes in drawn.axes] == [f"{name}, rbf gamma=0.05" for name in ("digits", "banana")]
    assert [(axes.get_xscale(), axes.get_yscale()) for axes in drawn.axes] == [("log", "log")] * 2
    (line, _) = drawn.axes[1].lines
    assert line.get_xydata().tolist() == [[0.01, 1.0], [0.2, 0.1], [1.0, 1e-3]]
    assert [text.get_text() for text in drawn.legends[0].get_texts()] == ["a", "b"]
    with pytest.raises(UsageError, match="nothing to draw: no run has a certified gap"):
        plots.figure([record(relative_gap=None)])


@pytest.mark.parametrize(
    ("library", "draw", "extra"), [("plotext", curves.text, "plot"), ("matplotlib", plots.figure, "report")]
)
def test_a_library_that_is_missing_is_named_with_what_brings_it(monkeypatch, library, draw, extra):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(
        UsageError, match=rf"needs {library}, which is not installed; run `pip install 'svm-harness\[{extra}\]'`"
    ):
        draw([traced()])
