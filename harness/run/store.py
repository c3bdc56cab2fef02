"""The result store: an append-only SQLite journal that survives kill -9 and takes several writers.

One row a record with its checksum, committed with synchronous=FULL before anything else happens. Rows are never
changed: a newer measurement of the same run is a newer row. One that cannot be
read is named, and the others are read. The view ``results`` shows one column
a figure, so ``pandas.read_sql_query("select * from results", connection)`` reads everything at once.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING

from harness.errors import NotKept, UsageError
from harness.run.reading import (
    APPLICATION_ID,
    DAMAGE,
    SCHEMA_VERSION,
    StoreReader,
    cannot_be_opened,
    checksum,
    schema_of,
)
from harness.run.record import COLUMNS, Record

if TYPE_CHECKING:
    import pandas as pd

_BUSY_SECONDS = 60.0
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
        self._as_opened = self._copy = None
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(self.path, timeout=_BUSY_SECONDS, isolation_level=None)
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
        end = monotonic() + _BUSY_SECONDS
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

    def _stamped(self) -> list[tuple[int, ...]]:
        """Return which file is the store's, and which its log's: that stays the same while anybody has the store open."""
        return [each[:2] for each in self._stamps()]

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
