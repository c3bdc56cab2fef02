"""A plain script, with a solver of its own and no guard around what it does; and what is kept when it is interrupted."""

import os
import signal
import subprocess
import sys
import time

import pytest

pytestmark = pytest.mark.slow

SCRIPT = """\
from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np

import harness
from harness import CSVCNoBias, Iterate, Solver

print("begun")
TOTAL = {"C": 1.0}


@dataclass(frozen=True)
class Nothing(Solver):
    name = "nothing"
    solves = (CSVCNoBias,)
    shift: float = TOTAL["C"]

    def iterates(self, problem: harness.Problem, rng):
        yield Iterate(dual_coef=np.zeros(problem.n), done=True)


result = harness.compare([Nothing, "smo"], "twonorm[n=60,n_test=10]", formulation="c-svc-nobias", gamma=0.1)
print(result.records[0]["status"], result.records[1]["status"], result.records[0]["plugin"], file=sys.stderr)
"""


def test_a_script_without_a_guard(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False,
        env={**os.environ, "HARNESS_STORE": str(tmp_path / "store.sqlite")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == "begun\n"  # no process of a run carries out the script
    assert done.stderr.splitlines()[-1] == "ok ok own_nothing"


INTERRUPTED = """\
import harness
harness.compare("quick,sleeper[seconds=30]", "twonorm[n=200,n_test=10]", plugin_path={slow!r}, gamma=0.1)
"""


def test_what_was_measured_before_an_interrupt_is_in_the_store(tmp_path, heeds_interrupts):
    from tests.cli.conftest import SLOW

    store = tmp_path / "store.sqlite"
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED.format(slow=SLOW)], stderr=subprocess.PIPE, text=True,
        env={**os.environ, "HARNESS_STORE": str(store)},
    )  # fmt: skip
    assert process.stderr is not None
    told = ""
    while "[1/2]" not in told:
        told += (line := process.stderr.readline())
        assert line, told
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    told += process.communicate(timeout=60)[1]
    assert f"interrupted; 1 of 2 runs are finished and kept in {store}" in told
    assert "KeyboardInterrupt" in told
    from harness.run.store import read_results

    assert list(read_results(store)["solver"]) == ["quick"]
