"""What one run requested of its kernel: counts that only grow."""

from __future__ import annotations

import mmap
import os
from typing import Any

import numpy as np


class _Shared:
    """A truth value and a count that the processes forked from this one share."""

    def __init__(self) -> None:
        memory, self.pid = mmap.mmap(-1, 16), os.getpid()
        self.raised = np.frombuffer(memory, dtype=np.int64)[:1]
        self.evaluations = np.frombuffer(memory, dtype=np.int64)[1:]

    def __reduce__(self) -> Any:
        return _Shared, ()


class Counter:
    """Counts of the kernel requests of one run, shared by all oracles made from one, including restricted ones.

    evaluations : kernel values computed, used or not; a cache hit is none
    cache_hits : rows read from memory, by the oracle or by a solver from its row cache, instead of being computed
    cache_misses : rows computed again after their eviction from a cache
    cache_needed_bytes : memory for all rows that were requested from such a cache; 0 if no row was evicted
    oracle_calls, oracle_evaluations : solvers called for a subproblem, and their part of ``evaluations``
    evaluations_at_least : values came from points, from a copy or from another process: ``evaluations`` is a lower bound

    A count that would fall is refused, so that none is lowered by accident. A class in the solver's own process cannot
    refuse intent: private names, ``object.__setattr__``, replaced methods, the file of the data.
    """

    def __init__(self) -> None:
        self.__dict__.update(evaluations=0, _shared=_Shared())
        self.cache_hits = self.cache_misses = self.cache_needed_bytes = self.oracle_calls = self.oracle_evaluations = 0

    @property
    def compiled(self) -> Any:
        """The part of ``evaluations`` that compiled loops add, (1,) int64, see loops.py."""
        return self.__dict__["_shared"].evaluations

    @property
    def evaluations(self) -> int:
        """Number of kernel values computed."""
        return int(self.__dict__["evaluations"]) + int(self.compiled[0])

    @evaluations.setter
    def evaluations(self, value: int) -> None:
        self.__dict__["evaluations"] = value - int(self.compiled[0])

    @property
    def evaluations_at_least(self) -> bool:
        """True if ``evaluations`` is a lower bound: values came from points, from a copy or from another process."""
        return bool(self.__dict__["_shared"].raised[0])

    @evaluations_at_least.setter
    def evaluations_at_least(self, value: bool) -> None:
        if value:
            self.__dict__["_shared"].raised[0] = 1

    def add(self, values: int) -> None:
        """Count kernel values computed in any process."""
        self.__dict__["evaluations"] += values
        if os.getpid() != self.__dict__["_shared"].pid:
            self.evaluations_at_least = True

    def miss(self, rows: int, needed_bytes: int) -> None:
        """Count ``rows`` computed again for lack of memory, and the memory for all rows; for caches of any kind."""
        self.cache_misses += rows
        self.cache_needed_bytes = max(self.cache_needed_bytes, needed_bytes)

    def __setattr__(self, name: str, value: Any) -> None:
        least = getattr(self, name, 0)
        if type(value) not in (int, bool) or value < least:
            raise ValueError(
                f"the kernel's counter was set to {name} = {value!r} after {least!r}; its counts are whole numbers that "
                "only grow: add what was computed."
            )
        super().__setattr__(name, value)
