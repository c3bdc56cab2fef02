"""The result store: an append-only SQLite journal that survives kill -9 and takes several writers.

One row a record with its checksum, committed with synchronous=FULL before anything else happens. Rows are never
changed: a newer measurement of the same run is a newer row. A row that cannot be read is named, and the others are read.
The view ``results`` shows one column a figure, so ``pandas.read_sql_query("select * from results", connection)`` reads
everything at once.

Reading changes no row, holds up nobody and is held up by nobody: SQLite keeps a log beside the file. Of a writer that was
killed it moves the log into the file, as it always does. Where nothing may be written, it reads without.

What is stored by its hash is in a table of its own, compressed and written once: the text of each study, and with
--keep-models the final models.

Stores of several machines become one by a merge: the same measurement twice (the same key and the same content) is one
row. All different measurements of a run stay, and the newest stands for the run: of two of the same time that of the
store named last.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from urllib.parse import quote

import msgspec

from harness.run.record import COLUMNS, TYPES, Record, validate_record
from harness.support.errors import NotKept, UsageError
from harness.support.files import sha256_of
from harness.support.printable import clipped

if TYPE_CHECKING:
    import pandas as pd

SCHEMA_VERSION = 2
APPLICATION_ID = 0x53564D48  # "SVMH"
DAMAGE = (sqlite3.Error, UnicodeDecodeError, MemoryError)  # the latter two of texts and sizes in a damaged file
_SHAPE = ("id INTEGER", "key TEXT", "status TEXT", "measured_at TEXT", "record TEXT", "checksum INTEGER")
_INSERT = "INSERT INTO records (key, status, measured_at, record, checksum) VALUES (?, ?, ?, ?, ?)"
_INSERT_CONTENT = "INSERT OR IGNORE INTO contents (sha256, data) VALUES (?, ?)"
_UNUSED_CONTENTS = """DELETE FROM contents WHERE sha256 NOT IN (
    SELECT json_extract(record, '$.' || name) FROM records, (SELECT 'model_sha256' AS name UNION SELECT 'study')
    WHERE json_valid(record) AND json_extract(record, '$.' || name) IS NOT NULL)"""
_UNKNOWN = dict.fromkeys(COLUMNS)
_READER_SECONDS = 5.0  # seconds a reader waits for the moment in which the last writer takes the log away
_WRITER_SECONDS = 60.0  # seconds a writer waits for the others


def default_store() -> Path:
    """Return the store used when none is named: ``$HARNESS_STORE`` or ``results.sqlite`` in the user's data folder."""
    named = os.environ.get("HARNESS_STORE")
    if named:
        return Path(named)
    import platformdirs

    return platformdirs.user_data_path("svm-harness") / "results.sqlite"


class Row(NamedTuple):
    """A row of a store: number, texts as they were written, their checksum, and record."""

    number: int
    content: tuple[str, ...]
    check: int
    record: Record


class StoreReader:
    """A store that is open for reading; a context manager.

    path : the file; None: `default_store`
    damaged : a sentence for each row that could not be read so far

    Raises
    ------
    UsageError : there is no file, it is no store, or was written by a newer schema; the sentence says which.
    """

    def __init__(self, path: str | Path | None = None) -> None:
        self.path = Path(path) if path is not None else default_store()
        self.damaged: dict[int, str] = {}
        try:
            self._connection = self._connect()
            try:
                self.schema = self._prepare()
            except BaseException:
                self.close()  # its lock would hold up whoever opens the file next
                raise
        except (OSError, *DAMAGE) as error:
            raise _cannot_be_opened(self.path, error) from None

    def _connect(self) -> sqlite3.Connection:
        """Open the file: with its log, without making one, or, where there is none and none can be made, as it is."""
        if not stat.S_ISREG(self.path.stat().st_mode):
            raise OSError("it is no regular file")
        log = Path(f"{os.path.realpath(self.path)}-wal")
        modes = ["rw", "ro", *([] if log.exists() and log.stat().st_size else ["ro&immutable=1"])]
        for mode in modes[:-1]:
            with contextlib.suppress(sqlite3.OperationalError):
                return _connection(self.path, mode, _READER_SECONDS)
        return _connection(self.path, modes[-1], _READER_SECONDS)

    def _prepare(self) -> int:
        """Return the schema of the open file."""
        return _schema(self._connection, self.path)

    def of(self, key: str) -> Iterator[Record]:
        """Yield the records of a run that can be read, newest first."""
        return self.at(self._numbers("WHERE key = ? ORDER BY measured_at DESC, id DESC", key))

    def of_data(self, sha256: str) -> Iterator[Record]:
        """Yield the records over data of a checksum that can be read, oldest first."""
        return self.at(self._numbers("WHERE instr(record, ?) ORDER BY measured_at, id", f'"data_sha256":"{sha256}"'))

    def records(self) -> Iterator[Record]:
        """Yield all records that can be read, oldest first; ``damaged`` names the others."""
        return (row.record for row in self.rows())

    def rows(self) -> Iterator[Row]:
        """Yield all rows that can be read, oldest first."""
        return self._rows(self._numbers("ORDER BY measured_at, id"))  # a merge adds older rows behind newer ones

    def at(self, numbers: Iterable[int]) -> Iterator[Record]:
        """Yield the records of rows by their numbers; rows that are gone or cannot be read are left out."""
        return (row.record for row in self._rows(numbers))

    def content(self, sha256: str) -> bytes | None:
        """Return what is stored under a SHA-256: a model, or the text of a study; None if it is not there, or damaged."""
        if not self._select("SELECT 1 FROM sqlite_master WHERE name = 'contents'"):
            return None  # an older harness wrote the store
        for (data,) in self._select("SELECT data FROM contents WHERE sha256 = ?", sha256):
            with contextlib.suppress(zlib.error, TypeError):
                content = zlib.decompress(data)
                return content if sha256_of(content) == sha256 else None
        return None

    def _numbers(self, condition: str, *values: str) -> list[int]:
        """Return the numbers of the rows under a condition; none if they cannot be listed."""
        return [number for (number,) in self._select(f"SELECT id FROM records {condition}", *values)]

    def _rows(self, numbers: Iterable[int]) -> Iterator[Row]:
        """Yield rows one by one: another process may write between two, and a damaged page costs its own rows alone."""
        columns = "key, status, measured_at, record, checksum"
        for number in numbers:
            why = "there is none of that number"
            for *content, check in self._select(f"SELECT {columns} FROM records WHERE id = ?", number):
                why = ""
                try:
                    yield Row(number, tuple(content), check, _record(content, check))
                except (ValueError, TypeError, RecursionError) as error:
                    why = clipped(str(error), 200)
            if why:
                self.damaged[number] = f"row {number} of {self.path} cannot be read ({why}); it is left out."

    def _select(self, query: str, *values: str | int) -> list[tuple[Any, ...]]:
        """Return the rows of a query; none, and a sentence in ``damaged``, where the file is damaged."""
        try:
            return self._connection.execute(query, values).fetchall() if self.schema else []
        except DAMAGE as error:
            self.damaged[0] = f"{self.path} is damaged ({error}), and rows are left out; sqlite3's .recover saves more."
            return []

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class Merged(NamedTuple):
    """Result of a merge.

    read, added : rows of each source, and how many of them are new
    remeasured : keys of the runs that have several different measurements now
    """

    read: list[int]
    added: list[int]
    remeasured: set[str]


class Store(StoreReader):
    """A store that is open for writing, made if there is none; a context manager.

    Raises
    ------
    UsageError : the file is no store, or was written by a newer schema; the sentence says which. It is as it was.
    """

    def _connect(self) -> sqlite3.Connection:
        if self.path.exists():
            StoreReader(self.path).close()  # refuses what is no store, and changes nothing of it
        self.path.parent.mkdir(parents=True, exist_ok=True)
        return _connection(self.path, "rwc", _WRITER_SECONDS)

    def _prepare(self) -> int:
        """Make what this harness needs where it is not there, without waiting for other writers, and return the schema."""
        run = self._connection.execute
        self._begin_log()
        run("PRAGMA synchronous=FULL")
        shown = {name for _, name, *_ in run("PRAGMA table_info(results)")}
        if not shown.issuperset(COLUMNS) or run("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
            self._create()
        self._files = self._inodes()
        return SCHEMA_VERSION

    def _create(self) -> None:
        """Make the table and the view; another process may do so at the same moment."""
        run = self._connection.execute
        with self._connection:
            run("BEGIN IMMEDIATE")
            if _schema(self._connection, self.path) < SCHEMA_VERSION:
                run("CREATE TABLE records (id INTEGER PRIMARY KEY, key TEXT NOT NULL, status TEXT NOT NULL, "
                    "measured_at TEXT NOT NULL, record TEXT NOT NULL, checksum INTEGER NOT NULL)")  # fmt: skip
                run("CREATE INDEX records_key ON records (key)")
                run(f"PRAGMA user_version={SCHEMA_VERSION}")
            run("CREATE TABLE IF NOT EXISTS contents (sha256 TEXT PRIMARY KEY, data BLOB NOT NULL)")
            run(f"PRAGMA application_id={APPLICATION_ID}")
            columns = ", ".join(f"json_extract(record, '$.{name}') AS \"{name}\"" for name in COLUMNS)
            run("DROP VIEW IF EXISTS results")
            run(f"CREATE VIEW results AS SELECT id, {columns} FROM records ORDER BY id")

    def _begin_log(self) -> None:
        """Have SQLite write a log. It does not wait itself where another process begins one or writes at the same moment."""
        end = monotonic() + _WRITER_SECONDS
        while True:
            try:
                self._connection.execute("PRAGMA journal_mode=WAL")
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or monotonic() > end:
                    raise
                sleep(0.01)

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Commit what is written inside, all of it or nothing.

        Raises
        ------
        NotKept : it could not be written: no space is left, the file is damaged, or it is not the one that was opened.
        """
        try:
            self._raise_if_replaced()
            with self._connection:
                self._connection.execute("BEGIN IMMEDIATE")
                yield self._connection
            self._raise_if_replaced()
        except (OSError, *DAMAGE) as error:
            raise NotKept(f"the result store {self.path} cannot be written ({error})") from None

    def _inodes(self) -> list[int]:
        """Return which file is the store's, and which its log's: that stays the same while anybody has the store open.

        The files are not opened for it: closing one again would take this process's locks from it.
        """
        return [Path(f"{os.path.realpath(self.path)}{end}").stat().st_ino for end in ("", "-wal")]

    def _raise_if_replaced(self) -> None:
        with contextlib.suppress(OSError):
            if self._inodes() == self._files:
                return
        raise NotKept(f"the result store {self.path} was deleted, moved or replaced since it was opened")

    def append(self, *records: Record, contents: Iterable[bytes] = ()) -> int:
        """Commit records, the rows of their cells with them, all or none. They are on disk when this returns.

        contents : what is stored by its SHA-256, see :meth:`content`; return the bytes that they take

        Raises
        ------
        NotKept : it could not be written.
        """
        rows = (row for record in records for row in (*record.cells, record))
        with self._transaction() as connection:
            connection.executemany(_INSERT, map(_values, rows))
            hashed = [(sha256_of(content), zlib.compress(content)) for content in contents]
            connection.executemany(_INSERT_CONTENT, hashed)
        return sum(len(data) for _, data in hashed)

    def merge(self, sources: Sequence[StoreReader]) -> Merged:
        """Add the rows of the sources, all of them or, where it is killed, none; other writers wait meanwhile.

        Nothing of the sources is changed. Rows that cannot be read are in each source's ``damaged``.

        Raises
        ------
        NotKept : the store could not be written; it is as it was.
        """
        merged = Merged([0] * len(sources), [0] * len(sources), set())
        with self._transaction() as connection:
            for number, source in enumerate(sources):
                for row in source.rows():
                    merged.read[number] += 1
                    present = {record.text() for record in self.of(row.content[0])}
                    if row.record.text() in present:
                        continue
                    merged.added[number] += 1
                    connection.execute(_INSERT, (*row.content, row.check))
                    for sha256 in (row.record.get("model_sha256"), row.record.get("study")):
                        if sha256 and (content := source.content(sha256)) is not None:
                            connection.execute(_INSERT_CONTENT, (sha256, zlib.compress(content)))
                    if present:
                        merged.remeasured.add(row.content[0])
        return merged

    def delete(self, rows: Iterable[tuple[int, str, str]]) -> int:
        """Delete rows by number, key and time of measurement, all of them or none; return how many there were.

        What no other row refers to by its hash is deleted with them. The number alone may be that of another row by now.

        Raises
        ------
        NotKept : the store could not be written.
        """
        with self._transaction() as connection:
            before = connection.total_changes
            connection.executemany("DELETE FROM records WHERE id = ? AND key = ? AND measured_at = ?", rows)
            deleted = connection.total_changes - before
            connection.execute(_UNUSED_CONTENTS)
            return deleted


def read_results(path: str | Path | None = None) -> pd.DataFrame:
    """Return every record of a store as a DataFrame, oldest first; nested figures are dicts and lists.

    ``attrs["damaged"]`` has a sentence for each row that could not be read.

    Raises
    ------
    UsageError : there is no store at ``path``.
    """
    import pandas as pd

    with StoreReader(path) as store:
        frame = pd.DataFrame(list(store.records()), columns=list(COLUMNS))
        frame.attrs["damaged"] = list(store.damaged.values())
    return frame


def _connection(path: Path, mode: str, seconds: float) -> sqlite3.Connection:
    """Return a connection that was tried. It commits by itself, waits ``seconds`` for others, and reads damaged texts too."""
    uri = f"file:{quote(os.fsencode(os.path.realpath(path)))}?mode={mode}"
    connection = sqlite3.connect(uri, uri=True, timeout=seconds, isolation_level=None)
    connection.text_factory = lambda data: data.decode(errors="replace")
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def _checksum(*texts: str) -> int:
    """Return the checksum of a row's texts."""
    return zlib.crc32("\n".join(texts).encode(errors="replace"))


def _values(record: Record) -> tuple[str | int, ...]:
    """Return a record's row: its texts and their checksum."""
    texts = (str(record["key"]), str(record["status"]), str(record["measured_at"]), record.text())
    return *texts, _checksum(*texts)


def _record(content: Sequence[Any], check: int) -> Record:
    """Return the record of a row's texts; ValueError or TypeError if it is not what was written."""
    if check != _checksum(*map(str, content)):
        raise ValueError("its checksum is wrong: it is not what was written")
    values = msgspec.json.decode(content[-1], type=dict[str, Any])
    # it was cleaned before it was written; a field of another kind than this harness gives it is checked all the same
    others = {name: value for name, value in values.items() if type(value) is not TYPES.get(name)}
    return Record(_UNKNOWN | {name: values[name] for name in values.keys() - others} | validate_record(others))


def _schema(connection: sqlite3.Connection, path: Path) -> int:
    """Return the schema of the store in a file, 0 if the file is empty.

    Raises
    ------
    UsageError : it holds something else, or a newer schema.
    """
    run = connection.execute
    application, version = (run(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version"))
    if application == 0 and not run("SELECT 1 FROM sqlite_master").fetchone():
        return 0
    shape = tuple(f"{name} {kind}" for _, name, kind, *_ in run("PRAGMA table_info(records)"))
    if application == APPLICATION_ID and version > SCHEMA_VERSION:
        raise UsageError(
            f"the result store {path} has schema {version}, this harness knows {SCHEMA_VERSION}; update svm-harness."
        )
    if (application, version, shape) != (APPLICATION_ID, SCHEMA_VERSION, _SHAPE):
        raise UsageError(
            f"{path} is a database of something else, not a result store; it was left as it is. Name another file."
        )
    return int(version)


def _cannot_be_opened(path: Path, error: Exception) -> UsageError:
    """Return the error of a file that cannot be opened as a store."""
    if isinstance(error, FileNotFoundError):
        return UsageError(f"there is no result store at {path}; run `harness compare` first or name another file.")
    if getattr(error, "sqlite_errorname", "") == "SQLITE_NOTADB":
        return UsageError(
            f"{path} is no result store; name one that `harness compare` wrote. Exported CSV, JSON and Parquet files are not "
            "read back: name the store that they were exported from."
        )
    why = getattr(error, "strerror", None) or error
    return UsageError(f"the result store {path} cannot be opened ({why}); name another file.")
