"""The result store: an append-only SQLite journal that survives kill -9 and takes several writers.

One row a record with its checksum, committed with synchronous=FULL before anything else happens. Rows are never
changed: a newer measurement of the same run is a newer row. One that cannot be
read is named, and the others are read. The view ``results`` shows one column
a figure, so ``pandas.read_sql_query("select * from results", connection)`` reads everything at once.
"""

from __future__ import annotations

import json
import os
import sqlite3
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import UsageError
from harness.run.record import COLUMNS, Record, checked, clipped

if TYPE_CHECKING:
    import pandas as pd

SCHEMA_VERSION = 2  # 2: with checksums
_BUSY_SECONDS = 60.0
_DAMAGE = (sqlite3.Error, UnicodeDecodeError)  # the latter of names and messages in a damaged file
RUN = ("solver", "dataset", "formulation", "seed", "repetition")
"""What a run is called by."""


def default_store() -> Path:
    """Return the store used when none is named: ``$HARNESS_STORE`` or ``results.sqlite`` in the user's data folder."""
    named = os.environ.get("HARNESS_STORE")
    if named:
        return Path(named)
    import platformdirs

    return platformdirs.user_data_path("svm-harness") / "results.sqlite"


class Store:
    """An open store; a context manager.

    damaged : a sentence for each row that could not be read so far

    Raises
    ------
    UsageError : the file is no store, or was written by a newer schema; the sentence says which.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.damaged: dict[int, str] = {}
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(self.path, timeout=_BUSY_SECONDS, isolation_level=None)
            self._connection.text_factory = lambda data: data.decode(errors="replace")
            try:
                self._prepare()
            except BaseException:
                self._connection.close()  # its lock would hold up whoever opens the file next
                raise
        except (OSError, *_DAMAGE) as error:
            raise UsageError(
                f"the result store {self.path} cannot be opened ({error}); name another with --store."
            ) from None

    def _prepare(self) -> None:
        run = self._connection.execute
        run("PRAGMA journal_mode=WAL")
        run("PRAGMA synchronous=FULL")
        run("BEGIN IMMEDIATE")  # two processes may create the same store at once
        found = run("PRAGMA user_version").fetchone()[0]
        if found > SCHEMA_VERSION:
            run("ROLLBACK")
            raise UsageError(
                f"the result store {self.path} has schema {found}, this harness knows {SCHEMA_VERSION}; update svm-harness."
            )
        if found < SCHEMA_VERSION:
            run("CREATE TABLE IF NOT EXISTS records (id INTEGER PRIMARY KEY, key TEXT NOT NULL, status TEXT NOT NULL, "
                "measured_at TEXT NOT NULL, record TEXT NOT NULL)")  # fmt: skip
            run("ALTER TABLE records ADD COLUMN checksum INTEGER")  # NULL: a row of an older harness
            run("CREATE INDEX IF NOT EXISTS records_key ON records (key)")
            run(f"PRAGMA user_version={SCHEMA_VERSION}")
        self._show_columns()
        run("COMMIT")

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

    def append(self, record: Record) -> None:
        """Commit one record; it is on disk when this returns.

        Raises
        ------
        UsageError : it could not be written: no space is left, or the file is damaged.
        """
        content = (str(record["key"]), str(record["status"]), str(record["measured_at"]), record.text())
        insert = "INSERT INTO records (key, status, measured_at, record, checksum) VALUES (?, ?, ?, ?, ?)"
        try:
            self._connection.execute(insert, (*content, _checksum(*content)))
        except _DAMAGE as error:
            raise UsageError(
                f"a record cannot be written to the result store {self.path} ({error}); free some space, or name another "
                "with --store."
            ) from None

    def of(self, key: str) -> Iterator[Record]:
        """Yield the records of a run that can be read, newest first."""
        return self._read("WHERE key = ? ORDER BY id DESC", key)

    def records(self) -> Iterator[Record]:
        """Yield all records that can be read, oldest first; ``damaged`` names the others."""
        return self._read("ORDER BY id")

    def _read(self, condition: str, *values: str) -> Iterator[Record]:
        columns = "id, key, status, measured_at, record, checksum"
        try:
            rows = self._connection.execute(f"SELECT {columns} FROM records {condition}", values).fetchall()
        except _DAMAGE:  # a damaged page: what lies on the others is still there
            rows = list(self._one_by_one(columns, condition, values))
        for number, *content, checksum in rows:
            record = self._checked(number, content, checksum)
            if record is not None:
                yield record

    def _one_by_one(self, columns: str, condition: str, values: tuple[str, ...]) -> Iterator[Any]:
        run = self._connection.execute
        try:
            numbers = [number for (number,) in run(f"SELECT id FROM records {condition}", values)]
        except _DAMAGE:
            # a damaged page may hold any number; no row has less than 256 bytes, and some may be in the log
            numbers = list(range(1, 1 + min(self._last(), self.path.stat().st_size // 256 + 10_000)))
        for number in numbers:
            try:
                yield from run(f"SELECT {columns} FROM records WHERE id = ?", (number,)).fetchall()
            except _DAMAGE as error:
                self.damaged[number] = f"row {number} of {self.path} cannot be read ({error}); it is left out."

    def _last(self) -> int:
        try:
            return int(self._connection.execute("SELECT max(id) FROM records").fetchone()[0] or 0)
        except _DAMAGE as error:
            self.damaged[0] = f"the rows of {self.path} cannot be listed ({error}); they are left out."
            return 0

    def _checked(self, number: int, content: list[Any], checksum: int | None) -> Record | None:
        """Return a row's record; None, and a sentence in ``damaged``, if it is not what was written."""
        what = ""
        if checksum is not None and checksum != _checksum(*map(str, content)):
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

    def untrusted(self) -> set[tuple[Any, ...]]:
        """Return (solver, data set, formulation, seed, repetition) of rows without the source of all that a run used."""
        return {tuple(record.get(name) for name in RUN) for record in self._read("WHERE checksum IS NULL")}

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _checksum(*content: str) -> int:
    return zlib.crc32("\n".join(content).encode(errors="replace"))


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


def existing(path: str | Path | None = None) -> Store:
    """Open a store that is there already.

    Raises
    ------
    UsageError : there is none at ``path``.
    """
    path = Path(path) if path is not None else default_store()
    if not path.exists():
        raise UsageError(f"there is no result store at {path}; run `harness compare` first or name one with --store.")
    return Store(path)
