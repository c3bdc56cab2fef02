"""Stores of several machines in one: every measurement that any of them has, each once.

The same measurement twice (the same key and the same content) is one row. Where a run was measured in several of them with
different content, all of it is kept, as a store keeps older measurements, and the newest stands for the run: of two of the
same time that of the store named last.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from harness.run.reading import Row
from harness.run.record import Record, checked
from harness.run.store import Store

TARGET = -1  # where others are numbered in the order in which they were named


class Source(Protocol):
    """What is merged: a `StoreReader`, or a file that holds what one held."""

    path: Path
    damaged: dict[int, str]

    def rows(self) -> Iterator[Row]:
        """Yield the rows that can be read; ``damaged`` names the others."""
        ...


@dataclass
class Conflict:
    """A run that several stores have with different content.

    run : a record of it
    measured : (time of measurement, which of the sources has it, `TARGET` or a number) of each content
    """

    run: Record
    measured: list[tuple[str, int]]

    @property
    def winner(self) -> int:
        """Whose content stands for the run."""
        return max(self.measured)[1]


@dataclass
class Merged:
    """What became of a merge.

    read, added : rows of each source, and those of them that are new
    conflicts : by the key of the run
    """

    read: list[int]
    added: list[int]
    conflicts: dict[str, Conflict] = field(default_factory=dict)


def merge(into: Store, sources: Sequence[Source]) -> Merged:
    """Add the rows of the sources to a store, in one transaction at the end: all of them or, where it is killed, none.

    Nothing of the sources is changed. Rows that cannot be read are in each source's ``damaged``.

    Raises
    ------
    NotKept : the store could not be written; it is as it was.
    """
    told = Merged([0] * len(sources), [0] * len(sources))
    with contextlib.closing(sqlite3.connect("", isolation_level=None)) as waiting:  # a file of its own, gone at the end
        waiting.execute(
            "CREATE TABLE rows (key TEXT, status TEXT, measured_at TEXT, record TEXT, checksum INTEGER, source INTEGER)"
        )
        waiting.execute("CREATE INDEX keys ON rows (key)")
        for number, source in enumerate(sources):
            for row in source.rows():
                told.read[number] += 1
                there = _there(into, waiting, row.content[0])
                if there and any(record.text() == row.record.text() for record, _ in there):
                    continue
                told.added[number] += 1
                if any(whose != number for _, whose in there):
                    _note(told.conflicts, row, number, there)
                waiting.execute("INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?)", (*row.content, row.check, number))
        order = "ORDER BY measured_at, rowid"  # readers of several stores take each for ordered by time
        into.add(waiting.execute(f"SELECT key, status, measured_at, record, checksum FROM rows {order}"))
    return told


def _there(into: Store, waiting: sqlite3.Connection, key: str) -> list[tuple[Record, int]]:
    """Return what is known of a run so far, and whose it is."""
    found = waiting.execute("SELECT record, source FROM rows WHERE key = ?", (key,)).fetchall()
    return [(row.record, TARGET) for row in into.rows(key)] + [(_record(text), whose) for text, whose in found]


def _record(text: str) -> Record:
    import json

    return checked(json.loads(text))[0]


def _note(
    conflicts: dict[str, Conflict], row: Row, number: int, there: Iterable[tuple[Mapping[str, object], int]]
) -> None:
    known = [(str(record.get("measured_at")), whose) for record, whose in there]
    conflict = conflicts.setdefault(row.content[0], Conflict(row.record, known))
    conflict.measured = [*known, (str(row.record.get("measured_at")), number)]
