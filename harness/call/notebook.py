"""Progress below the cell of a notebook: one line that changes, and a line for each failure."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any

from harness.plain import plain_line
from harness.report.progress import Reporter, line

if TYPE_CHECKING:
    from harness.run.plan import RunSpec
    from harness.run.record import Record

_SECONDS = 0.25  # between two changes: each is a message to the page


class Shown(Reporter):
    """Counts the runs where the notebook shows what a cell gives."""

    def __init__(self) -> None:
        super().__init__()
        import importlib

        self._text, self._shown, self._doing, self._lines = "", 0.0, "reading data", list[str]()
        display: Any = importlib.import_module("IPython.display").display
        self._handle = display({"text/plain": "reading data"}, raw=True, display_id=True)

    def planned(self, specs: list[RunSpec], reused: int) -> None:
        """Show how many runs there are."""
        super().planned(specs, reused)
        self._lines.append(f"{len(specs)} run{'' if len(specs) == 1 else 's'}, {reused} of them reused from the store")
        self._doing = ""
        self._show(now=True)

    def say(self, text: str) -> None:
        """Show a line that stays."""
        self._lines.append(plain_line(text))
        self._show(now=True)

    def started(self, spec: RunSpec) -> None:
        """Show which run is under way."""
        self._doing = plain_line(f"{spec.solver} on {spec.dataset}")
        self._show()

    def finished(self, record: Record, reused: bool) -> None:
        """Count the run; a failure stays as a line."""
        super().finished(record, reused)
        if record.failed and not reused:
            self._lines.append(line(record))
        self._show(now=self.done == self.total)

    def __exit__(self, *_exception: object) -> None:
        self._doing = ""
        self._show(now=True)

    def _show(self, *, now: bool = False) -> None:
        if not now and monotonic() - self._shown < _SECONDS:
            return
        self._shown = monotonic()
        count = f"[{self.done}/{self.total}] {self._doing}".strip() if self.total else self._doing
        self._handle.update({"text/plain": "\n".join([*self._lines, count]).strip()}, raw=True)
