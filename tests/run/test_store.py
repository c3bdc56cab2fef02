"""The result store: append-only, crash-safe, several writers, read by pandas in one call."""

import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time

import pandas as pd
import pytest

from harness.run.record import COLUMNS
from harness.run.store import Store, read_results
from tests.run.rows import record


def test_a_store_that_another_process_is_making_is_waited_for(tmp_path):
    """SQLite refuses at once to keep a log beside a file that somebody else is about to write."""
    other = sqlite3.connect(tmp_path / "s.sqlite", isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    done = threading.Timer(0.2, other.execute, ["COMMIT"])
    done.start()
    with Store(tmp_path / "s.sqlite") as store:
        store.append(record())
        assert store.count() == 1
    done.join()
    other.close()


def test_a_store_of_an_older_harness_gets_the_columns_it_lacks(tmp_path):
    path = tmp_path / "s.sqlite"
    with Store(path) as store:
        store.append(record(fit_seconds=1.0))
    connection = sqlite3.connect(path)
    connection.executescript(
        "DROP VIEW results; CREATE VIEW results AS SELECT id, json_extract(record, '$.fit_seconds') AS fit_seconds, "
        "json_extract(record, '$.of_another_version') AS of_another_version FROM records ORDER BY id;"
        """UPDATE records SET record = '{"key": "k", "status": "ok", "fit_seconds": 1.0, "of_another_version": 7}', checksum = NULL"""
    )
    with Store(path) as store:
        store.append(record("new", core_set={"ratio": 0.5}, fit_seconds=2.0))
        assert next(store.of("k"))["fit_seconds"] == 1.0
    view = connection.execute("select core_set, fit_seconds, of_another_version from results").fetchall()
    shown = [name for _, name, *_ in connection.execute("PRAGMA table_info(results)")]
    connection.close()
    assert view == [(None, 1.0, 7), ('{"ratio":0.5}', 2.0, None)]
    assert shown == ["id", *COLUMNS, "of_another_version"]
    frame = read_results(path)
    assert list(frame.columns) == list(COLUMNS)
    assert pd.isna(frame.core_set[0])
    assert frame.core_set[1] == {"ratio": 0.5}


def _write(path, name, count):
    with Store(path) as store:
        for number in range(count):
            store.append(record(f"{name}-{number}"))


def test_several_writers_at_once_lose_nothing(tmp_path):
    path = tmp_path / "s.sqlite"
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_write, args=(path, name, 50)) for name in "abc"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    assert len(read_results(path)) == 150


@pytest.mark.parametrize("delay", [0.01, 0.05, 0.2])
def test_a_killed_writer_leaves_whole_rows(tmp_path, delay):
    path = tmp_path / "s.sqlite"
    code = (
        "import sys; from tests.run.rows import record; from harness.run.store import Store\n"
        "store = Store(sys.argv[1])\n"
        "for i in range(10**6):\n    store.append(record(str(i))); print(i, flush=True)"
    )
    writer = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True)
    first = writer.stdout.readline()
    time.sleep(delay)
    os.kill(writer.pid, signal.SIGKILL)
    rest = writer.stdout.read().split()
    writer.stdout.close()
    writer.wait()
    acknowledged = int(([first.strip(), *rest])[-1] or first)
    keys = [int(key) for key in read_results(path).key]
    assert keys == list(range(len(keys)))
    assert len(keys) >= acknowledged + 1
