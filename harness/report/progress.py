"""Progress of a comparison: a line that is overwritten on a terminal and in a notebook, else a line a run."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from time import monotonic
from typing import TYPE_CHECKING, Any, Self

from harness.measure.outcome import Status
from harness.report import figures, output, rows
from harness.run.record import Record
from harness.support.printable import plain_line

if TYPE_CHECKING:
    from harness.run.messages import RunSpec

_PREPARING_SECONDS = 5.0  # seconds between two lines on what is done before the first run
_RUNNING_SECONDS = 60.0  # seconds between two lines on what goes on, beside a line for each run that ends


class Reporter:
    """Counts the runs of a comparison and shows none: what ``--quiet`` shows.

    spelled : what notes are written with; in Python options are arguments
    """

    def __init__(self, spelled: Callable[[str], str] = str) -> None:
        self.total = self.done = self.failures = self._reused = 0
        self._began = monotonic()
        self._spelled = spelled

    def planned(self, specs: list[RunSpec], reused: int) -> None:
        """Take the number of runs, ``reused`` of which are in the store, and start the clock."""
        self.total, self._reused, self._began = len(specs), reused, monotonic()

    def repeated(self, specs: list[RunSpec]) -> None:
        """Take the number of runs with those that are added."""
        self.total = len(specs)

    def say(self, text: str) -> None:
        """Show a line that is no progress, and that ``--quiet`` does not silence."""
        output.say(self._spelled(text))

    def working(self, text: str) -> None:
        """Show what goes on, at most once a second."""

    def started(self, spec: RunSpec) -> None:
        """Show that a run started."""

    def finished(self, record: Record, reused: bool) -> None:
        """Count a run."""
        self.done += 1
        self.failures += record.failed

    def state(self, text: str) -> str:
        """Return ``[3/8, elapsed 0:12, left 0:20, 1 failed]`` and the text; the text alone before there are runs."""
        elapsed, new = monotonic() - self._began, self.done - self._reused
        left = _minutes(elapsed / new * (self.total - self.done)) if new > 0 else "?"
        failed = f", {self.failures} failed" if self.failures else ""
        counts = f"[{self.done}/{self.total}, elapsed {_minutes(elapsed)}, left {left}{failed}] " if self.total else ""
        return plain_line(counts + text).rstrip()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        """End the display."""


class Lines(Reporter):
    """One line a finished run, for pipes and log files; each minute one on what goes on."""

    _shown = -math.inf
    _running = False

    def working(self, text: str) -> None:
        """Print it now and then."""
        if (time := monotonic()) - self._shown >= (_RUNNING_SECONDS if self._running else _PREPARING_SECONDS):
            self._shown = time
            output.say(self.state(text) if self._running else text, clipped=True)

    def started(self, spec: RunSpec) -> None:
        """Take note that preparation is over."""
        self._running = True

    def planned(self, specs: list[RunSpec], reused: int) -> None:
        """Print the size of the comparison."""
        super().planned(specs, reused)
        output.say(f"{self.total} run{'s' * (self.total != 1)}, {reused} of them reused from the store")

    def finished(self, record: Record, reused: bool) -> None:
        """Print the run's line; the table alone shows what is reused."""
        super().finished(record, reused)
        if not reused:
            output.say(self._spelled(self.state(line(record))), clipped=True)


class Live(Reporter):
    """A line that is overwritten on a terminal; a run that failed stays above it, and it is gone when the table comes."""

    def __init__(self, spelled: Callable[[str], str] = str) -> None:
        super().__init__(spelled)
        from rich.console import Console
        from rich.live import Live as Display
        from rich.text import Text

        self._now = "reading data"
        console, shown = Console(stderr=True), lambda: Text(self.state(self._now))
        self._display = Display(None, console=console, transient=True, refresh_per_second=4, get_renderable=shown)

    def planned(self, specs: list[RunSpec], reused: int) -> None:
        """Show the number of runs at once: the first ones may end before the display is due."""
        super().planned(specs, reused)
        self._display.refresh()

    def working(self, text: str) -> None:
        """Show it in the place of the run."""
        self._now = text

    def started(self, spec: RunSpec) -> None:
        """Show the run."""
        self._now = _name(spec.solver, spec.as_dict())

    def finished(self, record: Record, reused: bool) -> None:
        """Count a run, and print its line if it failed."""
        super().finished(record, reused)
        if record.failed and not reused:
            self.say(line(record))

    def __enter__(self) -> Self:
        self._display.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        """Take the display away."""
        self._display.stop()


class Notebook(Reporter):
    """One line in the output of a notebook's cell, which the next one replaces."""

    _handle: Any = None

    def working(self, text: str) -> None:
        """Show it."""
        from IPython.display import display

        content = {"text/plain": self.state(text)}
        if self._handle is None:
            self._handle = display(content, raw=True, display_id=True)  # type: ignore[no-untyped-call]
        else:
            self._handle.update(content, raw=True)

    def started(self, spec: RunSpec) -> None:
        """Show the run."""
        self.working(_name(spec.solver, spec.as_dict()))

    def __exit__(self, *_exception: object) -> None:
        """Leave the number of runs, their time and the failures."""
        self.working("")


def reporter(*, quiet: bool, spelled: Callable[[str], str] = str) -> Reporter:
    """Return the progress that suits a notebook or standard error."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    shown = Notebook if hasattr(shell, "kernel") else Live if sys.stderr.isatty() else Lines
    return Reporter(spelled) if quiet else shown(spelled)


def line(record: Record) -> str:
    """Return ``ok 0.0120 s: smo on digits, c-svc C=10, rbf gamma=0.05, seed 0, rep 0, gap 3.0e-3``, a failure's reason first."""
    fit, gap, reason = (record.get(name) for name in ("fit_seconds", "relative_gap", "reason"))
    seconds = f" {figures.seconds(fit)} s" if figures.is_number(fit) else ""
    why = f": {reason}" if reason and record.status is not Status.OK else ""
    end = f", gap {figures.gap(gap)}" if figures.is_number(gap) else ""
    run = _name(str(record.get("label") or record.get("solver")), record, why)
    return plain_line(f"{record.get('status')}{seconds}: {run}{end}")


def _name(label: str, run: Mapping[str, Any], reason: str = "") -> str:
    """Return the name of a run, what matters most first."""
    name = f"{label} on {rows.short_name(str(run.get('dataset') or '?'))}{reason}"
    problem = rows.problem_text(run.get("formulation"), run.get("problem_parameters"))
    kernel = rows.kernel_text(run.get("kernel"), run.get("kernel_parameters"))
    repetition = f"seed {run.get('seed')}, rep {run.get('repetition')}"
    return ", ".join(filter(None, (name, rows.place_text(run), problem, kernel, repetition)))


def _minutes(seconds: float) -> str:
    """Return ``0:12`` or ``1:02:03``."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}" if minutes >= 60 else f"{minutes}:{rest:02}"
