"""What the system accounts to processes: their CPU time, their memory, and the processes that they started.

Memory is what a process takes from the machine: anonymous and shared pages. Pages of mapped files are not among it, since
the system drops them when it needs room.
"""

from __future__ import annotations

import contextlib
import os
import re
import resource
import signal
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

_TICKS = os.sysconf("SC_CLK_TCK")  # units of CPU time in a second
_BYTES = re.compile(rb"^(VmHWM|VmData|VmSwap|RssAnon|RssFile|RssShmem|HugetlbPages|Pss_Anon):\s+(\d+) kB", re.MULTILINE)
_READ_BYTES = 1 << 20  # most bytes of a file below /proc that are read
_BLOCK_BYTES = 512  # bytes of a block in ``st_blocks``
_IN_MEMORY = ("/memfd:", "/dev/shm/")  # how the names of files begin that lie in memory


class Account(NamedTuple):
    """What the system accounts to a process.

    state : the letter of its state; Z and X: it has ended, and nobody waited for it yet
    cpu_seconds : CPU seconds of the process and of those that it waited for, to 0.01 s
    waited_seconds : the part of the processes that it waited for
    """

    pid: int
    state: bytes
    cpu_seconds: float
    waited_seconds: float

    @property
    def ended(self) -> bool:
        """Whether the process has ended."""
        return self.state in (b"Z", b"X")


def _read(path: str) -> bytes:
    """Return what a file below /proc says; without the layers of ``open``, since processes are looked at often."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(fd, _READ_BYTES)
    finally:
        os.close(fd)


def account(pid: int) -> Account | None:
    """Return what the system accounts to a process; None if there is none."""
    try:
        fields = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split(None, 15)
        user, system, waited_user, waited_system = map(int, fields[11:15])
    except (OSError, ValueError):
        return None
    waited = waited_user + waited_system
    return Account(pid, fields[0], (user + system + waited) / _TICKS, waited / _TICKS)


def below(pid: int | str) -> list[Account]:
    """Return the processes below one, parents first, those included that have ended and that nobody waited for.

    By the system's own lists of children, one for each thread: psutil reads the state of every process of the machine.
    """
    accounts, children = list[Account](), list[int]()
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError):
                children += map(int, _read(f"/proc/{pid}/task/{thread}/children").split())
    for child in children:
        known = account(child)
        accounts += [] if known is None else [known]
        accounts += below(child)
    return accounts


def living(pid: int) -> list[int]:
    """Return the processes below one, parents first, without those that have ended."""
    return [each.pid for each in below(pid) if not each.ended]


def command_of(pid: int) -> tuple[str, list[str], str]:
    """Return the file that a process executes, its arguments, its own name among them, and its folder; empty if it is gone."""
    with contextlib.suppress(OSError):
        arguments = os.fsdecode(_read(f"/proc/{pid}/cmdline")).split("\0")[:-1]
        return os.readlink(f"/proc/{pid}/exe"), arguments, os.readlink(f"/proc/{pid}/cwd")  # noqa: PTH115  often
    return "", [], ""


def is_alive(pid: int) -> bool:
    """Return whether a process has not ended."""
    known = account(pid)
    return known is not None and not known.ended


def continue_if_stopped(pid: int) -> bool:
    """Continue a process if it is stopped, as SIGSTOP leaves it; return whether it was."""
    known = account(pid)
    if known is None or known.state != b"T":
        return False
    signal_to(pid, signal.SIGCONT)
    return True


def signal_to(pid: int, number: signal.Signals) -> None:
    """Send a signal to a process that may be gone."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def count_threads() -> int:
    """Return the number of threads of this process, Python's or not."""
    return len(os.listdir("/proc/self/task"))


def children_cpu_seconds() -> float:
    """Return the CPU seconds of the processes that this one started, and of theirs, whether it waited for them or not."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime + sum(each.cpu_seconds for each in below("self"))


def delay_seconds(pid: int | str = "self") -> float:
    """Return how long the main thread of a process was ready to run while other work had the core; 0 if it is unknown."""
    try:
        return int(_read(f"/proc/{pid}/schedstat").split()[1]) / 1e9
    except (OSError, IndexError):
        return 0.0


def memory_figures(pid: int | str = "self", name: str = "status") -> dict[str, int]:
    """Return the figures of /proc/PID/status in bytes (``VmHWM``, ``RssAnon``, ``VmData``); empty if it is unreadable.

    Those of ``smaps_rollup`` divide a page of several processes among them. ``ru_maxrss`` is no substitute for ``VmHWM``: a
    forked child inherits its parent's peak there.
    """
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


def bytes_of_memory_files(pids: Iterable[int], names: set[str]) -> int:
    """Return the bytes of the files in memory that processes have open, mapped or not, or that have a known name.

    names : of such files; those that the processes have open are added
    """
    sizes, paths = dict[tuple[int, int], int](), [*names]
    for pid in pids:
        with contextlib.suppress(OSError):
            paths += [f"/proc/{pid}/fd/{fd}" for fd in os.listdir(f"/proc/{pid}/fd")]
    for path in paths:
        with contextlib.suppress(OSError):
            name = os.readlink(path) if path.startswith("/proc/") else path  # noqa: PTH115  many, and often
            if name.startswith(_IN_MEMORY):
                status = Path(path).stat()
                sizes[status.st_dev, status.st_ino] = _BLOCK_BYTES * status.st_blocks
                names.add(name)
    return sum(sizes.values())
