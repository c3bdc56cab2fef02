"""Commits are measured with their own code, no number ever stands under another name, and checks name what was planted.

One file, as one process measures the history for all of its tests.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.dashboard.history import DATASETS, MACHINE, MACHINE_CODE, ROOT, SOLVERS, History, make_history, measure

pytest.importorskip("asv", reason="the dashboard needs asv: pip install 'svm-harness[asv]'")

from asv.results import Results
from harness_dashboard import configuration, measuring
from harness_dashboard.check import CPU, WALL
from harness_dashboard.history import FIELDS
from harness_dashboard.records import read_file

from harness import UsageError

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]  # the first test measures the history

FIGURES = {
    "kernel_evaluations": "track_kernel_evaluations",
    "core_set_size": "track_core_set_size",
    "support_vectors": "track_support_vectors",
}
THERE = {
    "early": {("fw", "twonorm"), ("fw", "banana"), ("kernel-perceptron", "twonorm"), ("kernel-perceptron", "banana")},
    "clean": {(solver, dataset) for solver in SOLVERS[:3] for dataset in ("twonorm", "banana")},
    "renamed": {(solver, dataset) for solver in SOLVERS for dataset in ("twonorm", "half-moons")},
    "broken": set(),
}
"""The cells that a commit has; whether they work is another matter."""
MEASURED = ("early", "clean", "broken", "renamed")  # the last one stays installed
CELLS = [(solver, dataset) for solver in SOLVERS for dataset in DATASETS]


def bench_of(history: History) -> measuring.Bench:
    return measuring.Bench.of(configuration.load(history.configuration), MACHINE)


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> History:
    """Every commit of a history with planted faults; those of `MEASURED` are measured."""
    made = make_history(tmp_path_factory.mktemp("history"))
    measure(made, MEASURED)
    return made


@pytest.fixture(scope="module")
def measured(history: History) -> dict[str, Measured]:
    return {name: read(bench_of(history), history.commits[name]) for name in MEASURED}


@dataclass(frozen=True)
class Measured:
    """A commit's runs by cell, and asv's numbers by benchmark and cell."""

    runs: measuring.Runs
    values: dict[tuple[str, tuple[str, str]], float | None]


def read(bench: measuring.Bench, commit: str) -> Measured:
    result = Results.load(str(bench.result_file(commit)), bench.machine)
    values: dict[tuple[str, tuple[str, str]], float | None] = {}
    for name in result.get_all_result_keys():
        if params := result.get_result_params(name):
            solvers, datasets = ([text.strip("'") for text in names] for names in params)
            cells = [(solver, dataset) for solver in solvers for dataset in datasets]
            values |= {
                (name, cell): value for cell, value in zip(cells, result.get_result_value(name, params), strict=True)
            }
    return Measured(bench.measured(commit), values)


def is_value(value: float | None) -> bool:
    return value is not None and not math.isnan(value)


@pytest.mark.parametrize("name", ["early", "clean", "renamed"])
def test_a_cell_has_numbers_only_at_commits_that_have_the_cell(name: str, measured: dict[str, Any]) -> None:
    found = measured[name]
    for cell in CELLS:
        status = found.runs[cell][0]["status"]
        planted = name == "early" and cell[0] == "kernel-perceptron"
        works = cell in THERE[name] and not planted
        assert not planted or cell not in THERE[name] or "planted" in found.runs[cell][0]["reason"]
        assert (status == "absent") == (cell not in THERE[name]), (cell, status, found.runs[cell][0]["reason"])
        assert (status == "ok") == works, (cell, status, found.runs[cell][0]["reason"])
        for benchmark in (
            f"solvers.Record.track_{name}" for name in ("cpu_seconds", "peak_memory", "kernel_evaluations")
        ):
            assert is_value(found.values[benchmark, cell]) == works, (benchmark, cell)
        failed = found.values["solvers.Record.track_failed", cell]
        assert math.isnan(failed) if cell not in THERE[name] else failed == float(not works), cell


@pytest.mark.parametrize("name", ["early", "clean", "renamed"])
def test_each_number_is_that_of_the_cells_own_run(name: str, measured: dict[str, Any]) -> None:
    found = measured[name]
    for cell, (record, *_) in found.runs.items():
        for field, benchmark in FIGURES.items():
            value = found.values["solvers.Record." + benchmark, cell]
            if record["status"] == "ok":
                assert value == record[field], (cell, field)
                assert record["label"].partition("[")[0] == cell[0]
            else:
                assert not is_value(value), (cell, field)


def test_the_same_code_on_the_same_data_counts_the_same_at_every_commit(measured: dict[str, Any]) -> None:
    """Under the new name of the data set stands what stood under the old one, and nothing else."""
    counts = {
        (name, cell): measured[name].values["solvers.Record.track_kernel_evaluations", cell]
        for name in ("early", "clean", "renamed")
        for cell in CELLS
    }
    for solver in ("fw", "smo", "kernel-perceptron"):
        clean = counts["clean", (solver, "twonorm")]
        assert clean == counts["renamed", (solver, "twonorm")]
        assert counts["clean", (solver, "banana")] == counts["renamed", (solver, "half-moons")] != clean
    for dataset in ("twonorm", "banana"):
        assert counts["early", ("fw", dataset)] == counts["clean", ("fw", dataset)]
    assert len({counts["clean", (solver, "twonorm")] for solver in SOLVERS[:3]}) == 3  # or nothing above says much


def test_a_commit_that_cannot_be_installed_has_failures_only(measured: dict[str, Any]) -> None:
    broken = measured["broken"]
    assert set(broken.runs) == set(CELLS)
    assert {run["status"] for runs in broken.runs.values() for run in runs} == {"error"}
    assert all("pip could not install" in run["reason"] for runs in broken.runs.values() for run in runs)
    for (benchmark, cell), value in broken.values.items():
        failed = benchmark.endswith("track_failed")
        assert value == 1.0 if failed else not is_value(value), (benchmark, cell)


def test_the_records_are_what_the_pages_read(history: History) -> None:
    file = read_file(bench_of(history).record_file(history.commits["clean"]))
    assert (file.commit, file.machine) == (history.commits["clean"], MACHINE)
    assert file.commit_time == 1_700_086_400_000
    runs = file.cells()["fw", "twonorm"]
    assert [run["repetition"] for run in runs] == [0, 1, 2, 3, 4], "a quick fit is repeated"
    assert len({run["kernel_evaluations"] for run in runs}) == 1
    run = runs[0]
    assert set(run) >= set(FIELDS)
    assert run["trace"][-1]["reason"] == "end"
    assert run["n_train"] == 200
    assert (run["threads"], run["density"]) == (1, 1.0)
    assert all(point["cpu_seconds"] >= 0.0 for point in run["trace"])


def test_nothing_of_the_checkout_is_imported(history: History) -> None:
    """The newest commit that could be installed is there still: with its own modules and entry points."""
    (env,) = [path for path in (history.repository / ".asv/env").iterdir() if path.is_dir()]
    code = (
        "import harness, importlib.metadata as m, json, sys; from harness.registry.discovery import load_registry\n"
        "r = load_registry([])\n"
        "print(json.dumps([harness.__file__, sorted(r.plugins), [p.module.__file__ for p in r.plugins.values()],"
        " m.distribution('svm-harness').locate_file('').as_posix(), sorted(r.broken)]))"
    )
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}  # as asv starts it
    command = [env / "bin/python", "-P", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    module, plugins, files, distribution, broken = json.loads(done.stdout)
    current = env / "current"
    assert current.resolve().name == history.commits["renamed"]
    assert Path(module).parent.parent == current
    assert all(Path(file).is_relative_to(current) for file in files if "harness_" in file)
    assert Path(distribution) == current
    assert "newcomer" in plugins
    assert not broken


def test_what_was_measured_is_skipped_and_the_users_home_stays_as_it_was(history: History, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "harness.cli.main", "dashboard", "run", "--machine", MACHINE]
    command += ["--config", str(history.configuration), f"{history.commits['early']}..{history.commits['clean']}"]
    environment = {**os.environ, "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert "1 of 1 commits were measured before" in done.stdout
    assert not list(tmp_path.glob(".asv*"))
    assert (history.repository / ".asv/machine.json").exists()


def test_two_measurements_at_once_are_refused(history: History) -> None:
    configured = configuration.load(history.configuration)
    with (
        measuring.locked(configured),
        pytest.raises(UsageError, match="another harness dashboard"),
        measuring.locked(configured),
    ):
        raise AssertionError("both hold the lock")


def test_the_grid_is_appended_to_only() -> None:
    """An entry that is removed, moved or changed would take its curve with it."""
    git = ["git", "-C", str(ROOT)]
    log = subprocess.run(
        [*git, "log", "--format=%H", "--", "benchmarks/grid.json"], capture_output=True, text=True, check=False
    )
    if log.returncode != 0:
        pytest.skip("not in a git checkout")
    now = json.loads((ROOT / "benchmarks/grid.json").read_text())
    for commit in log.stdout.split():
        file = f"{commit}:benchmarks/grid.json"
        shown = subprocess.run([*git, "show", file], capture_output=True, text=True, check=False)
        if shown.returncode != 0:  # a shallow clone
            continue
        before = json.loads(shown.stdout)
        if before.get("version") != now["version"]:  # a new version begins new curves
            continue
        for kind in ("solvers", "datasets"):
            assert now[kind][: len(before[kind])] == before[kind], f"{kind} of {commit[:8]} are not how the grid begins"


# -- checks: two commits in turns -------------------------------------------------------------------------------------------


def dashboard(history: History, name: str, *arguments: str) -> tuple[int, str]:
    """Run the command; return its exit code and its table."""
    command = [sys.executable, "-m", "harness.cli.main", "dashboard", name, "--config", str(history.configuration)]
    command += ["--machine", MACHINE, *arguments]
    environment = {**os.environ, "NUMBA_CACHE_DIR": MACHINE_CODE}
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env=environment)
    return done.returncode, done.stdout or done.stderr


def worse(table: str) -> set[tuple[str, str]]:
    """Return (cell, metric) of the rows that stop a pull request."""
    rows = [[part.strip() for part in line.strip("|").split("|")] for line in table.splitlines() if line[:1] == "|"]
    return {(row[0], row[1]) for row in rows if row[-1].startswith("**")}


def test_planted_faults_are_named_on_their_cells_and_no_others(history: History) -> None:
    """fw does its work five times, smo holds two rows: named are fw's times and smo's evaluations, and perhaps smo's times."""
    before = sorted((history.repository / ".asv/results" / MACHINE).iterdir())
    code, table = dashboard(history, "check", history.commits["clean"], history.commits["planted"])
    cells = {f"{solver} on {dataset}" for solver in ("fw", "smo") for dataset in ("twonorm", "banana")}
    found = worse(table)
    assert code == 1, table
    assert {cell for cell, _ in found} == cells, table
    assert {metric for cell, metric in found if cell.startswith("fw")} == {CPU}, table
    assert {metric for cell, metric in found if cell.startswith("smo")} - {CPU} == {"kernel evaluations"}, table
    assert {cell for cell, metric in found if metric == "kernel evaluations"} == {c for c in cells if "smo" in c}, table
    assert sorted((history.repository / ".asv/results" / MACHINE).iterdir()) == before, "the history was touched"


def test_a_run_compares_with_the_commit_before_and_names_the_solver_that_sleeps_and_no_other(history: History) -> None:
    commit = history.commits["sleeping"]
    code, said = dashboard(history, "run", commit)
    assert code == 0
    assert {cell.partition(" on ")[0] for cell, _ in worse(said)} == {"smo"}, said
    assert {f"smo on {dataset}" for dataset in ("twonorm", "banana")} == {
        cell for cell, metric in worse(said) if metric == WALL
    }
    file = read_file(bench_of(history).record_file(commit))
    assert file.against == history.commits["clean"]
    assert {(*change["cell"], change["metric"]) for change in file.changes or () if change["metric"] == WALL} == {
        ("smo", dataset, WALL) for dataset in ("twonorm", "banana")
    }


def test_a_commit_that_changes_nothing_is_no_worse(history: History) -> None:
    code, table = dashboard(history, "check", history.commits["clean"], history.commits["documented"], "--only", "fw")
    assert code == 0, table
    assert worse(table) == set()
    assert "cells compared: 2" in table


def test_a_check_that_cannot_be_made_says_why(history: History) -> None:
    for revisions, options, sentence in (
        (("no-such", "HEAD"), (), "BASE: the repository"),
        (("HEAD~1", "HEAD"), ("--only", "gilbert"), "'gilbert' names no cell"),
        (("HEAD~1", "HEAD"), ("--machine", "a/b"), "cannot be the name of a folder"),
    ):
        code, said = dashboard(history, "check", *revisions, *options)
        assert (code, sentence in said) == (2, True)
