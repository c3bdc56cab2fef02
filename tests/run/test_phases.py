"""How long each phase of a run may take: whoever keeps one waiting has its row in time, whoever only seems to is measured."""

import os
import time

import numpy as np
import pytest
from harness_active.pool_svc import PoolSVC

from harness import RBF, KernelOracle
from harness.datasets.generators import Checkerboard
from harness.measure.outcome import Status, StoppedBy
from harness.problems import ReducedHull
from harness.run.messages import Compiling, Phase, PhaseBegan, RunResult, Warm
from harness.run.record import Claims, Record
from harness.run.target_server import TargetServer
from harness.run.warm_up import few_points
from harness.run.watch import Observed, outcome_claims
from tests.run.conftest import PLUGINS, SPEC, check_end, compared, seconds_until_killed

LIMIT = 2.0  # seconds, as in SPEC
EXPECTED = {
    "hangs-in-worker": ("ok", ""),  # twice: before the second run its worker warms itself up
    "none": ("ok", ""),
    "sleeps-in-warm-up": ("ok", ""),
    "dies-in-warm-up": ("ok", ""),
    "compiles-for-ever": ("timeout", "s of them compiling; compile in warm_ups()"),
    "compiles-each-step": ("timeout|budget", "compil"),
    "never-closes": ("timeout", "still running after its last model"),
    "stops-worker": ("ok", ""),  # the host continues it
    "hangs-in-skip": ("timeout", "still importing or in skip()"),
}


def remaining(*messages, seconds=0.0, **observed_then):
    """Return how long a child may still take that sent these messages, ``seconds`` ago."""
    observed = Observed(SPEC)
    for message in messages:
        observed.note(message, None)
    observed.phase_began -= seconds
    if observed.compiling_since is not None:
        observed.compiling_since -= seconds
    for name, value in observed_then.items():
        setattr(observed, name, value)
    return observed.deadline - time.monotonic()


def answering(seconds):
    server = TargetServer()
    server.seconds = seconds
    return server


def test_nothing_a_child_says_makes_a_phase_longer_than_its_bound():
    fit = Warm(0.0), PhaseBegan(Phase.FIT)
    for bound, messages, then in (
        (30.0, (), {}),  # before the clock
        (30.0, (Warm(1.0),), {}),
        (30.0, (Compiling(True), Compiling(True), Compiling(False)), {}),
        (LIMIT + 2.0, (*fit, PhaseBegan(Phase.END)), {}),
        (LIMIT + 2.0, (*fit, PhaseBegan(Phase.END), PhaseBegan(Phase.FIT), Warm(0.0)), {}),
        (30.0, (Compiling(True),), {"seconds": 80.0}),
        (30.0 + 90.0 - 1000.0, (Compiling(True),), {"seconds": 1000.0}),
        (LIMIT + 1.5 - 100.0, (*fit, Compiling(True)), {"seconds": 100.0}),
        (LIMIT + 1.5 - 100.0, fit, {"seconds": 100.0, "host_seconds": 1e6}),
        (LIMIT + 1.5 + 1.5, fit, {"server": answering(1.5)}),  # queries take no longer than the limit once more
        (2 * LIMIT + 1.5, fit, {"server": answering(1e6)}),
    ):
        assert remaining(*messages, **then) == pytest.approx(bound, abs=0.2)


def test_a_warm_up_takes_more_points_where_few_have_no_solution():
    data = Checkerboard(n=200).load()
    hulls = ReducedHull.build(KernelOracle(RBF(), data.x_train), data.y_train, {"D": 0.02})
    assert few_points(hulls).n == 128


def test_a_warm_up_queries_made_up_targets():
    queries = []
    whole = PoolSVC.build(KernelOracle(RBF(), Checkerboard(n=200).load().x_train), queries.append, {"budget": 4})
    np.testing.assert_array_equal(few_points(whole).query(np.arange(4)), [1.0, -1.0, 1.0, -1.0])
    assert (len(whole.queried), queries) == (0, [])


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    """Return the two records of everyone who keeps a phase waiting, and of who only seems to."""
    selection, options = f"faulty[fault=[{','.join(EXPECTED)}]]", ("--jobs", 2, "--repeat", 2, "--time-limit", LIMIT)
    return compared(tmp_path_factory.mktemp("phases") / "store", PLUGINS / "faulty.py", selection, *options)[1]


@pytest.mark.slow
@pytest.mark.parametrize("fault", EXPECTED)
def test_whoever_keeps_a_phase_waiting_has_its_rows_and_no_one_else(records, fault):
    found = [record for record in records if record["parameters"]["fault"] == fault]
    assert len(found) == 2
    for record in found:
        check_end(record, *EXPECTED[fault])
        assert "killed after" not in record["reason"] or seconds_until_killed(record) < LIMIT + 3.5


@pytest.mark.slow
def test_what_comes_before_the_clock_does_not_count_as_solving(tmp_path):
    text, plugin = (PLUGINS / "faulty.py").read_text(), tmp_path / "late.py"
    plugin.write_text(text.replace('time.sleep(3600) if self.fault == "hangs-in-skip"', "time.sleep(5.0) if self"))
    _, (record,), _ = compared(tmp_path / "s", plugin, "faulty[fault=none]", "--time-limit", 1.0)
    assert (record["status"], record["time_limit"]) == ("ok", 1.0)
    assert record["fit_seconds"] < 1.0


def test_a_run_that_did_not_reach_its_clock_is_measured_again():
    ended = Record(status=Status.TIMEOUT, stopped_by=StoppedBy.PREPARATION, reason="")
    assert not ended.reusable
    assert Record(status=Status.TIMEOUT, stopped_by=StoppedBy.TIME, reason="").reusable


# -- how the host words what it observed of a child: its output, and what was done to it from outside.


@pytest.mark.parametrize(("status", "recorded"), [("ok", "ok"), ("error", "environment"), ("memory", "environment")])
def test_a_run_that_failed_after_something_was_done_to_it_from_outside_is_the_machines_fault(status, recorded):
    result = RunResult(Claims(status=Status(status), reason="no luck"))
    claims = outcome_claims(Observed(SPEC, result=result, disturbance="its process was stopped"))
    assert (claims.status, "no luck" in claims.reason) == (recorded, True)


@pytest.mark.parametrize("written", ["RuntimeError: no fit (MemoryError)", "ValueError: std::bad_alloc"])
def test_a_run_that_failed_and_wrote_of_a_refused_allocation_is_out_of_memory(written):
    claims = Claims(status=Status.ERROR, stopped_by=StoppedBy.FAULT, reason="no luck", output=f"Traceback\n{written}")
    claims = outcome_claims(Observed(SPEC, result=RunResult(claims)))
    assert (claims.status, claims.reason) == (Status.MEMORY, f"out of memory: {written}; no luck")


def test_of_what_a_child_prints_the_end_is_recorded():
    observed, (out, into) = Observed(SPEC, result=RunResult(Claims(status=Status.OK))), os.pipe()
    for number in range(40):
        os.write(into, f"{number:02d}".encode() * 1000)
        observed.read_output(out)
    os.close(into)
    os.close(out)
    output = outcome_claims(observed).output
    assert output.endswith("3939")
    assert (observed.output_bytes, len(output) < 5_000) == (80_000, True)
