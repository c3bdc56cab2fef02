"""What the rows of a study say: the newest run of each kind, means and medians over repetitions, published numbers."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from harness import Status
from reports.kit.journal import Row
from reports.kit.libsvm_counted import COUNT
from reports.kit.measured import Quotient, change, mean, median, quotient, ratio, stdev
from reports.kit.measured import located as numbers_at
from reports.kit.running import IDENTITY

__all__ = ["Published", "Results", "change", "comparable", "inside", "ratio"]

Cell = tuple[str, str, str, str]
"""Figure, set, solver, quantity."""


@dataclass(frozen=True)
class Published:
    """The numbers of a paper, from a CSV with the columns figure, set, solver, quantity, value and source.

    shown : cell -> our number, of the cells that a table has shown beside ours
    """

    values: dict[Cell, float]
    shown: dict[Cell, float | None] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Published:
        """Read the file; lines that start with # are remarks."""
        with path.open() as file:
            rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
        return cls({(r["figure"], r["set"], r["solver"], r["quantity"]): float(r["value"]) for r in rows})

    def get(self, figure: str, name: str, solver: str, quantity: str) -> float | None:
        """Return a number, None where the paper has none."""
        cell = (figure, name, solver, quantity)
        value = self.values.get(cell)
        return None if value is None else Printed(value, cell, self)

    def cells(self, figure: str) -> dict[Cell, float]:
        """Return the numbers of a figure but times, which are of other machines."""
        return {cell: value for cell, value in self.values.items() if cell[0] == figure and "seconds" not in cell[3]}


class Printed(float):
    """A published number that knows its cell: :func:`reports.kit.markdown.beside` notes what is shown beside it."""

    cell: Cell | None
    source: Published | None

    def __new__(cls, value: float, cell: Cell | None = None, source: Published | None = None) -> Printed:
        found = super().__new__(cls, value)  # statistics makes averages of the kind of the numbers: of no cell
        found.cell, found.source = cell, source
        return found

    def note(self, ours: float | None) -> None:
        """Note our number for the cell: the first one that is shown counts; others are of other settings."""
        if self.source is not None and self.cell is not None and self.source.shown.get(self.cell) is None:
            self.source.shown[self.cell] = ours


class Results:
    """The rows of a journal, looked at by set and solver, with the published numbers.

    Each run has the ``machine`` of the header before it, see :func:`comparable`.

    plan : of the study, for what reads the rows
    """

    def __init__(self, rows: Iterable[Row], published: Published, plan: Any = None) -> None:
        everything = located(rows)
        self.published, self.plan = published, plan
        self.headers = [row for row in everything if row.get("part") == "header"]
        self.missing = [row for row in everything if "missing" in row]
        self.derived = [row for row in everything if "derived" in row]
        runs = [row for row in everything if "status" in row]
        newest: dict[tuple[Any, ...], Row] = {}
        for row in runs:
            key = tuple(row[name] for name in IDENTITY)
            newest.pop(key, None)  # the later row replaces the earlier one, and is the later one in the order too
            newest[key] = row
        self.runs = [row for row in newest.values() if row["status"] != Status.SKIPPED]
        self.skipped = [row for row in newest.values() if row["status"] == Status.SKIPPED]
        self._of: dict[tuple[str, str], list[Row]] = {}
        for row in self.runs:
            self._of.setdefault((row["set"], row["solver"]), []).append(row)

    @property
    def sets(self) -> list[str]:
        """The sets with runs, in the order they were measured."""
        return list(dict.fromkeys(row["set"] for row in self.runs))

    def of(self, name: str, solver: str, **fixed: Any) -> list[Row]:
        """Return the finished runs of a solver on a set, one for each repetition.

        fixed : columns with the values they must have; ``cache_mb=None``: those of the cache measured last
        """
        found = self._of.get((name, solver), [])
        if "cache_mb" not in fixed and found:
            fixed = {**fixed, "cache_mb": found[-1]["cache_mb"]}
        found = [row for row in found if all(row[column] == value for column, value in fixed.items())]
        return [row for row in found if row["status"] == Status.OK]

    def stopped(self, name: str, solver: str) -> list[Row]:
        """Return the runs that did not finish: stopped at the limit, or failed."""
        return [row for row in self._of.get((name, solver), []) if row["status"] != Status.OK]

    def values(self, name: str, solver: str, quantity: str, **fixed: Any) -> list[float]:
        """Return a quantity of each finished run that has it; ``metrics.prbep`` and ``info.delta`` look inside."""
        return [
            value * 1.0 for row in self.of(name, solver, **fixed) if (value := inside(row, quantity)) is not None
        ]  # fmt: skip

    def mean(self, name: str, solver: str, quantity: str, **fixed: Any) -> float | None:
        """Return the mean over repetitions, None where nothing was measured."""
        values = self.values(name, solver, quantity, **fixed)
        return mean(values) if values else None

    def median(self, name: str, solver: str, quantity: str, **fixed: Any) -> float | None:
        """Return the median over repetitions, None where nothing was measured."""
        values = self.values(name, solver, quantity, **fixed)
        return median(values) if values else None

    def quotient(
        self, name: str, above: str, below: str, quantity: str, over: Literal["mean", "median"] = "mean", **fixed: Any
    ) -> Quotient:
        """Return how many times as much of a quantity one solver has as another on a set, if they were measured in turns.

        over : what makes one number of those of the repetitions; of times the median is meant
        """
        average = self.mean if over == "mean" else self.median
        return quotient(*(average(name, solver, quantity, **fixed) for solver in (above, below)))

    def spread(self, name: str, solver: str, quantity: str) -> float | None:
        """Return the standard deviation over repetitions, None for fewer than two."""
        values = self.values(name, solver, quantity)
        return stdev(values) if len(values) > 1 else None


def place(machine: Row) -> str:
    """Return the name of a machine, of a header row."""
    return f"{machine['processor']}, {machine.get('cores')} cores, {machine['memory_bytes'] / 2**30:.0f} GB"


def located(rows: Iterable[Row]) -> list[Row]:
    """Return the rows, each run with its ``machine``, that of the last header before it, its numbers with where it was measured.

    A run whose commit nobody kept, and what several runs gave together, has that of the header, or else is compared only with what
    the same command measured.
    """
    found: list[Row] = []
    here, command = None, None
    for row in rows:
        if row.get("part") == "header":
            here = place(row["machine"])
            command = row.get("git_commit") or row.get("measured_at")
        if "status" in row or "derived" in row:
            where = (here or row.get("machine"), row.get("git_commit") or command)
            row = {**numbers_at(row, where), "machine": where[0], "measured_by": where[1]}
        found.append(row)
    return found


def comparable(*rows: Row) -> bool:
    """Return whether the times and counts of these runs may be divided: one machine, one commit, in turns."""
    return len({(row.get("machine"), row.get("git_commit")) for row in rows}) <= 1


def inside(row: Row, quantity: str) -> Any:
    """Return ``row``'s quantity; ``metrics.prbep`` looks into the dict ``metrics``.

    Kernel evaluations that the harness could not count are those that the solver counted itself, if it did.
    """
    if quantity == "kernel_evaluations" and row.get(quantity) is None:
        quantity = f"info.{COUNT}"
    outer, _, inner = quantity.partition(".")
    return (row.get(outer) or {}).get(inner) if inner else row.get(outer)
