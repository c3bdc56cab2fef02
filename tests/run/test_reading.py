"""Reading a store changes no row, waits for nobody and needs no right to write; what is no store is left as it is."""

import contextlib
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from harness import StoreReader
from harness.run.store import APPLICATION_ID, read_results
from tests.run.rows import filled

READ = (
    "import os, sys; from harness.run.store import StoreReader as R\n"
    "if os.geteuid() == 0:  # who may write everywhere; the interpreter's own folder may be closed to others\n"
    "    os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
    "with R(sys.argv[1]) as s: print(len([*s.records()]))"
)
WRITE = (
    "import os, sys; from tests.run.rows import record; from harness.run.store import Store\n"
    "with Store(sys.argv[1]) as store: store.append(record('late')); print(flush=True); sys.stdin.read()"
)


def seen(folder):
    """Return all there is in a folder: names and contents."""
    return {path.name: path.read_bytes() if path.is_file() else b"" for path in folder.iterdir()}


@contextlib.contextmanager
def writer(path):
    """Another process that has written a row, and has the store open until it is killed."""
    command = [sys.executable, "-c", WRITE, path]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"\n"
        yield
        process.kill()


@pytest.fixture(params=["closed", "written", "locked", "killed", "copied without its index", "empty"])
def store(request, tmp_path):
    """A store in each state in which a reader may find one, and the rows that it has."""
    path, rows = tmp_path / "a store?of#100%.sqlite", 3
    with contextlib.ExitStack() as stack:
        if request.param == "empty":
            path.touch()
            rows = 0
        else:
            filled(path)
        if request.param in ("written", "killed", "copied without its index"):
            stack.enter_context(writer(path))
            rows = 4
        if request.param in ("killed", "copied without its index"):
            stack.close()
        if request.param == "locked":
            other = stack.enter_context(contextlib.closing(sqlite3.connect(path, isolation_level=None)))
            other.execute("BEGIN EXCLUSIVE")
            other.execute("DELETE FROM records")
        if request.param == "copied without its index":
            Path(f"{path}-shm").unlink()
        yield path, rows


def test_reading_waits_for_nobody(store):
    path, rows = store
    began = time.monotonic()
    frame = read_results(path)
    with StoreReader(path) as opened:
        assert len(list(opened.of("1"))) == (rows > 2)
    assert (len(frame), frame.attrs["damaged"]) == (rows, [])
    assert time.monotonic() - began < 4.0


def test_a_store_is_read_where_nothing_may_be_written(store):
    path, rows = store
    if not Path(f"{path}-shm").exists() and Path(f"{path}-wal").exists():
        pytest.skip("SQLite makes the index of a log, and here it cannot")
    with tempfile.TemporaryDirectory() as name:  # pytest's own folders are closed to other users
        folder = Path(shutil.copytree(path.parent, name, dirs_exist_ok=True))
        for file in folder.iterdir():
            file.chmod(0o444)
        before = seen(folder)
        folder.chmod(0o555)
        command = [sys.executable, "-c", READ, folder / path.name]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        folder.chmod(0o755)
        assert done.stdout.split() == [str(rows)], done.stderr
        assert seen(folder) == before


def _another_database(path, script):
    connection = sqlite3.connect(path)
    connection.executescript(script)
    connection.close()


FOREIGN = {
    "of something else": lambda path: _another_database(path, "CREATE TABLE notes (a); INSERT INTO notes VALUES (1)"),
    "with a log": lambda path: _another_database(path, "PRAGMA journal_mode=WAL; CREATE TABLE notes (a)"),
    "records of another kind": lambda path: _another_database(path, "CREATE TABLE records (id INTEGER PRIMARY KEY, key TEXT)"),
    "of another program": lambda path: _another_database(path, "PRAGMA application_id=7; PRAGMA user_version=2"),
    "of another schema": lambda path: _another_database(path, f"PRAGMA application_id={APPLICATION_ID}; PRAGMA user_version=7"),
    "text": lambda path: path.write_text("no database " * 100),
    "a few bytes": lambda path: path.write_bytes(b"SQLite format 3\0"),
    "a folder": lambda path: path.mkdir(),
    "a pipe": os.mkfifo,
    "a device": lambda path: path.symlink_to("/dev/zero"),
}  # fmt: skip
