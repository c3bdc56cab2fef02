"""Each backend of kernel values against its slow twin, views, and columns that stay for the next request."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from harness import RBF, KernelOracle, Linear, Poly
from harness.kernels import scan
from harness.kernels.scan import MappedBackend, ScanBackend, choose_backend
from tests.kernels import naive_scan

KINDS = {"differences": RBF(gamma=0.3), "norms": RBF(gamma=0.3), "products": Linear()}
DTYPES = ["float32", "float64"]


def points(n, d, share, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(n, d)) * (rng.random((n, d)) < share)).astype(np.float32).astype(np.float64)


def scan_of(kind, x, dtype, *, sparse=False):
    """A scan that sums differences or not, of features some of which are rare if the data are sparse."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scan, "DIFFERENCES", 1000 if kind == "differences" else -1)
        patch.setattr(scan, "_DENSE", 0.5)
        return ScanBackend(KINDS[kind], scipy.sparse.csr_array(x) if sparse else x, np.dtype(dtype))


def naive(kind, x, rows, columns):
    return np.array([[naive_scan.value(x[i], x[j], 0.3, kind=kind) for j in columns] for i in rows])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
@given(
    n=st.integers(1, 150), d=st.integers(0, 9), rows=st.integers(1, 9), sparse=st.booleans(), share=st.floats(0.0, 1.0),
    seed=st.integers(0, 99),
)  # fmt: skip
def test_the_scan_equals_its_twin(kind, dtype, n, d, rows, sparse, share, seed):
    x = points(n, d, 0.9, seed)
    x[:, ::2] *= np.random.default_rng(seed).random((n, -(-d // 2))) < share
    backend = scan_of(kind, x, dtype, sparse=sparse)
    rng = np.random.default_rng(seed)
    requested, columns = rng.integers(0, n, rows), rng.integers(0, n, 70)
    close = {"rtol": 0.0, "atol": 1e-4 if dtype == "float32" else 1e-12}
    out = np.full((rows + 1, n + 3), np.nan, dtype=dtype)
    slots, prepared = rng.permutation(rows + 1)[:rows], backend.prepare_rows(requested)
    backend.compute_tile(prepared, slice(0, n), out, slots, 2)
    np.testing.assert_allclose(out[slots, 2 : n + 2], naive(kind, x, requested, range(n)), **close)
    out[slots, 2 : n + 2] = np.nan
    assert np.isnan(out).all()
    exact, all_ = naive(kind, x, requested, columns), slice(0, 70)
    for source, part in ((backend, columns), (backend.columns(columns), all_), (backend.take(columns), all_)):
        picked = np.empty((rows, 70), dtype=dtype)
        source.compute_tile(prepared, part, picked, np.arange(rows), 0)
        np.testing.assert_allclose(picked, exact, **close)


@pytest.mark.parametrize("rows", [1, 30])
@pytest.mark.parametrize("sparse", [False, True])
def test_columns_of_the_next_request_replace_those_of_the_last(sparse, rows):
    x = points(400, 12, 0.3)
    backend, rng = scan_of("norms", x, "float64", sparse=sparse), np.random.default_rng(0)
    requested, index, copies = rng.integers(0, 400, rows), rng.integers(0, 400, 300), set()
    prepared = backend.prepare_rows(requested)
    for change in (0, 3, 200, 0, -40, 20, 100):  # so many columns become others, are given up, or are appended
        index = index[:change] if change < 0 else np.concatenate([index, rng.integers(0, 400, change // 5)])
        index[rng.integers(0, len(index), max(0, change))] = rng.integers(0, 400, max(0, change))
        columns, out = backend.columns(index), np.empty((rows, len(index)))
        copies.add(id(columns))
        columns.compute_tile(prepared, slice(0, len(index)), out, np.arange(rows), 0)
        np.testing.assert_allclose(out, naive("norms", x, requested, index), atol=1e-12)
        assert columns.n == len(index)
    assert len(copies) < 5, "few changes are no reason to copy all points again"


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("kind", "d"), [("differences", 20), *((kind, d) for kind in ("norms", "products") for d in (96, 97, 230))]
)
def test_rows_scanned_together_are_those_scanned_alone(kind, dtype, d):
    """Each value is the same sum in the same order; features in one part, or in two or three."""
    x = points(200, d, 1.0) / 5.0
    backend = scan_of(kind, x, dtype)
    together, alone = np.empty((11, 200), dtype=dtype), np.empty((11, 200), dtype=dtype)
    rows = np.arange(7, 18)
    left = backend.prepare_rows(rows)
    backend.compute_tile(left, slice(0, 200), together, rows[::-1] - 7, 0)
    for q in range(11):
        backend.compute_tile(backend.slice_rows(left, q, q + 1), slice(0, 200), alone, np.array([10 - q]), 0)
    assert together.tobytes() == alone.tobytes()
    backend.compute_tile(backend.slice_rows(left, 2, 9), slice(0, 200), together, np.arange(7), 0)
    assert together[:7].tobytes() == alone[::-1][2:9].tobytes()
    np.testing.assert_allclose(alone[0], naive(kind, x, rows[-1:], range(200))[0], atol=1e-4, rtol=1e-5)


@pytest.mark.parametrize("together", [False, True])
def test_rows_are_centred_as_their_columns_are(together, monkeypatch):
    monkeypatch.setattr(scan, "_reads_lines_together", lambda: together)
    x = points(150, 40, 1.0) + 30.0
    backend = choose_backend(RBF(gamma=0.02), x, np.dtype("float32"))
    out = np.empty((150, 150), dtype=np.float32)
    backend.compute_tile(backend.prepare_rows(np.arange(150)), slice(0, 150), out, np.arange(150), 0)
    exact = KernelOracle(RBF(gamma=0.02), x).block(np.arange(150))
    np.testing.assert_allclose(out, exact, atol=2e-6)
    assert (np.diagonal(out) == 1.0).all()
    columns, picked = np.random.default_rng(0).integers(0, 150, 70), np.empty((150, 70), dtype=np.float32)
    backend.compute_tile(backend.prepare_rows(np.arange(150)), columns, picked, np.arange(150), 0)
    np.testing.assert_allclose(
        picked, out[:, columns], rtol=2e-6
    )  # of fewer columns a product may be rounded otherwise


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kernel", [RBF(gamma=0.3), Linear(), Poly(degree=3, gamma=0.2)])
@pytest.mark.parametrize("d", [6, 40])
def test_mapped_points_are_laid_out_piece_by_piece(kernel, dtype, d, monkeypatch):
    monkeypatch.setattr("harness.kernels.points.PIECE_NUMBERS", 17 * d)
    x = points(150, d, 1.0)
    backend = MappedBackend(kernel, x, np.dtype(dtype))
    rows, columns = np.array([3, 149, 3]), np.array([149, 5, 3, 3])
    exact = naive("norms" if kernel.name == "rbf" else "products", x, rows, range(150))
    exact = naive_scan.power(exact, 0.2, 1.0, 3) if kernel.name == "poly" else exact
    for requested, wanted in ((slice(10, 150), exact[:, 10:]), (columns, exact[:, columns])):
        out = np.full((4, 151), np.nan, dtype=dtype)
        backend.compute_tile(backend.prepare_rows(rows), requested, out, np.array([3, 0, 1]), 1)
        width = wanted.shape[1]
        np.testing.assert_allclose(out[[3, 0, 1], 1 : 1 + width], wanted, rtol=2e-5, atol=2e-5)
        out[[3, 0, 1], 1 : 1 + width] = np.nan
        assert np.isnan(out).all()


SETS = {
    "few features": points(900, 3, 1.0) + 50.0,
    "many zeros": points(900, 60, 0.2),
    "wide": points(900, 200, 1.0),
    "rare": scipy.sparse.csr_array(points(900, 300, 0.02)),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("name", "together"), [*((name, True) for name in SETS), ("wide", False)])
def test_a_value_is_the_same_whoever_asks(name, together, dtype, monkeypatch):
    monkeypatch.setattr("harness.kernels.crew.WORTH", 1)
    monkeypatch.setattr(scan, "_reads_lines_together", lambda: together)
    oracle = KernelOracle(RBF(gamma=0.02), SETS[name], dtype=dtype)
    rows = np.arange(0, 900, 31)
    block = oracle.block(rows)
    one_by_one = np.array([oracle.row(i) for i in rows])
    part = np.arange(5, 900, 3)
    view = oracle.restrict(part)
    view_rows = np.arange(0, len(part), 7)
    seldom = view.block(view_rows[:1])
    packed = [view.block(view_rows), view.block(view_rows)][1]
    pairs = (
        (one_by_one, block),
        (oracle.block(rows, part), block[:, part]),
        (oracle.replace(threads=2).block(rows), block),
    )
    for one, other in (*pairs, (packed, oracle.block(part[view_rows], part)), (seldom, packed[:1])):
        np.testing.assert_array_equal(one, other)
    assert np.array_equal(block[np.arange(len(rows)), rows], np.ones(len(rows)))  # K(i, i) is 1, not nearly
    assert np.array_equal(np.diagonal(view.block(np.arange(len(part)))), np.ones(len(part)))


def test_points_without_any_value():
    for data in (np.zeros((5, 3)), np.zeros((5, 40)), np.zeros((5, 0)), scipy.sparse.csr_array((5, 40))):
        for kernel, value in ((RBF(gamma=1.0), 1.0), (Poly(degree=2, coef0=3.0), 9.0), (Linear(), 0.0)):
            oracle = KernelOracle(kernel, data)
            assert np.array_equal(oracle.block([0, 4]), np.full((2, 5), value))
            assert np.array_equal(oracle.restrict([4, 1]).block([0, 1]), np.full((2, 2), value))
