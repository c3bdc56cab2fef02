"""ramp-exact: the global minimum by brute force over who is given up, bounds that hold, and what it says when it stops."""

import numpy as np
import pytest
from harness_robust.cccp import RampCCCP
from harness_robust.ramp_exact import RampExact

from harness import RBF, Linear
from tests.plugins.common import iterates, last_of, matrix_of
from tests.plugins.robust_problems import flipped, objective_of, stated


def drawn(rng):
    """A problem of 2 to 12 points: all s up to 0.99, both kernels, prices by class or not."""
    n, d = int(rng.integers(2, 13)), int(rng.integers(1, 5))
    x, y = rng.normal(size=(n, d)), np.where(rng.random(n) < 0.5, 1.0, -1.0)
    x[:, 0] += rng.choice([0.0, 1.0]) * y * np.where(rng.random(n) < 0.15, -1, 1)
    kernel = Linear() if rng.random() < 0.5 else RBF(gamma=float(10 ** rng.uniform(-1.5, 0.7)))
    s = float(rng.uniform(-2, 0.99) if rng.random() < 0.3 else rng.uniform(0.3, 0.99))
    weights = str(rng.choice(["none", "balanced"]))
    return stated(x, y, kernel, C=float(10 ** rng.uniform(-1.5, 2)), s=s, class_weight=weights)


def least_of_all_sets(problem, sweeps=100):
    """The least J_s over the hinge problems of all 2^n sets of kept points, by coordinate ascent on all at once."""
    n, C, s = problem.n, problem.upper, problem.s
    Q = matrix_of(problem) * np.outer(problem.targets, problem.targets)
    high = ((np.arange(2**n)[:, None] >> np.arange(n)) & 1) * C
    a = np.zeros((2**n, n))
    for _ in range(sweeps):
        for i in np.flatnonzero(np.diag(Q) > 0):
            a[:, i] = np.clip(a[:, i] + (1.0 - a @ Q[i]) / Q[i, i], 0.0, high[:, i])
    z = a @ Q
    return float((0.5 * (a * z).sum(axis=1) + np.minimum(np.maximum(0.0, 1.0 - z), 1.0 - s) @ C).min())


@pytest.mark.parametrize("draws", [100, pytest.param(500, marks=pytest.mark.slow)])
def test_no_model_of_any_set_is_below_the_bound_or_better_than_the_answer(draws):
    rng = np.random.default_rng(1)
    for _ in range(draws):
        problem = drawn(rng)
        best, last = least_of_all_sets(problem), last_of(RampExact(), problem)
        assert last.done
        assert last.info["lower_bound"] <= best * (1.0 + 1e-9)
        assert last.info["lower_bound"] <= last.info["objective"] <= best + 1e-6 * max(1.0, best)
        assert last.info["objective"] == pytest.approx(objective_of(problem, last.dual_coef), rel=1e-9)


def test_the_incumbents_fall_below_local_search_the_bound_rises_and_giving_up_is_said_with_it():
    problem = stated(*flipped(n=40, share=0.2, seed=1), RBF(gamma=1.0), C=0.5, s=0.5)
    found = iterates(RampExact(), problem)
    values, bounds = np.array([[each.info["objective"], each.info["lower_bound"]] for each in found]).T
    assert len(found) > 5
    assert (np.diff(values) <= 0.0).all()
    assert (np.diff(bounds) >= -1e-9).all()
    assert (bounds <= values[-1]).all()
    assert problem.kernel.counter.evaluations == 40 * 40
    assert values[-1] < last_of(RampCCCP(), problem).info["objective"] * (1.0 - 1e-4)
    last = last_of(RampExact(max_nodes=3), problem)
    assert not last.done
    assert last.info["stopped"].startswith("max_nodes: after 3 nodes it is proved that no model is below ")
    assert last.info["lower_bound"] <= values[-1]
    assert (last.info["open"] > 0, last.info["global_gap"] > 1e-3) == (True, True)
