"""What the tests of several plugins share: training points, problems over them, and drives of a solver."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits

from harness import RBF, KernelOracle, Precomputed, get_solver
from tests.kernels.oracles import own


def overlapping(seed=0, n=60, d=2):
    """Two classes that overlap: free and bounded support vectors."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.45, 1.0, -1.0)
    x = rng.normal(size=(n, d))
    x[:, 0] += 0.8 * y
    return x, y


def noisy(n=160, d=4, noise=0.6, seed=0):
    """Two classes whose labels are noisy near the border."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    return x, np.where(x[:, 0] + noise * rng.normal(size=n) > 0.2, 1.0, -1.0)


def cancer(n=569):
    """The first n points of breast cancer, standardised."""
    x, y = load_breast_cancer(return_X_y=True)
    return ((x - x.mean(axis=0)) / x.std(axis=0))[:n], np.where(y == 1, 1.0, -1.0)[:n]


def digits(n=500, digit=8):
    """The first n digits in [0, 1], one against the rest."""
    x, y = load_digits(return_X_y=True)
    return x[:n] / 16.0, np.where(y == digit, 1.0, -1.0)[:n]


def build(formulation, x, y, kernel=None, cache_mb=256.0, threads=1, **values):
    return formulation.build(KernelOracle(kernel or RBF(0.5), x, cache_mb=cache_mb, threads=threads), y, values)


def matrix_of(problem):
    """Return the kernel matrix, counted to nobody."""
    return np.array(own(problem).kernel.block(np.arange(problem.n)))


def precomputed(problem):
    """Return the problem over given kernel values that float32 holds exactly, and these values."""
    values = matrix_of(problem)
    values = ((values + values.T) / 2).astype(np.float32).astype(np.float64)  # symmetric to the last bit
    return type(problem).build(KernelOracle(Precomputed(), values), problem.targets, problem.parameters), values


def iterates(solver, problem, rng=1):
    """Return the iterates with their arrays and figures copied."""
    found = []
    for iterate in solver.iterates(problem, np.random.default_rng(rng) if isinstance(rng, int) else rng):
        iterate.dual_coef, iterate.info = iterate.dual_coef.copy(), dict(iterate.info)
        found.append(iterate)
    return found


def last_of(solver, problem, rng=1):
    return iterates(solver, problem, rng)[-1]


def certified(problem, found):
    """Return the certificate of a solution or an iterate, which must be a model of the problem, counted to nobody."""
    return own(problem).certify(*problem.checked(found.dual_coef, found.intercept))


def exact(problem):
    """Return the certificate of the interior-point solution."""
    return certified(problem, get_solver("qp").solve(problem))
