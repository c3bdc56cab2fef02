"""Reading a result store: nothing is created or changed by it, neither the file nor what lies beside it.

SQLite is told so by the way it opens the file. With a log beside it (a writer has the store open, or was killed) the
log is read by the readers' own locks, which hold up nobody and are held up by nobody. Without one the file is taken
as it is, and opened anew once a writer has changed it.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
import sqlite3
import stat
import tempfile
import time
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, Self
from urllib.parse import quote

from harness.errors import UsageError
from harness.run.cleaning import clipped
from harness.run.record import COLUMNS, Record, checked

SCHEMA_VERSION = 2  # 2: with checksums
APPLICATION_ID = 0x53564D48  # "SVMH"; a store of an older harness has none, and is known by the shape of its table
DAMAGE = (sqlite3.Error, UnicodeDecodeError, MemoryError)  # the latter two of texts and sizes in a damaged file
RUN = ("solver", "dataset", "formulation", "seed", "repetition")
"""What a run is called by."""

_SHAPES = {
    1: ["id INTEGER", "key TEXT", "status TEXT", "measured_at TEXT", "record TEXT"],
    2: ["id INTEGER", "key TEXT", "status TEXT", "measured_at TEXT", "record TEXT", "checksum INTEGER"],
}
_TRIES = 20  # writers that come or go while the file is opened
_ROWS_AT_ONCE = 200  # in memory: a row with a long trace has a megabyte
_BUSY_SECONDS = 5.0  # readers wait for the moment in which the last writer takes the log away


class Row(NamedTuple):
    """A row of a store: its number, its texts as they were written, their checksum (None: of an older harness), its record."""

    number: int
    content: tuple[str, ...]
    check: int | None
    record: Record


class StoreReader:
    """A store that is open for reading; a context manager.

    damaged : a sentence for each row that could not be read so far

    Raises
    ------
    UsageError : the file is no store, or was written by a newer schema; the sentence says which.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.damaged: dict[int, str] = {}
        self._copy: tempfile.TemporaryDirectory[str] | None = None
        self._as_opened: tuple[tuple[int, ...], tuple[int, ...]] | None = (
            None  # where no lock keeps writers from changing what is read
        )
        try:
            _refuse_no_file(self.path)
            self._connection = self._connected()
            try:
                self.schema = schema_of(self._connection, self.path)
            except BaseException:
                self.close()
                raise
        except (OSError, *DAMAGE) as error:
            raise cannot_be_opened(self.path, error) from None

    def _connected(self) -> sqlite3.Connection:
        for _ in range(_TRIES):
            try:
                return self._connected_once()
            except sqlite3.OperationalError as error:  # perhaps the log came or went in between
                last = error
                time.sleep(0.02)
        raise last

    def _connected_once(self) -> sqlite3.Connection:
        file = os.path.realpath(self.path)
        before, log = self._stamps()
        self._as_opened = None
        if log and stamp(f"{file}-shm"):
            how = "mode=ro&readonly_shm=1"
        elif log and log[2]:  # a log without its index, which only a writer may make
            file, how = self._copied(file), "mode=rw"
        else:
            how, self._as_opened = "mode=ro&immutable=1", (before, log)
        connection = sqlite3.connect(
            f"file:{quote(os.fsencode(file))}?{how}", uri=True, timeout=_BUSY_SECONDS, isolation_level=None
        )
        try:
            connection.text_factory = lambda data: data.decode(errors="replace")
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except BaseException:
            connection.close()
            raise
        return connection

    def _copied(self, file: str) -> str:
        """Return a copy of a store that no process has open: else the index of its log would be there."""
        if self._copy is None:
            self._copy = tempfile.TemporaryDirectory(prefix="harness-store-")
        copy = f"{self._copy.name}/store.sqlite"
        for end in ("", "-wal"):
            shutil.copyfile(f"{file}{end}", f"{copy}{end}")
        return copy

    def of(self, key: str, after: int = 0) -> Iterator[Record]:
        """Yield the records of a run that can be read, newest first; only those of rows beyond the number ``after``."""
        newest = "ORDER BY measured_at DESC, id DESC"  # not by number alone: a merge adds older rows behind newer ones
        return (row.record for row in self._read(f"WHERE key = ? AND id > ? {newest}", key, after))

    def records(self) -> Iterator[Record]:
        """Yield all records that can be read, in the order in which they came; ``damaged`` names the others."""
        return (row.record for row in self.rows())

    def rows(self, key: str | None = None) -> Iterator[Row]:
        """Yield all rows that can be read, or those of a run, in the order in which they came."""
        return self._read("ORDER BY id") if key is None else self._read("WHERE key = ? ORDER BY id", key)

    def at(self, numbers: Iterable[int]) -> Iterator[Record]:
        """Yield the records of rows by their numbers; of those that are gone or cannot be read none."""
        return (row.record for row in self._checked_rows(self._by_number(numbers)))

    def last(self) -> int:
        """Return the number of the row that came last; 0 if there is none, or the rows cannot be listed."""
        return self._told("max(id)")

    def count(self) -> int:
        """Return how many rows there are; as `last`."""
        return self._told("count(*)") if self.schema else 0

    def _told(self, figure: str) -> int:
        try:
            return int(self._connection.execute(f"SELECT {figure} FROM records").fetchone()[0] or 0)
        except DAMAGE as error:
            self.damaged[0] = f"the rows of {self.path} cannot be listed ({error}); they are left out."
            return 0

    def untrusted(self) -> set[tuple[Any, ...]]:
        """Return (solver, data set, formulation, seed, repetition) of rows without the source of all that a run used."""
        condition = "WHERE checksum IS NULL" if self.schema > 1 else ""
        return {tuple(row.record.get(name) for name in RUN) for row in self._read(condition)}

    def _read(self, condition: str, *values: str | int) -> Iterator[Row]:
        """Yield the rows under a condition, a few of them in memory at a time."""
        return self._checked_rows(self._under(condition, values)) if self.schema else iter(())  # 0: an empty file

    def _under(self, condition: str, values: tuple[str | int, ...]) -> Iterator[Any]:
        while True:
            try:
                found = self._connection.execute(f"SELECT id FROM records {condition}", values).fetchall()
            except DAMAGE:  # a damaged page: what lies on the others is still there
                if not self._changed():
                    numbers = sorted(self._numbers(), reverse="DESC" in condition)
                    yield from self._one_by_one(numbers, condition, values)
                    return
            if not self._changed():
                break
            self._reopen()
        yield from self._by_number(number for (number,) in found)

    def _by_number(self, numbers: Iterable[int]) -> Iterator[Any]:
        waiting = iter(numbers)
        while part := list(itertools.islice(waiting, _ROWS_AT_ONCE)):
            listed = f"({', '.join(map(str, part))})"
            while True:
                try:
                    rows = self._connection.execute(
                        f"SELECT {self._columns} FROM records WHERE id IN {listed}"
                    ).fetchall()
                except DAMAGE:
                    rows = [] if self._changed() else list(self._one_by_one(part))
                if not self._changed():
                    break
                self._reopen()
            found = {row[0]: row for row in rows}
            for number in part:
                if number in found:
                    yield found[number]
                else:
                    self.damaged.setdefault(
                        number, f"row {number} of {self.path} is not where it shall be; it is left out."
                    )

    def _reopen(self) -> None:
        self._connection.close()
        self._connection = self._connected()

    def _checked_rows(self, found: Iterable[Any]) -> Iterator[Row]:
        for number, *content, check in found:
            record = self._checked(number, content, check)
            if record is not None:
                yield Row(number, tuple(content), check, record)

    @property
    def _columns(self) -> str:
        return f"id, key, status, measured_at, record, {'checksum' if self.schema > 1 else 'NULL'}"

    def _changed(self) -> bool:
        return self._as_opened is not None and self._as_opened != self._stamps()

    def _stamps(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        file = os.path.realpath(self.path)
        return stamp(file), stamp(f"{file}-wal")

    def _one_by_one(
        self, numbers: Iterable[int], condition: str = "", values: tuple[str | int, ...] = ()
    ) -> Iterator[Any]:
        run = self._connection.execute
        for number in numbers:
            try:
                # by its number, which needs no index; the condition holds of it too
                one = f"SELECT {self._columns} FROM (SELECT * FROM records NOT INDEXED WHERE id = ?) {condition}"
                yield from run(one, (number, *values)).fetchall()
            except DAMAGE as error:
                self.damaged[number] = f"row {number} of {self.path} cannot be read ({error}); it is left out."

    def _numbers(self) -> list[int]:
        """Return the numbers of all rows as the table or, where a page of it is damaged, its index has them."""
        for source in ("NOT INDEXED", "INDEXED BY records_key"):
            with contextlib.suppress(*DAMAGE):
                return [number for (number,) in self._connection.execute(f"SELECT id FROM records {source}")]
        # a damaged page may hold any number; no row has less than 256 bytes, and some may be in the log
        return list(range(1, 1 + min(self.last(), self.path.stat().st_size // 256 + 10_000)))

    def _checked(self, number: int, content: list[Any], check: int | None) -> Record | None:
        """Return a row's record; None, and a sentence in ``damaged``, if it is not what was written."""
        what = ""
        if check is not None and check != checksum(*map(str, content)):
            what = "its checksum is wrong: it is not what was written"
        else:
            try:
                found = json.loads(content[-1])
                if isinstance(found, dict):
                    record = checked(found)[0]
                    return Record({**dict.fromkeys(COLUMNS), **record})
                what = "it holds no record"
            except (ValueError, TypeError, RecursionError) as error:
                what = clipped(str(error), 200)
        self.damaged[number] = f"row {number} of {self.path} cannot be read ({what}); it is left out."
        return None

    def close(self) -> None:
        """Close the file."""
        self._connection.close()
        if self._copy is not None:
            self._copy.cleanup()
            self._copy = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def checksum(*content: str) -> int:
    """Return the checksum of a row's texts."""
    return zlib.crc32("\n".join(content).encode(errors="replace"))


def stamp(file: str | Path) -> tuple[int, ...]:
    """Return what tells one file from another, and from itself after a change; empty if there is none.

    Not by opening it: closing a file again would take this process's locks from it, those of open stores.
    """
    try:
        found = Path(file).stat()
    except FileNotFoundError:
        return ()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def schema_of(connection: sqlite3.Connection, path: Path) -> int:
    """Return the schema of the store in a file, 0 if the file is empty.

    Raises
    ------
    UsageError : it holds something else, or a newer schema.
    """
    run = connection.execute
    application, version = (run(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version"))
    if application == 0 and not run("SELECT 1 FROM sqlite_master").fetchone():
        return 0
    shape = [f"{name} {kind}" for _, name, kind, *_ in run("PRAGMA table_info(records)")]
    ours = application == APPLICATION_ID or (application == 0 and shape in _SHAPES.values())
    if ours and version > SCHEMA_VERSION:
        raise UsageError(
            f"the result store {path} has schema {version}, this harness knows {SCHEMA_VERSION}; update svm-harness."
        )
    if not ours or shape != _SHAPES.get(version):
        raise UsageError(
            f"{path} is a database of something else, not a result store; it was left as it is. Name another file."
        )
    return int(version)


def cannot_be_opened(path: Path, error: Exception) -> UsageError:
    """Return the error of a file that cannot be opened as a store."""
    why = getattr(error, "strerror", None) or error
    return UsageError(f"the result store {path} cannot be opened ({why}); name another file.")


def _refuse_no_file(path: Path) -> None:
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode):
        what = "a folder" if stat.S_ISDIR(mode) else "no regular file"
        raise UsageError(f"the result store {path} cannot be opened: it is {what}; name a file.")
