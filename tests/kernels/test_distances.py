"""Stored squared distances: computed once, for whom, and of what."""

import numpy as np

from harness import RBF, KernelOracle, Linear, Poly
from harness.kernels.distances import Distances
from harness.kernels.engine import Engine

EVERYTHING = 1e9


def points(n: int, d: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32).astype(np.float64)


def oracle(x, gamma=0.3, dtype="float64", distances=None, **settings) -> KernelOracle:
    distances = Distances(x, EVERYTHING) if distances is None else distances
    kernel = RBF(gamma=gamma)
    return KernelOracle(kernel, None, engine=Engine(kernel, x, dtype, distances=distances), **settings)


def test_the_distances_are_computed_once_for_all_widths_and_parts(monkeypatch) -> None:
    x, computed = points(60, 3), []
    once = Distances._computed
    monkeypatch.setattr(Distances, "_computed", lambda self, dtype: computed.append(dtype) or once(self, dtype))
    distances = Distances(x, EVERYTHING)
    for gamma in (0.1, 1.0):
        kernel = oracle(x, gamma, distances=distances)
        for part in (kernel, kernel.restrict(np.arange(20)), kernel.restrict(np.arange(5, 60))):
            part.block(np.arange(4))
            part.replace(dtype=np.float32).row(2)
        usual = KernelOracle(RBF(gamma=gamma), x)
        assert kernel.sums_differences == usual.sums_differences
    assert [dtype.name for dtype in computed] == ["float64", "float32"]


def test_mapped_points_and_other_kernels_keep_none(tmp_path) -> None:
    np.save(tmp_path / "x.npy", points(40, 3))
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert not Distances(mapped, EVERYTHING).fit(np.dtype(float))
    distances = Distances(points(40, 3), EVERYTHING)
    assert distances.backend(Linear(), np.dtype(float)) is None
    assert distances.backend(Poly(), np.dtype(float)) is None
    assert distances.bytes == 0
