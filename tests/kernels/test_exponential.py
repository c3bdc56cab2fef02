"""The compiled exponential against numpy's in extended precision."""

import numpy as np
import pytest

from harness.kernels.compiled import rbf_of_products

CUTOFF = {np.float32: -87.0, np.float64: -708.0}
TYPES = [np.float32, np.float64]


def computed(values: np.ndarray) -> np.ndarray:
    """Return e^values as the kernel of points at the origin whose products are half of them: -|x - z|^2 is each value."""
    halves, nothing = (0.5 * values)[None, :], np.zeros(len(values) + 256 // values.itemsize, dtype=values.dtype)
    out = np.full_like(halves, 7.0)
    rbf_of_products(halves, nothing[:1], nothing, 0, values.dtype.type(1.0), out, np.zeros(1, dtype=np.intp), 0)
    return out[0]


def ulps(values: np.ndarray, found: np.ndarray) -> np.ndarray:
    """Return the distance from the exact e^x in units of the last place of the rounded exact value."""
    exact = np.exp(values.astype(np.longdouble))
    return np.abs((found.astype(np.longdouble) - exact) / np.spacing(exact.astype(values.dtype))).astype(float)


@pytest.mark.parametrize("dtype", TYPES)
def test_the_error_is_within_its_bound(dtype) -> None:
    rng = np.random.default_rng(0)
    wide = rng.uniform(CUTOFF[dtype], 0.0, 400_000)
    near = -(10.0 ** rng.uniform(-20, 1, 200_000))
    halves = -(np.arange(1, 120) - 0.5) * np.log(2.0)  # where the number of turns changes
    values = np.concatenate([wide, near, halves + 1e-7, halves - 1e-7, halves]).astype(dtype)
    values = values[values >= CUTOFF[dtype]]
    found = computed(values)
    assert ulps(values, found).max() <= 1.2
    assert found.max() <= 1.0


@pytest.mark.parametrize("dtype", TYPES)
def test_zero_infinity_underflow_and_nan(dtype) -> None:
    cutoff = CUTOFF[dtype]
    values = np.array([0.0, -0.0, -np.inf, 1.01 * cutoff, -1e30, np.nan, cutoff, np.finfo(dtype).min], dtype=dtype)
    found = computed(values)
    assert found[:5].tolist() == [1.0, 1.0, 0.0, 0.0, 0.0]
    assert np.isnan(found[5])
    assert 0.0 < found[6] == pytest.approx(np.exp(cutoff), rel=1e-6)
    assert found[7] == 0.0
