"""The terminal table: what it shows of fabricated records."""

import re

import pytest

from harness import Record, Status
from harness.report import formats, table
from harness.report.rows import grouped
from harness.report.verdict import verdict
from tests.report.fabricated import failed, hull, loose, record, study, three


def columns(text, solver):
    line = next(line for line in text.splitlines() if line.startswith(solver))
    return re.split(r"\s{2,}|(?<=\*)\s", line.strip())


@pytest.mark.parametrize("width", [80, 100, 140, 200])
def test_lines_fit_the_width(width):
    long = "lasvm[epochs=2,selection=active,finishing=false,C=10,tau=0.0001,cache_mb=100]"
    records = [*study(), record("lasvm", label=long), failed("x", "crashed", "signal 11 " * 30)]
    assert max(map(len, table.render(records, width=width).splitlines())) <= width


def of_quantile(solver, **figures):
    columns = {
        "misses": {"title": "misses\nby", "unit": "share", "better": "low", "meaning": "how far it is."},
        "below": {"title": "below", "unit": "points", "better": None, "meaning": ""},
        "margin_lower": {"title": "width", "unit": "", "better": "high", "meaning": "of the tube."},
        "odd": "no mapping",
    }
    width = figures.pop("width", None)
    return record(solver, formulation="quantile", columns=columns, figures=figures, margin_lower=width)


def test_the_columns_of_a_formulation_are_read_from_its_records():
    rows = [of_quantile("smo", misses=0.25, below=12_345, width=1.5), of_quantile("qp", misses=0.5, below=40)]
    text = table.render([*rows, record("fw")], explain=True)
    assert [columns(text, name)[-4:] for name in ("smo", "qp", "fw")] == [
        ["0.25*", "12.3k", "1.5", "ok"], ["0.5", "40", "-", "ok"], ["-", "-", "-", "ok"],
    ]  # fmt: skip
    notes = text.partition("\n\n")[2].splitlines()
    assert {"misses by (share): how far it is.", "width: of the tube."} <= set(notes)
    assert not any(note.startswith("below") for note in notes), "a column without a meaning has no footnote"


@pytest.mark.parametrize("status", [status for status in Status if status is not Status.OK])
def test_only_ok_competes(status):
    quick = record("quick", status=status, fit_seconds=1e-3, kernel_evaluations=1, support_vectors=1, relative_gap=0.0)
    text = table.render([quick, record("smo"), record("fw", fit_seconds=1)])
    assert "0.0122*" in columns(text, "smo")
    assert "*" not in " ".join(columns(text, "quick"))


def stopped(solver, gap, target=None, **changes):
    return record(solver, relative_gap=gap, target_gap=target, **changes)


CHEAP = {"fit_seconds": 0.001, "kernel_evaluations": 10, "core_set_size": 3, "test_accuracy": 0.9}


@pytest.mark.parametrize("targets", [(None, None), (1e-3, 1e-2), (1e-3, None)])
def test_without_a_common_target_cost_is_not_ranked(targets):
    rows = [stopped("smo", 1.9e-3, targets[0]), stopped("fw", 7.7e-2, targets[1], **CHEAP)]
    text = table.render(rows, width=120)
    starred = {cell for solver in ("smo", "fw") for cell in columns(text, solver) if cell.endswith("*")}
    assert starred == {"1.9e-3*", "97.16*"}
    bold = re.findall(r"\*\*(.*?)\*\*", formats.render("markdown", rows))
    assert bold == ["97.16", "1.9e-3"]


def test_with_a_common_target_cost_is_ranked():
    text = table.render([stopped("smo", 1.9e-3, 0.1), stopped("fw", 7.7e-2, 0.1, **CHEAP)], width=120)
    assert {"0.00100*", "10*", "3*"} <= set(columns(text, "fw"))


def test_the_verdict_is_a_block_of_its_own_at_the_end_and_failures_are_red():
    rows = [*loose("lasvm", 1.0, 0.9), *loose("fw", 6.0, 0.9, make=hull), failed("qp", "crashed", "signal 11")]
    typed = "harness compare --plugins lasvm,fw,qp"
    options = {"command": typed, "picture": "a picture", "remarks": ["a remark"], "width": 300}
    *notes, blank, failure, answer, hint, command = table.render(rows, **options).splitlines()
    assert (notes[-2:], blank) == (["a remark", "a picture"], "")
    assert [failure, answer] == verdict(grouped(rows)).sentences
    assert (hint[-1], command) == (":", f"  {typed} --target-gap 1e-3")
    styled = table.render(rows, styled=True, **options).splitlines()[-4:]
    red, bold, end = "\x1b[38;5;1m", "\x1b[1m", "\x1b[0m"
    assert styled == [f"{bold}{red}{failure}{end}", f"{bold}{answer}{end}", hint, command]
    assert next(line for line in table.render(rows, styled=True).splitlines() if red in line).endswith(
        f"{red}crashed [1]{end}"
    )
    assert f"{bold}0.0122 ±0%{end}*" in table.render(study(), styled=True)
    assert "\x1b" not in table.render(rows)
    markdown = formats.render("markdown", rows, command=typed, remarks=["a remark"]).splitlines()
    assert markdown[-1] == f"      {typed} --target-gap 1e-3"
    assert [line for line in markdown if line.startswith("**")] == [f"**{failure}**", f"**{answer}**"]


@pytest.mark.parametrize(
    ("rows", "stars"),
    [
        ([record("a"), record("b", kernel_evaluations=12_345, evaluations_at_least=True), record("c", kernel_evaluations=2e6)],
         {"a": ["1.23M*"], "b": [], "c": []}),
        ([record("a", relative_gap=0.0, undecidable="rounding"), record("b"), record("c", relative_gap=0.5)],
         {"a": [], "b": ["3.2e-3*"], "c": []}),
        ([record("a", fit_seconds=1e-3), failed("a", "timeout", "x"), *three(record, "b"), *three(record, "c", fit_seconds=1.0)],
         {"a": [], "b": ["0.0122 ±0%*"], "c": []}),
    ],
)  # fmt: skip
def test_what_is_not_sure_competes_for_nothing(rows, stars):
    text = table.render(rows)
    assert {name: [cell for cell in columns(text, name) if cell.endswith("*")] for name in stars} == stars


def test_a_warning_on_scales_is_for_kernels_that_use_the_points():
    notes = {"unscaled": {"widest": ["income", 5e5], "narrowest": ["score", 1.0], "write": "--datasets ./a.csv"}}
    grid = {"costs": {"C": [1.0]}}
    found = [table.sheets([record(data_notes=notes, **changes)])[0].sections[0][0].remark.partition("\n")[2]
             for changes in ({}, {"path": grid}, {"kernel": "precomputed"})]  # fmt: skip
    assert found == ["  --datasets ./a.csv"] * 2 + [""]


def test_accuracies_that_so_few_test_points_do_not_tell_apart_have_no_star():
    few = [record("a", test_accuracy=0.99), record("b", test_accuracy=0.97)]
    assert "*" not in " ".join(columns(table.render(few), "a"))
    assert "99.00*" in columns(table.render([Record({**row, "n_test": 10_000}) for row in few]), "a")


@pytest.mark.parametrize("dated", [False, True])
def test_usual_names_do_not_wrap_at_a_hundred_columns(dated):
    limited = record("smo", iteration_limit=1, cache_mb=1.0, relative_gap=0.5)
    spread = [record("smo", seed=seed, fit_seconds=0.002 * (1 + seed), cache_mb=256.0) for seed in range(3)]
    lines = table.render(
        [*spread, limited, record("lasvm", label="lasvm[epochs=2]"), hull("fw")], width=100, dated=dated
    ).splitlines()
    assert any(line.startswith("smo (cache 256 MB) ") for line in lines)
    assert any(line.startswith("smo (iterations <=") for line in lines)
    assert any(line.startswith("lasvm[epochs=2] ") and "c-svc C=10" in line for line in lines)
    assert any("l2-svc chi=10" in line for line in lines)
    assert "gap" in " ".join(lines[1:3])


@pytest.mark.parametrize("width", [60, 80, 100])
def test_metrics_are_asked_for_and_the_last_to_go(width):
    metrics = {"balanced-accuracy": 0.7, "roc-auc": 0.8}
    text = table.render([record("smo-block", metrics=metrics), record("libsvm", metrics=metrics)], width=width)
    first, *rest = text.splitlines()[1:]
    assert "roc-auc" in " ".join([first, *rest[:2]])
    assert any(line.startswith("smo-block ") for line in rest)
    assert ("KKT" in " ".join(rest[:1])) == (width == 100)
    assert max(map(len, text.splitlines())) <= width
