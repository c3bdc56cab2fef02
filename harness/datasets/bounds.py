"""How much memory reading data may take, so that a file is refused before it fills the machine.

What is unpacked is counted as it comes, and what a header claims is compared before room is made for it. Where a
library does the work, the process's own bound on its data (``RLIMIT_DATA``) turns what would end it into a sentence.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from harness.errors import DataError
from harness.machine import status_bytes

AS_TEXT = 3
"""Bytes of memory that a byte of text takes while it is parsed: itself, its numbers, and these in their parts."""

_ROOM = 1 << 30  # bytes beside a limit that the libraries may take when they are loaded: code, threads' stacks
_SHARE = 0.9  # of the memory that is available, when the process is to stop rather than the machine
_limit: ContextVar[tuple[int, bool] | None] = ContextVar("memory_limit", default=None)  # bytes, the user's own
_lock = threading.Lock()
_readers = 0  # of this process, at this moment
_before: tuple[int, int] = (0, 0)  # the process's bound when the first of them began


@contextmanager
def reading_within(limit: int | None) -> Iterator[None]:
    """Bound the memory that reading takes meanwhile.

    Parameters
    ----------
    limit : bytes, what the user gave; None: what is the bound already, else half of the memory that is available

    Raises
    ------
    MemoryError : by whatever allocates more.
    """
    ours = _limit.get() or (available_memory() // 2, False)  # told once, and the same for all of a reading
    token = _limit.set(ours if limit is None else (limit, True))
    try:
        with _process_bounded():
            yield
    finally:
        _limit.reset(token)


def bound() -> int:
    """Return the bytes that reading may take: what the user gave, else half of the memory that is available."""
    given = _limit.get()
    return available_memory() // 2 if given is None else given[0]


def refuse_beyond(needed: float, path: Path | str, what: str, remedy: str = "") -> None:
    """Raise if ``needed`` bytes of memory are more than the bound.

    Parameters
    ----------
    what : what takes them, the beginning of a clause: ``its array x, float64 of shape (4, 3),``
    remedy : what to do beside another limit, the end of the sentence: ``or unpack it first``

    Raises
    ------
    DataError : it is more.
    """
    most = bound()
    if needed > most:
        raise DataError(f"'{path}': {what} takes {shown(needed)}; {_most(most)}{f', {remedy}' if remedy else ''}.")


def out_of_memory(path: Path | str) -> DataError:
    """Return the error on a file whose parsing ran out of memory."""
    return DataError(f"'{path}': reading it takes too much memory; {_most(bound())}, or convert it to .npy.")


def _most(most: int) -> str:
    _, users = _limit.get() or (most, False)
    whose = "--memory-limit" if users else "half of the memory that is available"
    return f"reading may take {shown(most)} ({whose}). Give a greater --memory-limit"


def shown(size: float) -> str:
    """Return a number of bytes as a reader would say it: ``1.5 GB``."""
    for unit, bytes_ in (("TB", 2**40), ("GB", 2**30), ("MB", 2**20)):
        if size >= bytes_:
            return f"{size / bytes_:,.3g} {unit}" if size < 1000 * bytes_ else f"{size / bytes_:,.0f} {unit}"
    return f"{size:,.0f} bytes"


def available_memory() -> int:
    """Return the bytes that this process can still have: of the machine, and of its control groups where they say."""
    import psutil

    found = int(psutil.virtual_memory().available)
    for most, used in _groups():
        with contextlib.suppress(OSError, ValueError):  # 'max' is no bound
            found = min(found, _number(most) - _number(used))
    return max(found, 0)


def _number(file: str) -> int:
    with open(file) as content:
        return int(content.read())


def _groups() -> Iterator[tuple[str, str]]:
    """Yield the files that tell a group's bound and use of memory, for the process's group and those it is in."""
    with contextlib.suppress(OSError), open("/proc/self/cgroup") as lines:
        for line in lines:
            _, controllers, name = line.strip().split(":", 2)
            if controllers not in ("", "memory"):
                continue
            files = (
                ("memory.limit_in_bytes", "memory.usage_in_bytes") if controllers else ("memory.max", "memory.current")
            )
            folders = [folder for folder in name.split("/") if folder]
            for depth in range(len(folders) + 1):
                group = "/".join(("/sys/fs/cgroup", *filter(None, [controllers]), *folders[:depth]))
                yield f"{group}/{files[0]}", f"{group}/{files[1]}"


@contextmanager
def _process_bounded() -> Iterator[None]:
    """Bound the data of the process while anyone reads: memory that is asked for and not given raises MemoryError."""
    global _readers, _before
    import resource

    with _lock:
        _readers += 1
        if _readers == 1:
            _before = resource.getrlimit(resource.RLIMIT_DATA)
            _bound_data(resource, _before)
    try:
        yield
    finally:
        with _lock:
            _readers -= 1
            if _readers == 0:
                resource.setrlimit(resource.RLIMIT_DATA, _before)


def _bound_data(resource: Any, before: tuple[int, int]) -> None:
    given, users = _limit.get() or (0, False)
    room = given + _ROOM if users else _SHARE * available_memory()
    held = status_bytes("VmData")
    if held is None:
        return
    most = min([int(held + room), *(each for each in before if each != resource.RLIM_INFINITY)])
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_DATA, (most, before[1]))
