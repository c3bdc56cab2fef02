"""Solvers about the warm-up: whose measured run needs what it does not reach, that names two ways, that looks at its callers."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from harness import CSVC, Iterate, Problem, Solver, hookimpl, parameter
from harness.solver.path import SolutionPath

seen: list[tuple[str, int]] = []  # ways and points of this process so far


@dataclass(frozen=True)
class CompilesLate(Solver):
    """Compiles a function of its own on the clock, on more than 100 points only."""

    name = "compiles-late"
    solves = (CSVC,)

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        dual_coef = np.zeros(problem.n)
        if problem.n > 100:
            import numba

            @numba.njit
            def total(x):
                result = 0.0
                for value in x:
                    result += np.sqrt(np.abs(value)) * np.cos(value)
                return result

            total(dual_coef)
        yield Iterate(dual_coef=dual_coef, done=True)


@dataclass(frozen=True)
class TwoWays(Solver):
    """The zero model; ``info`` tells what this process ran before."""

    name = "two-ways"
    solves = (CSVC,)
    way: str = parameter("auto", "auto, few or many")

    def warm_ups(self) -> tuple[Solver, ...]:
        return self.replace(way="few"), self.replace(way="many")

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        before = sorted({way for way, n in seen if n < problem.n})
        seen.append((self.way, problem.n))
        yield Iterate(dual_coef=np.zeros(problem.n), done=True, info={"before": ",".join(before)})


most_points = [0]  # of a problem or path among the variables of a caller, in a warm-up of this process


@dataclass(frozen=True)
class LooksUp(Solver):
    """The zero model; ``info`` tells how many points the largest problem had that its warm-up could see."""

    name = "looks-up"
    solves = (CSVC,)

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        frame = sys._getframe() if problem.n < 100 else None
        while frame is not None:
            variables = [*frame.f_locals.values()]
            variables += [part for value in variables if isinstance(value, tuple) for part in value]
            sizes = [value.n for value in variables if isinstance(value, (Problem, SolutionPath))]
            most_points[0] = max(most_points[0], *sizes, 0)
            frame = frame.f_back
        yield Iterate(dual_coef=np.zeros(problem.n), done=True, info={"most points": most_points[0]})


@hookimpl
def harness_solvers() -> list[type[Solver]]:
    return [CompilesLate, TwoWays, LooksUp]
