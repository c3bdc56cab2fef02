"""What one run asked of its kernel: counts that only grow."""

from __future__ import annotations

from dataclasses import dataclass
from operator import index
from typing import Any


@dataclass
class Counter:
    """What one run asked of its kernel; shared by every view of it, restricted ones included.

    evaluations : kernel values computed, used or not; a cache hit is none
    cache_hits : rows read from memory, by the oracle or by a solver from its buffer, instead of being computed
    oracle_calls, oracle_evaluations : solvers called for a subproblem, and their part of ``evaluations``
    evaluations_at_least : the solver took what gives kernel values behind the counter, the points or the engine:
        ``evaluations`` is a lower bound

    A count that would fall, or that is no whole number, is refused, so that none is lowered by accident. A class in the
    solver's own process cannot refuse intent: private names, ``object.__setattr__``, replaced methods, the file of the data.
    A count proves nothing against an author who means to deceive.
    """

    evaluations: int = 0
    cache_hits: int = 0
    oracle_calls: int = 0
    oracle_evaluations: int = 0
    evaluations_at_least: bool = False

    def __setattr__(self, name: str, value: Any) -> None:
        counts = self.__dict__  # written to straight: a cache hit is counted in a fraction of a microsecond
        least = counts.get(name, 0)
        if not (type(value) is int or _is_whole(value)) or value < least:
            raise ValueError(
                f"the kernel's counter was set to {name} = {value!r} after {least!r}; its counts are whole numbers that "
                "only grow: add what was computed."
            )
        counts[name] = value


def _is_whole(value: Any) -> bool:
    """Return whether ``value`` is an integer of some other kind than Python's own."""
    try:
        index(value)
    except TypeError:
        return False
    return True
