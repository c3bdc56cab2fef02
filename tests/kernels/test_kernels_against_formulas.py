"""Every way to ask for kernel values, on every kind of data, equals the formula written out."""

from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from harness import RBF, KernelOracle, Linear, Poly, Precomputed
from harness.kernels.functions import DotProductKernel, Exponential, Power
from harness.registry import load_registry

KERNELS = {
    "linear": (Linear(), lambda x, z: x @ z),
    "rbf": (RBF(gamma=0.3), lambda x, z: np.exp(-0.3 * np.sum((x - z) ** 2))),
    "poly": (Poly(degree=3, gamma=0.5, coef0=1.0), lambda x, z: (0.5 * (x @ z) + 1.0) ** 3),
    "poly-1": (Poly(degree=1, gamma=2.0, coef0=0.0), lambda x, z: 2.0 * (x @ z)),
}
DATA = ["float64", "float32", "csr", "csr32", "memmap", "memmap32", "strided", "fortran", "precomputed"]
ORACLES = ["float64", "float32"]


def naive(function, x, z) -> np.ndarray:
    return np.array([[function(a, b) for b in z] for a in x]).reshape(len(x), len(z))


def points(n: int = 23, d: int = 4, seed: int = 0) -> np.ndarray:
    x = np.random.default_rng(seed).normal(size=(n, d))
    x[:, 0] *= x[:, 0] > 0.5  # zeros, for CSR
    return x.astype(np.float32).astype(np.float64)


def stored(kind: str, x: np.ndarray, tmp_path, kernel) -> tuple[object, object]:
    """Return (kernel, points) that hold x in the given way."""
    if kind == "precomputed":
        return Precomputed(), kernel.block(x, x)
    if kind.startswith("csr"):
        return kernel, scipy.sparse.csr_array(x.astype(np.float32 if kind.endswith("32") else np.float64))
    if kind.startswith("memmap"):
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.npy"  # a mapped file must not be written again
        np.save(path, x.astype(np.float32 if kind.endswith("32") else np.float64))
        return kernel, np.load(path, mmap_mode="r")
    if kind == "strided":
        wide = np.zeros((2 * len(x), 2 * x.shape[1]))
        wide[::2, ::2] = x
        return kernel, wide[::2, ::2]
    if kind == "fortran":
        return kernel, np.asfortranarray(x)
    return kernel, x.astype(kind)


@pytest.mark.parametrize("dtype", ORACLES)
@pytest.mark.parametrize("kind", DATA)
@pytest.mark.parametrize("name", KERNELS)
def test_all_values_equal_the_formula(name: str, kind: str, dtype: str, tmp_path) -> None:
    kernel, function = KERNELS[name]
    x, new = points(), points(7, seed=1)
    exact = naive(function, x, x)
    oracle = KernelOracle(*stored(kind, x, tmp_path, kernel), dtype=dtype)
    rtol = 1e-10 if dtype == "float64" else 2e-4
    close = {"rtol": rtol, "atol": rtol}
    coef = np.random.default_rng(2).normal(size=23) * (np.arange(23) % 3 > 0)
    some, others = np.array([4, 0, 4, 22]), np.array([22, 4, 1, 1, 7])

    assert oracle.row(5).dtype == np.dtype(dtype)
    np.testing.assert_allclose(oracle.row(5), exact[5], **close)
    np.testing.assert_allclose(np.array(oracle.rows(some)), exact[some], **close)
    np.testing.assert_allclose(oracle.block(some), exact[some], **close)
    np.testing.assert_allclose(oracle.block(some, others), exact[np.ix_(some, others)], **close)
    np.testing.assert_allclose(oracle.diagonal(), np.diag(exact), **close)
    assert oracle.diagonal().dtype == np.float64
    np.testing.assert_allclose(oracle.expand(coef), exact @ coef, rtol=rtol, atol=10 * rtol)
    np.testing.assert_allclose(oracle.expand(coef, some), exact[some] @ coef, rtol=rtol, atol=10 * rtol)
    asked = naive(function, new, x) if kind == "precomputed" else new
    np.testing.assert_allclose(
        oracle.expand_new(coef, asked), naive(function, new, x) @ coef, rtol=rtol, atol=10 * rtol
    )


def test_many_tiles_and_pieces_equal_one(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr("harness.kernels.engine._TILE_BYTES", 64)
    monkeypatch.setattr("harness.kernels.engine._NARROWEST", 1)
    monkeypatch.setattr("harness.kernels.engine.EXPAND_ROWS", 7)
    monkeypatch.setattr("harness.kernels.engine._EXPAND_LEFT", 20)
    monkeypatch.setattr("harness.kernels.ways._ROWS_BYTES", 64)
    monkeypatch.setattr("harness.kernels.scan._BLOCK", 64)
    x, coef = points(90), np.arange(90) - 44.5
    for kernel, function in KERNELS.values():
        exact = naive(function, x, x)
        for kind in ("float64", "csr", "memmap", "memmap32"):
            for dtype, rtol in (("float64", 1e-10), ("float32", 2e-3)):
                oracle = KernelOracle(*stored(kind, x, tmp_path, kernel), dtype=dtype)
                np.testing.assert_allclose(oracle.block([1, 80]), exact[[1, 80]], rtol=rtol, atol=rtol)
                scale = np.abs(exact) @ np.abs(coef)
                assert np.all(np.abs(oracle.expand(coef) - exact @ coef) <= rtol * scale)
                assert np.all(np.abs(oracle.expand_new(coef, x[:9]) - exact[:9] @ coef) <= rtol * scale[:9])


@pytest.mark.parametrize("kind", ["float32", "memmap32", "float64", "memmap"])
@pytest.mark.parametrize("dtype", ORACLES)
def test_the_rbf_kernel_far_from_the_origin_keeps_its_accuracy(kind: str, dtype: str, tmp_path) -> None:
    x = (points() + 1000.0).astype(np.float32).astype(np.float64)
    kernel, function = KERNELS["rbf"]
    exact = naive(function, x, x)
    oracle = KernelOracle(*stored(kind, x, tmp_path, kernel), dtype=dtype)
    np.testing.assert_allclose(oracle.row(3), exact[3], atol=1e-5)
    np.testing.assert_allclose(oracle.block([1, 2], [3, 4]), exact[np.ix_([1, 2], [3, 4])], atol=1e-5)
    coef = np.ones(23)
    _, new = stored(kind, x[:5], tmp_path, kernel)
    np.testing.assert_allclose(oracle.expand_new(coef, new), exact[:5] @ coef, atol=1e-5)


LAPLACIAN = """
from dataclasses import dataclass
import numpy as np
from harness import Kernel, hookimpl, parameter

@dataclass(frozen=True)
class Laplacian(Kernel):
    "k(x, z) = exp(-gamma |x - z|_1)"
    name = "laplacian"
    gamma: float = parameter(1.0, "width", gt=0)

    def block(self, x, z):
        x, z = (p if isinstance(p, np.ndarray) else p.toarray() for p in (x, z))
        return np.exp(-self.gamma * np.abs(x[:, None, :] - z[None, :, :]).sum(axis=2)).astype(x.dtype)

    def diagonal(self, x):
        return np.ones(x.shape[0])

@hookimpl
def harness_kernels():
    return [Laplacian]
"""


def test_a_kernel_of_a_plugin_works_on_all_data(tmp_path) -> None:
    path = tmp_path / "laplacian_plugin.py"
    path.write_text(LAPLACIAN)
    registry = load_registry([path])
    assert "laplacian_plugin" not in registry.broken
    kernel = registry.kernel_class("laplacian")(gamma=0.5)
    x = points()
    exact = naive(lambda a, b: np.exp(-0.5 * np.abs(a - b).sum()), x, x)
    coef = np.arange(23) - 10.0
    for kind in DATA[:-1]:
        for dtype, atol in (("float64", 1e-10), ("float32", 1e-4)):
            oracle = KernelOracle(*stored(kind, x, tmp_path, kernel), dtype=dtype)
            np.testing.assert_allclose(oracle.row(2), exact[2], atol=atol)
            np.testing.assert_allclose(oracle.block([1, 2], [5]), exact[[1, 2]][:, [5]], atol=atol)
            np.testing.assert_allclose(oracle.expand(coef), exact @ coef, atol=200 * atol)
            np.testing.assert_allclose(oracle.expand_new(coef, x[:3]), exact[:3] @ coef, atol=200 * atol)
            assert np.allclose(oracle.restrict([3, 1]).block([0], [1]), exact[3, 1], atol=atol)


small = st.integers(1, 12).flatmap(
    lambda n: st.lists(st.lists(st.floats(-10, 10, width=32), min_size=3, max_size=3), min_size=n, max_size=n)
)
any_kernel = st.sampled_from([kernel for kernel, _ in KERNELS.values()])


@given(small, any_kernel, st.sampled_from(ORACLES), st.booleans())
def test_the_matrix_is_symmetric_positive_and_moves_with_its_points(values, kernel, dtype, sparse) -> None:
    x = np.array(values)
    data = scipy.sparse.csr_array(x) if sparse else x
    oracle = KernelOracle(kernel, data, dtype=dtype)
    n = len(x)
    matrix = oracle.block(np.arange(n)).astype(np.float64)
    unit = (1e-12 if dtype == "float64" else 1e-5) * max(1.0, float(np.abs(matrix).max()))
    assert np.abs(matrix - matrix.T).max() <= unit
    assert np.linalg.eigvalsh((matrix + matrix.T) / 2)[0] >= -10 * n * unit
    assert np.abs(np.diag(matrix) - oracle.diagonal()).max() <= 1000 * unit
    order = np.random.default_rng(n).permutation(n)
    moved = KernelOracle(kernel, data[order], dtype=dtype).block(np.arange(n))
    assert np.abs(moved - matrix[np.ix_(order, order)]).max() <= 1000 * unit


@dataclass(frozen=True)
class Width(DotProductKernel):
    """exp(-|x - z|^2 / (2 s^2)), by a stranger who declares the form."""

    name = "width"
    s: float = 1.0

    @property
    def form(self):
        return Exponential(gamma=0.5 / self.s**2)

    def from_products(self, products, sq_x, sq_z):
        raise AssertionError("there is a quicker road")

    def diagonal(self, x):
        return np.ones(x.shape[0])


@dataclass(frozen=True)
class Halved(DotProductKernel):
    """<x, z> / 2, by a stranger who declares it linear but for the scale."""

    name = "halved"

    @property
    def form(self):
        return Power(gamma=0.5)

    def from_products(self, products, sq_x, sq_z):
        raise AssertionError("there is a quicker road")

    def diagonal(self, x):
        return 0.5 * np.einsum("ij,ij->i", x, x)


@dataclass(frozen=True)
class Doubled(Linear):
    """2 <x, z>: what is computed anew has not the form of the kernel it extends."""

    name = "doubled"

    def from_products(self, products, sq_x, sq_z):
        products *= 2.0


@pytest.mark.parametrize("kind", ["float64", "csr", "memmap"])
@pytest.mark.parametrize(("stranger", "own"), [(Width(s=0.5), RBF(gamma=2.0)), (Halved(), Poly(1, 0.5, 0.0))])
def test_a_stranger_s_kernel_of_a_known_form_takes_the_same_roads(stranger, own, kind, tmp_path) -> None:
    x, coef = points(), np.linspace(-1.0, 1.0, 23)
    for dtype in ORACLES:
        one = KernelOracle(*stored(kind, x, tmp_path, stranger), dtype=dtype)
        other = KernelOracle(*stored(kind, x, tmp_path, own), dtype=dtype)
        assert one.block(np.arange(23)).tobytes() == other.block(np.arange(23)).tobytes()
        assert one.expand(coef).tobytes() == other.expand(coef).tobytes()
        assert one.largest == other.largest


def test_a_kernel_that_computes_anew_what_it_inherits_is_not_of_the_inherited_form() -> None:
    x = points()
    oracle = KernelOracle(Doubled(), x)
    assert not oracle.is_linear
    assert oracle.features() is None
    np.testing.assert_allclose(oracle.block([3])[0], 2.0 * x @ x[3])
    np.testing.assert_allclose(oracle.expand(np.ones(23)), 2.0 * x @ x.sum(axis=0), atol=1e-12)
    assert KernelOracle(Power1(), x).is_linear


@dataclass(frozen=True)
class Power1(Halved):
    """The inner product itself, by a stranger."""

    name = "inner-product"

    @property
    def form(self):
        return Power()
