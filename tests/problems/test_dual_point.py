"""Linear models of weights: the gap to a dual point that the host builds is valid for any w, and small where w is good."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse
from harness_robust.ramp import RampSVC
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import CSVC, RBF, CSVCNoBias, Linear, get_solver
from harness.measure.scored import FreeModel, Weights
from harness.problems import L2SVC, EpsSVR, HardMargin, NuSVC, ReducedHull
from harness.problems.problem import FEASIBLE
from tests.plugins.common import build

BOUNDED = pytest.mark.parametrize("formulation", [CSVCNoBias, CSVC, L2SVC, EpsSVR], ids=lambda each: each.name)


def stated(formulation, seed, n=40, d=3, storage="dense", kernel=None, **values):
    """A problem whose classes overlap, of unequal sizes, with every tenth point twice."""
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(n, d)), np.where(np.arange(n) % 3, 1.0, -1.0)
    x[:, 0] += y
    x[1::10] = x[:-1:10]
    x = x.astype(np.float32) if storage == "single" else scipy.sparse.csr_array(x) if storage == "csr" else x
    targets = x @ rng.normal(size=d) + rng.normal(size=n) if formulation.task == "regression" else y
    return build(formulation, x, targets, kernel or Linear(), **values)


def optimal(problem):
    """Weights, intercept and certificate of the exact solution, in the scale of the primal."""
    best = get_solver("qp").solve(problem)
    w = problem.kernel.points.T @ best.dual_coef
    return np.asarray(w, dtype=np.float64), best.intercept, problem.certify(best.dual_coef, best.intercept)


@BOUNDED
@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**16), n=st.integers(6, 40), d=st.integers(1, 6), cost=st.sampled_from([0.01, 1.0, 100.0]),
    size=st.sampled_from([0.0, 1e-3, 1.0, 1e3]), offset=st.sampled_from([0.0, 1.0, -50.0]),
)  # fmt: skip
def test_the_bound_is_never_beyond_the_optimum(formulation, seed, n, d, cost, size, offset):
    problem = stated(formulation, seed, n, d, C=cost)
    intercept = offset if problem.has_bias else 0.0
    weights = size * np.random.default_rng(seed).normal(size=d)
    found, best = problem.certify_weights(weights, intercept), optimal(problem)[2]
    assert not found.undecidable
    assert found.relative_gap >= -found.gap_rounding
    # primal and dual enclose the optimum, and so do those of the exact solution
    low, high = sorted((found.primal, found.dual))
    assert low <= max(best.primal, best.dual) * (1.0 + 1e-9) + 1e-12
    assert high >= min(best.primal, best.dual) * (1.0 - 1e-9) - 1e-12
    if formulation is not L2SVC:
        scores = problem.kernel.points @ weights + intercept
        assert found.primal == pytest.approx(primal(problem, weights @ weights, scores), rel=1e-12)


def primal(problem, squared, scores):
    """The primal value by its definition."""
    if isinstance(problem, EpsSVR):
        losses = problem.C * np.maximum(0.0, np.abs(problem.targets - scores) - problem.epsilon)
    else:
        most = 1.0 - problem.s if isinstance(problem, RampSVC) else np.inf
        losses = problem.upper * np.clip(1.0 - problem.targets * scores, 0.0, most)
    return 0.5 * squared + losses.sum()


@BOUNDED
@pytest.mark.parametrize("storage", ["dense", "csr", "single"])
@pytest.mark.parametrize("cost", [0.1, 10.0])
def test_the_gap_is_small_at_the_optimum_and_the_point_is_feasible(formulation, storage, cost):
    problem = stated(formulation, 7, 120, 5, storage, C=cost)
    weights, intercept, best = optimal(problem)
    found = problem.certify_weights(weights, intercept)
    assert found.relative_gap <= max(2e-5, 10.0 * best.relative_gap)
    assert found.dual == pytest.approx(best.dual, rel=1e-4)
    model = problem.expansion_of(np.zeros(problem.n), problem.kernel.points @ weights)
    coef = problem.dual_point(replace(model, squared=model.squared + weights @ weights), intercept)
    assert problem.feasibility_violation(coef) <= 1e-3 * FEASIBLE
    # twice as long it is far from it: the margins of l2-svc, a hull formulation, have no length
    assert (problem.certify_weights(2.0 * weights, 2.0 * intercept).relative_gap > 0.01) == (formulation is not L2SVC)


def test_costs_of_classes_are_those_of_the_bound():
    problem = stated(CSVCNoBias, 3, 120, C=5.0, class_weight="balanced")
    weights, _, best = optimal(problem)
    assert problem.certify_weights(weights, 0.0).relative_gap <= max(2e-5, 10.0 * best.relative_gap)


@pytest.mark.parametrize("formulation", [CSVC, CSVCNoBias, RampSVC, EpsSVR, HardMargin, ReducedHull])
def test_a_free_expansion_has_the_primal_of_its_definition(formulation):
    problem = stated(formulation, 1, kernel=RBF(gamma=0.5))
    rng, points = np.random.default_rng(0), np.asarray(problem.kernel.points)
    own, intercept = rng.normal(size=(4, 3)), 0.3 if problem.has_bias else 0.0
    model = FreeModel.checked(problem.kernel, rng.normal(size=44), own, intercept)
    everyone = np.concatenate([points, own])
    values = RBF(gamma=0.5).block(everyone, everyone)
    scores, squared = values @ model.free_coef, model.free_coef @ values @ model.free_coef
    train = model.scores(problem.kernel, points)
    found = model.certificate(problem, train)
    assert found.relative_gap is None
    if isinstance(problem, HardMargin):
        assert found.primal == 0.0, "nothing is separated"
    else:
        assert found.primal == pytest.approx(primal(problem, squared, scores[:40] + intercept), rel=1e-9)


def test_the_margin_of_separating_weights_is_the_primal_of_hulls():
    x = np.array([[0.0, 3.0], [0.0, -1.0], [5.0, 3.0]])
    problem = build(HardMargin, x, [1.0, -1.0, 1.0], Linear())
    assert problem.certify_weights(np.array([0.0, 0.1]), 0.0).primal == pytest.approx(8.0)  # half of 4 squared
    assert problem.certify_weights(np.array([1.0, 0.0]), 0.0).primal == 0.0


@pytest.mark.parametrize(
    ("problem", "intercept"),
    [(stated(CSVC, 0, kernel=RBF()), 0.0), (stated(CSVCNoBias, 0), 0.5), (stated(NuSVC, 0), 0.0)],
)
def test_what_is_no_model_of_the_problem_has_neither_primal_nor_gap(problem, intercept):
    found = Weights.checked(problem.kernel, np.ones(3), intercept).certificate(problem, np.zeros(40))
    assert (found.primal, found.relative_gap) == (None, None)
