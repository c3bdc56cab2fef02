"""Several drivers on one store: each run is carried out once, and a dead driver's runs are taken over."""

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace

import pytest

from harness import machine
from harness.run import claims
from harness.run.claims import this_driver
from harness.run.record import Record
from harness.run.store import Store, read_results
from tests.run.test_interruption import command, lines, wait_for


def started(store, *extra, **options):
    return subprocess.Popen(
        command(store, *extra, **options), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "s.sqlite") as opened:
        yield opened


def test_a_claim_is_one_drivers_until_its_record_is_there(store):
    first, second = this_driver(), this_driver()
    assert store.claim("k", first) is None
    assert store.claim("k", second) == first
    assert store.claim("k", first) == first, "two jobs of a driver do not carry out the same run either"
    assert store.claim("other", second) is None
    store.append(Record({"key": "k", "status": "ok", "measured_at": "now"}), first)
    assert store.claim("k", second) is None
    store.release(second)
    assert store.claim("other", first) is None


@pytest.mark.parametrize("how", ["ended", "killed", "another process has its number", "zombie"])
def test_a_claim_of_a_dead_driver_is_taken_over(store, how):
    mine, theirs = this_driver(), this_driver()
    if how == "ended":
        theirs.end()
    else:
        code = "import os, sys; sys.stdin.read()"
        process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE)
        theirs = replace(theirs, pid=process.pid, started=machine.started(process.pid))
        assert store.claim("k", theirs) is None
        assert store.claim("k", mine) == theirs
        if how == "another process has its number":
            store._connection.execute("UPDATE claims SET started = started - 1")
        else:
            process.kill()
            wait_for(lambda: machine.started(process.pid) is None)
            if how == "killed":
                process.wait()
    assert store.claim("k", mine) is None
    if how != "ended":
        process.stdin.close()
        process.kill()
        process.wait()


def test_a_claim_of_another_machine_stands_while_it_is_renewed(store, monkeypatch):
    mine, far = this_driver(), replace(this_driver(), place="elsewhere", host="node7", pid=1)
    clock = [0.0]
    monkeypatch.setattr(claims, "monotonic", lambda: clock[0])
    assert store.claim("k", far) is None
    for _ in range(5):
        clock[0] += claims.LAPSE_SECONDS - 1
        store.renew(far)
        assert store.claim("k", mine) == far
    assert str(store.claim("k", mine)) == "pid 1 on node7"
    clock[0] += claims.LAPSE_SECONDS + 1
    assert store.claim("k", mine) is None


def test_claims_are_nothing_that_a_reader_sees(tmp_path, store):
    store.claim("k", this_driver())
    assert len(read_results(tmp_path / "s.sqlite")) == 0
    with sqlite3.connect(tmp_path / "s.sqlite") as connection:
        assert connection.execute("SELECT count(*) FROM results").fetchone() == (0,)
        assert connection.execute("PRAGMA user_version").fetchone() == (2,), "older harnesses read the store"
    connection.close()


@pytest.mark.slow
def test_drivers_of_one_store_carry_each_run_out_once(tmp_path, log):
    store = tmp_path / "store.sqlite"
    asked = [range(6), range(6), range(3, 8)]
    drivers = [
        started(store, *jobs, numbers=",".join(map(str, numbers)), seconds="0.4")
        for numbers, jobs in zip(asked, ([], [], ["--jobs", "2"]), strict=True)
    ]
    answers = [driver.communicate(timeout=120) for driver in drivers]
    assert [driver.returncode for driver in drivers] == [0] * 3, [errors for _, errors in answers]
    for numbers, (output, _) in zip(asked, answers, strict=True):
        assert [record["parameters"]["number"] for record in json.loads(output)] == list(numbers)
    assert Counter(read_results(store).parameters.map(lambda found: found["number"])) == dict.fromkeys(range(8), 1)
    assert Counter(int(line.split()[0]) for line in lines(log)) == dict.fromkeys(range(8), 1)


@pytest.mark.slow
@pytest.mark.usefixtures("heeds_interrupts")
def test_who_waits_says_so_can_be_interrupted_and_takes_over(tmp_path, log):
    store = tmp_path / "store.sqlite"
    first = started(store, numbers="0", seconds="60")
    others = []
    try:
        wait_for(lambda: store.exists() and _claimed(store))
        (holder,) = _claimed(store)
        others = [started(store, *extra, numbers="0", seconds="60") for extra in ([], ["--quiet"])]
        said = [next(line for line in other.stderr if line.startswith("note: waiting")) for other in others]
        assert all(f"waiting for another driver (pid {holder})" in line for line in said)
        began = time.monotonic()
        others[0].send_signal(signal.SIGINT)
        others[0].communicate(timeout=30)
        assert (others[0].returncode, time.monotonic() - began < 10.0) == (130, True)
        os.kill(holder, signal.SIGKILL)
        first.communicate()
        wait_for(lambda: _claimed(store) not in ([], [holder]), 10.0)
        others[1].send_signal(signal.SIGINT)
        others[1].communicate(timeout=30)
        assert _claimed(store) == [], "an interrupted driver gives back what it claimed"
    finally:
        for driver in (first, *others):
            driver.kill()


def _claimed(store):
    connection = sqlite3.connect(f"file:{store}?mode=ro", uri=True)
    try:
        return [pid for (pid,) in connection.execute("SELECT pid FROM claims")]
    except sqlite3.OperationalError:
        return []
    finally:
        connection.close()


@pytest.mark.slow
def test_two_fresh_drivers_measure_each_run_in_turn(tmp_path, log):
    store = tmp_path / "store.sqlite"
    drivers = [started(store, "--fresh", numbers="0,1", seconds="0.5") for _ in range(2)]
    for driver in drivers:
        output, errors = driver.communicate(timeout=120)
        assert driver.returncode == 0, errors
        assert [record["reused"] for record in json.loads(output)] == [False, False]
    assert Counter(int(line.split()[0]) for line in lines(log)) == {0: 2, 1: 2}
    assert len(read_results(store)) == 4


@pytest.mark.slow
def test_drivers_that_are_killed_lose_and_double_nothing(tmp_path, log):
    store = tmp_path / "store.sqlite"
    rng = random.Random(20)
    for turn in range(1, 3):
        drivers = [started(store, seconds="0.2") for _ in range(2)]
        wait_for(lambda turn=turn: len(lines(log)) >= 2 * turn)
        for driver in drivers:
            time.sleep(rng.uniform(0.0, 0.3))
            os.kill(driver.pid, signal.SIGKILL)
        for driver in drivers:
            driver.communicate()
    output, errors = started(store, seconds="0.2").communicate(timeout=120)
    assert len(json.loads(output)) == 8, errors
    frame = read_results(store)
    assert frame.attrs["damaged"] == []
    assert Counter(frame.parameters.map(lambda found: found["number"])) == dict.fromkeys(range(8), 1)
