"""Problems for the tests of LASVM and of its family without a bias, and a candidate set in the middle of its work."""

from __future__ import annotations

import functools

import numpy as np
import scipy.sparse
from harness_lasvm import LASVM, candidate_set
from harness_lasvm.compiled import steps
from harness_robust.ramp import RampSVC

from harness import CSVC, RBF
from harness.registry.discovery import shared_registry
from tests.plugins import common
from tests.plugins.common import build, noisy, precomputed

KERNEL = RBF(gamma=0.3)
svc = functools.partial(build, CSVC, C=1.0)


def stated(x, y, kernel=KERNEL, **values):
    return svc(x, y, kernel, **values)


def iterates(problem, seed=1, **parameters):
    return common.iterates(LASVM(**parameters), problem, seed)


def assert_feasible(problem, coef, sums=True):
    ramp = isinstance(problem, RampSVC)  # the box for any beta
    assert (coef >= (-problem.upper if ramp else problem.lower_bounds)).all()
    assert (coef <= (problem.upper if ramp else problem.upper_bounds)).all()
    assert not sums or abs(coef.sum()) <= 1e-12 * max(1.0, np.abs(coef).sum())


def violation(problem, values, coef, members):
    """By how much the conditions are missed over the members, from the whole kernel matrix."""
    inside = np.isin(np.arange(problem.n), members)
    grad = problem.targets - values @ coef
    rises, falls = coef < problem.upper_bounds, coef > problem.lower_bounds
    return grad[rises & inside].max() - grad[falls & inside].min()


def partway(seed, blocks, C=5.0, **parameters):
    """A candidate set in the middle of its first epoch, and its full kernel matrix."""
    x, y = noisy(300, noise=1.5, seed=seed)
    problem, values = precomputed(stated(x, y, C=C))
    found = candidate_set.CandidateSet(problem, **{"cache_mb": 100.0, "block": 64, "dtype": "float32", **parameters})
    rng = np.random.default_rng(seed)
    order = np.concatenate([rng.permutation(300), rng.permutation(300)])
    seeds = np.concatenate([order[:300][y[order[:300]] == label][:5] for label in (1.0, -1.0)])
    found.admit(seeds, np.zeros(10), y[seeds])
    done = 0
    while blocks and done < 600:
        blocks -= 1
        work = found.fetch(order[done:])
        found.run(steps.run, work, 1e-3, np.inf, 0, pause=10**9)
        done += int(found.now["at"])
    return found, values


# -- without a bias ------------------------------------------------------------------------------------------------------


def flipped(n=160, d=4, noise=0.6, seed=0, share=0.1):
    """Noise near the border, and a share of labels exchanged."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    y = np.where(2.0 * x[:, 0] + noise * rng.normal(size=n) > 0.2, 1.0, -1.0)
    return x, np.where(rng.random(n) < share, -y, y)


def stated_for(solver, x, y, kernel=KERNEL, C=1.0, **values):
    """The problem of the formulation that a solver, or its class, solves."""
    formulation = shared_registry().declared_by(solver if isinstance(solver, type) else type(solver))[0]
    return build(formulation, x, y, kernel, C=C, **values)


def awkward():
    """Points that are awkward in one way each, by name."""
    x, y = flipped(60)
    return {
        "two equal points": (np.zeros((2, 1)), np.array([1.0, -1.0])),
        "one point": (np.ones((1, 2)), np.array([1.0])),
        "one class": (x, np.ones(60)),
        "contradictions": (np.repeat(x[:30], 2, axis=0), np.tile([1.0, -1.0], 30)),
        "sparse": (scipy.sparse.csr_array(np.where(np.abs(x) > 0.5, x, 0.0)), y),
    }
