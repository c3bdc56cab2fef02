"""A solver that takes its time, so that it can be killed in the midst of it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from harness import CSVC, Iterate, Problem, Solver, hookimpl, parameter


@dataclass(frozen=True)
class Slow(Solver):
    """Yields nothing three times, slowly."""

    name = "slow"
    solves = (CSVC,)
    number: int = parameter(0, "tells runs apart", ge=0)
    seconds: float = parameter(0.2, "of a run", ge=0)

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        for step in range(3):
            time.sleep(self.seconds / 3 if problem.n > 40 else 0.01)
            yield Iterate(dual_coef=np.zeros(problem.n), done=step == 2)


@hookimpl
def harness_solvers() -> list[type[Solver]]:
    return [Slow]
