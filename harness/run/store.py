"""The result store: an append-only SQLite journal that survives kill -9 and takes several writers.

One row a record with its checksum, committed with synchronous=FULL before anything else happens. Rows are never
changed: a newer measurement of the same run is a newer row. One that cannot be read is named, and the others are read.
The view ``results`` shows one column a figure, so ``pandas.read_sql_query("select * from results", connection)`` reads
everything at once.

Reading changes no row, holds up nobody and is held up by nobody: SQLite keeps a log beside the file. Of a writer that was
killed it moves the log into the file, as it always does. Where nothing may be written, it reads without.

Stores of several machines become one by a merge: the same measurement twice (the same key and the same content) is one
row. Where a run was measured in several of them with different content all of it is kept, and the newest stands for the
run: of two of the same time that of the store named last.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import sqlite3
import stat
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self
from urllib.parse import quote

from harness.errors import NotKept, UsageError
from harness.plain import clipped
from harness.run.record import COLUMNS, Record, checked

if TYPE_CHECKING:
    import pandas as pd

SCHEMA_VERSION = 2  # 2: with checksums
APPLICATION_ID = 0x53564D48  # "SVMH"; a store of an older harness has none, and is known by the shape of its table
DAMAGE = (sqlite3.Error, UnicodeDecodeError, MemoryError)  # the latter two of texts and sizes in a damaged file
_SHAPES = {
    1: ["id INTEGER", "key TEXT", "status TEXT", "measured_at TEXT", "record TEXT"],
    2: ["id INTEGER", "key TEXT", "status TEXT", "measured_at TEXT", "record TEXT", "checksum INTEGER"],
}
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
        """Open the file: with its log, without making one, or, where there is none and none can be made, as it is."""
        file = os.path.realpath(self.path)
        log = Path(f"{file}-wal")
        taken_as_it_is = [] if log.exists() and log.stat().st_size else ["ro&immutable=1"]
        for mode in ("rw", "ro", *taken_as_it_is):
            connection = sqlite3.connect(
                f"file:{quote(os.fsencode(file))}?mode={mode}", uri=True, timeout=_BUSY_SECONDS, isolation_level=None
            )
            try:
                connection.text_factory = lambda data: data.decode(errors="replace")
                connection.execute("PRAGMA query_only=1")
                connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
                return connection
            except sqlite3.OperationalError as error:
                connection.close()
                refused = error
            except BaseException:
                connection.close()
                raise
        raise refused

    def of(self, key: str) -> Iterator[Record]:
        """Yield the records of a run that can be read, newest first."""
        newest = "ORDER BY measured_at DESC, id DESC"  # not by number alone: a merge adds older rows behind newer ones
        return (row.record for row in self._read(f"WHERE key = ? {newest}", key))

    def records(self) -> Iterator[Record]:
        """Yield all records that can be read, in the order in which they came; ``damaged`` names the others."""
        return (row.record for row in self.rows())

    def rows(self, key: str | None = None) -> Iterator[Row]:
        """Yield all rows that can be read, or those of a run, in the order in which they came."""
        return self._read("ORDER BY id") if key is None else self._read("WHERE key = ? ORDER BY id", key)

    def at(self, numbers: Iterable[int]) -> Iterator[Record]:
        """Yield the records of rows by their numbers; of those that are gone or cannot be read none."""
        return (row.record for row in self._checked_rows(self._by_number(numbers)))

    def count(self) -> int:
        """Return how many rows there are; 0 if they cannot be listed."""
        return int(next(iter(self._fetched("SELECT count(*) FROM records")), (0,))[0]) if self.schema else 0

    def _read(self, condition: str, *values: str | int) -> Iterator[Row]:
        """Yield the rows under a condition, a few of them in memory at a time."""
        return self._checked_rows(self._under(condition, values)) if self.schema else iter(())  # 0: an empty file

    def _under(self, condition: str, values: tuple[str | int, ...]) -> Iterator[Any]:
        found = self._fetched(f"SELECT id FROM records {condition}", values)
        yield from self._by_number(number for (number,) in found)

    def _by_number(self, numbers: Iterable[int]) -> Iterator[Any]:
        waiting = iter(numbers)
        while part := list(itertools.islice(waiting, _ROWS_AT_ONCE)):
            columns = f"id, key, status, measured_at, record, {'checksum' if self.schema > 1 else 'NULL'}"
            listed = f"({', '.join(map(str, part))})"
            found = {row[0]: row for row in self._fetched(f"SELECT {columns} FROM records WHERE id IN {listed}")}
            for number in part:
                if number in found:
                    yield found[number]
                else:
                    self.damaged.setdefault(
                        number, f"row {number} of {self.path} is not where it shall be; it is left out."
                    )

    def _fetched(self, query: str, values: tuple[str | int, ...] = ()) -> list[Any]:
        """Return rows, none of a part that is damaged."""
        try:
            return self._connection.execute(query, values).fetchall()
        except DAMAGE as error:
            self.damaged[0] = f"{self.path} is damaged ({error}), and rows are left out; sqlite3's .recover saves more."
            return []

    def _checked_rows(self, found: Iterable[Any]) -> Iterator[Row]:
        for number, *content, check in found:
            record = self._checked(number, content, check)
            if record is not None:
                yield Row(number, tuple(content), check, record)

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

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def checksum(*content: str) -> int:
    """Return the checksum of a row's texts."""
    return zlib.crc32("\n".join(content).encode(errors="replace"))


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


_WRITER_SECONDS = 60.0
_INSERT = "INSERT INTO records (key, status, measured_at, record, checksum) VALUES (?, ?, ?, ?, ?)"


def default_store() -> Path:
    """Return the store used when none is named: ``$HARNESS_STORE`` or ``results.sqlite`` in the user's data folder."""
    named = os.environ.get("HARNESS_STORE")
    if named:
        return Path(named)
    import platformdirs

    return platformdirs.user_data_path("svm-harness") / "results.sqlite"


def written(record: Record) -> tuple[str, str, str, str]:
    """Return the texts of a record's row."""
    return str(record["key"]), str(record["status"]), str(record["measured_at"]), record.text()


class StoreGone(NotKept):
    """The store's file was deleted, moved or replaced while it was open."""


class Store(StoreReader):
    """A store that is open for writing, made if there is none; a context manager.

    Raises
    ------
    UsageError : the file is no store, or was written by a newer schema; the sentence says which. It is as it was.
    """

    def __init__(self, path: str | Path) -> None:
        self.path, self.damaged = Path(path), {}
        if self.path.exists():
            StoreReader(path).close()  # refuses what is no store, and changes nothing of it
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(self.path, timeout=_WRITER_SECONDS, isolation_level=None)
            self._connection.text_factory = lambda data: data.decode(errors="replace")
            try:
                self._prepare()
                self.schema, self._files = SCHEMA_VERSION, self._stamped()
            except BaseException:
                self._connection.close()  # its lock would hold up whoever opens the file next
                raise
        except (OSError, *DAMAGE) as error:
            raise cannot_be_opened(self.path, error) from None

    def _prepare(self) -> None:
        run = self._connection.execute
        self._keep_a_log()
        run("PRAGMA synchronous=FULL")
        if self._is_ready():
            return
        with self._transaction():  # two processes may create the same store at once
            found = schema_of(self._connection, self.path)
            if found < SCHEMA_VERSION:
                run("CREATE TABLE IF NOT EXISTS records (id INTEGER PRIMARY KEY, key TEXT NOT NULL, "
                    "status TEXT NOT NULL, measured_at TEXT NOT NULL, record TEXT NOT NULL)")  # fmt: skip
                run("ALTER TABLE records ADD COLUMN checksum INTEGER")  # NULL: a row of an older harness
                run("CREATE INDEX IF NOT EXISTS records_key ON records (key)")
                run(f"PRAGMA user_version={SCHEMA_VERSION}")
            run(f"PRAGMA application_id={APPLICATION_ID}")
            self._show_columns()

    def _keep_a_log(self) -> None:
        """Keep the log beside the file. SQLite does not wait where another process begins to do so at the same moment."""
        end = monotonic() + _WRITER_SECONDS
        while True:
            try:
                self._connection.execute("PRAGMA journal_mode=WAL")
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or monotonic() > end:
                    raise
                sleep(0.01)

    def _is_ready(self) -> bool:
        """Return whether there is nothing to prepare, for which one need not wait for other writers."""
        run = self._connection.execute
        shown = {name for _, name, *_ in run("PRAGMA table_info(results)")}
        marked = run("PRAGMA application_id").fetchone()[0] == APPLICATION_ID
        return marked and shown.issuperset(COLUMNS)

    def _show_columns(self) -> None:
        """Make the view anew unless it has every column: an older harness may have made it. What it has more stays."""
        run = self._connection.execute
        shown = {name for _, name, *_ in run("PRAGMA table_info(results)")}
        if shown.issuperset(COLUMNS):
            return
        names = [*COLUMNS, *sorted(shown.difference(COLUMNS, {"id"}))]
        columns = ", ".join(f"json_extract(record, '$.{name}') AS \"{name}\"" for name in names)
        run("DROP VIEW IF EXISTS results")
        run(f"CREATE VIEW results AS SELECT id, {columns} FROM records ORDER BY id")

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        run = self._connection.execute
        run("BEGIN IMMEDIATE")
        try:
            yield
            run("COMMIT")
        except BaseException:
            if self._connection.in_transaction:  # SQLite itself takes back what it has no room for
                with contextlib.suppress(sqlite3.Error):
                    run("ROLLBACK")
            raise

    @contextlib.contextmanager
    def _written(self) -> Iterator[None]:
        """Commit what is written inside.

        Raises
        ------
        NotKept : it could not be written: no space is left, the file is damaged, or it is not the one that was opened.
        """
        try:
            self._refuse_another_file()
            with self._transaction():
                yield
            self._refuse_another_file()
        except (OSError, *DAMAGE) as error:
            raise NotKept(f"the result store {self.path} cannot be written ({error})") from None

    def _stamped(self) -> list[tuple[int, int] | None]:
        """Return which file is the store's, and which its log's: that stays the same while anybody has the store open.

        Not by opening one: closing it again would take this process's locks from it.
        """
        found: list[tuple[int, int] | None] = []
        for end in ("", "-wal"):
            try:
                facts = Path(f"{os.path.realpath(self.path)}{end}").stat()
                found.append((facts.st_dev, facts.st_ino))
            except FileNotFoundError:
                found.append(None)
        return found

    def _refuse_another_file(self) -> None:
        if self._stamped() != self._files:
            raise StoreGone(f"the result store {self.path} was deleted, moved or replaced since it was opened")

    def append(self, record: Record) -> None:
        """Commit one record, the rows of its cells with it. It is on disk when this returns.

        Raises
        ------
        NotKept : it could not be written.
        """
        with self._written():
            for each in (*record.cells, record):
                content = written(each)
                self._connection.execute(_INSERT, (*content, checksum(*content)))

    def add(self, rows: Iterable[tuple[str, str, str, str, int | None]]) -> None:
        """Commit rows of other stores as they are there, all of them or none: their four texts and their checksum.

        Raises
        ------
        NotKept : they could not be written.
        """
        with self._written():
            self._connection.executemany(_INSERT, rows)

    def delete(self, rows: Iterable[tuple[int, str, str]]) -> int:
        """Delete rows by number, key and time of measurement, all of them or none; return how many there were.

        The number alone may be that of another row by now.

        Raises
        ------
        NotKept : the store could not be written.
        """
        with self._written():
            before = self._connection.total_changes
            self._connection.executemany("DELETE FROM records WHERE id = ? AND key = ? AND measured_at = ?", rows)
            return self._connection.total_changes - before


def read_results(path: str | Path | None = None) -> pd.DataFrame:
    """Return every record of a store as a DataFrame, oldest first; nested figures are dicts and lists.

    ``attrs["damaged"]`` has a sentence for each row that could not be read.

    Raises
    ------
    UsageError : there is no store at ``path``.
    """
    import pandas as pd

    with existing(path) as store:
        frame = pd.DataFrame(list(store.records()), columns=list(COLUMNS))
        frame.attrs["damaged"] = list(store.damaged.values())
    return frame


def existing(path: str | Path | None = None) -> StoreReader:
    """Open a store that is there already, for reading.

    Raises
    ------
    UsageError : there is none at ``path``.
    """
    path = Path(path) if path is not None else default_store()
    if not path.exists():
        raise UsageError(f"there is no result store at {path}; run `harness compare` first or name one with --store.")
    return StoreReader(path)


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
    return [(row.record, TARGET) for row in into.rows(key)] + [
        (checked(json.loads(text))[0], whose) for text, whose in found
    ]


def _note(
    conflicts: dict[str, Conflict], row: Row, number: int, there: Iterable[tuple[Mapping[str, object], int]]
) -> None:
    known = [(str(record.get("measured_at")), whose) for record, whose in there]
    conflict = conflicts.setdefault(row.content[0], Conflict(row.record, known))
    conflict.measured = [*known, (str(row.record.get("measured_at")), number)]
