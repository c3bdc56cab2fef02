"""Times of runs, each with the clock it was read from: only those of one clock are divided, or drawn on one axis.

Two runs' times are divided only where they were measured in turns, too: on one machine, at one commit.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from harness import Status
from reports.kit.journal import Row
from reports.kit.results import comparable

Clock = Literal["CPU", "wall"]


class MixedClocks(ValueError):
    """Times of several clocks were to be divided, or drawn on one axis."""


@dataclass(frozen=True)
class Time:
    """Seconds inside a solver.

    at_least : the run was stopped there, and would have taken longer
    """

    seconds: float
    clock: Clock = "CPU"
    at_least: bool = False

    def over(self, other: Time) -> Ratio | None:
        """Return how many times as long as ``other`` this took; None where ``other`` was stopped, or took no time.

        Raises
        ------
        MixedClocks : the two are of different clocks.
        """
        axis([self, other])
        if other.at_least or other.seconds <= 0.0:
            return None
        return Ratio(self.seconds / other.seconds, self.at_least)


@dataclass(frozen=True)
class Ratio:
    """How many times as long; at_least : the longer run was stopped."""

    value: float
    at_least: bool = False

    def __str__(self) -> str:
        return f"{'at least ' if self.at_least else ''}{self.value:.1f} times"


def cpu_time(row: Row) -> Time | None:
    """Return the CPU time of a run, or what it had when it was stopped; None where nobody kept that."""
    spent = row["cpu"] if row.get("cpu") is not None else row.get("killed_cpu_seconds")
    return None if spent is None else Time(spent, "CPU", row["status"] != Status.OK)


def quotient(above: Row, below: Row) -> tuple[Ratio | None, str]:
    """Return how many times as long ``above`` took as ``below``, or None and why that is not told."""
    if not comparable(above, below):
        return None, "not in turns"
    times = [cpu_time(row) for row in (above, below)]
    if times[0] is None or times[1] is None:
        return None, "CPU time not kept"
    found = times[0].over(times[1])
    return found, "" if found is not None else "stopped"


def axis(times: Iterable[Any]) -> str:
    """Return what an axis of ``times`` is called, which are :class:`Time` or columns of rows: the clock that all are of.

    Raises
    ------
    MixedClocks : they are of several.
    """
    clocks = sorted({getattr(each, "clock", "") for each in times} - {""})
    if len(clocks) > 1:
        raise MixedClocks(f"seconds of the {' and the '.join(clocks)} clock in one figure; expected those of one.")
    return f"{clocks[0]} seconds" if clocks else "seconds"
