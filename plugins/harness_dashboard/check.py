"""Compare two commits: status and counts by one measurement, times and memory by two if they differ in the first.

Counts are equal in all runs of a commit on a machine, so a change beyond the threshold is real. CPU times and memory are compared
by a rank test over the runs. If they differ, both commits are measured again in turns, and a change is reported only if both
measurements agree. Wall time is compared by the seconds in which a run waited, which do not depend on the load of the machine.
"""

from __future__ import annotations

import fnmatch
import math
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from harness import Record, Status, UsageError
from harness.report.timing import times
from harness_dashboard.history import digits
from harness_dashboard.measuring import Runs, grid
from harness_dashboard.records import NO_RUN, Cell

if TYPE_CHECKING:
    from harness_dashboard.measuring import Bench

# counts of a cell -> their function of its first run
COUNTS: dict[str, Callable[[Any], float | None]] = {
    "kernel evaluations": lambda run: run.get("kernel_evaluations"),
    "core set": lambda run: run.get("core_set_size"),
    "support vectors": lambda run: run.get("support_vectors"),
    "test error": lambda run: _error(run.get("test_accuracy")),
    "digits": lambda run: digits(run.get("relative_gap")),
}
CPU, WALL, MEMORY, STATUS = "CPU time", "wall time", "peak memory", "status"
# figures that differ from run to run -> field of the runs
TIMED = {CPU: "cpu_seconds", WALL: "fit_seconds", MEMORY: "peak_rss_bytes"}
_LEAST_MEMORY = 4e6  # [bytes] smaller changes are noise of the allocator
_LEAST_WAIT = 0.02  # [s] shorter waits are noise of a disk
_TURNS = 2  # number of measurements of each commit that confirm a change
_SIGNIFICANCE = 0.01  # probability that equal times differ as much in one measurement
_WORSE, _BETTER = "worse", "better"
_WORKS, _FAILS, _GONE = "works", "fails", "gone"
# figures of the quality of a model -> difference of a better model: per cent of the test points, digits of the gap
_MODEL = {"test error": 1.0, "digits": 1.0}
_COSTS = (*TIMED, "kernel evaluations", "core set", "support vectors")
_ORDER = (STATUS, *_MODEL, *_COSTS)  # order of the figures of a cell
# state before and after -> verdict, and whether it is a regression
_VERDICTS = {
    (_WORKS, _FAILS): ("fails", True),
    (_GONE, _FAILS): ("new, and fails", True),
    (_WORKS, _GONE): ("gone", True),
    (_FAILS, _GONE): ("gone", True),
    (_FAILS, _WORKS): ("works again", False),
    (_GONE, _WORKS): ("new", False),
}
_HEADER = "| cell | metric | before | after | ratio | verdict |\n| --- | --- | ---: | ---: | ---: | --- |"

Timed = tuple[str, Cell]  # a name of `TIMED` and a cell


def _error(accuracy: float | None) -> float | None:
    return None if accuracy is None else round(100.0 * (1.0 - accuracy), 10)


@dataclass(frozen=True)
class Thresholds:
    """Thresholds beyond which a figure counts as changed.

    count : relative change of a count or a relative gap; any increase from 0 counts
    time : factor between the times
    memory : factor between the peaks of memory of a run's process
    """

    count: float = 0.01
    time: float = 1.3
    memory: float = 1.1


@dataclass(frozen=True)
class Change:
    """A change of a figure of a cell.

    before, after : seconds, bytes, counts, per cent, or digits of the gap; None for a status
    verdict : description of the change
    regression : whether the change makes the check fail
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
    """The result of a check; ``compared`` is the number of cells that work in both commits."""

    base: str
    head: str
    thresholds: Thresholds
    changes: list[Change]
    compared: int

    @property
    def regressions(self) -> list[Change]:
        """The changes that make the check fail."""
        return [change for change in self.changes if change.regression]


def check(
    bench: Bench, base: str, head: str, *, thresholds: Thresholds = Thresholds(), only: Sequence[str] = (),
    notify: Callable[[str], None] = lambda _: None,
) -> Report:  # fmt: skip
    """Measure two commits in turns and compare them; the results do not enter the history.

    base, head : full hashes
    only : patterns of solvers, data sets or ``solver:dataset``; empty: all cells
    notify : function that receives lines about the progress

    Raises
    ------
    UsageError : a pattern matches no cell, or asv cannot measure.
    """
    cells = _selected(grid(bench.configuration), only)
    notify(f"measuring {base[:8]} and {head[:8]} in turns, {len(cells)} cells; cells that differ are measured again")
    before, after = _measured(bench, (base, head), cells)
    changes = _changes(bench, (base, head), cells, (before, after), (thresholds, thresholds), notify)
    return Report(base, head, thresholds, changes, len(_working(cells, before, after)))


def check_history(bench: Bench, base: str, head: str, notify: Callable[[str], None] = lambda _: None) -> Report:
    """Compare two measured commits of the history; cells that differ are measured again in turns.

    As the commits were measured at different times, under different loads, a smaller factor suffices to measure a time again.
    """
    thresholds = Thresholds()
    before, after = bench.measured(base), bench.measured(head)
    cells = [cell for cell in grid(bench.configuration) if cell in before and cell in after]
    limits = (replace(thresholds, time=thresholds.time**0.5), thresholds)
    changes = _changes(bench, (base, head), cells, (before, after), limits, notify)
    return Report(base, head, thresholds, changes, len(_working(cells, before, after)))


def _measured(bench: Bench, commits: tuple[str, str], cells: Sequence[Cell], turns: int = 1) -> tuple[Runs, Runs]:
    """Measure the commits in turns and return all runs of each; they do not enter the history."""
    measured: tuple[Runs, Runs] = ({cell: [] for cell in cells}, {cell: [] for cell in cells})
    with tempfile.TemporaryDirectory(prefix="harness-check-") as name:
        temporary = replace(bench, results=Path(name, "results"), records=Path(name, "records"))
        for place in (1, 0) * turns:
            temporary.measure(commits[place], cells=cells)
            for cell, runs in temporary.measured(commits[place]).items():
                measured[place][cell] += runs
    return measured


def _working(cells: Iterable[Cell], before: Runs, after: Runs) -> list[Cell]:
    return [cell for cell in cells if _state(before[cell]) == _state(after[cell]) == _WORKS]


def _changes(
    bench: Bench, commits: tuple[str, str], cells: Sequence[Cell], measured: tuple[Runs, Runs],
    limits: tuple[Thresholds, Thresholds], notify: Callable[[str], None],
) -> list[Change]:  # fmt: skip
    """Return the changes; ``limits`` are the thresholds of the first measurement and of the second, which confirms it."""
    changes = [change for cell in cells for change in _certain(cell, *measured, limits[1])]
    timed = [(metric, cell) for cell in _working(cells, *measured) for metric in TIMED]
    suspects = {figure: verdict for figure in timed if (verdict := _compared(figure, *measured, limits[0]))}
    if suspects:
        figures = ", ".join(f"{metric} of {solver} on {dataset}" for metric, (solver, dataset) in suspects)
        notify(f"measuring again, as they differ: {figures}")
        again = _measured(bench, commits, list(dict.fromkeys(cell for _, cell in suspects)), _TURNS)
        for (metric, cell), verdict in suspects.items():
            if verdict == _compared((metric, cell), *again, limits[1]):
                old, new = (median(_samples((metric, cell), runs)) for runs in again)
                changes.append(Change(cell, metric, old, new, verdict, verdict == _WORSE))
    return _with_models(sorted(changes, key=lambda change: (cells.index(change.cell), _ORDER.index(change.metric))))


def _with_models(changes: Sequence[Change]) -> list[Change]:
    """Return the changes, with the model's quality in the verdicts on costs: higher costs of a better model are no regression."""
    result = []
    for change in changes:
        models = [other for other in changes if other.cell == change.cell and other.metric in _MODEL]
        worse = any(model.regression for model in models)
        better = not worse and any(abs(_difference(model)) >= _MODEL[model.metric] for model in models)
        if change.metric in _COSTS and change.verdict == _WORSE and better:
            change = replace(change, verdict="worse, with a better model", regression=False)
        elif change.metric in _COSTS and change.verdict == _BETTER and worse:
            change = replace(change, verdict="better, with a worse model")
        result.append(change)
    return result


def _selected(cells: list[Cell], only: Sequence[str]) -> list[Cell]:
    """Return the cells that match a pattern; all if there is no pattern."""
    selected: list[Cell] = []
    for pattern in only:
        names = {cell: (*cell, ":".join(cell)) for cell in cells}
        matches = [cell for cell in cells if pattern in names[cell] or fnmatch.filter(names[cell], pattern)]
        if not matches:
            solvers, datasets = (", ".join(dict.fromkeys(names)) for names in zip(*cells, strict=True))
            raise UsageError(
                f"--only: '{pattern}' names no cell; the solvers are {solvers}, the data sets {datasets}; solver:dataset is "
                "one cell."
            )
        selected += matches
    return [cell for cell in cells if cell in selected or not only]


# -- certain changes: status and counts -------------------------------------------------------------------


def _state(runs: list[Record]) -> str:
    """Return `_WORKS`, `_FAILS` or `_GONE`."""
    status = _worst(runs)["status"]
    return _WORKS if status == Status.OK else _GONE if status in NO_RUN else _FAILS


def _worst(runs: list[Record]) -> Record:
    """Return the first run that is not ok, or the first run."""
    return next((run for run in runs if run["status"] != Status.OK), runs[0])


def _certain(cell: Cell, before: Runs, after: Runs, thresholds: Thresholds) -> list[Change]:
    """Return the change of a cell's status, or the changes of its counts if it works in both commits."""
    states = _state(before[cell]), _state(after[cell])
    if states == (_WORKS, _WORKS):
        return _counts(cell, before, after, thresholds)
    if states not in _VERDICTS:
        return []
    verdict, regression = _VERDICTS[states]
    reason = ": ".join(str(_worst(after[cell])[name] or "") for name in ("status", "reason")) if regression else ""
    return [Change(cell, STATUS, None, None, verdict, regression, reason)]


def _counts(cell: Cell, before: Runs, after: Runs, thresholds: Thresholds) -> list[Change]:
    changes = []
    for metric, read in COUNTS.items():
        old, new = (read(runs[cell][0]) for runs in (before, after))
        if old is None or new is None:
            continue  # not observable, or not defined for this formulation
        if metric == "digits":  # a ratio of gaps is a difference of digits
            step = math.log10(1.0 + thresholds.count)
            worse, better = old - new > step, new - old > step
        else:
            worse, better = new > old * (1.0 + thresholds.count), new < old / (1.0 + thresholds.count)
        if worse or better:
            changes.append(Change(cell, metric, old, new, _WORSE if worse else _BETTER, worse))
    return changes


# -- uncertain changes: time and memory -------------------------------------------------------------------


def _samples(timed: Timed, measured: Runs) -> list[float]:
    """Return the figure of each run that has one; times are those of later fits if a run has them."""
    metric, cell = timed
    return times(measured[cell], TIMED[metric])


def _compared(timed: Timed, before: Runs, after: Runs, thresholds: Thresholds) -> str:
    """Return ``worse``, ``better`` or an empty string."""
    metric, cell = timed
    old, new = _samples(timed, before), _samples(timed, after)
    if not (old and new):
        return ""
    if metric == WALL:
        worse, better = (_waits(cell, *each, thresholds.time) for each in ((before, after), (after, before)))
    else:
        limits = (thresholds.time, 0.0) if metric == CPU else (thresholds.memory, _LEAST_MEMORY)
        worse, better = _more(old, new, *limits), _more(new, old, *limits)
    return _WORSE if worse else _BETTER if better else ""


def _more(old: list[float], new: list[float], factor: float, least: float) -> bool:
    """Return whether the median and the minimum increased by the factor, and a rank test is significant.

    Other work on the machine changes medians, but seldom all samples of a commit.
    """
    from scipy.stats import mannwhitneyu

    if any(of(new) <= max(factor * of(old), of(old) + least) for of in (median, min)):
        return False
    return bool(mannwhitneyu(old, new, method="exact").pvalue < _SIGNIFICANCE)


def _waits(cell: Cell, before: Runs, after: Runs, factor: float) -> bool:
    """Return whether every run after waited longer than every run before, by a fraction of the median wall time."""
    old, new = ([_waited(run) for run in measured[cell]] for measured in (before, after))
    wall = median(_samples((WALL, cell), before))
    return min(new) > max(old) + max(_LEAST_WAIT, (factor - 1.0) * wall)


def _waited(run: Any) -> float:
    """Return the seconds in which a run neither computed nor waited for a core; for older commits an upper bound."""
    if (waited := run.get("waited_seconds")) is not None:
        return float(waited)
    return max(0.0, (run.get("fit_seconds") or 0.0) - (run.get("cpu_seconds") or 0.0))


# -- the report -------------------------------------------------------------------------------------------


def markdown(report: Report) -> str:
    """Return the report: the number of regressions, and a table of the changes, cells with regressions first."""
    limits = report.thresholds
    changed = len(report.changes) - len(report.regressions)
    lines = [
        f"### Solvers: `{report.base[:8]}` to `{report.head[:8]}`",
        "",
        f"**Regressions: {len(report.regressions)}**, other changes: {changed}, cells compared: {report.compared}.",
    ]
    if report.changes:
        worse = {change.cell for change in report.regressions}
        lines += ["", _HEADER, *map(_row, sorted(report.changes, key=lambda change: change.cell not in worse))]
    lines.append(
        f"\nThresholds: {100.0 * limits.count:g} % for counts, a factor of {limits.time:g} for times and "
        f"{limits.memory:g} for peak memory, both in two measurements in turns."
    )
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
    if metric in (CPU, WALL):
        return f"{value:.3g} s" if value >= 1.0 else f"{1e3 * value:.3g} ms"
    if metric == MEMORY:
        return f"{value / 1e6:.1f} MB"
    if metric == "test error":
        return f"{value:.3g} %"
    return f"{value:.1f} digits" if metric == "digits" else f"{value:,.0f}"


def _difference(change: Change) -> float:
    return (change.after or 0.0) - (change.before or 0.0)


def _ratio(change: Change) -> str:
    if change.before is None or change.after is None:
        return "-"
    if change.metric == "digits":
        return f"{_difference(change):+.1f}"
    return f"{change.after / change.before:.3g}" if change.before else "-"
