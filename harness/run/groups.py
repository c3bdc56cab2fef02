"""Control groups of the system (cgroup v2): what holds all descendants of a process, whatever they do.

Where this process may make groups below its own, everything a run started is ended in one step, its CPU time is known
and, where the memory controller is handed down, its memory, each shared page counted once. Elsewhere there is none, and
processes are followed one by one; so they are where HARNESS_NO_GROUPS is set.

To move a process into a group takes 0.3 to 20 ms: the system waits until no other process is being forked. So no run is
moved. Its worker is in a group of its own, :class:`Home`, where all is that it forks; where something in it cannot be
killed one by one, the worker moves out and the group is killed.
"""

from __future__ import annotations

import contextlib
import functools
import os
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep

_EMPTY_SECONDS = 1.0  # that the killed may take to be gone
_PREFIX = "harness-"


@dataclass(frozen=True)
class Group:
    """A control group, by its folder."""

    folder: Path

    def below(self, name: str) -> Group | None:
        """Make a group in this one; None if that is refused."""
        folder = self.folder / name
        try:
            folder.mkdir()
        except OSError:
            return None
        return Group(folder)

    def add(self, pid: int = 0) -> None:
        """Take a process in, 0: the calling one; what it starts from then on is in it too.

        Raises
        ------
        OSError : the system refuses.
        """
        (self.folder / "cgroup.procs").write_text(str(pid))

    def members(self) -> list[int]:
        """Return the processes that are in the group and below it."""
        found = _lines(self.folder / "cgroup.procs")
        for below in _below(self.folder):
            found += _lines(below / "cgroup.procs")
        return [int(line) for line in found]

    def kill(self) -> None:
        """End all processes in the group and below it, also those that are being forked (Linux 5.14)."""
        with contextlib.suppress(OSError):
            (self.folder / "cgroup.kill").write_text("1")

    def cpu_seconds(self) -> float | None:
        """Return the CPU time of all that is or was in the group and below it."""
        return self._figure("cpu.stat", "usage_usec", 1e-6)

    def memory_bytes(self) -> int | None:
        """Return the memory of the group and below it; None where the memory controller is not handed down."""
        with contextlib.suppress(OSError, ValueError):
            return int((self.folder / "memory.current").read_text())
        return None

    def _figure(self, file: str, name: str, unit: float) -> float | None:
        with contextlib.suppress(OSError, ValueError):
            for line in (self.folder / file).read_text().splitlines():
                key, _, value = line.partition(" ")
                if key == name:
                    return int(value) * unit
        return None

    def remove(self) -> None:
        """Kill what is left, wait until it is gone, and take the group and those below it away."""
        self.kill()
        until = monotonic() + _EMPTY_SECONDS
        for folder in reversed(_below(self.folder)):
            _removed(folder, until)
        _removed(self.folder, until)


class Home:
    """The group of this process and all that it forks, below its :func:`own`."""

    def __init__(self, base: Group, group: Group) -> None:
        self._base, self._group, self._moves = base, group, 0

    @classmethod
    def found(cls) -> Home | None:
        """Move this process into a new group; None where there are none."""
        base = own()
        if base is None:
            return None
        with contextlib.suppress(OSError):
            for entry in base.folder.glob(f"{_PREFIX}home-*"):
                with contextlib.suppress(OSError):
                    entry.rmdir()  # of a process that ended; one with a process in it is refused
        group = _entered(base, 0)
        return None if group is None else cls(base, group)

    def others(self) -> list[int]:
        """Return the processes in the group other than this one."""
        me = os.getpid()
        return [pid for pid in self._group.members() if pid != me]

    def earlier(self) -> list[int]:
        """Return the processes that were started before this one moved into the group."""
        return list(map(int, _lines(self._base.folder / "cgroup.procs")))

    def cpu_seconds(self) -> float | None:
        """Return the CPU time of all that is or was in the group, this process included."""
        return self._group.cpu_seconds()

    def memory_bytes(self) -> int | None:
        """Return the group's memory, this process's included; None where that is not known."""
        return self._group.memory_bytes()

    def leave(self) -> None:
        """Move this process into another new group and end all that is in the old one, whatever it does."""
        self._moves += 1
        group = _entered(self._base, self._moves)
        if group is not None:
            self._group.remove()
            self._group = group

    def close(self) -> None:
        """Move this process back to where it was, and take the group away."""
        with contextlib.suppress(OSError):
            self._base.add()
            self._group.remove()


def _entered(base: Group, number: int) -> Group | None:
    group = base.below(f"{_PREFIX}home-{os.getpid()}-{number}")
    if group is None:
        return None
    try:
        group.add()
    except OSError:
        group.remove()
        return None
    return group


def _lines(file: Path) -> list[str]:
    try:
        with open(file, encoding="ascii") as lines:
            return lines.read().split()
    except OSError:
        return []


def _below(folder: Path) -> list[Path]:
    """Return the groups below one, each before those below it."""
    try:
        with os.scandir(folder) as entries:
            found = [Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []
    return [group for each in found for group in (each, *_below(each))]


def _removed(folder: Path, until: float) -> None:
    while True:
        try:
            folder.rmdir()
        except FileNotFoundError:
            return
        except OSError:  # its processes are not gone yet
            if monotonic() > until:
                return
            sleep(0.001)
        else:
            return


@functools.cache
def own() -> Group | None:
    """Return the group of this process if groups can be made in it and killed as one; else None."""
    found = None if os.environ.get("HARNESS_NO_GROUPS") else _folder()
    if found is None:
        return None
    group = Group(found)
    trial = group.below(f"{_PREFIX}trial-{os.getpid()}")
    if trial is None:
        return None
    works = os.access(trial.folder / "cgroup.kill", os.W_OK) and os.access(trial.folder / "cgroup.procs", os.W_OK)
    trial.remove()
    return group if works and os.access(found / "cgroup.procs", os.W_OK) else None


def _folder() -> Path | None:
    """Return the folder of this process's group in the hierarchy of version 2."""
    try:
        lines = Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()
        mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    path = next((line[3:] for line in lines if line.startswith("0::")), None)
    for mount in mounts:
        fields = mount.split()
        if path is not None and "cgroup2" in fields[fields.index("-") :] and fields[3] == "/":
            return Path(fields[4]) / path.lstrip("/")
    return None
