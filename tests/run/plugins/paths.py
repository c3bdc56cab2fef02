"""Solvers for tests of paths: one whose cells sleep, one that gives up cells, one with a bad model, one that raises."""

import time
from dataclasses import dataclass

import numpy as np

from harness import CSVC, Iterate, Solver, hookimpl


@dataclass(frozen=True)
class Nothing(Solver):
    """The model without support vectors, at once: feasible, and done."""

    name = "nothing"
    solves = (CSVC,)

    def iterates(self, problem, rng):
        problem.kernel.row(0)
        yield Iterate(dual_coef=np.zeros(problem.n), done=True)


@dataclass(frozen=True)
class Sleepy(Nothing):
    """Takes its time over every cell from the fourth on."""

    name = "sleepy"

    def solve_path(self, path, rng):
        for cell in path.cells:
            if cell.index >= 3:
                time.sleep(30.0)
            yield cell, Iterate(dual_coef=np.zeros(path.problem(cell).n), done=True)


@dataclass(frozen=True)
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


@hookimpl
def harness_solvers():
    return [Nothing, Sleepy, Patchy]
