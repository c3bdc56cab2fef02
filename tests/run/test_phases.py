"""How long each phase of a run may take: whoever keeps one waiting has its row in time, whoever only seems to is measured."""

import json
import os
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest

from harness import RBF, KernelOracle, Limits, StoppedBy
from harness.datasets.generators import Checkerboard
from harness.problems import ReducedHull
from harness.run import allowed
from harness.run.child import _few_points
from harness.run.messages import Compiling, Fitting, Run, Stopped, Warm
from harness.run.plan import RunSpec
from harness.run.pool import Late, Process
from harness.run.watch import Child, Observed, verdict
from tests.run.conftest import HARNESS, PLUGINS

LIMIT = 2.0
LIMITS = Limits(seconds=LIMIT)
SPEC = RunSpec("p", "s", {}, "d", "d", {}, "c-svc", {}, "rbf", {}, 0, 0, limits=LIMITS)
NOBODY = Child(1, -1, -1, -1, b"")
EXPECTED = {
    "hangs-in-worker": ("ok", ""),  # first: those after it are to find a worker
    "": ("ok", ""),
    "slow-steps": ("budget", "stopped at the time limit of 2 s"),
    "sleeps-in-warm-up": ("ok", ""),
    "dies-in-warm-up": ("ok", ""),
    "compiles-for-ever": ("timeout", "s of them compiling; compile in warm_ups()"),
    "compiles-each-step": ("timeout|budget", "compil"),
    "never-closes": ("timeout", "still running after its last model"),
    "stops-worker": ("timeout", "is stopped or hangs: nothing was heard for"),
    "hangs-in-skip": ("timeout", "still running before its first step, in skip() for example"),
}


def after(*messages, seconds=0.0):
    """Return what was seen of a child that sent these messages, ``seconds`` ago."""
    seen = Observed()
    for message in messages:
        seen.note(message, NOBODY)
    for name in ("phase_began", "compile_began", "compile_heard"):
        setattr(seen, name, getattr(seen, name) - seconds)
    return seen


def remaining(seen, limits=LIMITS):
    return allowed.latest(seen, limits) - time.monotonic()


@pytest.mark.parametrize(
    ("messages", "seconds"),
    [
        ((), LIMIT + 2.0),
        ((Warm(1.0),), LIMIT + 2.0),
        ((Warm(1.0), Fitting()), LIMIT + 0.7),
        ((Warm(1.0), Fitting(), Stopped()), LIMIT + 2.0),
        ((Compiling(True),), 12.0),
        ((Compiling(True), Compiling(True)), 12.0),
        ((Compiling(True), Compiling(False)), LIMIT + 2.0),
    ],
)
def test_every_phase_ends_at_the_limit_and_two_seconds(messages, seconds):
    assert remaining(after(*messages)) == pytest.approx(seconds, abs=0.2)


@pytest.mark.parametrize("claimed", ["compilation", "host's work"])
def test_nothing_a_child_says_makes_its_measured_run_longer_than_a_limit_and_a_half_second(claimed):
    seen = after(Warm(0.0), Fitting(), *([Compiling(True)] if claimed == "compilation" else []), seconds=100.0)
    seen.host_seconds = 1e6 if claimed == "host's work" else 0.0
    assert remaining(seen) == pytest.approx(LIMIT + 1.5 - 100.0, abs=0.2)


def test_labels_are_waited_for_no_longer_than_the_limit_once_more():
    seen = after(Warm(0.0), Fitting())
    seen.bought_seconds = seen.host_seconds = 1.5
    assert remaining(seen) == pytest.approx(LIMIT + 0.7 + 1.5, abs=0.2)
    seen.bought_seconds = seen.host_seconds = 1e6
    assert remaining(seen) == pytest.approx(2 * LIMIT + 0.7, abs=0.2)


def test_a_compilation_without_an_end_says_so_and_is_not_tried_again():
    seen = after(Compiling(True), seconds=13.0)
    seen.killed_for = allowed.excess(seen, LIMITS)
    assert seen.killed_for is StoppedBy.TIME
    reason = verdict(seen, SPEC, 13.0)["reason"]
    assert reason.startswith("compiling without an end for 12 s on a few points, before the measured run")


def test_a_warm_up_takes_more_points_where_few_have_no_solution():
    data = Checkerboard(n=200).load()
    hulls = ReducedHull.build(KernelOracle(RBF(), data.x_train), data.y_train, {"D": 0.02})
    assert _few_points(hulls, hulls.n).n == 128


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """Return records by way: of everyone who keeps a phase waiting, and of who only seems to."""
    store = tmp_path_factory.mktemp("phases") / "store.sqlite"
    command = [
        *HARNESS, "compare", "--plugin-path", str(PLUGINS / "phases.py"), "--datasets", "checkerboard[n=200,n_test=50]",
        "--plugins", ",".join(f"phases[way={name or 'none'}]" for name in EXPECTED), "--jobs", "2",
        "--time-limit", str(LIMIT), "--store", str(store), "--format", "json",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)
    assert done.stdout, done.stderr
    return {record["parameters"]["way"]: record for record in json.loads(done.stdout)}


@pytest.mark.slow
@pytest.mark.parametrize("way", EXPECTED)
def test_whoever_keeps_a_phase_waiting_has_its_row_and_no_one_else(rows, way):
    status, reason = EXPECTED[way]
    record = rows[way or "none"]
    assert record["status"] in status.split("|"), record["reason"]
    assert reason in record["reason"]
    if "killed after" in record["reason"]:
        assert float(record["reason"].rpartition("killed after ")[2].split()[0]) < LIMIT + 3.5


@pytest.fixture
def process(tmp_path):
    started = Process("harness.run.worker", 1, None, tmp_path / "numba", starting=60.0)
    yield started
    started.kill()


def gone(pid):
    stat = Path(f"/proc/{pid}/stat")
    return not stat.exists() or ") Z " in stat.read_text()


@pytest.mark.slow
def test_a_process_that_is_stopped_is_killed_in_time(process):
    os.kill(process.process.pid, signal.SIGSTOP)
    process._free_by = time.monotonic() + 0.5
    began = time.monotonic()
    process.tell(Run(SPEC))
    with pytest.raises(Late, match="after it was asked; killed"):
        process.answer(threading.Event(), 60.0)
    assert time.monotonic() - began < 12.0
    assert gone(process.process.pid)
