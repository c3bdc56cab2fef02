"""A plugin whose import goes well in the command and not in a worker: it is broken there, and the others run."""

import pytest

PLUGIN = """
from pathlib import Path
import os, time
def respawn():
    if os.fork() == 0:
        until = time.monotonic() + 30
        while time.monotonic() < until:
            if os.fork():
                os._exit(0)
            os.setsid()
            time.sleep(0.002)
        os._exit(0)

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
@pytest.mark.parametrize(
    ("deed", "status", "told"), [("os._exit(0)", "crashed", "ended by exit code 0"), ("respawn()", "ok", "")]
)
def test_what_an_import_does_in_a_worker_is_no_fault_of_the_others(tmp_path, compare, deed, status, told):
    path = tmp_path / "twofaced.py"
    path.write_text(PLUGIN.format(deed=deed))
    arguments = ["--plugin-path", str(path), "--plugins", "twofaced,smo", "--formulation", "c-svc", "--time-limit", "1"]
    code, records, errors = compare(*arguments, "--datasets", "twonorm[n=60,n_test=20]", timeout=60)
    found = {record["solver"]: (record["status"], record["reason"]) for record in records}
    assert found["smo"][0] == "ok", errors
    assert found["twofaced"][0] == status
    assert told in found["twofaced"][1]
    assert code == (status != "ok")
