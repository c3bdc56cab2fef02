"""What the rows say: medians and spreads, the runs that certify, ratios to ours, slopes, the published counts."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from harness import Status, StoppedBy
from reports.kit.measured import NOT_IN_TURNS, median, quotient
from reports.kit.results import located
from reports.peers.suite import FLOAT32, HERE, PEERS, SCALING, SETS, certifies

Row = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """One solver on one set: the median run, the spread, and what it left.

    seconds : median of the time that is compared, CPU for one thread and wall for more; None: it never finished
    low, high : the spread over repetitions
    bound : where the quality was not reached or the run was stopped, seconds that it takes at least, or None
    reached : the certificate of the first run, at the tolerance of this cell; None where there is none
    """

    label: str
    seconds: float | None
    low: float
    high: float
    runs: int
    bound: float | None
    tol: float | None
    wall: float | None
    row: Row


_Of = Callable[[str, str, int, str | None], Cell | None]


class Results:
    """The rows of a journal, looked at by set, solver and threads."""

    def __init__(self, rows: Iterable[Row]) -> None:
        everything = located(rows)
        self.rows = [row for row in everything if row["part"] != "header"]
        self.headers = [row for row in everything if row["part"] == "header"]

    @cached_property
    def ours(self) -> str:
        """The name of this project's solver: the first one measured."""
        return str(self._of("peers")[0]["label"]).partition("[")[0]

    @cached_property
    def threads(self) -> list[int]:
        """The numbers of threads measured."""
        return sorted({row["threads"] for row in self._of("peers")})

    @cached_property
    def sets(self) -> list[str]:
        """The sets with peers, in the suite's order."""
        found = {row["set"] for row in self._of("peers")}
        return [name for name in SETS if name in found]

    def peers(self, threads: int) -> list[str]:
        """Return the labels of the peers measured with ``threads`` threads."""
        found = {row["label"] for row in self._of("peers") if row["threads"] == threads}
        return [peer.label for peer in PEERS if peer.label in found]

    def _of(self, part: str) -> list[Row]:
        return [row for row in self.rows if row["part"] == part]

    def runs(self, name: str, label: str, threads: int, by: str | None = None) -> list[Row]:
        """Return the runs of one solver on one set, in the order they were made; ``by``: those of one command or commit."""
        wanted = (name, label, threads)
        return [
            row
            for row in self._of("peers")
            if (row["set"], row["label"], row["threads"]) == wanted and by in (None, row["measured_by"])
        ]

    def default(self, name: str, label: str, threads: int, by: str | None = None) -> Cell | None:
        """Return the solver at its default stopping, None if it was not measured."""
        return _cell(label, [row for row in self.runs(name, label, threads, by) if row["tol"] is None])

    def certified(self, name: str, label: str, threads: int, by: str | None = None) -> Cell | None:
        """Return the solver at the first tolerance that certifies; else its last run, as a bound."""
        runs = self.runs(name, label, threads, by)
        if not runs:
            return None
        if label == self.ours:  # a parameter of its own for the gap, where the default does not do
            exact = {row["label"] for row in self._of("peers") if row["label"].startswith(f"{self.ours}[")}
            runs = [row for each in sorted(exact) for row in self.runs(name, each, threads, by)] or runs
        by_tol: dict[float | None, list[Row]] = {}
        for row in runs:
            by_tol.setdefault(row["tol"], []).append(row)
        for tried in by_tol.values():
            first = tried[0]
            if first["status"] == Status.OK and certifies(first["kkt_violation"], first["relative_gap"]):
                return _cell(label, tried)
        last = list(by_tol.values())[-1]
        cell = _cell(label, last)
        assert cell is not None
        spent = cell.bound if cell.seconds is None else cell.seconds
        return Cell(label, None, cell.low, cell.high, cell.runs, spent, cell.tol, cell.wall, cell.row)

    def ratio(self, name: str, label: str, threads: int, *, quality: bool) -> tuple[float, bool] | None:
        """Return time(peer) / time(ours), both measured in turns, and True if that is only a lower bound.

        quality : both to the certified quality; else both at default stopping
        """
        of = self.certified if quality else self.default
        return self._over(name, label, threads, of, of)

    def headline(self, name: str, label: str, threads: int) -> tuple[float, bool] | None:
        """Return the ratio that the main table has: to the certified quality; oneDAL float32 at any quality."""
        if label == FLOAT32:
            return self.any_quality(name, label, threads)
        return self.ratio(name, label, threads, quality=True)

    def any_quality(self, name: str, label: str, threads: int) -> tuple[float, bool] | None:
        """Return time(peer at default stopping, whatever it reaches) / time(ours to the certified quality)."""
        return self._over(name, label, threads, self.certified, self.default)

    def remark(self, name: str, label: str, threads: int) -> str:
        """Return why there is no ratio of a peer that was measured; empty where it was not."""
        runs = self.runs(name, label, threads)
        if {row["measured_by"] for row in runs} - {row["measured_by"] for row in self.runs(name, self.ours, threads)}:
            return NOT_IN_TURNS
        return "stopped" if any(row["status"] != Status.OK for row in runs) else ""

    def _over(self, name: str, label: str, threads: int, mine_of: _Of, theirs_of: _Of) -> tuple[float, bool] | None:
        runs = self.runs(name, label, threads)
        if not runs:
            return None
        by = runs[-1]["measured_by"]  # ours was measured again in turns with a peer that joined later
        mine, theirs = mine_of(name, self.ours, threads, by), theirs_of(name, label, threads, by)
        if mine is None or theirs is None or mine.seconds is None:
            return None
        found = quotient(theirs.seconds or theirs.bound, mine.seconds).value
        return None if found is None else (found, theirs.seconds is None)

    def probe(self, part: str, name: str) -> list[Row]:
        """Return the finished runs of a probe on a set."""
        return [row for row in self._of(part) if row["set"] == name and row["status"] == Status.OK]

    def over_limit(self, name: str) -> float | None:
        """Return our certified one-thread time over the time that the needed kernel values take."""
        probes = self.probe("limits", name)
        mine = self.certified(name, self.ours, 1, probes[-1]["measured_by"]) if probes else None
        return None if mine is None else quotient(mine.seconds, probes[-1]["info"]["limit_seconds"]).value

    def scaling_points(self, family: str, label: str) -> list[tuple[int, float]]:
        """Return (n, CPU seconds at default stopping, one thread) of the subsets of ``family``, ascending."""
        selections = {SCALING[family][0].format(n=n) for n in SCALING[family][1]} | {family}
        found: dict[int, list[float]] = {}
        for row in self.rows:
            wanted = (row.get("selection") in selections, row["label"], row["threads"], row["tol"], row["status"])
            if wanted == (True, label, 1, None, Status.OK) and row["part"] in ("peers", "scaling"):
                found.setdefault(row["n"], []).append(row["cpu"])
        return [(n, median(times)) for n, times in sorted(found.items())]

    def summary(self) -> Any:
        """Return one row for each solver, set and number of threads, as a data frame."""
        import pandas as pd

        rows = []
        for threads in self.threads:
            for name in self.sets:
                for label in (self.ours, *self.peers(threads)):
                    for kind, cell in (
                        ("default", self.default(name, label, threads)),
                        ("certified", self.certified(name, label, threads)),
                    ):
                        if cell is not None:
                            rows.append(_flat(kind, name, threads, cell))
        return pd.DataFrame(rows)


def _flat(kind: str, name: str, threads: int, cell: Cell) -> Row:
    row = cell.row
    kept = ("n", "d", "C", "gamma", "status", "kkt_violation", "relative_gap", "support_vectors", "test_error")
    return {
        "kind": kind,
        "set": name,
        "threads": threads,
        "solver": cell.label,
        "tol": cell.tol,
        "seconds": cell.seconds,
        "at_least": cell.bound,
        "low": cell.low,
        "high": cell.high,
        "runs": cell.runs,
        "wall_seconds": cell.wall,
        **{each: row[each] for each in kept},
        "kernel_evaluations": row["kernel_evaluations"],
        "peak_mb": None if row["peak_rss_bytes"] is None else row["peak_rss_bytes"] / 2**20,
    }


def _cell(label: str, runs: list[Row]) -> Cell | None:
    if not runs:
        return None
    first = runs[0]
    which = "cpu" if first["threads"] == 1 else "seconds"
    done = [row for row in runs if row["status"] == Status.OK]
    times = [row[which] for row in done]
    if not times:
        spent = first[which] or (first.get("killed_cpu_seconds") if which == "cpu" else first["limit"])
        bound = spent if ran_out(first) else None  # the limit is wall time, and no bound of CPU seconds
        return Cell(label, None, math.nan, math.nan, len(runs), bound, first["tol"], None, first)
    wall = median(row["seconds"] for row in done)
    return Cell(label, median(times), min(times), max(times), len(times), None, first["tol"], wall, first)


def ran_out(row: Row) -> bool:
    """Return whether a run was ended by its time limit; an older row does not say what ended it, but how long it took."""
    if row.get("stopped_by") is None:
        return row["status"] == Status.TIMEOUT or (row.get("fit_seconds") or 0.0) >= row["limit"]
    return bool(row["stopped_by"] == StoppedBy.TIME)


def published_counts() -> dict[str, Row]:
    """Return LIBSVM's published kernel evaluations by set."""
    with (HERE / "libsvm_counts.csv").open() as file:
        lines = [line for line in file if not line.startswith("#")]
    return {row["set"]: row for row in csv.DictReader(lines)}
