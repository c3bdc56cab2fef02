"""Problems, and what is read off a run, that the sampling solvers' tests share."""

from __future__ import annotations

import numpy as np
from harness_sampling.tube_svr import TubeSVR

from harness import CSVC, RBF, KernelOracle, Linear, Poly, get_solver
from harness.problems import EpsSVR, ReducedHull
from tests.kernels.oracles import own
from tests.plugins.hull_problems import PROBLEMS, clouds, hard


def reduced(x, y, D, kernel=None):
    return ReducedHull.build(KernelOracle(kernel or RBF(gamma=0.5), x), y, {"D": D})


def per_class(x, y, k_plus, k_minus):
    return ReducedHull.build(KernelOracle(Linear(), x), y, {"D": 1.0 / k_plus, "D_minus": 1.0 / k_minus})


def svc(x, y, C=1.0, kernel=None, **values):
    return CSVC.build(KernelOracle(kernel or RBF(gamma=0.5), x), y, {"C": C, **values})


def svr(x, y, C=1.0, epsilon=0.1, kernel=None):
    return EpsSVR.build(KernelOracle(kernel or RBF(gamma=0.5), x), y, {"C": C, "epsilon": epsilon})


def wave(n, seed=0, noise=0.1):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2.0, 2.0, (n, 2))
    return x, np.sin(2.0 * x[:, 0]) + 0.3 * x[:, 1] + noise * rng.normal(size=n)


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
    "duplicates": lambda: reduced(*(np.repeat(part, 3, axis=0) for part in clouds(37, 20, 20, 2, 2.0)), 0.2),
    "the cap of all": lambda: reduced(*clouds(38, 8, 20, 2, 1.0), 1 / 8),
    "fifths, in five dimensions": lambda: reduced(*clouds(39, 60, 50, 5, 3.0), 0.2),
}


def tube(x, y, epsilon, D=None, kernel=None, **values):
    return TubeSVR.build(KernelOracle(kernel or RBF(gamma=0.5), x), y, {"epsilon": epsilon, "D": D, **values})


TUBES = {
    "hard": lambda: tube(*wave(60, noise=0.05), 2.0, 1.0),
    "hard, linear": lambda: tube(*wave(60, noise=0.05), 2.5, 1.0, Linear()),
    "soft": lambda: tube(*wave(80), 0.4, 0.1),
    "soft, linear": lambda: tube(*wave(80), 1.0, 0.05, Linear()),
    "a cap for each side": lambda: tube(*wave(60), 0.5, 0.2, D_minus=0.1),
    "nu of a half": lambda: tube(*wave(40), 0.3),
}


def finished(solver, problem, seed=0):
    """Return the last iterate and its certificate."""
    last = list(solver.iterates(problem, np.random.default_rng(seed)))[-1]
    coef, intercept = problem.checked(last.dual_coef, last.intercept)
    return last, own(problem).certify(coef, intercept)


def exact(problem):
    """Return the certificate of the interior-point solution."""
    found = get_solver("qp").solve(problem)
    return problem.certify(found.dual_coef, found.intercept)
