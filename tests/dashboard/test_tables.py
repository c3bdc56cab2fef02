"""The tables that the pages read: facts, clocks, intervals."""

from __future__ import annotations

import pytest
from harness_dashboard import page, tables
from harness_dashboard.records import RecordFile, read_all

from tests.dashboard.stored import failed, record

DIGITS = "digits, c-svc C=10, rbf gamma=0.05"


def table(*records):
    file = RecordFile("c" * 40, 1, "m", "e", "1", list(records))
    return tables.table({cell: (file, runs) for cell, runs in file.cells().items()})


def run(solver="smo", dataset=DIGITS, **changes):
    """One run as the records of a dashboard have it: by the names of its cell."""
    told = {**record(solver, **changes), "dataset": dataset, "density": changes.get("density", 0.5)}
    return type(record())({**told, "solver": told["label"]})


def cells(found):
    rows = [{name: values[i] for name, values in found["columns"].items()} for i in range(found["rows"])]
    return {found["solvers"][row["solver"]]: row for row in rows}


def point(seconds, gap, **changes):
    return {"seconds": seconds, "kernel_evaluations": int(1000 * seconds), "relative_gap": gap, **changes}


def test_facts_of_data_sets():
    assert table(run())["dataset_facts"] == [{
        "set": "digits", "formulation": "c-svc", "problem": "c-svc C=10", "kernel": "rbf gamma=0.05", "n_train": 100,
        "n_features": 2, "density": 0.5, "clock": "cpu", "trace_clock": "cpu",
    }]  # fmt: skip


def test_one_data_set_of_several_problems_says_the_problem_in_each_row():
    hull = run("fw", "d", formulation="l2-svc", problem_parameters={"chi": 1.0})
    found = table(run("smo", "d"), hull)
    assert (found["dataset_facts"][0]["set"], found["dataset_facts"][0]["formulation"]) == ("d", None)
    problems = {name: found["problems"][row["problem"]]["problem"] for name, row in cells(found).items()}
    assert problems == {"smo": "c-svc C=10", "fw": "l2-svc chi=1"}


@pytest.mark.parametrize(
    ("other", "clock", "time"),
    [
        ({}, "cpu", 2.0),
        ({"threads": 2}, "wall", 3.0),
        ({"cpu_seconds": None}, "wall", 3.0),
        ({"threads": None}, "wall", 3.0),
    ],
)
def test_a_data_set_has_one_clock(other, clock, time):
    """CPU time only where every run has it and ran in one thread: one column never mixes two clocks."""
    found = table(
        run("a", cpu_seconds=2.0, fit_seconds=3.0),
        run("b", **{"cpu_seconds": 4.0, "fit_seconds": 5.0, **other}),
        failed(),
    )
    assert found["dataset_facts"][found["datasets"].index(DIGITS)]["clock"] == clock
    assert cells(found)["a"]["time"] == time


def test_time_is_the_median_of_the_runs_with_its_interval():
    found = cells(
        table(*(run(cpu_seconds=s, fit_seconds=10 * s, repetition=i) for i, s in enumerate((1.0, 1.2, 1.1, 1.1, 1.05))))
    )
    assert found["smo"]["time"] == 1.1
    assert found["smo"]["intervals"]["time"] == [1.0, 1.2]
    assert "relative_gap" not in found["smo"]["intervals"], "the same in all runs"
    assert cells(table(run()))["smo"].get("intervals") is None


def test_of_several_runs_one_that_was_measured_is_one_run():
    lone = cells(table(run(cpu_seconds=1.0), failed("smo", DIGITS, repetition=1)))["smo"]
    assert lone["intervals"]["time"] == [pytest.approx(2 / 3, rel=1e-5), 1.5]


@pytest.mark.parametrize(("wall", "threads", "told"), [(1.4, 1, None), (1.6, 1, 1.6), (1.6, 2, None)])
def test_a_run_that_shared_its_core_is_said_to(wall, threads, told):
    assert cells(table(run(fit_seconds=wall, cpu_seconds=1.0, threads=threads)))["smo"].get("disturbed") == told


def test_the_time_to_a_target_is_of_the_traces_clock():
    trace = [point(1.0, 0.05, cpu_seconds=0.5), point(2.0, 5e-3, cpu_seconds=1.0)]
    timed = run("a", trace=trace, relative_gap=1e-4, fit_seconds=3.0, cpu_seconds=1.5)
    found = table(timed)
    assert cells(found)["a"]["seconds_to"] == [0.5, 1.0, 1.5, 1.5, None, None]
    old = run("b", trace=[point(1.0, 0.05)], relative_gap=1e-4, fit_seconds=3.0, cpu_seconds=1.5)
    mixed = table(timed, old)
    assert mixed["dataset_facts"][0]["clock"] == "cpu"
    assert cells(mixed)["a"]["seconds_to"][:3] == [1.0, 2.0, 3.0]
    assert cells(mixed)["b"]["seconds_to"][:3] == [1.0, 3.0, 3.0]


def test_the_time_to_a_target_has_an_interval_and_no_end_where_a_run_never_got_there():
    runs = [
        run(trace=[point(s, 0.05, cpu_seconds=s)], relative_gap=gap, cpu_seconds=2 * s, repetition=i)
        for i, (s, gap) in enumerate([(1.0, 1e-2), (1.2, 1e-2), (1.1, 2e-2), (1.1, 1e-2), (1.1, 1e-2)])
    ]
    found = cells(table(*runs))["smo"]
    assert found["seconds_to"][:3] == [1.1, 2.2, None]
    assert found["seconds_to_intervals"][:3] == [[1.0, 1.2], [2.0, None], None]
    assert found["kernel_evaluations_to_intervals"][0] == [1000, 1200]


@pytest.mark.parametrize(
    ("others", "competes"),
    [
        ({}, False),
        ({"seed": 1}, True),
        ({"threads": 2}, True),
        ({"stopped_by": "time"}, True),  # it got less far
        ({"stopped_by": "time", "kernel_evaluations": 9001}, False),
    ],
)
def test_repetitions_of_one_seed_with_different_counts_compete_nowhere(others, competes):
    own = {"stopped_by": "solver", "iterations": 5, "fit_seconds": 1.0, "cpu_seconds": 1.0}
    first = run(kernel_evaluations=9000, **own)
    found = cells(table(first, run(**{**own, "kernel_evaluations": 0, "repetition": 1, **others})))["smo"]
    assert found.get("complete", False) is competes
    assert ("seconds_to" in found) is competes
    assert ("with the same seed" in (found.get("reason") or "")) is not competes


def blocks_of(*records, environment="e"):
    return dict(page.blocks([RecordFile("c" * 40, 1, "m", environment, "1", list(records))], project="x"))


def test_a_trace_is_drawn_by_the_clock_it_names():
    trace = [point(1.0, 0.05, cpu_seconds=0.5)]
    found = blocks_of(run("a", trace=trace), run("b", "other", trace=[point(1.0, 0.05)]))
    drawn = [found[f"0-trace-{i}"] for i in (0, 1)]
    assert [(each["clock"], *(points[0][0] for points in each["solvers"].values())) for each in drawn] == [
        ("cpu", 0.5), ("wall", 1)
    ]  # fmt: skip


def test_columns_that_say_nothing_are_left_out():
    trace = [point(1.0, 0.05, cpu_seconds=0.5)]
    found = blocks_of(run("a", trace=trace, test_accuracy=1.0))
    assert found["0-table"]["columns"]["test_error"] == [0], "zero is a figure"
    assert not {"at_least", "failed", "epsilon"} & set(found["0-table"]["columns"])
    assert found["0-trace-0"]["columns"] == ["seconds", "kernel_evaluations", "relative_gap"]


def test_a_thinned_trace_reaches_each_target_when_the_whole_one_did():
    trace = [point(float(i), 0.96**i) for i in range(1, 400)]
    thin = tables.thinned(trace)
    assert len(thin) <= tables.POINTS + len(tables.TARGETS) + 2
    for target in tables.TARGETS:
        first = [next(each["seconds"] for each in points if each["relative_gap"] <= target) for points in (trace, thin)]
        assert first[0] == first[1]
    assert tables.upward(1.00001e-3) > 1e-3


@pytest.mark.parametrize(("environment", "clock"), [("overlay-py3.11", "cpu"), ("compare-py3.11", "wall")])
def test_files_of_the_history_from_before_threads_were_told_are_of_one_thread(tmp_path, environment, clock):
    old = {name: value for name, value in run(cpu_seconds=2.0, fit_seconds=40.0).items() if name != "threads"}
    RecordFile("c" * 40, 1, "m", environment, "1", [old]).write(tmp_path)
    found = dict(page.blocks(read_all(tmp_path), project="x"))["0-table"]
    assert found["dataset_facts"][0]["clock"] == clock


def test_a_cell_is_shown_as_it_was_measured_last_and_a_commit_without_the_solver_measured_nothing():
    commits = [
        RecordFile(name * 40, time, "m", "e", "1", [run(cpu_seconds=seconds, status=status)])
        for name, time, seconds, status in (("c", 3, None, "absent"), ("b", 2, 2.0, "ok"), ("a", 1, 1.0, "ok"))
    ]
    found = dict(page.blocks(commits, project="x"))["0-table"]
    assert (found["commits"], cells(found)["smo"]["time"]) == (["b" * 8], 2.0)
