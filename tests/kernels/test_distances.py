"""Stored squared distances: computed once, for whom, and of what."""

import numpy as np

from harness import RBF, KernelOracle, Linear, Poly
from harness.kernels.distances import Distances
from harness.kernels.engine import Engine
from harness.kernels.scan import ScanBackend

EVERYTHING = 1e9


def points(n: int, d: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32).astype(np.float64)


def oracle(x, gamma=0.3, dtype="float64", distances=None, **settings) -> KernelOracle:
    distances = Distances(x, EVERYTHING) if distances is None else distances
    kernel = RBF(gamma=gamma)
    return KernelOracle(kernel, None, engine=Engine(kernel, x, dtype, distances=distances), **settings)


def test_the_distances_are_computed_once_for_all_widths_and_parts(monkeypatch) -> None:
    x, computed = points(60, 40), []
    once = ScanBackend.squared_distances
    monkeypatch.setattr(ScanBackend, "squared_distances", lambda self: computed.append(self.dtype) or once(self))
    distances = Distances(x, EVERYTHING)
    for gamma in (0.01, 0.1):
        kernel, usual = oracle(x, gamma, distances=distances), KernelOracle(RBF(gamma=gamma), x)
        for part in (np.arange(60), np.arange(20), np.array([7, 3, 59, 3])):
            view, expected = kernel.restrict(part), usual.restrict(part)
            np.testing.assert_allclose(view.block(np.arange(4)), expected.block(np.arange(4)), rtol=1e-12)
            np.testing.assert_allclose(view.replace(dtype=np.float32).row(2), expected.row(2), rtol=1e-4)
        assert not kernel.sums_differences
    assert [dtype.name for dtype in computed] == ["float64", "float32"]
    assert distances.bytes == 60 * 60 * (8 + 4)


def test_distances_that_do_not_serve_are_not_stored(tmp_path) -> None:
    np.save(tmp_path / "x.npy", points(40, 40))
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    for x, kernel, most_bytes in (
        (mapped, RBF(), EVERYTHING),
        (points(40, 40), Linear(), EVERYTHING),
        (points(40, 40), Poly(), EVERYTHING),
        (points(40, 3), RBF(), EVERYTHING),  # the scan sums differences: reading distances takes as long
        (points(40, 40), RBF(), 40 * 40 * 8 - 1),
    ):
        distances = Distances(x, most_bytes)
        assert distances.backend(kernel, np.dtype(float)) is None
        assert distances.bytes == 0
