"""Carrying out a study: records, budgets, targets; which rows of the store stand for a run, and which are measured again."""

import os
import re
import shutil
from pathlib import Path

import pytest

from harness import Limits, Status, StoppedBy, get_solver
from harness.registry.discovery import load_registry
from harness.run.driver import Driver
from harness.run.plan import Study
from harness.run.pool import certified_record
from harness.run.record import COLUMNS, CertifiedFigures, Claims
from tests.adversaries.plugins import PLUGINS as ADVERSARIES
from tests.run.conftest import CHECKERBOARD, PLUGINS, check_end

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("warm_sessions")]
FAULTY = PLUGINS / "faulty.py"


def measured(store, *paths, solvers="smo", datasets=CHECKERBOARD, **options):
    """Return the records of a comparison with plugins as they are on disk now."""
    registry, options["plugin_paths"] = load_registry(paths), [str(path) for path in paths]
    study = Study(registry.select_solvers(solvers), registry.select_datasets(datasets), store=store, **options)
    return Driver(study, registry).run()


def test_a_record_has_every_field_and_the_certificate(tmp_path):
    (record,) = measured(tmp_path / "s")
    assert set(COLUMNS) <= set(record)
    assert (record["status"], record["n_train"]) == ("ok", 200)
    assert record["relative_gap"] <= 1e-2
    assert record["kernel_evaluations"] > 0
    assert record["peak_rss_bytes"] > 1e6
    assert record["machine"]["id"]
    assert record["versions"]["numba"]
    last = record["trace"][-1]
    assert (last["reason"], last["primal"]) == ("end", record["primal"])


def test_finished_runs_are_reused_and_fresh_measures_again(tmp_path):
    first, again = (measured(tmp_path / "s", repeat=2) for _ in range(2))
    assert [record["measured_at"] for record in again] == [record["measured_at"] for record in first]
    assert all(record["reused"] for record in again)
    fresh = measured(tmp_path / "s", repeat=2, fresh=True)
    assert not any(record["reused"] for record in fresh)
    assert fresh[0]["measured_at"] > first[0]["measured_at"]


def test_a_reused_run_has_the_names_of_the_file_at_hand(tmp_path):
    cells = "".join(f"{i % 7},{i % 2}\n" for i in range(40))
    for name in ("a", "b"):
        (tmp_path / f"{name}.csv").write_text(f"x,{name}\n{cells}")
        (record,) = measured(tmp_path / "s", datasets=str(tmp_path / f"{name}.csv"))
        assert (record["reused"], record["data_notes"]["label_column"]) == (name == "b", name)


def test_budgets_stop_a_run_and_say_so(tmp_path):
    endless = "faulty[fault=yields-forever]"
    for solver, limits, budget, status, stopped_by in (  # a time limit is one that nobody set, or a budget
        (endless, {"iteration_limit": 100}, False, "budget", "iterations"),
        (endless, {"time_limit": 0.2}, False, "unfinished|environment", "time"),
        (endless, {"time_limit": 0.2}, True, "budget|environment", "time"),
        ("qp", {"kernel_evaluation_limit": 1000}, False, "budget", "kernel-evaluations"),
    ):
        (record,) = measured(tmp_path / "s", FAULTY, solvers=solver, limits=Limits(**limits), time_budget=budget)
        check_end(record, status, "")
        assert (record["stopped_by"], record.failed) == (stopped_by, record["status"] != "budget")
    assert f"{record['kernel_evaluations']:,} of at most 1,000" in record["reason"]


def test_a_target_reaches_the_solver_and_is_certified_whatever_the_solver_claims(tmp_path):
    solvers = "well-behaved,fw,faulty[fault=[forgets-return,free]]"
    records = measured(tmp_path / "s", FAULTY, solvers=solvers, limits=Limits(target_gap=1e-2))
    by_name = {record["parameters"].get("fault", record["solver"]): record for record in records}
    missed, reached, forgets, free = (by_name[name] for name in ("well-behaved", "fw", "forgets-return", "free"))
    check_end(missed, "missed", "it ignores the target")
    assert (missed["claimed_done"], missed.failed) == (True, True)
    assert (reached["status"], reached.failed, reached["target_gap"]) == ("ok", False, 1e-2)
    assert reached["relative_gap"] + (reached["gap_rounding"] or 0.0) <= 1e-2
    assert reached["parameters"]["epsilon"] == get_solver("fw").epsilon  # as asked; the target is beside it
    check_end(forgets, "error", "'faulty' returned NoneType from with_target_gap")
    check_end(free, "missed", "its suboptimality, with the dual of well-behaved, run of ")
    assert free["test_accuracy"] is not None


def test_jobs_run_at_the_same_time_and_keep_the_order(tmp_path):
    """Repetitions are outermost, then seeds, and solvers innermost."""
    records = measured(tmp_path / "s", FAULTY, solvers="smo,well-behaved", repeat=2, seeds=[0, 1], jobs=2)
    order = [(repetition, seed, name) for repetition in (0, 1) for seed in (0, 1) for name in ("smo", "well-behaved")]
    assert [(record["repetition"], record["seed"], record["solver"]) for record in records] == order
    assert all(record["status"] == "ok" for record in records)


def test_a_kernel_that_overflows_is_a_sentence(tmp_path):
    (record,) = measured(tmp_path / "s", kernel="poly", kernel_values={"degree": [1000], "gamma": [100.0]})
    check_end(record, "error", "kernel 'poly' (degree=1000, gamma=100, coef0=1)")


def test_a_one_class_run_is_scored_against_the_labels(tmp_path):
    options = {"datasets": "breast-cancer", "formulations": ["one-class"], "problem_values": {"nu": [0.1]}}
    (record,) = measured(tmp_path / "s", **options)
    assert record["status"] == "ok", record["reason"]
    assert 0.5 < record["metrics"]["roc-auc"] < 1.0
    assert record["test_accuracy"] is not None
    assert record["support_vectors"] >= 0.1 * 379


def test_configurations_of_a_solver_share_a_warm_process_and_each_run_has_its_own(tmp_path, monkeypatch):
    log = tmp_path / "log"
    monkeypatch.setenv("SLOW_STEPS_LOG", str(log))
    measured(tmp_path / "s", PLUGINS / "steps.py", solvers="slow-steps[seconds=0,number=[1,2,3]]")
    numbers, workers, children = zip(*(line.split()[:3] for line in log.read_text().splitlines()), strict=True)
    assert numbers == ("1", "2", "3")
    assert len(set(workers)) == 1
    assert len(set(children)) == 3


# -- reuse ---------------------------------------------------------------------------------------------


def changed(path, before, after):
    text, written = path.read_text(), path.stat()
    assert before in text
    path.write_text(text.replace(before, after))
    os.utime(path, ns=(written.st_atime_ns, written.st_mtime_ns))  # as within one second: Python sees no change


@pytest.fixture
def parts(tmp_path):
    return Path(shutil.copy(ADVERSARIES / "parts.py", tmp_path / "parts.py"))


@pytest.mark.parametrize(
    ("before", "after"), [("RATE = 1.0", "RATE = 7.0"), ("np.mean(y * f > 0)", "np.mean(y * f <= 0)")]
)
def test_a_change_of_the_kernels_or_a_metrics_code_is_measured_again(tmp_path, parts, before, after):
    options = {"kernel": "laplace", "metrics": ["share-right"], "solvers": "smo"}
    (first,), (same,) = (measured(tmp_path / "s", parts, **options) for _ in range(2))
    changed(parts, before, after)
    (second,) = measured(tmp_path / "s", parts, **options)
    assert [first["reused"], same["reused"], second["reused"]] == [False, True, False]
    figures = ("test_accuracy", "relative_gap", "metrics")
    assert [first[name] for name in figures] != [second[name] for name in figures]
    changed(parts, after, before)
    (back,) = measured(tmp_path / "s", parts, **options)
    assert back["reused"], "the older row is of this very source"
    assert back["measured_at"] == first["measured_at"]


def test_a_change_of_a_helper_beside_the_plugin_is_measured_again(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "beside_it.py").write_text("VALUE = 0.0\n")
    text = (PLUGINS / "faulty.py").read_text().replace("import ctypes\n", "import ctypes\nimport beside_it\n")
    plugin = tmp_path / "with_helper.py"
    plugin.write_text(text)
    run = lambda: measured(tmp_path / "s", plugin, solvers="well-behaved")[0]["reused"]  # noqa: E731
    assert [run(), run()] == [False, True]
    (tmp_path / "beside_it.py").write_text("VALUE = 1.0\n")
    assert run() is False


@pytest.mark.parametrize("claimed", ["", "deadbeef"])
def test_the_host_measures_the_content_itself(tmp_path, monkeypatch, claimed):
    parts = ADVERSARIES / "parts.py"
    monkeypatch.setenv("CLAIMED_SHA256", claimed)
    (first,) = measured(tmp_path / "s", parts, datasets="claims")
    (other,) = measured(tmp_path / "s", parts, datasets="claims[shift=1]", kernel_values={"gamma": [1.0]})
    assert len({first["data_sha256"], claimed}) == 2
    assert first["status"] == other["status"] == "ok"
    monkeypatch.setenv("UNSTEADY", "1")
    (unsteady,) = measured(tmp_path / "s", parts, datasets="claims[shift=1]", kernel_values={"gamma": [1.0]})
    check_end(unsteady, "environment", "not what they were")  # each process reads other data


def test_a_metric_that_raises_or_ends_the_certifier_costs_figures_of_metrics_alone(tmp_path):
    parts = ADVERSARIES / "parts.py"
    (raises,) = measured(tmp_path / "s", parts, metrics=["raises", "share-right", "share-wrong", "too-much", "mse"])
    assert (raises["status"], set(raises["metrics"])) == ("ok", {"share-right", "share-wrong", "mse"})
    assert raises["metrics_better"] == {"share-right": None, "share-wrong": "low", "mse": "low"}
    assert raises["metrics"]["share-wrong"] == pytest.approx(1.0 - raises["test_accuracy"])
    for fault, name, why in zip(raises["faults"], ("raises", "too-much"), ("parts.py:", "[0, 1]"), strict=True):
        assert fault.startswith(f"metric '{name}' failed: plugin 'parts'")
        assert why in fault
    (ends,) = measured(tmp_path / "s", parts, metrics=["ends-all", "share-right"])
    assert (ends["status"], ends["metrics"]) == ("ok", {})
    (fault,) = ends["faults"]
    assert re.fullmatch("the certifier failed, .* ends-all, share-right: .* exit code 3.*", fault)
    assert raises["test_accuracy"] == ends["test_accuracy"] is not None


def test_a_certifier_that_dies_is_no_verdict_and_the_run_is_measured_again():
    killed = CertifiedFigures(status=Status.ERROR, stopped_by=StoppedBy.KILLED, reason="it was killed")
    record = certified_record(Claims(status=Status.OK, stopped_by=StoppedBy.SOLVER, sources={"harness": "1"}), killed)
    assert (record.status, record["stopped_by"], record.reusable) == ("error", "killed", False)
    late = Claims(status=Status.TIMEOUT, stopped_by=StoppedBy.TIME, reason="still running")
    late = certified_record(late, killed)
    assert (late.status, late["stopped_by"], late["reason"]) == ("timeout", "time", "still running")
