"""The warm-up: its states, what later comparisons know of it, what the solver's code can see meanwhile, and its faults."""

import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from harness_active.pool_svc import PoolSVC

from harness import RBF, Iterate, KernelOracle, Solver
from harness.run import pool as pools
from harness.run.pool import ProcessPool
from harness.run.warm_up import State, WarmUp, few_points, warm_up
from tests.run.conftest import ALONE, PLUGINS, SPEC, check_end, compared


def test_the_first_run_reports_what_a_child_took_before_it_and_each_run_what_its_process_took():
    progress = WarmUp(unreported_seconds=3.0)
    assert progress.reported_seconds(0.5) == 3.5
    progress.state, progress.seconds = State.WARM, 0.25
    assert progress.reported_seconds(0.01) == 0.25


@pytest.mark.slow
def test_a_worker_imports_what_a_black_box_needs_once_a_child_did_also_in_an_earlier_comparison(tmp_path):
    log, library = tmp_path / "log", tmp_path / "slow_library.py"
    library.write_text(
        "import os\nwith open(os.environ['IMPORTS_LOG'], 'a') as log:\n    print(os.getpid(), file=log)\n"
    )
    environment = {**ALONE, "IMPORTS_LOG": str(log), "PYTHONPATH": f"{os.environ.get('PYTHONPATH', '')}:{tmp_path}"}
    plugin = tmp_path / "imports.py"
    plugin.write_text(f"{(PLUGINS / 'warm_ups.py').read_text()}# {tmp_path}: nothing is known of it\n")
    processes = []
    for _ in range(2):
        arguments = (tmp_path / "store", plugin, "black-box", "--fresh", "--repeat", "2")
        _, records, _ = compared(*arguments, environment=environment)
        assert [record["status"] for record in records] == ["ok", "ok"]
        processes += [(record["info"]["worker"], record["info"]["process"]) for record in records]
    (worker, _), (same, _), (later, _), _ = processes
    assert same == worker
    _child, *imports = map(int, log.read_text().splitlines())
    assert imports == [worker, later]


def test_faults_of_a_start_or_a_warm_up_and_what_it_sees(tmp_path):
    broken = tmp_path / "leaves_at_once.py"
    ends = "\nimport sys\nif sys.argv[0] == 'harness.run.worker':\n    os._exit(9)\n"
    text = (PLUGINS / "warm_ups.py").read_text().partition("@dataclass(frozen=True)\nclass TwoWays")[0]
    text = text.replace('name = "compiles"', 'name = "leaves"')
    broken.write_text(f"{text}@hookimpl\ndef harness_solvers():\n    return [Compiles]\n{ends}")
    paths = [option for name in ("warm_ups.py", "faulty.py") for option in ("--plugin-path", PLUGINS / name)]
    selection = "leaves,looks-up,two-ways,faulty[fault=dies-in-warm-up]"
    code, records, _ = compared(tmp_path / "s", broken, selection, *paths, "--repeat", "2", environment=ALONE)
    assert code == 1
    by_solver = {
        name: [each for each in records if each["solver"] == name] for name in ("leaves", "faulty", "looks-up")
    }
    check_end(by_solver["leaves"][0], "crashed", "exit code 9")
    assert [record["status"] for record in records if record["solver"] != "leaves"] == ["ok"] * 6
    first, second = by_solver["faulty"]
    assert first["faults"] == ["warm-up failed (exit code 3); measured without warm-up."]
    assert not second["faults"], "it is not tried again"
    for record in by_solver["looks-up"]:  # the second one's worker warmed itself up
        assert 0 < record["info"]["most points"] < 200
    assert {record["info"]["before"] for record in records if record["solver"] == "two-ways"} == {"few,many"}


def test_machine_code_is_compiled_before_the_first_run_and_found_by_the_next_comparison(tmp_path):
    plugin = tmp_path / "own_code.py"
    plugin.write_text(f"{(PLUGINS / 'warm_ups.py').read_text()}# {tmp_path}: no machine code is stored of it\n")
    logs = []
    for session in ("first", "second"):
        environment = {**ALONE, "COMPILES_LOG": str(tmp_path / session)}
        _, (record,), _ = compared(tmp_path / "store", plugin, "compiles", "--fresh", environment=environment)
        assert record["status"] == "ok", record["reason"]
        lines = dict.fromkeys((tmp_path / session).read_text().splitlines())  # a short fit is repeated in its process
        logs.append([[int(word) for word in line.split()] for line in lines])
    (tried, *first), later = logs
    assert tried[2] < 200, "a few points, in a child that is not the run's"
    assert tried[1] != first[-1][1]
    assert tried[3] == 1
    for worker, few, run in (first, later):
        assert (few[:2], run[2]) == (run[:2], 200)
        assert few[0] == worker[1], "the worker has it before it forks the run"
        assert [worker[3], few[3], run[3]] == [0, 0, 0], "it was compiled once"


def test_nothing_is_prepared_that_takes_long_to_read_and_a_slow_start_is_not_called_compiling(tmp_path, monkeypatch):
    pool, notes = ProcessPool(None, Path(tmp_path), threading.Event(), {SPEC.data_key: 60.0}), []
    pool.prepare([SPEC], print)
    assert not pool._processes
    monkeypatch.setattr(pools, "_STARTING_SECONDS", 0.0)
    monkeypatch.setattr(pools, "_TELL_SECONDS", 0.01)
    monkeypatch.setattr(ProcessPool, "_prepared", lambda *_: time.sleep(0.1))
    pool.reading_seconds = {}
    pool.prepare([SPEC], notes.append)
    assert {text.partition(" (")[0] for text in notes} == {"starting"}


def test_each_warm_up_begins_without_labels():
    x, y = np.random.default_rng(0).normal(size=(200, 3)), np.tile([1.0, -1.0], 100)
    pool = PoolSVC.build(KernelOracle(RBF(gamma=0.5), x), y.__getitem__, {"C": 1.0})
    few, begun = few_points(pool), []

    @dataclass(frozen=True)
    class Querying(Solver):
        name = "querying"
        solves = (PoolSVC,)

        def warm_ups(self):
            return self, self

        def iterates(self, problem, rng):
            begun.append(len(problem.queried))
            problem.query(np.arange(problem.n))
            yield Iterate(np.zeros(problem.n), done=True)

    warm_up(Querying(), few)
    assert begun == [0, 0]
    assert len(pool.queried) == 0
