"""What is done before the first run: machine code is compiled in a child, and loaded by the worker where it is proven."""

import threading
import time
from pathlib import Path

from harness.run import pool as pools
from harness.run.pool import ProcessPool
from tests.run.conftest import ALONE, PLUGINS, SPEC, compared


def test_machine_code_is_compiled_before_the_first_run_and_found_by_the_next_comparison(tmp_path):
    plugin = tmp_path / "compiles.py"
    plugin.write_text(f"{(PLUGINS / 'compiles.py').read_text()}# {tmp_path}: no machine code is kept of it\n")
    logs = []
    for session in ("first", "second"):
        log = tmp_path / session
        told = compared(
            tmp_path / "store", plugin, "compiles", "--datasets", "checkerboard[n=200]", "--fresh",
            environment={**ALONE, "COMPILES_LOG": str(log)},
        )  # fmt: skip
        assert told[1][0]["status"] == "ok", told[1][0]["reason"]
        lines = dict.fromkeys(log.read_text().splitlines())  # a short fit is repeated in its process
        logs.append([[int(word) for word in line.split()] for line in lines])
    (rehearsal, warm_up, run), (adopted, *later) = logs
    assert rehearsal[2] < run[2] == 200  # a few points, in a child that is not the run's
    assert rehearsal[:2] != run[:2] == warm_up[:2]
    assert [line[3] for line in logs[0]] == [1, 0, 0], "it was compiled once, and not in the run's own process"
    assert [line[0] for line in later] == [adopted[1]] * 2, "the worker has it before it forks the first run"
    assert [line[3] for line in logs[1]] == [0, 0, 0]


def test_what_fails_before_the_first_run_is_a_row_of_the_first_run(tmp_path):
    broken = tmp_path / "leaves_at_once.py"
    ends = "\nimport sys\nif 'harness.run.worker' in sys.modules:\n    os._exit(9)\n"
    broken.write_text((PLUGINS / "compiles.py").read_text() + ends)
    plain = compared(
        tmp_path / "store", [broken, PLUGINS / "slow_steps.py"], "compiles,slow-steps", "--datasets", "checkerboard[n=200]",
        environment={**ALONE, "SLOW_STEPS_LOG": str(tmp_path / "log"), "COMPILES_LOG": str(tmp_path / "log")},
    )  # fmt: skip
    assert plain[0] == 1
    assert [record["status"] for record in plain[1]] == ["crashed", "ok"]
    assert "exit code 9" in plain[1][0]["reason"]


def test_nothing_is_prepared_that_takes_long_to_read(tmp_path):
    pool = ProcessPool(None, Path(tmp_path), threading.Event())
    pool.prepare([SPEC], {SPEC.data_key: 60.0}, print)
    assert not pool._processes


def test_a_slow_start_is_not_called_compiling(tmp_path, monkeypatch):
    monkeypatch.setattr(pools, "_STARTING_SECONDS", 0.0)
    monkeypatch.setattr(pools, "_TELL_SECONDS", 0.01)
    monkeypatch.setattr(ProcessPool, "_prepared", lambda *_: time.sleep(0.1))
    told = []
    ProcessPool(None, Path(tmp_path), threading.Event()).prepare([SPEC], {SPEC.data_key: 0.0}, told.append)
    assert {text.partition(" (")[0] for text in told} == {"starting"}
