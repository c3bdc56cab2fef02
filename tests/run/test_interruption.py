"""kill -9 of worker and driver: nothing finished is lost or run twice."""

import contextlib
import json
import os
import signal
import subprocess
import time

import psutil
import pytest

from harness.run.store import Store
from tests.run.conftest import CHECKERBOARD, HARNESS, PLUGINS

pytestmark = pytest.mark.slow  # each starts several processes, and waits for them


def command(store, *options, numbers="0,1,2,3,4,5,6,7", seconds="0.3"):
    selection = f"slow-steps[seconds={seconds},number=[{numbers}]]"
    return command_of("steps.py", selection, store, "--format", "json", *options)


def command_of(plugin, selection, store, *options):
    options = ("--datasets", CHECKERBOARD, "--store", str(store), *options)
    return [*HARNESS, "compare", "--plugin-path", str(PLUGINS / plugin), "--plugins", selection, *options]


def run_again(command, **options):
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, **options)


def lines(log):
    return log.read_text().splitlines() if log.exists() else []


def wait_for(condition, seconds=60.0, between=0.02):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return
        time.sleep(between)
    raise AssertionError("what the test waits for did not happen")


@contextlib.contextmanager
def running(given):
    """The command, killed where the test ends before it does."""
    with subprocess.Popen(given, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as driver:
        try:
            yield driver
        finally:
            driver.kill()  # what it leaves would trouble the test that looks for what others left


def children_of(process):
    """Its children; none where it has ended since it was named."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.children()
    return []


def workers_of(command):
    """The warm processes of a command."""
    return [each for template in children_of(psutil.Process(command.pid)) for each in children_of(template)]


def lives(process):
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


def stored(store):
    with Store(store) as opened:
        return list(opened.records())


def test_killed_driver_resumes_where_it_stopped(tmp_path, log):
    store = tmp_path / "store.sqlite"
    with running(command(store)) as driver:
        wait_for(lambda: len(lines(log)) >= 3)
        workers = psutil.Process(driver.pid).children(recursive=True)
        for process in workers_of(driver):  # a worker that is stopped meanwhile ends as the others do
            with contextlib.suppress(psutil.NoSuchProcess):
                process.suspend()
        os.kill(driver.pid, signal.SIGKILL)
        driver.wait()
    wait_for(lambda: not any(map(lives, workers)), 10.0)
    kept = {record["parameters"]["number"] for record in stored(store)}
    assert kept, "nothing was stored before the kill"

    again = run_again(command(store))
    assert again.returncode == 0, again.stderr
    records = json.loads(again.stdout)
    assert [record["parameters"]["number"] for record in records] == list(range(8))
    assert {record["parameters"]["number"] for record in records if record["reused"]} == kept
    runs = [int(line.split()[0]) for line in lines(log)]
    assert all(runs.count(number) == 1 for number in kept), "a finished run was carried out twice"
    assert len(stored(store)) == 8


def test_killed_worker_costs_no_row(tmp_path, log):
    store = tmp_path / "store.sqlite"
    with running(command(store, numbers="0,1,2")) as driver:
        wait_for(lambda: len(lines(log)) >= 1)
        parent = int(lines(log)[0].split()[1])
        wait_for(lambda: len(workers_of(driver)) >= 2 or len(lines(log)) >= 3)
        victims = [process for process in workers_of(driver) if process.pid != parent]
        for process in victims:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        output, _ = driver.communicate(timeout=120)
    records = json.loads(output)
    assert [record["status"] for record in records] == ["ok"] * 3
    assert len(stored(store)) == 3


def test_a_run_killed_from_outside_is_measured_again(tmp_path, log):
    store = tmp_path / "store.sqlite"
    with running(command(store, numbers="5", seconds="30")) as driver:

        def measured():
            """The forks that live on: a warm-up is over in no time, and may be gone at a second look."""
            forks = [process for worker in workers_of(driver) for process in children_of(worker)]
            return [process for process in forks if time.time() - process.create_time() > 3.0]

        wait_for(measured)
        measured()[0].kill()
        output, _ = driver.communicate(timeout=60)
    (record,) = json.loads(output)
    assert (record["status"], driver.returncode) == ("crashed", 1)
    assert "SIGKILL" in record["reason"]
    resumed = run_again(command(store, "--time-limit", "1", numbers="5", seconds="30"))
    assert json.loads(resumed.stdout)[0]["status"] == "timeout"  # carried out again, not replayed


@pytest.mark.usefixtures("heeds_interrupts")
def test_interrupt_ends_what_a_solver_started(tmp_path):
    given = command_of("faulty.py", "faulty[fault=spawns-and-waits]", tmp_path / "store.sqlite")

    def sleepers():
        found = psutil.process_iter(["cmdline", "create_time"])
        return [process for process in found if process.info["cmdline"] == ["sleep", "4242"]]

    with running(given) as driver:
        wait_for(sleepers, between=0.3)  # a look at every process of the machine: not so often that it is the load
        driver.send_signal(signal.SIGINT)
        driver.communicate(timeout=30)
    assert driver.returncode == 130
    wait_for(lambda: not sleepers(), 5.0, between=0.1)
