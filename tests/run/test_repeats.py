"""Short fits are repeated in their process, and runs until the fastest solvers are known."""

from collections import Counter

import pytest

import harness
from tests.run.conftest import PLUGINS

FAST, NEAR, FAR = "paced", "paced[ms=5.6]", "paced[ms=40.0]"


def compared(folder, plugins, **options):
    return harness.compare(
        plugins, "twonorm[n=100]", plugin_path=PLUGINS / "paced.py", store=folder / "s.sqlite", quiet=True, **options
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("repeats")


@pytest.fixture(scope="module")
def result(folder):
    return compared(folder, [FAST, NEAR, FAR], repeat="auto")


def test_only_solvers_that_may_be_the_fastest_are_repeated(result):
    runs = Counter(record["label"] for record in result.records)
    assert runs[FAR] == 1
    assert 20 >= runs[FAST] >= runs[NEAR] > 1
    assert {record["status"] for record in result.records} == {"ok"}
    numbers = [record["repetition"] for record in result.records if record["label"] == FAST]
    assert numbers == list(range(runs[FAST]))


def test_who_is_first_in_one_repetition_is_last_in_the_next(result):
    order = [(record["repetition"], record["label"]) for record in result.records if record["label"] != FAR]
    assert order[:4] == [(0, FAST), (0, NEAR), (1, NEAR), (1, FAST)]


def test_without_a_target_no_fastest_is_named_and_the_table_has_the_steady_time(result):
    assert "times as fast" not in "".join(result.verdict)
    (line,) = result.best("test_accuracy").to_dict("records")  # without a target, times have no best
    assert line["ties"]
    for record in result.records:
        pace = {FAST: 0.004, NEAR: 0.0056, FAR: 0.04}[record["label"]]
        assert record["steady_cpu_seconds"] == pytest.approx(pace, rel=0.6)
        assert record["cpu_seconds"] > 1.2 * record["steady_cpu_seconds"]
        assert 2 <= record["fits"] <= 16


def test_repetitions_are_reused(folder, result):
    again = compared(folder, [FAST, NEAR, FAR], repeat="auto")
    assert all(record["reused"] for record in again.records)
    assert len(again.records) == len(result.records)


def test_a_target_repeats_and_a_number_is_that_number(folder):
    chosen = {"target_gap": 10.0, "formulation": "c-svc"}  # the zero model has it
    assert len(compared(folder, [FAST, NEAR], **chosen).records) > 2
    assert len(compared(folder, [FAST, NEAR], repeat=1, **chosen).records) == 2
    assert len(compared(folder, [FAST, NEAR]).records) == 2


@pytest.mark.parametrize(
    ("then", "status", "reason"),
    [
        ("raises", "error", "a later fit of the same problem failed: "),
        ("dies", "crashed", "ended by signal 11"),
        ("hangs", "timeout", "still fitting the same problem again at the time limit of 2 s; killed"),
    ],
)
def test_a_later_fit_that_fails_is_a_row(folder, then, status, reason):
    (record,) = compared(folder, f"second-fit[then={then}]", time_limit=2.0).records
    assert record["status"] == status
    assert record["reason"].startswith(reason)


@pytest.mark.slow
def test_nodes_repeat_runs_too(folder):
    result = compared(folder, [FAST, NEAR], repeat="auto", executor="dask://local?workers=1", fresh=True)
    runs = Counter(record["label"] for record in result.records)
    assert runs[FAST] == runs[NEAR] > 1
