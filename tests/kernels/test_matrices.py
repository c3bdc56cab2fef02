"""Stored values: matrices, shared rows, squared distances; computed once, and never in memory that somebody still reads."""

import numpy as np

from harness import RBF, KernelOracle, Linear, Poly
from harness.kernels.distances import Distances
from harness.kernels.engine import Engine
from harness.kernels.row_cache import SharedRows
from harness.kernels.scan import ScanBackend
from tests.kernels.oracles import oracle, whole

EVERYTHING = 1e9


def test_the_matrix_is_counted_once_and_shared_by_views_of_the_same_values():
    kernel = oracle(n=30)
    expected = whole(kernel)
    found = kernel.matrix()
    assert np.array_equal(found, expected)
    assert not found.flags.writeable
    assert spent(kernel) == (900, 0)
    assert kernel.replace(cache_mb=10.0).matrix() is found
    assert kernel.replace(threads=1).matrix() is found
    single = kernel.replace(dtype=np.float32)
    assert single.matrix().dtype == np.float32
    assert kernel.replace(dtype=np.float32).matrix() is single.matrix()
    assert spent(kernel) == (1800, 30 * 4)


def test_an_oracle_of_other_values_has_its_own():
    kernel = oracle(n=20)
    everything = np.array(kernel.matrix())
    assert np.array_equal(kernel.replace(ridge=0.5).matrix(), everything + 0.5 * np.eye(20))
    z = np.arange(20.0)
    assert np.allclose(kernel.replace(z=z).matrix(), everything + np.outer(z, z))
    assert np.array_equal(kernel.restrict(np.arange(5)).matrix(), everything[:5, :5])
    assert np.array_equal(kernel.matrix(), everything)


def test_what_does_not_fit_the_cache_is_not_computed():
    kernel = oracle(n=100).replace(cache_mb=8 * 100 * 100 / 2**20 - 1e-6)
    assert kernel.matrix() is None
    assert kernel.counter.evaluations == 0
    assert kernel.replace(dtype=np.float32).matrix() is not None


def holding(n=30, most=EVERYTHING, **settings):
    x, kernel = np.random.default_rng(0).normal(size=(n, 2)), RBF(gamma=0.5)
    return KernelOracle(kernel, x, shared=SharedRows(most), **settings), KernelOracle(kernel, x, **settings)


def spent(kernel):
    return kernel.counter.evaluations, kernel.counter.cache_hits


def test_rows_that_are_held_are_computed_and_counted_once_for_all_who_ask():
    kernel, usual = holding()
    expected = usual.block(np.arange(30))
    out = np.full((5, 33), np.nan)
    kernel.fill(np.array([3, 7, 3]), out, np.array([4, 0, 2]))
    assert np.array_equal(out[[4, 0, 2], :30], expected[[3, 7, 3]])
    assert np.isnan(out[[1, 3]]).all()
    assert np.isnan(out[:, 30:]).all()
    assert spent(kernel) == (2 * 30, 1)
    other = kernel.replace(cache_mb=10.0).replace(threads=1)
    assert np.array_equal(other.block(np.array([7, 8])), expected[[7, 8]])
    assert spent(kernel) == (3 * 30, 2)
    coef = np.where(np.arange(30) % 2, 0.7, 0.0)
    np.testing.assert_allclose(kernel.expand(coef), expected @ coef, rtol=1e-13, atol=1e-13)
    assert kernel.counter.evaluations == 3 * 30 + 30 * 13  # of fifteen two were there
    assert np.array_equal(kernel.matrix(), expected)
    assert kernel.counter.evaluations == 30 * 30
    kernel.replace(dtype=np.float32).row(4)
    assert kernel.counter.evaluations == 31 * 30


def test_who_keeps_the_rows_itself_neither_reads_nor_fills_what_is_shared():
    kernel, usual = holding()
    kernel.block(np.array([3]))
    assert np.array_equal(kernel.replace(shared=None).block(np.array([3, 4])), usual.block(np.array([3, 4])))
    kernel.block(np.array([4]))
    assert spent(kernel) == (4 * 30, 0)


def test_a_ridge_and_a_product_are_added_to_what_is_held():
    kernel, _ = holding()
    z, everyone, coef = np.linspace(-1.0, 1.0, 30), np.arange(30), np.sin(np.arange(30.0))
    kernel.block(everyone)
    for view in (kernel.replace(ridge=0.25), kernel.replace(ridge=0.5).replace(z=z)):
        view.expand(coef), view.matrix()
    assert kernel.counter.evaluations == 30 * 30  # all of them are the same rows
    tiles, out, rows = [], np.empty((2, 30)), np.array([1, 2])
    kernel.replace(ridge=0.25).fill(rows, out, after=lambda start, stop: tiles.append((start, stop, out[0, 1])))
    assert tiles == [(0, 30, 1.25)]


def test_other_points_are_not_taken_for_those_that_are_held():
    kernel, usual = holding()
    kernel.matrix()
    part = np.array([4, 9, 2])
    assert np.array_equal(kernel.restrict(part).block(np.arange(3)), usual.block(part, part))
    more = [each.replace(extra_points=np.zeros((1, 2))).block(np.array([30])) for each in (kernel, usual)]
    assert np.array_equal(*more)
    assert np.array_equal(kernel.block(part, part), usual.block(part, part))


def test_no_more_rows_are_held_than_fit():
    kernel, usual = holding(most=30 * 30 * 8)
    none, _ = holding(most=30 * 30 * 8 - 1)
    for each, computed in (
        (kernel, 1),
        (kernel.replace(dtype=np.float32), 3),
        (none, 2),
    ):  # for float32 there is no room
        for _ in range(2):
            each.block(np.array([1]))
        assert each.counter.evaluations == computed * 30
    assert np.array_equal(none.matrix(), usual.block(np.arange(30)))


# -- Stored squared distances ----------------------------------------------------------------------------


EVERYTHING = 1e9


def points(n: int, d: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32).astype(np.float64)


def distances_oracle(x, gamma=0.3, dtype="float64", distances=None, **settings) -> KernelOracle:
    distances = Distances(x, EVERYTHING) if distances is None else distances
    kernel = RBF(gamma=gamma)
    return KernelOracle(kernel, None, engine=Engine(kernel, x, dtype, distances=distances), **settings)


def test_the_distances_are_computed_once_for_all_widths_and_parts(monkeypatch) -> None:
    x, computed = points(60, 40), []
    once = ScanBackend.squared_distances
    monkeypatch.setattr(ScanBackend, "squared_distances", lambda self: computed.append(self.dtype) or once(self))
    distances = Distances(x, EVERYTHING)
    for gamma in (0.01, 0.1):
        kernel, usual = distances_oracle(x, gamma, distances=distances), KernelOracle(RBF(gamma=gamma), x)
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
