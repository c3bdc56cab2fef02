"""Progress of a comparison, on standard error: a live display on a terminal, a line a run into a pipe."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from datetime import timedelta
from time import monotonic
from typing import TYPE_CHECKING, Any, Self

from harness.measure.outcome import Status
from harness.report import figures, rows
from harness.report.output import folded, say
from harness.run.record import Record
from harness.support.printable import plain, plain_line

if TYPE_CHECKING:
    from harness.run.messages import RunSpec

_PREPARING_SECONDS = 5.0  # seconds between two lines on what is done before the first run
_RUNNING_SECONDS = 60.0  # seconds between two lines on what goes on, beside a line for each run that ends
_REFRESHES_A_SECOND = 4  # the measured runs share the machine with the display


class Reporter:
    """Counts the runs of a comparison and says nothing: what ``--quiet`` shows."""

    def __init__(self) -> None:
        self.total = 0
        self.done = 0
        self.failures = 0

    def planned(self, specs: list[RunSpec], reused: int) -> None:
        """Learn how many runs there are, and how many of them the store already holds."""
        self.total = len(specs)

    def repeated(self, specs: list[RunSpec]) -> None:
        """Learn how many runs there are with those that are added."""
        self.total = len(specs)

    def say(self, text: str) -> None:
        """Show a line that is no progress, and that ``--quiet`` does not silence."""
        say(text)

    def working(self, text: str) -> None:
        """Learn each second what is done before the first run."""

    def started(self, spec: RunSpec) -> None:
        """Learn that a run started."""

    def finished(self, record: Record, reused: bool) -> None:
        """Learn a run's outcome."""
        self.done += 1
        self.failures += record.failed

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        """End the display."""


class Lines(Reporter):
    """One line a finished run, for pipes and log files; each minute one on what goes on."""

    def __init__(self) -> None:
        super().__init__()
        self._began = self._shown = -math.inf
        self._reused = 0
        self._running = False

    def working(self, text: str) -> None:
        """Print it now and then; while runs go on with how many are done and failed, and the time that is left."""
        time = monotonic()
        if time - self._shown < (_RUNNING_SECONDS if self._running else _PREPARING_SECONDS):
            return
        self._shown = time
        if self._running:
            elapsed, new = time - self._began, self.done - self._reused
            left = timedelta(seconds=round(elapsed / new * (self.total - self.done))) if new else "?"
            counts = f"[{self.done}/{self.total}] {self.failures} failed"
            text = f"{counts}, elapsed {timedelta(seconds=round(elapsed))}, left {left}; {text}"
        say(text)

    def started(self, spec: RunSpec) -> None:
        """Learn that preparation is over."""
        self._running = True

    def planned(self, specs: list[RunSpec], reused: int) -> None:
        """Print the size of the comparison."""
        super().planned(specs, reused)
        self._began, self._reused = monotonic(), reused
        runs = "1 run" if self.total == 1 else f"{self.total} runs"
        say(f"{runs}, {reused} of them reused from the store")

    def finished(self, record: Record, reused: bool) -> None:
        """Print the run's line."""
        super().finished(record, reused)
        say(f"[{self.done}/{self.total}] {line(record, reused=reused)}")


class Live(Reporter):
    """A bar with the failures and the time left, below it the current run; it is gone when the table comes."""

    def __init__(self) -> None:
        super().__init__()
        from rich import progress
        from rich.console import Console, Group
        from rich.live import Live as Display
        from rich.text import Text

        self._progress = progress.Progress(
            progress.MofNCompleteColumn(),
            progress.BarColumn(bar_width=20),
            progress.TimeElapsedColumn(),
            progress.TextColumn("left"),
            progress.TimeRemainingColumn(),
            progress.TextColumn("{task.fields[failed]}"),
        )
        self._task = self._progress.add_task("", total=None, failed="")
        self._run = Text("reading data")  # on lines of its own: beside the bar a narrow terminal would cut it
        self._display = Display(
            Group(self._progress, self._run),
            console=Console(stderr=True),
            transient=True,
            refresh_per_second=_REFRESHES_A_SECOND,
        )

    def planned(self, specs: list[RunSpec], reused: int) -> None:
        """Set the bar's length."""
        super().planned(specs, reused)
        self._run.plain = ""
        self._progress.update(self._task, total=self.total)
        self._display.refresh()  # now: the first runs may end before the next one

    def repeated(self, specs: list[RunSpec]) -> None:
        """Lengthen the bar."""
        super().repeated(specs)
        self._progress.update(self._task, total=self.total)

    def working(self, text: str) -> None:
        """Show it in the place of the run."""
        self._run.plain = plain_line(text)

    def started(self, spec: RunSpec) -> None:
        """Show the run."""
        self._run.plain = _run(spec.solver, spec.as_dict())

    def say(self, text: str) -> None:
        """Print a line above the bar."""
        console = self._display.console
        console.print(folded(plain(text), console.width), markup=False, highlight=False, soft_wrap=True)

    def finished(self, record: Record, reused: bool) -> None:
        """Advance the bar; a failure stays on the screen as a line."""
        super().finished(record, reused)
        failed = f"{self.failures} failed" if self.failures else ""
        self._progress.update(self._task, advance=1, failed=failed)
        if record.failed and not reused:
            self.say(line(record, reused=reused))

    def __enter__(self) -> Self:
        self._display.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        """Take the display away."""
        self._display.stop()


def reporter(*, quiet: bool) -> Reporter:
    """Return the progress that suits standard error."""
    if quiet:
        return Reporter()
    return Live() if sys.stderr.isatty() else Lines()


def line(record: Record, *, reused: bool = False) -> str:
    """Return ``smo c-svc C=10 rbf gamma=0.05 digits seed 0 rep 0: ok 0.0120 s, 120k kernel evals, gap 3.0e-3``."""
    where = _run(str(record.get("label") or record.get("solver")), record)
    parts = []
    if figures.is_number(fit := record.get("fit_seconds")):
        parts.append(f"{figures.seconds(fit)} s")
    if figures.is_number(evaluations := record.get("kernel_evaluations")):
        parts.append(f"{figures.count(evaluations)} kernel evals")
    if figures.is_number(gap := record.get("relative_gap")):
        parts.append(f"gap {figures.gap(gap)}")
    if record.status is not Status.OK and record.get("reason"):
        parts.append(" ".join(str(record["reason"]).split()))
    outcome = f"{record.get('status')} {', '.join(parts)}".strip()
    return plain_line(f"{where}: {outcome}{' (reused)' if reused else ''}")


def _run(label: str, run: Mapping[str, Any]) -> str:
    problem = rows.problem_text(run.get("formulation"), run.get("problem_parameters"))
    kernel = rows.kernel_text(run.get("kernel"), run.get("kernel_parameters"))
    which = [f"seed {run.get('seed')}", f"rep {run.get('repetition')}"]
    named = [label, rows.place_text(run), problem, kernel, rows.short_name(str(run.get("dataset") or "")), *which]
    return plain_line(" ".join(str(part) for part in named if part))
