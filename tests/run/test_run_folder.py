"""A run's own folder: it works there, its temporary files go there, and it is emptied; what is left elsewhere is named."""

import contextlib
import json
import mmap
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from harness.run.folder import Elsewhere, Quarters, delete
from tests.run.conftest import HARNESS, PLUGINS

THINGS = (
    "where",
    "files",
    "files-killed",
    "files-elsewhere",
    "files-elsewhere-crashed",
    "shared-memory",
    "shared-memory-bare",
    "nothing",
    "warm-up",
)


def _another_program(folders, mark, over):
    """Make new files in folders that all programs share, while runs are carried out."""
    number = 0
    while not over.wait(0.002):
        number += 1
        (folders[number % len(folders)] / f"other-{number}-{mark}").touch()


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
    others = (temporary, folder, Path("/dev/shm"))
    over = threading.Event()
    other = threading.Thread(target=_another_program, args=(others, mark, over))
    other.start()
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=120, env=environment, check=False
    )
    over.set()
    other.join()
    for path in (path for each in others for path in each.glob(f"other-*{mark}")):
        path.unlink()
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


@pytest.mark.slow
def test_what_a_warm_up_leaves_is_gone_in_the_worker_too(drive):
    records, _, _, left, _ = drive
    assert records["warm-up"]["status"] == "ok"
    assert [name for name in left if name.startswith("warm-")] == []  # nor anything in the command's folder: see above


@pytest.mark.slow
@pytest.mark.parametrize("what", ["files-elsewhere", "files-elsewhere-crashed"])
def test_what_a_run_wrote_elsewhere_is_named(drive, what):
    records, _, _, left, mark = drive
    (sentence,) = records[what]["faults"]
    assert f"it wrote /tmp/{what}-{mark} (0.0 MB), which is left there" in sentence
    assert f"{what}-{mark}" in left


@pytest.mark.slow
def test_what_another_program_made_meanwhile_is_no_runs(drive):
    records, *_ = drive
    assert not any(records[what]["faults"] for what in ("where", "files", "files-killed", "nothing"))


@pytest.mark.slow
def test_shared_memory_that_is_a_runs_is_deleted(drive):
    records, _, _, left, mark = drive
    assert f"bare-{mark}" not in left
    assert f"tracked-{mark}" not in left
    assert records["shared-memory-bare"]["faults"] == [
        f"bare-{mark} (1.0 MB) was left in /dev/shm; the host deleted it"
    ]
    assert records["shared-memory"]["status"] == "ok", records["shared-memory"]["reason"]


def test_the_folder_of_a_worker_that_was_killed_is_removed_by_the_next(tmp_path):
    script = (
        "import sys, time; from pathlib import Path; from harness.run.folder import Quarters\n"
        "(Quarters(Path(sys.argv[1])).new() / 'file').write_text('x'); print('made', flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE) as worker:
        assert worker.stdout is not None
        worker.stdout.readline()
        (folder,) = tmp_path.iterdir()
        assert folder.stat().st_mode & 0o777 == 0o700
        beside = Quarters(tmp_path)
        assert folder.exists()  # its owner lives
        worker.send_signal(signal.SIGKILL)
        worker.wait()
    last = Quarters(tmp_path)
    assert not folder.exists()
    assert beside.folder.exists()
    beside.remove()
    last.remove()
    assert list(tmp_path.iterdir()) == []


def test_folders_of_others_are_left_alone(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").touch()
    (tmp_path / "harness-runs-1-link").symlink_to(outside)
    Quarters(tmp_path).remove()
    assert (outside / "file").exists()


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


@pytest.fixture
def elsewhere(tmp_path):
    for name in ("shm", "own"):
        (tmp_path / name).mkdir()
    (tmp_path / "shm" / "old").touch()
    found = Elsewhere(tmp_path / "shm")
    found.begin(tmp_path / "own")
    return found


def test_what_a_run_has_open_for_reading_or_in_its_own_folder_is_not_named(elsewhere, tmp_path):
    for path in (tmp_path / "data", tmp_path / "own" / "model"):
        path.touch()
    with (tmp_path / "data").open(), (tmp_path / "own" / "model").open("w"), Path("/dev/null").open("w"):
        elsewhere.look([os.getpid()])
    assert str(tmp_path) not in " ".join(elsewhere.end())  # where this process prints to may be a file too


def test_what_was_there_and_is_not_written_is_not_named(elsewhere, tmp_path):
    with (tmp_path / "log").open("w"):  # a plugin's, open since it was imported
        time.sleep(0.05)  # the system's clock of files stands still for some milliseconds
        elsewhere.begin(tmp_path / "own")
        elsewhere.look([os.getpid()])
        assert str(tmp_path) not in " ".join(elsewhere.end())


def test_shared_memory_is_deleted_only_where_it_is_new_and_a_process_of_the_run_had_it(elsewhere, tmp_path):
    shared = tmp_path / "shm"
    for name in ("another", f"1{os.getpid()}_name", f"a{os.getpid()}"):
        (shared / name).touch()
    (shared / f"folder_{os.getpid()}_name").mkdir()
    with (shared / "mapped").open("wb+") as file, (shared / "open").open("w"), (shared / "old").open("w"):
        file.write(b"x")
        file.flush()
        mapped = mmap.mmap(file.fileno(), 1)
        file.close()
        elsewhere.look([os.getpid()])
        assert "mapped" not in elsewhere.end()[0]  # somebody has it still
    mapped.close()
    deleted, named = elsewhere.end()
    assert deleted.startswith("mapped (0.0 MB), open (0.0 MB) was left in")
    assert f"{shared}/old (0.0 MB)" in named
    assert sorted(path.name for path in shared.iterdir()) == sorted(
        ["another", f"1{os.getpid()}_name", f"a{os.getpid()}", "old"]
    )


def test_a_new_run_begins_anew(elsewhere, tmp_path):
    names = "abcdefg"
    with contextlib.ExitStack() as files:
        for name in names:
            files.enter_context((tmp_path / name).open("w"))
        elsewhere.look([os.getpid()])
    (sentence,) = elsewhere.end()
    assert f"{tmp_path}/a (0.0 MB)" in sentence
    assert f"{tmp_path}/g (0.0 MB)" not in sentence
    assert " more, which is left there" in sentence
    elsewhere.begin(tmp_path / "own")
    assert elsewhere.end() == []
