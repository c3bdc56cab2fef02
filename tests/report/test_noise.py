"""The one rule of what differs by more than its noise, and the stars that follow it."""

from math import comb

import numpy as np
import pytest

from harness import Record
from harness.measure.repetition import ONE_RUN, ratio_interval, undecided
from harness.report import formats, measures, table
from harness.report.noise import interval
from harness.report.rows import Row, grouped
from tests.report.fabricated import record


@pytest.mark.parametrize("runs", [6, 7, 9, 15, 30, 100, 2000])
def test_the_interval_of_the_median_is_the_shortest_that_is_95_per_cent_sure(runs):
    low, high = interval(range(runs), noisy=True)
    missed = [2 * sum(comb(runs, i) for i in range(dropped)) / 2**runs for dropped in (int(low) + 1, int(low) + 2)]
    assert low + high == runs - 1, "as many are left out on either side"
    assert missed[0] <= 0.05 < missed[1]


def test_few_runs_have_their_range_and_less_than_four_a_factor_too():
    assert interval([3.0, 1.0, 2.0, 5.0, 4.0], noisy=True) == (1.0, 5.0)
    assert interval([2.0, 2.0, 2.0, 2.0], noisy=True) == (2.0, 2.0)
    assert interval([2.0], noisy=True) == pytest.approx((2.0 / ONE_RUN, 2.0 * ONE_RUN))
    assert interval([2.0], noisy=False) == (2.0, 2.0)
    assert interval([1.0, 9.0], noisy=True) == (1.0, 9.0)
    for runs, factor in ((2, 1.33), (3, 1.26)):
        assert interval([2.0] * runs, noisy=True) == pytest.approx((2.0 / factor, 2.0 * factor), rel=5e-3)
        assert interval([2.0] * runs, noisy=False) == (2.0, 2.0)


def test_the_steady_time_ranks_where_all_runs_have_it():
    new, old = record("a", fit_seconds=2.0, steady_cpu_seconds=1.0), record("a", fit_seconds=2.2, repetition=1)
    assert Row((new, new)).values("cpu_seconds") == [1.0, 1.0]
    assert Row((new, old)).values("cpu_seconds") == [2.0, 2.2]
    assert "below 0.5 s those of later fits" in table.render([new], explain=True)


def looks(noise, ratio, seed):
    """Return of 400 pairs of solvers, whose true times have this ratio, what is known after each repetition up to the 20th."""
    rng = np.random.default_rng(seed)
    a, b = np.exp(noise * rng.standard_t(4, (2, 400, 20)))
    return [
        [ratio_interval(first[:k], second[:k]) for k in range(1, 21)]
        for first, second in zip(a.tolist(), (ratio * b).tolist(), strict=True)
    ]


@pytest.mark.parametrize("noise", [0.02, *(pytest.param(each, marks=pytest.mark.slow) for each in (0.005, 0.1))])
def test_equal_solvers_are_rarely_called_different_however_often_one_looks(noise):
    wrong = [any(not low <= 1.0 <= high for low, high in pair) for pair in looks(noise, 1.0, 1)]
    assert sum(wrong) <= 0.05 * len(wrong)


@pytest.mark.parametrize("noise", [0.02, *(pytest.param(each, marks=pytest.mark.slow) for each in (0.005, 0.05))])
def test_a_solver_that_is_1_3_times_as_fast_is_found(noise):
    found = [any(low > 1.0 for low, _ in pair) for pair in looks(noise, 1.3, 2)]
    assert sum(found) >= 0.9 * len(found)


def test_runs_are_repeated_until_each_solver_is_slower_or_equal():
    times = {"a": [1.0, 1.01, 1.0], "b": [1.2, 1.21, 1.2], "c": [5.0], "d": [1.01, 1.0, 1.01]}
    assert undecided({name: times[name] for name in "abc"}) == []
    assert undecided(times, comparisons=40) == ["a", "b", "d"]
    assert undecided({"a": [1.0], "b": [1.5], "c": [9.0]}) == ["a", "b"]
    assert undecided({"a": [1.0]}) == undecided({}) == []


def starred(records):
    """Return the solvers with a star at their seconds, and in Markdown in bold."""
    lines = [line for line in table.render(records).splitlines() if " c-svc" not in line]
    terminal = {line.split()[0] for line in lines if line.endswith(" ok") and "*" in line[:32]}
    rows = [
        line.split(" | ") for line in str(formats.render("markdown", records)).splitlines() if line.endswith(" ok |")
    ]
    assert {row[0].removeprefix("| ") for row in rows if row[1].startswith("**")} == terminal
    return terminal


@pytest.mark.parametrize(
    ("runs", "told_apart"),
    [
        (((1.0,), (2.2,)), False),
        (((1.0,), (2.3,)), True),
        (((1.0, 1.1, 1.2), (1.4, 1.3, 1.21)), False),
        (((1.0, 1.1, 1.2), (1.9, 2.0, 2.1)), True),
        (((1.0, 1.1, 1.2, 1.2), (1.21, 1.3, 1.4, 1.4)), True),
        (((1.0, 1.1, 1.2, 1.2), (1.02, 1.122, 1.224, 1.224)), False),
    ],
)
def test_runs_that_cannot_be_distinguished_share_the_star(runs, told_apart):
    made = [
        record(name, fit_seconds=seconds, repetition=i)
        for name, own in zip("ab", runs, strict=True)
        for i, seconds in enumerate(own)
    ]
    found = starred([*made, record("c", fit_seconds=30.0)])
    assert found == ({"a"} if told_apart else {"a", "b"})


@pytest.mark.parametrize("metric", ["balanced-accuracy", "g-means", "f1", "prbep", "roc-auc"])
def test_metrics_made_of_shares_are_no_surer_than_an_accuracy(metric):
    """Of 599 points 97.0 % and 97.6 % right, and half of them."""
    shares = {"a": 0.97, "b": 0.976, "c": 0.5}
    by_accuracy = [record(name, test_accuracy=share) for name, share in shares.items()]
    by_metric = [record(name, test_accuracy=None, metrics={metric: share}) for name, share in shares.items()]
    assert measures.best_rows(measures.ACCURACY, grouped(by_accuracy)[0]) == {0, 1}
    (column,) = measures.metrics(grouped(by_metric)[0].rows)
    assert measures.best_rows(column, grouped(by_metric)[0]) == {0, 1}


def test_stars_go_by_the_clock_of_the_pages():
    """Wall seconds say that b was faster; the machine was busy while a ran."""
    rows = [record("a", fit_seconds=9.0, cpu_seconds=1.0), record("b", fit_seconds=3.0), record("c", fit_seconds=30.0)]
    assert starred(rows) == {"a"}
    assert starred([Record({**row, "threads": 2}) for row in rows]) == {"b"}  # threads add up in CPU seconds
    assert "machine was busy" not in table.render([record("a"), record("b")])


def test_who_waits_for_something_else_wins_by_no_cpu_time():
    waits = record("waits", fit_seconds=9.0, cpu_seconds=0.1, waited_seconds=8.8)
    busy = record("busy", fit_seconds=9.0, cpu_seconds=0.1, waited_seconds=0.5)  # other work had its core
    assert starred([waits, record("b", fit_seconds=3.0)]) == {"b"}
    assert starred([busy, record("b", fit_seconds=3.0)]) == {"busy"}
    assert "CPU seconds" not in table.sheets([waits, record("b", fit_seconds=3.0)])[0].columns[1].line


def test_costs_of_a_sweep_are_ranked_within_each_problem():
    """A small C is easier: that says nothing of solvers."""
    rows = [
        record(name, fit_seconds=seconds * C, problem_parameters={"C": C})
        for C in (1.0, 100.0)
        for name, seconds in (("a", 1.0), ("b", 9.0))
    ]
    lines = [line for line in table.render(rows).splitlines() if "c-svc" in line]
    assert [line.split()[:4] for line in lines] == [
        ["a", "c-svc", "C=1", "1.00*"], ["b", "c-svc", "C=1", "9.00"],
        ["a", "c-svc", "C=100", "100*"], ["b", "c-svc", "C=100", "900"],
    ]  # fmt: skip
