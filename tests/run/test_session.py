"""Carrying out a study: records, budgets, targets; which rows of the store stand for a run, and which are measured again."""

import os
import re
import shutil
import sqlite3
from pathlib import Path

import pytest

from harness import Limits, Status, StoppedBy, get_solver
from harness.registry.discovery import load_registry
from harness.run.driver import Driver
from harness.run.plan import Study
from harness.run.pool import certified_record
from harness.run.record import COLUMNS, CertifiedFigures, Claims
from harness.run.store import read_results
from tests.adversaries.plugins import PLUGINS as ADVERSARIES
from tests.run.conftest import PLUGINS
from tests.run.rows import OLD

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("warm_sessions")]
FAULTY = PLUGINS / "faulty.py"


def measured(store, *paths, solvers="smo", datasets="checkerboard[n=200,n_test=50]", heard=None, notes=None, **options):
    """Return the records of a comparison with plugins as they are on disk now.

    heard, notes : lists, of whether each record was reused, and of what is no run's fault
    """
    registry = load_registry(paths)
    study = Study(
        registry.select_solvers(solvers),
        registry.select_datasets(datasets),
        store=store,
        plugin_paths=[str(path) for path in paths],
        **options,
    )
    heard, notes = [] if heard is None else heard, [] if notes is None else notes
    return Driver(study, registry, on_finished=lambda _, reused: heard.append(reused), on_note=notes.append).run()


def test_a_record_has_every_field_and_the_certificate(tmp_path):
    (record,) = measured(tmp_path / "s")
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


def test_finished_runs_are_reused_and_fresh_measures_again(tmp_path):
    first, heard = measured(tmp_path / "s", repeat=2), []
    again = measured(tmp_path / "s", repeat=2, heard=heard)
    assert heard == [True, True]
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
    endless = {"solvers": "faulty[fault=yields-forever]"}
    (record,) = measured(tmp_path / "s", FAULTY, **endless, limits=Limits(iteration_limit=100))
    assert (record["status"], record["iterations"], record.failed) == ("budget", 100, False)
    assert "100 iterations" in record["reason"]
    for budget, status in ((False, "unfinished"), (True, "budget")):  # the limit is one that nobody set, or a budget
        (record,) = measured(tmp_path / "s", FAULTY, **endless, limits=Limits(time_limit=0.2), time_budget=budget)
        assert (record["status"], record["stopped_by"], record.failed) == (status, "time", not budget)
    (record,) = measured(tmp_path / "s", solvers="qp", limits=Limits(kernel_evaluation_limit=1000))
    assert (record["status"], record["stopped_by"]) == ("budget", "kernel-evaluations")
    assert f"with {record['kernel_evaluations']:,} of at most 1,000 kernel evaluations" in record["reason"]


def test_a_target_reaches_the_solver_and_is_certified_whatever_the_solver_claims(tmp_path):
    missed, reached = measured(tmp_path / "s", FAULTY, solvers="well-behaved,fw", limits=Limits(target_gap=1e-2))
    assert (missed["status"], missed["claimed_done"], missed.failed) == ("missed", True, True)
    why_target_ignored = "well-behaved has no parameter gap and no with_target_gap: it ignores the target"
    assert missed["reason"] == f"the certified relative gap is 1.0e0, above 1e-2; {why_target_ignored}"
    assert (reached["status"], reached.failed, reached["target_gap"]) == ("ok", False, 1e-2)
    assert reached["relative_gap"] + (reached["gap_rounding"] or 0.0) <= 1e-2
    assert reached["parameters"]["epsilon"] == get_solver("fw").epsilon  # as asked; the target is beside it


def test_a_solver_that_is_none_once_it_has_a_target_is_told_in_words(tmp_path):
    forgets = {"solvers": "faulty[fault=forgets-return]", "limits": Limits(target_gap=1e-2)}
    (record,) = measured(tmp_path / "s", FAULTY, **forgets)
    told = "solver 'faulty' returned NoneType from with_target_gap; it must return a solver."
    assert (record["status"], record["reason"]) == ("error", told)


def test_jobs_run_at_the_same_time_and_keep_the_order(tmp_path):
    """Repetitions are outermost, then seeds, and solvers innermost."""
    records = measured(tmp_path / "s", FAULTY, solvers="smo,well-behaved", repeat=2, seeds=[0, 1], jobs=2)
    order = [
        (repetition, seed, solver) for repetition in (0, 1) for seed in (0, 1) for solver in ("smo", "well-behaved")
    ]
    assert [(record["repetition"], record["seed"], record["solver"]) for record in records] == order
    assert all(record["status"] == "ok" for record in records)


def test_compilation_in_the_measured_run_is_off_the_clock(tmp_path):
    (record,) = measured(tmp_path / "s", PLUGINS / "warm_ups.py", solvers="compiles-late")
    assert record["status"] == "ok"
    assert record["compile_seconds"] > 5.0 * record["fit_seconds"]
    assert record["compile_seconds"] > 0.02


def test_the_warm_up_takes_every_way_that_the_solver_names(tmp_path):
    (record,) = measured(tmp_path / "s", PLUGINS / "warm_ups.py", solvers="two-ways")
    assert record["info"]["before"] == "few,many"


def test_a_kernel_that_overflows_is_a_sentence(tmp_path):
    (record,) = measured(tmp_path / "s", kernel="poly", kernel_values={"degree": [1000], "gamma": [100.0]})
    assert record["status"] == "error"
    assert "kernel 'poly' (degree=1000, gamma=100, coef0=1) gives values that are not finite" in record["reason"]


def test_a_one_class_run_is_scored_against_the_labels(tmp_path):
    asked = {"datasets": "breast-cancer", "formulations": ["one-class"], "problem_values": {"nu": [0.1]}}
    (record,) = measured(tmp_path / "s", **asked)
    assert record["status"] == "ok", record["reason"]
    assert 0.5 < record["metrics"]["roc-auc"] < 1.0
    assert record["test_accuracy"] is not None
    assert record["support_vectors"] >= 0.1 * 379


def test_configurations_of_a_solver_share_a_warm_process_and_each_run_has_its_own(tmp_path, monkeypatch):
    log = tmp_path / "log"
    monkeypatch.setenv("SLOW_STEPS_LOG", str(log))
    measured(tmp_path / "s", PLUGINS / "slow_steps.py", solvers="slow-steps[seconds=0,number=[1,2,3]]")
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
    (first,) = measured(tmp_path / "s", parts, **options)
    (same,) = measured(tmp_path / "s", parts, **options)
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
    assert unsteady["status"] == "environment", "each process reads other data"
    assert "not what they were when the comparison was planned" in unsteady["reason"]


def test_a_store_of_929e25f_opens_and_its_rows_are_shown_and_not_reused(tmp_path):
    path = tmp_path / "old.sqlite"
    connection = sqlite3.connect(path)
    connection.executescript(OLD.read_text())
    connection.close()
    assert set(read_results(path).solver) == {"lasvm", "fw"}
    notes: list[str] = []
    (record,) = measured(path, solvers="fw", notes=notes)
    assert not record["reused"]
    (record,) = measured(path, solvers="fw", notes=notes)
    assert (record["reused"], notes) == (True, [])


ELSEWHERE = r"""
import subprocess, sys, time
from dataclasses import dataclass
from harness import CSVC, Iterate, Solver, get_solver, hookimpl

WORK = "import time\nwhile time.process_time() < 0.4: pass"

@dataclass(frozen=True)
class Elsewhere(Solver):
    name = "elsewhere"
    solves = (CSVC,)

    def iterates(self, problem, rng):
        solution = get_solver("smo").solve(problem)
        if problem.n > 64:
            {deed}
        yield Iterate(solution.dual_coef, solution.intercept, done=True)

@hookimpl
def harness_solvers():
    return [Elsewhere]
"""


@pytest.mark.parametrize(
    ("deed", "cpu", "waited"),
    [("subprocess.run([sys.executable, '-c', WORK], check=True)", 0.4, 0.0), ("time.sleep(0.4)", 0.0, 0.4)],
)
def test_cost_is_what_a_run_started_took_too_and_waiting_is_seen(tmp_path, deed, cpu, waited):
    (tmp_path / "elsewhere.py").write_text(ELSEWHERE.replace("{deed}", deed))
    (record,) = measured(tmp_path / "s", tmp_path / "elsewhere.py", solvers="elsewhere")
    assert record["status"] == "ok", record["reason"]
    assert record["cpu_seconds"] >= cpu
    # the clocks of the wall and of the processor tick apart
    assert waited - 0.02 <= record["waited_seconds"] <= record["fit_seconds"] - record["cpu_seconds"] + 1e-2
    assert (record["cpu_seconds"] < 0.2) == (cpu == 0.0)


def test_a_metric_that_raises_or_ends_the_certifier_costs_figures_of_metrics_alone(tmp_path):
    parts = ADVERSARIES / "parts.py"
    (raises,) = measured(tmp_path / "s", parts, metrics=["raises", "share-right", "share-wrong", "too-much", "mse"])
    assert (raises["status"], set(raises["metrics"])) == ("ok", {"share-right", "share-wrong", "mse"})
    assert raises["metrics_better"] == {"share-right": None, "share-wrong": "low", "mse": "low"}
    assert raises["metrics"]["share-wrong"] == pytest.approx(1.0 - raises["test_accuracy"])
    fault, other = raises["faults"]
    assert re.fullmatch(
        r"metric 'raises' failed: plugin 'parts', parts.py:\d+, in .*: ZeroDivisionError: division by zero", fault
    )
    assert "metric 'too-much' failed: plugin 'parts'" in other
    assert "it returned 2, which is outside of its range [0, 1]" in other
    (ends,) = measured(tmp_path / "s", parts, metrics=["ends-all", "share-right"])
    assert (ends["status"], ends["metrics"]) == ("ok", {})
    (fault,) = ends["faults"]
    assert fault.startswith(
        "the certifier failed, perhaps because of the metrics ends-all, share-right: it ended by exit code 3"
    )
    assert raises["test_accuracy"] == ends["test_accuracy"] is not None


def test_a_certifier_that_dies_is_no_verdict_and_the_run_is_measured_again():
    reason = "the host could not certify the model"
    killed = CertifiedFigures(status=Status.ERROR, stopped_by=StoppedBy.KILLED, reason=reason)
    record = certified_record(Claims(status=Status.OK, stopped_by=StoppedBy.SOLVER, sources={"harness": "1"}), killed)
    assert (record.status, record["stopped_by"], record.reusable) == ("error", "killed", False)
    late = Claims(status=Status.TIMEOUT, stopped_by=StoppedBy.TIME, reason="still running")
    late = certified_record(late, killed)
    assert (late.status, late["stopped_by"], late["reason"]) == ("timeout", "time", "still running")
