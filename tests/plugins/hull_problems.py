"""Problems of two hulls that break nearest-point solvers, small enough for an interior-point solver."""

from __future__ import annotations

import warnings

import numpy as np

from harness import L2SVC, RBF, HardMargin, KernelOracle, Linear, Poly, Precomputed, drive
from harness.kernels.oracle import uncounted


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
    with uncounted(problem.kernel):
        return np.array(problem.kernel.block(np.arange(problem.n)))


def exact_margin(problem):
    """Solve the nearest-point problem with an interior-point solver, certify the answer, return the optimal margin."""
    import cvxpy as cp

    signed = matrix_of(problem) * np.outer(problem.targets, problem.targets)
    values, vectors = np.linalg.eigh(signed)
    root = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    positive = problem.targets > 0
    scale = float(np.sqrt(values.max()))
    for _ in range(2):  # the second time with a margin of 1, so that the solver's accuracy is relative
        x = cp.Variable(problem.n, nonneg=True)
        sums = [cp.sum(x[positive]) == 1, cp.sum(x[~positive]) == 1]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # 'may be inaccurate': judged below
            cp.Problem(cp.Minimize(cp.sum_squares((root / scale) @ x)), sums).solve(solver=cp.CLARABEL)
        weights = np.maximum(x.value, 0.0)
        weights[positive] /= weights[positive].sum()
        weights[~positive] /= weights[~positive].sum()
        scale = float(np.sqrt(weights @ signed @ weights))
    scores = signed @ weights
    assert (scores[positive].min() + scores[~positive].min()) / scale >= scale * (1 - 1e-6)
    return scale


def margins_of_the_same(solver, seed, n_plus, n_minus):
    """Return the margin that ``solver`` certifies on two clouds, and those that must equal it; NaN where it is not done.

    Labels changed, points in another order, all points twice at half the penalty, and the kernel scaled by 4 (half of it).
    """
    x, y = clouds(seed, n_plus, n_minus, 3, 1.0)
    order = np.random.default_rng(seed).permutation(len(y))
    base = l2(x, y)
    scaled = L2SVC.build(KernelOracle(Precomputed(), 4.0 * (matrix_of(base) - 0.1 * np.eye(len(y)))), y, {"chi": 2.5})
    # twins share the penalty: chi / 2 for each of two equal points is chi for one
    twice = l2(np.vstack([x, x]), np.concatenate([y, y]), chi=5.0)

    def margin(problem):
        outcome = drive(solver, problem, rng0())
        certified = problem.certify(outcome.dual_coef, outcome.intercept).margin_upper
        return certified if outcome.claimed_done else np.nan

    same = [margin(each) for each in (l2(x, -y), l2(x[order], y[order]), twice)]
    return margin(base), [*same, 0.5 * margin(scaled)]


def collinear():
    x = np.outer(np.arange(12.0), [1.0, 2.0, -0.5])
    return hard(x, np.where(np.arange(12) > 6, 1.0, -1.0))


def on_a_grid():
    x = np.array([(a, b) for a in range(5) for b in range(5)], dtype=float)
    return hard(x, np.where(x[:, 0] >= 3, 1.0, -1.0))


def duplicated(formulation):
    x, y = clouds(3, 8, 9, 2, 6.0)
    return formulation(np.repeat(x, 3, axis=0), np.repeat(y, 3))


def opposite_duplicates():
    x, y = clouds(4, 10, 10, 2, 1.0)
    return l2(np.vstack([x, x]), np.concatenate([y, -y]), chi=5.0)


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
