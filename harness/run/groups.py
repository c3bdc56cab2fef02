"""Control groups of the system (cgroup v2): what holds all descendants of a process, whatever they do.

Where this process may make groups below its own, everything a run started is ended in one step, its CPU time is known
and, where the memory controller is handed down, its memory, each shared page counted once. Elsewhere there is none, and
processes are followed one by one.
"""

from __future__ import annotations

import contextlib
import functools
import os
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep

_EMPTY_SECONDS = 1.0  # that the killed may take to be gone


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
        """Return the processes that are in the group itself."""
        try:
            return [int(line) for line in (self.folder / "cgroup.procs").read_text().split()]
        except OSError:
            return []

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
        for folder in sorted((path for path in self.folder.rglob("*") if path.is_dir()), reverse=True):
            _removed(folder, until)
        _removed(self.folder, until)


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
    found = _folder()
    if found is None:
        return None
    group = Group(found)
    trial = group.below(f"harness-trial-{os.getpid()}")
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
