"""Points kept as columns: whatever stands where, fill() writes what block() returns for the same points."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from harness import RBF, KernelOracle, Linear, Poly, Precomputed

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
    for places, points, count in (
        ([0, -1], [1, 2], None), ([0, 1], [1], None), ([0, 5], [1, 2], 5), ([0, 1], [1, N], None), ([0, 1], [1, -1], None),
    ):  # fmt: skip
        with pytest.raises(IndexError, match=rf"give one place, from 0 to \d, for each point, from 0 to {N - 1}"):
            columns.put(np.array(places), np.array(points), count)
    assert len(columns) == 0  # a refused call changes nothing
    columns.put(np.array([1, 0]), np.array([7, 5]))
    np.testing.assert_array_equal(columns.index, [5, 7])
