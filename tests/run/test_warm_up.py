"""The states of a warm-up, what of it later comparisons know, and how much of the data the solver's code can see meanwhile."""

import pytest

from harness.run.warm_up import State, WarmUp
from tests.run.conftest import ALONE, PLUGINS, compared

DATA = ("--datasets", "checkerboard[n=200]")


@pytest.fixture
def mark(tmp_path):
    return tmp_path / "mark"


def test_a_warm_up_is_compiled_then_safe_then_warm(mark):
    progress = WarmUp(mark)
    assert progress.must_compile
    progress.compiled(3.0)
    assert (progress.state, progress.must_compile) == (State.COMPILED, False)
    assert progress.run_ended(0.5, well=True) == 3.5, "the first run reports the compilation before it"
    assert progress.state is State.SAFE
    progress.worker_ran(0.25)
    assert progress.state is State.WARM
    assert progress.run_ended(0.01, well=True) == 0.25


@pytest.mark.parametrize("well", [False, True])
def test_a_later_comparison_knows_what_was_compiled_and_whether_the_worker_may_run_it(mark, well):
    assert WarmUp(mark).state is State.NEW
    first = WarmUp(mark)
    first.compiled(1.0)
    first.run_ended(0.5, well=well)
    later = WarmUp(mark)
    assert (later.state, later.seconds) == ((State.SAFE, 0.5) if well else (State.COMPILED, 0.0))


def test_only_a_run_that_got_through_its_warm_up_makes_it_safe(mark):
    progress = WarmUp(mark)
    assert progress.run_ended(None, well=True) is None
    assert progress.state is State.NEW
    progress.failed()
    progress.run_ended(0.0, well=True)
    assert (progress.state, progress.must_compile) == (State.FAILED, False)
    assert not mark.exists()


def test_what_compiles_nothing_is_not_compiled_before_the_first_run_and_leaves_no_mark():
    progress = WarmUp(None)
    assert not progress.must_compile
    progress.run_ended(0.5, well=True)
    assert progress.state is State.SAFE


def test_a_warm_up_that_ends_its_process_costs_the_run_a_sentence(tmp_path):
    plain = compared(
        tmp_path / "s", PLUGINS / "faulty.py", "faulty[fault=dies-in-warm-up]", *DATA, "--repeat", "2", environment=ALONE
    )  # fmt: skip
    first, second = plain[1]
    assert (first["status"], second["status"]) == ("ok", "ok")
    assert first["faults"] == ["faulty: warm-up failed (exit code 3); measured without warm-up."]
    assert not second["faults"], "it is not tried again"


def test_no_variable_of_a_caller_has_more_than_the_few_points_during_a_warm_up(tmp_path):
    _, records, _ = compared(
        tmp_path / "s", PLUGINS / "warm_ups.py", "looks-up", *DATA, "--repeat", "2", environment=ALONE
    )  # fmt: skip
    for record in records:  # the second one's worker warmed itself up
        assert record["status"] == "ok", record["reason"]
        assert 0 < record["info"]["most points"] < 200
