"""The hull solvers on an explicit w: the iterates of the kernel path, the evaluations counted, where w is kept."""

from __future__ import annotations

import numpy as np
import pytest
from harness_fw import MDM, FrankWolfe, Gilbert, PairwiseFrankWolfe
from harness_fw.descent import keeps_w

from harness import RBF, KernelOracle, Linear
from harness.problems import L2SVC
from tests.plugins.hull_problems import clouds, l2, rng0


@pytest.mark.parametrize("solver_class", [FrankWolfe, Gilbert, PairwiseFrankWolfe, MDM])
def test_the_iterates_are_those_of_the_kernel_path_at_one_pass_each(solver_class):
    # of the other rule and formulations too, until two steps of equal worth part them
    problem, other = (l2(*clouds(6, 50, 40, 5, 1.5), Linear(), chi=1.0) for _ in range(2))
    runs = (
        solver_class(epsilon=1e-12, stride=1, explicit_w=explicit).iterates(each, rng0())
        for explicit, each in ((True, problem), (False, other))
    )
    before = None
    for explicit, kept in zip(*runs, strict=False):
        now = problem.kernel.counter.evaluations
        assert explicit.step == kept.step
        np.testing.assert_allclose(explicit.dual_coef, kept.dual_coef, atol=1e-10)
        assert explicit.intercept == pytest.approx(kept.intercept, abs=1e-9)
        if explicit.step:
            assert now == before + problem.n + (4 if solver_class is PairwiseFrankWolfe else 2)
        before = now
        if explicit.step == 60:
            return
    raise AssertionError("ended early")


def test_w_is_kept_where_that_is_quicker_or_wanted():
    def keeps(n, d, kind=Linear, ridge=0.0, cache_mb=256.0, wanted=None):
        return keeps_w(KernelOracle(kind(), np.zeros((n, d)), ridge=ridge, cache_mb=cache_mb), wanted)

    assert not keeps(100, 5)  # calls would take longer than passes
    assert keeps(100, 5, wanted=True)
    assert not keeps(40_000, 50)  # 839 rows fit, 204 are enough
    assert keeps(40_000, 50, cache_mb=60.0)  # 196 rows fit
    assert keeps(40_000, 50, ridge=1.0)  # 10,000 should
    assert not keeps(10_000, 50, ridge=1.0)  # 3355 rows fit, 2500 are enough
    assert keeps(10_000, 5, ridge=1.0)  # few features
    assert not keeps(40_000, 50, ridge=1.0, wanted=False)
    assert not keeps(40_000, 2, RBF)
    x, y = clouds(0, 5, 5, 2, 1.0)
    assert "needs a linear kernel" in FrankWolfe(explicit_w=True).refusal(L2SVC.build(KernelOracle(RBF(), x), y))
