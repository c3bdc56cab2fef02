"""Problems of hulls and tubes that break nearest-point and sampling solvers, small enough for an interior-point solver."""

from __future__ import annotations

import functools

import numpy as np
from harness_sampling.tube_svr import TubeSVR

from harness import CSVC, RBF, Linear, Poly
from harness.problems import L2SVC, EpsSVR, HardMargin, PolytopeDistance, ReducedHull
from tests.plugins.common import build, certified, exact, matrix_of


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


def wave(n, seed=0, noise=0.1):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2.0, 2.0, (n, 2))
    return x, np.sin(2.0 * x[:, 0]) + 0.3 * x[:, 1] + noise * rng.normal(size=n)


def l2(x, y, kernel=None, chi=10.0, **oracle):
    return build(L2SVC, x, y, kernel, chi=chi, **oracle)


def hard(x, y, kernel=None, **oracle):
    return build(HardMargin, x, y, kernel or Linear(), **oracle)


def reduced(x, y, D, kernel=None, **values):
    return build(ReducedHull, x, y, kernel, D=D, **values)


def per_class(x, y, k_plus, k_minus):
    return reduced(x, y, 1.0 / k_plus, Linear(), D_minus=1.0 / k_minus)


def one_hull(x, kernel=None):
    return build(PolytopeDistance, x, np.ones(len(x)), kernel or Linear())


def tube(x, y, epsilon, D=None, kernel=None, **values):
    return build(TubeSVR, x, y, kernel, epsilon=epsilon, D=D, **values)


svc, svr = functools.partial(build, CSVC, C=1.0), functools.partial(build, EpsSVR, C=1.0, epsilon=0.1)


def signed_matrix(problem):
    return matrix_of(problem) * np.outer(problem.targets, problem.targets)


def by_class(problem):
    """Return the signed matrix with the positives first, and the side of each point."""
    order = np.argsort(problem.targets <= 0, kind="stable")
    return signed_matrix(problem)[np.ix_(order, order)], (problem.targets[order] < 0).astype(int)


def exact_margin(problem):
    """The optimal margin, from the reference solver's certificate."""
    certificate = exact(problem)
    assert certificate.relative_gap < 1e-5
    return certificate.margin_upper


def finished(solver, problem, seed=0):
    """Return the last iterate and its certificate."""
    *_, last = solver.iterates(problem, np.random.default_rng(seed))
    return last, certified(problem, last)


def on_a_grid():
    x = np.array([(a, b) for a in range(5) for b in range(5)], dtype=float)
    return hard(x, np.where(x[:, 0] >= 3, 1.0, -1.0))


def duplicated(formulation, x, y, **values):
    return formulation(np.repeat(x, 3, axis=0), np.repeat(y, 3), **values)


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
    "duplicates, hard margin": lambda: duplicated(hard, *clouds(3, 8, 9, 2, 6.0)),
    "duplicates, l2": lambda: duplicated(l2, *clouds(3, 8, 9, 2, 6.0)),
    "opposite duplicates": opposite_duplicates,
    "collinear": lambda: hard(np.outer(np.arange(12.0), [1.0, 2.0, -0.5]), np.where(np.arange(12) > 6, 1.0, -1.0)),
    "grid": on_a_grid,
    "far from the origin": lambda: hard(clouds(12, 10, 10, 2, 9.0)[0] + 50.0, clouds(12, 10, 10, 2, 9.0)[1]),
}
HARD = {
    **{name: make for name, make in PROBLEMS.items() if make().name == "hard-margin"},
    "many points": lambda: hard(*clouds(20, 150, 150, 3, 9.0)),
    "rbf, many points": lambda: hard(*clouds(21, 60, 90, 2, 4.0), RBF(gamma=1.0)),
    "quadratic": lambda: hard(*clouds(22, 60, 60, 2, 6.0), Poly(degree=2, gamma=0.5)),
}
SOFT = {
    "a third": lambda: reduced(*clouds(30, 30, 40, 2, 2.0), 1 / 3),
    "not whole": lambda: reduced(*clouds(31, 40, 40, 3, 2.0), 0.28),
    "a tenth, linear": lambda: reduced(*clouds(32, 80, 60, 2, 5.0), 0.1, Linear()),
    "nu of a half": lambda: reduced(*clouds(33, 30, 30, 2, 1.0), None),
    "many outliers": lambda: reduced(*clouds(34, 100, 100, 2, 2.5), 1 / 25, Linear()),
    "whole hulls": lambda: reduced(*clouds(35, 50, 50, 2, 9.0), 1.0, Linear()),
    "few positives": lambda: reduced(*clouds(36, 4, 90, 2, 3.0), 0.5),
    "duplicates": lambda: duplicated(reduced, *clouds(37, 20, 20, 2, 2.0), D=0.2),
    "the cap of all": lambda: reduced(*clouds(38, 8, 20, 2, 1.0), 1 / 8),
    "fifths, in five dimensions": lambda: reduced(*clouds(39, 60, 50, 5, 3.0), 0.2),
}
TUBES = {
    "hard": lambda: tube(*wave(60, noise=0.05), 2.0, 1.0),
    "hard, linear": lambda: tube(*wave(60, noise=0.05), 2.5, 1.0, Linear()),
    "soft": lambda: tube(*wave(80), 0.4, 0.1),
    "soft, linear": lambda: tube(*wave(80), 1.0, 0.05, Linear()),
    "a cap for each side": lambda: tube(*wave(60), 0.5, 0.2, D_minus=0.1),
    "nu of a half": lambda: tube(*wave(40), 0.3),
}
