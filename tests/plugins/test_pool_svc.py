"""pool-svc: labels are queried, each once; the problem is c-svc over what was queried, and nothing else."""

import numpy as np
import pytest
from harness_active.pool_svc import PoolSVC
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import CSVC, RBF, InvalidModel, UsageError
from tests.plugins.common import build

N = 24
RNG = np.random.default_rng(3)
X = RNG.normal(size=(N, 3))
Y = np.where(X[:, 0] + 0.5 * RNG.normal(size=N) > 0, 1.0, -1.0)
KERNEL = RBF(gamma=0.7)


def pool(labels=Y.__getitem__, **values):
    return build(PoolSVC, X, labels, KERNEL, **{"C": 2.0, **values})


def feasible(labels, weights, C):
    """Return coefficients of c-svc: ``weights`` in [0, 1] times C, the heavier class scaled down so that they sum to 0."""
    positive, negative = weights[labels > 0].sum(), weights[labels < 0].sum()
    least = min(positive, negative)
    scale = np.where(labels > 0, least / max(positive, 1e-300), least / max(negative, 1e-300))
    return C * labels * weights * scale


queries = st.lists(st.integers(0, N - 1), min_size=1, max_size=N, unique=True)


@given(queries, st.lists(st.floats(0.0, 1.0), min_size=N, max_size=N), st.floats(-2.0, 2.0))
@settings(max_examples=60, deadline=None)
def test_the_certificate_is_that_of_c_svc_over_the_queried_points(queried, weights, intercept):
    problem = pool()
    problem.query(queried)
    own = feasible(Y[queried], np.array(weights)[queried], 2.0)
    coef = np.zeros(N)
    coef[queried] = own
    independent = build(CSVC, X[queried], Y[queried], KERNEL, C=2.0)
    problem.checked(coef, intercept)
    found, expected = problem.certify(coef, intercept), independent.certify(own, intercept)
    for name in ("primal", "dual", "gap", "kkt_violation", "feasibility_violation"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), rel=1e-9, abs=1e-9), name


@given(st.lists(st.lists(st.integers(0, N - 1), max_size=6), max_size=8), st.integers(1, N))
@settings(max_examples=60, deadline=None)
def test_the_ledger_is_what_a_list_would_keep(asked, budget):
    problem, kept = pool(budget=budget), []
    for indices in asked:
        fresh = [index for index in dict.fromkeys(indices) if index not in kept]
        if len(kept) + len(fresh) > budget:
            with pytest.raises(UsageError, match="labels were queried"):
                problem.query(indices)
        else:
            np.testing.assert_array_equal(problem.query(indices), Y[indices])
            kept += fresh
        assert problem.queried.tolist() == kept
        assert problem.queries_left == budget - len(kept)
        known = np.zeros(N, dtype=bool)
        known[kept] = True
        np.testing.assert_array_equal(problem.targets[known], Y[known])
        assert np.isnan(problem.targets[~known]).all()


@pytest.mark.parametrize("index", [-1, N])
def test_a_point_that_is_none_cannot_be_queried_and_targets_are_read_only(index):
    problem = pool()
    before = problem.contents()
    with pytest.raises(UsageError, match=f"the label of point {index} was queried"):
        problem.query([0, index])
    with pytest.raises(ValueError, match="read-only"):
        problem.targets[0] = 1.0
    assert len(problem.queried) == 0
    problem.query([1, 2])
    assert problem.contents() == before != pool(C=3.0).contents(), "queries do not change it"


def test_a_coefficient_without_a_label_is_no_model_and_without_a_label_nothing_is_the_optimum():
    problem, (positive, negative) = pool(), (np.flatnonzero(Y > 0)[0], np.flatnonzero(Y < 0)[0])
    found = problem.certify(*problem.checked(np.zeros(N), 0.0))
    assert (found.primal, found.dual, found.relative_gap) == (0.0, 0.0, 0.0)
    problem.query([positive])
    coef = np.zeros(N)
    coef[[positive, negative]] = 0.5, -0.5
    with pytest.raises(InvalidModel, match="the label of that point was not queried"):
        problem.checked(coef, 0.0)
    problem.query([negative])
    problem.checked(coef, 0.0)


def test_a_part_queries_the_whole():
    problem = pool(budget=5)
    problem.query([3, 4])
    part = problem.restrict([4, 7, 9])
    assert part.queried.tolist() == [0]
    np.testing.assert_array_equal(part.query([1, 1, 0]), Y[[7, 7, 4]])
    problem.query([10, 11])
    assert (problem.queried.tolist(), part.queries_left) == ([3, 4, 7, 10, 11], 0)
    with pytest.raises(UsageError, match="labels were queried"):
        part.query([2])


def test_with_other_targets_it_is_the_problem_after_these_queries():
    problem = pool(budget=4)
    problem.query([5, 2])
    after = pool(budget=4).with_targets(np.where(np.isin(np.arange(N), [2, 5]), Y, np.nan))
    assert (after.queried.tolist(), after.queries_left) == ([2, 5], 0)
    np.testing.assert_array_equal(after.targets, problem.targets)
    again = problem.with_targets(lambda points: np.ones(len(points)))
    assert len(again.queried) == 0
    np.testing.assert_array_equal(again.query([0, 1]), [1.0, 1.0])
