"""Solvers for tests of paths and of killed processes: some sleep, one gives up cells, has a bad model and raises."""

import os
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from harness import CSVC, Iterate, Solver, hookimpl, parameter

NOTED = []  # processes


class Nothing(Solver):
    """The model without support vectors, at once: feasible, and done."""

    name = "nothing"
    solves = (CSVC,)

    def iterates(self, problem, rng):
        problem.kernel.row(0)
        yield Iterate(dual_coef=np.zeros(problem.n), done=True)


class Sleepy(Nothing):
    """Takes its time over every cell from the fourth on."""

    name = "sleepy"

    def solve_path(self, path, rng):
        for cell in path.cells:
            if cell.index >= 3 and path.n > 40:  # not in a warm-up
                time.sleep(30.0)
            yield cell, Iterate(dual_coef=np.zeros(path.problem(cell).n), done=True)


class Patchy(Nothing):
    """Gives up the second cell, has no feasible model of the third, raises at the fifth."""

    name = "patchy"

    def solve_path(self, path, rng):
        for cell in path.cells:
            if cell.index == 4:
                raise ArithmeticError("the fifth cell")
            coef = np.full(path.problem(cell).n, 1e9 if cell.index == 2 else 0.0)
            info = {"stopped": "tired"} if cell.index == 1 else {}
            yield cell, Iterate(dual_coef=coef, done=cell.index != 1, info=info)


@dataclass(frozen=True)
class SlowSteps(Nothing):
    """Sleeps, then returns the zero model; notes every run it starts in a file: for tests that kill processes."""

    name = "slow-steps"
    seconds: float = parameter(0.2, "how long to sleep", ge=0)
    number: int = parameter(0, "makes configurations differ")

    def iterates(self, problem, rng):
        if problem.n > 40:  # not in a warm-up
            time.sleep(self.seconds)
            if os.getpid() not in NOTED:  # a short fit is repeated in its process
                NOTED.append(os.getpid())
                with Path(os.environ["SLOW_STEPS_LOG"]).open("a") as log:
                    log.write(f"{self.number} {os.getppid()} {os.getpid()} {rng.integers(10**9)}\n")
        yield Iterate(dual_coef=np.zeros(problem.n), done=True)


@hookimpl
def harness_solvers():
    return [Nothing, Sleepy, Patchy, SlowSteps]
