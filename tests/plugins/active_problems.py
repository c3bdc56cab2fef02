"""Strategies and problems for the tests of active learning."""

from __future__ import annotations

import numpy as np
from harness_active.solvers import ActiveFullSearch, ActiveSmallPool, RandomSampling, RetrainActive

from harness import RBF, KernelOracle, PoolSVC

STRATEGIES = [ActiveSmallPool(), ActiveFullSearch(), ActiveFullSearch(keep_scores=True), RandomSampling()]
STRATEGIES += [RetrainActive(), RetrainActive(candidates=7)]
SEARCHING = [solver for solver in STRATEGIES if not isinstance(solver, RandomSampling)]


def named(solver):
    return solver.label


def imbalanced(n=300, d=4, noise=0.3, seed=0, threshold=1.2):
    """About one positive in nine."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    return x, np.where(x[:, 0] + noise * rng.normal(size=n) > threshold, 1.0, -1.0)


def pool_of(x, y, kernel=None, C=10.0, budget=None):
    return PoolSVC.build(KernelOracle(kernel or RBF(gamma=0.3), x), y, {"C": C, "budget": budget})


def followed(solver, problem, seed=1):
    """Every iterate with its arrays copied, beside the number of labels that were bought by then."""
    found = []
    for iterate in solver.iterates(problem, np.random.default_rng(seed)):
        iterate.dual_coef = iterate.dual_coef.copy()
        problem.checked(iterate.dual_coef, iterate.intercept, tolerance=1e-9)
        found.append((problem.labels_used, iterate))
    assert found[-1][1].done
    assert not any(iterate.done for _, iterate in found[:-1])
    return found


def bought(solver, x, y, seed=1, **stated):
    problem = pool_of(x, y, **stated)
    last = followed(solver, problem, seed)[-1][1]
    return problem.bought.tolist(), last
