"""A plain script, with a solver of its own and no guard around what it does; and what is kept when it is interrupted."""

import os
import subprocess
import sys

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
