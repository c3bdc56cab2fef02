"""The sentence that names a solver: what it says, how sure, and when it names none."""

import pytest

from harness.report.rows import grouped
from harness.report.verdict import verdict
from tests.report.fabricated import failed, hull, record


def runs(solver, *sets, make=record, **changes):
    """Three runs a data set, the middle one's seconds given."""
    return [
        make(solver, dataset=name, fit_seconds=seconds * by, cpu_seconds=seconds * by, repetition=i, target_gap=1e-3, **changes)
        for name, seconds in zip(("digits", "banana"), sets, strict=False)
        for i, by in enumerate((0.9, 1.0, 1.1))
    ]  # fmt: skip


def said(*records, command=""):
    return verdict(grouped(records), command)


AT = "at a certified gap of 1e-3 on 2 data sets, 3 runs each."


@pytest.mark.parametrize(
    ("records", "sentence"),
    [
        # geometric mean of 2 and 4.5; one run of three is known to a factor of 1.26
        ([*runs("a", 1.0, 1.0), *runs("b", 2.0, 4.5), *runs("c", 9.0, 9.0)],
         f"Take a: 3.0 times (1.3 to 7.2) as fast as b in CPU time {AT}"),
        ([*runs("a", 1.0, 1.0), *runs("b", 1.1, 4.5)],
         f"Take a: 2.2 times (0.69 to 7.2, faster on 1 of 2 and not told apart on the others) as fast as b in CPU time {AT}"),
        ([*runs("a", 1.0, 1.0, threads=2), *runs("b", 2.0, 4.5)], f"Take a: 3.0 times (1.3 to 7.2) as fast as b {AT}"),
        ([*runs("a", 1.0, 1.0), *runs("b", 1.1, 1.2), *runs("c", 9.0, 9.0)],
         f"Take a or b: their CPU times are not told apart {AT} a is 9.0 times (5.6 to 14) as fast as c in CPU time."),
        ([*runs("a", 1.0, 9.0), *runs("b", 9.0, 1.1)], f"Take a or b: which of them is faster depends on the data set {AT}"),
        ([*runs("a", 1.0, 1.0), *runs("b", 0.1, 0.1, status="missed")],
         "Take a: it alone reached a certified gap of 1e-3 on 2 data sets, 3 runs each."),
        ([*runs("a", 1.0), *runs("b", 1.0, 1.0, status="missed")],
         "No winner: no solver reached a certified gap of 1e-3 on every data set."),
        ([*runs("a", 1.0), *runs("b", 9.0, make=hull)],
         f"Take a (c-svc): 9.0 times (5.6 to 14) as fast as b (l2-svc) in CPU time {AT.replace('2 data sets', 'digits')}"),
        (runs("a", 1.0, 1.0), ""),
    ],
)  # fmt: skip
def test_the_sentence(records, sentence):
    assert said(*records) == (sentence, False)


def test_problems_of_a_sweep_count_each():
    swept = [each for C in (1.0, 100.0) for name, seconds in (("a", C), ("b", 9.0 * C))
             for each in runs(name, seconds, problem_parameters={"C": C})]  # fmt: skip
    assert said(*swept)[0].startswith(
        "Take a: 9.0 times (5.6 to 14) as fast as b in CPU time at a certified gap of 1e-3 on 2 problems,"
    )


def test_one_run_is_little_and_the_command_that_tells_more_is_shown():
    one = [record("a", fit_seconds=1.0, target_gap=1e-3), record("b", fit_seconds=1.5, target_gap=1e-3)]
    sentence, shown = said(*one, command="harness compare")
    assert sentence.endswith(
        "not told apart at a certified gap of 1e-3 on digits, 1 run each. More runs may tell them apart:"
    )
    assert shown
    assert not said(*one)[1]


@pytest.mark.parametrize("command", ["", "harness compare"])
def test_runs_that_stop_where_they_want_have_no_winner(command):
    loose = [record("a", target_gap=None, relative_gap=1e-4, fit_seconds=1e-3), record("b", target_gap=None)]
    sentence, shown = said(*loose, command=command)
    assert sentence.startswith("No winner yet. Costs are not ranked: the runs stopped at gaps 1.0e-4 to 3.2e-3. ")
    assert shown == bool(command)
    assert ("--target-gap 1e-3" in sentence) == (not command)
    blind = [record(name, target_gap=None, relative_gap=None) for name in "ab"]
    assert said(*blind, command=command) == (
        "No winner yet. Costs are not ranked: each solver stops by its own rule.",
        False,
    )


def test_a_listing_names_nobody():
    assert verdict(grouped([*runs("a", 1.0), *runs("b", 9.0)]), None) == ("", False)


def test_who_failed_everywhere_is_not_compared():
    assert said(*runs("a", 1.0), failed("b", "crashed", "signal 11"))[0].startswith("Take a: it alone ")


def test_who_was_not_begun_takes_no_data_set_from_the_others():
    none = {"kernel": None, "kernel_parameters": None, "problem_parameters": {}, "target_gap": 1e-3}
    told, _ = said(*runs("a", 1.0), *[failed("b", "skipped", "b solves c-svc", repetition=i, **none) for i in range(3)])
    assert told == "Take a: it alone reached a certified gap of 1e-3 on digits, 3 runs each."


def test_a_ratio_of_single_runs_asks_for_more():
    one = [record("a", fit_seconds=1.0, target_gap=1e-3), record("b", fit_seconds=9.0, target_gap=1e-3)]
    told, shown = said(*one, command="harness compare")
    assert told.endswith("1 run each. More runs make this surer:")
    assert shown
