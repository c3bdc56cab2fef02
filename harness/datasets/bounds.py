"""How much memory reading data may take, so that a file is refused before it fills the machine.

What is unpacked is counted as it comes, and what a header or an index claims is compared before room is made for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path

from harness.support.errors import DataError

AS_TEXT = 3
"""Bytes of memory that a byte of text takes while it is parsed: itself, its numbers, and these in their parts."""

_limit: ContextVar[int | None] = ContextVar("memory_limit", default=None)  # bytes, what the user gave


@contextmanager
def reading_within(limit: int | None) -> Iterator[None]:
    """Bound the memory that reading takes meanwhile: bytes, what the user gave; None: the bound that there is already."""
    token = _limit.set(_limit.get() if limit is None else limit)
    try:
        yield
    finally:
        _limit.reset(token)


def given_limit() -> int | None:
    """Return the bytes that the user gave."""
    return _limit.get()


def bound() -> int:
    """Return the bytes that reading may take: what the user gave, else half of the memory that is available."""
    given = _limit.get()
    return available_memory() // 2 if given is None else given


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
    if needed > bound():
        raise too_large(path, f"{what} takes {shown(needed)}", remedy)


def too_large(path: Path | str, why: str, remedy: str = "") -> DataError:
    """Return the error on data that take more memory than reading may."""
    whose = "half of the memory that is available" if _limit.get() is None else "--memory-limit"
    more = f", {remedy}" if remedy else ""
    return DataError(
        f"'{path}': {why}; reading may take {shown(bound())} ({whose}). Give a greater --memory-limit{more}."
    )


def shown(size: float) -> str:
    """Return a number of bytes as a reader would say it: ``1,536.00 MB``."""
    return f"{min(size, 2**80) / 2**20:,.2f} MB"  # a size beyond every float is refused as well


def available_memory() -> int:
    """Return the bytes that this process can still have: of the machine, and of its control groups where they say."""
    import psutil

    found = [int(psutil.virtual_memory().available)]
    with suppress(OSError):
        name = Path("/proc/self/cgroup").read_text().rpartition(":")[2]  # the last line is that of version 2
        group = Path("/sys/fs/cgroup", name.strip().strip("/"))
        for folder in (group, *group.parents):
            with suppress(OSError, ValueError):  # a group that does not say; 'max' is no bound
                most, used = ((folder / f"memory.{each}").read_text() for each in ("max", "current"))
                found.append(int(most) - int(used))
    return max(min(found), 0)
