"""What counts to the limits of a run, and what it starts and writes: CPU time, memory, processes and files, on any machine."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from harness.run.descendants import Descendants, Folder
from tests.run.conftest import ALONE, PLUGINS, check_end, grid, seconds_until_killed
from tests.run.plugins import faulty

LIMIT_SECONDS = 6.0
LIMIT_MEGABYTES = 360  # a run of nothing takes 75 to 130 MB
OK = ("ok", "")
KILLED = ("timeout", f"time limit of {LIMIT_SECONDS:g} s")
PASSED = ("memory", f"its memory passed the limit of {LIMIT_MEGABYTES} MB")
REFUSED = ("memory", "MemoryError: Unable to allocate 900. MiB")
LEFT = {"many": 60, "guards": 2, "hidden-grandchild": 1, "stopped-program": 1, "printing": 1}
EXPECTED = {
    **dict.fromkeys(("none", "pool", "naps", "unwaited", "adopted", "working", "pool-closed"), OK),
    **dict.fromkeys(("mapped-file", "shared-memory-once", "forgotten-peak", "forks-idle"), OK),
    **dict.fromkeys(("where", "files", "files-of-warm-up"), OK),
    **dict.fromkeys(("killed", "files-killed", "daemon-and-hangs"), KILLED),
    **dict.fromkeys(("file-in-memory", "shared-memory", "system-v", "forks-large", "shared-map"), PASSED),
    "refused-in-a-pool": REFUSED,
    "refused-in-a-program": REFUSED,
    "refused-in-a-program-that-is-not-checked": REFUSED,
    "refused-in-c": ("memory", "MB, and the limit is 360 MB; ended by signal 11 (SIGSEGV)"),
    "refused-in-a-silent-program": ("memory", "memory"),  # it is refused more, or passes the limit before
    "aborted-pool": ("memory", "std::bad_alloc"),
    "failed-program": ("error", "CalledProcessError"),
    **{what: ("error", f"left {count} child process") for what, count in LEFT.items()},
    "daemon": ("error", "child process"),  # one after another: how many are seen at once is chance
    "exits-with-helpers": ("crashed", "exited with code 0 without a result"),
}


def run(folder, faults, *options, limit, environment=None, **more):
    environment = {**ALONE, **(environment or {})}
    options = ("--time-limit", limit, *options)
    return grid(folder, PLUGINS / "faulty.py", "fault", faults, *options, environment=environment, **more)


@pytest.fixture(scope="module")
def there(tmp_path_factory):
    """One comparison of all that takes CPU time or memory, or leaves something: its records, its folder and its temporary one."""
    folder, temporary, mark = tmp_path_factory.mktemp("cwd"), tmp_path_factory.mktemp("temporary"), str(os.getpid())
    environment, memory = {"TMPDIR": str(temporary), "MARK": mark}, ("--memory-limit", f"{LIMIT_MEGABYTES}M")
    records = run(
        folder, EXPECTED, *memory, limit=LIMIT_SECONDS, environment=environment, others=("asks-one",), cwd=folder
    )
    for path in Path("/dev/shm").glob(f"*{mark}"):
        path.unlink()
    yield records, folder, temporary
    subprocess.run(["rm", "-rf", str(temporary)], check=True)  # what is nested too deep pytest could not


@pytest.fixture
def records(there):
    return there[0]


@pytest.mark.slow
@pytest.mark.parametrize("what", EXPECTED)
def test_a_run_ends_by_what_all_its_processes_do(records, what):
    check_end(records[what], *EXPECTED[what])


@pytest.mark.slow
def test_cpu_time_is_that_of_all_processes_and_compilation_is_on_no_clock(records):
    assert records["none"]["cpu_seconds"] < 0.5 * faulty.CPU_SECONDS
    assert records["pool"]["cpu_seconds"] >= 2 * faulty.CPU_SECONDS
    for what in ("unwaited", "adopted"):
        assert 0.9 * faulty.CPU_SECONDS <= records[what]["cpu_seconds"] < 2 * faulty.CPU_SECONDS
    naps = records["naps"]
    assert faulty.CPU_SECONDS - 0.02 <= naps["waited_seconds"] <= naps["fit_seconds"] - naps["cpu_seconds"] + 0.01
    assert naps["cpu_seconds"] < 0.5 * faulty.CPU_SECONDS
    assert 0.0 < records["working"]["cpu_seconds"] < records["working"]["fit_seconds"] + 0.2
    assert records["killed"]["killed_cpu_seconds"] > 1.0
    assert records["asks-one"]["compile_seconds"] > 0.1
    assert records["asks-one"]["info"]["oracle_seconds"] <= records["asks-one"]["fit_seconds"]


@pytest.mark.slow
def test_memory_is_anonymous_or_shared_and_each_page_counts_once(records):
    none, half = records["none"]["peak_rss_bytes"], faulty.MEGABYTES << 19
    assert records["mapped-file"]["peak_rss_bytes"] < none + half
    for what in ("shared-memory-once", "forgotten-peak"):
        assert none + 0.9 * half < records[what]["peak_rss_bytes"] < none + 1.7 * half
    assert records["file-in-memory"]["peak_rss_bytes"] > LIMIT_MEGABYTES << 20
    for what in ("refused-in-a-program", "refused-in-a-program-that-is-not-checked"):
        assert "_ArrayMemoryError: Unable to allocate" in records[what]["output"]


@pytest.mark.slow
@pytest.mark.usefixtures("there")
def test_nothing_lives_on():
    def living():
        names = [p.info["cmdline"] or [] for p in psutil.process_iter(["cmdline"])]
        return [name for name in names if name in (["sleep", "300.0"], ["yes"]) or "faulty.py" in " ".join(name)]

    until = time.monotonic() + 2.0
    while left := living():
        assert time.monotonic() < until, left
        time.sleep(0.1)


@pytest.mark.slow
def test_a_run_works_in_an_empty_folder_of_its_own_which_is_gone_afterwards(there):
    records, folder, temporary = there
    info = records["where"]["info"]
    assert Path(info["folder"]).is_relative_to(temporary)
    assert info["temporary"] == info["folder"] == info["variable"]
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


# -- a busy machine ---------------------------------------------------------------------------------------


SPINNING = {"spins-briefly": "ok", "yields-forever": "budget", "never-yields": "timeout"}
SPINS = """
import os, sys, time
flag, began = sys.argv[1], 0.0
while True:
    changed = os.path.getmtime(flag)
    if changed == began:
        time.sleep(0.01)
        continue
    began, until = changed, time.monotonic() + 4.0
    while time.monotonic() < until and os.path.getmtime(flag) == began:
        sum(range(1000))
"""


@contextlib.contextmanager
def busy_core(folder, processes):
    """Have other processes work on one core once a run's clock began, and what this process starts on no other."""
    before, flag = os.sched_getaffinity(0), folder / "busy"
    flag.touch()
    os.utime(flag, (0, 0))
    os.sched_setaffinity(0, {min(before)})
    with contextlib.ExitStack() as others:
        try:
            for _ in range(processes):  # each in a session, since sessions may have equal shares
                command = [sys.executable, "-c", SPINS, str(flag)]
                others.callback(others.enter_context(subprocess.Popen(command, start_new_session=True)).kill)
            yield {"TAKES_BUSY": str(flag)}
        finally:
            os.sched_setaffinity(0, before)


@pytest.mark.slow
def test_the_time_that_other_work_took_does_not_count_to_the_limit(tmp_path):
    """On a machine that is busier than the test makes it a run may be cut by the bound of wall time."""
    limit = 1.25 * faulty.CPU_SECONDS
    with busy_core(tmp_path, 3) as environment:
        records = run(tmp_path, SPINNING, limit=limit, environment=environment)
    for what, status in SPINNING.items():
        record = records[what]
        assert record["status"] in (status, "environment"), record["reason"]
        assert record["fit_seconds"] is None or record["fit_seconds"] > limit
        used = record["cpu_seconds"] or record["killed_cpu_seconds"]
        assert (used > 0.7 * limit) or record["status"] == "environment"


@pytest.mark.slow
def test_a_run_cut_on_a_disturbed_machine_is_measured_again(tmp_path):
    faults = ("yields-forever", "never-yields")
    with busy_core(tmp_path, 12) as environment:
        records = run(tmp_path, faults, limit=0.5, environment=environment)
    for record in records.values():
        check_end(record, "environment", "cut at the time limit of 0.5 s after 0.")
    again = run(tmp_path, faults, limit=0.5)
    assert all(again[what]["measured_at"] > record["measured_at"] for what, record in records.items())


def test_who_sleeps_uses_the_limit(tmp_path):
    began = time.monotonic()
    record = run(tmp_path, ["sleeps"], limit=0.5)["sleeps"]
    assert (record["status"], record["stopped_by"]) == ("timeout", "time")
    assert seconds_until_killed(record) < 3.0
    assert time.monotonic() - began < 30.0
