"""A plain script with solvers of its own: its file is their plugin; without the guard around the call it is refused."""

import os
import subprocess
import sys

import pytest

GUARD = 'if __name__ == "__main__":'
SCRIPT = """\
from __future__ import annotations

from dataclasses import dataclass

import harness
import numba
import numpy as np
from harness import CSVCNoBias, Iterate, Solver

import beside

print("begun", __name__)


@numba.njit
def zeros(n):
    return np.zeros(n) + beside.ZERO


@dataclass(frozen=True)
class Nothing(Solver):
    name = "nothing"
    solves = (CSVCNoBias,)
    shift: float = 1.0

    def iterates(self, problem: harness.Problem, rng):
        yield Iterate(dual_coef=zeros(problem.n), done=True)


@dataclass(frozen=True)
class Second(Nothing):
    name = "second"


if __name__ == "__main__":
    solvers = [Nothing, Second(shift=2.0), beside.Third, "smo"]
    found = harness.compare(solvers, "twonorm[n=60,n_test=10]", formulation="c-svc-nobias", gamma=0.1, quiet=True).records
    print(*(f"{each['plugin']}/{each['label']} {each['status']} {each['reused']}" for each in found), sep="\\n")
"""
BESIDE = """\
import numpy as np
from harness import CSVCNoBias, Iterate, Solver

ZERO = 0.0


class Third(Solver):
    name = "third"
    solves = (CSVCNoBias,)

    def iterates(self, problem, rng):
        yield Iterate(dual_coef=np.zeros(problem.n), done=True)
"""


def run(folder, *command):
    return subprocess.run(
        [sys.executable, *command], cwd=folder, capture_output=True, text=True, timeout=100, check=False,
        env={**os.environ, "HARNESS_STORE": str(folder / "store.sqlite")},
    )  # fmt: skip


def lines(done):
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.slow
def test_classes_of_a_script_and_of_a_module_beside_it(tmp_path):
    (tmp_path / "my study.py").write_text(SCRIPT)
    (tmp_path / "beside.py").write_text(BESIDE)
    names = ["my study/nothing", "my study/second[shift=2.0]", "beside/third", "smo/smo"]
    first = lines(run(tmp_path, "my study.py"))
    assert first == [
        "begun __main__",
        *(f"{name} ok False" for name in names),
    ]  # as a plugin it prints to standard error
    assert lines(run(tmp_path, "my study.py"))[1:] == [f"{name} ok True" for name in names]
    (tmp_path / "beside.py").write_text(f"{BESIDE}\n# changed\n")
    again = lines(run(tmp_path, "my study.py"))[1:]
    assert again == [f"{name} ok {name == 'smo/smo'}" for name in names]


@pytest.mark.slow
def test_a_script_of_a_package_with_relative_imports(tmp_path):
    folder = tmp_path / "package"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "study.py").write_text(SCRIPT.replace("import beside\n", "from . import beside\n"))
    (folder / "beside.py").write_text(BESIDE)
    assert lines(run(tmp_path, "-m", "package.study"))[1] == "study/nothing ok False"


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        (SCRIPT.replace(GUARD, "if True:"), 'put the call under `if __name__ == "__main__":`'),
        (f"{GUARD}\n    " + SCRIPT.replace("from __future__ import annotations", "").replace("\n", "\n    "),
         "it defines no hooks and no solver at its top level"),
    ],
)  # fmt: skip
def test_a_script_that_cannot_be_imported_is_refused_with_a_sentence(tmp_path, script, sentence):
    (tmp_path / "study.py").write_text(script)
    (tmp_path / "beside.py").write_text(BESIDE)
    done = run(tmp_path, "study.py")
    assert done.returncode == 1
    assert "UsageError: " in done.stderr
    assert sentence in done.stderr.splitlines()[-1]
    assert not (tmp_path / "store.sqlite").exists()
