"""Problems for the tests of the ramp loss: two clouds with exchanged labels, and the loss written out."""

from __future__ import annotations

import numpy as np
from harness_robust.ramp import RampSVC

from harness import RBF
from tests.plugins.common import build, matrix_of


def flipped(n=40, d=2, share=0.15, seed=0, apart=1.5):
    """Points, (n, d), and labels, of which a share is exchanged."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    x = rng.normal(size=(n, d))
    x[:, 0] += apart * y
    y[rng.permutation(n)[: round(share * n)]] *= -1.0
    return x, y


def stated(x, y, kernel=None, **values):
    return build(RampSVC, x, y, kernel or RBF(gamma=0.3), **values)


def objective_of(problem, coef):
    """J_s written out."""
    f = matrix_of(problem) @ coef
    z = problem.targets * f
    return 0.5 * coef @ f + float(problem.upper @ np.minimum(np.maximum(0.0, 1.0 - z), 1.0 - problem.s))
