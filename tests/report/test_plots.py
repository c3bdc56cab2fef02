"""The kinds of pictures of a result: what is drawn, that texts do not collide, and what is said where nothing can be."""

import math
import re
from itertools import combinations
from pathlib import Path

import pytest

from harness import UsageError
from harness.call.result import Result
from harness.report import curves, pictures, plots
from tests.report.fabricated import cell, failed, hull, path, record

KINDS = ("anytime", "profile", "front", "scaling", "heat", "bars")


def result(records):
    return Result(tuple(records), "", "")


def traced(solver, dataset, seconds, **changes):
    trace = [{"seconds": at * seconds, "cpu_seconds": at * seconds, "relative_gap": gap}
             for at, gap in ((0.01, 1.0), (0.1, 0.1), (0.5, 5e-3))]  # fmt: skip
    ends = {"fit_seconds": seconds, "relative_gap": 9e-4, "target_gap": 1e-3, "trace": trace}
    return record(solver, dataset, **{**ends, **changes})


def made(solvers, sets):
    """Solvers on sets, each set in three sizes; of a path each on each set."""
    names = [f"solver-{i}[with={i}]" for i in range(solvers)]
    rows = [traced(name, f"set-{j}[n={size}]", (1 + i) * size * 1e-4, n_train=size, kernel_evaluations=12_345_678 + 1_000_000 * i,
                   test_accuracy=0.9 + 0.001 * (i % 7))
            for j in range(sets) for size in (100, 300, 1000) for i, name in enumerate(names)]  # fmt: skip
    values = [(0.0123 * 2.0**i, gamma) for i in range(21) for gamma in (0.5, 2.0)]
    cells = [
        cell(name, dataset=f"set-{j}", cell=k, validation_error=0.01 * k, kernel_parameters={"gamma": gamma},
             problem_parameters={"C": C}, path={"folds": 1})
        for j in range(sets) for name in names for k, (C, gamma) in enumerate(values)
    ]  # fmt: skip
    return rows, [*(path(name, dataset=f"set-{j}") for j in range(sets) for name in names), *cells]


def shown(axis):
    """The boxes of the tick labels of an axis that a reader sees."""
    low, high = sorted(axis.get_view_interval())
    ticks = [(tick.get_loc(), tick) for tick in axis.get_major_ticks() + axis.get_minor_ticks()]
    labels = [each for at, tick in ticks if low <= at <= high for each in (tick.label1, tick.label2)]
    return [label.get_window_extent() for label in labels if label.get_visible() and label.get_text()]


def assert_legible(figure):
    figure.draw_without_rendering()
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            assert not any(a.overlaps(b) for a, b in combinations(shown(axis), 2)), axes.get_title()
        titles = [axes.title, axes.xaxis.label, axes.yaxis.label]
        boxes = [
            *shown(axes.xaxis),
            *shown(axes.yaxis),
            *(text.get_window_extent() for text in titles if text.get_text()),
        ]
        assert all(_inside(box, figure.bbox) for box in boxes), axes.get_title()
    for legend in figure.legends:
        assert _inside(legend.get_window_extent(), figure.bbox)
        assert not any(legend.get_window_extent().overlaps(axes.get_tightbbox()) for axes in figure.axes)


def _inside(box, whole):
    return box.x0 >= -1 and box.y0 >= -1 and box.x1 <= whole.x1 + 1 and box.y1 <= whole.y1 + 1


SIZES = [
    *((2, 3, kind) for kind in KINDS),
    *(
        pytest.param(solvers, sets, kind, marks=pytest.mark.slow)
        for solvers, sets in ((1, 1), (14, 3))
        for kind in KINDS
    ),
    *(pytest.param(2, 21, kind, marks=pytest.mark.slow) for kind in ("profile", "bars")),
]


@pytest.mark.parametrize(("solvers", "sets", "kind"), SIZES)
def test_no_labels_of_an_axis_collide_and_no_text_is_outside(solvers, sets, kind, monkeypatch):
    monkeypatch.setattr(plots, "_PANELS", 6)
    rows, paths = made(solvers, sets)
    assert_legible(plots.figure(paths if kind == "heat" else rows, kind))


def test_a_path_is_a_heat_map_of_its_errors_with_the_chosen_cell_and_what_is_not_certified():
    rows, paths = made(1, 1)
    (grid,) = [each for each in paths if "cell" not in each["path"]]
    paths[1:] = [each for each in paths[1:] if each["problem_parameters"]["C"] < 0.05]
    grid["path"]["best"] = {"C": 0.0492, "gamma": 2.0}
    paths[1]["relative_gap"] = None
    assert result(paths).plot().axes[0].get_title() == "solver-0[with=0] on set-0, c-svc, 5 folds", (
        "of a path, by default"
    )
    heat, bar = plots.figure(paths).axes
    assert [text.get_text().partition("\n")[::2] for text in heat.texts] == [
        (error, "120") for error in ("0.0 ?", "1.0", "2.0", "3.0", "4.0", "5.0")
    ]
    assert (heat.get_xlabel(), heat.get_ylabel(), bar.get_ylabel()) == ("C", "gamma", "CV error, %")
    assert "Below an error: the number of support vectors" in heat.figure.legends[0].get_title().get_text()
    (frame,) = heat.patches
    assert (frame.get_x() + 0.46, frame.get_y() + 0.46) == pytest.approx((2, 1)), "the largest of both"
    with pytest.raises(UsageError, match=r"has nothing to draw: there is no path.*path='C,gamma', folds=5"):
        result(rows).plot("heat")


def test_a_picture_has_a_few_panels_at_most_and_says_how_many_more_there_are(monkeypatch):
    assert plots._PANELS == 24
    monkeypatch.setattr(plots, "_PANELS", 2)
    drawn = plots.figure([record("a", f"set-{i}") for i in range(4)])
    assert len(drawn.axes) == 2
    assert "2 more panels are not drawn" in drawn.legends[0].get_title().get_text()


def test_a_profile_has_the_share_of_problems_within_a_factor_and_who_never_arrives_stays_below():
    often = [[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]]
    found = plots.profile(
        [
            {"a": often[0], "b": often[1]},
            {"a": [1.0], "b": [1.2]},
            {"a": [math.inf], "b": [5.0]},
            {"a": [math.inf], "b": [math.inf]},
        ]
    )
    assert found == {"a": [1.0, 1.0, math.inf], "b": [2.0, 1.2, 1.0]}, "nobody solved the fourth"
    assert plots.corners(found["a"]) == [(1.0, pytest.approx(2 / 3))]
    rows = [traced("a", "digits", 1.0), traced("b", "digits", 4.0), traced("b", "banana", 1.0)]
    (panel,) = result(rows).plot("profile").axes
    assert panel.get_title() == "c-svc, certified gap 1e-3, 1 problem", "on banana not every solver was run"
    assert {line.get_label(): line.get_xydata()[1:].tolist() for line in panel.lines} == {
        "a": [[1.0, 1.0], [pytest.approx(5.2), 1.0]], "b": [[4.0, 1.0], [pytest.approx(5.2), 1.0]],
    }  # fmt: skip


def test_a_data_set_on_which_nobody_was_begun_is_no_problem_of_a_profile():
    rows = [
        traced("a", "digits", 1.0),
        failed("b", "error", "it broke", dataset="banana", kernel=None, formulation=None),
    ]
    assert len(result(rows).plot("profile").axes) == 1


def test_the_error_of_a_regression_is_no_per_cent():
    _, records = made(1, 1)
    records = [type(each)({**each, "formulation": "eps-svr"}) for each in records[:4]]
    drawn = plots.figure(records)
    assert drawn.axes[1].get_ylabel() == "CV error"
    assert [text.get_text() for text in drawn.axes[0].texts] == ["0\n120", "0.01\n120", "0.02\n120"]
    assert "solver-0[with=0] on set-0, eps-svr, 5 folds: CV error. [ ]:" in curves.text(records)


def test_in_the_terminal_the_chosen_cell_is_in_brackets_and_what_is_not_certified_has_a_question_mark():
    _, records = made(1, 1)
    records = [*records[:5]]
    records[0]["path"]["best"], records[4]["relative_gap"] = {"C": 0.0123, "gamma": 0.5}, None
    assert [line.split() for line in curves.text(records).splitlines()[2:-1]] == [
        ["gamma", "0.5", "2"], ["C"], ["0.0123", "[0.0]", "1.0"], ["0.0246", "2.0", "3.0?"]
    ]  # fmt: skip


def test_a_mean_over_some_of_the_folds_has_a_question_mark():
    fits = [cell(fold=fold, cell=k, validation_error=0.2, problem_parameters={"C": C}, kernel_parameters={"gamma": 0.5})
            for k, C in enumerate((1.0, 8.0)) for fold in range(5 - k)]  # fmt: skip
    shown = curves.text([path(path={"best": {}}), *fits]).splitlines()
    assert [line.split() for line in shown[4:6]] == [["1", "20.0"], ["8", "20.0?"]], "of 5 and of 4 folds"


def test_the_front_is_of_those_that_did_what_was_asked():
    assert plots.front([(2.0, 1.0), (1.0, 3.0), (3.0, 0.5), (2.0, 2.0), (4.0, 0.5)]) == [
        (1.0, 3.0),
        (2.0, 1.0),
        (3.0, 0.5),
    ]
    rows = [record("a", fit_seconds=1.0, test_accuracy=0.9), record("b", fit_seconds=2.0, test_accuracy=0.95),
            record("c", fit_seconds=0.5, test_accuracy=0.99, status="missed"), failed("d", "crashed", "")]  # fmt: skip
    drawn = result(rows).plot("front")
    (steps,) = [line for line in drawn.axes[0].lines if line.get_linestyle() == ":"]
    assert steps.get_xydata().tolist() == [[1.0, pytest.approx(10)], [2.0, pytest.approx(5)]]
    assert steps.get_drawstyle() == "steps-post"
    assert "Not shown: d (" in drawn.legends[0].get_title().get_text()
    with pytest.raises(UsageError, match="no run has a time and test figures"):
        result([record(test_accuracy=None)]).plot("front")


def test_scaling_has_the_line_and_the_exponent_and_needs_three_sizes():
    rows, _ = made(1, 1)
    drawn = result(rows).plot("scaling")
    assert "solver-0[with=0] 1.00 (1.00 to 1.00)" in drawn.legends[0].get_title().get_text().replace("\n", " ")
    assert [drawn.axes[0].get_xlabel(), drawn.axes[0].get_ylabel()] == [
        "points, n",
        "seconds to a certified gap of 1e-3",
    ]
    with pytest.raises(UsageError, match=r"in three sizes. Compare three: datasets=\['twonorm\[n=500\]'"):
        result(rows[:2]).plot("scaling")


def test_bars_are_means_and_a_solver_without_one_is_named():
    rows = [
        record(name, data, fit_seconds=seconds, target_gap=1e-3, kernel_evaluations=None if name == "b" else 400)
        for name, *times in (("a", 1.0, 4.0), ("b", 9.0, 9.0))
        for data, seconds in zip(("digits", "banana"), times, strict=True)
    ]
    drawn = result([*rows, failed("c", "crashed", ""), hull("b", target_gap=1e-3)]).plot("bars")
    time, evaluations, *_ = drawn.axes
    assert [(line.get_label(), line.get_xdata()[0]) for line in time.lines if not line.get_label().startswith("_")] == [
        ("a", pytest.approx(2.0)), ("b (c-svc)", pytest.approx(9.0)), ("b (l2-svc)", pytest.approx(0.0122)),
    ]  # fmt: skip
    assert [label.get_text() for label in time.get_yticklabels()] == ["b (l2-svc)", "a", "b (c-svc)"], (
        "the fastest on top"
    )
    assert (time.get_title(), evaluations.get_title()) == ("CPU seconds", "kernel evaluations")
    assert "Not shown: c, b (c-svc) on kernel evaluations (" in drawn.legends[0].get_title().get_text().replace(
        "\n", " "
    )


def test_an_unknown_kind_is_named_with_those_that_there_are():
    with pytest.raises(
        UsageError, match=f"kind='bar' is no kind of picture .did you mean 'bars'.*; known: {', '.join(KINDS)}"
    ):
        result([record()]).plot("bar")


def test_a_solver_looks_the_same_everywhere_and_no_two_alike():
    names = [f"solver-{i}" for i in range(56)]
    for some in (names[:2], names[:7], names[:14], names):
        assert len(set(pictures.looks(some).values())) == len(some)
        pairs = [
            tuple(pictures.style(place)[each] for each in ("color", "marker"))
            for place in pictures.looks(some).values()
        ]
        assert len(set(pairs)) == len(some)
        assert len(set(map(pictures.in_a_terminal, pictures.looks(some).values()))) == len(some)
    seven = pictures.looks(names[:7]).values()
    assert all(len({place % len(each) for place in seven}) == 7 for each in (pictures.COLOURS, pictures.MARKS)), (
        "in black and white"
    )
    assert pictures.looks(["smo (target 1e-3)", "fw"])["smo (target 1e-3)"] == pictures.looks(["smo"])["smo"]
    usual = pictures.looks(["fw", "smo-block", "libsvm", "lasvm"])
    assert list(usual) == ["fw", "smo-block", "libsvm", "lasvm"]
    several = pictures.looks(["smo", "lasvm[epochs=3]", "qp", *usual, "sklearnex"])
    assert {name: several[name] for name in usual} == usual, "in another comparison"
    drawn = plots.figure([traced(name, "digits", 1.0 + i) for i, name in enumerate(names[:3])])
    wanted = {name: pictures.style(place)["color"] for name, place in pictures.looks(names[:3]).items()}
    assert {line.get_label(): line.get_color() for line in drawn.axes[0].lines} == wanted
    css = Path("plugins/harness_dashboard/pages/style.css").read_text(encoding="utf-8")
    assert tuple(re.findall(r"--s\d: (#\w{6})", css)[:8]) == pictures.COLOURS, "the page's are the same"


def test_a_curve_ends_at_the_time_of_the_later_fits_of_a_short_run_which_bounds_its_points():
    first = traced("a", "digits", 0.008, steady_fit_seconds=0.002, steady_cpu_seconds=0.002)
    (panel,) = result([first, traced("b", "digits", 0.003)]).plot().axes
    ends = {line.get_label(): line.get_xdata().max() for line in panel.lines}
    assert ends == {"a": 0.002, "b": 0.003}, "the table ranks a first"


def test_a_set_of_its_usual_size_is_of_the_same_family_where_two_problems_are_solved():
    sizes = {"twonorm[n=250]": 250, "twonorm[n=500]": 500, "twonorm": 1000}
    rows = [traced(solver, name, n * 1e-4, n_train=n, formulation=of)
            for name, n in sizes.items() for solver, of in (("a", "c-svc"), ("b", "l2-svc"))]  # fmt: skip
    assert [panel.get_title() for panel in result(rows).plot("scaling").axes] == ["twonorm, c-svc", "twonorm, l2-svc"]
