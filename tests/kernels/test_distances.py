"""Stored squared distances: each loop against its slow twin, values against the usual ways, memory, and who computes what."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from harness import RBF, KernelOracle, Linear, Poly
from harness.kernels import distances_hot as hot
from harness.kernels.distances import Distances, DistanceWay
from harness.kernels.engine import Engine
from harness.kernels.oracle import engine_of

DTYPES = ["float32", "float64"]
EVERYTHING = 1e9


def points(n: int, d: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32).astype(np.float64)


def squares(x: np.ndarray) -> np.ndarray:
    return np.array([[sum((a - b) ** 2 for a, b in zip(one, other, strict=True)) for other in x] for one in x])


def oracle(x, gamma=0.3, dtype="float64", distances=None, **settings) -> KernelOracle:
    distances = Distances(x, EVERYTHING) if distances is None else distances
    kernel = RBF(gamma=gamma)
    return KernelOracle(kernel, None, engine=Engine(kernel, x, dtype, distances=distances), **settings)


@pytest.mark.parametrize("dtype", DTYPES)
@given(n=st.integers(1, 150), d=st.integers(0, 9), seed=st.integers(0, 99))
def test_sums_of_differences(dtype, n, d, seed) -> None:
    x = points(n, d, seed)
    out = np.full((n, n), np.nan, dtype=dtype)
    hot.squared_differences(np.ascontiguousarray(x.T, dtype=dtype), out)
    np.testing.assert_allclose(out, squares(x), rtol=1e-5 if dtype == "float32" else 1e-13, atol=1e-30)
    assert np.array_equal(out, out.T)
    assert not out.diagonal().any()


@pytest.mark.parametrize("dtype", DTYPES)
@given(n=st.integers(1, 150), seed=st.integers(0, 99))
def test_distances_of_products(dtype, n, seed) -> None:
    x = points(n, 4, seed)
    out = np.triu(x @ x.T).astype(dtype)  # the lower triangle is not read
    hot.of_products(out, np.einsum("ij,ij->i", x, x).astype(dtype))
    np.testing.assert_allclose(out, squares(x), atol=1e-4 if dtype == "float32" else 1e-12)
    assert out.min() == 0.0
    assert np.array_equal(out, out.T)
    assert not out.diagonal().any()


@given(index=st.lists(st.integers(0, 12), max_size=30))
def test_runs_are_the_index(index) -> None:
    runs = hot.runs_of(np.array(index, dtype=np.int64))
    told = [(place + k, first + k) for place, first, length in runs.tolist() for k in range(length)]
    assert told == list(enumerate(index))
    joints = list(zip(runs.tolist(), runs[1:].tolist(), strict=False))
    assert all(first + length != after for (_, first, length), (_, after, _) in joints)


@pytest.mark.parametrize("dtype", DTYPES)
@given(n=st.integers(1, 150), rows=st.integers(1, 5), kind=st.sampled_from(["runs", "picked"]), seed=st.integers(0, 99))
def test_exponentials_of_columns(dtype, n, rows, kind, seed) -> None:
    rng = np.random.default_rng(seed)
    stored = rng.exponential(size=(n, n)).astype(dtype)
    asked = rng.integers(0, n, rows)
    columns = np.flatnonzero(rng.random(n) < 0.9) if kind == "runs" else rng.integers(0, n, n)
    out = np.full((rows + 1, n + 5), np.nan, dtype=dtype)
    slots, gamma = rng.permutation(rows + 1)[:rows], np.dtype(dtype).type(0.7)
    if kind == "runs":
        hot.exponentials(stored, asked, hot.runs_of(columns), gamma, out, slots, 3)
    else:
        hot.picked_exponentials(stored, asked, columns, gamma, out, slots, 3)
    expected = np.exp(-0.7 * stored[np.ix_(asked, columns)].astype(float))
    np.testing.assert_allclose(out[slots, 3 : 3 + len(columns)], expected, rtol=3e-6 if dtype == "float32" else 1e-14)
    out[slots, 3 : 3 + len(columns)] = np.nan
    assert np.isnan(out).all()  # nothing beside


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("stored", ["few features", "many features", "sparse", "float32"])
def test_values_are_those_of_the_usual_way(dtype, stored) -> None:
    x = points(90, 40 if stored == "many features" else 5)
    x = scipy.sparse.csr_array(x) if stored == "sparse" else x.astype(np.float32) if stored == "float32" else x
    everyone = np.arange(90)
    index = np.random.default_rng(1).permutation(90)[:70]
    for gamma in (0.01, 2.0):
        kernel, usual = oracle(x, gamma, dtype), KernelOracle(RBF(gamma=gamma), x, dtype=dtype)
        assert isinstance(engine_of(kernel)._whole.way(kernel.dtype), DistanceWay)
        close = {"rtol": 0.0, "atol": 2e-5 if dtype == "float32" else 1e-13}
        np.testing.assert_allclose(kernel.block(everyone), usual.block(everyone), **close)
        part, usual_part = kernel.restrict(index), usual.restrict(index)
        np.testing.assert_allclose(part.block(np.arange(70)), usual_part.block(np.arange(70)), **close)
        np.testing.assert_allclose(part.row(3), usual_part.row(3), **close)
        coef = np.random.default_rng(2).normal(size=70)
        np.testing.assert_allclose(
            part.expand(coef), usual_part.expand(coef), atol=1e-3 if dtype == "float32" else 1e-11
        )
        assert engine_of(kernel).sums_differences == engine_of(usual).sums_differences


def test_the_distances_are_computed_once_for_all_widths_and_parts(monkeypatch) -> None:
    x, computed = points(60, 3), []
    once = Distances._computed
    monkeypatch.setattr(Distances, "_computed", lambda self, dtype: computed.append(dtype) or once(self, dtype))
    distances = Distances(x, EVERYTHING)
    for gamma in (0.1, 1.0):
        kernel = oracle(x, gamma, distances=distances)
        for part in (kernel, kernel.restrict(np.arange(20)), kernel.restrict(np.arange(5, 60))):
            part.block(np.arange(4))
            part.astype(np.float32).row(2)
    assert [dtype.name for dtype in computed] == ["float64", "float32"]


def test_values_are_counted_as_values() -> None:
    kernel = oracle(points(30, 2))
    kernel.restrict(np.arange(20)).block(np.arange(3))
    kernel.restrict(np.arange(20)).block(np.arange(3))
    assert kernel.counter.evaluations == 2 * 3 * 20


def test_no_more_is_kept_than_fits() -> None:
    x = points(100, 3)
    both, one, none = Distances(x, 12 * 10_000), Distances(x, 8 * 10_000), Distances(x, 4 * 10_000 - 1)
    for distances, kept in ((both, 12), (one, 8), (none, 0)):
        kernel = oracle(x, distances=distances)
        kernel.row(1)
        kernel.astype(np.float32).row(1)
        assert distances.bytes == kept * 10_000
        np.testing.assert_allclose(kernel.row(2), KernelOracle(RBF(gamma=0.3), x).row(2), atol=1e-13)


def test_mapped_points_and_other_kernels_keep_none(tmp_path) -> None:
    np.save(tmp_path / "x.npy", points(40, 3))
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert not Distances(mapped, EVERYTHING).fit(np.dtype(float))
    distances = Distances(points(40, 3), EVERYTHING)
    assert distances.way(Linear(), np.dtype(float)) is None
    assert distances.way(Poly(), np.dtype(float)) is None
    assert distances.bytes == 0


def test_several_models_are_expanded_at_once() -> None:
    x = points(150, 4)
    coef = np.random.default_rng(3).normal(size=(150, 3))
    for kernel in (oracle(x), KernelOracle(RBF(gamma=0.3), x)):
        found = engine_of(kernel).expand(np.arange(150), coef, None)
        for row, one in zip(found, coef.T, strict=True):
            np.testing.assert_allclose(row, kernel.expand(one), rtol=1e-12, atol=1e-12)
