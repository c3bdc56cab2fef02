"""What carries out the runs of a study, and what it reports meanwhile. The driver knows runners by this file alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from harness.run.record import Record


class RunStarted(NamedTuple):
    """A run, by its index, begins on this machine, or is sent to a node."""

    run: int


class Progress(NamedTuple):
    """A text on what goes on, which replaces the one before."""

    text: str


class RunsEnded(NamedTuple):
    """Runs that ended together, by index, and the machine that they were on."""

    records: Mapping[int, Record]
    machine: Mapping[str, Any]


Event = RunStarted | Progress | RunsEnded
Stored = Callable[[str], Mapping[int, Record]]
"""Return the records that the store has of runs on a class of machines, named by its ``id``, by index."""


class Runner(Protocol):
    """Carries out runs of a study, which are named by their index in the plan."""

    def reusable(self, stored: Stored) -> Mapping[int, Record]:
        """Return the records that stand for runs; those of one block are of one class of machines."""

    def run(self, indices: Sequence[int]) -> Iterator[Event]:
        """Carry out runs and yield what happens as it happens; called once.

        Raises
        ------
        EngineLost : the engine is gone; everything that had come back was yielded.
        UsageError : no node is left.
        """

    def close(self) -> list[RunsEnded]:
        """End what goes on, and return what had ended and was not yielded."""
