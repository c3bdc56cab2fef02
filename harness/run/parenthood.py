"""What a process settles with the system about its parent and its children (Linux); light, for it comes first."""

from __future__ import annotations

import contextlib
import ctypes

_LIBC = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def at_parents_end(number: int) -> None:
    """Have this process get the signal ``number`` when its parent ends."""
    _prctl(_PR_SET_PDEATHSIG, number)


def adopt_orphans() -> None:
    """Make this process the parent of whatever its children leave behind, daemons included."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def _prctl(option: int, value: int) -> None:
    with contextlib.suppress(OSError, AttributeError):
        _LIBC.prctl(option, value)
