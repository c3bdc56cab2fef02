"""Problems for the tests of the ramp loss: two clouds with exchanged labels, and the loss written out."""

from __future__ import annotations

import numpy as np
from harness_robust.ramp import RampSVC

from harness import RBF, KernelOracle
from tests.kernels.oracles import own


def flipped(n=40, d=2, share=0.15, seed=0, apart=1.5):
    """Points, (n, d), and labels, of which a share is exchanged."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    x = rng.normal(size=(n, d))
    x[:, 0] += apart * y
    y[rng.permutation(n)[: round(share * n)]] *= -1.0
    return x, y


def stated(x, y, kernel=None, **values):
    return RampSVC.build(KernelOracle(kernel or RBF(gamma=0.3), x), y, values)


def matrix_of(problem):
    return np.array(own(problem).kernel.block(np.arange(own(problem).n)))


def iterates(solver, problem, seed=1):
    """The iterates with their arrays copied."""
    found = []
    for iterate in solver.iterates(problem, np.random.default_rng(seed)):
        iterate.dual_coef = iterate.dual_coef.copy()
        iterate.info = dict(iterate.info)
        found.append(iterate)
    return found


def last_of(solver, problem):
    return iterates(solver, problem)[-1]


def objective_of(problem, coef):
    """J_s written out."""
    f = matrix_of(problem) @ coef
    z = problem.targets * f
    return 0.5 * coef @ f + float(problem.upper @ np.minimum(np.maximum(0.0, 1.0 - z), 1.0 - problem.s))
