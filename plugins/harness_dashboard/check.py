"""Compare two commits: which cell of the grid is worse, in time, memory or counts, or no longer works.

Counts are the same in every run of one commit on one machine, so any change beyond the threshold is real. Times are
not: the two commits are measured in turns, CPU time is compared, and what looks changed is measured again, with more
turns, and believed only when it looks the same the second time.
"""

from __future__ import annotations

import fnmatch
import math
import re
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from harness import Status, UsageError
from harness_dashboard.history import FIT, LEAST_GAP, RECORD
from harness_dashboard.measuring import Grid, Measured, grid
from harness_dashboard.records import NO_RUN, Cell

if TYPE_CHECKING:
    from harness_dashboard.measuring import Bench

GAP, ERROR = "relative gap", "test error"
COUNTS = {
    "track_kernel_evaluations": "kernel evaluations",
    "track_core_set_size": "core set",
    "track_support_vectors": "support vectors",
    "track_test_error_pct": ERROR,
    "track_relative_gap": GAP,
}
TIME, MEMORY, STATUS = "CPU time", "memory of the fit", "status"
_MEMORY_FLOOR = 4e6  # bytes; less is how the allocator happened to be
_CONFIRMING_ROUNDS = 5
_CHANCE = 0.002  # of equal times looking that different
_WORSE, _BETTER = "worse", "better"
_WORKS, _FAILS, _GONE = "works", "fails", "gone"
_VERDICTS = {
    (_WORKS, _FAILS): ("fails", True),
    (_GONE, _FAILS): ("new, and fails", True),
    (_WORKS, _GONE): ("gone", True),
    (_FAILS, _GONE): ("gone", True),
    (_FAILS, _WORKS): ("works again", False),
    (_GONE, _WORKS): ("new", False),
}
"""State before and after -> what is said of it, and whether it is a regression."""
_HEADER = "| cell | metric | before | after | ratio | verdict |\n| --- | --- | ---: | ---: | ---: | --- |"

Timed = tuple[str, Cell]
"""What is compared with statistics: TIME or MEMORY of a cell."""


@dataclass(frozen=True)
class Thresholds:
    """What counts as changed.

    count : relative change of a count, 0.01 is 1 %; of a relative gap as well, which asv has as its logarithm. From
        zero, any increase.
    time : factor between the times
    memory : factor between the memory that the fit takes, beyond what the process held before
    """

    count: float = 0.01
    time: float = 1.3
    memory: float = 1.5


@dataclass(frozen=True)
class Change:
    """A figure of a cell that is not what it was.

    before, after : in asv's units (seconds, bytes, counts, decades of the gap above 1e-9); None for a status
    verdict : in words
    regression : whether it stops a pull request
    """

    cell: Cell
    metric: str
    before: float | None
    after: float | None
    verdict: str
    regression: bool
    reason: str = ""


@dataclass(frozen=True)
class Report:
    """What a check found; ``compared`` cells were there in both commits and worked."""

    base: str
    head: str
    thresholds: Thresholds
    changes: list[Change]
    compared: int

    @property
    def regressions(self) -> list[Change]:
        """The changes that stop a pull request."""
        return [change for change in self.changes if change.regression]


def check(
    bench: Bench,
    base: str,
    head: str,
    *,
    thresholds: Thresholds = Thresholds(),
    only: Sequence[str] = (),
    notify: Callable[[str], None] = lambda _: None,
) -> Report:
    """Measure two commits in turns and compare them; no number enters the history.

    base, head : full hashes
    only : patterns of solvers, data sets or ``solver:dataset``; empty: everything
    notify : called with what is being done, a line each

    Raises
    ------
    UsageError : a pattern that names nothing, or asv cannot measure.
    """
    cells = _selected(grid(bench.configuration), only)
    with tempfile.TemporaryDirectory(prefix="harness-check-") as name:
        first, second = (
            replace(bench, results=folder / "results", records=folder / "records")
            for folder in (Path(name) / "first", Path(name) / "second")
        )
        notify(f"measuring {base[:8]} and {head[:8]} in turns: {len(cells)} cells")
        benchmarks = [_pattern(cell, r"solvers\..*") for cell in cells]
        first.measure([head, base], benchmarks=benchmarks, cells=cells, interleaved=True)
        before, after = first.measured(base), first.measured(head)
        changes = [change for cell in cells for change in _certain(cell, before, after, thresholds)]
        works = [cell for cell in cells if _state(before, cell) == _state(after, cell) == _WORKS]
        timed = [(metric, cell) for cell in works for metric in (TIME, MEMORY)]
        suspects = [each for each in timed if _compared(each, before, after, thresholds)]
        if suspects:
            looks = ", ".join(f"{metric} of {solver} on {dataset}" for metric, (solver, dataset) in suspects)
            notify(f"measuring again what looks changed: {looks}")
            benchmarks = [
                _pattern(cell, re.escape(FIT) + ("time_fit" if metric == TIME else "peakmem_.*"))
                for metric, cell in suspects
            ]
            named = [cell for _, cell in suspects]
            second.measure(
                [head, base], benchmarks=benchmarks, cells=named, rounds=_CONFIRMING_ROUNDS, interleaved=True
            )
            changes += _confirmed(suspects, (before, after), (second.measured(base), second.measured(head)), thresholds)
    return Report(base, head, thresholds, sorted(changes, key=lambda change: cells.index(change.cell)), len(works))


def _selected(whole: Grid, only: Sequence[str]) -> list[Cell]:
    """Return the cells that the patterns name; all if there is no pattern."""
    found: list[Cell] = []
    for pattern in only:
        named = [
            cell for cell in whole.cells
            if any(name == pattern or fnmatch.fnmatchcase(name, pattern) for name in (*cell, ":".join(cell)))
        ]  # fmt: skip
        if not named:
            raise UsageError(
                f"--only: '{pattern}' names no cell; the solvers are {', '.join(whole.solvers)}, the data sets "
                f"{', '.join(whole.datasets)}; solver:dataset is one cell."
            )
        found += named
    return [cell for cell in whole.cells if cell in found or not only]


def _pattern(cell: Cell, benchmark: str) -> str:
    """Return a regular expression of asv's names of a cell: ``solvers.Fit.time_fit('fw', 'digits')``."""
    return rf"^{benchmark}\({', '.join(re.escape(repr(name)) for name in cell)}\)$"


# -- what is certain: status and counts -------------------------------------------------------------------


def _state(measured: Measured, cell: Cell) -> str:
    """Return `_WORKS`, `_FAILS` or `_GONE`."""
    status = measured.records[cell]["status"]
    return _WORKS if status == Status.OK else _GONE if status in NO_RUN else _FAILS


def _certain(cell: Cell, before: Measured, after: Measured, thresholds: Thresholds) -> list[Change]:
    """Return what changed in a cell's status, or, where it works in both commits, in its counts."""
    states = _state(before, cell), _state(after, cell)
    if states == (_WORKS, _WORKS):
        return _counts(cell, before, after, thresholds)
    if states not in _VERDICTS:
        return []
    verdict, regression = _VERDICTS[states]
    record = after.records[cell]
    reason = ": ".join(str(record[name]) for name in ("status", "reason") if record[name]) if regression else ""
    return [Change(cell, STATUS, None, None, verdict, regression, reason)]


def _counts(cell: Cell, before: Measured, after: Measured, thresholds: Thresholds) -> list[Change]:
    changes = []
    for benchmark, metric in COUNTS.items():
        old, new = (measured.values.get((RECORD + benchmark, cell)) for measured in (before, after))
        if old is None or new is None or math.isnan(old) or math.isnan(new):
            continue  # not observable, or not defined for this formulation
        if metric == GAP:  # log10: a ratio is a difference
            step = math.log10(1.0 + thresholds.count)
            worse, better = new - old > step, old - new > step
        else:
            worse, better = new > old * (1.0 + thresholds.count), new < old / (1.0 + thresholds.count)
        if worse or better:
            changes.append(Change(cell, metric, old, new, _WORSE if worse else _BETTER, worse))
    return changes


# -- what is not: time and memory -------------------------------------------------------------------------


def _figure(timed: Timed, measured: Measured) -> float | None:
    """Return the time, or the memory that the fit took; None if it could not be measured."""
    metric, cell = timed
    if metric == TIME:
        return measured.values.get((FIT + "time_fit", cell))
    fit, start = (measured.values.get((FIT + name, cell)) for name in ("peakmem_fit", "peakmem_baseline"))
    return None if fit is None or start is None else max(0.0, fit - start)


def _compared(timed: Timed, before: Measured, after: Measured, thresholds: Thresholds) -> str:
    """Return ``worse``, ``better``, ``fails`` or an empty string.

    A time is worse if its median and its minimum are, both by the factor, and a rank test says that the samples are
    different: other work on the machine moves medians, but hardly ever every one of a commit's samples.
    """
    old, new = _figure(timed, before), _figure(timed, after)
    if old is None or new is None or math.isnan(old) or math.isnan(new):
        return "fails" if old is not None and new is None else ""
    if timed[0] == MEMORY:
        worse = new > thresholds.memory * old + _MEMORY_FLOOR
        better = old > thresholds.memory * new + _MEMORY_FLOOR
    else:
        worse = _slower(timed[1], before, after, thresholds.time)
        better = _slower(timed[1], after, before, thresholds.time)
    return _WORSE if worse else _BETTER if better else ""


def _slower(cell: Cell, before: Measured, after: Measured, factor: float) -> bool:
    from scipy.stats import mannwhitneyu

    old, new = (measured.samples.get((FIT + "time_fit", cell), []) for measured in (before, after))
    if not (old and new) or median(new) <= factor * median(old) or min(new) <= factor * min(old):
        return False
    return bool(mannwhitneyu(old, new).pvalue < _CHANCE)


def _confirmed(
    suspects: Iterable[Timed],
    first: tuple[Measured, Measured],
    second: tuple[Measured, Measured],
    thresholds: Thresholds,
) -> list[Change]:
    """Return the suspects that look the same in both measurements, with the figures of the second."""
    changes = []
    for metric, cell in suspects:
        verdict = _compared((metric, cell), *second, thresholds)
        if verdict and verdict == _compared((metric, cell), *first, thresholds):
            reason = "no figure could be taken, see what asv says" if verdict == "fails" else ""
            old, new = (_figure((metric, cell), measured) for measured in second)
            changes.append(Change(cell, metric, old, new, verdict, verdict != _BETTER, reason))
    return changes


# -- the report -------------------------------------------------------------------------------------------


def markdown(report: Report) -> str:
    """Return the report: a line that says how many cells are worse, and a table of what changed, the worst first."""
    limits = report.thresholds
    changed = len(report.changes) - len(report.regressions)
    lines = [
        f"### Solvers: `{report.base[:8]}` to `{report.head[:8]}`",
        "",
        f"**Regressions: {len(report.regressions)}**, other changes: {changed}, cells compared: {report.compared}.",
    ]
    if report.changes:
        lines += ["", _HEADER, *map(_row, sorted(report.changes, key=lambda change: not change.regression))]
    meaning = (
        f"Counts are changed beyond {100.0 * limits.count:g} %, CPU times beyond a factor of {limits.time:g} in two "
        f"measurements that took turns, memory of a fit beyond a factor of {limits.memory:g}."
    )
    lines += ["", meaning]
    return "\n".join(lines) + "\n"


def _row(change: Change) -> str:
    verdict = f"**{change.verdict}**" if change.regression else change.verdict
    if change.reason:
        verdict += f": {' '.join(change.reason.split())}".replace("|", "\\|")
    before, after = (_text(change.metric, value) for value in (change.before, change.after))
    return f"| {' on '.join(change.cell)} | {change.metric} | {before} | {after} | {_ratio(change)} | {verdict} |"


def _text(metric: str, value: float | None) -> str:
    if value is None:
        return "-"
    if metric == TIME:
        return f"{value:.3g} s" if value >= 1.0 else f"{1e3 * value:.3g} ms"
    if metric == MEMORY:
        return f"{value / 1e6:.1f} MB"
    if metric == ERROR:
        return f"{value:.3g} %"
    return f"{LEAST_GAP * 10.0**value:.2g}" if metric == GAP else f"{value:,.0f}"


def _ratio(change: Change) -> str:
    if change.before is None or change.after is None:
        return "-"
    if change.metric == GAP:
        return f"{10.0 ** (change.after - change.before):.3g}"
    return f"{change.after / change.before:.3g}" if change.before else "-"
