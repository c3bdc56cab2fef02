"""Carrying out a study: records, reuse, staleness, budgets."""

import shutil
from dataclasses import replace

import pytest

from harness import Limits, get_solver
from harness.registry import load_registry
from harness.run.driver import compare
from harness.run.plan import Study
from harness.run.record import COLUMNS
from tests.run.conftest import PLUGINS

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("warm_sessions")]


@pytest.fixture
def study(tmp_path):
    registry = load_registry([PLUGINS / "faulty.py"])

    def build(selection, datasets="checkerboard[n=200,n_test=50]", **options):
        options.setdefault("plugin_paths", [str(PLUGINS / "faulty.py")])
        chosen = Study(
            registry.select_solvers(selection),
            registry.select_datasets(datasets),
            store=tmp_path / "s.sqlite",
            **options,
        )
        return chosen, registry

    return build


def test_a_record_has_every_field_and_the_certificate(study):
    (record,) = compare(*study("smo"))
    assert set(COLUMNS) <= set(record)
    assert record["status"] == "ok"
    assert record["relative_gap"] <= 1e-2
    assert record["kernel_evaluations"] > 0
    assert record["peak_rss_bytes"] > 1e6
    assert record["n_train"] == 200
    assert record["machine"]["id"]
    assert record["versions"]["numba"]
    assert record["trace"][-1]["reason"] == "end"
    assert record["trace"][-1]["primal"] == record["primal"]


def test_finished_runs_are_reused_and_fresh_measures_again(study):
    request, registry = study("smo", repeat=2)
    first = compare(request, registry)
    heard = []
    again = compare(request, registry, on_finished=lambda record, reused: heard.append(reused))
    assert heard == [True, True]
    assert [record["measured_at"] for record in again] == [record["measured_at"] for record in first]
    assert all(record["reused"] for record in again)
    fresh = compare(replace(request, fresh=True), registry)
    assert not any(record["reused"] for record in fresh)
    assert fresh[0]["measured_at"] > first[0]["measured_at"]


def test_a_change_of_solver_code_makes_results_stale(study, tmp_path):
    copied = shutil.copy(PLUGINS / "faulty.py", tmp_path / "faulty.py")
    sources = "checkerboard[n=200,n_test=50]"

    def run():
        registry = load_registry([copied])
        request = Study(
            registry.select_solvers("well-behaved"),
            registry.select_datasets(sources),
            store=tmp_path / "s.sqlite",
            plugin_paths=[copied],
        )
        return compare(request, registry)[0]["reused"]

    assert [run(), run()] == [False, True]
    with open(copied, "a") as code:
        code.write("\n# changed\n")
    assert run() is False


def test_budgets_stop_a_run_and_say_so(study):
    (record,) = compare(*study("faulty[fault=yields-forever]", limits=Limits(iterations=100)))
    assert (record["status"], record["iterations"]) == ("budget", 100)
    assert "100 iterations" in record["reason"]
    assert not record.failed
    (record,) = compare(*study("faulty[fault=yields-forever]", limits=Limits(seconds=0.2)))
    assert record["status"] == "budget"
    assert record.failed


def test_target_gap_reaches_the_solver_and_is_certified(study):
    (record,) = compare(*study("fw", limits=Limits(target_gap=1e-2)))
    assert record["parameters"]["epsilon"] == get_solver("fw").epsilon  # as asked; the target is beside it
    assert record["target_gap"] == 1e-2
    assert record["relative_gap"] <= 1e-2


def test_jobs_run_at_the_same_time_and_keep_the_order(study):
    records = compare(*study("smo,well-behaved", repeat=2, jobs=2))
    assert [record["solver"] for record in records] == ["smo", "well-behaved"] * 2
    assert all(record["status"] == "ok" for record in records)


def test_compilation_in_the_measured_run_is_off_the_clock(tmp_path):
    path = str(PLUGINS / "compiles_late.py")
    registry = load_registry([path])
    request = Study(
        registry.select_solvers("compiles-late"),
        registry.select_datasets("checkerboard[n=200,n_test=50]"),
        store=tmp_path / "s.sqlite",
        plugin_paths=[path],
    )
    (record,) = compare(request, registry)
    assert record["status"] == "ok"
    assert record["compile_seconds"] > 5.0 * record["fit_seconds"]
    assert record["compile_seconds"] > 0.02


def test_the_warm_up_takes_every_way_that_the_solver_names(tmp_path):
    path = str(PLUGINS / "two_ways.py")
    registry = load_registry([path])
    request = Study(
        registry.select_solvers("two-ways"),
        registry.select_datasets("checkerboard[n=200,n_test=50]"),
        store=tmp_path / "s.sqlite",
        plugin_paths=[path],
    )
    (record,) = compare(request, registry)
    assert record["info"]["before"] == "few,many"


def test_kernel_evaluations_are_those_of_the_measured_run_alone(study):
    records = compare(*study("smo,lasvm", repeat=3))
    for solver in ("smo", "lasvm"):
        counts = {record["kernel_evaluations"] for record in records if record["solver"] == solver}
        assert len(counts) == 1, counts


def test_a_kernel_that_overflows_is_a_sentence(study):
    (record,) = compare(*study("smo", kernel="poly", kernel_values={"degree": [1000], "gamma": [100.0]}))
    assert record["status"] == "error"
    assert "kernel 'poly' (degree=1000, gamma=100, coef0=1) gives values that are not finite" in record["reason"]


def test_a_one_class_run_is_scored_against_the_labels(tmp_path):
    registry = load_registry()
    request = Study(
        registry.select_solvers("smo"),
        registry.select_datasets("breast-cancer"),
        formulations=["one-class"],
        problem_values={"nu": [0.1]},
        store=tmp_path / "s.sqlite",
    )
    (record,) = compare(request, registry)
    assert record["status"] == "ok", record["reason"]
    assert 0.5 < record["metrics"]["roc-auc"] < 1.0
    assert record["test_accuracy"] is not None
    assert record["support_vectors"] >= 0.1 * 379


def test_configurations_of_a_solver_share_a_warm_process_and_each_run_has_its_own(tmp_path, monkeypatch):
    log = tmp_path / "log"
    monkeypatch.setenv("SLOW_STEPS_LOG", str(log))
    paths = [str(PLUGINS / "slow_steps.py")]
    registry = load_registry(paths)
    solvers = registry.select_solvers("slow-steps[seconds=0,number=[1,2,3]]")
    datasets = registry.select_datasets("checkerboard[n=200,n_test=50]")
    compare(Study(solvers, datasets, store=tmp_path / "s.sqlite", plugin_paths=paths), registry)
    numbers, workers, children = zip(*(line.split()[:3] for line in log.read_text().splitlines()), strict=True)
    assert numbers == ("1", "2", "3")
    assert len(set(workers)) == 1
    assert len(set(children)) == 3
