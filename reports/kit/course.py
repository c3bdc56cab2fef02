"""How far a study is: runs done, elapsed, about how long the others take; a bar on a terminal, a line a run elsewhere."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from time import monotonic
from typing import Any, Self

from harness.plain import plain, plain_line
from harness.report.output import say
from reports.kit.grids import Grid, Options, Part
from reports.kit.journal import Row

Run = tuple[str, str, str, int, float]
"""Set, solver, data set, seed, cache: see :attr:`reports.kit.grids.Grid.runs`."""


def earlier(rows: Iterable[Row], clock: str = "seconds") -> dict[Run, float]:
    """Return the seconds inside the solver of each run that was measured; of one that was stopped none are known.

    clock : ``seconds`` of the wall, or ``cpu``
    """
    found: dict[Run, float] = {}
    for row in rows:
        if row.get(clock) is not None and "cache_mb" in row:
            found[row["set"], row["solver"], row["dataset"], row["seed"], row["cache_mb"]] = row[clock]
    return found


def runs_of(parts: Mapping[str, Part], names: Iterable[str], options: Options) -> list[Run]:
    """Return the runs that these parts ask for, each once."""
    return list(dict.fromkeys(run for name in names for grid in parts[name](options) for run in grid.runs))


class Course:
    """Counts runs, and says a line for each.

    runs : those that are asked for
    known : wall seconds inside the solver of runs that were measured before, here or by whoever filled the repository
    clock : seconds of a clock
    """

    def __init__(self, runs: Iterable[Run], known: Mapping[Run, float], clock: Any = monotonic) -> None:
        self.left = Counter(runs)
        self.known, self.clock = known, clock
        self.total, self.done, self.failures, self.reused = self.left.total(), 0, 0, 0
        self.began = self.last = clock()
        self._took: list[tuple[Run, float]] = []  # what was measured here, with all that is around a run

    def finished(self, row: Row, *, reused: bool, failed: bool, text: str) -> None:
        """Learn of a run that ended; ``text`` tells of it."""
        run = (row["set"], row["solver"], row["dataset"], row["seed"], row["cache_mb"])
        now = self.clock()
        if self.left[run] > 0:
            self.left[run] -= 1
        else:
            self.total += 1  # a solver of several formulations
        self.reused += reused
        if not reused:
            self._took.append((run, now - self.last))
        self.last, self.done, self.failures = now, self.done + 1, self.failures + failed
        self.show(text, failed=failed and not reused)

    def skipped(self, grid: Grid, keys: Iterable[Run] = ()) -> None:
        """Learn that a grid is through: what it left is not run."""
        for run in keys or grid.runs:
            self.total -= self.left.pop(run, 0)

    def remaining(self) -> float | None:
        """Return about how many seconds are left, None where nothing says so.

        A run that was measured before takes as long inside the solver as then, and around it what those that were measured here
        took; one that was not takes the mean of those measured here.
        """
        around = [max(0.0, took - self.known[run]) for run, took in self._took if run in self.known]
        beside = sum(around) / len(around) if around else 0.0
        took = [each for _, each in self._took]
        found = 0.0
        for run, count in self.left.items():
            if not count:
                continue
            if run in self.known:
                found += count * (self.known[run] + beside)
            elif took:
                found += count * sum(took) / len(took)
            else:
                return None
        return found

    def told(self) -> str:
        """Return ``12/340, 0:03:05, about 0:41:00 left``."""
        left = self.remaining()
        ahead = "" if self.done >= self.total else f", about {time(left)} left" if left is not None else ""
        return f"{self.done}/{self.total}, {time(self.clock() - self.began)}{ahead}"

    def show(self, text: str, *, failed: bool) -> None:
        """Say that a run ended."""
        say(f"[{self.told()}] {plain_line(text)}")

    def say(self, text: str) -> None:
        """Say something else."""
        say(plain(text))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        """End the display."""


class Quiet(Course):
    """Says no progress, only what is amiss."""

    def show(self, text: str, *, failed: bool) -> None:
        """Say nothing."""


class Live(Course):
    """A bar with the run that ended last; failures stay on the screen."""

    def __init__(self, runs: Iterable[Run], known: Mapping[Run, float], clock: Any = monotonic) -> None:
        super().__init__(runs, known, clock)
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn
        from rich.table import Column

        self._bar = Progress(
            BarColumn(bar_width=20),
            TextColumn("{task.fields[course]}"),
            TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True, overflow="ellipsis")),
            console=Console(stderr=True),
            transient=True,
            refresh_per_second=2,
        )
        self._task = self._bar.add_task("", total=self.total, course=self.told())

    def show(self, text: str, *, failed: bool) -> None:
        """Move the bar."""
        self._bar.update(
            self._task, completed=self.done, total=self.total, course=self.told(), description=plain_line(text)
        )
        if failed:
            self.say(text)

    def say(self, text: str) -> None:
        """Print a line above the bar."""
        self._bar.console.print(plain(text), markup=False, highlight=False, soft_wrap=True)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        """Take the bar away."""
        self._bar.stop()


def course(runs: Iterable[Run], known: Mapping[Run, float], *, quiet: bool) -> Course:
    """Return the display that suits standard error."""
    kind = Quiet if quiet else Live if sys.stderr.isatty() else Course
    return kind(runs, known)


def time(seconds: float | None) -> str:
    """Return ``1:02:03``; ``?`` where it is not known."""
    if seconds is None:
        return "?"
    minutes, left = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{left:02d}"
