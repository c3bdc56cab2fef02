"""Kernels of strangers and of known forms, far-away points, and requests that are cut into pieces: the formula written out."""

import numpy as np
import pytest

from harness import KernelOracle
from tests.kernels.test_every_request import FORMULAS, naive, points, stored

ORACLES = ["float64", "float32"]


def test_many_tiles_and_pieces_equal_one(monkeypatch) -> None:
    monkeypatch.setattr("harness.kernels.engine._TILE_BYTES", 64)
    monkeypatch.setattr("harness.kernels.engine._NARROWEST", 1)
    monkeypatch.setattr("harness.kernels.engine.EXPAND_ROWS", 7)
    monkeypatch.setattr("harness.kernels.engine._EXPAND_PREPARED", 20)
    monkeypatch.setattr("harness.kernels.backend.ROWS_BYTES", 64)
    monkeypatch.setattr("harness.kernels.scan._BLOCK", 64)
    x, coef = points(90), np.arange(90) - 44.5
    for kernel, function in FORMULAS.values():
        exact = naive(function, x, x)
        for kind in ("float64", "csr", "mapped", "mapped32"):
            for dtype, rtol in (("float64", 1e-10), ("float32", 2e-3)):
                oracle = KernelOracle(kernel, stored(kind, x), dtype=dtype)
                np.testing.assert_allclose(oracle.block([1, 80]), exact[[1, 80]], rtol=rtol, atol=rtol)
                scale = np.abs(exact) @ np.abs(coef)
                assert np.all(np.abs(oracle.expand(coef) - exact @ coef) <= rtol * scale)
                assert np.all(np.abs(oracle.expand_new(coef, x[:9]) - exact[:9] @ coef) <= rtol * scale[:9])


@pytest.mark.parametrize("kind", ["float32", "mapped32", "float64", "mapped"])
@pytest.mark.parametrize("dtype", ORACLES)
def test_the_rbf_kernel_far_from_the_origin_keeps_its_accuracy(kind: str, dtype: str) -> None:
    x = (points() + 1000.0).astype(np.float32).astype(np.float64)
    kernel, function = FORMULAS["rbf"]
    exact = naive(function, x, x)
    oracle = KernelOracle(kernel, stored(kind, x), dtype=dtype)
    np.testing.assert_allclose(oracle.row(3), exact[3], atol=1e-5)
    np.testing.assert_allclose(oracle.block([1, 2], [3, 4]), exact[np.ix_([1, 2], [3, 4])], atol=1e-5)
    coef = np.ones(23)
    np.testing.assert_allclose(oracle.expand_new(coef, stored(kind, x[:5])), exact[:5] @ coef, atol=1e-5)
