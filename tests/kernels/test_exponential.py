"""The compiled exponential against numpy's in extended precision."""

import numpy as np
import pytest

from harness import RBF
from harness.kernels import compiled
from harness.kernels.scan import RBF_OF_PRODUCTS, ScanBackend

CUTOFF = {np.float32: -87.0, np.float64: -708.0}
TYPES = [np.float32, np.float64]


def computed(values: np.ndarray) -> np.ndarray:
    """Return e^values: the kernel of sums that are half of them and norms of 0, so that -|x - z|^2 is each value."""
    backend = ScanBackend(RBF(gamma=1.0), np.zeros((len(values), 0)), values.dtype)
    out, one, slots = 0.5 * values, values.dtype.type(1.0), np.zeros(1, dtype=np.intp)
    rows, columns, form = backend.prepare_rows(slots), backend._no_rare, (RBF_OF_PRODUCTS, one, one, 0)
    compiled.scan(*backend.points, *columns, *rows, out, slots, 0, 0, 0, len(values), True, *form)
    return out


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
