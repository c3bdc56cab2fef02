"""The result store: append-only, crash-safe, several writers, read by pandas in one call."""

import json
import resource
import shutil
import sqlite3
import subprocess
import sys
import threading
import time

import pandas as pd
import pytest

from harness.run.record import COLUMNS
from harness.run.store import Store, read_results
from harness.support.errors import NotKept
from tests.run.rows import filled, record, rewrite
from tests.run.test_interruption import command, run_again


def test_a_store_that_another_process_is_making_is_waited_for(tmp_path):
    """SQLite refuses at once to keep a log beside a file that somebody else is about to write."""
    other = sqlite3.connect(tmp_path / "s.sqlite", isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    done = threading.Timer(0.2, other.execute, ["COMMIT"])
    done.start()
    with Store(tmp_path / "s.sqlite") as store:
        store.append(record())
        assert len(list(store.records())) == 1
    done.join()
    other.close()


def test_a_store_of_an_older_harness_gets_the_columns_it_lacks(tmp_path):
    path = tmp_path / "s.sqlite"
    with Store(path) as store:
        store.append(record(fit_seconds=1.0))
    connection = sqlite3.connect(path)
    connection.executescript(
        "DROP VIEW results; CREATE VIEW results AS SELECT id, json_extract(record, '$.fit_seconds') AS fit_seconds "
        "FROM records ORDER BY id;"
    )
    rewrite(path, 1, lambda _: '{"key": "k", "status": "ok", "fit_seconds": 1.0, "of_another_version": 7}')
    with Store(path) as store:
        store.append(record("new", core_set={"ratio": 0.5}, fit_seconds=2.0))
        assert next(store.of("k"))["fit_seconds"] == 1.0
    shown = [name for _, name, *_ in connection.execute("PRAGMA table_info(results)")]
    connection.close()
    frame = read_results(path)
    assert shown == ["id", *frame.columns] == ["id", *COLUMNS]
    assert pd.isna(frame.core_set[0])
    assert frame.core_set[1] == {"ratio": 0.5}


def test_writers_at_once_that_are_killed_leave_whole_rows_all_that_were_acknowledged(tmp_path):
    path = tmp_path / "s.sqlite"
    code = (
        "import sys; from tests.run.rows import record; from harness.run.store import Store\n"
        "store = Store(sys.argv[1])\n"
        "for i in range(10**6):\n    store.append(record(f'{sys.argv[2]} {i}')); print(i, flush=True)"
    )
    command, writers = [sys.executable, "-c", code, str(path)], {}
    for name in "abc":
        writers[name] = subprocess.Popen([*command, name], stdout=subprocess.PIPE, text=True)
    first = {name: writer.stdout.readline() for name, writer in writers.items()}
    acknowledged = {}
    for name, writer in writers.items():
        time.sleep(0.05)
        writer.kill()
        acknowledged[name] = int([first[name], *writer.communicate()[0].split()][-1])
    keys = [key.split() for key in read_results(path).key]
    for name, last in acknowledged.items():
        numbers = [int(number) for whose, number in keys if whose == name]
        assert numbers == list(range(len(numbers)))
        assert len(numbers) >= last + 1


# -- a store that cannot be written any more: a sentence, exit code 3, and no record that is lost unseen.


@pytest.mark.parametrize("what", ["deleted", "moved", "replaced", "log deleted"])
def test_a_store_that_is_no_longer_there_is_noticed(tmp_path, what):
    path = filled(tmp_path / "s.sqlite")
    with Store(path) as store:
        store.append(record())
        if what == "log deleted":
            (tmp_path / "s.sqlite-wal").unlink()
        elif what == "deleted":
            path.unlink()
        else:
            shutil.move(path, tmp_path / "moved.sqlite")
        if what == "replaced":
            shutil.copy(tmp_path / "moved.sqlite", path)
        with pytest.raises(NotKept, match="deleted, moved or replaced"):
            store.append(record("late"))


@pytest.mark.slow
def test_the_command_says_what_is_kept_and_shows_the_rest(tmp_path, log):
    store = tmp_path / "store.sqlite"

    def at_most():  # a disk quota, as far as one file goes
        resource.setrlimit(resource.RLIMIT_FSIZE, (90_000, 90_000))

    done = run_again(command(store), preexec_fn=at_most)
    assert done.returncode == 3, done.stderr
    assert "Traceback" not in done.stderr
    kept, records = len(read_results(store)), json.loads(done.stdout)
    assert 0 < kept < 8
    lost = len(records) - kept
    assert [found["status"] for found in records] == ["ok"] * (kept + lost)  # lost: 0 where a claim had no room either
    assert lost in (0, 1)
    again = run_again(command(store))
    assert (again.returncode, len(read_results(store))) == (0, 8), again.stderr
    assert sum(found["reused"] for found in json.loads(again.stdout)) == kept
