"""A store that cannot be written any more: a sentence, exit code 3, and no record that is lost unseen."""

import json
import resource
import shutil

import pytest

from harness.run.store import Store, read_results
from harness.support.errors import NotKept
from tests.run.rows import filled, record
from tests.run.test_interruption import command, run_again


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
