"""The oracle over the training points and points of a solver's own: values by their definition, counted to the same run."""

import numpy as np
import pytest
import scipy.sparse

from harness import RBF, KernelOracle, Linear, Poly, Precomputed, UsageError

RNG = np.random.default_rng(2)
X, OWN = RNG.normal(size=(30, 4)), RNG.normal(size=(7, 4))
STORED = {"dense": np.array, "float32": lambda x: x.astype(np.float32), "csr": scipy.sparse.csr_array}


@pytest.mark.parametrize("kernel", [Linear(), RBF(gamma=0.3), Poly(degree=2)], ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("stored", STORED)
@pytest.mark.parametrize("given", STORED)
def test_values_are_those_of_all_points_together_whatever_their_storage(kernel, stored, given):
    oracle = KernelOracle(kernel, STORED[stored](X)).extended(STORED[given](OWN))
    everything = np.concatenate([X, OWN])
    np.testing.assert_allclose(oracle.rows(np.arange(37)), kernel.block(everything, everything), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(oracle.diagonal(), kernel.diagonal(everything), rtol=1e-5)


def test_what_is_asked_of_it_counts_to_the_same_run_and_making_it_costs_nothing():
    oracle = KernelOracle(RBF(), X)
    more = oracle.extended(OWN)
    assert oracle.counter.evaluations == 0
    assert not oracle.counter.evaluations_at_least
    more.row(33)
    assert more.counter is oracle.counter
    assert oracle.counter.evaluations == 37


def test_settings_go_along_and_the_points_before_are_as_they_were():
    oracle = KernelOracle(Linear(), X, ridge=0.5, cache_mb=3.0).with_product(np.arange(30.0)).astype(np.float32)
    more = oracle.extended(OWN)
    assert (more.ridge, more.cache_mb, more.dtype, more.threads) == (0.5, 3.0, np.dtype(np.float32), 1)
    values = np.concatenate([X, OWN]) @ np.concatenate([X, OWN]).T + 0.5 * np.eye(37)
    values[:30, :30] += np.outer(np.arange(30.0), np.arange(30.0))
    np.testing.assert_allclose(more.block(np.arange(37)), values, rtol=1e-4, atol=1e-4)
    assert oracle.n == 30


def test_of_a_restricted_oracle_it_is_over_the_restricted_points():
    more = KernelOracle(RBF(), X).restrict(np.array([5, 2])).extended(OWN)
    everything = np.concatenate([X[[5, 2]], OWN])
    np.testing.assert_allclose(more.block(np.arange(9)), RBF().block(everything, everything), rtol=1e-12)


@pytest.mark.parametrize(
    ("points", "reason"),
    [
        (OWN[:, :3], r"shape \(7, 3\); a training point has 4 features"),
        (OWN[0], r"are a ndarray of shape \(4,\); give an \(m, 4\) numpy array"),
        (OWN.tolist(), r"are a list of shape \(7, 4\)"),
        (np.full((1, 4), np.nan), "hold nan; give finite numbers"),
        (OWN.astype(str), "give real numbers"),
        (OWN.astype(complex), "of type complex128; give real numbers"),
        (scipy.sparse.csr_array(np.full((1, 4), np.inf)), "hold inf"),
    ],
)
def test_points_that_are_none_are_refused_in_a_sentence(points, reason):
    with pytest.raises(UsageError, match=reason):
        KernelOracle(RBF(), X).extended(points)


def test_values_that_were_given_have_no_further_points():
    with pytest.raises(UsageError, match="kernel 'precomputed', whose values are those between the training points"):
        KernelOracle(Precomputed(), X @ X.T).extended(OWN)
