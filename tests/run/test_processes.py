"""What a run starts and writes: its processes are counted and ended, it has a folder of its own, which is emptied."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from harness.run.descendants import Descendants, Folder
from tests.run.conftest import ALONE, PLUGINS, compared

LIMIT_SECONDS = 5.0
LEFT = {"many": 60, "guards": 2, "hidden-grandchild": 1, "stopped-program": 1, "printing": 1}
EXPECTED = {
    **{what: ("error", f"left {count} child process") for what, count in LEFT.items()},
    "daemon": ("error", "child process"),  # one after another: how many are seen at once is chance
    "pool-closed": ("ok", ""),
    "exits-with-helpers": ("crashed", "exited with code 0 without a result"),
    "daemon-and-hangs": ("timeout", f"time limit of {LIMIT_SECONDS:g} s"),
    "forks-idle": ("ok", ""),
    "forks-large": ("memory", "memory passed the limit of 450 MB"),
    "shared-map": ("memory", "memory passed the limit of 450 MB"),
    "where": ("ok", ""),
    "files": ("ok", ""),
    "files-killed": ("timeout", ""),
    "warm-up": ("ok", ""),
}


@pytest.fixture(scope="module")
def grid(tmp_path_factory):
    """One drive of the command: its records, its folder and the temporary folder it had."""
    folder, temporary = (tmp_path_factory.mktemp(name) for name in ("cwd", "temporary"))
    _, records, _ = compared(
        "store.sqlite", PLUGINS / "leaves.py", f"leaves[what=[{','.join(EXPECTED)}],mark={os.getpid()}]",
        "--datasets", "checkerboard[n=200,n_test=50]", "--time-limit", LIMIT_SECONDS, "--memory-limit", "450M",
        environment={**ALONE, "TMPDIR": str(temporary)}, cwd=folder,
    )  # fmt: skip
    for path in Path("/dev/shm").glob(f"*{os.getpid()}"):
        path.unlink()
    yield {record["parameters"]["what"]: record for record in records}, folder, temporary
    subprocess.run(["rm", "-rf", str(temporary)], check=True)  # what is nested too deep pytest could not


@pytest.mark.slow
@pytest.mark.parametrize("what", EXPECTED)
def test_what_leaves_something_behind_has_its_row(grid, what):
    status, reason = EXPECTED[what]
    record = grid[0][what]
    assert record["status"] == status, record["reason"]
    assert reason in record["reason"]


@pytest.mark.slow
def test_nothing_lives_on(grid):
    def living():
        names = [p.info["cmdline"] or [] for p in psutil.process_iter(["cmdline"])]
        return [name for name in names if name in (["sleep", "300.0"], ["yes"]) or "leaves.py" in " ".join(name)]

    until = time.monotonic() + 2.0
    while left := living():
        assert time.monotonic() < until, left
        time.sleep(0.1)


@pytest.mark.slow
def test_a_run_works_in_an_empty_folder_of_its_own_which_is_gone_afterwards(grid):
    records, folder, temporary = grid
    place = Path(records["where"]["info"]["folder"])
    assert place.is_relative_to(temporary)
    assert records["where"]["info"]["temporary"] == str(place) == records["where"]["info"]["variable"]
    assert records["files"]["info"]["entries"] == []
    assert list(temporary.iterdir()) == []
    assert [path.name for path in folder.iterdir() if not path.name.startswith("store.sqlite")] == []


def test_what_was_there_before_a_run_is_not_its():
    with subprocess.Popen(["sleep", "60"]) as helper:
        descendants = Descendants()
        descendants.begin()
        assert descendants.end() == 0
        assert helper.poll() is None
        helper.kill()


def test_the_folder_of_a_worker_that_was_killed_is_removed_by_the_next(tmp_path):
    script = (
        "import sys, time; from pathlib import Path; from harness.run.descendants import Folder\n"
        "folder = Folder(Path(sys.argv[1])); folder.new()\n"
        "(folder.run / 'file').write_text('x'); print('made', flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE) as worker:
        assert worker.stdout is not None
        worker.stdout.readline()
        (folder,) = tmp_path.iterdir()
        assert folder.stat().st_mode & 0o777 == 0o700
        beside = Folder(tmp_path)
        assert folder.exists()  # its owner lives
        worker.send_signal(signal.SIGKILL)
        worker.wait()
    last = Folder(tmp_path)
    assert not folder.exists()
    assert beside.path.exists()
    beside.remove()
    last.remove()
    assert list(tmp_path.iterdir()) == []
