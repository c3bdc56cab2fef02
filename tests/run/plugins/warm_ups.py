"""Solvers about the warm-up: one that compiles, one that names two ways, one that looks at its callers, a black box."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from harness import CSVC, Iterate, Problem, Solver, hookimpl, parameter
from harness.solver.path import SolutionPath
from harness.support.jit import compiled

ENTERED = []  # way and number of points of each problem of this process so far
MOST_POINTS = [0]  # of a problem or path among the variables of a caller, in a warm-up of this process


@compiled
def count(n):
    total = 0
    for i in range(n):
        total += i
    return total


class Compiles(Solver):
    """The zero model; notes in a file each process that it begins in, and whether it compiled a loop there."""

    name = "compiles"
    solves = (CSVC,)

    def iterates(self, problem, rng):
        count(problem.n)
        with Path(os.environ["COMPILES_LOG"]).open("a") as log:
            log.write(f"{os.getppid()} {os.getpid()} {problem.n} {sum(count.stats.cache_misses.values())}\n")
        yield Iterate(dual_coef=np.zeros(problem.n), done=True)


@dataclass(frozen=True)
class TwoWays(Solver):
    """The zero model; ``info`` has the ways that this process ran before."""

    name = "two-ways"
    solves = (CSVC,)
    way: str = parameter("auto", "auto, few or many")

    def warm_ups(self):
        return self.replace(way="few"), self.replace(way="many")

    def iterates(self, problem, rng):
        before = sorted({way for way, n in ENTERED if n < problem.n})
        ENTERED.append((self.way, problem.n))
        yield Iterate(dual_coef=np.zeros(problem.n), done=True, info={"before": ",".join(before)})


class LooksUp(Solver):
    """The zero model; ``info`` has the number of points of the largest problem that its warm-up could see."""

    name = "looks-up"
    solves = (CSVC,)

    def iterates(self, problem, rng):
        frame = sys._getframe() if problem.n < 100 else None
        while frame is not None:
            variables = [*frame.f_locals.values()]
            variables += [part for value in variables if isinstance(value, tuple) for part in value]
            sizes = [value.n for value in variables if isinstance(value, (Problem, SolutionPath))]
            MOST_POINTS[0] = max(MOST_POINTS[0], *sizes, 0)
            frame = frame.f_back
        yield Iterate(dual_coef=np.zeros(problem.n), done=True, info={"most points": MOST_POINTS[0]})


class BlackBox(Solver):
    """The zero model, by a library that is imported where it is first used; ``info`` has the process and its parent."""

    name = "black-box"
    solves = (CSVC,)
    observable = False

    def iterates(self, problem, rng):
        import slow_library  # noqa: F401

        info = {"process": os.getpid(), "worker": os.getppid()}
        yield Iterate(dual_coef=np.zeros(problem.n), done=True, info=info)


@hookimpl
def harness_solvers():
    return [Compiles, TwoWays, LooksUp, BlackBox]
