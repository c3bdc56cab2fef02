"""The pages tell two figures apart by the same rule as the tables of the command."""

from __future__ import annotations

import pytest

from harness import ONE_RUN, apart, interval

ASK = """
const done = arguments[arguments.length - 1];
const address = new URL('solvers/store.js', document.baseURI);
import(address).then((store) => done(store[arguments[0]](...arguments[1])), (error) => done(String(error)));
"""


@pytest.fixture
def ask(browser, made):
    """Call an exported function of store.js with values."""
    browser.open(made.at("table"))
    return lambda name, *given: browser.driver.execute_async_script(ASK, name, given)


def row(**changes):
    return {"time": 2.0, "kernel_evaluations": 100, "runs": 1, "intervals": None, **changes}


def test_intervals_are_those_of_the_command(ask):
    assert ask("interval", row(), "time") == list(interval([2.0], noisy=True))
    assert ask("interval", row(), "kernel_evaluations") == list(interval([100.0], noisy=False))
    assert ask("interval", row(runs=3, intervals={"time": [1.5, 2.5]}), "time") == [1.5, 2.5]
    assert ask("interval", row(runs=3), "time") == [2.0, 2.0], "the same in every run"
    assert ask("interval", row(time=None), "time") is None


def test_the_time_to_a_target_has_its_interval(ask):
    one = row(seconds_to=[2.0, None])
    assert ask("interval", one, "seconds_to", 0) == list(interval([2.0], noisy=True))
    assert ask("interval", one, "seconds_to", 1) is None
    several = row(runs=3, seconds_to=[2.0], seconds_to_intervals=[[1.0, None]])
    assert ask("apart", several, row(seconds_to=[900.0]), "seconds_to", 0) is False, "a run never got there"


@pytest.mark.parametrize("factor", [ONE_RUN, 2.0, ONE_RUN**2 * 0.99, ONE_RUN**2 * 1.01, 9.0])
def test_apart_is_that_of_the_command(ask, factor):
    told = apart(interval([2.0], noisy=True), interval([2.0 * factor], noisy=True))
    assert ask("apart", row(), row(time=2.0 * factor), "time") is told
    assert ask("apart", row(time=2.0 * factor), row(), "time") is told
    assert ask("apart", row(), row(kernel_evaluations=101), "kernel_evaluations") is True


def test_data_sets_are_counted_apart_from_problems(ask, browser):
    rows = [{"set": name, "dataset": f"{name}, c-svc C={C}"} for name in "ab" for C in (1, 10, 100)]
    assert ask("setsIn", rows) == "2 data sets (6 problems)"
    assert ask("setsIn", rows[:1]) == "1 data set"
    choices = browser.ask("return document.querySelector('#controls [name=dataset] option').textContent")
    assert choices == "8 data sets (12 problems), one figure"
