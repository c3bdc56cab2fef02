"""A solver whose warm-up does not reach the function that the measured run needs."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from harness import CSVC, Iterate, Problem, Solver, hookimpl


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


@hookimpl
def harness_solvers() -> list[type[Solver]]:
    return [CompilesLate]
