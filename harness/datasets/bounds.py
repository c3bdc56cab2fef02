"""Bounds of the memory for reading data, so that a file is refused before it fills the machine.

Unpacked bytes are counted as they are read, and sizes in a header or an index are checked before memory is allocated.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path

from harness.support.errors import DataError

AS_TEXT = 3
"""Bytes of memory for a byte of text while it is parsed: the text, its numbers, and these divided into parts."""

_limit: ContextVar[int | None] = ContextVar("memory_limit", default=None)  # limit of the user, in bytes


@contextmanager
def reading_within(limit: int | None) -> Iterator[None]:
    """Context that bounds the memory for reading to ``limit`` bytes; None for the current bound."""
    token = _limit.set(_limit.get() if limit is None else limit)
    try:
        yield
    finally:
        _limit.reset(token)


def given_limit() -> int | None:
    """Return the limit that the user gave, in bytes; None if there is none."""
    return _limit.get()


def bound() -> int:
    """Return the bytes that reading may take: the limit of the user, else half of the available memory."""
    given = _limit.get()
    return available_memory() // 2 if given is None else given


def refuse_beyond(needed: float, path: Path | str, what: str, remedy: str = "") -> None:
    """Raise if ``needed`` bytes of memory are more than the bound.

    Parameters
    ----------
    what : subject of the message: ``its array x, float64 of shape (4, 3),``
    remedy : alternative to another limit, as the end of the message: ``or unpack it first``

    Raises
    ------
    DataError : ``needed`` is larger than the bound.
    """
    if needed > bound():
        raise too_large(path, f"{what} takes {megabytes(needed)}", remedy)


def too_large(path: Path | str, why: str, remedy: str = "") -> DataError:
    """Return the error for data that need more memory than reading may take."""
    whose = "half of the memory that is available" if _limit.get() is None else "--memory-limit"
    more = f", {remedy}" if remedy else ""
    return DataError(
        f"'{path}': {why}; reading may take {megabytes(bound())} ({whose}). Give a greater --memory-limit{more}."
    )


def megabytes(size: float) -> str:
    """Return a number of bytes as text: ``1,536.00 MB``."""
    return f"{min(size, 2**80) / 2**20:,.2f} MB"  # avoids the overflow of very large sizes


def available_memory() -> int:
    """Return the memory available to this process, in bytes, by the machine and its control groups."""
    limits = [1024 * int(Path("/proc/meminfo").read_text().partition("MemAvailable:")[2].split()[0])]
    with suppress(OSError):
        name = Path("/proc/self/cgroup").read_text().rpartition(":")[2]  # the last line is that of version 2
        group = Path("/sys/fs/cgroup", name.strip().strip("/"))
        for folder in (group, *group.parents):
            with suppress(OSError, ValueError):  # a group without these files; 'max' is no bound
                most, used = ((folder / f"memory.{name}").read_text() for name in ("max", "current"))
                limits.append(int(most) - int(used))
    return max(min(limits), 0)
