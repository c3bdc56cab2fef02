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
import json
import os
import sqlite3
import stat
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from urllib.parse import quote

import msgspec

from harness.run.record import COLUMNS, TYPES, Record, validate_record
from harness.support.errors import NotKept, UsageError
from harness.support.printable import clipped

if TYPE_CHECKING:
    import pandas as pd

SCHEMA_VERSION = 2  # 2: with checksums
APPLICATION_ID = 0x53564D48  # "SVMH"; a store of an older harness has none, and is known by the shape of its table
DAMAGE = (sqlite3.Error, UnicodeDecodeError, MemoryError)  # the latter two of texts and sizes in a damaged file
_SHAPES = {
    1: ["id INTEGER", "key TEXT", "status TEXT", "measured_at TEXT", "record TEXT"],
    2: ["id INTEGER", "key TEXT", "status TEXT", "measured_at TEXT", "record TEXT", "checksum INTEGER"],
}
_OLDEST_FIRST = "ORDER BY measured_at, id"  # not by number alone: a merge adds older rows behind newer ones
_BATCH_ROWS = 100  # rows read by one query: another process may write between two batches
_UNKNOWN = dict.fromkeys(COLUMNS)
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
        return (row.record for row in self._read("WHERE key = ? ORDER BY measured_at DESC, id DESC", key))

    def records(self) -> Iterator[Record]:
        """Yield all records that can be read, oldest first; ``damaged`` names the others."""
        return (row.record for row in self.rows())

    def rows(self, key: str | None = None) -> Iterator[Row]:
        """Yield all rows that can be read, or those of a run, oldest first."""
        return self._read(f"{'WHERE key = ?' if key else ''} {_OLDEST_FIRST}", *([key] if key else []))

    def at(self, numbers: Sequence[int]) -> Iterator[Record]:
        """Yield the records of rows by their numbers; of those that are gone or cannot be read none."""
        return (row.record for row in self._rows_at(numbers))

    def count(self) -> int:
        """Return how many rows there are; 0 if they cannot be listed."""
        return len(self._numbers(""))

    def _read(self, condition: str, *values: str) -> Iterator[Row]:
        return self._rows_at(self._numbers(condition, *values))

    def _numbers(self, condition: str, *values: str) -> list[int]:
        """Return the numbers of the rows under a condition; none if they cannot be listed."""
        if not self.schema:  # an empty file
            return []
        with self._noting_damage():
            return [number for (number,) in self._connection.execute(f"SELECT id FROM records {condition}", values)]
        return []

    def _rows_at(self, numbers: Sequence[int]) -> Iterator[Row]:
        for start in range(0, len(numbers), _BATCH_ROWS):
            yield from self._batch(numbers[start : start + _BATCH_ROWS])

    def _batch(self, numbers: Sequence[int]) -> Iterator[Row]:
        """Yield rows that are read by one query, or by one query each where a page of one is damaged."""
        query = (
            f"SELECT id, records.key, status, measured_at, record, {'checksum' if self.schema > 1 else 'NULL'} "
            "FROM (SELECT value FROM json_each(?)) CROSS JOIN records ON id = value"  # CROSS: in the order of the numbers
        )
        found: list[Any] = []
        with self._noting_damage():
            found = self._connection.execute(query, [json.dumps(numbers)]).fetchall()
        if not found and len(numbers) > 1:
            for number in numbers:
                yield from self._batch([number])
            return
        for number in set(numbers).difference(number for number, *_ in found):
            self.damaged.setdefault(
                number, f"row {number} of {self.path} cannot be found by its number; it is left out."
            )
        for number, *content, check in found:
            record = self._record(number, content, check)
            if record is not None:
                yield Row(number, tuple(content), check, record)

    @contextlib.contextmanager
    def _noting_damage(self) -> Iterator[None]:
        """Context in which an error of a damaged file becomes a sentence in ``damaged``."""
        try:
            yield
        except DAMAGE as error:
            self.damaged[0] = f"{self.path} is damaged ({error}), and rows are left out; sqlite3's .recover saves more."

    def _record(self, number: int, content: list[Any], check: int | None) -> Record | None:
        """Return a row's record; None, and a sentence in ``damaged``, if it is not what was written."""
        what = "it holds no record"
        if check is not None and check != checksum(*map(str, content)):
            what = "its checksum is wrong: it is not what was written"
        else:
            try:
                found = (json.loads if check is None else msgspec.json.decode)(content[-1])
                if isinstance(found, dict):
                    return _restored(found, trusted=check is not None)
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


def _restored(found: dict[str, Any], *, trusted: bool) -> Record:
    """Return the record of a decoded text; a text whose checksum is right was cleaned before it was written.

    A field of another kind than this harness gives it is checked all the same.
    """
    fitting = {name: value for name, value in found.items() if type(value) is TYPES.get(name)} if trusted else {}
    others = {name: value for name, value in found.items() if name not in fitting}
    return Record(_UNKNOWN | fitting | validate_record(others))


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
    if getattr(error, "sqlite_errorname", "") == "SQLITE_NOTADB":
        return UsageError(
            f"{path} is no result store; name one that `harness compare` wrote. Exported CSV, JSON and Parquet files are not "
            "read back: name the store that they were exported from."
        )
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


TARGET = -1  # where others are numbered in the order in which they were named


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
        with self._connection:  # two processes may create the same store at once
            run("BEGIN IMMEDIATE")
            if schema_of(self._connection, self.path) < SCHEMA_VERSION:
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

    def _shown(self) -> set[str]:
        """Return the columns of the view: an older harness may have made it, or a newer one."""
        return {name for _, name, *_ in self._connection.execute("PRAGMA table_info(results)")}

    def _is_ready(self) -> bool:
        """Return whether there is nothing to prepare, for which one need not wait for other writers."""
        marked = self._connection.execute("PRAGMA application_id").fetchone()[0] == APPLICATION_ID
        return marked and self._shown().issuperset(COLUMNS)

    def _show_columns(self) -> None:
        """Make the view anew with every column; what it has more stays."""
        names = [*COLUMNS, *sorted(self._shown().difference(COLUMNS, {"id"}))]
        columns = ", ".join(f"json_extract(record, '$.{name}') AS \"{name}\"" for name in names)
        self._connection.execute("DROP VIEW IF EXISTS results")
        self._connection.execute(f"CREATE VIEW results AS SELECT id, {columns} FROM records ORDER BY id")

    @contextlib.contextmanager
    def _written(self) -> Iterator[sqlite3.Connection]:
        """Commit what is written inside, all of it or nothing.

        Raises
        ------
        NotKept : it could not be written: no space is left, the file is damaged, or it is not the one that was opened.
        """
        try:
            self._refuse_another_file()
            with self._connection:
                self._connection.execute("BEGIN IMMEDIATE")
                yield self._connection
            self._refuse_another_file()
        except (OSError, *DAMAGE) as error:
            raise NotKept(f"the result store {self.path} cannot be written ({error})") from None

    def _stamped(self) -> list[int]:
        """Return which file is the store's, and which its log's: that stays the same while anybody has the store open.

        Not by opening one: closing it again would take this process's locks from it.
        """
        return [Path(f"{os.path.realpath(self.path)}{end}").stat().st_ino for end in ("", "-wal")]

    def _refuse_another_file(self) -> None:
        with contextlib.suppress(OSError):
            if self._stamped() == self._files:
                return
        raise NotKept(f"the result store {self.path} was deleted, moved or replaced since it was opened")

    def append(self, *records: Record) -> None:
        """Commit records, the rows of their cells with them, all or none. They are on disk when this returns.

        Raises
        ------
        NotKept : it could not be written.
        """
        with self._written() as connection:
            for each in (row for record in records for row in (*record.cells, record)):
                content = written(each)
                connection.execute(_INSERT, (*content, checksum(*content)))

    def merge(self, sources: Sequence[StoreReader]) -> Merged:
        """Add the rows of the sources, all of them or, where it is killed, none; other writers wait meanwhile.

        Nothing of the sources is changed. Rows that cannot be read are in each source's ``damaged``.

        Raises
        ------
        NotKept : the store could not be written; it is as it was.
        """
        told, measured = Merged([0] * len(sources), [0] * len(sources)), dict[str, list[tuple[str, int]]]()
        with self._written() as connection:
            for number, source in enumerate(sources):
                for row in source.rows():
                    told.read[number] += 1
                    there = list(self.rows(row.content[0]))
                    if any(each.content == row.content or each.record.text() == row.record.text() for each in there):
                        continue
                    told.added[number] += 1
                    connection.execute(_INSERT, (*row.content, row.check))
                    known = measured.setdefault(row.content[0], [(each.content[2], TARGET) for each in there])
                    known.append((row.content[2], number))
        several = {key: each for key, each in measured.items() if len({whose for _, whose in each}) > 1}
        told.conflicts = {key: Conflict(next(self.of(key)), each) for key, each in several.items()}
        return told

    def delete(self, rows: Iterable[tuple[int, str, str]]) -> int:
        """Delete rows by number, key and time of measurement, all of them or none; return how many there were.

        The number alone may be that of another row by now.

        Raises
        ------
        NotKept : the store could not be written.
        """
        with self._written() as connection:
            before = connection.total_changes
            connection.executemany("DELETE FROM records WHERE id = ? AND key = ? AND measured_at = ?", rows)
            return connection.total_changes - before


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
