"""Whole kernel matrices: computed once for all views of the same values, never in memory that somebody still reads."""

import numpy as np

from harness import RBF, KernelOracle
from harness.kernels.matrices import Matrices, Memory
from harness.kernels.oracle import uncounted
from tests.kernels.oracles import oracle, whole


def test_the_matrix_is_counted_once_and_shared_by_views_of_the_same_values() -> None:
    kernel = oracle(n=30)
    expected = whole(kernel)
    found = kernel.matrix()
    assert np.array_equal(found, expected)
    assert not found.flags.writeable
    assert (kernel.counter.evaluations, kernel.counter.cache_hits) == (900, 0)
    assert kernel.with_cache(10.0).matrix() is found
    assert kernel.with_threads(1).matrix() is found
    single = kernel.astype(np.float32)
    assert single.matrix().dtype == np.float32
    assert kernel.astype(np.float32).matrix() is single.matrix()
    assert (kernel.counter.evaluations, kernel.counter.cache_hits) == (1800, 30 * 4)


def test_an_oracle_of_other_values_has_its_own() -> None:
    kernel = oracle(n=20)
    everything = np.array(kernel.matrix())
    assert np.array_equal(kernel.with_ridge(0.5).matrix(), everything + 0.5 * np.eye(20))
    z = np.arange(20.0)
    assert np.allclose(kernel.with_product(z).matrix(), everything + np.outer(z, z))
    assert np.array_equal(kernel.restrict(np.arange(5)).matrix(), everything[:5, :5])
    assert np.array_equal(kernel.matrix(), everything)


def test_what_does_not_fit_the_cache_is_not_computed() -> None:
    kernel = oracle(n=100).with_cache(8 * 100 * 100 / 2**20 - 1e-6)
    assert kernel.matrix() is None
    assert kernel.counter.evaluations == 0
    assert kernel.astype(np.float32).matrix() is not None


def test_what_the_host_computes_is_not_the_solver_s() -> None:
    kernel = oracle(n=10)
    with uncounted(kernel):
        kernel.matrix()
    assert kernel.counter.evaluations == 0
    kernel.matrix()
    assert kernel.counter.evaluations == 100


def test_memory_is_taken_over_when_nobody_reads_it_and_not_before() -> None:
    memory, dtype = Memory(), np.dtype("float32")
    first = memory.empty((100, 100), dtype)
    at, view = first.ctypes.data, first[3:, ::2]
    del first
    second = memory.empty((100, 100), dtype)
    assert second.ctypes.data != at
    del view
    third = memory.empty((90, 90), dtype)
    assert third.ctypes.data == at
    assert third.shape == (90, 90)


def test_a_matrix_that_is_held_stays_as_it_is() -> None:
    x, memory = np.random.default_rng(0).normal(size=(30, 2)), Memory()
    held = KernelOracle(RBF(gamma=1.0), x, matrices=Matrices(memory)).matrix()
    before, rows = held.copy(), held[4:]
    del held
    KernelOracle(RBF(gamma=5.0), x, matrices=Matrices(memory)).matrix()
    assert np.array_equal(rows, before[4:])
