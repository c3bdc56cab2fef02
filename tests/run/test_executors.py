"""Runs on nodes: real Dask clusters of this machine, nodes that are refused, processes that are killed."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import threading
from collections import Counter
from concurrent.futures import Future

import dask
import msgspec
import psutil
import pytest

from harness import Executor
from harness.call.result import Result
from harness.measure.outcome import Limits
from harness.registry.discovery import load_registry
from harness.report import formats
from harness.report.rows import grouped
from harness.run import executors, node, node_runner
from harness.run.channel import decode, encode, frame, unframe
from harness.run.driver import Driver
from harness.run.messages import RunSpec
from harness.run.node import EnvironmentFingerprint
from harness.run.plan import Study
from harness.run.store import Store
from harness.support.errors import EngineLost, UsageError
from harness.support.machine import machine
from tests.run.conftest import HARNESS, PLUGINS, check_end
from tests.run.test_interruption import children_of, lives, wait_for

ENGINES = {"dask": "dask://local?workers=2", "threads": "threads://local?workers=2"}
SLOW = PLUGINS / "steps.py"


@pytest.fixture(scope="module")
def registry():
    return load_registry([SLOW])


def study(registry, tmp_path, executor="", seeds=(0, 1), solvers="smo,fw/gilbert", **more):
    chosen = registry.select_solvers(solvers)
    data = registry.select_datasets("checkerboard[n=60,n_test=10],twonorm[n=60]")
    limits = Limits(time_limit=30.0, target_gap=1e-2)
    return Study(chosen, data, seeds=seeds, limits=limits, store=tmp_path / "s.sqlite", executor=executor, **more)


def figures(record):
    return [record[name] for name in ("status", "key", "primal", "kernel_evaluations", "iterations", "data_sha256")]


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_nodes_give_what_this_machine_gives(engine, registry, tmp_path):
    notes, started = [], []
    (tmp_path / "here").mkdir()
    here = Driver(study(registry, tmp_path / "here"), registry).run()
    distributed = study(registry, tmp_path, ENGINES[engine])
    there = Driver(distributed, registry, on_note=notes.append, on_started=started.append).run()
    assert list(map(figures, there)) == list(map(figures, here))
    assert {record["status"] for record in here} == {"ok"}
    assert len(started) == len(here) == 8
    assert any("node" in note for note in notes)
    assert stored_keys(tmp_path) == dict.fromkeys([record["key"] for record in here], 1)
    # one seed more: what is known is not measured again
    again = Driver(study(registry, tmp_path, ENGINES[engine], seeds=(0, 1, 2)), registry).run()
    assert [record["reused"] for record in again] == [True] * 8 + [False] * 4


# -- without an engine ---------------------------------------------------------------------------------------


class Recorded(Executor):
    """Nodes that this process makes up: each task is run here, by the node whose turn it is, with what is planted in it."""

    def __init__(self, nodes, able=True):
        self.nodes, self.able, self.tasks, self.left = dict(nodes), able, [], []

    def submit(self, on_node, task, nodes=()):
        future = Future()
        names = [name for name in self.nodes if name not in self.left]
        name = next((each for each in nodes if each in names), names[len(self.tasks) % len(names)])
        self.tasks.append((name, len(decode(unframe(task, node.Task).runs, list[RunSpec]))))
        future.set_result(self._answered(on_node, task, name))
        return future

    def _answered(self, on_node, task, name):
        return frame(self.nodes[name](unframe(on_node(task, name), node.Answer)))

    def everywhere(self, on_node, task):
        return [self._answered(on_node, task, name) for name in self.nodes if name not in self.left]

    def slots(self):
        return len(self.nodes) - len(self.left)

    def leave_out(self, name):
        self.left += [name] if self.able else []
        return self.able

    def close(self):
        self.closed = True


def same(answer):
    return answer


def of_machine(identity):
    different = {"id": identity, "processor": identity}
    return lambda answer: msgspec.structs.replace(answer, machine={**answer.machine, **different})


def having(**different):
    replace = msgspec.structs.replace
    return lambda answer: replace(answer, has=replace(answer.has, **different), rows=[])


@pytest.fixture
def run_on(monkeypatch, registry, tmp_path):
    """Run a study on made-up nodes; return the records and the notes."""

    def run(executor, seeds=(0,), solvers="fw", **options):
        monkeypatch.setitem(registry.executors, "own", lambda place: executor)
        notes = []
        wanted = study(registry, tmp_path, "own://x", seeds=seeds, solvers=solvers, **options)
        return Driver(wanted, registry, on_note=notes.append).run(), notes

    return run


def stored_keys(tmp_path):
    with Store(tmp_path / "s.sqlite") as store:
        return Counter(record["key"] for record in store.records())


@pytest.mark.parametrize(
    ("planted", "sentence"),
    [
        ({"sources": {"harness": "0" * 64}}, "its sources differ: harness is 000000"),
        ({"plugins": {}}, r"its plugins differ: fw is \(none\), and here it is "),
        ({"plugins": {"fw": "x", "smo": "x", "harness": "x"}}, "its plugins differ: fw is x, and here it is "),
        ({"versions": {}}, r"its versions differ: python is \(none\)"),
    ],
)
def test_a_node_that_has_something_else_runs_nothing(planted, sentence, run_on):
    executor = Recorded({"good": same, "other": having(**planted)})
    records, notes = run_on(executor)
    assert {record["status"] for record in records} == {"ok"}
    assert {name for name, _ in executor.tasks} == {"good"}
    assert sum(sentence.replace("\\", "") in note and "node other is left out" in note for note in notes) == 1
    executor = Recorded({"other": having(**planted)})
    with pytest.raises(UsageError, match=f"no node is left: other: {sentence}"):
        run_on(executor, seeds=(5,))
    assert executor.closed


def test_models_come_back_from_nodes(run_on, tmp_path):
    records, _ = run_on(Recorded({"good": same}), keep_models=True)
    with Store(tmp_path / "s.sqlite") as store:
        assert all(store.content(record["model_sha256"]) for record in records)
    assert not any("model" in record for record in records), "the records have the hash alone"


def test_bytes_that_were_damaged_on_their_way_are_a_row_with_a_sentence(run_on):
    class Damaging(Recorded):
        def _answered(self, on_node, task, name):
            data = super()._answered(on_node, task, name)
            return data if len(self.tasks) == 0 else data[:-1] + bytes([data[-1] ^ 1])

    records, _ = run_on(Damaging({"a": same}))
    for record in records:
        check_end(record, "environment", "checksum is wrong")
    assert len({record["key"] for record in records}) == len(records)


def test_the_node_itself_compares_before_it_runs(registry):
    source, missing = registry.select_datasets("twonorm[n=60]")[0], '["file", {"path": "/not/there.csv"}]'
    key = json.dumps([source.name, {"n": 60, "n_test": source.n_test, "seed": source.seed}])
    plugins = {"harness": registry.plugins["harness"].fingerprint + registry.plugins["harness"].version}
    for own, difference in (
        ({"versions": {"python": "0.1"}}, "its versions differ: python is 3."),
        ({"programs": {"sh": "0" * 64}}, "its programs differ: sh is "),
        ({"programs": {"no-such-svm": "0" * 64}}, "its programs differ: no-such-svm is (none), and here it is 000"),
        ({"plugins": plugins, "data": {key: "0" * 64, missing: "1" * 64}}, "its data differ: twonorm is "),
    ):
        here = EnvironmentFingerprint(node.host_code(), **own)
        answer = unframe(node.run_task(frame(node.Task(here, runs=encode([])))), node.Answer)
        assert answer.rows == []
        assert difference in here.difference(answer.has)
    assert "/not/there.csv" in answer.has.data[missing]


@pytest.mark.slow
def test_an_engine_that_cannot_leave_a_node_out_says_so_and_goes_on(run_on):
    records, notes = run_on(
        Recorded({"good": same, "other": having(sources={"harness": "0"})}, able=False), seeds=(0, 1)
    )
    assert {record["status"] for record in records} == {"ok"}
    assert any("end its worker" in note for note in notes)
    with pytest.raises(UsageError, match="no node is left"):
        run_on(Recorded({"other": having(sources={"harness": "0"})}, able=False), seeds=(7,))


def test_two_classes_of_machines_never_meet_in_a_ratio(run_on, tmp_path):
    classes = {"fast": "aaaa1111", "slow": "bbbb2222", "slower": "bbbb2222"}
    executor = Recorded({name: of_machine(identity) for name, identity in classes.items()})
    wanted = {"seeds": range(3), "solvers": "smo,qp"}  # of one formulation
    records, notes = run_on(executor, **wanted)
    assert any("3 nodes of 2 classes of machines" in note for note in notes)
    blocks: dict[object, set[str]] = {}
    for record in records:
        blocks.setdefault((record["dataset"], record["seed"]), set()).add(record["machine"]["id"])
    assert all(len(machines) == 1 for machines in blocks.values())
    assert len(set.union(*blocks.values())) == 2
    groups = [{each["machine"]["id"] for row in group.rows for each in row.records} for group in grouped(records)]
    assert [len(machines) for machines in groups] == [1] * 4
    result = Result(tuple(records), "", "")
    assert "2 classes of machines: " in result.table
    assert "(2 classes of machines)" in formats.render("table", records, command="")
    assert len(result.best()) == 4
    # what is left of a block goes to the class that has the rest of it, and nothing twice
    with Store(tmp_path / "s.sqlite") as store:
        lost = [row for row in store.rows() if row.record["solver"] == "smo"]
        store.delete((row.number, row.content[0], row.content[2]) for row in lost)
    again, _ = run_on(executor, **wanted)
    assert sorted(record["key"] for record in again) == sorted(record["key"] for record in records)
    assert sum(not record["reused"] for record in again) == len(lost) == 6


def test_what_nodes_that_come_late_have_measured_is_not_measured_twice(monkeypatch, run_on, tmp_path):
    class Late(Recorded):
        calls = 0

        def everywhere(self, on_node, task):
            self.calls += 1
            return [] if self.calls < 3 else super().everywhere(on_node, task)[:1]

    monkeypatch.setattr(node_runner, "_PROGRESS_SECONDS", 0.1)
    monkeypatch.setattr(node_runner, "_ANSWER_SECONDS", 0.01)
    first, late = of_machine("aaaa1111"), of_machine("bbbb2222")
    executor, wanted = Late({"first": first, "late": late}), {"seeds": (0, 1), "solvers": "smo,fw/gilbert"}
    _, notes = run_on(executor, **wanted)
    assert sum("no node of own://x has answered yet" in note for note in notes) == 1
    assert executor.calls == 3
    executor = Late({"third": of_machine("cccc3333"), "late": late, "first": first})
    again, _ = run_on(executor, **wanted)
    assert len(executor.tasks) == 4, "of the class of the one that is there nothing is known"
    assert [bool(record["reused"]) for record in again].count(True) == 4 == len(again) / 2
    assert set(stored_keys(tmp_path).values()) == {1}


def test_a_class_of_machines_can_be_declared(monkeypatch):
    usual = machine()["id"]
    monkeypatch.setenv("HARNESS_MACHINE", "slow")
    assert machine.__wrapped__()["id"] != usual
    monkeypatch.delenv("HARNESS_MACHINE")
    assert machine.__wrapped__()["id"] == usual


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("dusk://local", "did you mean 'dask'"),
        ("dask", r"did you mean 'dask://local\?workers=2'\?"),
        ("gone", r"did you mean 'gone://PLACE'\?"),
        ("local", "known: "),
        ("10.0.0.1:8786", "did you mean 'dask://10.0.0.1:8786'"),
        ("dask://10.0.0.1", "write dask://10.0.0.1:8786 or dask://local"),
        ("dask://local?workers=no", "workers='no' .* must be a whole number"),
        ("dask://127.0.0.1:1?workers=2", "leave workers= out"),
        ("threads://else", "threads are of this machine"),
        ("gone://x", r"\(dusk\): pip install 'svm-harness\[gone\]'"),
    ],
)
def test_a_wrong_executor_gets_a_sentence(url, sentence, monkeypatch, registry):
    def gone(place):
        raise ModuleNotFoundError("no dusk", name="dusk")

    monkeypatch.setitem(registry.executors, "gone", gone)
    with pytest.raises(UsageError, match=sentence):
        executors.select_executor(url, registry)()


@pytest.mark.parametrize("reply", [None, b"", b"HTTP/1.0 200 OK\r\n\r\nthe page of another server"])
def test_no_scheduler_there_is_a_sentence(reply, monkeypatch, registry):
    monkeypatch.setattr(executors, "_ANSWER_SECONDS", 0.5)
    accepted = []

    def answer():
        accepted.append(server.accept()[0])
        accepted[0].sendall(reply)

    with socket.create_server(("127.0.0.1", 0)) as server:
        place = f"127.0.0.1:{server.getsockname()[1]}"
        if reply is None:
            server.close()
        else:
            threading.Thread(target=answer, daemon=True).start()
        with pytest.raises(UsageError, match=f"no Dask scheduler answers at {place}"):
            executors.select_executor(f"dask://{place}", registry)()
    for connection in accepted:
        connection.close()


@pytest.mark.parametrize("how", ["cancelled", "submit", "error"])
def test_a_lost_engine_or_task_is_told(how, run_on, tmp_path):
    class Lost(Recorded):
        def submit(self, on_node, task, nodes=()):
            future = super().submit(on_node, task, nodes)
            if len(self.tasks) < 3:
                return future
            if how == "submit":
                raise OSError("Stream is closed")
            future = Future()
            future.cancel() if how == "cancelled" else future.set_exception(RuntimeError("the worker was lost"))
            return future

    if how != "error":
        with pytest.raises(EngineLost, match=r"own://x is gone(| \(OSError: Stream is closed\))\. "):
            run_on(Lost({"one": same}), seeds=range(3))
        assert stored_keys(tmp_path).total() == 2
    else:
        records, _ = run_on(Lost({"one": same}), seeds=range(3))
        assert Counter(record["status"] for record in records) == {"ok": 2, "environment": 4}
        assert "the worker was lost" in records[-1]["reason"]
    records, _ = run_on(Recorded({"one": same}), seeds=range(3))
    assert {record["status"] for record in records} == {"ok"}
    assert sum(bool(record["reused"]) for record in records) == 2


def test_what_came_back_as_the_engine_was_lost_is_stored(run_on, tmp_path):
    class Lost(Recorded):
        def submit(self, on_node, task, nodes=()):
            if not self.tasks:
                self.first = Future()
                self.tasks.append(("one", 0))
                return self.first
            self.first.cancel()
            return super().submit(on_node, task, nodes)

    with pytest.raises(EngineLost, match="own://x is gone"):
        run_on(Lost({"one": same}), seeds=(0, 1))
    assert stored_keys(tmp_path).total() == 1


def end(task, name):
    os._exit(9)


@pytest.mark.slow
def test_a_worker_that_is_left_out_is_not_closed_and_gets_no_task_and_a_lost_one_is_told_of(registry):
    with dask.config.set({"distributed.scheduler.allowed-failures": 0}):
        executor = executors.select_executor("dask://local?workers=2", registry)()
    try:
        first, second = executor.running()
        assert executor.leave_out(first)
        names = [executor.submit(name_of, b"").result() for _ in range(6)]
        assert set(names) == {second.encode()}
        assert (executor.slots(), list(executor.running())) == (1, [second])
        assert len(executor._client.scheduler_info()["workers"]) == 2
        error = executor.submit(end, b"").exception()
        assert executor.format_error(error).startswith("the workers that had them were lost, 1 in all")
    finally:
        executor.close()


@pytest.mark.slow
@pytest.mark.usefixtures("heeds_interrupts")
def test_an_interrupt_while_a_cluster_starts_is_a_sentence(tmp_path):
    options = ["--plugins", "fw", "--datasets", "twonorm[n=60]", "--store", str(tmp_path / "s.sqlite")]
    command = [*HARNESS, "compare", *options, "--executor", "dask://local?workers=1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as driver:
        started = []

        def workers():
            started[:] = [
                each for each in children_of(psutil.Process(driver.pid)) if "spawn_main" in str(cmdline(each))
            ]
            return started

        wait_for(workers)
        driver.send_signal(signal.SIGINT)
        _, errors = driver.communicate(timeout=60)
    assert driver.returncode in (130, -signal.SIGINT)
    assert "harness: interrupted" in errors
    assert "Traceback" not in errors
    wait_for(lambda: not any(map(lives, started)), 20.0)


def cmdline(process):
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.cmdline()
    return []


def name_of(task, name):
    return name.encode()
