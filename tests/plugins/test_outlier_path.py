"""outlier-path: every point of the path meets the conditions of a conditional optimum, and its end is stationary."""

import numpy as np
import pytest
from harness_robust.path import OutlierPath
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import RBF, Linear, Poly
from tests.plugins.common import certified, exact, iterates, last_of, matrix_of
from tests.plugins.robust_problems import flipped, objective_of, stated

KERNELS = {"rbf": RBF(gamma=0.5), "linear": Linear(), "poly": Poly(degree=2, gamma=0.5, coef0=1.0)}
AT = 1e-7  # nearer than this z is at 1 or at s, and a coefficient at its bound


def missed(problem, iterate):
    """By how much a point of the path misses the conditions of its partition's problem, point by point; (z, coef)."""
    theta, s = iterate.info["theta"], iterate.info["s"]
    z = problem.targets * (matrix_of(problem) @ iterate.dual_coef)
    worst = 0.0
    for z_i, a, price in zip(z, problem.targets * iterate.dual_coef, problem.upper, strict=True):
        bounds = ([price] if z_i >= s - AT else []) + ([theta * price] if z_i <= s + AT else [])
        least = np.inf
        for bound in bounds:
            off = max(0.0, -a, a - bound)
            if a < bound - AT * price:
                off = max(off, 1.0 - z_i)
            if a > AT * price:
                off = max(off, z_i - 1.0)
            least = min(least, off)
        worst = max(worst, least)
    return worst


def naive_objective(problem, iterate):
    """The loss of the path, point by point."""
    theta, s = iterate.info["theta"], iterate.info["s"]
    f = matrix_of(problem) @ iterate.dual_coef
    total = 0.5 * iterate.dual_coef @ f
    for z, price in zip(problem.targets * f, problem.upper, strict=True):
        total += price * (max(0.0, 1.0 - z) if z >= s else 1.0 - s + theta * (s - z))
    return total


def on_the_path(found):
    return [each for each in found if each.info["kind"] != "hinge"]


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10_000), st.sampled_from(list(KERNELS)), st.sampled_from(["theta", "s"]),
    st.sampled_from([-1.0, 0.0, 0.7]), st.sampled_from([0.3, 3.0, 100.0]), st.sampled_from(["none", "balanced"]),
)  # fmt: skip
def test_every_point_is_a_conditional_optimum_and_the_end_is_stationary(seed, kernel, path, s, cost, weight):
    x, y = flipped(n=24, share=0.2, seed=seed, apart=0.8)
    problem = stated(x, y, KERNELS[kernel], C=cost, s=s, class_weight=weight)
    found = iterates(OutlierPath(path=path), problem)
    last = found[-1]
    assert last.done
    assert all((np.abs(each.dual_coef) <= problem.upper * (1.0 + 1e-12)).all() for each in found)
    for each in on_the_path(found):
        assert missed(problem, each) < 1e-6
        assert each.info["objective"] == pytest.approx(naive_objective(problem, each), rel=1e-8)
    assert (last.info["theta"], last.info["s"]) == (0.0, s)
    assert last.info["objective"] == pytest.approx(objective_of(problem, last.dual_coef), rel=1e-9)
    assert abs(certified(problem, last).relative_gap) < 1e-6


def test_the_path_begins_at_the_hinge_and_falls():
    problem = stated(*flipped(n=200, share=0.2, apart=0.7), C=5.0, s=0.0)
    hinge = exact(problem.hinge).primal
    for path, sign in (("theta", -1.0), ("s", 1.0)):
        found = iterates(OutlierPath(path=path), problem)
        start, points = [each for each in found if each.info["kind"] == "hinge"][-1], on_the_path(found)
        assert start.info["outliers"] == 0
        assert (sign * np.diff([each.info[path] for each in points]) >= 0.0).all()
        values = [each.info["objective"] for each in points]
        assert values[0] <= hinge * (1.0 + 1e-9)
        assert (np.diff(values) <= 1e-9 * hinge).all()
        kinds, last = (
            [each.info["kind"] for each in points[:-1]],
            points[-1].info,
        )  # the last one is yielded twice, as done
        assert (last["breakpoints"], last["reoptimised"]) == (kinds.count("breakpoint"), kinds.count("reoptimised"))
        assert last["reoptimised"] > 0


@pytest.mark.parametrize("seed", [100043, 100115, 100247])
def test_points_that_stand_in_each_others_way_are_no_hindrance(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 60))
    x = rng.integers(0, 2, size=(n, 4)).astype(float)
    y = np.where(rng.random(n) < 0.5, -1.0, 1.0)
    problem = stated(x, y, Linear(), C=1000.0, s=0.5)
    last = last_of(OutlierPath(), problem)
    assert last.done  # where they do so is decided by the rounding of the machine: on some, nothing has to be moved
    assert missed(problem, last) < 1e-6
    assert abs(certified(problem, last).relative_gap) < 1e-6
