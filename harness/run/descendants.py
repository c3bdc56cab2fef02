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
from collections.abc import Iterable, Mapping
from pathlib import Path
from time import monotonic, sleep
from typing import NamedTuple

from harness.support.processes import (
    Account,
    FileKey,
    below,
    file_in_memory,
    is_alive,
    mapped_in_memory,
    memory_figures,
    open_in_memory,
    private_bytes,
    proportional_figures,
    scheduling,
    system_v_segments,
)

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_HUNT_SECONDS = 0.5
_TRACKER_SECONDS = 1.0  # for Python's resource trackers: no fault of a run, they end with it and unlink what it left
_ROUND_SECONDS = 0.001
_DELETED = " (deleted)"  # how the name of a file ends that is open and removed


def at_parents_end(number: int) -> None:
    """Have this process get the signal ``number`` when its parent ends."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number)


class Usage(NamedTuple):
    """What a run's processes took up to now, and take.

    cpu_seconds : CPU time of all of them, those included that have ended
    unseen_cpu_seconds : part of it that the run's own process cannot know: of those that it did not start, or that nobody
        waited for, to their last sample
    delay_seconds : of the processes beside the run's own: they were ready to run, and other work had the core
    memory_bytes : anonymous and shared memory of all, mapped or not; see `harness.support.processes`
    high_water_bytes : least peak of the run's own process, by the system's high-water mark
    others : the processes that are alive, without the run's own
    """

    cpu_seconds: float = 0.0
    unseen_cpu_seconds: float = 0.0
    delay_seconds: float = 0.0
    memory_bytes: int = 0
    high_water_bytes: int = 0
    others: tuple[int, ...] = ()


NOTHING_USED = Usage()


class Descendants:
    """The processes below this one that a run started; this process adopts those whose parent has ended."""

    def __init__(self) -> None:
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
        self._before = frozenset[int]()
        self.begin()

    def begin(self) -> None:
        """A run begins: what is there already is none of its processes, what a plugin's import started for one."""
        self._before = frozenset(living(os.getpid()))
        self._accounts = dict[int, Account]()  # of the last sample
        self._pids = set[int]()  # of all samples
        self._delays = dict[int, float]()  # seconds in which processes beside the run's own were ready to run, by pid
        self._lost_seconds = 0.0  # CPU time of processes that ended and that nobody waited for
        self._files = dict[FileKey, str]()  # files in memory that a process of the run had open, by name
        self._maps = dict[int, dict[FileKey, int]]()  # bytes of such files that a process had mapped, by pid
        self._most_mapped = 0  # most bytes of file pages in the run's own process

    def left(self, child: int = 0) -> list[int]:
        """Return those that are alive, without the ``child`` itself."""
        return [pid for pid in living(os.getpid()) if pid != child and pid not in self._before]

    def sample(self, child: int, exact_above: float | None = None) -> Usage:
        """Return what the run's processes take now.

        child : the run's own process
        exact_above : bytes; a page that several processes share is counted once where the memory may be above; None: only CPU
            time is looked at
        """
        found = {each.pid: each for each in below(os.getpid()) if each.pid not in self._before}
        self._pids.update(found)
        gone = sum(each.cpu_seconds for pid, each in self._accounts.items() if pid not in found)
        if gone:  # their parents have their CPU time, if they waited for them
            gained = sum(
                each.waited_seconds - self._accounts[pid].waited_seconds
                for pid, each in found.items()
                if pid in self._accounts
            )
            self._lost_seconds += max(0.0, gone - gained)
        self._accounts = found
        cpu_seconds = self._lost_seconds + sum(each.cpu_seconds for each in found.values())
        own = {child, *(each.pid for each in below(child))} if len(found) > 1 else set(found)
        unseen = self._lost_seconds + sum(each.cpu_seconds for pid, each in found.items() if pid not in own)
        alive = [pid for pid, each in found.items() if not each.ended]
        others = tuple(pid for pid in alive if pid != child)
        self._delays.update((pid, scheduling(pid).delay_seconds) for pid in others)
        delay = sum(self._delays.values())
        if exact_above is None:
            return Usage(cpu_seconds, unseen, delay, others=others)
        figures = {pid: memory_figures(pid) for pid in alive}
        peak = figures.get(child, {})
        self._most_mapped = max(self._most_mapped, peak.get("RssFile", 0))
        high_water = max(0, peak.get("VmHWM", 0) - self._most_mapped)
        memory = self._memory_bytes(child, figures, exact_above)
        return Usage(cpu_seconds, unseen, delay, memory, high_water, others)

    def _memory_bytes(self, child: int, figures: Mapping[int, Mapping[str, int]], exact_above: float) -> int:
        """Return the memory of processes, and of the files in memory that they made."""
        private = sum(private_bytes(each) for each in figures.values())
        shared = self._shared_bytes(figures, exact_above - private)
        if len(figures) > 1 and private + shared > exact_above:
            shares = sum(proportional_figures(pid).get("Pss_Anon", 0) for pid in figures)
            private = max(private_bytes(figures.get(child, {})), shares)
        return private + shared

    def _shared_bytes(self, figures: Mapping[int, Mapping[str, int]], exact_above: float) -> int:
        """Return the shared memory of processes: all files in memory, and the most that one of them has mapped beside these.

        While a file is unmapped, which takes a while, its pages still count as mapped: what was mapped once is taken off.
        """
        files = self._files_in_memory(figures)
        size, beside = sum(files.values()), 0
        for pid, each in figures.items():
            mapped = each.get("RssShmem", 0)
            if files and mapped and mapped + size > exact_above:
                maps = self._maps.setdefault(pid, {})
                for key, extent in mapped_in_memory(pid).items():
                    maps[key] = max(extent, maps.get(key, 0))
                mapped -= sum(min(maps.get(key, 0), most) for key, most in files.items())
            beside = max(beside, mapped)
        return size + beside

    def _files_in_memory(self, pids: Iterable[int]) -> dict[FileKey, int]:
        found = system_v_segments(self._pids)
        for pid in pids:
            for key, (name, size) in open_in_memory(pid).items():
                found[key] = size
                if not name.endswith(_DELETED):
                    self._files[key] = name
        for key in [*self._files]:
            if key not in found and not (size := file_in_memory(self._files[key], key)):
                del self._files[key]
            elif key not in found:
                found[key] = size
        return found

    def end(self) -> tuple[int, list[int]]:
        """End and reap all that is left when a run's process is gone; return how many were alive, and those that still are."""
        found = self._settled()
        trackers = trackers_of(found)
        count = len(found) - len(trackers)
        if trackers:
            self._hunt(trackers)
            until = monotonic() + _TRACKER_SECONDS
            while any(map(is_alive, trackers)) and monotonic() < until:
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
    """Return the processes below one, parents first, without those that have ended."""
    return [each.pid for each in below(pid) if not each.ended]


def trackers_of(pids: Iterable[int]) -> set[int]:
    """Return those of the processes that are resource trackers of Python's: no workers of a run's."""
    found = set[int]()
    for pid in pids:
        with contextlib.suppress(OSError):
            if b"resource_tracker" in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.add(pid)
    return found


def main() -> None:
    """Start a process of the host's: ``python -m harness.run.descendants harness.run.worker FD``.

    That it ends when its driver does is settled before it imports what takes a second.
    """
    at_parents_end(signal.SIGCONT)  # a stopped process goes on when its driver ends, sees that it is alone, and ends
    module = sys.argv.pop(1)
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
