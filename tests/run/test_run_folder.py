"""A run's own folder: it works there, its temporary files go there, and it is emptied."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness.run.folder import Folder, delete
from tests.run.conftest import HARNESS, PLUGINS

THINGS = (
    "where",
    "files",
    "files-killed",
    "warm-up",
)


@pytest.fixture(scope="module")
def drive(tmp_path_factory):
    """One drive of the command: its records, its folder and the temporary folder it had."""
    folder, temporary = (tmp_path_factory.mktemp(name) for name in ("cwd", "temporary"))
    mark = f"harness-test-{os.getpid()}"
    command = [
        *HARNESS, "compare", "--plugin-path", str(PLUGINS / "leaves.py"),
        "--plugins", f"leaves[what=[{','.join(THINGS)}],mark={mark}]", "--datasets", "checkerboard[n=200,n_test=50]",
        "--time-limit", "2", "--store", "store.sqlite", "--format", "json",
    ]  # fmt: skip
    environment = {**os.environ, "TMPDIR": str(temporary)}
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=120, env=environment, check=False
    )
    assert done.stdout, done.stderr
    left = [path for place in ("/tmp", "/dev/shm") for path in Path(place).glob(f"*{mark}")]
    for path in left:
        path.unlink()
    return (
        {r["parameters"]["what"]: r for r in json.loads(done.stdout)},
        folder,
        temporary,
        [p.name for p in left],
        mark,
    )


@pytest.mark.slow
def test_a_run_works_in_a_folder_of_its_own_and_so_do_its_temporary_files(drive):
    records, _, temporary, _, _ = drive
    folder = Path(records["where"]["info"]["folder"])
    assert folder.is_relative_to(temporary)
    assert records["where"]["info"]["temporary"] == str(folder) == records["where"]["info"]["variable"]
    assert records["files"]["info"]["entries"] == []


@pytest.mark.slow
def test_what_a_run_wrote_into_its_folder_is_gone_killed_or_not(drive):
    records, folder, temporary, _, _ = drive
    assert records["files"]["status"] == "ok"
    assert records["files-killed"]["status"] == "timeout"
    assert list(temporary.iterdir()) == []
    assert [path.name for path in folder.iterdir() if not path.name.startswith("store.sqlite")] == []


def test_the_folder_of_a_worker_that_was_killed_is_removed_by_the_next(tmp_path):
    script = (
        "import sys, time; from pathlib import Path; from harness.run.folder import Folder\n"
        "(Folder(Path(sys.argv[1])).new() / 'file').write_text('x'); print('made', flush=True); time.sleep(60)"
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


def test_a_folder_that_is_closed_or_very_deep_is_deleted(tmp_path):
    folder = tmp_path / "folder"
    (folder / "closed").mkdir(parents=True)
    (folder / "closed" / "file").touch()
    (folder / "closed").chmod(0)
    here = Path.cwd()
    os.chdir(folder)
    try:
        for _ in range(1100):
            Path("deep").mkdir()
            os.chdir("deep")
    finally:
        os.chdir(here)
    try:
        delete(folder)
        assert not folder.exists()
    finally:
        subprocess.run(["rm", "-rf", str(folder)], check=True)  # pytest could not
