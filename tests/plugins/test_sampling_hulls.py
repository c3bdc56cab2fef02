"""k = 1 / D of reduced hulls by Theorem 6.1, a k for each class, and tubes through the reduced hulls they stand for."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from harness_sampling import OptSoftMargin, OracleFailure, smallest_separating_k
from harness_sampling.hulls import with_doubled_k

from harness import RBF, InvalidModel, KernelOracle, Linear, ReducedHull, TubeSVR, UsageError, get_solver
from tests.plugins.hull_problems import clouds, hard
from tests.plugins.sampling_problems import exact, finished, reduced, wave


def per_class(x, y, k_plus, k_minus, kernel=None):
    caps = {"D": 1.0 / k_plus, "D_minus": 1.0 / k_minus}
    return ReducedHull.build(KernelOracle(kernel or Linear(), x), y, caps)


def composed_separate(x, y, k_plus, k_minus):
    """Say whether the means of all k_+ positives and all k_- negatives are separable, written out (Theorem 6.1)."""
    means = [
        np.array([x[list(chosen)].mean(axis=0) for chosen in itertools.combinations(np.flatnonzero(y == sign), k)])
        for sign, k in ((1.0, k_plus), (-1.0, k_minus))
    ]
    points = np.concatenate(means)
    labels = np.repeat([1.0, -1.0], [len(each) for each in means])
    return (exact(hard(points, labels)).dual or 0.0) > 1e-9  # None: w may be 0


# -- the smallest k ----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("oracle", ["qp", "smo-block"])
def test_the_smallest_k_is_that_of_the_composed_examples_written_out(seed, oracle):
    x, y = clouds(seed, 6, 7, 2, 1.5)
    written = [k for k in range(1, 7) if composed_separate(x, y, k, k)]
    assert written == list(range(written[0], 7))
    assert smallest_separating_k(hard(x, y), oracle) == (written[0], written[0])


@pytest.mark.parametrize("seed", range(4))
def test_the_classes_may_have_a_k_of_their_own(seed):
    x, y = clouds(20 + seed, 5, 8, 2, 1.2)
    found = smallest_separating_k(hard(x, y), "qp", share=1.6)
    tried = [(k, min(8, int(np.ceil(1.6 * k - 1e-9)))) for k in range(1, 6)]
    assert found == next(pair for pair in tried if composed_separate(x, y, *pair))


def test_separable_points_need_no_reduction():
    assert smallest_separating_k(hard(*clouds(1, 30, 30, 2, 9.0)), "smo-block") == (1, 1)


def test_equal_classes_are_separated_by_no_k():
    x = np.random.default_rng(0).normal(size=(10, 2))
    problem = hard(np.concatenate([x, x]), np.repeat([1.0, -1.0], 10))
    assert smallest_separating_k(problem, "qp") is None


def test_the_oracle_may_sample_itself_or_be_a_solver():
    problem = hard(*clouds(3, 80, 90, 2, 3.0))
    expected = smallest_separating_k(problem, "qp")
    assert smallest_separating_k(problem, "optsoftmargin[oracle=smo-block,gap=1e-4,r=80]") == expected
    assert smallest_separating_k(problem, get_solver("qp")) == expected
    assert expected[0] > 1


def test_a_share_that_is_none_and_an_oracle_that_is_none_are_refused():
    problem = hard(*clouds(3, 8, 9, 2, 3.0))
    with pytest.raises(
        UsageError, match=r"share=0 asked of smallest_separating_k; k_- = share \* k_\+ needs a positive"
    ):
        smallest_separating_k(problem, "qp", share=0.0)
    with pytest.raises(UsageError, match="nobody"):
        smallest_separating_k(problem, "nobody")
    with pytest.raises(OracleFailure, match=r"smallest_separating_k, k = 8: the oracle 'lasvm' refused 17 points"):
        smallest_separating_k(problem, "lasvm")


# -- a k for each class ------------------------------------------------------------------------------


@pytest.mark.parametrize("oracle", ["qp", "smo", "smo-block"])
def test_a_cap_for_each_class_reaches_the_optimum_of_the_composed_examples(oracle):
    x, y = clouds(5, 8, 9, 2, 4.0)
    problem = per_class(x, y, 2.0, 3.0)
    last, found = finished(OptSoftMargin(gap=1e-6, oracle=oracle, r=12), problem)
    assert last.done
    means = [
        np.array([x[list(c)].mean(axis=0) for c in itertools.combinations(np.flatnonzero(y == sign), k)])
        for sign, k in ((1.0, 2), (-1.0, 3))
    ]
    written = hard(np.concatenate(means), np.repeat([1.0, -1.0], [len(each) for each in means]))
    assert found.dual == pytest.approx(exact(written).dual, rel=1e-5)
    assert found.relative_gap <= 1e-6 + 1e-12


def test_k_beyond_the_examples_of_a_class_is_refused():
    x, y = clouds(5, 8, 9, 2, 4.0)
    with pytest.raises(
        UsageError, match=r"D_minus=0.1 leaves the hull of the 9 negatives empty; D_minus must be at least 1/9"
    ):
        per_class(x, y, 2.0, 10.0)
    with pytest.raises(
        UsageError, match=r"D=0.111111 leaves the hull of the 8 positives empty; D must be at least 1/8"
    ):
        reduced(x, y, 1 / 9)


def test_doubling_stops_at_the_examples_of_a_class():
    x, y = clouds(5, 8, 30, 2, 1.0)
    doubled = with_doubled_k(per_class(x, y, 6.0, 3.0))
    assert doubled.caps == pytest.approx((1 / 8, 1 / 6))
    assert with_doubled_k(per_class(x, y, 8.0, 30.0)) is None
    assert with_doubled_k(reduced(x, y, 1 / 5, Linear())).caps == pytest.approx((1 / 8, 1 / 8))
    assert with_doubled_k(reduced(x, y, 1 / 8, Linear())) is None


# -- tubes -------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize("name", TUBES)
@pytest.mark.parametrize(("r", "seed", "oracle"), [(None, 0, "smo-block"), (25, 1, "qp"), (40, 2, "smo")])
def test_tubes_reach_the_optimum(name, r, seed, oracle):
    problem = TUBES[name]()
    last, found = finished(OptSoftMargin(gap=1e-6, r=r, oracle=oracle), problem, seed)
    assert last.done
    assert found.relative_gap <= 1e-6 + 1e-12
    assert found.dual == pytest.approx(exact(problem).dual, rel=2e-6)
    best = get_solver("qp").solve(problem)
    np.testing.assert_allclose(
        problem.scores_new(last.dual_coef, last.intercept, problem.kernel.points),
        problem.scores_new(best.dual_coef, best.intercept, problem.kernel.points),
        atol=2e-3,
    )


def test_a_tube_too_narrow_ends_with_hulls_that_meet():
    """epsilon too small for any tube: w = 0 and sigma = 0, and the problem says that there is no function."""
    problem = tube(*wave(60), 0.01, 1.0, Linear())
    last, _ = finished(OptSoftMargin(gap=1e-6, r=50), problem)
    assert not last.done
    assert last.info["status"] == "hulls intersect"
    assert abs(problem.sigma(last.dual_coef)) < 1e-4
    best = get_solver("qp").solve(problem)
    with pytest.raises(InvalidModel, match="no regression function"):
        problem.scores_new(best.dual_coef, best.intercept, problem.kernel.points)


def test_evaluations_of_a_tube_are_the_wrappers_and_the_oracles():
    problem = TUBES["soft"]()
    last, _ = finished(OptSoftMargin(gap=1e-6, oracle="qp", r=40), problem)
    assert last.info["own_evaluations"] + last.info["oracle_evaluations"] == problem.kernel.counter.evaluations
    assert last.info["rounds"] > 1


def test_the_bound_of_a_tube_counts_the_target_as_an_attribute():
    last, _ = finished(
        OptSoftMargin(gap=1e-6, delta="bound", oracle="qp"), tube(*wave(60, noise=0.05), 2.5, 1.0, Linear())
    )
    assert last.info["delta"] == 2 + 1 + 1  # Theorem 5.1
