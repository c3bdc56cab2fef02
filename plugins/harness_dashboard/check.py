"""Which of two commits is worse: counts and status are compared at once, times and memory when they look changed twice.

Counts are the same in every run of one commit on one machine, so any change beyond the threshold is real. Times are
not: CPU time is compared by ranks of the runs, and what looks changed is measured again, the two commits in turns, and
believed only when it looks the same the second time. Wall time is compared by the seconds in which a run waited, which other
work on the machine does not change.
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

COUNTS: dict[str, Callable[[Any], float | None]] = {
    "kernel evaluations": lambda run: run.get("kernel_evaluations"),
    "core set": lambda run: run.get("core_set_size"),
    "support vectors": lambda run: run.get("support_vectors"),
    "test error": lambda run: _error(run.get("test_accuracy")),
    "digits": lambda run: digits(run.get("relative_gap")),
}
"""What the certified run of a cell counts."""
CPU, WALL, MEMORY, STATUS = "CPU time", "wall time", "peak memory", "status"
TIMED = {CPU: "cpu_seconds", WALL: "fit_seconds", MEMORY: "peak_rss_bytes"}
"""What differs from run to run, and the field of the runs."""
_LEAST_MEMORY = 4e6  # [bytes] a smaller change is noise of the allocator
_LEAST_WAIT = 0.02  # [s] a shorter wait is noise of a disk
_TURNS = 2  # number of measurements of each commit that confirm a suspicion
_CHANCE = 0.01  # probability that equal times look that different in one measurement
_WORSE, _BETTER = "worse", "better"
_WORKS, _FAILS, _GONE = "works", "fails", "gone"
_MODEL = {"test error": 1.0, "digits": 1.0}
"""What says how good a model is, and by how much a better one differs: per cent of the test points, digits of the gap."""
_COSTS = (*TIMED, "kernel evaluations", "core set", "support vectors")
_ORDER = (STATUS, *_MODEL, *_COSTS)  # of the figures of a cell
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
"""A name of `TIMED` and a cell."""


def _error(accuracy: float | None) -> float | None:
    return None if accuracy is None else round(100.0 * (1.0 - accuracy), 10)


@dataclass(frozen=True)
class Thresholds:
    """What counts as changed.

    count : relative change of a count, 0.01 is 1 %, of a relative gap as well. From zero, any increase.
    time : factor between the times
    memory : factor between the peaks of memory of a run's process
    """

    count: float = 0.01
    time: float = 1.3
    memory: float = 1.1


@dataclass(frozen=True)
class Change:
    """A figure of a cell that changed.

    before, after : seconds, bytes, counts, per cent, or digits of the gap; None for a status
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
    """The result of a check; ``compared`` cells were there in both commits and worked."""

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
    bench: Bench, base: str, head: str, *, thresholds: Thresholds = Thresholds(), only: Sequence[str] = (),
    notify: Callable[[str], None] = lambda _: None,
) -> Report:  # fmt: skip
    """Measure two commits in turns and compare them; no number enters the history.

    base, head : full hashes
    only : patterns of solvers, data sets or ``solver:dataset``; empty: everything
    notify : called with what is being done, a line each

    Raises
    ------
    UsageError : a pattern that names nothing, or asv cannot measure.
    """
    cells = _selected(grid(bench.configuration), only)
    notify(f"measuring {base[:8]} and {head[:8]} in turns, {len(cells)} cells; what looks changed is measured again")
    before, after = _measured(bench, (base, head), cells)
    changes = _changes(bench, (base, head), cells, (before, after), (thresholds, thresholds), notify)
    return Report(base, head, thresholds, changes, len(_working(cells, before, after)))


def judge(bench: Bench, base: str, head: str, notify: Callable[[str], None] = lambda _: None) -> Report:
    """Report what changed from one commit of the history to another; what looks changed is measured again, in turns.

    The two were measured at different times, maybe beside other work: a smaller factor is enough to look changed.
    """
    usual = Thresholds()
    before, after = bench.measured(base), bench.measured(head)
    cells = [cell for cell in grid(bench.configuration) if cell in before and cell in after]
    limits = (replace(usual, time=usual.time**0.5), usual)
    changes = _changes(bench, (base, head), cells, (before, after), limits, notify)
    return Report(base, head, usual, changes, len(_working(cells, before, after)))


def _measured(bench: Bench, commits: tuple[str, str], cells: Sequence[Cell], turns: int = 1) -> tuple[Runs, Runs]:
    """Measure the commits in turns and return all runs of each; they do not enter the history."""
    found: tuple[Runs, Runs] = ({cell: [] for cell in cells}, {cell: [] for cell in cells})
    with tempfile.TemporaryDirectory(prefix="harness-check-") as name:
        elsewhere = replace(bench, results=Path(name, "results"), records=Path(name, "records"))
        for place in (1, 0) * turns:
            elsewhere.measure(commits[place], cells=cells)
            for cell, runs in elsewhere.measured(commits[place]).items():
                found[place][cell] += runs
    return found


def _working(cells: Iterable[Cell], before: Runs, after: Runs) -> list[Cell]:
    return [cell for cell in cells if _state(before[cell]) == _state(after[cell]) == _WORKS]


def _changes(
    bench: Bench, commits: tuple[str, str], cells: Sequence[Cell], measured: tuple[Runs, Runs],
    limits: tuple[Thresholds, Thresholds], notify: Callable[[str], None],
) -> list[Change]:  # fmt: skip
    """Return what changed; ``limits`` of the first measurement and of the second, which confirms it."""
    changes = [change for cell in cells for change in _certain(cell, *measured, limits[1])]
    timed = [(metric, cell) for cell in _working(cells, *measured) for metric in TIMED]
    suspects = {each: verdict for each in timed if (verdict := _compared(each, *measured, limits[0]))}
    if suspects:
        looks = ", ".join(f"{metric} of {solver} on {dataset}" for metric, (solver, dataset) in suspects)
        notify(f"measuring again what looks changed: {looks}")
        again = _measured(bench, commits, list(dict.fromkeys(cell for _, cell in suspects)), _TURNS)
        for (metric, cell), verdict in suspects.items():
            if verdict == _compared((metric, cell), *again, limits[1]):
                old, new = (median(_samples((metric, cell), runs)) for runs in again)
                changes.append(Change(cell, metric, old, new, verdict, verdict == _WORSE))
    return _with_models(sorted(changes, key=lambda change: (cells.index(change.cell), _ORDER.index(change.metric))))


def _with_models(changes: Sequence[Change]) -> list[Change]:
    """Return the changes; a cost that rose for a better model is no regression, and one that fell for a worse one says so."""
    found = []
    for change in changes:
        models = [each for each in changes if each.cell == change.cell and each.metric in _MODEL]
        worse = any(each.regression for each in models)
        better = not worse and any(abs(_difference(each)) >= _MODEL[each.metric] for each in models)
        if change.metric in _COSTS and change.verdict == _WORSE and better:
            change = replace(change, verdict="worse, with a better model", regression=False)
        elif change.metric in _COSTS and change.verdict == _BETTER and worse:
            change = replace(change, verdict="better, with a worse model")
        found.append(change)
    return found


def _selected(whole: list[Cell], only: Sequence[str]) -> list[Cell]:
    """Return the cells that the patterns name; all if there is no pattern."""
    selected: list[Cell] = []
    for pattern in only:
        names = {cell: (*cell, ":".join(cell)) for cell in whole}
        named = [cell for cell in whole if pattern in names[cell] or fnmatch.filter(names[cell], pattern)]
        if not named:
            solvers, datasets = (", ".join(dict.fromkeys(names)) for names in zip(*whole, strict=True))
            raise UsageError(
                f"--only: '{pattern}' names no cell; the solvers are {solvers}, the data sets {datasets}; solver:dataset is "
                "one cell."
            )
        selected += named
    return [cell for cell in whole if cell in selected or not only]


# -- what is certain: status and counts -------------------------------------------------------------------


def _state(runs: list[Record]) -> str:
    """Return `_WORKS`, `_FAILS` or `_GONE`."""
    status = _worst(runs)["status"]
    return _WORKS if status == Status.OK else _GONE if status in NO_RUN else _FAILS


def _worst(runs: list[Record]) -> Record:
    """Return the first run that is not well, or the first one."""
    return next((run for run in runs if run["status"] != Status.OK), runs[0])


def _certain(cell: Cell, before: Runs, after: Runs, thresholds: Thresholds) -> list[Change]:
    """Return what changed in a cell's status, or, where it works in both commits, in its counts."""
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
        if metric == "digits":  # a logarithm: a ratio is a difference
            step = math.log10(1.0 + thresholds.count)
            worse, better = old - new > step, new - old > step
        else:
            worse, better = new > old * (1.0 + thresholds.count), new < old / (1.0 + thresholds.count)
        if worse or better:
            changes.append(Change(cell, metric, old, new, _WORSE if worse else _BETTER, worse))
    return changes


# -- what is not: time and memory -------------------------------------------------------------------------


def _samples(timed: Timed, measured: Runs) -> list[float]:
    """Return the figure of each run that has one; times are those of later fits where a run has them."""
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
    """Return whether the median and the minimum are more by the factor, and a rank test says that the samples differ.

    Other work on the machine moves medians, but hardly ever every one of a commit's samples.
    """
    from scipy.stats import mannwhitneyu

    if any(of(new) <= max(factor * of(old), of(old) + least) for of in (median, min)):
        return False
    return bool(mannwhitneyu(old, new, method="exact").pvalue < _CHANCE)


def _waits(cell: Cell, before: Runs, after: Runs, factor: float) -> bool:
    """Return whether each run waited longer than every one of the other commit, by a part of the whole time."""
    old, new = ([_waited(run) for run in measured[cell]] for measured in (before, after))
    usual = median(_samples((WALL, cell), before))
    return min(new) > max(old) + max(_LEAST_WAIT, (factor - 1.0) * usual)


def _waited(run: Any) -> float:
    """Return the seconds in which a run neither computed nor stood behind other work, which older commits cannot tell."""
    if (waited := run.get("waited_seconds")) is not None:
        return float(waited)
    return max(0.0, (run.get("fit_seconds") or 0.0) - (run.get("cpu_seconds") or 0.0))


# -- the report -------------------------------------------------------------------------------------------


def markdown(report: Report) -> str:
    """Return the report: a line that says how many cells are worse, and a table of what changed, the cells with regressions first."""
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
        f"\nCounts are changed beyond {100.0 * limits.count:g} %, times beyond a factor of {limits.time:g} in two "
        f"measurements that took turns, peak memory beyond a factor of {limits.memory:g}."
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
