"""The memory that a process holds beyond the pages of files, sampled while it works."""

from __future__ import annotations

import threading
import time

from harness.support.processes import memory_figures


def anonymous() -> int:
    """Return the bytes of anonymous memory of this process."""
    found = memory_figures()
    if "RssAnon" not in found:
        raise RuntimeError("/proc/self/status has no RssAnon; run this on Linux.")
    return found["RssAnon"]


class Memory(threading.Thread):
    """Samples the process's anonymous memory until it is told to have ``ended``; ``peak`` in bytes."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak, self.ended = 0, False

    def run(self) -> None:
        while not self.ended:
            self.peak = max(self.peak, anonymous())
            time.sleep(0.02)
