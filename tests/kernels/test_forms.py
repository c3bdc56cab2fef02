"""Kernels of strangers and of known forms, far-away points, and requests that are cut into pieces: the formula written out."""

from dataclasses import dataclass

import numpy as np
import pytest

from harness import RBF, KernelOracle, Linear, Poly
from harness.kernels.functions import DotProductKernel, Exponential, Power
from harness.registry import load_registry
from tests.kernels.test_every_request import FORMULAS, STORAGES, naive, points, stored

ORACLES = ["float64", "float32"]


def test_many_tiles_and_pieces_equal_one(monkeypatch) -> None:
    monkeypatch.setattr("harness.kernels.engine._TILE_BYTES", 64)
    monkeypatch.setattr("harness.kernels.engine._NARROWEST", 1)
    monkeypatch.setattr("harness.kernels.engine.EXPAND_ROWS", 7)
    monkeypatch.setattr("harness.kernels.engine._EXPAND_LEFT", 20)
    monkeypatch.setattr("harness.kernels.ways._ROWS_BYTES", 64)
    monkeypatch.setattr("harness.kernels.scan._BLOCK", 64)
    x, coef = points(90), np.arange(90) - 44.5
    for kernel, function in FORMULAS.values():
        exact = naive(function, x, x)
        for kind in ("float64", "csr", "mapped", "mapped32"):
            for dtype, rtol in (("float64", 1e-10), ("float32", 2e-3)):
                oracle = KernelOracle(kernel, stored(kind, x), dtype=dtype)
                np.testing.assert_allclose(oracle.block([1, 80]), exact[[1, 80]], rtol=rtol, atol=rtol)
                scale = np.abs(exact) @ np.abs(coef)
                assert np.all(np.abs(oracle.expand(coef) - exact @ coef) <= rtol * scale)
                assert np.all(np.abs(oracle.expand_new(coef, x[:9]) - exact[:9] @ coef) <= rtol * scale[:9])


@pytest.mark.parametrize("kind", ["float32", "mapped32", "float64", "mapped"])
@pytest.mark.parametrize("dtype", ORACLES)
def test_the_rbf_kernel_far_from_the_origin_keeps_its_accuracy(kind: str, dtype: str) -> None:
    x = (points() + 1000.0).astype(np.float32).astype(np.float64)
    kernel, function = FORMULAS["rbf"]
    exact = naive(function, x, x)
    oracle = KernelOracle(kernel, stored(kind, x), dtype=dtype)
    np.testing.assert_allclose(oracle.row(3), exact[3], atol=1e-5)
    np.testing.assert_allclose(oracle.block([1, 2], [3, 4]), exact[np.ix_([1, 2], [3, 4])], atol=1e-5)
    coef = np.ones(23)
    np.testing.assert_allclose(oracle.expand_new(coef, stored(kind, x[:5])), exact[:5] @ coef, atol=1e-5)


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
    for kind in STORAGES[:-1]:
        for dtype, atol in (("float64", 1e-10), ("float32", 1e-4)):
            oracle = KernelOracle(kernel, stored(kind, x), dtype=dtype)
            np.testing.assert_allclose(oracle.row(2), exact[2], atol=atol)
            np.testing.assert_allclose(oracle.block([1, 2], [5]), exact[[1, 2]][:, [5]], atol=atol)
            np.testing.assert_allclose(oracle.expand(coef), exact @ coef, atol=200 * atol)
            np.testing.assert_allclose(oracle.expand_new(coef, x[:3]), exact[:3] @ coef, atol=200 * atol)
            assert np.allclose(oracle.restrict([3, 1]).block([0], [1]), exact[3, 1], atol=atol)


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


@pytest.mark.parametrize("kind", ["float64", "csr", "mapped"])
@pytest.mark.parametrize(("stranger", "own"), [(Width(s=0.5), RBF(gamma=2.0)), (Halved(), Poly(1, 0.5, 0.0))])
def test_a_stranger_s_kernel_of_a_known_form_takes_the_same_roads(stranger, own, kind) -> None:
    x, coef = points(), np.linspace(-1.0, 1.0, 23)
    for dtype in ORACLES:
        one = KernelOracle(stranger, stored(kind, x), dtype=dtype)
        other = KernelOracle(own, stored(kind, x), dtype=dtype)
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
