"""All that a run's process starts: found, counted, measured and ended.

Where the system lets this process make control groups (cgroup v2), a worker is in one, with all that it forks: everything
in it is ended in one step, and its CPU time and memory are known. Elsewhere, and where HARNESS_NO_GROUPS is set, it is
found below the worker in the tree of processes: the worker is the parent of whatever its children leave behind. To move a
process into a group takes 0.3 to 20 ms, so no run is moved: where something cannot be killed one by one, the worker moves
into a new group, and the old one is killed.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import runpy
import signal
import sys
from collections.abc import Iterable
from pathlib import Path
from time import monotonic, process_time, sleep

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_PREFIX = "harness-run-"  # begins the names of control groups; then the pid of who made it, and a number
_EMPTY_SECONDS = 1.0  # that the killed may take to be gone
_ONE_BY_ONE_SECONDS = 0.02  # with a control group; what lives then is ended with its group
_HUNT_SECONDS = 0.5  # without
_TRACKER_SECONDS = 1.0  # for Python's resource trackers: no fault of a run, they end with it and unlink what it left
_EXEC_SECONDS = 0.02  # a tracker that was just forked is not yet known by its command line
_ROUND_SECONDS = 0.001


def at_parents_end(number: int) -> None:
    """Have this process get the signal ``number`` when its parent ends."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number)


def adopt_orphans() -> None:
    """Make this process the parent of whatever its children leave behind, daemons included."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)


class Group:
    """A control group, by its folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def with_process(self, name: str, pid: int = 0) -> Group | None:
        """Make a group in this one and take a process in, 0: the calling one; None where that is refused."""
        group = Group(self.folder / name)
        with contextlib.suppress(OSError):
            group.folder.mkdir()
            try:
                (group.folder / "cgroup.procs").write_text(str(pid))
                return group
            except OSError:  # it is gone already, or the system refuses
                group.remove()
        return None

    def members(self) -> list[int]:
        """Return the processes in the group and below it."""
        found: list[int] = []
        for folder, _, _ in os.walk(self.folder):
            with contextlib.suppress(OSError):
                found += map(int, Path(folder, "cgroup.procs").read_text().split())
        return found

    def kill(self) -> None:
        """End all processes in the group and below it, also those that are being forked (Linux 5.14)."""
        with contextlib.suppress(OSError):
            (self.folder / "cgroup.kill").write_text("1")

    def cpu_seconds(self) -> float:
        """Return the CPU time of all that is or was in the group and below it."""
        with contextlib.suppress(OSError, ValueError, IndexError):
            return int((self.folder / "cpu.stat").read_text().split()[1]) * 1e-6  # usage_usec comes first
        return 0.0

    def memory_bytes(self) -> int | None:
        """Return the memory of the group and below it; None where the memory controller is not handed down."""
        with contextlib.suppress(OSError, ValueError):
            return int((self.folder / "memory.current").read_text())
        return None

    def remove(self) -> None:
        """Kill what is left, wait until it is gone, and take the group and those below it away."""
        self.kill()
        until = monotonic() + _EMPTY_SECONDS
        for folder, _, _ in os.walk(self.folder, topdown=False):
            while True:
                try:
                    Path(folder).rmdir()
                    break
                except FileNotFoundError:
                    break
                except OSError:  # its processes are not gone yet
                    if monotonic() > until:
                        break
                    sleep(_ROUND_SECONDS)


@functools.cache
def own_group() -> Group | None:
    """Return the group of this process if groups can be made in it and killed as one; else None.

    Empty groups that drivers left which were killed are taken away.
    """
    if os.environ.get("HARNESS_NO_GROUPS"):
        return None
    with contextlib.suppress(OSError, StopIteration, ValueError):
        path = next(line[3:] for line in Path("/proc/self/cgroup").read_text().splitlines() if line.startswith("0::"))
        for mount in Path("/proc/self/mountinfo").read_text().splitlines():
            fields = mount.split()
            folder = Path(fields[4]) / path.lstrip("/").rstrip("\n")
            if "cgroup2" not in fields[fields.index("-") :] or fields[3] != "/" or not os.access(folder, os.W_OK):
                continue
            for left in folder.glob(f"{_PREFIX}*"):
                for each, _, _ in os.walk(left, topdown=False):
                    with contextlib.suppress(OSError):  # something runs in it
                        Path(each).rmdir()
            trial = folder / f"{_PREFIX}{os.getpid()}-trial"
            trial.mkdir()
            works = all(os.access(trial / name, os.W_OK) for name in ("cgroup.kill", "cgroup.procs"))
            trial.rmdir()
            return Group(folder) if works and os.access(folder / "cgroup.procs", os.W_OK) else None
    return None


class Descendants:
    """The processes below this one, in its own control group where it may have one."""

    def __init__(self) -> None:
        self._base, self._moves = own_group(), 0
        self._group = self._entered()
        self._before = frozenset[int]()  # what this process itself started, a plugin's import in it for one
        self._cpu = self._own_cpu = 0.0

    def _entered(self) -> Group | None:
        self._moves += 1
        return self._base and self._base.with_process(f"{_PREFIX}{os.getpid()}-{self._moves}")

    def begin(self) -> None:
        """Count processes and CPU time from here: a run begins."""
        self._before = frozenset()
        self._before = frozenset(self._all())
        self._cpu, self._own_cpu = self._group.cpu_seconds() if self._group else 0.0, process_time()

    def cpu_seconds(self) -> float:
        """Return the CPU time since the beginning of all that was forked since; 0 where there is no control group."""
        if self._group is None:
            return 0.0
        return max(0.0, self._group.cpu_seconds() - self._cpu - (process_time() - self._own_cpu))

    def others(self, child: int) -> list[int]:
        """Return the processes that a run's process started, as far as they are alive."""
        return living(child) if self._group is None else [pid for pid in self._all() if pid != child]

    def memory_bytes(self, child: int, limit: int) -> int:
        """Return the memory of a run's process and of those it started, pages that they share counted once.

        limit : the figure is exact, that of the others included, where it may be above
        """
        whole = None if self._group is None else self._group.memory_bytes()
        if whole is not None:
            return whole
        own, others = _bytes(child, "status", "VmRSS:"), self.others(child)
        if not others or own + sum(_bytes(pid, "status", "VmRSS:") for pid in others) <= limit:
            return own
        return max(own, sum(_bytes(pid, "smaps_rollup", "Pss:") for pid in (child, *others)))

    def close(self) -> None:
        """Leave the control group: this process ends."""
        if self._group is not None and self._base is not None:
            with contextlib.suppress(OSError):
                (self._base.folder / "cgroup.procs").write_text(str(os.getpid()))
                self._group.remove()

    def end(self) -> tuple[int, list[int]]:
        """End and reap all that is left when a run's process is gone; return how many were alive, and those that still are."""
        if self._clear():
            return 0, []
        found = self._all()
        trackers = trackers_of(found)
        count = len(set(found) - trackers)
        if trackers:
            if count:
                self._hunt(trackers)
            until = monotonic() + _TRACKER_SECONDS
            while any(map(_alive, trackers)) and monotonic() < until:
                sleep(_ROUND_SECONDS)
                _reap()
        return count, self._hunt(set())

    def _all(self) -> list[int]:
        """Return all below this process but those of before, and what these have become: a daemon may fork on."""
        found = dict.fromkeys(living(os.getpid()))  # parents first
        if self._group is not None:
            found |= dict.fromkeys(pid for pid in self._group.members() if pid != os.getpid())
        found = {pid: None for pid in found if pid not in self._before}
        if found and self._group is not None and self._base is not None:  # started before this process was in the group
            with contextlib.suppress(OSError):
                for pid in (self._base.folder / "cgroup.procs").read_text().split():
                    found.pop(int(pid), None)
        return list(found)

    def _clear(self) -> bool:
        """Return whether nothing is left; without a control group at two looks: processes move within their tree."""
        for _ in range(2 if self._group is None else 1):
            _reap()
            if self._all() or any(pid not in self._before for pid in _children(os.getpid())):
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
                signal_to(pid, signal.SIGSTOP if fresh else signal.SIGKILL)
            stopped.update(fresh)
            if self._group is not None and late > _ONE_BY_ONE_SECONDS and not moved and not spared:
                old, self._group = self._group, self._entered() or self._group
                if old is not self._group:
                    old.remove()
                moved = True
            elif not fresh:
                sleep(_ROUND_SECONDS)


def remove_groups(pid: int) -> None:
    """End and take away what a process that ended left of its control groups."""
    base = own_group()
    for folder in base.folder.glob(f"{_PREFIX}{pid}-*") if base is not None else ():
        Group(folder).remove()


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


def trackers_of(pids: Iterable[int]) -> set[int]:
    """Return those of the processes that are resource trackers of Python's: no workers of a run's."""
    found, left = set[int](), set(pids)
    for wait in (0.0, _EXEC_SECONDS):
        if left:
            sleep(wait)
        for pid in left:
            with contextlib.suppress(OSError):
                if b"resource_tracker" in Path(f"/proc/{pid}/cmdline").read_bytes():
                    found.add(pid)
        left -= found
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
