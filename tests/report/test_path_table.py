"""The table of paths, of fabricated records."""

from harness import Record
from harness.report import formats, table
from tests.report.fabricated import record

GRID = {"costs": {"C": [1.0, 8.0]}, "widths": {"gamma": [0.5, 2.0, 8.0]}, "folds": 5}
GOLDEN = """\
digits: 1198 x 64, rbf, 599 test points, c-svc, path of 2 C x 3 gamma, 5 folds
                    kernel         %  worst                               test
solver      seconds  evals cells  ok    gap chosen              CV error     % status
smo            1.20  9.88M    30 100 9.9e-4 C=8 gamma=0.5  3.17 ± 0.92 % 97.16 ok
smo (cold)     1.20  9.88M    30 100 9.9e-4 C=8 gamma=0.5  3.17 ± 0.92 % 97.16 ok
"""


def path(solver="smo", start="warm", **changes):
    told = {
        **GRID, "start": start, "cells": 30, "finished": 30, "certified": 30, "rows": 31, "worst_gap": 9.9e-4,
        "worst_violation": 4e-4, "best": {"C": 8.0, "gamma": 0.5}, "cv_error": 0.0317, "cv_standard_error": 0.0092,
    }  # fmt: skip
    known = {"problem_parameters": {"class_weight": "none"}, "kernel_parameters": {}, "relative_gap": None}
    own = {"fit_seconds": 1.2, "kernel_evaluations": 9_876_543}
    return record(solver, **{**known, **own, "path": {**told, **changes.pop("path", {})}, **changes})


def cell(solver="smo", start="warm", fold=0, **changes):
    place = {**GRID, "start": start, "cell": changes.pop("cell", 3)}
    return record(solver, fold=fold, path=place, **{"validation_error": 0.1, **changes})


def lines(*records, **settings):
    return table.render(list(records), **settings).splitlines()


def test_a_path_is_one_line():
    shown = "\n".join(lines(path(), path(start="cold", path={"start": "cold"})))
    assert shown.startswith(GOLDEN)


def test_a_narrow_table_of_paths_loses_counts_before_names_and_metrics():
    wide = path("smo-block", metrics={"f1": 0.71, "roc-auc": 0.86})
    shown = lines(wide, width=80)
    assert max(map(len, shown)) <= 80
    assert any(line.startswith("smo-block ") for line in shown)
    assert "roc-auc" in " ".join(shown[1:3])
    assert "Not shown at 80 columns: kernel evals, cells, worst gap." in " ".join(" ".join(shown).split())
    assert not any("Not shown" in line for line in lines(wide, width=120))


def test_what_is_not_known_is_not_shown():
    bare = path(path={"best": {}, "cv_error": None, "cv_standard_error": None, "finished": 3, "certified": 2})
    failed = Record(
        {**bare, "status": "timeout", "reason": "still running", "test_accuracy": None, "kernel_evaluations": None}
    )
    shown = "\n".join(lines(failed))
    assert "3/30" in shown
    assert " 6.667 " in shown
    assert "[1] smo: timeout: still running" in shown
    assert "chosen" not in shown.split("\n\n")[0]
    assert "kernel" not in shown.splitlines()[1]


def test_several_seeds_and_starts_are_told_apart():
    shown = "\n".join(lines(path(seed=0), path(seed=1), path(seed=0, start="cold", path={"start": "cold"})))
    assert "smo (seed 0)" in shown
    assert "smo (seed 1)" in shown
    assert "smo (cold, seed 0)" in shown


def test_paths_and_single_runs_have_tables_of_their_own():
    shown = "\n".join(lines(path(), record("lasvm")))
    assert shown.index("path of 2 C") < shown.index("digits: 1198 x 64, rbf gamma=0.05")
    assert "lasvm" in shown
    text = formats.render("markdown", [path(), record("lasvm")])
    assert "| smo | 1.20 |" in text
    assert "| lasvm |" in text
    assert formats.render("markdown", [path()]).count("\n| smo") == 1


def test_the_folds_of_a_cell_are_runs_of_one_row_and_paths_no_run_s():
    cells = [cell(fold=fold, fit_seconds=0.01 * (fold + 1)) for fold in range(3)]
    shown = lines(*cells, cell(start="cold"), cell(fold=None, cell=None), record("smo"))
    names = [line[: line.index("  ")] for line in shown if line.startswith("smo")]
    assert names == ["smo (path)", "smo (cold path)", "smo (refit of path)", "smo"]
    assert "0.0200 ±50%" in next(line for line in shown if line.startswith("smo (path)"))


def test_a_chosen_cell_at_the_edge_is_told_and_how_to_go_on():
    text = " ".join("\n".join(lines(path(), path("lasvm", path={"best": {"C": 8.0, "gamma": 2.0}}))).split())
    assert "At the edge of the grid: C=8 is the largest (smo, lasvm), gamma=0.5 is the least (smo)." in text
    assert "replace --path and --folds by: --C 8 --gamma 0.5 --target-gap 1e-3" in text
    assert "edge" not in "\n".join(lines(path(path={"costs": {"C": [8.0]}, "best": {"C": 8.0, "gamma": 2.0}})))
