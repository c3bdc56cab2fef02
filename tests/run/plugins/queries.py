"""A solver that queries labels at random and retrains after each query."""

from dataclasses import dataclass

import numpy as np
from harness_active.pool_svc import PoolSVC

from harness import Iterate, Solver, get_solver, hookimpl, parameter


@dataclass(frozen=True)
class QueriesAtRandom(Solver):
    """Queries labels in an order drawn at random; after each query the optimum over what it has is its model."""

    name = "queries-at-random"
    solves = (PoolSVC,)
    exact = False
    first: int = parameter(2, "labels queried at the start", ge=1)
    batch: int = parameter(1, "labels queried at a time", ge=1)
    oracle: str = parameter("qp", "who trains")

    def iterates(self, problem, rng):
        order, most = rng.permutation(problem.n), problem.queries_left
        oracle = get_solver(self.oracle)
        for count in [*range(min(self.first, most), most, self.batch), most]:
            problem.query(order[len(problem.queried) : count])
            yield self.model(problem, oracle, done=count == most)

    def model(self, problem, oracle, *, done):
        """Return the optimum over the queried labels."""
        coef, labels = np.zeros(problem.n), problem.targets[problem.queried]
        if len(np.unique(labels)) < 2:
            return Iterate(coef, float(labels[0]), done=done)
        solution = oracle.solve(problem.labelled())
        coef[problem.queried] = solution.dual_coef
        return Iterate(coef, solution.intercept, done=done)


@hookimpl
def harness_solvers():
    return [QueriesAtRandom]
