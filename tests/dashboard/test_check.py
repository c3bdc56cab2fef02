"""What a check calls worse, on made-up numbers; on commits with planted faults it is looked at in test_history."""

from __future__ import annotations

import ast
import math
from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("asv", reason="the dashboard needs asv: pip install 'svm-harness[asv]'")

from harness_dashboard import check as checking
from harness_dashboard.check import MEMORY, TIME, Change, Report, Thresholds, markdown
from harness_dashboard.history import FIT, RECORD
from harness_dashboard.measuring import Grid, Measured
from harness_dashboard.records import Cell

from harness.errors import UsageError
from tests.dashboard.history import ROOT
from tests.dashboard.stored import command, git, repository

CELL: Cell = ("fw", "twonorm")
LIMITS = Thresholds()


def measured(status: str = "ok", reason: str = "", **figures: Any) -> Measured:
    """Return a commit's results for `CELL`: counts by their names, times as samples, memory as (fit, baseline)."""
    found = Measured("c" * 40)
    found.records[CELL] = {"status": status, "reason": reason}
    for name in checking.COUNTS:
        found.values[RECORD + name, CELL] = figures.get(name.removeprefix("track_"), 10.0)
    times = figures.get("times", [0.010 + 1e-5 * k for k in range(10)])
    found.values[FIT + "time_fit", CELL] = sorted(times)[len(times) // 2]
    found.samples[FIT + "time_fit", CELL] = times
    fit, baseline = figures.get("memory", (210e6, 200e6))
    found.values[FIT + "peakmem_fit", CELL], found.values[FIT + "peakmem_baseline", CELL] = fit, baseline
    return found


def certain(before: Measured, after: Measured, limits: Thresholds = LIMITS) -> list[tuple[str, str, bool]]:
    return [(each.metric, each.verdict, each.regression) for each in checking._certain(CELL, before, after, limits)]


@pytest.mark.parametrize(
    ("name", "before", "after", "verdict"),
    [
        ("kernel_evaluations", 100_000.0, 101_001.0, "worse"),
        ("kernel_evaluations", 100_000.0, 100_999.0, ""),
        ("kernel_evaluations", 100_000.0, 99_500.0, ""),
        ("kernel_evaluations", 100_000.0, 98_000.0, "better"),
        ("support_vectors", 0.0, 1.0, "worse"),  # from zero, any increase
        ("test_error_pct", 0.0, 0.0, ""),
        ("test_error_pct", 0.5, 0.0, "better"),
        ("relative_gap", 6.0, 6.0 + math.log10(1.0101), "worse"),  # a gap 1.01 times as large
        ("relative_gap", 6.0, 6.0 + math.log10(1.0099), ""),  # less than that, though 0.01 of 6 would be more
        ("relative_gap", 0.0, 0.005, "worse"),  # from the floor, a gap of 1e-9
        ("relative_gap", 0.0, 0.004, ""),
        ("relative_gap", 6.0, 5.0, "better"),
        ("relative_gap", math.nan, 5.0, ""),
        ("kernel_evaluations", math.nan, math.nan, ""),
    ],
)
def test_counts_gate_at_one_percent(name: str, before: float, after: float, verdict: str) -> None:
    found = certain(measured(**{name: before}), measured(**{name: after}))
    expected = [(checking.COUNTS["track_" + name], verdict, verdict == "worse")] if verdict else []
    assert found == expected


def test_the_threshold_of_counts_is_an_option() -> None:
    before, after = measured(core_set_size=100.0), measured(core_set_size=104.0)
    assert certain(before, after) == [("core set", "worse", True)]
    assert certain(before, after, replace(LIMITS, count=0.05)) == []


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("ok", "error", [("fails", True)]),
        ("ok", "budget", [("fails", True)]),
        ("ok", "absent", [("gone", True)]),
        ("error", "absent", [("gone", True)]),
        ("absent", "crashed", [("new, and fails", True)]),
        ("absent", "ok", [("new", False)]),
        ("skipped", "ok", [("new", False)]),
        ("timeout", "ok", [("works again", False)]),
        ("timeout", "error", []),
        ("absent", "skipped", []),
    ],
)
def test_what_a_change_of_status_means(before: str, after: str, expected: list[tuple[str, bool]]) -> None:
    """Where a cell fails or is missing its figures say nothing: they differ here, and only the status is told."""
    found = certain(measured(before, "b"), measured(after, "why", kernel_evaluations=1e9))
    assert [(verdict, regression) for _, verdict, regression in found] == expected


def compared(key: checking.Timed, before: Measured, after: Measured) -> str:
    return checking._compared(key, before, after, LIMITS)


def test_a_time_is_worse_by_its_median_and_its_minimum_and_all_of_its_samples() -> None:
    base = [0.0100 + 1e-5 * k for k in range(10)]
    twice = [2.0 * value for value in base]
    key = (TIME, CELL)
    assert compared(key, measured(times=base), measured(times=twice)) == "worse"
    assert compared(key, measured(times=twice), measured(times=base)) == "better"
    assert compared(key, measured(times=base), measured(times=[1.25 * value for value in base])) == ""
    # a burst of other work in most of the samples: the minimum is what it was
    disturbed = [0.0100, *(2.0 * value for value in base[1:])]
    assert compared(key, measured(times=base), measured(times=disturbed)) == ""


def test_memory_is_what_the_fit_takes_beyond_what_the_process_held() -> None:
    key = (MEMORY, CELL)
    assert compared(key, measured(memory=(220e6, 200e6)), measured(memory=(240e6, 200e6))) == "worse"
    assert compared(key, measured(memory=(220e6, 200e6)), measured(memory=(320e6, 300e6))) == ""
    assert compared(key, measured(memory=(201e6, 200e6)), measured(memory=(204e6, 200e6))) == ""  # a few pages


def test_what_is_flagged_once_and_not_again_is_not_reported() -> None:
    base, slow = measured(), measured(times=[0.03 + 1e-5 * k for k in range(10)])
    once = checking._confirmed([(TIME, CELL)], (base, slow), (base, base), LIMITS)
    twice = checking._confirmed([(TIME, CELL)], (base, slow), (base, slow), LIMITS)
    reversed_ = checking._confirmed([(TIME, CELL)], (base, slow), (slow, base), LIMITS)
    assert once == []
    assert reversed_ == []
    assert [(change.cell, change.metric, change.verdict, change.regression) for change in twice] == [
        (CELL, TIME, "worse", True)
    ]


def test_only_names_cells_by_solver_data_set_or_both() -> None:
    grid = Grid(["fw", "fw-pairwise", "smo"], ["a", "b"])
    assert checking._selected(grid, []) == grid.cells
    assert checking._selected(grid, ["fw"]) == [("fw", "a"), ("fw", "b")]
    assert checking._selected(grid, ["fw*:b"]) == [("fw", "b"), ("fw-pairwise", "b")]
    with pytest.raises(UsageError, match="'gilbert' names no cell"):
        checking._selected(grid, ["gilbert"])


def test_the_patterns_of_a_cell_match_no_other() -> None:
    import re

    pattern = checking._pattern(("fw", "a"), r"solvers\.Fit\.time_fit")
    assert re.search(pattern, "solvers.Fit.time_fit('fw', 'a')")
    for other in ("solvers.Fit.time_fit('fw', 'ab')", "solvers.Fit.time_fit('fw-pairwise', 'a')",
                  "solvers.Fit.peakmem_fit('fw', 'a')"):  # fmt: skip
        assert not re.search(pattern, other)


def test_the_table_of_a_pull_request() -> None:
    changes = [
        Change(CELL, "relative gap", 6.0, 5.0, "better", False),
        Change(CELL, "CPU time", 0.0123, 0.0246, "worse", True),
        Change(("smo", "twonorm"), "kernel evaluations", 1000.0, 25_000.0, "worse", True),
        Change(("qp", "twonorm"), "status", None, None, "fails", True, "error: a | b"),
    ]
    text = markdown(Report("a" * 40, "b" * 40, LIMITS, changes, 7))
    rows = [line for line in text.splitlines() if line.startswith("| ") and "---" not in line]
    assert text.startswith("### Solvers: `aaaaaaaa` to `bbbbbbbb`")
    assert "**Regressions: 3**, other changes: 1, cells compared: 7" in text
    assert rows[1] == "| fw on twonorm | CPU time | 12.3 ms | 24.6 ms | 2 | **worse** |"
    assert rows[2] == "| smo on twonorm | kernel evaluations | 1,000 | 25,000 | 25 | **worse** |"
    assert rows[3] == "| qp on twonorm | status | - | - | - | **fails**: error: a \\| b |"
    assert rows[4] == "| fw on twonorm | relative gap | 0.001 | 0.0001 | 0.1 | better |"
    assert "|" not in markdown(Report("a" * 40, "b" * 40, LIMITS, [], 7))


def test_the_benchmarks_have_the_names_that_the_check_asks_for() -> None:
    """asv names a benchmark after its module and class; the modules are not shipped with the dashboard."""
    folder = ROOT / "benchmarks/history"
    for name in (FIT, RECORD):
        module, _, cls = name.strip(".").partition(".")
        defined = ast.parse((folder / f"{module}.py").read_text()).body
        (found,) = [node for node in defined if isinstance(node, ast.ClassDef) and node.name == cls]
        methods = {node.name for node in found.body if isinstance(node, ast.FunctionDef)}
        wanted = {"time_fit", "peakmem_fit", "peakmem_baseline"} if name == FIT else set(checking.COUNTS)
        assert wanted <= methods


# -- the two commits, before anything is measured -------------------------------------------------------------


@pytest.mark.parametrize(("base", "head"), [("HEAD", "HEAD"), ("main", "HEAD~0"), ("HEAD^{commit}", "main")])
def test_two_names_of_one_commit_are_refused(tmp_path: Any, capsys: Any, base: str, head: str) -> None:
    """At the commit before, eight minutes told that a commit is as fast as itself."""
    commits = repository(tmp_path / "code")
    code, _, err = command(capsys, "check", base, head, "--config", tmp_path / "code")
    assert code == 2
    assert f"BASE and HEAD are one commit: '{base}' and '{head}' both name {commits[-1][:8]}; name two" in err
    assert len(err.splitlines()) == 1


def test_edits_that_are_not_committed_are_told(tmp_path: Any, capsys: Any, monkeypatch: Any) -> None:
    repository(tmp_path / "code")
    git(tmp_path / "code", "add", "-A")
    git(tmp_path / "code", "commit", "-q", "-m", "configuration")
    monkeypatch.setattr(checking, "check", lambda *_, **__: Report("a" * 40, "b" * 40, LIMITS, [], 7))
    code, _, err = command(capsys, "check", "HEAD~1", "HEAD", "--config", tmp_path / "code")
    assert (code, err) == (0, "")
    (tmp_path / "code" / "asv.conf.json").write_text((tmp_path / "code" / "asv.conf.json").read_text() + "\n")
    (tmp_path / "code" / "new.py").write_text("")
    code, _, err = command(capsys, "check", "HEAD~1", "HEAD", "--config", tmp_path / "code")
    assert (code, err) == (0, "note: some files have edits that are not committed: they are not measured\n")
