"""The time that numba spends compiling, or loading machine code from its disk cache. No clock of a run counts it.

A warm-up on a few points compiles the code that it reaches. What a solver compiles later, in the measured run, is taken
off the clock by :class:`CompilationWatch`.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter, process_time  # by name: what is patched later is not this clock
from typing import Any

from harness.machine import children_cpu_seconds

_TOLD_SECONDS = 0.25  # between two messages of a compiler that gets on


class CompilationWatch:
    """Listens to numba's compiler lock, which is held while code is compiled or loaded.

    seconds, cpu_seconds : held so far
    on_change : called with True when the lock is taken and False when it is released. In between with True again, now and
        then, as the compiler gets on: it takes the lock once more for each pass over each function
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self.cpu_seconds = 0.0
        self.on_change: Callable[[bool], None] | None = None
        self._depth = 0
        self._began = (0.0, 0.0)
        self._told = 0.0

    def install(self) -> None:
        """Register with numba (imports it); once a process."""
        from numba.core import event

        watch = self

        class Listener(event.Listener):
            def on_start(self, event: Any) -> None:
                watch.entered()

            def on_end(self, event: Any) -> None:
                watch.left()

        register: Any = event.register
        register("numba:compiler_lock", Listener())

    def entered(self) -> None:
        """The lock is taken; it may be taken again while it is held."""
        self._depth += 1
        if self._depth == 1:
            self._began = (perf_counter(), process_time())
            self._tell(True)

    def left(self) -> None:
        """The lock is released as often as it was taken."""
        self._depth -= 1
        if self._depth == 0:
            self.seconds += perf_counter() - self._began[0]
            self.cpu_seconds += process_time() - self._began[1]
            self._tell(False)
        elif perf_counter() - self._told > _TOLD_SECONDS:
            self._tell(True)

    def _tell(self, on: bool) -> None:
        self._told = perf_counter()
        if self.on_change is not None:
            self.on_change(on)

    @property
    def compiling(self) -> bool:
        """Whether the lock is held now."""
        return self._depth > 0

    def clock(self) -> float:
        """A wall clock that stands still while numba compiles."""
        return perf_counter() - self.seconds

    def cpu_clock(self) -> float:
        """A CPU clock of the process and what it started and waited for, which stands still while numba compiles."""
        return process_time() + children_cpu_seconds() - self.cpu_seconds
