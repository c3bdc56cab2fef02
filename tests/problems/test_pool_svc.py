"""pool-svc: labels are bought, each once; the problem is c-svc over what was bought, and nothing else."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import CSVC, RBF, InvalidModel, KernelOracle, LabelsSpent, UsageError
from harness.problems import PoolSVC

N = 24
RNG = np.random.default_rng(3)
X = RNG.normal(size=(N, 3))
Y = np.where(X[:, 0] + 0.5 * RNG.normal(size=N) > 0, 1.0, -1.0)
KERNEL = RBF(gamma=0.7)


def pool(labels=Y, **values):
    return PoolSVC.build(KernelOracle(KERNEL, X), labels, {"C": 2.0, **values})


def feasible(labels, weights, C):
    """Return coefficients of c-svc: ``weights`` in [0, 1] times C, the heavier class scaled down so that they sum to 0."""
    positive, negative = weights[labels > 0].sum(), weights[labels < 0].sum()
    least = min(positive, negative)
    scale = np.where(labels > 0, least / max(positive, 1e-300), least / max(negative, 1e-300))
    return C * labels * weights * scale


purchases = st.lists(st.integers(0, N - 1), min_size=1, max_size=N, unique=True)


@given(purchases, st.lists(st.floats(0.0, 1.0), min_size=N, max_size=N), st.floats(-2.0, 2.0))
@settings(max_examples=60, deadline=None)
def test_the_certificate_is_that_of_c_svc_over_the_bought_points(bought, weights, intercept):
    problem = pool()
    problem.buy(bought)
    own = feasible(Y[bought], np.array(weights)[bought], 2.0)
    coef = np.zeros(N)
    coef[bought] = own
    independent = CSVC.build(KernelOracle(KERNEL, X[bought]), Y[bought], {"C": 2.0})
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
            with pytest.raises(LabelsSpent, match="labels were asked for"):
                problem.buy(indices)
        else:
            np.testing.assert_array_equal(problem.buy(indices), Y[indices])
            kept += fresh
        assert problem.bought.tolist() == kept
        assert problem.kernel.counter.labels == problem.labels_used == len(kept)
        assert problem.labels_left == budget - len(kept)
        known = np.zeros(N, dtype=bool)
        known[kept] = True
        np.testing.assert_array_equal(problem.targets[known], Y[known])
        assert np.isnan(problem.targets[~known]).all()


@pytest.mark.parametrize("index", [-1, N])
def test_a_point_that_is_none_cannot_be_bought(index):
    problem = pool()
    with pytest.raises(UsageError, match=f"the label of point {index} was asked for; the points run from 0 to {N - 1}"):
        problem.buy([0, index])
    assert problem.labels_used == 0


def test_targets_cannot_be_written_and_the_contents_do_not_change_with_purchases():
    problem = pool()
    before = problem.contents()
    with pytest.raises(ValueError, match="WRITEABLE"):
        problem.targets.flags.writeable = True
    problem.buy([1, 2])
    assert problem.contents() == before
    assert problem.contents() != pool(C=3.0).contents()


def test_a_coefficient_without_a_label_is_no_model():
    problem = pool()
    problem.buy(np.flatnonzero(Y > 0)[:2])
    coef = np.zeros(N)
    coef[[np.flatnonzero(Y > 0)[0], np.flatnonzero(Y < 0)[0]]] = [0.5, -0.5]
    with pytest.raises(InvalidModel, match=r"dual_coef\[\d+\] is -0.5, and the label of that point was not bought"):
        problem.checked(coef, 0.0)
    problem.buy(np.flatnonzero(Y < 0)[:1])
    problem.checked(coef, 0.0)


def test_without_a_label_nothing_is_the_optimum():
    problem = pool()
    problem.checked(np.zeros(N), 0.0)
    found = problem.certify(np.zeros(N), 0.0)
    assert (found.primal, found.dual, found.relative_gap) == (0.0, 0.0, 0.0)


def test_a_part_buys_of_the_whole():
    problem = pool(budget=5)
    problem.buy([3, 4])
    part = problem.restrict([4, 7, 9])
    assert part.bought.tolist() == [0]
    np.testing.assert_array_equal(part.buy([1, 1, 0]), Y[[7, 7, 4]])
    assert problem.bought.tolist() == [3, 4, 7]
    assert problem.kernel.counter.labels == 3
    problem.buy([10, 11])
    assert part.labels_left == 0
    with pytest.raises(LabelsSpent):
        part.buy([2])


def test_a_rehearsal_has_labels_that_say_nothing():
    def never(indices):
        raise AssertionError("a rehearsal asks nobody")

    problem = pool(labels=never, budget=4)
    small = problem.rehearsal(np.arange(8))
    np.testing.assert_array_equal(small.buy(np.arange(4)), [1.0, -1.0, 1.0, -1.0])
    assert problem.labels_used == 0
