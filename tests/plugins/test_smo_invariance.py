"""SMO: what changes a problem without changing its model."""

import numpy as np
import pytest
import scipy.sparse
from harness_smo import SMO
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import CSVC, RBF, CSVCNoBias, Precomputed
from tests.plugins.points import overlapping
from tests.plugins.smo_problems import build, certified, small, tight


@given(small, st.sampled_from([CSVC, CSVCNoBias]))
@settings(max_examples=25)
def test_permuted_points_give_the_permuted_model(case, formulation):
    seed, n, cost = case
    x, y = overlapping(seed, n)
    order = np.random.default_rng(seed).permutation(n)
    problem, one, found = tight(x, y, formulation=formulation, C=cost)
    _, other, again = tight(x[order], y[order], formulation=formulation, C=cost)
    assert again.dual == pytest.approx(found.dual, rel=1e-7, abs=1e-9)
    scores = problem.kernel.expand(one.dual_coef)
    assert problem.restrict(order).kernel.expand(other.dual_coef) == pytest.approx(scores[order], abs=1e-4)


@given(small)
@settings(max_examples=25)
def test_flipped_labels_give_the_negated_model(case):
    seed, n, cost = case
    x, y = overlapping(seed, n)
    problem, one, found = tight(x, y, C=cost)
    _, other, again = tight(x, -y, C=cost)
    assert again.dual == pytest.approx(found.dual, rel=1e-7, abs=1e-9)
    assert problem.kernel.expand(-other.dual_coef) == pytest.approx(problem.kernel.expand(one.dual_coef), abs=1e-4)


@given(small)
@settings(max_examples=25)
def test_doubled_points_are_the_problem_with_twice_the_cost(case):
    seed, n, cost = case
    x, y = overlapping(seed, n)
    _, _, found = tight(x, y, C=2.0 * cost)
    _, _, doubled = tight(np.vstack([x, x]), np.concatenate([y, y]), C=cost)
    assert doubled.dual == pytest.approx(found.dual, rel=1e-7, abs=1e-9)


@given(small, st.sampled_from([0.01, 0.5, 40.0]))
@settings(max_examples=25)
def test_a_kernel_times_c_is_the_problem_with_c_times_the_cost(case, factor):
    seed, n, cost = case
    x, y = overlapping(seed, n)
    gram = RBF(0.5).block(x, x)
    _, one, found = tight(gram, y, Precomputed(), C=cost)
    problem, scaled, again = tight(factor * gram, y, Precomputed(), C=cost / factor)
    # coef / factor has the same scores, and every objective is 1 / factor of the other
    assert factor * again.dual == pytest.approx(found.dual, rel=1e-7, abs=1e-9)
    assert problem.kernel.expand(scaled.dual_coef) == pytest.approx(gram @ one.dual_coef, abs=1e-4)


@pytest.mark.parametrize("storage", ["csr", "float32", "precomputed", "fortran"])
def test_storage_does_not_change_the_optimum(storage):
    x, y = overlapping(6, n=120)
    found = certified(build(x, y, C=10.0), SMO(tau=1e-6).solve(build(x, y, C=10.0)))
    data = {
        "csr": lambda: scipy.sparse.csr_array(x),
        "float32": lambda: x.astype(np.float32),
        "precomputed": lambda: RBF(0.5).block(x, x),
        "fortran": lambda: np.asfortranarray(x),
    }[storage]()
    problem = build(data, y, Precomputed() if storage == "precomputed" else RBF(0.5), C=10.0)
    again = certified(problem, SMO(tau=1e-6).solve(problem))
    assert again.dual == pytest.approx(found.dual, rel=1e-5)
    assert again.kkt_violation <= 1.01e-6
