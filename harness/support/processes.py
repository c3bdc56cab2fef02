"""What the system accounts to processes: their CPU time, their memory, and the processes that they started.

Memory is what a process takes from the machine: anonymous and shared pages. Pages of mapped files are not among it, since
the system drops them when it needs room.
"""

from __future__ import annotations

import contextlib
import os
import re
import resource
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

_TICKS = os.sysconf("SC_CLK_TCK")  # units of CPU time in a second
_BYTES = re.compile(rb"^(VmHWM|VmData|VmSwap|RssAnon|RssFile|RssShmem|HugetlbPages|Pss_Anon):\s+(\d+) kB", re.MULTILINE)
_READ_BYTES = 1 << 20  # most of a file of the system's that is read
_IN_MEMORY = ("/memfd:", "/dev/shm/")  # how the names of files begin that lie in memory
_KIND = 6  # characters of such a name that tell its file system; inode numbers are unique in each

FileKey = tuple[str, int]
"""File system and inode number of a file in memory."""


class Account(NamedTuple):
    """A process: whether it has ended (and nobody waited for it yet), and its CPU seconds to 0.01 s.

    waited_seconds : of the processes that it started and waited for, and of theirs
    """

    pid: int
    ended: bool
    own_seconds: float
    waited_seconds: float

    @property
    def cpu_seconds(self) -> float:
        """Of the process and of those that it waited for."""
        return self.own_seconds + self.waited_seconds


def _read(path: str) -> bytes:
    """Return what a file of the system's says; without the layers of ``open``, since processes are looked at often."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(fd, _READ_BYTES)
    finally:
        os.close(fd)


def account(pid: int) -> Account | None:
    """Return what the system accounts to a process; None: there is none."""
    try:
        fields = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split(None, 15)
        user, system, waited_user, waited_system = map(int, fields[11:15])
    except (OSError, ValueError):
        return None
    return Account(pid, fields[0] in (b"Z", b"X"), (user + system) / _TICKS, (waited_user + waited_system) / _TICKS)


def below(pid: int | str) -> list[Account]:
    """Return the processes below one, parents first, those included that have ended and that nobody waited for.

    By the system's own lists of children: psutil reads the state of every process of the machine for that, each time.
    """
    found = list[Account]()
    for child in children(pid):
        known = account(child)
        found += [] if known is None else [known]
        found += below(child)
    return found


def children(pid: int | str) -> list[int]:
    """Return the children of a process; each of its threads has those that it forked itself."""
    found = list[int]()
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError):
                found += map(int, _read(f"/proc/{pid}/task/{thread}/children").split())
    return found


def is_alive(pid: int) -> bool:
    """Return whether a process has not ended."""
    known = account(pid)
    return known is not None and not known.ended


def children_cpu_seconds() -> float:
    """Return the CPU seconds of the processes that this one started, and of theirs, whether it waited for them or not."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime + sum(each.cpu_seconds for each in below("self"))


class Scheduling(NamedTuple):
    """What the scheduler accounts to the main thread of a process.

    delay_seconds : it was ready to run, and other work had the core
    """

    cpu_seconds: float
    delay_seconds: float


UNSCHEDULED = Scheduling(0.0, 0.0)


def scheduling(pid: int | str = "self") -> Scheduling:
    """Return how long the main thread of a process ran, and was delayed; 0 where it is unreadable."""
    try:
        ran, delayed = _read(f"/proc/{pid}/schedstat").split()[:2]
        return Scheduling(int(ran) / 1e9, int(delayed) / 1e9)
    except (OSError, ValueError):
        return UNSCHEDULED


def memory_figures(pid: int | str = "self") -> dict[str, int]:
    """Return the figures of /proc/PID/status in bytes (``VmHWM``, ``RssAnon``, ``VmData``); empty if it is unreadable.

    ``ru_maxrss`` is no substitute for ``VmHWM``: a forked child inherits its parent's peak there.
    """
    return _figures(pid, "status")


def proportional_figures(pid: int) -> dict[str, int]:
    """Return the figures of /proc/PID/smaps_rollup in bytes, in which a page of several processes is shared among them."""
    return _figures(pid, "smaps_rollup")


def _figures(pid: int | str, name: str) -> dict[str, int]:
    try:
        return {field.decode(): int(value) * 1024 for field, value in _BYTES.findall(_read(f"/proc/{pid}/{name}"))}
    except OSError:
        return {}


def private_bytes(figures: Mapping[str, int]) -> int:
    """Return the anonymous memory of a process, from :func:`memory_figures`."""
    return sum(figures.get(name, 0) for name in ("RssAnon", "HugetlbPages", "VmSwap"))


def reset_peak_memory() -> None:
    """Start this process's VmHWM anew, so that a run's peak does not include what came before it, such as compilation."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def open_in_memory(pid: int) -> dict[FileKey, tuple[str, int]]:
    """Return the files in memory that a process has open, mapped or not, with their names and bytes."""
    found = dict[FileKey, tuple[str, int]]()
    with contextlib.suppress(OSError):
        for fd in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                link = f"/proc/{pid}/fd/{fd}"
                if (name := os.readlink(link)).startswith(_IN_MEMORY):  # noqa: PTH115  many, and often
                    status = Path(link).stat()
                    found[name[:_KIND], status.st_ino] = name, 512 * status.st_blocks
    return found


def file_in_memory(name: str, key: FileKey) -> int:
    """Return the bytes of a file in memory by its name; 0: it is gone."""
    with contextlib.suppress(OSError):
        status = Path(name).stat()
        return 512 * status.st_blocks if status.st_ino == key[1] else 0
    return 0


def system_v_segments(pids: Iterable[int]) -> dict[FileKey, int]:
    """Return the bytes of the System V segments of shared memory that some processes made."""
    found, makers = dict[FileKey, int](), set(pids)
    with contextlib.suppress(OSError):
        for line in _read("/proc/sysvipc/shm").splitlines()[1:]:
            fields = line.split()
            if int(fields[4]) in makers:
                found["/SYSV0", int(fields[1])] = int(fields[14])
    return found


def mapped_in_memory(pid: int) -> dict[FileKey, int]:
    """Return the bytes of each file in memory that a process has mapped, used or not."""
    found = dict[FileKey, int]()
    with contextlib.suppress(OSError), open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as file:
        for line in file:
            fields = line.split(maxsplit=5)
            if len(fields) == 6 and fields[5].startswith((*_IN_MEMORY, "/SYSV")):
                start, end = fields[0].split("-")
                key = fields[5][:_KIND], int(fields[4])
                found[key] = found.get(key, 0) + int(end, 16) - int(start, 16)
    return found
