"""Problems of few positives, and the methods for them over an exact oracle."""

import numpy as np
from harness_active.baselines import Batch, DifferentCosts, Smote, Undersampling

from harness import (
    CSVC,
    RBF,
    KernelOracle,
    Limits,
    drive,
)

EXACT = "smo-block[tau=1e-6,dtype=float64]"
METHODS = {
    "batch": Batch(oracle=EXACT),
    "undersampling": Undersampling(oracle=EXACT, ratio=1.5),
    "smote": Smote(oracle=EXACT),
    "different-costs": DifferentCosts(oracle=EXACT),
}


def clouds(positives, negatives, seed=0, d=3):
    """Return two overlapping Gaussians of so many points, in random order."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat([1.0, -1.0], [positives, negatives]))
    return rng.normal(size=(len(y), d)) + 0.5 * y[:, None], y


def stated(x, y, kernel=None, C=2.0):
    return CSVC.build(KernelOracle(kernel or RBF(gamma=0.4), x), y, {"C": C})


def outcome(solver, problem, seed=0, limits=None):
    return drive(solver, problem, np.random.default_rng(seed), limits or Limits())


def scores_of(found, problem, points):
    if found.free is None:
        return problem.scores_new(found.dual_coef, found.intercept, points)
    return found.free.scores(problem.kernel, points)
