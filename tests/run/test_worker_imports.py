"""A plugin whose import goes well in the command and not in a worker: it is broken there, and the others run."""

import pytest

PLUGIN = """
from pathlib import Path
import os, time
if "harness.run.worker" in Path("/proc/self/cmdline").read_text():
    {deed}
from dataclasses import dataclass
import numpy as np
from harness import CSVC, Iterate, Solver, hookimpl

@dataclass(frozen=True)
class Twofaced(Solver):
    name = "twofaced"
    solves = (CSVC,)

    @property
    def label(self):
        print("a label that prints")
        return "twofaced"

    def iterates(self, problem, rng):
        yield Iterate(dual_coef=np.zeros(problem.n), done=True)

@hookimpl
def harness_solvers():
    return [Twofaced]
"""


@pytest.mark.slow
@pytest.mark.parametrize("deed", ["time.sleep(100)", "os._exit(0)"])
def test_an_import_that_fails_in_a_worker_is_no_fault_of_the_others(tmp_path, compare, deed):
    path = tmp_path / "twofaced.py"
    path.write_text(PLUGIN.format(deed=deed))
    arguments = ["--plugin-path", str(path), "--plugins", "twofaced,smo", "--formulation", "c-svc", "--time-limit", "1"]
    code, records, errors = compare(*arguments, "--datasets", "twonorm[n=60,n_test=20]", timeout=60)
    found = {record["solver"]: (record["status"], record["reason"]) for record in records}
    assert found["smo"][0] == "ok", errors
    assert found["twofaced"][0] == "error"
    assert "its import in a worker came to no end" in found["twofaced"][1]
    assert code == 1
