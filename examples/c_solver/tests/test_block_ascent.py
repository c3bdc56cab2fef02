"""The loop in C against the same in Python, and what is counted."""

from typing import Any

import numpy as np
import pytest
from block_ascent import BlockAscent

from harness import RBF, CSVCNoBias, KernelOracle, Limits, Linear, drive

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 2))
Y = np.where(X[:, 0] * X[:, 1] + 0.3 * RNG.normal(size=90) > 0, 1.0, -1.0)


def solved(problem: CSVCNoBias, gap: float) -> Any:
    """Return the coefficients that the solver ends with by its own rule, within 10 s."""
    outcome = drive(BlockAscent(gap=gap), problem, np.random.default_rng(0), Limits(time_limit=10))
    assert outcome.claimed_done, outcome.reason
    return outcome.dual_coef


def test_a_sweep_is_what_python_computes() -> None:
    problem = CSVCNoBias.build(KernelOracle(RBF(gamma=0.5), X), Y, {"C": 2.0})
    iterates = BlockAscent(block=7, sweeps=1).iterates(problem, np.random.default_rng(5))
    next(iterates)
    found, expected, scores = next(iterates).dual_coef, np.zeros(90), np.zeros(90)
    kernel = RBF(gamma=0.5).block(X, X)
    for i in np.random.default_rng(5).permutation(90):
        alpha = np.clip(Y[i] * expected[i] + (1.0 - Y[i] * scores[i]) / kernel[i, i], 0.0, 2.0)
        scores += (Y[i] * alpha - expected[i]) * kernel[i]
        expected[i] = Y[i] * alpha
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_gap_is_certified_and_every_row_counted_once(dtype: type) -> None:
    problem = CSVCNoBias.build(KernelOracle(RBF(gamma=0.5), X.astype(dtype)), Y, {"C": 2.0})
    dual_coef = solved(problem, 1e-4)
    assert problem.kernel.counter.evaluations == 90 * 90
    gap = problem.certify(dual_coef, 0.0).relative_gap
    assert gap is not None
    assert gap <= 2e-4


def test_a_point_at_the_origin_costs_its_price() -> None:
    problem = CSVCNoBias.build(KernelOracle(Linear(), np.array([[0.0], [1.0]])), np.array([1.0, -1.0]), {"C": 3.0})
    np.testing.assert_allclose(solved(problem, 1e-9), [3.0, -1.0])
