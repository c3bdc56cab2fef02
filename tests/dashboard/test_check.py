"""What a check calls worse, on made-up numbers; on commits with planted faults it is looked at in test_history."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("asv", reason="the dashboard needs asv: pip install 'svm-harness[asv]'")

from harness_dashboard import check as checking
from harness_dashboard.check import MEMORY, TIME, Change, Report, Thresholds, check, markdown
from harness_dashboard.history import FIT, RECORD
from harness_dashboard.measuring import Grid, Measured
from harness_dashboard.records import Cell

from harness import UsageError
from tests.dashboard.history import ROOT
from tests.dashboard.stored import command, git, repository

CELL: Cell = ("fw", "twonorm")
LIMITS = Thresholds()
BASE = [0.0100 + 1e-5 * k for k in range(10)]
SLOW = [2.0 * value for value in BASE]
Verdicts = list[tuple[str, str, bool]]


def measured(status: str = "ok", reason: str = "", **figures: Any) -> Measured:
    """Return a commit's results for `CELL`: counts by their names, times as samples, memory as (fit, baseline)."""
    found = Measured("c" * 40)
    found.records[CELL] = {"status": status, "reason": reason}
    for name in checking.COUNTS:
        found.values[RECORD + name, CELL] = figures.get(name.removeprefix("track_"), 10.0)
    times = figures.get("times", BASE)
    found.values[FIT + "time_fit", CELL] = sorted(times)[len(times) // 2]
    found.samples[FIT + "time_fit", CELL] = times
    fit, baseline = figures.get("memory", (210e6, 200e6))
    found.values[FIT + "peakmem_fit", CELL], found.values[FIT + "peakmem_baseline", CELL] = fit, baseline
    return found


@dataclass(frozen=True)
class Bench:
    """A bench whose measurements are made up: of the base and of the head, the first time and, if it asks again, the second.

    asked : the patterns of benchmarks of each measurement
    """

    results: Path
    records: Path
    made: dict[str, tuple[Measured, Measured]]
    configuration: None = None
    asked: list[Sequence[str]] = field(default_factory=list)

    def measure(self, commits: Sequence[str], *, benchmarks: Sequence[str], **_: Any) -> None:
        self.asked.append(benchmarks)

    def measured(self, commit: str) -> Measured:
        return self.made[self.results.parent.name][commit == "head"]


@pytest.fixture
def checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the verdicts on a base and a head, of which the second measurement may be another."""
    monkeypatch.setattr(checking, "grid", lambda _: Grid([CELL[0]], [CELL[1]]))

    def verdicts(
        before: Measured, after: Measured, again: tuple[Measured, Measured] | None = None, limits: Thresholds = LIMITS
    ) -> Verdicts:
        bench = Bench(tmp_path, tmp_path, {"first": (before, after), "second": again or (before, after)})
        report = check(bench, "base", "head", thresholds=limits)  # type: ignore[arg-type]
        assert len(bench.asked) == 1 + any(each.metric in (TIME, MEMORY) for each in report.changes) or again
        return [(each.metric, each.verdict, each.regression) for each in report.changes]

    return verdicts


@pytest.mark.parametrize(
    ("name", "before", "after", "verdict"),
    [
        ("kernel_evaluations", 100_000.0, 101_001.0, "worse"),
        ("kernel_evaluations", 100_000.0, 100_999.0, ""),
        ("kernel_evaluations", 100_000.0, 98_000.0, "better"),
        ("support_vectors", 0.0, 1.0, "worse"),  # from zero, any increase
        ("test_error_pct", 0.5, 0.0, "better"),
        ("relative_gap", 6.0, 6.0 + math.log10(1.0101), "worse"),  # a gap 1.01 times as large
        ("relative_gap", 6.0, 6.0 + math.log10(1.0099), ""),  # less than that, though 0.01 of 6 would be more
        ("relative_gap", 0.0, 0.005, "worse"),  # from the floor, a gap of 1e-9
        ("relative_gap", 6.0, 5.0, "better"),
        ("relative_gap", math.nan, 5.0, ""),
    ],
)
def test_counts_gate_at_one_percent(checked: Any, name: str, before: float, after: float, verdict: str) -> None:
    expected = [(checking.COUNTS["track_" + name], verdict, verdict == "worse")] if verdict else []
    assert checked(measured(**{name: before}), measured(**{name: after})) == expected


def test_the_threshold_of_counts_is_an_option(checked: Any) -> None:
    before, after = measured(core_set_size=100.0), measured(core_set_size=104.0)
    assert checked(before, after) == [("core set", "worse", True)]
    assert checked(before, after, limits=replace(LIMITS, count=0.05)) == []


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("ok", "error", [("status", "fails", True)]),
        ("ok", "absent", [("status", "gone", True)]),
        ("error", "absent", [("status", "gone", True)]),
        ("absent", "crashed", [("status", "new, and fails", True)]),
        ("skipped", "ok", [("status", "new", False)]),
        ("timeout", "ok", [("status", "works again", False)]),
        ("timeout", "error", []),
        ("absent", "skipped", []),
    ],
)
def test_what_a_change_of_status_means(checked: Any, before: str, after: str, expected: Verdicts) -> None:
    """Where a cell fails or is missing its figures say nothing: they differ here, and only the status is told."""
    assert checked(measured(before, "b"), measured(after, "why", kernel_evaluations=1e9)) == expected


def test_a_time_is_worse_by_its_median_and_its_minimum_in_two_measurements(checked: Any) -> None:
    base, slow = measured(), measured(times=SLOW)
    assert checked(base, slow) == [(TIME, "worse", True)]
    assert checked(slow, base) == [(TIME, "better", False)]
    assert checked(base, measured(times=[1.25 * value for value in BASE])) == []
    # a burst of other work in most of the samples: the minimum is what it was
    assert checked(base, measured(times=[0.0100, *SLOW[1:]])) == []
    assert checked(base, measured(times=SLOW[:2])) == [], "two samples are too few to be told apart"
    assert checked(base, slow, again=(base, base)) == []
    assert checked(base, slow, again=(slow, base)) == []


def test_memory_is_what_the_fit_takes_beyond_what_the_process_held(checked: Any) -> None:
    before = measured(memory=(220e6, 200e6))
    assert checked(before, measured(memory=(240e6, 200e6))) == [(MEMORY, "worse", True)]
    assert checked(before, measured(memory=(320e6, 300e6))) == []
    assert checked(measured(memory=(201e6, 200e6)), measured(memory=(204e6, 200e6))) == []  # a few pages


def test_only_names_cells_by_solver_data_set_or_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The patterns that asv is given match those cells and no other."""
    grid = Grid(["fw", "fw-pairwise", "smo"], ["a", "ab"])
    monkeypatch.setattr(checking, "grid", lambda _: grid)
    names = {cell: f"solvers.Fit.time_fit({cell[0]!r}, {cell[1]!r})" for cell in grid.cells}
    results = Measured("c", records={cell: {"status": "absent", "reason": ""} for cell in grid.cells})
    for only, expected in (
        ([], grid.cells),
        (["fw"], [("fw", "a"), ("fw", "ab")]),
        (["fw*:ab", "smo:a"], [("fw", "ab"), ("fw-pairwise", "ab"), ("smo", "a")]),
    ):
        bench = Bench(tmp_path, tmp_path, {"first": (results, results)})
        check(bench, "base", "head", only=only)  # type: ignore[arg-type]
        ((*patterns,),) = bench.asked
        assert [cell for cell, name in names.items() if any(re.search(each, name) for each in patterns)] == expected
    with pytest.raises(UsageError, match="'gilbert' names no cell"):
        check(bench, "base", "head", only=["gilbert"])  # type: ignore[arg-type]


def test_the_table_of_a_pull_request() -> None:
    changes = [
        Change(CELL, "relative gap", 6.0, 5.0, "better", False),
        Change(CELL, "CPU time", 0.0123, 0.0246, "worse", True),
        Change(("smo", "twonorm"), "kernel evaluations", 1000.0, 25_000.0, "worse", True),
        Change(("qp", "twonorm"), "status", None, None, "fails", True, "error: a | b"),
    ]
    text = markdown(Report("a" * 40, "b" * 40, LIMITS, changes, 7))
    rows = [line for line in text.splitlines() if line.startswith("| ") and "---" not in line]
    assert "**Regressions: 3**, other changes: 1, cells compared: 7" in text
    assert rows[1:] == [
        "| fw on twonorm | CPU time | 12.3 ms | 24.6 ms | 2 | **worse** |",
        "| smo on twonorm | kernel evaluations | 1,000 | 25,000 | 25 | **worse** |",
        "| qp on twonorm | status | - | - | - | **fails**: error: a \\| b |",
        "| fw on twonorm | relative gap | 0.001 | 0.0001 | 0.1 | better |",
    ]


def test_the_benchmarks_have_the_names_that_the_check_asks_for() -> None:
    """asv names a benchmark after its module and class; the modules are not shipped with the dashboard."""
    module = ast.parse((ROOT / "benchmarks/history/solvers.py").read_text()).body
    methods = {
        f"solvers.{kind.name}.{each.name}"
        for kind in module if isinstance(kind, ast.ClassDef) for each in kind.body if isinstance(each, ast.FunctionDef)
    }  # fmt: skip
    fits = {FIT + name for name in ("time_fit", "peakmem_fit", "peakmem_baseline")}
    assert fits | {RECORD + name for name in checking.COUNTS} <= methods


def test_two_names_of_one_commit_are_refused_and_edits_without_a_commit_noted(
    tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits = repository(tmp_path / "code")
    code, _, err = command(capsys, "check", "main", "HEAD~0", "--config", tmp_path / "code")
    assert (code, f"'main' and 'HEAD~0' both name {commits[-1][:8]}" in err) == (2, True)
    git(tmp_path / "code", "add", "-A")
    monkeypatch.setattr(checking, "check", lambda *_, **__: Report("a" * 40, "b" * 40, LIMITS, [], 7))
    code, _, err = command(capsys, "check", "HEAD~1", "HEAD", "--config", tmp_path / "code")
    assert (code, err) == (0, "note: some files have edits that are not committed: they are not measured\n")
