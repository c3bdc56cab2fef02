from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from harness import CSVC, Iterate, Problem, Solver, hookimpl


@dataclass(frozen=True)
class Smo(Solver):
    """A second solver called smo."""

    name = "smo"
    solves = (CSVC,)

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        yield Iterate(dual_coef=np.zeros(problem.n), done=True)


@hookimpl
def harness_solvers() -> list[type[Solver]]:
    return [Smo]
