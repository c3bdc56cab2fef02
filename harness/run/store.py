"""The result store: an append-only SQLite journal that survives kill -9 and takes several writers.

One row a record, committed with synchronous=FULL before anything else happens. Rows are never
changed: a newer measurement of the same run is a newer row. The view ``results`` shows one column
a figure, so ``pandas.read_sql_query("select * from results", connection)`` reads everything at once.
"""

from __future__ import annotations

import json
import math
import os
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd

    from harness.run.study import Record

SCHEMA_VERSION = 1
_BUSY_SECONDS = 60.0

COLUMNS = (
    "plugin", "solver", "label", "parameters", "dataset", "formulation", "problem_parameters", "kernel",
    "kernel_parameters", "seed", "repetition", "status", "reason", "fit_seconds", "cpu_seconds", "compile_seconds",
    "peak_rss_bytes", "kernel_evaluations", "cache_hits", "iterations", "support_vectors", "core_set_size", "working_set_size",
    "core_set", "primal", "dual", "gap", "relative_gap", "kkt_violation", "feasibility_violation", "epsilon", "epsilon_plus",
    "epsilon_minus", "margin_lower", "margin_upper", "train_accuracy", "test_accuracy", "metrics", "claimed_done",
    "oracle_calls", "oracle_kernel_evaluations", "n_train", "n_features", "n_test", "threads", "time_limit",
    "memory_limit", "kernel_evaluation_limit", "iteration_limit", "target_gap", "cache_mb", "load_average",
    "involuntary_switches", "output", "measured_at", "versions", "machine", "git_commit", "code_sha256",
    "data_sha256", "info", "trace", "key",
)  # fmt: skip
"""The fields of every record, in the order reports show them; unknown is None."""


def default_store() -> Path:
    """Return the store used when none is named: ``$HARNESS_STORE`` or ``results.sqlite`` in the user's data folder."""
    named = os.environ.get("HARNESS_STORE")
    if named:
        return Path(named)
    import platformdirs

    return platformdirs.user_data_path("svm-harness") / "results.sqlite"


def clean(value: Any) -> Any:
    """Return ``value`` as strict JSON data: no NaN, no infinity, no numpy scalars, no tuples."""
    if isinstance(value, dict):
        return {str(name): clean(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [clean(item) for item in value]
    if hasattr(value, "item") and not isinstance(value, (str, bytes)):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, (int, float, str, bool, type(None))) else str(value)


class Store:
    """An open store; a context manager.

    Raises
    ------
    UsageError : the file is no store, or was written by a newer schema; the sentence says which.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(self.path, timeout=_BUSY_SECONDS, isolation_level=None)
            self._prepare()
        except (OSError, sqlite3.DatabaseError) as error:
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
        """Commit one record; it is on disk when this returns."""
        text = json.dumps(clean({name: record.get(name) for name in COLUMNS}), allow_nan=False)
        self._connection.execute(
            "INSERT INTO records (key, status, measured_at, record) VALUES (?, ?, ?, ?)",
            (record["key"], record["status"], record["measured_at"], text),
        )

    def newest(self, key: str) -> Record | None:
        """Return the newest record of a run, or None."""
        row = self._connection.execute(
            "SELECT record FROM records WHERE key = ? ORDER BY id DESC LIMIT 1", (key,)
        ).fetchone()
        return None if row is None else dict(json.loads(row[0]))

    def records(self) -> Iterable[Record]:
        """Return all records, oldest first."""
        for (text,) in self._connection.execute("SELECT record FROM records ORDER BY id"):
            yield dict(json.loads(text))

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def read_results(path: str | Path | None = None) -> pd.DataFrame:
    """Return every record of a store as a DataFrame, oldest first; nested figures are dicts and lists.

    Raises
    ------
    UsageError : there is no store at ``path``.
    """
    import pandas as pd

    path = Path(path) if path is not None else default_store()
    if not path.exists():
        raise UsageError(f"there is no result store at {path}; run `harness compare` first or name one with --store.")
    with Store(path) as store:
        return pd.DataFrame(list(store.records()), columns=list(COLUMNS))
