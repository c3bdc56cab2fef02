"""A solver that uses code beside its file, in the ways that there are: what it declares is a parameter, too."""

import ctypes
import importlib
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from harness import CSVC, Iterate, Solver, hookimpl, parameter

FOLDER = Path(os.environ.get("PROGRAMS", "/nowhere"))
DECLARED = {
    "": (),
    "program": ("fit-svm",),
    "version": ("fit-svm --version", "sh"),
    "path": (FOLDER / "fit-svm",),
    "missing": ("no-such-svm", FOLDER / "no such library.so"),
    "text": "fit-svm",
    "quotes": ("fit-svm 'x",),
}


def imported():
    sys.path.append(str(FOLDER))
    importlib.import_module("code_beside")


USES = {
    "nothing": lambda: None,
    "program": lambda: subprocess.run(["fit-svm", "a"], check=True),
    "path": lambda: subprocess.run([FOLDER / "fit-svm"], check=True),
    "shell": lambda: subprocess.run("fit-svm a > b", shell=True, check=True),
    "system": lambda: os.system("fit-svm a"),
    "waits": lambda: subprocess.run([sys.executable, "-c", "import os; os.system('fit-svm slowly')"], check=True),
    "script": lambda: subprocess.run([sys.executable, FOLDER / "code_beside.py"], check=True),
    "library": lambda: ctypes.CDLL(str(FOLDER / "libfit.so")),
    "module": imported,
    "library-of-its-own": lambda: (
        ctypes.CDLL(str(Path("libfit.so").absolute()))
        if Path("libfit.so").write_bytes((FOLDER / "libfit.so").read_bytes())
        else None
    ),
    "hangs": lambda: subprocess.run(["fit-svm", "for ever"], check=True),
}


@dataclass(frozen=True)
class Programs(Solver):
    """The zero model, after it used some code."""

    name = "programs"
    solves = (CSVC,)
    observable = False
    uses: str = parameter("nothing", "what it starts or loads")
    declares: str = parameter("", "what it declares")

    @property
    def depends_on(self):
        return DECLARED[self.declares]

    def iterates(self, problem, rng):
        USES[self.uses]()
        yield Iterate(dual_coef=np.zeros(problem.n), done=True)


@hookimpl
def harness_solvers():
    return [Programs]
