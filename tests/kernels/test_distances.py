"""Stored squared distances: each loop against its slow twin, values against the usual ways, memory, and who computes what."""

import numpy as np
import pytest
import scipy.sparse

from harness import RBF, KernelOracle, Linear, Poly
from harness.kernels.distances import Distances, DistanceWay
from harness.kernels.engine import Engine
from harness.kernels.oracle import engine_of

DTYPES = ["float32", "float64"]
EVERYTHING = 1e9


def points(n: int, d: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32).astype(np.float64)


def oracle(x, gamma=0.3, dtype="float64", distances=None, **settings) -> KernelOracle:
    distances = Distances(x, EVERYTHING) if distances is None else distances
    kernel = RBF(gamma=gamma)
    return KernelOracle(kernel, None, engine=Engine(kernel, x, dtype, distances=distances), **settings)


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
