"""The oracle over the training points and points of a solver's own: values by their definition, counted to the same run."""

import re

import numpy as np
import pytest
import scipy.sparse

from harness import RBF, HarnessError, KernelOracle, Linear, Precomputed

RNG = np.random.default_rng(2)
X, OWN = RNG.normal(size=(30, 4)), RNG.normal(size=(7, 4))


def test_settings_go_along_the_points_before_are_as_they_were_and_what_is_asked_counts_to_the_same_run():
    oracle = KernelOracle(Linear(), X, ridge=0.5, cache_mb=3.0).replace(z=np.arange(30.0)).replace(dtype=np.float32)
    more = oracle.replace(extra_points=OWN)
    assert (more.ridge, more.cache_mb, more.dtype, more.threads) == (0.5, 3.0, np.dtype(np.float32), 1)
    assert (oracle.n, oracle.counter.evaluations, oracle.counter.evaluations_at_least) == (30, 0, False)
    values = np.concatenate([X, OWN]) @ np.concatenate([X, OWN]).T + 0.5 * np.eye(37)
    values[:30, :30] += np.outer(np.arange(30.0), np.arange(30.0))
    np.testing.assert_allclose(more.block(np.arange(37)), values, rtol=1e-4, atol=1e-4)
    assert oracle.counter.evaluations == 37 * 37


WRONG = {
    "training point has 4 features": OWN[:, :3],
    "of shape (4,); expected numbers": OWN[0],
    "contain nan; give finite numbers": np.full((1, 4), np.nan),
    "is complex128 of shape": OWN.astype(complex),
    "contain inf": scipy.sparse.csr_array(np.full((1, 4), np.inf)),
}


@pytest.mark.parametrize("reason", WRONG)
def test_points_that_are_none_are_refused(reason):
    with pytest.raises(HarnessError, match=re.escape(reason)):
        KernelOracle(RBF(), X).replace(extra_points=WRONG[reason])
    with pytest.raises(HarnessError, match="kernel 'precomputed'"):
        KernelOracle(Precomputed(), X @ X.T).replace(extra_points=OWN)
