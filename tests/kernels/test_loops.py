"""Kernel values for compiled loops and for single calls: the values of the oracle, each counted once."""

import multiprocessing
import threading

import numpy as np
import pytest
import scipy.sparse

from harness import RBF, KernelOracle, Linear, Poly, Precomputed, UsageError
from harness.kernels import loops
from harness.support.jit import compiled
from tests.kernels.test_every_request import Laplacian, naive

N = 70  # three chunks of float64 values, the last one short
KERNELS = {
    "rbf": (RBF(gamma=0.3), lambda x, z: np.exp(-0.3 * np.sum((x - z) ** 2))),
    "linear": (Linear(), lambda x, z: x @ z),
    "poly": (Poly(degree=3, gamma=0.5, coef0=1.0), lambda x, z: (0.5 * (x @ z) + 1.0) ** 3),
}
ALL = np.empty(0, dtype=np.int64)


def points(d, sparse):
    """Return points; sparse ones have features that few points have, beside some that most have."""
    rng = np.random.default_rng(d)
    x = rng.normal(size=(N, d)) / np.sqrt(d)
    return x * (rng.random((N, d)) < np.where(np.arange(d) < d // 2, 0.9, 0.04)) if sparse else x


def oracle_of(kernel, d=5, sparse=False, **settings):
    x = points(d, sparse)
    return KernelOracle(kernel, scipy.sparse.csr_array(x) if sparse else x, **settings), x


CASES = [(name, d, sparse) for name in KERNELS for d, sparse in ((5, False), (40, False), (40, True))]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("name", "d", "sparse"), CASES)
def test_every_function_gives_the_values_of_the_formula(name, d, sparse, dtype):
    kernel, function = KERNELS[name]
    oracle, x = oracle_of(kernel, d, sparse, ridge=0.25, dtype=dtype)
    oracle, x = oracle.restrict(np.arange(N)[::-1]), x[::-1]
    close = {"rtol": 1e-12, "atol": 1e-12} if dtype == "float64" else {"rtol": 1e-5, "atol": 1e-5}
    exact, k = naive(function, x, x) + 0.25 * np.eye(N), oracle.layout()
    out, some = np.empty(N, dtype=dtype), np.array([69, 3, 3, 40])
    loops.row(k, 7, out)
    np.testing.assert_allclose(out, exact[7], **close)
    assert oracle.block([7])[0].tobytes() == oracle.row(7).tobytes()
    for i, j in ((7, 7), (7, 69), (40, 3)):
        np.testing.assert_allclose([loops.value(k, i, j), oracle.value(i, j)], exact[i, j], **close)
    extra, z = loops.blank(k, 2), points(d, sparse)[:1] + 0.3
    loops.combine(extra, 1, k, 4, k, 66, 0.75)
    assert loops.put(extra, 0, z[0])
    mixed = np.concatenate([z, 0.75 * x[4:5] + 0.25 * x[66:67]])
    np.testing.assert_allclose(loops.coordinates(extra), mixed, **close)
    beside = naive(function, mixed, x)
    loops.row_between(extra, 1, k, ALL, out)
    np.testing.assert_allclose(out, beside[1], **close)
    loops.row_between(extra, 0, k, some, out)
    np.testing.assert_allclose(out[:4], beside[0, some], **close)
    loops.row_between(k, 69, extra, ALL, out)
    np.testing.assert_allclose(out[:2], beside[:, 69], **close)
    loops.combine(extra, 0, extra, 0, extra, 1, 0.5)  # in place
    middle = mixed.mean(axis=0, keepdims=True)
    loops.row_between(extra, 0, loops.leading(extra, 1), ALL, out)
    np.testing.assert_allclose(out[0], function(middle[0], middle[0]), **close)
    np.testing.assert_allclose(oracle.rows_at(mixed), beside, **close)
    np.testing.assert_allclose(oracle.rows_at(mixed, some), beside[:, some], **close)
    np.testing.assert_allclose(oracle.rows_at(scipy.sparse.csr_array(mixed), some), beside[:, some], **close)


@compiled
def _many(k, rounds, out):
    for i in range(rounds):
        loops.row(k, i % k.n, out)
        loops.value(k, i % k.n, 0)


COSTS = {
    "row": (N, lambda oracle, k, extra, out: loops.row(k, 3, out)),
    "value": (1, lambda oracle, k, extra, out: loops.value(k, 3, 3)),
    "value of the oracle": (1, lambda oracle, k, extra, out: oracle.value(3, 4)),
    "extra against all": (N, lambda oracle, k, extra, out: loops.row_between(extra, 0, k, ALL, out)),
    "extra against some": (3, lambda oracle, k, extra, out: loops.row_between(extra, 0, k, np.array([1, 2, 2]), out)),
    "one against extra": (2, lambda oracle, k, extra, out: loops.row_between(k, 5, extra, ALL, out)),
    "leading": (1, lambda oracle, k, extra, out: loops.row_between(k, 5, loops.leading(extra, 1), ALL, out)),
    "rows_at": (4 * N, lambda oracle, k, extra, out: oracle.rows_at(np.ones((4, 5)))),
    "rows_at of some": (8, lambda oracle, k, extra, out: oracle.rows_at(np.ones((4, 5)), [3, 4])),
    "points alone": (0, lambda oracle, k, extra, out: loops.combine(extra, 1, k, 3, k, 4, 0.5)),
    "a loop": (10 * (N + 1), lambda oracle, k, extra, out: _many(k, 10, out)),
    "a part": (7, lambda oracle, k, extra, out: loops.row(oracle.restrict(np.arange(7)).layout(), 3, out)),
    "a row that is cached": (N, lambda oracle, k, extra, out: [oracle.row(3), oracle.row(3), oracle.row(3)]),
}


def assert_costs(name):
    cost, call = COSTS[name]
    oracle, _ = oracle_of(RBF(gamma=0.3))
    k = oracle.layout()
    call(oracle, k, loops.blank(k, 2), np.empty(N))
    assert oracle.counter.evaluations == cost, name
    assert not oracle.counter.evaluations_at_least


@pytest.mark.parametrize("name", list(COSTS))
def test_every_value_is_counted_once(name):
    assert_costs(name)


@pytest.mark.parametrize("planted", [0, 2])
def test_a_planted_miscount_is_caught(planted, monkeypatch):
    """The interpreter runs the loops here, with a count that forgets, or counts twice."""

    def add(total, values):
        total[0] += planted * values

    slow = {name: getattr(loops, name).py_func for name in ("row", "row_between")}
    monkeypatch.setattr(loops, "_add", add)
    for name, function in slow.items():
        monkeypatch.setattr(loops, name, function)
    for name in ("row", "extra against all", "extra against some", "one against extra"):
        with pytest.raises(AssertionError, match=name):
            assert_costs(name)


def test_threads_and_forks_lose_no_count():
    oracle, _ = oracle_of(RBF(gamma=0.3))
    k = oracle.layout()
    _many(k, 1, np.empty(N))
    threads = [threading.Thread(target=_many, args=(k, 20_000, np.empty(N))) for _ in range(3)]
    child = multiprocessing.get_context("fork").Process(target=_many, args=(k, 20_000, np.empty(N)))
    child.start()
    for thread in threads:
        thread.start()
    for worker in (*threads, child):
        worker.join()
    assert oracle.counter.evaluations == 80_001 * (N + 1)


def test_what_no_compiled_loop_computes_has_no_layout_and_is_counted_as_well():
    x = points(5, False)
    for oracle in (
        KernelOracle(Laplacian(), x), KernelOracle(Precomputed(), x @ x.T), KernelOracle(RBF(), x, z=np.ones(N)),
    ):  # fmt: skip
        assert oracle.layout() is None
        assert oracle.value(3, 4) == oracle.block([3], [4])[0, 0]
        assert oracle.counter.evaluations == 2


@pytest.mark.parametrize(("i", "j"), [(-1, 0), (0, N)])
def test_an_index_or_a_point_that_is_none_is_refused(i, j):
    oracle, x = oracle_of(RBF(gamma=0.3))
    with pytest.raises(IndexError, match=f"out of range for a kernel over {N} points"):
        oracle.value(i, j)
    with pytest.raises(IndexError, match=f"out of range for a kernel over {N} points"):
        oracle.rows_at(x[:1], [i, j])
    x[1, 2] = np.nan
    with pytest.raises(UsageError, match="contain nan"):
        oracle.rows_at(x[1:2])
    with pytest.raises(UsageError, match="has 5 features"):
        oracle.rows_at(x[:, :3])
