"""Problems of two hulls that break nearest-point solvers, small enough for an interior-point solver."""

from __future__ import annotations

import numpy as np

from harness import RBF, KernelOracle, Linear, Poly, get_solver
from harness.problems import L2SVC, HardMargin
from tests.kernels.oracles import own


def rng0():
    return np.random.default_rng(0)


def clouds(seed, n_plus, n_minus, d, apart):
    """Two Gaussian clouds whose centres are ``apart`` away from each other, in mixed order."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n_plus + n_minus, d))
    y = np.repeat([1.0, -1.0], [n_plus, n_minus])
    x[:n_plus, 0] += apart
    order = rng.permutation(len(y))
    return x[order], y[order]


def l2(x, y, kernel=None, chi=10.0, cache_mb=256.0):
    return L2SVC.build(KernelOracle(kernel or RBF(gamma=0.5), x, cache_mb=cache_mb), y, {"chi": chi})


def hard(x, y, kernel=None):
    return HardMargin.build(KernelOracle(kernel or Linear(), x), y)


def matrix_of(problem):
    return np.array(own(problem).kernel.block(np.arange(own(problem).n)))


def signed_matrix(problem):
    return matrix_of(problem) * np.outer(problem.targets, problem.targets)


def by_class(problem):
    """Return the signed matrix with the positives first, and the side of each point."""
    order = np.argsort(problem.targets <= 0, kind="stable")
    return signed_matrix(problem)[np.ix_(order, order)], (problem.targets[order] < 0).astype(int)


def exact_margin(problem):
    """The optimal margin, from the reference solver's certificate."""
    found = get_solver("qp").solve(problem)
    certificate = problem.certify(found.dual_coef, found.intercept)
    assert certificate.relative_gap < 1e-5
    return certificate.margin_upper


def collinear():
    x = np.outer(np.arange(12.0), [1.0, 2.0, -0.5])
    return hard(x, np.where(np.arange(12) > 6, 1.0, -1.0))


def on_a_grid():
    x = np.array([(a, b) for a in range(5) for b in range(5)], dtype=float)
    return hard(x, np.where(x[:, 0] >= 3, 1.0, -1.0))


def duplicated(formulation):
    x, y = clouds(3, 8, 9, 2, 6.0)
    return formulation(np.repeat(x, 3, axis=0), np.repeat(y, 3))


def opposite_duplicates(kernel=None):
    x, y = clouds(4, 10, 10, 2, 1.0)
    return l2(np.vstack([x, x]), np.concatenate([y, -y]), kernel, chi=5.0)


PROBLEMS = {
    "overlapping clouds": lambda: l2(*clouds(0, 25, 35, 3, 1.0)),
    "small chi": lambda: l2(*clouds(1, 20, 30, 2, 1.0), chi=0.01),
    "large chi": lambda: l2(*clouds(2, 20, 30, 2, 1.0), chi=1e4),
    "linear l2": lambda: l2(*clouds(5, 20, 20, 4, 2.0), Linear(), chi=3.0),
    "polynomial": lambda: l2(*clouds(6, 20, 20, 3, 2.0), Poly(degree=2, gamma=0.5), chi=10.0),
    "separable linear": lambda: hard(*clouds(7, 20, 25, 3, 9.0)),
    "nearly touching": lambda: hard(*clouds(8, 15, 15, 2, 4.6)),
    "hard margin rbf": lambda: hard(*clouds(9, 20, 20, 2, 1.0), RBF(gamma=2.0)),
    "one positive": lambda: l2(*clouds(10, 1, 40, 3, 2.0)),
    "one negative": lambda: hard(*clouds(11, 40, 1, 3, 8.0)),
    "two points": lambda: hard(np.array([[0.0, 1.0], [3.0, 5.0]]), np.array([-1.0, 1.0])),
    "two equal points": lambda: l2(np.ones((2, 3)), np.array([1.0, -1.0]), chi=2.0),
    "duplicates, hard margin": lambda: duplicated(hard),
    "duplicates, l2": lambda: duplicated(l2),
    "opposite duplicates": opposite_duplicates,
    "collinear": collinear,
    "grid": on_a_grid,
    "far from the origin": lambda: hard(clouds(12, 10, 10, 2, 9.0)[0] + 50.0, clouds(12, 10, 10, 2, 9.0)[1]),
}
