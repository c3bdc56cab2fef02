"""What a check calls worse, on made-up numbers; on commits with planted faults it is looked at in test_history."""

from __future__ import annotations

import importlib
import json
import math
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("asv", reason="the dashboard needs asv: pip install 'svm-harness[asv]'")

from harness_dashboard import check as checking
from harness_dashboard.check import CPU, MEMORY, WALL, Change, Report, Thresholds, check, markdown
from harness_dashboard.history import BENCHMARKS
from harness_dashboard.measuring import Runs
from harness_dashboard.records import Cell

from harness import Record, UsageError
from tests.dashboard.history import FOLDER, ROOT
from tests.dashboard.stored import command, git, repository

CELL: Cell = ("fw", "twonorm")
LIMITS = Thresholds()
BASE = [0.0100 + 1e-5 * k for k in range(5)]
SLOW = [2.0 * value for value in BASE]
Verdicts = list[tuple[str, str, bool]]


def measured(status: str = "ok", reason: str = "", **figures: Any) -> Runs:
    """Return a commit's runs of `CELL`: counts by their names, CPU seconds, peak memory, walls and waits."""
    counts = {
        "kernel_evaluations": 10,
        "core_set_size": 10,
        "support_vectors": 10,
        "test_accuracy": 0.9,
        "relative_gap": 1e-3,
    }
    times = figures.get("times", BASE)
    walls = figures.get("walls", [(0.02, 0.0)] * 5)
    return {CELL: [
        Record({"status": status, "reason": reason, "cpu_seconds": cpu, "fit_seconds": wall, "waited_seconds": waited,
                "peak_rss_bytes": figures.get("memory", 200e6),
                **{name: figures.get(name, value) for name, value in counts.items()}})
        for cpu, (wall, waited) in zip(times, walls, strict=False)
    ]}  # fmt: skip


@dataclass(frozen=True)
class Bench:
    """A bench whose measurements are made up: of the base and of the head, the first time and, if it asks again, later.

    asked : the cells and the commit of each measurement
    """

    results: Path
    records: Path
    made: list[tuple[Runs, Runs]]
    configuration: None = None
    asked: list[tuple[Sequence[Cell], str]] = field(default_factory=list)

    def measure(self, commit: str, *, cells: Sequence[Cell]) -> None:
        self.asked.append((cells, commit))

    def measured(self, commit: str) -> Runs:
        return self.made[len(self.asked) > 2][commit == "head"]


@pytest.fixture
def checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the verdicts on a base and a head, of which the second measurement may be another."""
    monkeypatch.setattr(checking, "grid", lambda _: [CELL])

    def verdicts(
        before: Runs, after: Runs, again: tuple[Runs, Runs] | None = None, limits: Thresholds = LIMITS
    ) -> Verdicts:
        bench = Bench(tmp_path, tmp_path, [(before, after), again or (before, after)])
        report = check(bench, "base", "head", thresholds=limits)  # type: ignore[arg-type]
        assert (len(bench.asked) > 2) == any(each.metric in (CPU, WALL, MEMORY) for each in report.changes) or again
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
    assert checked(base, measured(times=SLOW[:2])) == [], "two samples are too few"
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
    monkeypatch.setattr(checking, "grid", lambda _: [CELL])
    slightly = measured(times=[1.2 * value for value in BASE])
    for first, again, expected in ((slightly, measured(times=SLOW), [(CPU, "worse")]), (measured(times=SLOW), slightly, []),
                                   (measured(kernel_evaluations=20), None, [("kernel evaluations", "worse")])):  # fmt: skip
        bench = Bench(
            tmp_path, tmp_path, [(measured(), first), (measured(), again or first)], asked=[([], ""), ([], "")]
        )
        changes = checking.check_history(bench, "base", "head").changes  # type: ignore[arg-type]
        assert [(each.metric, each.verdict) for each in changes] == expected
        assert (len(bench.asked) > 2) == (again is not None)


def test_memory_is_the_peak_of_a_runs_process(checked: Any) -> None:
    before = measured(memory=200e6)
    assert checked(before, measured(memory=230e6)) == [(MEMORY, "worse", True)]
    assert checked(measured(memory=230e6), before) == [(MEMORY, "better", False)]
    assert checked(before, measured(memory=215e6)) == []
    assert checked(measured(memory=20e6), measured(memory=23e6)) == []  # a few pages


def test_a_cell_fails_if_one_of_its_runs_does(checked: Any) -> None:
    after = {CELL: [*measured()[CELL], *measured("crashed", "signal 11")[CELL]]}
    assert checked(measured(), after) == [("status", "fails", True)]


def test_only_names_cells_by_solver_data_set_or_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those cells are measured and no other."""
    grid = [(solver, dataset) for solver in ("fw", "fw-pairwise", "smo[tau=1]") for dataset in ("a", "ab")]
    monkeypatch.setattr(checking, "grid", lambda _: grid)
    results = {cell: [Record(status="absent", reason="")] for cell in grid}
    for only, expected in (
        ([], grid),
        (["fw"], [("fw", "a"), ("fw", "ab")]),
        (["fw*:ab", "smo[tau=1]:a"], [("fw", "ab"), ("fw-pairwise", "ab"), ("smo[tau=1]", "a")]),
    ):
        bench = Bench(tmp_path, tmp_path, [({cell: results[cell] for cell in expected},) * 2])
        check(bench, "base", "head", only=only)  # type: ignore[arg-type]
        assert bench.asked == [(expected, "head"), (expected, "base")]
    with pytest.raises(UsageError, match="'gilbert' names no cell"):
        check(bench, "base", "head", only=["gilbert"])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("model", "verdict"),
    [
        ({"test_accuracy": 0.95}, "worse, with a better model"),
        ({"relative_gap": 1e-4}, "worse, with a better model"),
        ({"relative_gap": 2e-4}, "worse"),  # less than a digit
        ({"test_accuracy": 0.905}, "worse"),  # less than one per cent of the test points
        ({"relative_gap": 1e-4, "test_accuracy": 0.8}, "worse"),
        ({"relative_gap": 1e-2, "test_accuracy": 0.95}, "worse"),
    ],
)
def test_more_work_for_a_better_model_is_no_regression(checked: Any, model: dict[str, float], verdict: str) -> None:
    """Less work for a worse model is no gain either; one more digit and more test errors are no better model."""
    before, after = measured(), measured(times=SLOW, kernel_evaluations=20, memory=300e6, **model)
    costs = (CPU, MEMORY, "kernel evaluations")
    found = checked(before, after)
    assert [each for each in found if each[0] in costs] == [(name, verdict, verdict == "worse") for name in costs]
    undone = {name: found for name, found, _ in checked(after, before)}
    worse = any(name in undone and undone[name] == "worse" for name in ("test error", "digits"))
    assert {undone[name] for name in costs} == {"better, with a worse model" if worse else "better"}


def test_the_rows_of_a_cell_stand_together_the_model_first_and_the_cells_that_are_worse_come_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = [("smo", "twonorm"), CELL]
    monkeypatch.setattr(checking, "grid", lambda _: cells)
    (quick,) = measured(relative_gap=1e-4).values()
    (slow,) = measured(
        times=SLOW, kernel_evaluations=20, support_vectors=9, test_accuracy=0.8, relative_gap=1e-2
    ).values()
    before = dict.fromkeys(cells, measured()[CELL])
    made = (before, {cells[0]: quick, CELL: slow})
    again = {CELL: before[CELL]}, {CELL: slow}
    report = check(Bench(tmp_path, tmp_path, [made, again]), "base", "head")  # type: ignore[arg-type]
    rows = [line.split(" | ")[:2] for line in markdown(report).splitlines() if line.startswith(("| fw", "| smo"))]
    metrics = ("test error", "digits", CPU, "kernel evaluations", "support vectors")
    assert rows == [*(["| fw on twonorm", metric] for metric in metrics), ["| smo on twonorm", "digits"]]


def test_the_table_of_a_pull_request() -> None:
    changes = [
        Change(("svdd", "twonorm"), "digits", 3.0, 4.0, "better", False),
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
        "| svdd on twonorm | digits | 3.0 digits | 4.0 digits | +1.0 | better |",
    ]


def test_the_benchmarks_stand_for_themselves_and_measure_the_cells_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A repository's own folder of benchmarks has ours on its path, and its grid beside it."""
    monkeypatch.setenv(BENCHMARKS, str(FOLDER / "benchmarks"))
    monkeypatch.setenv("HARNESS_HISTORY_ONLY", '[["fw", "a"]]')
    package = tmp_path / "benchmarks/history_of_a_test"
    package.mkdir(parents=True)
    shutil.copy(FOLDER / "repository/benchmarks.py.txt", package / "__init__.py")
    assert (ROOT / "benchmarks/history/__init__.py").read_text() == (package / "__init__.py").read_text()
    entries = {"solvers": [{"name": "fw"}, {"name": "smo"}], "datasets": [{"name": "a"}, {"name": "b"}]}
    (package.parent / "grid.json").write_text(json.dumps({"version": "1", "timeout_seconds": 3, **entries}))
    monkeypatch.syspath_prepend(package.parent)
    solvers = importlib.import_module("history_of_a_test.solvers")
    assert solvers.CELLS == [("fw", "a")]
    assert {name for name in dir(solvers.Record) if name.startswith("track_")} == {
        "track_failed", *(f"track_{name}" for name in solvers.FIGURES)
    }  # fmt: skip
    record = solvers.Record()
    record.setup({("fw", "a"): [{"status": "ok", "core_set_size": 3, "relative_gap": None}]}, "fw", "a")
    assert (record.track_core_set_size(), record.track_failed()) == (3.0, 0.0)
    assert math.isnan(record.track_digits())
    with pytest.raises(NotImplementedError):
        record.setup({}, "smo", "a")


def test_two_names_of_one_commit_and_ranges_are_refused_and_edits_without_a_commit_noted(
    tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits = repository(tmp_path / "code")
    code, _, err = command(capsys, "check", "main", "HEAD~0", "--config", tmp_path / "code")
    assert (code, f"'main' and 'HEAD~0' both name {commits[-1][:8]}" in err) == (2, True)
    for arguments, sentence in (
        (("check", "HEAD~1..HEAD"), "name two commits, as in `harness dashboard check HEAD~1 HEAD`"),
        (("check", "main", "HEAD~1.."), "HEAD: 'HEAD~1..' is a range"),
        (("run", "HEAD..main"), f"there is no commit in HEAD..main: both ends are {commits[-1][:8]}"),
        (("run", "HEAD..HEAD~1"), "there is no commit in HEAD..HEAD~1: the older commit must come first"),
    ):  # fmt: skip
        code, _, err = command(capsys, *arguments, "--config", tmp_path / "code")
        assert (code, sentence in err) == (2, True), err
    git(tmp_path / "code", "add", "-A")
    monkeypatch.setattr(checking, "check", lambda *_, **__: Report("a" * 40, "b" * 40, LIMITS, [], 7))
    code, _, err = command(capsys, "check", "HEAD~1", "HEAD", "--config", tmp_path / "code")
    assert (code, err) == (0, "note: some files have edits that are not committed; only commits are measured\n")
