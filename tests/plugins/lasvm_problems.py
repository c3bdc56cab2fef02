"""Problems for the tests of LASVM: what is drawn and what is awkward, and an candidate_set in the middle of its work."""

from __future__ import annotations

import numpy as np
from harness_lasvm import LASVM, candidate_set
from harness_lasvm.compiled import steps

from harness import CSVC, RBF, KernelOracle, Precomputed
from tests.kernels.oracles import own


def noisy(n=160, d=4, noise=0.6, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    y = np.where(x[:, 0] + noise * rng.normal(size=n) > 0.2, 1.0, -1.0)
    return x, y


def stated(x, y, C=1.0, kernel=None, **settings_):
    return CSVC.build(KernelOracle(kernel or RBF(gamma=0.3), x), y, {"C": C, **settings_})


def precomputed(problem):
    values = np.array(own(problem).kernel.block(np.arange(own(problem).n)))
    values = (values + values.T) / 2  # symmetric to the last bit
    values = values.astype(np.float32).astype(np.float64)  # rows kept in float32 are exact
    return type(problem).build(KernelOracle(Precomputed(), values), problem.targets, problem.parameters), values


def iterates(problem, seed=1, **parameters):
    """The iterates with their arrays copied."""
    found = []
    for iterate in LASVM(**parameters).iterates(problem, np.random.default_rng(seed)):
        iterate.dual_coef = iterate.dual_coef.copy()
        found.append(iterate)
    return found


def assert_feasible(problem, coef):
    assert (coef >= problem.lower_bounds).all()
    assert (coef <= problem.upper_bounds).all()
    assert abs(coef.sum()) <= 1e-12 * max(1.0, np.abs(coef).sum())


def partway(seed, blocks, C=5.0, **parameters):
    """An candidate_set in the middle of its first epoch, and its full kernel matrix."""
    x, y = noisy(300, noise=1.5, seed=seed)
    problem, values = precomputed(stated(x, y, C=C))
    given_ = {"cache_mb": 100.0, "block": 64, "dtype": "float32", **parameters}
    found = candidate_set.CandidateSet(problem, **given_)
    rng = np.random.default_rng(seed)
    order = np.concatenate([rng.permutation(300), rng.permutation(300)])
    seeds = np.concatenate([order[:300][y[order[:300]] == label][:5] for label in (1.0, -1.0)])
    found.admit(seeds, np.zeros(10), y[seeds])
    done = 0
    while blocks and done < 600:
        blocks -= 1
        work = found.fetch(order[done:])
        found.run(steps.online, work, 1e-3, np.inf, 0, pause=10**9)
        done += int(found.now["at"])
    return found, values
