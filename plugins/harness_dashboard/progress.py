"""How far a measurement of commits is, on standard error: a live line on a terminal, a line now and then elsewhere.

What measures writes a line a number into a file (`history.tell`): the benchmarks of a commit and asv are other processes.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import click

from harness_dashboard import history
from harness_dashboard.records import Cell

EVERY = 10.0  # seconds between two lines where nobody sees them change
_REFRESHES_A_SECOND = 2  # the measured runs share the machine with the display


class Progress:
    """Counts the numbers that were taken, and reckons how long the others will take.

    cells : in the order of the grid
    fits : of cells for their records, of all commits together
    """

    def __init__(self, cells: Sequence[Cell], fits: int) -> None:
        self.cells, self.fits = list(cells), fits
        self.planned: Counter[str] = Counter()
        self.taken: Counter[str] = Counter()
        self.seconds: dict[str, float] = {}
        self.doing = "starting"
        self._before: float | None = None

    def read(self, line: str) -> None:
        """Learn from a line of the file."""
        moment, kind, text = line.split("\t", 2)
        seconds = float(moment) - (self._before if self._before is not None else float(moment))
        self._before = float(moment)
        if kind == history.PLAN:
            self.planned.update(json.loads(text))
            if any(name.startswith(history.RECORD) for name in self.planned):
                self.planned[history.FITS] += self.fits
        elif kind == history.DONE:
            name, _, place = text.partition("-")
            self.taken[name] += 1
            self.seconds[name] = self.seconds.get(name, 0.0) + seconds
            self.doing = self._named(name, place)
        else:
            self.doing = text

    def _named(self, name: str, place: str) -> str:
        bare = "fit" if name == history.FITS else name.rpartition(".")[2]
        if not place.isdigit() or int(place) >= len(self.cells):
            return bare
        solver, dataset = self.cells[int(place)]
        return f"{bare} of {solver} on {dataset}"

    @property
    def total(self) -> int:
        """How many numbers will be taken; 0 as long as that is not known."""
        return self.planned.total()

    @property
    def done(self) -> int:
        """How many of them were."""
        return min(self.taken.total(), self.total)

    @property
    def remaining(self) -> float | None:
        """Seconds that the others will take: each as long as those of its name took, else as all did; None: no idea yet."""
        if not self.total or not self.taken.total():
            return None
        usual = sum(self.seconds.values()) / self.taken.total()
        each = {name: self.seconds[name] / self.taken[name] for name in self.taken}
        left = self.planned - self.taken
        return sum(number * each.get(name, usual) for name, number in left.items())

    def __str__(self) -> str:
        if not self.total:
            return self.doing
        left = self.remaining
        return f"[{self.done}/{self.total}] {self.doing}{'' if left is None else f', about {told(left)} left'}"


def told(seconds: float) -> str:
    """Return ``40 s``, ``3 min``, ``2.5 h``."""
    if seconds < 90.0:
        return f"{seconds:.0f} s"
    return f"{seconds / 60.0:.0f} min" if seconds < 5400.0 else f"{seconds / 3600.0:.1f} h"


class Watch:
    """Follows the file, and prints a line when it has something new to say and `EVERY` seconds have gone by."""

    def __init__(self, file: Path, progress: Progress) -> None:
        self.file, self.progress = file, progress
        self._read, self._last = 0, -EVERY

    def look(self) -> None:
        """Read what is new, and show it."""
        with self.file.open() as stream:
            stream.seek(self._read)
            text = stream.read()
        whole = text[: text.rfind("\n") + 1]
        self._read += len(whole.encode())
        for line in whole.splitlines():
            with suppress(ValueError):  # how far it is must never stop a measurement
                self.progress.read(line)
        if whole:
            self.show()

    def show(self) -> None:
        """Print a line."""
        if time.monotonic() - self._last >= EVERY:
            self._last = time.monotonic()
            click.echo(str(self.progress), err=True)


class LiveWatch(Watch):
    """Shows a bar that changes in its place and is gone at the end."""

    def __init__(self, file: Path, progress: Progress) -> None:
        super().__init__(file, progress)
        from rich import progress as rich
        from rich.console import Console
        from rich.table import Column

        fitting = Column(no_wrap=True, overflow="ellipsis")
        self.bar = rich.Progress(
            rich.MofNCompleteColumn(),
            rich.BarColumn(bar_width=20),
            rich.TimeElapsedColumn(),
            rich.TextColumn("{task.fields[left]}"),
            rich.TextColumn("{task.description}", markup=False, table_column=fitting),
            console=Console(stderr=True),
            transient=True,
            refresh_per_second=_REFRESHES_A_SECOND,
        )
        self._task = self.bar.add_task(progress.doing, total=None, left="")

    def show(self) -> None:
        """Move the bar."""
        left = self.progress.remaining
        self.bar.update(
            self._task, completed=self.progress.done, total=self.progress.total or None, description=self.progress.doing,
            left="" if left is None else f"about {told(left)} left",
        )  # fmt: skip


@contextmanager
def watching(cells: Sequence[Cell], fits: int, *, live: bool) -> Iterator[Watch]:
    """Show how far a measurement is while the body runs and calls `Watch.look`; ``live``: standard error is a terminal."""
    with tempfile.TemporaryDirectory(prefix="harness-progress-") as folder:
        file = Path(folder) / "told"
        file.touch()
        progress = Progress(cells, fits)
        if not live:
            yield Watch(file, progress)
            return
        watch = LiveWatch(file, progress)
        with watch.bar:
            yield watch
