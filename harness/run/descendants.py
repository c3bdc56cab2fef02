"""All that a run's process starts: found, counted, measured and ended.

The worker is the parent of whatever its children leave behind, daemons included: what a run started is what is below the
worker in the tree of processes, and was not there before. All are stopped before one is killed.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import runpy
import signal
import sys
from collections.abc import Iterable
from pathlib import Path
from time import monotonic, sleep

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_HUNT_SECONDS = 0.5
_TRACKER_SECONDS = 1.0  # for Python's resource trackers: no fault of a run, they end with it and unlink what it left
_ROUND_SECONDS = 0.001


def at_parents_end(number: int) -> None:
    """Have this process get the signal ``number`` when its parent ends."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number)


class Descendants:
    """The processes below this one that a run started; this process adopts those whose parent has ended."""

    def __init__(self) -> None:
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
        self._before = frozenset[int]()

    def begin(self) -> None:
        """A run begins: what is there already is none of its processes, what a plugin's import started for one."""
        self._before = frozenset(living(os.getpid()))

    def left(self, child: int = 0) -> list[int]:
        """Return those that are alive, without the ``child`` itself."""
        return [pid for pid in living(os.getpid()) if pid != child and pid not in self._before]

    def memory_bytes(self, child: int, limit: float) -> int:
        """Return the memory of a run's process and of those it started, pages that they share counted once.

        limit : the figure is exact, that of the others included, where it may be above
        """
        own, others = _bytes(child, "status", "VmRSS:"), self.left(child)
        if not others or own + sum(_bytes(pid, "status", "VmRSS:") for pid in others) <= limit:
            return own
        return max(own, sum(_bytes(pid, "smaps_rollup", "Pss:") for pid in (child, *others)))

    def end(self) -> tuple[int, list[int]]:
        """End and reap all that is left when a run's process is gone; return how many were alive, and those that still are."""
        found = self._settled()
        trackers = trackers_of(found)
        count = len(found) - len(trackers)
        if trackers:
            self._hunt(trackers)
            until = monotonic() + _TRACKER_SECONDS
            while any(map(living_itself, trackers)) and monotonic() < until:
                sleep(_ROUND_SECONDS)
                _reap()
        return count, self._hunt(set())

    def _settled(self) -> list[int]:
        """Return what is left; that nothing is, at the second look alone: processes move within their tree."""
        _reap()
        return self.left() or self.left()

    def _hunt(self, spared: set[int]) -> list[int]:
        """Kill all but the spared; return what is still alive.

        All are stopped before one is killed: who waits for the end of another cannot start it anew.
        """
        until, stopped = monotonic() + _HUNT_SECONDS, set[int]()
        while (found := [pid for pid in self._settled() if pid not in spared]) and monotonic() < until:
            fresh = [pid for pid in found if pid not in stopped]
            for pid in fresh or found:
                signal_to(pid, signal.SIGSTOP if fresh else signal.SIGKILL)
            stopped.update(fresh)
            if not fresh:
                sleep(_ROUND_SECONDS)
        return found


def signal_to(pid: int, number: int) -> None:
    """Send a signal to a process that may be gone."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _reap() -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            continue


def living(pid: int) -> list[int]:
    """Return the processes below one, parents first, without those that have ended.

    By the system's own lists of children: psutil reads the state of every process of the machine for that, each time.
    """
    found = []
    for child in _children(pid):
        found += [child] if living_itself(child) else []
        found += living(child)
    return found


def _children(pid: int) -> list[int]:
    # of every thread: each has those that it forked itself
    found: list[int] = []
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{thread}/children", encoding="ascii") as file:
                found += map(int, file.read().split())
    return found


def living_itself(pid: int) -> bool:
    """Return whether a process has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    except (OSError, IndexError):
        return False


def trackers_of(pids: Iterable[int]) -> set[int]:
    """Return those of the processes that are resource trackers of Python's: no workers of a run's."""
    found = set[int]()
    for pid in pids:
        with contextlib.suppress(OSError):
            if b"resource_tracker" in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.add(pid)
    return found


def _bytes(pid: int, file: str, name: str) -> int:
    with contextlib.suppress(OSError, ValueError):
        for line in Path(f"/proc/{pid}/{file}").read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith(name):
                return int(line.split()[1]) * 1024
    return 0


def main() -> None:
    """Start a process of the host's: ``python -m harness.run.descendants harness.run.worker FD``.

    That it ends when its driver does is settled before it imports what takes a second.
    """
    at_parents_end(signal.SIGCONT)  # a stopped process goes on when its driver ends, sees that it is alone, and ends
    module = sys.argv.pop(1)
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
