"""kill -9 of Dask's processes, the driver and the host's processes on nodes: no row is lost or doubled.

``KILLS=2000,50 pytest -m slow -n 0 tests/run/test_killed_nodes.py`` does 2,000 runs and 50 kills.
"""

import contextlib
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import psutil
import pytest

from tests.run.conftest import ALONE
from tests.run.test_interruption import command, stored

RUNS, KILLS = map(int, os.environ.get("KILLS", "60,4").split(","))
DASK = str(Path(sys.executable).parent / "dask")


class Cluster:
    """A scheduler, two workers with their nannies, and the command; whatever ends is started again."""

    def __init__(self, folder, seeds):
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            self.place = f"127.0.0.1:{found.getsockname()[1]}"
        self.folder, self.store, self.processes, self.ends = folder, folder / "s.sqlite", {}, Counter()
        worker = [DASK, "worker", self.place, "--nthreads", "1", "--no-dashboard", "--host", "127.0.0.1"]
        scheduler = [DASK, "scheduler", "--host", "127.0.0.1", "--port", self.place[10:], "--no-dashboard"]
        options = ("--seeds", f"0-{seeds - 1}", "--executor", f"dask://{self.place}")
        self.commands = {
            "scheduler": scheduler,
            **{f"worker {n}": [*worker, "--local-directory", str(folder), "--name", str(n)] for n in range(2)},
            "driver": command(self.store, *options, numbers="0,1", seconds="0.02"),
        }

    def tend(self):
        """Start what is not there; return whether the command is done."""
        for name, given in self.commands.items():
            known = self.processes.get(name)
            if known is not None and (code := known.poll()) is None:
                continue
            if known is not None:
                self.ends[name, code] += 1
                if name == "driver" and code == 0:
                    return True
            with (self.folder / f"{name}.log").open("ab") as log:
                self.processes[name] = subprocess.Popen(given, stdout=log, stderr=log, start_new_session=True)
        return False

    def kill(self, what):
        if what == "host":  # a template, or what was forked from one: a worker, a child or a certifier
            below = [each for process in self.processes.values() for each in psutil.Process(process.pid).children(True)]
            random.choice([each for each in below if "harness.run.host_process" in _line(each)] or below).kill()
            return
        pid = self.processes[what if what in self.processes else random.choice(["worker 0", "worker 1"])].pid
        if what == "worker":
            pid = next((each.pid for each in psutil.Process(pid).children() if "spawn_main" in _line(each)), pid)
        os.kill(pid, signal.SIGKILL)

    def close(self):
        for process in self.processes.values():
            with contextlib.suppress(psutil.NoSuchProcess):
                for each in [*psutil.Process(process.pid).children(recursive=True), process]:
                    with contextlib.suppress(psutil.NoSuchProcess):
                        each.kill()
            process.wait()


def _line(process):
    """Return the command line of a process, empty if it has ended."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return " ".join(process.cmdline())
    return ""


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_killed_at_any_moment_nothing_is_lost_or_doubled(tmp_path, monkeypatch):
    for name, value in {**ALONE, "SLOW_STEPS_LOG": str(tmp_path / "log")}.items():
        monkeypatch.setenv(name, value)
    cluster, kills, seen, last = Cluster(tmp_path, RUNS // 2), Counter(), set(), time.monotonic()
    every = ["driver", "worker", "scheduler", "nanny", "host", "host", "host"]
    try:
        while not cluster.tend():
            time.sleep(random.uniform(0.1, 1.0))
            rows = stored(cluster.store) if cluster.store.exists() else []
            keys = {row["key"] for row in rows}
            assert seen <= keys, "a row that had come back is gone"
            # in mid-work: since the last kill something came back, or nothing does
            if kills.total() < KILLS and (len(keys) > len(seen) or time.monotonic() - last > 30.0):
                with contextlib.suppress(psutil.NoSuchProcess, ProcessLookupError):
                    victim = every[kills.total() % len(every)]
                    cluster.kill(victim)
                    kills[victim] += 1
                last = time.monotonic()
                seen = keys
            assert time.monotonic() - last < 300.0, (tmp_path / "driver.log").read_text()[-3000:]
    finally:
        cluster.close()
    rows = stored(cluster.store)
    good = Counter(row["key"] for row in rows if row.reusable)
    print(f"{len(rows)} rows of {len(good)} runs; kills {dict(kills)}; ends {dict(cluster.ends)}")
    assert len(good) == RUNS
    assert set(good.values()) == {1}
    assert {row["status"] for row in rows if row.reusable} == {"ok"}
    assert {row["status"] for row in rows} <= {"ok", "environment", "crashed"}  # crashed: a child was killed
    assert sum(kills.values()) == min(KILLS, kills.total()) > 0
