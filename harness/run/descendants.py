"""All that a run's process starts: found, counted, measured and ended.

The worker is the parent of whatever its children leave behind (see `forking.adopt_orphans`), so everything is below it
in the tree of processes; where there are control groups, everything is in the worker's too, whatever it does.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, process_time, sleep

from harness.machine import status_bytes
from harness.run.groups import Home

_ONE_BY_ONE_SECONDS = 0.02  # with control groups; what lives then is ended with its group
_HUNT_SECONDS = 0.5  # without
_TRACKER_SECONDS = 1.0  # for Python's resource trackers: no fault of a run, they end with it and unlink what it left
_ROUND_SECONDS = 0.001
_EXEC_SECONDS = 0.02  # a tracker that was just forked is not yet known by its command line
_PAUSE = 10  # times as long as exact memory took to read it is not read again


@dataclass(frozen=True)
class Left:
    """What a run's process left behind: how many processes were alive, and those that still are."""

    count: int
    alive: tuple[int, ...] = ()


class Descendants:
    """The processes below this one, its own control group first where it may have one."""

    def __init__(self) -> None:
        self._home = Home.found()
        self._before = frozenset[int]()  # what this process itself started, a plugin's import in it for one
        self._cpu = self._own_cpu = self._look_again = 0.0

    def begin(self) -> None:
        """Count processes and CPU time from here: a run begins."""
        self._before = frozenset()
        self._before = frozenset(self._all())
        self._cpu, self._own_cpu = self._group_cpu(), process_time()

    def _group_cpu(self) -> float:
        return 0.0 if self._home is None else self._home.cpu_seconds() or 0.0

    def cpu_seconds(self) -> float:
        """Return the CPU time since the beginning of all that was forked since; 0 where there is no control group."""
        own = process_time() - self._own_cpu
        return max(0.0, self._group_cpu() - self._cpu - own) if self._home is not None else 0.0

    def others(self, child: int) -> list[int]:
        """Return the processes that a run's process started, as far as they are alive."""
        if self._home is not None:
            return [pid for pid in self._home.others() if pid != child and pid not in self._before]
        return living(child)

    def memory_bytes(self, child: int, limit: int) -> int:
        """Return the memory of a run's process and of those it started, pages that they share counted once.

        limit : the figure is exact, that of the others included, where it may be above
        """
        group = None if self._home is None else self._home.memory_bytes()
        if group is not None:
            return group
        own = status_bytes("VmRSS", child) or 0
        others = self.others(child)
        if not others or own + sum(status_bytes("VmRSS", pid) or 0 for pid in others) <= limit:
            return own
        began = monotonic()
        if began < self._look_again:
            return own
        # the system walks all pages of each: with many large processes not at every look
        shares = sum(map(_proportional_bytes, [child, *others]))
        self._look_again = monotonic() + _PAUSE * (monotonic() - began)
        return max(own, shares)

    def close(self) -> None:
        """Leave the control group: this process ends."""
        if self._home is not None:
            self._home.close()

    def end(self) -> Left:
        """End and reap all that is left when a run's process is gone."""
        if self._clear():
            return Left(0)
        found = self._all()
        trackers = trackers_of(found)
        count = len(set(found) - trackers)
        if trackers:
            if count:
                self._hunt(trackers)
            until = monotonic() + _TRACKER_SECONDS
            while trackers and monotonic() < until:
                sleep(_ROUND_SECONDS)
                _reap()
                trackers = {pid for pid in trackers if _alive(pid)}
        return Left(count, tuple(self._hunt(set())))

    def _all(self) -> list[int]:
        found = dict.fromkeys(living(os.getpid()))  # parents first
        if self._home is not None:
            found |= dict.fromkeys(self._home.others())
        return self._of_the_run(found)

    def _of_the_run(self, found: Iterable[int]) -> list[int]:
        """Return the processes without those of before, and what these have become: a daemon of an import may fork on."""
        left = [pid for pid in found if pid not in self._before]
        earlier = set(self._home.earlier()) if left and self._home is not None else set()
        return [pid for pid in left if pid not in earlier]

    def _clear(self) -> bool:
        """Return whether nothing is left; without a control group at two looks: processes move within their tree."""
        for _ in range(2 if self._home is None else 1):
            _reap()
            if self._all() or self._of_the_run(_children(os.getpid())):
                return False
        return True

    def _hunt(self, spared: set[int]) -> list[int]:
        """Kill all but the spared; return what is still alive.

        All are stopped before one is killed: who waits for the end of another cannot start it anew.
        """
        began, stopped, moved = monotonic(), set[int](), False
        while True:
            _reap()
            found = [pid for pid in self._all() if pid not in spared]
            late = monotonic() - began
            if late > _HUNT_SECONDS or (not found and (spared or self._clear())):
                return found
            fresh = [pid for pid in found if pid not in stopped]
            for pid in fresh or found:
                _signal(pid, signal.SIGSTOP if fresh else signal.SIGKILL)
            stopped.update(fresh)
            if self._home is not None and late > _ONE_BY_ONE_SECONDS and not moved and not spared:
                self._home.leave()
                moved = True
            elif not fresh:
                sleep(_ROUND_SECONDS)


def _signal(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _reap() -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            continue


def living(pid: int) -> list[int]:
    """Return the processes below one, parents first, without those that have ended."""
    found = []
    for child in _children(pid):
        found += [child] if _alive(child) else []
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


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    except (OSError, IndexError):
        return False


def trackers_of(pids: Collection[int]) -> set[int]:
    """Return those of the processes that are resource trackers of Python's: no workers of a run's."""
    found = {pid for pid in pids if _is_tracker(pid)}
    if len(found) < len(pids):
        sleep(_EXEC_SECONDS)
        found |= {pid for pid in pids if _is_tracker(pid)}
    return found


def _is_tracker(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return b"resource_tracker" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


def _proportional_bytes(pid: int) -> int:
    """Return the memory of a process, of each page its share among those that have it."""
    with contextlib.suppress(OSError, ValueError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return 0
