"""reports/random_sampling_2008 beyond the rounds: bases, tubes, the choice of k, kernels, against slow twins and made-up rows."""

import numpy as np
import pytest

from harness import KernelOracle, Linear, get_solver
from harness.problems import ReducedHull, TubeSVR
from reports.random_sampling_2008.plan import Clouds
from reports.random_sampling_2008.plugin import Corners, LargestBasis, TubeClouds


def hulls(data, k):
    return ReducedHull.build(KernelOracle(Linear(), data.x_train), data.y_train, {"D": 1.0 / k})


def last_of(solver, problem, seed=0):
    return list(solver.iterates(problem, np.random.default_rng(seed)))[-1]


# -- the points --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("d", "k"), [(1, 1), (2, 2), (3, 3), (4, 3)])
def test_corners_rest_on_as_many_points_as_the_count_allows(d, k):
    data = Corners(d=d, k=k).load()
    assert len(data.y_train) == Clouds(0, d, 0, k).counted == d + 2 * k - 1
    coef = get_solver("qp").solve(hulls(data, k)).dual_coef
    assert np.abs(coef).min() > 1e-4  # every point takes part
    assert (coef @ data.x_train)[:-1] == pytest.approx(np.zeros(d - 1), abs=1e-4)  # the negatives' centre is above


# -- the combinatorial dimension -----------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 2])
def test_of_a_tube_every_subset_of_shifted_points_is_solved(k):
    data = TubeClouds(n=3, n_test=0, d=1, seed=2).load()
    problem = TubeSVR.build(KernelOracle(Linear(), data.x_train), data.y_train, {"epsilon": 1.0, "D": 1.0 / k})
    last = last_of(LargestBasis(oracle="qp"), problem)
    assert last.info["largest"] <= 1 + 2 * k
    assert last.info["subsets"] == sum(
        1 for up in range(1, 8) for down in range(1, 8) if up.bit_count() >= k and down.bit_count() >= k
    )
    assert last.dual_coef.shape == (3,)
    assert "at most 14" in LargestBasis().skip(
        TubeSVR.build(KernelOracle(Linear(), np.ones((8, 1))), np.arange(8.0), {"epsilon": 9.0, "D": 1.0})
    )


# -- tubes -------------------------------------------------------------------------------------------------


# -- the choice of k ---------------------------------------------------------------------------------------


# -- kernels -----------------------------------------------------------------------------------------------
