"""The terminal table: what it shows of fabricated records."""

import re

import pytest

from harness import Record, Status
from harness.report import formats, table
from tests.report.fabricated import failed, hull, record

GOLDEN = """\
digits: 1198 x 64, rbf gamma=0.05, 599 test points
                                       CPU  kernel  core   test     rel     KKT
solver           problem           seconds   evals   set      %     gap    /eps  status
smo              c-svc C=10     0.0210 ±5%   1.23M   120  97.16  3.2e-3  1.0e-3  ok
lasvm[epochs=2]  c-svc C=10     0.0122 ±0%*      -   120  98.00  2.0e-3* 1.0e-3  ok
qp               c-svc C=10       1235 ±0%   1.23M   120  97.16  3.2e-3  1.0e-3  timeout 1/3 [1]
fw               l2-svc chi=10  0.0122 ±0%    210k   120  97.16  3.2e-3  9.0e-4  ok

* best among comparable rows, or could not be distinguished from the best. --explain says more.
[1] qp: timeout: ran past the time limit of 10 s
smo, lasvm, qp solve c-svc; fw solves l2-svc with chi = C: do not compare their gaps and KKT.
"""


def three(make, *arguments, **changes):
    return [make(*arguments, repetition=repetition, **changes) for repetition in range(3)]


def study():
    smo = [record("smo", repetition=i, fit_seconds=0.020 + 0.001 * i) for i in range(3)]
    lasvm = three(
        record, "lasvm", label="lasvm[epochs=2]", kernel_evaluations=None, test_accuracy=0.98, relative_gap=2e-3
    )
    qp = three(record, "qp", fit_seconds=1234.6)
    qp[1] = failed("qp", "timeout", "ran past the time limit of 10 s", repetition=1)
    return [*smo, *lasvm, *qp, *three(hull, "fw", working_set_size=300, kernel_evaluations=210_000)]


def columns(text, solver):
    line = next(line for line in text.splitlines() if line.startswith(solver))
    return re.split(r"\s{2,}|(?<=\*)\s", line.strip())


def test_golden():
    assert table.render(study()) == GOLDEN


@pytest.mark.parametrize("width", [80, 100, 140, 200])
def test_lines_fit_the_width(width):
    long = "lasvm[epochs=2,selection=active,finishing=false,C=10,tau=0.0001,cache_mb=100]"
    records = [*study(), record("lasvm", label=long), failed("x", "crashed", "signal 11 " * 30)]
    assert max(map(len, table.render(records, width=width).splitlines())) <= width


def of_quantile(solver, **figures):
    columns = {
        "misses": {
            "title": "misses\nby",
            "unit": "share",
            "better": "low",
            "meaning": "how far it is from the quantile.",
        },
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
    assert "\nmisses by (share): how far it is from the quantile.\n" in text
    assert "\nwidth: of the tube.\n" in text
    assert "below" not in text.partition("\n\n")[2], "a column without a meaning has no footnote"


def test_no_control_characters_unless_styled():
    assert "\x1b" not in table.render(study())
    assert "\x1b[1m0.0122 ±0%\x1b[0m*" in table.render(study(), styled=True)


@pytest.mark.parametrize("status", [status for status in Status if status is not Status.OK])
def test_only_ok_competes(status):
    quick = record("quick", status=status, fit_seconds=1e-3, kernel_evaluations=1, support_vectors=1, relative_gap=0.0)
    text = table.render([quick, record("smo"), record("fw", fit_seconds=1)])
    assert "0.0122*" in columns(text, "smo")
    assert "*" not in " ".join(columns(text, "quick"))


def stopped(solver, gap, target=None, **changes):
    return record(solver, relative_gap=gap, target_gap=target, **changes)


LOOSE = "Costs are not ranked: the runs stopped at gaps 1.9e-3 to 7.7e-2."
CHEAP = {"fit_seconds": 0.001, "kernel_evaluations": 10, "core_set_size": 3, "test_accuracy": 0.9}


@pytest.mark.parametrize("targets", [(None, None), (1e-3, 1e-2), (1e-3, None)])
def test_without_a_common_target_cost_is_not_ranked(targets):
    rows = [stopped("smo", 1.9e-3, targets[0]), stopped("fw", 7.7e-2, targets[1], **CHEAP)]
    text = table.render(rows, width=120)
    starred = {cell for solver in ("smo", "fw") for cell in columns(text, solver) if cell.endswith("*")}
    assert starred == {"1.9e-3*", "97.16*"}
    assert text.count(LOOSE) == 1
    bold = re.findall(r"\*\*(.*?)\*\*", formats.render("markdown", rows))
    assert bold == ["97.16", "1.9e-3"]
    assert LOOSE[:40] in formats.render("markdown", rows)


def test_with_a_common_target_cost_is_ranked():
    text = table.render([stopped("smo", 1.9e-3, 0.1), stopped("fw", 7.7e-2, 0.1, **CHEAP)], width=120)
    assert {"0.00100*", "10*", "3*"} <= set(columns(text, "fw"))
    assert "not ranked" not in text


def test_an_uncertain_count_is_a_bound_and_competes_for_nothing():
    rows = [
        record("smo"),
        record("fw", kernel_evaluations=12_345, evaluations_at_least=True),
        record("qp", kernel_evaluations=2e6),
    ]
    text = table.render(rows)
    assert "≥12.3k" in columns(text, "fw")
    assert "1.23M*" in columns(text, "smo")
    assert "kernel evals ≥: fw took the points." in text


def test_an_undecidable_gap_is_a_question_mark():
    text = table.render(
        [
            record("smo", relative_gap=0.0, undecidable="rounding hides\nthe gap"),
            record("lasvm"),
            record("qp", relative_gap=0.5),
        ]
    )
    assert "?" in columns(text, "smo")
    assert "3.2e-3*" in columns(text, "lasvm")
    assert "gap ?: smo: rounding hides the gap\n" in text


def under(text):
    """The lines under the last row of a table."""
    lines = text.splitlines()
    return lines[max(i for i, line in enumerate(lines) if line.endswith(("ok", "ok†"))) + 2 :]


def test_two_rows_have_three_lines_and_the_command_that_ranks():
    rows = [
        hull(name, relative_gap=gap, target_gap=None, reused=name == "fw")
        for name, gap in (("lasvm", 7.7e-2), ("fw", 9e-4))
    ]
    typed = "harness compare --plugins lasvm,fw"
    *notes, blank, sentence, hint, command = table.render(rows, command=typed).splitlines()
    assert [blank, sentence, hint, command] == [
        "", "The CPU times and test accuracies of lasvm and fw could not be distinguished on digits, 1 run each.",
        "To rank by a certified target:", f"  {typed} --target-gap 1e-3",
    ]  # fmt: skip
    assert formats.render("markdown", rows, command=typed).endswith(f"\n\n      {typed} --target-gap 1e-3\n")
    styled = table.render(rows, command=typed, styled=True).splitlines()
    assert [line.startswith("\x1b[1m") for line in styled[-5:]] == [False, False, True, False, False]
    everything = " ".join(table.render(rows, explain=True).split())
    for told in (
        "Rows with a failed run are not ranked.",
        "kernel evals: every kernel value",
        "eps (hull",
        "(median): lasvm",
    ):
        assert told in everything
        assert told not in " ".join(notes)
    assert "--explain" not in everything


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"status": "environment", "reason": "disk full"}, "[1] a: environment: disk full"),
        ({"status": "missed", "reason": "gap above"}, "[1] a: missed: gap above"),
        ({"evaluations_at_least": True}, "kernel evals ≥: a took the points."),
        ({"undecidable": "rounding"}, "gap ?: a: rounding"),
        ({"faults": ["the copy was changed"]}, "the copy was changed"),
        ({"fit_seconds": 9.0, "cpu_seconds": 1.0}, "The machine was busy: wall time is over 1.5 times CPU time for a."),
        ({"stopped_by": "target"}, "The host stopped 1 of 2 runs of a at the target gap, so their gaps"),
        ({"core_set": {"oracle": "qp", "ratio": None, "reason": "too large"}}, "no core ratio: too large."),
    ],
)  # fmt: skip
def test_a_fault_is_told_unasked(changes, told):
    repeated = [record("a", repetition=1)] if changes.get("stopped_by") else []
    assert told in " ".join(table.render([record("a", **changes), *repeated, record("b")]).split())


def test_accuracies_that_so_few_test_points_do_not_tell_apart_have_no_star():
    few = [record("a", test_accuracy=0.99), record("b", test_accuracy=0.97)]
    assert "*" not in " ".join(columns(table.render(few), "a"))
    assert "99.00*" in columns(table.render([Record({**row, "n_test": 10_000}) for row in few]), "a")


def test_partly_failed_row_is_not_best():
    rows = [
        record("a", repetition=0, fit_seconds=0.001),
        failed("a", "timeout", "x", repetition=1),
        *three(record, "b"),
    ]
    text = table.render([*rows, *three(record, "c", fit_seconds=1.0)])
    assert "timeout 1/2 [1]" in columns(text, "a")
    assert not any(cell.endswith("*") for cell in columns(text, "a"))


def test_kernels_and_data_sets_are_groups():
    text = table.render([record("smo"), record("smo", kernel_parameters={"gamma": 0.2}), record("smo", "banana")])
    headings = [line for line in text.splitlines() if " x " in line]
    assert [heading.split(":")[0] for heading in headings] == ["digits", "digits", "banana"]
    assert "gamma=0.2" in headings[1]


@pytest.mark.parametrize("path", [None, {"costs": {"C": [1.0]}}])
def test_the_head_says_the_label_the_positive_class_and_first_of_all_that_nothing_is_scaled(path):
    line = "--datasets './churn.csv[missing=mean,scale=standard]'"
    apart = {"widest": ["income", 585296.19], "narrowest": ["score", 0.9978], "write": line}
    notes = {"label_column": "churned", "positive": "yes", "unscaled": apart}
    text = table.render([record(data_notes=notes, path=path, positive_share=0.2)], width=80)
    assert max(map(len, text.splitlines())) <= 80
    found = " ".join(text.split())
    assert "label column 'churned' (+1 = yes: 20 %), rbf" in found
    assert (
        f"not scaled: 'income' ranges over 585k, 'score' over 0.998, so the wide columns outweigh the others. Write {line} "
        in found
    )
    assert text.index(line) < text.index("status")
    plain = table.render([record(data_notes={"label_column": "y"}), record(kernel="precomputed", data_notes=notes)])
    assert "label column 'y', rbf" in plain
    assert "not scaled" not in plain


def test_formulations_footnote_and_mapping():
    assert "smo solves c-svc; fw solves l2-svc with chi = C: do not compare their gaps and KKT." in table.render(
        [record("smo"), hull("fw")]
    )
    stands_in = hull("fw", problem_parameters={"C": 10.0, "chi": None})
    assert "fw solves l2-svc with chi = C:" in table.render([record("smo"), stands_in])
    other = hull("fw", problem_parameters={"C": 10.0, "chi": 5.0})
    assert "smo solves c-svc; fw solves l2-svc: do" in table.render([record("smo"), other])


def test_reused_rows_say_when_they_were_measured():
    text = table.render([record("smo", reused=True), record("lasvm")])
    assert "ok†" in columns(text, "smo")
    assert "†: 1 of 2 runs are from the store, measured 2026-05-01 12:00 UTC" in text
    everything = table.render([record("smo", reused=True)])
    assert "ok†" not in everything
    assert "All runs are from the store, measured" in everything


@pytest.mark.parametrize(
    ("changes", "shown"),
    [({"iteration_limit": 1}, "smo (iterations <= 1)"), ({"cache_mb": 1.0}, "smo (cache 1 MB)"),
     ({"threads": 2}, "smo (2 threads)"), ({"target_gap": 0.5}, "smo (target 0.5)"), ({"time_limit": 5.0}, "smo (limit 5 s)"),
     ({"memory_limit": 2**29}, "smo (memory 512 MB)"), ({"code_sha256": "1a2b3c4d"}, "smo (code 1a2b3c)"),
     ({"kernel_evaluation_limit": 1000}, "smo (kernel evals <= 1,000)")],
)  # fmt: skip
def test_runs_under_other_limits_are_rows_that_say_so(changes, shown):
    text = table.render([record("smo", fit_seconds=1.0, seed=1), record("smo", fit_seconds=3.0, **changes)])
    assert "1.00" in text
    assert "3.00" in text
    assert shown in text
    assert "medians" not in text


def test_machines_and_data_are_not_mixed():
    other = record("smo", machine={"id": "b"})
    assert sum(line.startswith("smo") for line in table.render([record("smo"), other]).splitlines()) == 2
    other = record("smo", data_sha256="11")
    assert sum(line.startswith("smo") for line in table.render([record("smo"), other]).splitlines()) == 2


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


def test_a_hint_stands_behind_no_command():
    rows = [hull("fw", faults=["To go on: --target-gap 1e-3"], target_gap=1e-2)]
    found = table.render(rows).splitlines()
    assert "To go on: --target-gap 1e-3" in found
    assert any("--explain says more." in line for line in found)
