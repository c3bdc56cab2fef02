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
from typing import TYPE_CHECKING

from harness import Status, UsageError
from harness_dashboard.history import COMMAND, FIT, RECORD
from harness_dashboard.measuring import Grid, Measured, grid
from harness_dashboard.records import NO_RUN, Cell

if TYPE_CHECKING:
    from harness_dashboard.measuring import Bench

COUNTS = {
    "track_kernel_evaluations": "kernel evaluations",
    "track_core_set_size": "core set",
    "track_support_vectors": "support vectors",
    "track_test_error_pct": "test error",
    "track_relative_gap": "relative gap",
}
TIME, MEMORY, STATUS = "CPU time", "memory of the fit", "status"
HELP, OVERHEAD = "CPU time of --help", "CPU time of a yield"
_COMMAND_CELL = ("harness", "")
_MEMORY_FLOOR = 4e6  # bytes; less is how the allocator happened to be
_CONFIRMING_ROUNDS = 5
_CHANCE = 0.002  # of equal times looking that different
_WORSE, _BETTER = "worse", "better"
_WORKS, _FAILS, _GONE = "works", "fails", "gone"


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
    keep: bool = False,
    tell: Callable[[str], None] = lambda _: None,
) -> Report:
    """Measure two commits in turns and compare them.

    base, head : full hashes
    only : patterns of solvers, data sets or ``solver:dataset``; ``harness`` is the command itself; empty: everything
    keep : the numbers enter the history (the whole grid only)
    tell : told what is being done, a line each

    Raises
    ------
    UsageError : a pattern that names nothing, or asv cannot measure.
    """
    cells, command = _selected(grid(bench.configuration), only)
    if keep and only:
        raise UsageError("--keep: a part of the grid is no entry of the history; leave --only or --keep out.")
    with tempfile.TemporaryDirectory(prefix="harness-check-") as name:
        first = bench if keep else _elsewhere(bench, Path(name) / "first")
        tell(f"measuring {base[:8]} and {head[:8]} in turns: {len(cells)} cells")
        whole = [] if not only else [*_patterns(cells), *([f"^{re.escape(COMMAND)}"] if command else [])]
        first.measure([head, base], benchmarks=whole, cells=cells, interleaved=True)
        before, after = first.measured(base), first.measured(head)
        changes = [change for cell in cells for change in _certain(cell, before, after, thresholds)]
        works = [cell for cell in cells if _state(before, cell) == _state(after, cell) == _WORKS]
        keys = _timed(works, command=command)
        suspects = [key for key in keys if _compared(key, before, after, thresholds)]
        if suspects:
            tell(f"measuring again what looks changed: {', '.join(_told(key) for key in suspects)}")
            second = _elsewhere(bench, Path(name) / "second")
            patterns = [pattern for key in suspects for pattern in _patterns_of(key)]
            named = [cell for _, cell in suspects if cell is not None]
            second.measure([head, base], benchmarks=patterns, cells=named, rounds=_CONFIRMING_ROUNDS, interleaved=True)
            changes += _confirmed(suspects, (before, after), (second.measured(base), second.measured(head)), thresholds)
    order = {cell: place for place, cell in enumerate([_COMMAND_CELL, *cells])}
    return Report(base, head, thresholds, sorted(changes, key=lambda change: order[change.cell]), len(works))


def _elsewhere(bench: Bench, folder: Path) -> Bench:
    return replace(bench, results=folder / "results", records=folder / "records")


# -- which cells ------------------------------------------------------------------------------------------


def _selected(whole: Grid, only: Sequence[str]) -> tuple[list[Cell], bool]:
    """Return the cells that the patterns name, and whether they name the command."""
    if not only:
        return whole.cells, True

    def named(pattern: str) -> list[Cell]:
        return [
            cell
            for cell in whole.cells
            if any(name == pattern or fnmatch.fnmatchcase(name, pattern) for name in (*cell, ":".join(cell)))
        ]

    found: list[Cell] = []
    for pattern in only:
        cells = named(pattern)
        if not cells and pattern != _COMMAND_CELL[0]:
            raise UsageError(
                f"--only: '{pattern}' names no cell; the solvers are {', '.join(whole.solvers)}, the data sets "
                f"{', '.join(whole.datasets)}; solver:dataset is one cell, harness the command itself."
            )
        found += cells
    return [cell for cell in whole.cells if cell in found], _COMMAND_CELL[0] in only


def _patterns(cells: Iterable[Cell], benchmark: str = r"solvers\..*") -> list[str]:
    """Return regular expressions of asv's names of these cells: ``solvers.Fit.time_fit('fw', 'digits')``."""
    return [rf"^{benchmark}\({re.escape(repr(solver))}, {re.escape(repr(dataset))}\)$" for solver, dataset in cells]


Key = tuple[str, Cell | None]
"""What is compared with statistics: TIME or MEMORY of a cell, HELP or OVERHEAD."""


def _timed(cells: Iterable[Cell], *, command: bool) -> list[Key]:
    own: list[Key] = [(HELP, None), (OVERHEAD, None)] if command else []
    return [*own, *((metric, cell) for cell in cells for metric in (TIME, MEMORY))]


def _patterns_of(key: Key) -> list[str]:
    metric, cell = key
    if cell is None:
        return [rf"^{re.escape(COMMAND)}{'time_help' if metric == HELP else 'track_harness_overhead'}$"]
    return _patterns([cell], re.escape(FIT) + ("time_fit" if metric == TIME else "peakmem_.*"))


def _told(key: Key) -> str:
    metric, cell = key
    return metric if cell is None else f"{metric} of {cell[0]} on {cell[1]}"


# -- what is certain: status and counts -------------------------------------------------------------------


def _state(measured: Measured, cell: Cell) -> str:
    """Return `_WORKS`, `_FAILS` or `_GONE`."""
    status = measured.records[cell]["status"]
    return _WORKS if status == Status.OK else _GONE if status in NO_RUN else _FAILS


def _reason(measured: Measured, cell: Cell) -> str:
    record = measured.records[cell]
    return f"{record['status']}: {record['reason']}" if record["reason"] else str(record["status"])


def _certain(cell: Cell, before: Measured, after: Measured, thresholds: Thresholds) -> list[Change]:
    """Return what changed in a cell's status, or, where it works in both commits, in its counts."""
    was, now = _state(before, cell), _state(after, cell)
    if was == now == _WORKS:
        return _counts(cell, before, after, thresholds)
    verdicts = {
        (_WORKS, _FAILS): ("fails", True),
        (_GONE, _FAILS): ("new, and fails", True),
        (_WORKS, _GONE): ("gone", True),
        (_FAILS, _GONE): ("gone", True),
        (_FAILS, _WORKS): ("works again", False),
        (_GONE, _WORKS): ("new", False),
    }
    if (was, now) not in verdicts:
        return []
    verdict, regression = verdicts[was, now]
    reason = _reason(after, cell) if regression else ""
    return [Change(cell, STATUS, None, None, verdict, regression, reason)]


def _counts(cell: Cell, before: Measured, after: Measured, thresholds: Thresholds) -> list[Change]:
    changes = []
    for benchmark, metric in COUNTS.items():
        old, new = (measured.values.get((RECORD + benchmark, cell)) for measured in (before, after))
        if old is None or new is None or math.isnan(old) or math.isnan(new):
            continue  # not observable, or not defined for this formulation
        if benchmark == "track_relative_gap":  # log10: a ratio is a difference
            step = math.log10(1.0 + thresholds.count)
            worse, better = new - old > step, old - new > step
        else:
            worse, better = new > old * (1.0 + thresholds.count), new < old / (1.0 + thresholds.count)
        if worse or better:
            changes.append(Change(cell, metric, old, new, _WORSE if worse else _BETTER, worse))
    return changes


# -- what is not: time and memory -------------------------------------------------------------------------


def _figure(key: Key, measured: Measured) -> float | None:
    """Return the figure of a key; None if it could not be measured."""
    metric, cell = key
    if metric == MEMORY:
        fit, start = (measured.values.get((FIT + name, cell)) for name in ("peakmem_fit", "peakmem_baseline"))
        return None if fit is None or start is None else max(0.0, fit - start)
    return measured.values.get((_benchmark(metric), cell))


def _benchmark(metric: str) -> str:
    return {TIME: FIT + "time_fit", HELP: COMMAND + "time_help", OVERHEAD: COMMAND + "track_harness_overhead"}[metric]


def _compared(key: Key, before: Measured, after: Measured, thresholds: Thresholds) -> str:
    """Return ``worse``, ``better``, ``fails`` or an empty string.

    A time is worse if its median and its minimum are, both by the factor, and a rank test says that the samples are
    different: other work on the machine moves medians, but hardly ever every one of a commit's samples.
    """
    old, new = _figure(key, before), _figure(key, after)
    if old is None or new is None or math.isnan(old) or math.isnan(new):
        return "fails" if old is not None and new is None else ""
    if key[0] == MEMORY:
        worse = new > thresholds.memory * old + _MEMORY_FLOOR
        better = old > thresholds.memory * new + _MEMORY_FLOOR
        return _WORSE if worse else _BETTER if better else ""
    # of a yield there is one value, no samples that could be tested: it has to differ by more
    factor = thresholds.time**2 if key[0] == OVERHEAD else thresholds.time
    if _slower(key, before, after, factor):
        return _WORSE
    return _BETTER if _slower(key, after, before, factor) else ""


def _slower(key: Key, before: Measured, after: Measured, factor: float) -> bool:
    from scipy.stats import mannwhitneyu

    old, new = _figure(key, before), _figure(key, after)
    if old is None or new is None or new <= factor * old:
        return False
    name = (_benchmark(key[0]), key[1])
    if name not in before.samples or name not in after.samples:
        return True  # one value only, the least of several repetitions
    fastest, fastest_after = min(before.samples[name]), min(after.samples[name])
    if fastest_after <= factor * fastest:
        return False
    return bool(mannwhitneyu(before.samples[name], after.samples[name]).pvalue < _CHANCE)


def _confirmed(
    suspects: Iterable[Key], first: tuple[Measured, Measured], second: tuple[Measured, Measured], thresholds: Thresholds
) -> list[Change]:
    """Return the suspects that look the same in both measurements, with the figures of the second."""
    changes = []
    for key in suspects:
        verdict = _compared(key, *second, thresholds)
        if verdict and verdict == _compared(key, *first, thresholds):
            regression = verdict != _BETTER
            reason = "no time could be taken, see --verbose" if verdict == "fails" else ""
            old, new = (_figure(key, measured) for measured in second)
            changes.append(Change(key[1] or _COMMAND_CELL, key[0], old, new, verdict, regression, reason))
    return changes
