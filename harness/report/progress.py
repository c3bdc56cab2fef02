"""Progress of a comparison: a line that is overwritten on a terminal and in a notebook, else a line a run."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from time import monotonic
from typing import TYPE_CHECKING, Any, Self

from harness.measure.outcome import Status
from harness.report import figures, output, rows
from harness.run.record import Record
from harness.support.printable import plain, plain_line

if TYPE_CHECKING:
    from harness.run.messages import RunSpec

_PREPARING_SECONDS = 5.0  # seconds between two lines on what is done before the first run
_RUNNING_SECONDS = 60.0  # seconds between two lines on what goes on, beside a line for each run that ends
_REFRESHES = 4  # a second; the measured runs share the machine with the display
_VARYING = ("formulation", "problem_parameters", "kernel", "kernel_parameters", "dataset", "seed", "repetition")


class Reporter:
    """Counts the runs of a comparison and shows none: what ``--quiet`` shows.

    spelled : what notes are written with; in Python options are arguments
    """

    def __init__(self, spelled: Callable[[str], str] = str) -> None:
        self.total = self.done = self.failures = 0
        self._reused, self._began = 0, monotonic()
        self._varying: Sequence[str] = _VARYING
        self._spelled = spelled

    def planned(self, specs: list[RunSpec], reused: int) -> None:
        """Take the runs, of which the store has ``reused``, and start the clock."""
        self.total, self._reused, self._began = len(specs), reused, monotonic()
        known = [spec.as_dict() for spec in specs if spec is not None]
        self._varying = [name for name in _VARYING if len({str(each.get(name)) for each in known}) > 1]

    def say(self, text: str) -> None:
        """Show a line that is no progress, and that ``--quiet`` does not silence."""
        output.say(self._spelled(text))

    def working(self, text: str) -> None:
        """Show, each second, what goes on."""

    def started(self, spec: RunSpec) -> None:
        """Show that a run started."""

    def finished(self, record: Record, reused: bool) -> None:
        """Count a run."""
        self.done += 1
        self.failures += record.failed

    def state(self) -> str:
        """Return ``[3/8, elapsed 0:12, left 0:20, 1 failed]``."""
        elapsed, new = monotonic() - self._began, self.done - self._reused
        left = _minutes(elapsed / new * (self.total - self.done)) if new > 0 else "?"
        failed = f", {self.failures} failed" if self.failures else ""
        return f"[{self.done}/{self.total}, elapsed {_minutes(elapsed)}, left {left}{failed}]"

    def line(self, record: Record) -> str:
        """Return ``smo digits: ok 0.0120 s, gap 3.0e-3, 120k kernel evals``, with what differs from run to run."""
        parts = [
            text(value) + unit
            for name, text, unit in _SHOWN
            if figures.is_number(value := record.get(name))
        ]  # fmt: skip
        if record.status is not Status.OK and record.get("reason"):
            parts.append(" ".join(str(record["reason"]).split()))
        label = str(record.get("label") or record.get("solver"))
        return plain_line(f"{self.run(label, record)}: {record.get('status')} {', '.join(parts)}".strip())

    def run(self, label: str, run: Mapping[str, Any]) -> str:
        """Return the name of a run by what differs from run to run."""
        known = {name: run.get(name) if name in self._varying else None for name in _VARYING}
        names = [
            label,
            rows.place_text(run),
            rows.problem_text(known["formulation"], known["problem_parameters"]),
            rows.kernel_text(known["kernel"], known["kernel_parameters"]),
            rows.short_name(str(known["dataset"] or "")),
            *(f"{short} {known[name]}" for short, name in (("seed", "seed"), ("rep", "repetition")) if known[name] is not None),
        ]  # fmt: skip
        return plain_line(" ".join(name for name in names if name))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        """End the display."""


_SHOWN: Sequence[tuple[str, Callable[[float], str], str]] = (
    ("fit_seconds", figures.seconds, " s"),
    ("relative_gap", lambda value: f"gap {figures.gap(value)}", ""),
    ("kernel_evaluations", figures.count, " kernel evals"),
)


def _minutes(seconds: float) -> str:
    """Return ``0:12`` or ``1:02:03``."""
    text = str(timedelta(seconds=round(seconds)))
    return text.removeprefix("0:0") if text.startswith("0:0") else text.removeprefix("0:")


class Lines(Reporter):
    """One line a finished run, for pipes and log files; each minute one on what goes on."""

    _shown = -math.inf
    _running = False

    def working(self, text: str) -> None:
        """Print it now and then."""
        if (time := monotonic()) - self._shown >= (_RUNNING_SECONDS if self._running else _PREPARING_SECONDS):
            self._shown = time
            output.say(f"{self.state()} {text}" if self._running else text, clipped=True)

    def started(self, spec: RunSpec) -> None:
        """Take note that preparation is over."""
        self._running = True

    def planned(self, specs: list[RunSpec], reused: int) -> None:
        """Print the size of the comparison."""
        super().planned(specs, reused)
        output.say(f"{self.total} run{'s' * (self.total != 1)}, {reused} of them reused from the store")

    def finished(self, record: Record, reused: bool) -> None:
        """Print the run's line; what is reused is in the table alone."""
        super().finished(record, reused)
        if not reused:
            output.say(f"{self.state()} {self.line(record)}", clipped=True)


class Notebook(Reporter):
    """One line in the output of a notebook's cell, which the next one replaces."""

    _handle: Any = None

    def _show(self, text: str) -> None:
        from IPython.display import display

        content = {"text/plain": plain_line(f"{self.state()} {text}" if self.total else text)}
        if self._handle is None:
            self._handle = display(content, raw=True, display_id=True)  # type: ignore[no-untyped-call]
        else:
            self._handle.update(content, raw=True)

    def working(self, text: str) -> None:
        """Show it."""
        self._show(text)

    def started(self, spec: RunSpec) -> None:
        """Show the run."""
        self._show(self.run(spec.solver, spec.as_dict()))

    def __exit__(self, *_exception: object) -> None:
        """Show how many runs there were."""
        self._show("")


class Live(Reporter):
    """A line that is overwritten on a terminal; a run that failed stays as a line above it, and it is gone when the table comes."""

    def __init__(self, spelled: Callable[[str], str] = str) -> None:
        super().__init__(spelled)
        from rich.console import Console
        from rich.live import Live as Display
        from rich.text import Text

        self._now = "reading data"
        self._console = Console(stderr=True)
        self._display = Display(
            get_renderable=lambda: Text(f"{self.state()} {self._now}" if self.total else self._now),
            console=self._console,
            transient=True,
            refresh_per_second=_REFRESHES,
        )

    def working(self, text: str) -> None:
        """Show it in the place of the run."""
        self._now = plain_line(text)

    def started(self, spec: RunSpec) -> None:
        """Show the run."""
        self._now = self.run(spec.solver, spec.as_dict())

    def say(self, text: str) -> None:
        """Print a line above the display."""
        text = output.folded(plain(self._spelled(text)), self._console.width)
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    def finished(self, record: Record, reused: bool) -> None:
        """Count a run, and print its line if it failed."""
        super().finished(record, reused)
        if record.failed and not reused:
            self.say(self.line(record))

    def __enter__(self) -> Self:
        self._display.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        """Take the display away."""
        self._display.stop()


def reporter(*, quiet: bool, spelled: Callable[[str], str] = str) -> Reporter:
    """Return the progress that suits a notebook or standard error."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    shown = Notebook if hasattr(shell, "kernel") else Live if sys.stderr.isatty() else Lines
    return Reporter(spelled) if quiet else shown(spelled)
