"""The time that numba spends compiling, or loading machine code from its disk cache, which no clock of a run counts.

A warm-up on a few points compiles the code that it reaches. Later compilation, in the measured run, is subtracted from the
clock by :class:`CompilationWatch`.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter, process_time  # imported by name, so that later patches do not change the clock
from typing import Any

from harness.support.clocks import fit_clock, fit_cpu_clock, take_off
from harness.support.processes import children_cpu_seconds

_REPORT_SECONDS = 0.25  # shortest interval between two reports of compilation, in seconds


class CompilationWatch:
    """Listener of numba's compiler lock, which is locked while code is compiled or loaded.

    seconds : total wall time with the lock locked
    on_change : called with True when the lock is taken and False when it is released, and with True again at intervals in
        between, as the compiler takes the lock again for each pass over each function
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self.on_change: Callable[[bool], None] = lambda _: None
        self._depth = 0
        self._began = (0.0, 0.0)
        self._reported = 0.0

    def install(self) -> None:
        """Register with numba (imports it); once a process."""
        from numba.core import event

        numba: Any = event
        numba.Listener.register(CompilationWatch)  # its methods require numba
        numba.register("numba:compiler_lock", self)

    def notify(self, event: Any) -> None:
        """Count the seconds of the lock; numba calls this at each, possibly nested, acquisition and release."""
        if event.is_start:
            self._depth += 1
            if self._depth > 1:
                return
            self._began = (perf_counter(), process_time())
        else:
            self._depth -= 1
            if self._depth and perf_counter() - self._reported <= _REPORT_SECONDS:
                return
            if not self._depth:
                spent = perf_counter() - self._began[0], process_time() - self._began[1]
                self.seconds += spent[0]
                take_off(*spent)
        self._reported = perf_counter()
        self.on_change(self.compiling)

    @property
    def compiling(self) -> bool:
        """Whether numba is compiling or loading code."""
        return self._depth > 0

    def clock(self) -> float:
        """A wall clock that stands still while numba compiles."""
        return fit_clock()

    def cpu_clock(self) -> float:
        """A CPU clock of the process and what it started, which stands still while numba compiles."""
        return fit_cpu_clock() + children_cpu_seconds()
