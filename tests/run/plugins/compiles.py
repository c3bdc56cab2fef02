"""A solver with a compiled loop, which notes in a file each process that it begins in, and whether it compiled there."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from harness import CSVC, Iterate, Problem, Solver, hookimpl
from harness.support.jit import compiled


@compiled
def count(n):
    total = 0
    for i in range(n):
        total += i
    return total


@dataclass(frozen=True)
class Compiles(Solver):
    """Counts, then returns the zero model."""

    name = "compiles"
    solves = (CSVC,)

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        count(problem.n)
        with Path(os.environ["COMPILES_LOG"]).open("a") as log:
            log.write(f"{os.getppid()} {os.getpid()} {problem.n} {sum(count.stats.cache_misses.values())}\n")
        yield Iterate(dual_coef=np.zeros(problem.n), done=True)


@hookimpl
def harness_solvers() -> list[type[Solver]]:
    return [Compiles]
