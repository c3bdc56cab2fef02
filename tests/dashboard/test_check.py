"""What a check calls worse, on made-up numbers; on commits with planted faults it is looked at in test_history."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("asv", reason="the dashboard needs asv: pip install 'svm-harness[asv]'")

from harness_dashboard import check as checking
from harness_dashboard.check import CPU, MEMORY, WALL, Change, Report, Thresholds, check, markdown
from harness_dashboard.history import FIT, RECORD
from harness_dashboard.measuring import Grid, Measured
from harness_dashboard.records import Cell

from harness import Record, UsageError
from tests.dashboard.history import ROOT
from tests.dashboard.stored import command, git, repository

CELL: Cell = ("fw", "twonorm")
LIMITS = Thresholds()
BASE = [0.0100 + 1e-5 * k for k in range(10)]
SLOW = [2.0 * value for value in BASE]
Verdicts = list[tuple[str, str, bool]]


def measured(status: str = "ok", reason: str = "", **figures: Any) -> Measured:
    """Return a commit's results for `CELL`: counts by their names, CPU samples, memory as (fit, baseline), walls and waits."""
    found = Measured("head" if figures.pop("head", False) else "base")
    counts = {
        "kernel_evaluations": 10,
        "core_set_size": 10,
        "support_vectors": 10,
        "test_accuracy": 0.9,
        "relative_gap": 1e-3,
    }
    walls = figures.get("walls", [(0.02, 0.0)] * 5)
    found.runs[CELL] = [
        Record({"status": status, "reason": reason, "fit_seconds": wall, "waited_seconds": waited,
                **{name: figures.get(name, value) for name, value in counts.items()}})
        for wall, waited in walls
    ]  # fmt: skip
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
    made: list[tuple[Measured, Measured]]
    configuration: None = None
    asked: list[Sequence[str]] = field(default_factory=list)

    def measure(self, commits: Sequence[str], *, benchmarks: Sequence[str], **_: Any) -> None:
        self.asked.append(benchmarks)

    def measured(self, commit: str) -> Measured:
        return replace(self.made[min(len(self.asked), len(self.made)) - 1][commit == "head"], commit=commit)


@pytest.fixture
def checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the verdicts on a base and a head, of which the second measurement may be another."""
    monkeypatch.setattr(checking, "grid", lambda _: Grid([CELL[0]], [CELL[1]]))

    def verdicts(
        before: Measured, after: Measured, again: tuple[Measured, Measured] | None = None, limits: Thresholds = LIMITS
    ) -> Verdicts:
        bench = Bench(tmp_path, tmp_path, [(before, after), again or (before, after)])
        report = check(bench, "base", "head", thresholds=limits)  # type: ignore[arg-type]
        assert len(bench.asked) == 1 + any(each.metric in (CPU, WALL, MEMORY) for each in report.changes) or again
        return [(each.metric, each.verdict, each.regression) for each in report.changes]

    return verdicts


@pytest.mark.parametrize(
    ("name", "before", "after", "verdict"),
    [
        ("kernel_evaluations", 100_000, 101_001, "worse"),
        ("kernel_evaluations", 100_000, 100_999, ""),
        ("kernel_evaluations", 100_000, 98_000, "better"),
        ("support_vectors", 0, 1, "worse"),  # from zero, any increase
        ("test_accuracy", 0.995, 1.0, "better"),
        ("relative_gap", 1e-3, 1.0101e-3, "worse"),
        ("relative_gap", 1e-3, 1.0099e-3, ""),
        ("relative_gap", 0.0, 1.02e-9, "worse"),  # from the floor, a gap of 1e-9
        ("relative_gap", 1e-3, 1e-4, "better"),
        ("relative_gap", None, 1e-4, ""),
    ],
)
def test_counts_gate_at_one_percent(checked: Any, name: str, before: float, after: float, verdict: str) -> None:
    metric = {"kernel_evaluations": "kernel evaluations", "support_vectors": "support vectors", "test_accuracy": "test error",
              "relative_gap": "digits"}[name]  # fmt: skip
    expected = [(metric, verdict, verdict == "worse")] if verdict else []
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
    assert checked(base, slow) == [(CPU, "worse", True)]
    assert checked(slow, base) == [(CPU, "better", False)]
    assert checked(base, measured(times=[1.25 * value for value in BASE])) == []
    # a burst of other work in most of the samples: the minimum is what it was
    assert checked(base, measured(times=[0.0100, *SLOW[1:]])) == []
    assert checked(base, measured(times=SLOW[:2])) == [], "two samples are too few to be told apart"
    assert checked(base, slow, again=(base, base)) == []
    assert checked(base, slow, again=(slow, base)) == []


def test_a_solver_that_sleeps_is_slower_by_wall_time_and_one_beside_other_work_is_not(checked: Any) -> None:
    asleep = measured(walls=[(0.62, 0.6), (0.64, 0.6), (0.66, 0.61), (0.62, 0.6), (0.65, 0.62)])
    assert checked(measured(), asleep) == [(WALL, "worse", True)]
    assert checked(asleep, measured()) == [(WALL, "better", False)]
    assert checked(measured(), measured(walls=[(0.65, 0.001)] * 5)) == [], "the machine was busy"
    assert checked(measured(), measured(walls=[(0.62, 0.6)] * 4 + [(0.02, 0.0)])) == [], "one run did not wait"
    assert checked(measured(), asleep, again=(measured(), measured())) == []


def test_a_history_measures_again_what_looks_changed_and_believes_what_is_so_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Measured at different times, a factor of 1.2 is enough to look slower, and 1.3 in turns to be so."""
    monkeypatch.setattr(checking, "grid", lambda _: Grid([CELL[0]], [CELL[1]]))
    slightly = measured(times=[1.2 * value for value in BASE])
    for first, again, expected in ((slightly, measured(times=SLOW), [(CPU, "worse")]), (measured(times=SLOW), slightly, []),
                                   (measured(kernel_evaluations=20), None, [("kernel evaluations", "worse")])):  # fmt: skip
        bench = Bench(tmp_path, tmp_path, [(measured(), first), (measured(), again or first)], asked=[[]])
        changes = checking.judge(bench, "base", "head").changes  # type: ignore[arg-type]
        assert [(each.metric, each.verdict) for each in changes] == expected
        assert len(bench.asked) == (1 if again is None else 2)


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
    results = Measured("c", runs={cell: [Record(status="absent", reason="")] for cell in grid.cells})
    for only, expected in (
        ([], grid.cells),
        (["fw"], [("fw", "a"), ("fw", "ab")]),
        (["fw*:ab", "smo:a"], [("fw", "ab"), ("fw-pairwise", "ab"), ("smo", "a")]),
    ):
        bench = Bench(tmp_path, tmp_path, [(results, results)])
        check(bench, "base", "head", only=only)  # type: ignore[arg-type]
        ((*patterns,),) = bench.asked
        assert [cell for cell, name in names.items() if any(re.search(each, name) for each in patterns)] == expected
    with pytest.raises(UsageError, match="'gilbert' names no cell"):
        check(bench, "base", "head", only=["gilbert"])  # type: ignore[arg-type]


def test_the_table_of_a_pull_request() -> None:
    changes = [
        Change(CELL, "digits", 3.0, 4.0, "better", False),
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
        "| fw on twonorm | digits | 3.0 digits | 4.0 digits | +1.0 | better |",
    ]


def test_the_benchmarks_have_the_names_that_the_check_asks_for() -> None:
    """asv names a benchmark after its module and class; the modules are not shipped with the dashboard."""
    module = ast.parse((ROOT / "benchmarks/history/solvers.py").read_text()).body
    methods = {
        f"solvers.{kind.name}.{each.name}"
        for kind in module if isinstance(kind, ast.ClassDef) for each in kind.body if isinstance(each, ast.FunctionDef)
    }  # fmt: skip
    fits = {FIT + name for name in ("time_fit", "peakmem_fit", "peakmem_baseline")}
    assert fits | {RECORD + "track_wall_seconds"} <= methods


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
