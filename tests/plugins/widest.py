"""The slow, obvious twin of outlier-margin: every set that may be given up, and hulls by non-negative least squares."""

from itertools import combinations

import numpy as np
from harness_rgd.outlier_margin import OutlierMargin
from scipy.optimize import nnls

from harness import RBF, KernelOracle, Linear


def drawn(rng):
    """A problem of 4 to 12 points: shares of both classes, of each, and against the origin; both kernels, with a ridge or not."""
    n, d = int(rng.integers(4, 13)), int(rng.integers(1, 5))
    y = np.where(np.arange(n) % rng.integers(2, 4) == 0, 1.0, -1.0)
    x = rng.normal(size=(n, d)) + rng.choice([0.0, 20.0])
    x[:, 0] += y * rng.choice([0.0, 0.5, 2.0]) * np.where(rng.random(n) < 0.2, -1.0, 1.0)
    values = [
        {"outliers": float(rng.choice([0.1, 0.2, 0.3]))},
        {"outliers_plus": 0.4, "outliers_minus": float(rng.choice([0.0, 0.2]))},
        {"outliers": float(rng.choice([0.1, 0.3])), "against": "origin"},
    ][rng.integers(3)]
    kernel = Linear() if rng.random() < 0.5 else RBF(gamma=float(10 ** rng.uniform(-1.5, 0.7)))
    oracle = KernelOracle(kernel, x, ridge=float(rng.choice([0.0, 0.3])))
    return OutlierMargin.build(oracle, y, {"delta": 0.0, **values})


def coordinates(problem):
    """Return points whose inner products are the kernel values, (n, r): by eigenvectors, unless the kernel is linear.

    Two classes are moved to their middle, which changes no distance and loses no digits.
    """
    if problem.kernel.is_linear:
        x = problem.kernel.points
        return np.hstack(
            [x if problem.against_origin else x - x.mean(axis=0), np.sqrt(problem.kernel.ridge) * np.eye(problem.n)]
        )
    everyone = np.arange(problem.n)
    values, axes = np.linalg.eigh(np.array(problem.kernel.block(everyone, everyone)))
    return axes * np.sqrt(np.maximum(values, 0.0))


def distance(points, positive, kept, origin):
    """Return the distance of the hulls of the points kept, or of their hull from the origin.

    The solution of min |Z x|^2 + (s - s sum x)^2, x >= 0, is the nearest point's weights but for their sum.
    """
    up = points[positive & kept]
    vertices = up if origin else (up[:, None, :] - points[~positive & kept][None, :, :]).reshape(-1, points.shape[1])
    size = max(1e-30, float(np.sqrt((vertices**2).sum(axis=1).max())))
    weights, _ = nnls(np.vstack([vertices.T / size, np.ones(len(vertices))]), np.append(np.zeros(points.shape[1]), 1.0))
    return float(np.linalg.norm(weights @ vertices)) / float(weights.sum())


def sets(problem, allowance):
    """Yield (n,) bool, what is kept, for every set that an allowance lets be given up, all as large as may be."""
    n, positive = problem.n, problem.positive
    for dropped in combinations(range(n), min(allowance.both, allowance.positive + allowance.negative)):
        kept = np.ones(n, dtype=bool)
        kept[list(dropped)] = False
        gone = int((positive & ~kept).sum()), int((~positive & ~kept).sum())
        if gone[0] <= allowance.positive and gone[1] <= allowance.negative:
            yield kept


def widest(problem, allowance=None):
    """Return the widest margin over all sets that may be given up."""
    points = coordinates(problem)
    origin = problem.against_origin
    return max(distance(points, problem.positive, kept, origin) for kept in sets(problem, allowance or problem.share))


def along(problem, w, points):
    """Return the widest margin along the direction w after giving up what a model may."""
    scores = points @ w / np.linalg.norm(w)
    positive, best = problem.positive, -np.inf
    for kept in sets(problem, problem.allowance):
        low = 0.0 if problem.against_origin else scores[~positive & kept].max()
        best = max(best, scores[positive & kept].min() - low)
    return float(best)
