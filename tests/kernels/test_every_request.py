"""Every way to ask for kernel values, of an oracle of any making, gives the matrix written out, and counts what it computed."""

import re
import tempfile
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import harness
from harness import RBF, HarnessError, Kernel, KernelOracle, Linear, Poly, Precomputed
from harness.kernels.distances import Distances
from harness.kernels.engine import Engine
from harness.kernels.functions import DotProductKernel, Exponential, Power, squared_norms
from harness.kernels.row_cache import SharedRows
from harness.testing.running import recorded_work


@dataclass(frozen=True)
class Laplacian(Kernel):
    """exp(-|x - z|_1 / 2), of which nothing is known but its values."""

    name = "laplacian"

    def block(self, x, z):
        x, z = (p if isinstance(p, np.ndarray) else p.toarray() for p in (x, z))
        return np.exp(-0.5 * np.abs(x[:, None, :] - z[None, :, :]).sum(axis=2)).astype(x.dtype)

    def diagonal(self, x):
        return np.ones(x.shape[0])


@dataclass(frozen=True)
class OfAForm(DotProductKernel):
    """A stranger's kernel that declares the form it has, and is computed by it."""

    name = "of-a-form"
    gamma: float = 1.0
    exponential: bool = False

    @property
    def form(self):
        return Exponential(gamma=self.gamma) if self.exponential else Power(gamma=self.gamma)

    def block(self, x, z):
        x, z = (p if isinstance(p, np.ndarray) else p.toarray() for p in (x, z))
        if self.exponential:
            return np.exp(-self.gamma * ((x[:, None, :] - z[None, :, :]) ** 2).sum(axis=2))
        return self.gamma * (x @ z.T)

    def from_products(self, products, sq_x, sq_z):
        raise AssertionError("there is a quicker road")

    def diagonal(self, x):
        return np.ones(x.shape[0]) if self.exponential else self.gamma * squared_norms(x)


@dataclass(frozen=True)
class Doubled(Linear):
    """2 <x, z>: what is computed anew has not the form of the kernel it extends."""

    name = "doubled"

    def from_products(self, products, sq_x, sq_z):
        products *= 2.0

    def diagonal(self, x):
        return 2.0 * squared_norms(x)


FORMULAS = {
    "linear": (Linear(), lambda x, z: x @ z),
    "rbf": (RBF(gamma=0.3), lambda x, z: np.exp(-0.3 * np.sum((x - z) ** 2))),
    "poly": (Poly(degree=3, gamma=0.5, coef0=1.0), lambda x, z: (0.5 * (x @ z) + 1.0) ** 3),
    "poly-6": (Poly(degree=6, gamma=0.5, coef0=0.5), lambda x, z: (0.5 * (x @ z) + 0.5) ** 6),
    "poly-1": (Poly(degree=1, gamma=2.0, coef0=0.0), lambda x, z: 2.0 * (x @ z)),
    "laplacian": (Laplacian(), lambda x, z: np.exp(-0.5 * np.abs(x - z).sum())),
    "width": (OfAForm(2.0, exponential=True), lambda x, z: np.exp(-2.0 * np.sum((x - z) ** 2))),
    "halved": (OfAForm(0.5), lambda x, z: 0.5 * (x @ z)),
    "product": (OfAForm(), lambda x, z: x @ z),
    "doubled": (Doubled(), lambda x, z: 2.0 * (x @ z)),
}
LINEAR = FORMULAS["linear"][0], FORMULAS["product"][0]
STORAGES = ["float64", "float32", "csr", "csr32", "mapped", "mapped32", "strided", "fortran", "precomputed"]
N, ROOM = 23, 1e9


def naive(function, x, z):
    return np.array([[function(a, b) for b in z] for a in x]).reshape(len(x), len(z))


def points(n=N, d=4, seed=0):
    """Return points that float32 holds exactly, with zeros for CSR."""
    x = np.random.default_rng(seed).normal(size=(n, d)) / np.sqrt(d)
    x[:, 0] *= x[:, 0] > 0.5
    return x.astype(np.float32).astype(np.float64)


def _mapped(shape, dtype):
    with tempfile.TemporaryFile() as file:
        return np.memmap(file, dtype, "w+", shape=shape)


def stored(kind, x):
    """Return x, held in the given way."""
    dtype = np.float32 if kind.endswith("32") else np.float64
    if kind.startswith("csr"):
        return scipy.sparse.csr_array(x.astype(dtype))
    if kind.startswith("mapped"):
        mapped = _mapped(x.shape, dtype)
        mapped[:] = x
        return mapped
    if kind == "strided":
        wide = np.zeros((2 * len(x), 2 * x.shape[1]))
        wide[::2, ::2] = x
        return wide[::2, ::2]
    return np.asfortranarray(x) if kind == "fortran" else x.astype(dtype)


@st.composite
def oracles(draw):
    """Return (oracle, its matrix without ridge, formula, points or None): any kernel, storage, precision and view."""
    kernel, function = FORMULAS[draw(st.sampled_from(sorted(FORMULAS)))]
    kind, width = draw(st.sampled_from(STORAGES)), draw(st.sampled_from([2, 4, 40]))
    x = points(d=width)
    matrix, data = naive(function, x, x), None
    options = {"ridge": draw(st.sampled_from([0.0, 0.5])), "threads": draw(st.sampled_from([1, 3]))}
    dtype = draw(st.sampled_from(["float64", "float32"]))
    if kind == "precomputed":
        kernel, data, x = Precomputed(), matrix, None
    else:
        data = stored(kind, x)
    kept = draw(st.sampled_from(["nothing", "rows", "distances"]))
    if kept == "rows":
        options["shared"] = SharedRows(ROOM)
    distances = Distances(data, ROOM) if kept == "distances" and "mapped" not in kind else None
    oracle = KernelOracle(kernel, None, engine=Engine(kernel, data, dtype, distances=distances), **options)
    if draw(st.booleans()):
        z = np.linspace(-1.0, 1.0, N)
        oracle, matrix = oracle.replace(z=z), matrix + np.outer(z, z)
    for view in draw(st.lists(st.sampled_from(["part", "more", "float32", "as it is"]), max_size=3)):
        if view == "part":
            picked = np.array(draw(st.lists(st.integers(0, oracle.n - 1), min_size=5, max_size=12)))
            oracle, matrix = oracle.restrict(picked), matrix[np.ix_(picked, picked)]
            x = None if x is None else x[picked]
        elif view == "more" and x is not None:
            own = points(5, width, seed=3)
            oracle = oracle.replace(extra_points=stored(draw(st.sampled_from(["csr", "float64"])), own))
            beside = naive(function, own, x)
            matrix, x = np.block([[matrix, beside.T], [beside, naive(function, own, own)]]), np.concatenate([x, own])
        elif view != "more":
            oracle = (
                oracle.replace(dtype=view) if view == "float32" else oracle.replace(cache_mb=1.0).replace(threads=2)
            )
    return oracle, matrix, function, x


@given(oracles(), st.integers(0, 999))
@settings(max_examples=60, deadline=None)
def test_every_request_is_of_the_matrix_written_out(made, seed):
    oracle, plain, function, x = made
    n, rng, exact = oracle.n, np.random.default_rng(seed), plain + oracle.ridge * np.eye(oracle.n)
    unit = 1e-10 if oracle.dtype == np.float64 else 5e-4
    some, others, coef = rng.integers(0, n, 4), rng.integers(0, n, 5), rng.normal(size=n) * (np.arange(n) % 3 > 0)
    coef[::2] = 0.0
    support, is_held = np.count_nonzero(coef), oracle._shared is not None

    def asked(cost, ask, expected, size=1.0):
        before = oracle.counter.evaluations
        found = ask()
        assert is_held or oracle.counter.evaluations - before == cost, ask
        np.testing.assert_allclose(found, expected, rtol=unit, atol=size * unit)
        return found

    assert asked(n, lambda: oracle.row(2), exact[2]).dtype == oracle.dtype
    asked(0, lambda: oracle.row(2), exact[2])
    asked(n * len({*some.tolist()} - {2}), lambda: np.array(oracle.rows(some)), exact[some])
    asked(4 * n, lambda: oracle.block(some), exact[some])
    asked(20, lambda: oracle.block(some, others), exact[np.ix_(some, others)])
    asked(n, oracle.diagonal, np.diag(exact))
    asked(n * support, lambda: oracle.expand(coef), exact @ coef, 20.0)
    asked(4 * support, lambda: oracle.expand(coef, some), exact[some] @ coef, 20.0)
    if x is not None and oracle.z is None:
        new = points(6, x.shape[1], seed=1)
        asked(6 * support, lambda: oracle.expand_new(coef, new), naive(function, new, x) @ coef, 20.0)
        asked(6 * n, lambda: oracle.rows_at(new), naive(function, new, x))
    assert (oracle.features() is not None) == oracle.is_linear == (oracle.z is None and oracle.kernel in LINEAR)
    slots = np.array([4, 0, 2, 5])
    many = rng.integers(0, n, 700)
    for columns, index in ((None, np.arange(n)), (others, others), (many, many), (many[:650], many[:650])):
        out, seen = np.full((6, len(index) + 2), np.nan, dtype=oracle.dtype), np.full(len(index), np.nan)

        def after(start, stop, out=out, seen=seen):
            assert np.isnan(seen[start:stop]).all(), "each column once"
            seen[start:stop] = out[4, start:stop]

        width = len(index)

        def fill(out=out, columns=columns, after=after, width=width):
            oracle.fill(some, out, slots, columns, after)
            return out[slots, :width]

        asked(4 * len(index), fill, exact[np.ix_(some, index)])
        np.testing.assert_array_equal(seen, out[4, : len(index)], "finished before the callback")
        out[slots, : len(index)] = np.nan
        assert np.isnan(out).all(), "nothing else was written"


# -- Kernels of strangers and of known forms, far-away points, and requests that are cut into pieces -----


ORACLES = ["float64", "float32"]


def test_many_tiles_and_pieces_equal_one(monkeypatch) -> None:
    monkeypatch.setattr("harness.kernels.engine._TILE_BYTES", 64)
    monkeypatch.setattr("harness.kernels.engine._NARROWEST", 1)
    monkeypatch.setattr("harness.kernels.engine.EXPAND_ROWS", 7)
    monkeypatch.setattr("harness.kernels.engine._EXPAND_PREPARED", 20)
    monkeypatch.setattr("harness.kernels.backend.ROWS_BYTES", 64)
    monkeypatch.setattr("harness.kernels.scan.BLOCK", 64)
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


# -- The oracle over the training points and points of a solver's own ------------------------------------


RNG = np.random.default_rng(2)
X, OWN = RNG.normal(size=(30, 4)), RNG.normal(size=(7, 4))


def test_settings_go_along_the_points_before_are_as_they_were_and_what_is_asked_counts_to_the_same_run():
    oracle = KernelOracle(Linear(), X, ridge=0.5, cache_mb=3.0).replace(z=np.arange(30.0)).replace(dtype=np.float32)
    more = oracle.replace(extra_points=OWN)
    assert (more.ridge, more.cache_mb, more.dtype, more.threads) == (0.5, 3.0, np.dtype(np.float32), 1)
    assert (oracle.n, oracle.counter.evaluations, oracle.counter.evaluations_at_least) == (30, 0, False)
    values = np.concatenate([X, OWN]) @ np.concatenate([X, OWN]).T + 0.5 * np.eye(37)
    values[:30, :30] += np.outer(np.arange(30.0), np.arange(30.0))
    np.testing.assert_allclose(more.block(np.arange(37)), values, rtol=1e-4, atol=1e-4)
    assert oracle.counter.evaluations == 37 * 37


WRONG = {
    "training point has 4 features": OWN[:, :3],
    "of shape (4,); expected numbers": OWN[0],
    "contain nan; give finite numbers": np.full((1, 4), np.nan),
    "is complex128 of shape": OWN.astype(complex),
    "contain inf": scipy.sparse.csr_array(np.full((1, 4), np.inf)),
}


@pytest.mark.parametrize("reason", WRONG)
def test_points_that_are_none_are_refused(reason):
    with pytest.raises(HarnessError, match=re.escape(reason)):
        KernelOracle(RBF(), X).replace(extra_points=WRONG[reason])
    with pytest.raises(HarnessError, match="kernel 'precomputed'"):
        KernelOracle(Precomputed(), X @ X.T).replace(extra_points=OWN)


# -- Values at new points are those between training points ----------------------------------------------


@pytest.mark.parametrize("kind", ["dense", "float32", "csr"])
@pytest.mark.parametrize("width", [3, 40])
@pytest.mark.parametrize("kernel", [RBF(gamma=0.1), Poly(degree=2)])
def test_a_model_s_scores_of_its_training_points_are_those_of_training(kernel, width, kind):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30, width))
    x = {"dense": x, "float32": x.astype(np.float32), "csr": scipy.sparse.csr_array(x * (x > 0))}[kind]
    coef = rng.normal(size=30) * (np.arange(30) % 3 > 0)
    oracle = KernelOracle(kernel, x)
    with recorded_work() as work:
        new = oracle.expand_new(coef, x)
    assert oracle.counter.evaluations == work.values == 30 * 20
    assert new == pytest.approx(oracle.expand(coef), rel=1e-11, abs=1e-11)


@pytest.mark.parametrize("width", [3, 40])
@pytest.mark.parametrize("offset", [1e4, 1e8])
@pytest.mark.parametrize("together", [False, True], ids=["few registers", "many registers"])
def test_neither_training_nor_new_points_lose_digits_to_an_offset(offset, width, together, monkeypatch):
    monkeypatch.setattr("harness.kernels.scan._reads_lines_together", lambda: together)
    rng = np.random.default_rng(1)
    x, new, coef = rng.normal(size=(30, width)), rng.normal(size=(7, width)), rng.normal(size=30)
    tame, far = KernelOracle(RBF(gamma=1.0 / width), x), KernelOracle(RBF(gamma=1.0 / width), x + offset)
    close = 1e-14 * offset * 30
    assert far.expand(coef) == pytest.approx(tame.expand(coef), abs=close)
    assert far.expand_new(coef, new + offset) == pytest.approx(tame.expand_new(coef, new), abs=close)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_scores_that_are_no_numbers_are_a_fault_and_no_errors(task, tmp_path):
    rng = np.random.default_rng(2)
    x = rng.normal(size=(40, 3))
    test = x.copy()
    test[5] = 1e200  # its cube overflows
    y = np.sign(x[:, 0]) if task == "classification" else x[:, 0]
    data = harness.data(x, y, X_test=test, y_test=y, task=task)
    result = harness.compare("smo", data, kernel=Poly(degree=3), C=1.0, quiet=True, store=tmp_path / "s.sqlite")
    (record,) = result.records
    assert record["status"] == "ok"
    assert record["test_accuracy"] is None
    assert record["metrics"] == {}
    (fault,) = record["faults"]
    assert fault.startswith("f(x) is not a finite number at 1 of 40 test points, so that no test error is given")
