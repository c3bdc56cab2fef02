"""fill() tile by tile, with any number of threads: who is called back when, what fails, and what is refused."""

import os
import threading
import warnings

import numpy as np
import pytest

from harness import RBF, KernelOracle, Poly

N = 700


@pytest.fixture(autouse=True)
def shared_however_small(monkeypatch):
    monkeypatch.setattr("harness.kernels.crew.WORTH", 1)


def oracle_of(*, n=N, threads=1):
    x = np.random.default_rng(0).normal(size=(n, 3))
    return KernelOracle(RBF(gamma=0.4), x, ridge=0.5, threads=threads)


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("count", [0, 1, 40])
@pytest.mark.parametrize("columns", [None, 0, 1, 3000])
def test_after_sees_every_column_once_and_finished(threads, count, columns):
    n = 5000
    oracle = oracle_of(n=n, threads=threads).replace(dtype="float32")
    rng = np.random.default_rng(1)
    rows, picked = rng.integers(0, n, count), None if columns is None else rng.integers(0, n, columns)
    width = n if picked is None else len(picked)
    expected = oracle.block(rows, picked)
    out, seen, lock = np.full((count, width), np.nan, dtype=np.float32), np.zeros(width, dtype=int), threading.Lock()
    names = set()

    def after(start, stop):
        assert start < stop
        np.testing.assert_allclose(out[:, start:stop], expected[:, start:stop], rtol=1e-5)
        with lock:
            seen[start:stop] += 1
            names.add(threading.get_ident())

    oracle.fill(rows, out, columns=picked, after=after)
    assert (seen == 1).all()
    assert len(names) <= threads


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("kernel", [RBF(gamma=0.01), Poly(degree=3, gamma=0.1)], ids=lambda each: each.name)
def test_all_rows_at_once_are_those_of_parts(kernel, threads):
    x = np.random.default_rng(2).random((N, 90))
    oracle, every = KernelOracle(kernel, x, ridge=0.5, threads=threads), np.arange(N)
    together, apart, order = np.full((N, N), np.nan), np.empty((N, N)), every[::-1].copy()
    oracle.fill(every, together)
    assert oracle.counter.evaluations == N * N
    oracle.fill(order, apart, order)
    np.testing.assert_array_equal(together, apart)


def test_an_error_in_after_reaches_the_caller_and_the_oracle_lives_on():
    oracle, out = oracle_of(n=5000, threads=3), np.empty((1, 5000))

    def after(start, stop):
        raise ArithmeticError(f"at {start}")

    with pytest.raises(ArithmeticError, match="at "):
        oracle.fill([3], out, after=after)
    oracle.fill([3], out)
    np.testing.assert_allclose(out[0], oracle.row(3), rtol=1e-12)


def test_threads_work_in_a_forked_child():
    oracle, out = oracle_of(n=5000, threads=2), np.empty((1, 5000))
    oracle.fill([3], out)  # the parent's threads exist now; the child has none of them
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of a fork with threads: what is tested here
        child = os.fork()
    if child == 0:
        again = np.empty((1, 5000))
        oracle.fill([3], again)
        os._exit(0 if np.array_equal(out, again) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_the_threads_end_with_the_oracle():
    before = set(threading.enumerate())
    oracle = oracle_of(n=5000, threads=3)
    oracle.fill([1], np.empty((1, 5000)))
    workers = set(threading.enumerate()) - before
    assert workers  # an idle thread takes the second piece: how many there are depends on the moment
    del oracle
    for worker in workers:
        worker.join(timeout=10)
        assert not worker.is_alive()


WRONG = [
    ({"out": np.empty((1, N), dtype=np.float32)}, "2-D array of float64"), ({"out": np.empty((N, 2)).T}, "C-ordered"),
    ({"out": np.empty((1, N - 1))}, "700 columns wide"), ({"slots": [0, 1]}, "for 1 rows"), ({"slots": [-1]}, "from 0 to 0"),
    ({"rows": [3, 4]}, "for 2 rows"), ({"rows": [N]}, "700 is out of range"), ({"columns": [-2]}, "-2 is out of range"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "match"), WRONG)
def test_what_does_not_fit_is_refused(arguments, match):
    oracle = oracle_of()
    with pytest.raises((ValueError, IndexError), match=match):
        oracle.fill(**{"rows": [3], "out": np.empty((1, N)), **arguments})
    assert oracle.counter.evaluations == 0
