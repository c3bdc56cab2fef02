"""Problems for the tests of the LASVM family without a bias: noise in the labels, and the box for any beta."""

from __future__ import annotations

import numpy as np
import scipy.sparse
from harness_lasvm.nobias import LASVMG, LASVMI, LASVMNC, FullSVM
from harness_robust.ramp import RampSVC

from harness import RBF, KernelOracle
from harness.registry.discovery import shared_registry

ALL = (LASVMG, LASVMNC, LASVMI, FullSVM)


def noisy(n=160, d=4, noise=0.6, seed=0, flipped=0.1):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    y = np.where(2.0 * x[:, 0] + noise * rng.normal(size=n) > 0.2, 1.0, -1.0)
    return x, np.where(rng.random(n) < flipped, -y, y)


def stated(solver, x, y, C=1.0, kernel=None, **values):
    formulation = shared_registry().declared_by(solver if isinstance(solver, type) else type(solver))[0]
    return formulation.build(KernelOracle(kernel or RBF(gamma=0.3), x), y, {"C": C, **values})


def iterates(solver, problem, seed=1):
    """The iterates with their arrays copied."""
    found = []
    for iterate in solver.iterates(problem, np.random.default_rng(seed)):
        iterate.dual_coef = iterate.dual_coef.copy()
        found.append(iterate)
    return found


def bounds(problem):
    """The box of the coefficients for any beta."""
    if isinstance(problem, RampSVC):
        return -problem.upper, problem.upper
    return problem.lower_bounds, problem.upper_bounds


def assert_feasible(problem, coef):
    lower, upper = bounds(problem)
    assert (coef >= lower).all()
    assert (coef <= upper).all()


def awkward():
    """Points that are awkward in one way each, by name."""
    x, y = noisy(60)
    return {
        "two equal points": (np.zeros((2, 1)), np.array([1.0, -1.0])),
        "one point": (np.ones((1, 2)), np.array([1.0])),
        "one class": (x, np.ones(60)),
        "contradictions": (np.repeat(x[:30], 2, axis=0), np.tile([1.0, -1.0], 30)),
        "sparse": (scipy.sparse.csr_array(np.where(np.abs(x) > 0.5, x, 0.0)), y),
    }
