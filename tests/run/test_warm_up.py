"""The warm-up: its states, what later comparisons know of it, what the solver's code can see meanwhile, and its faults."""

import os
import sys
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


@pytest.fixture
def mark(tmp_path):
    return tmp_path / "mark"


def test_a_warm_up_is_compiled_then_safe_then_warm(mark):
    progress = WarmUp(mark)
    assert progress.must_compile
    progress.compiled(3.0)
    assert (progress.state, progress.must_compile) == (State.COMPILED, False)
    assert progress.run_ended(0.5, well=True, modules={}) == 3.5, "the first run reports the compilation before it"
    assert progress.state is State.SAFE
    progress.worker_ran(0.25)
    assert progress.state is State.WARM
    assert progress.run_ended(0.01, well=True, modules={}) == 0.25


@pytest.mark.parametrize(("well", "known"), [(False, (State.COMPILED, 0.0)), (True, (State.SAFE, 0.5))])
def test_a_later_comparison_knows_what_was_compiled_and_whether_the_worker_may_run_it(mark, well, known):
    first = WarmUp(mark)
    assert first.state is State.NEW
    first.compiled(1.0)
    first.run_ended(0.5, well=well, modules={})
    later = WarmUp(mark)
    assert (later.state, later.seconds) == known


def test_only_a_run_that_got_through_its_warm_up_makes_it_safe(mark):
    progress = WarmUp(mark)
    assert progress.run_ended(None, well=True, modules={"json": "json.py"}) is None
    assert progress.state is State.NEW
    progress.failed()
    progress.run_ended(0.0, well=True, modules={})
    assert (progress.state, progress.must_compile, mark.exists()) == (State.FAILED, False, False)
    nothing = WarmUp(mark, uses_compiler=False)
    assert not nothing.must_compile
    nothing.run_ended(0.5, well=True, modules={})
    assert nothing.state is State.SAFE


def test_a_later_comparison_imports_what_the_warm_up_of_a_black_box_imported(tmp_path, mark, monkeypatch):
    for name in ("first_library", "second_library"):
        (tmp_path / f"{name}.py").write_text("")
    files = {name: str(tmp_path / f"{name}.py") for name in ("first_library", "second_library")}
    WarmUp(mark, uses_compiler=False).run_ended(0.5, well=False, modules=files)
    monkeypatch.syspath_prepend(tmp_path)
    later = WarmUp(mark, uses_compiler=False)
    assert (later.state, later.must_import, later.import_modules()) == (State.COMPILED, True, True)
    assert files.keys() <= sys.modules.keys()
    assert not later.must_import
    assert later.run_ended(0.25, well=False, modules={}) > 0.25, "the first run reports the imports before it"
    later.run_ended(0.5, well=False, modules={"json": "elsewhere.py"})
    assert not WarmUp(mark).import_modules(), "its json is another module"
    assert not WarmUp(mark).must_import


def test_a_worker_imports_what_its_child_imported_and_what_children_of_earlier_comparisons_did(tmp_path):
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
    (worker, child), (same, _), (later, _), _ = processes
    assert same == worker
    _rehearsal, *imports = map(int, log.read_text().splitlines())
    assert imports == [child, worker, later]


def test_faults_of_a_start_or_a_warm_up_and_what_it_sees(tmp_path):
    broken = tmp_path / "leaves_at_once.py"
    ends = "\nimport sys\nif 'harness.run.worker' in sys.modules:\n    os._exit(9)\n"
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
    assert first["faults"] == ["faulty: warm-up failed (exit code 3); measured without warm-up."]
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
    (rehearsal, warm_up, run), (adopted, *later) = logs
    assert rehearsal[2] < run[2] == 200  # a few points, in a child that is not the run's
    assert rehearsal[:2] != run[:2] == warm_up[:2]
    assert [line[3] for line in logs[0]] == [1, 0, 0], "it was compiled once, and not in the run's own process"
    assert [line[0] for line in later] == [adopted[1]] * 2, "the worker has it before it forks the first run"
    assert [line[3] for line in logs[1]] == [0, 0, 0]


def test_nothing_is_prepared_that_takes_long_to_read_and_a_slow_start_is_not_called_compiling(tmp_path, monkeypatch):
    pool, notes = ProcessPool(None, Path(tmp_path), threading.Event()), []
    pool.prepare([SPEC], {SPEC.data_key: 60.0}, print)
    assert not pool._processes
    monkeypatch.setattr(pools, "_STARTING_SECONDS", 0.0)
    monkeypatch.setattr(pools, "_TELL_SECONDS", 0.01)
    monkeypatch.setattr(ProcessPool, "_prepared", lambda *_: time.sleep(0.1))
    pool.prepare([SPEC], {SPEC.data_key: 0.0}, notes.append)
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
