"""A solver that buys labels at random and retrains after each purchase, and ways in which it cheats about them."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from harness import Iterate, Problem, Solver, get_solver, hookimpl, parameter
from harness.problems import PoolSVC


@dataclass(frozen=True)
class BuysAtRandom(Solver):
    """Buys labels in an order drawn at random; after each purchase the optimum over what it has is its model."""

    name = "buys-at-random"
    solves = (PoolSVC,)
    exact = False
    first: int = parameter(2, "labels bought at the start", ge=1)
    batch: int = parameter(1, "labels bought at a time", ge=1)
    oracle: str = parameter("qp", "who trains")

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        order, most = rng.permutation(problem.n), problem.labels_left
        oracle = get_solver(self.oracle)
        for bought in [*range(min(self.first, most), most, self.batch), most]:
            problem.buy(order[problem.labels_used : bought])
            yield self.model(problem, oracle, done=bought == most)

    def model(self, problem: Problem, oracle: Solver, *, done: bool) -> Iterate:
        """Return the optimum over the labels that were bought."""
        coef, labels = np.zeros(problem.n), problem.targets[problem.bought]
        if len(np.unique(labels)) < 2:
            return Iterate(coef, float(labels[0]), done=done)
        solution = oracle.solve(problem.labelled())
        coef[problem.bought] = solution.dual_coef
        return Iterate(coef, solution.intercept, done=done)


@hookimpl
def harness_solvers() -> list[type[Solver]]:
    return [BuysAtRandom]
