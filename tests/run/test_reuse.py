"""Which rows of the store stand for a run, and which are measured again."""

import json
import shutil
import sqlite3
import subprocess
from pathlib import Path

import pytest

from harness import Limits, Record
from harness.registry import load_registry
from harness.run.driver import compare
from harness.run.plan import Study
from harness.run.pool import judge
from harness.run.store import read_results
from tests.adversaries.plugins import PLUGINS as ADVERSARIES
from tests.run.conftest import HARNESS, PLUGINS

OLD = Path(__file__).with_name("store_929e25f.sql")

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("warm_sessions")]


def measured(store, *paths, solvers="smo", datasets="checkerboard[n=100,n_test=20]", notes=None, **options):
    """Return the records of a comparison with plugins as they are on disk now."""
    registry = load_registry(paths)
    study = Study(
        registry.select_solvers(solvers),
        registry.select_datasets(datasets),
        store=store,
        plugin_paths=[str(path) for path in paths],
        **options,
    )
    return compare(study, registry, on_note=None if notes is None else notes.append)


def changed(path, before, after):
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))


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
    done = subprocess.run(
        [*HARNESS, "results", "--store", str(path), "--format", "json"], capture_output=True, text=True, check=True
    )
    assert {row["solver"] for row in json.loads(done.stdout)} == {"lasvm", "fw"}


def test_a_metric_that_raises_costs_its_own_figure_alone(tmp_path):
    parts = ADVERSARIES / "parts.py"
    (record,) = measured(tmp_path / "s", parts, metrics=["raises", "share-right"])
    assert record["status"] == "ok"
    assert set(record["metrics"]) == {"share-right"}
    assert record["test_accuracy"] is not None
    assert record["faults"] == ["metric 'raises' raised ZeroDivisionError: division by zero (parts.py:62)"]


def test_a_certifier_that_dies_is_no_verdict_and_the_run_is_measured_again():
    record = Record(status="ok", stopped_by="solver", sources={"harness": "1"})
    killed = {"status": "error", "stopped_by": "killed", "reason": "the host could not certify the model"}
    judge(record, Record(killed))
    assert (record.status, record["stopped_by"], record.reusable) == ("error", "killed", False)
    late = Record(status="timeout", stopped_by="time", reason="still running")
    judge(late, Record(killed))
    assert (late.status, late["stopped_by"], late["reason"]) == ("timeout", "time", "still running")


def test_an_observer_that_ends_everything_ends_nothing_and_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("OBSERVER_FAILS", "1")
    notes: list[str] = []
    records = measured(tmp_path / "s", ADVERSARIES / "parts.py", repeat=2, notes=notes)
    assert [record["status"] for record in records] == ["ok", "ok"]
    assert len(notes) == 2
    assert "harness_run_finished failed" in notes[0]


def test_a_target_that_is_not_certified_is_missed_whatever_the_solver_claims(tmp_path):
    plugin = PLUGINS / "faulty.py"
    missed, reached = measured(tmp_path / "s", plugin, solvers="well-behaved,smo", limits=Limits(target_gap=1e-2))
    assert (missed["status"], missed["claimed_done"], missed.failed) == ("missed", True, True)
    assert "the certified relative gap is 1, above 0.01" in missed["reason"]
    assert reached["status"] == "ok"
    assert reached["relative_gap"] + (reached["gap_rounding"] or 0.0) <= 1e-2
    assert not reached.failed


def test_a_solver_that_is_done_beyond_a_budget_is_said_to_be(tmp_path):
    (record,) = measured(tmp_path / "s", solvers="qp", limits=Limits(kernel_evaluations=1000))
    assert (record["status"], record["stopped_by"]) == ("budget", "kernel-evaluations")
    assert f"with {record['kernel_evaluations']:,} of at most 1,000 kernel evaluations" in record["reason"]
