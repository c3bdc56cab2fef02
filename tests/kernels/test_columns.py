"""Points kept as columns: whatever stands where, fill() writes what block() returns for the same points."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from harness import RBF, KernelOracle, Linear, Poly, Precomputed
from harness.kernels.compiled import rare_columns
from harness.kernels.layout import renewed_columns
from harness.kernels.scan import ScanWay

N = 300


def oracle_of(kind: str, dtype: str, ridge: float = 0.0) -> KernelOracle:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(N, 150 if kind == "wide" else 6))
    if kind == "sparse":
        x = scipy.sparse.csr_array(x * (rng.random(x.shape) < [0.9, 0.5, 0.04, 0.04, 0.03, 0.02]))
    kernel = {"linear": Linear(), "poly": Poly(degree=3)}.get(kind, RBF(gamma=0.1))
    if kind == "precomputed":
        kernel, x = Precomputed(), kernel.block(x, x)
    return KernelOracle(kernel, x, dtype=dtype, ridge=ridge)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", ["rbf", "wide", "sparse", "linear", "poly", "precomputed"])
@given(
    seed=st.integers(0, 999), puts=st.lists(st.integers(0, 40), min_size=1, max_size=6),
    far=st.sampled_from([30, 700]), cut=st.booleans(),
    ridge=st.sampled_from([0.0, 0.5]), view=st.sampled_from(["whole", "part", "own"]),
)  # fmt: skip
def test_fill_writes_the_block_of_the_points_put(kind, dtype, seed, puts, far, cut, ridge, view) -> None:
    rng = np.random.default_rng(seed)
    oracle = oracle_of(kind, dtype, ridge)
    if view != "whole":
        if view == "part":  # the whole is laid out first, so that the view uses it
            oracle.block(np.array([0]))
        oracle = oracle.restrict(rng.permutation(N)[:100])
    columns = oracle.columns()
    standing: dict[int, int] = {}
    for size in puts:
        places, points = rng.permutation(far)[:size], rng.integers(0, oracle.n, size)[: min(size, far)]
        count = int(rng.integers(places.max(initial=-1) + 1, far + 1)) if cut else None
        columns.put(places, points, count)
        standing.update(zip(places.tolist(), points.tolist(), strict=True))
        if count is not None:
            standing = {place: standing.get(place, 0) for place in range(count)}
        expected = np.array([standing.get(place, 0) for place in range(max(standing, default=-1) + 1)], dtype=int)
        np.testing.assert_array_equal(columns.index, expected)
        assert len(columns) == len(expected)
        rows, slots = rng.integers(0, oracle.n, 3), rng.permutation(5)[:3]
        out = np.full((5, len(expected) + 2), np.nan, dtype=dtype)
        before = oracle.counter.evaluations
        oracle.fill(rows, out, slots, columns)
        assert oracle.counter.evaluations == before + 3 * len(expected)
        close = {"rtol": 1e-4, "atol": 1e-5} if dtype == "float32" else {"rtol": 1e-12, "atol": 1e-12}
        np.testing.assert_allclose(out[slots, : len(expected)], oracle.block(rows, expected), **close)
        out[slots, : len(expected)] = np.nan
        assert np.isnan(out).all()


def test_places_are_checked() -> None:
    columns = oracle_of("rbf", "float64").columns()
    with pytest.raises(ValueError, match="one place, from 0 to 0, for each point"):
        columns.put(np.array([0, -1]), np.array([1, 2]))
    with pytest.raises(ValueError, match=r"places has shape \(2,\) and points \(1,\)"):
        columns.put(np.array([0, 1]), np.array([1]))
    with pytest.raises(ValueError, match="from 0 to 4"):
        columns.put(np.array([0, 5]), np.array([1, 2]), 5)
    with pytest.raises(IndexError, match=f"point {N} put among columns over {N} points; they run from 0 to {N - 1}"):
        columns.put(np.array([0, 1]), np.array([1, N]))
    with pytest.raises(IndexError, match="point -1 put"):
        columns.put(np.array([0, 1]), np.array([1, -1]))
    assert len(columns) == 0  # a refused call changes nothing
    columns.put(np.array([1, 0]), np.array([7, 5]))
    np.testing.assert_array_equal(columns.index, [5, 7])


def listed(columns):
    """The entries of each block and feature, in an order of their own."""
    ends, index, value = columns
    return [
        sorted(zip(index[low:high].tolist(), value[low:high].tolist(), strict=True))
        for block in ends
        for low, high in pairwise(block)
    ]


@given(st.integers(0, 10_000), st.integers(1, 9), st.integers(1, 40), st.integers(1, 40), st.integers(0, 12))
def test_renewed_rare_features_are_those_that_are_listed_anew(seed, features, before, count, changes) -> None:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, features + 1, 60)
    row_ptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    chosen = [np.sort(rng.permutation(features)[:length]) for length in lengths]
    row_feature = np.concatenate([*chosen, np.empty(0, dtype=int)]).astype(np.int32)
    rare = row_ptr, row_feature, rng.normal(size=len(row_feature)).astype(np.float32)
    own = np.arange(features, dtype=np.int32)
    old = rng.integers(0, 60, before)
    index = np.concatenate([old, rng.integers(0, 60, max(0, count - before))])[:count]
    changed = rng.integers(0, min(before, count), changes)
    index[changed] = rng.integers(0, 60, changes)
    places = np.concatenate([changed, np.arange(before, count), changed[:1]])  # one of them twice
    columns = rare_columns(*rare, old, own, features, 8)
    renewed = renewed_columns(columns, rare, index, places, before, 8)
    assert listed(renewed) == listed(rare_columns(*rare, index, own, features, 8))


@given(st.integers(0, 10_000), st.sampled_from([np.float32, np.float64]), st.sampled_from(["float32", "float64"]))
def test_rows_read_from_the_points_are_those_of_the_panels(seed, given_dtype, dtype) -> None:
    rng = np.random.default_rng(seed)
    x = (rng.normal(size=(70, 40)) * (rng.random((70, 40)) < rng.random(40) ** 3)).astype(given_dtype)
    share = np.count_nonzero(x, axis=0) / 70
    kernel, rows = RBF(gamma=0.1), rng.integers(0, 70, 9)
    held, own = (ScanWay.of(kernel, x, np.dtype(dtype), share, differences=False, held=held) for held in (True, False))
    assert held._given is not None
    assert own._given is None
    for one, other in zip(held.left(rows).lists, own.left(rows).lists, strict=True):
        np.testing.assert_array_equal(one, other)
