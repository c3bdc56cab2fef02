"""The points of a linear kernel: products with w in every storage, exact counts, and refusals in a sentence."""

import threading

import numpy as np
import pytest
import scipy.sparse

from harness import KernelOracle, Linear
from tests.kernels.oracles import own

N, D = 230, 37
STORAGES = ["float64", "float32", "mapped", "fortran", "int8", "csr", "csr float32", "csr int", "restricted", "swapped"]


def points():
    rng = np.random.default_rng(0)
    return rng.integers(-9, 9, size=(N, D)) * (rng.random((N, D)) < 0.4)


def oracle_of(storage, folder):
    x = points().astype(np.float64)
    if storage == "mapped":
        np.save(folder / "x.npy", x)
        stored = np.load(folder / "x.npy", mmap_mode="r")
    elif storage.startswith("csr"):
        stored = scipy.sparse.csr_array(x.astype({"csr": float, "csr float32": np.float32, "csr int": int}[storage]))
    elif storage == "restricted":
        return KernelOracle(Linear(), np.vstack([x[::-1], x])).restrict(np.arange(N, 2 * N))
    else:
        stored = {
            "fortran": lambda: np.asfortranarray(x), "swapped": lambda: x.astype(">f8")
        }.get(storage, lambda: x.astype(storage))()  # fmt: skip
    return KernelOracle(Linear(), stored, ridge=0.5)


@pytest.mark.parametrize("storage", STORAGES)
def test_products_and_sums_are_those_of_the_points(storage, tmp_path):
    oracle, x, rng = oracle_of(storage, tmp_path), points(), np.random.default_rng(1)
    features = oracle.features()
    size = np.count_nonzero(x) if storage.startswith("csr") else N * D
    assert (features.n, features.d, features.stored, features.ridge) == (N, D, size, oracle.ridge)
    w = rng.normal(size=D)
    np.testing.assert_allclose(features.scores(w), x @ w, rtol=1e-13, atol=1e-12)
    several = rng.normal(size=(5, D))
    out = np.full((7, N), np.nan)
    assert features.scores_of(several, out[1:6]).base is out
    np.testing.assert_allclose(out[1:6], several @ x.T, rtol=1e-12, atol=1e-12)
    assert np.isnan(out[[0, 6]]).all()
    assert oracle.counter.evaluations == 6 * N
    assert features.scores_of(np.empty((0, D))).shape == (0, N)
    indices, coef = rng.integers(0, N, 300), rng.normal(size=300)
    before = rng.normal(size=D)
    after = before.copy()
    assert features.add(indices, coef, after) is after
    np.testing.assert_allclose(after, before + coef @ x[indices], rtol=1e-12, atol=1e-12)
    picked = features.rows(np.array([7, 0, 7]))
    assert picked.dtype == np.float64
    np.testing.assert_array_equal(picked, x[[7, 0, 7]])
    own(oracle).features().scores(np.zeros(D))
    assert oracle.counter.evaluations == 6 * N + 300 + 3, "every point read is one"


@pytest.mark.parametrize("storage", ["float64", "csr", "fortran"])
def test_threads_and_pieces_change_nothing(storage, tmp_path):
    rng = np.random.default_rng(2)
    x = rng.normal(size=(4001, 150))
    x = {"float64": x, "csr": scipy.sparse.csr_array(x), "fortran": np.asfortranarray(x)}[storage]
    one, three = (KernelOracle(Linear(), x, threads=k) for k in (1, 3))
    w = rng.normal(size=150)
    np.testing.assert_array_equal(three.features().scores(w), one.features().scores(w))
    assert three.counter.evaluations == one.counter.evaluations == 4001
    coef = rng.normal(size=4001)
    np.testing.assert_allclose(one.features().add(np.arange(4001), coef, np.zeros(150)), x.T @ coef, atol=1e-10)


WRONG = [
    (lambda f: f.scores(np.zeros(3)), r"weights has shape \(3,\) for points of 37 features"),
    (lambda f: f.scores(np.zeros(D), np.empty(5)), r"out has shape \(5,\)"),
    (lambda f: f.scores(np.zeros(D), np.empty(N, dtype=np.float32)), "type float32"),
    (lambda f: f.add(np.array([0, N]), np.ones(2), np.zeros(D)), f"point {N} is out of range"),
    (lambda f: f.rows([2, -1]), "point -1"),
    (lambda f: f.add(np.array([0, 1]), np.ones(3), np.zeros(D)), "one coefficient a point"),
    (lambda f: f.add(np.array([0]), np.ones(1), np.zeros(3)), r"weights has shape \(3,\) and type float64"),
]


@pytest.mark.parametrize(("ask", "match"), WRONG)
def test_bad_requests_are_refused(ask, match, tmp_path):
    with pytest.raises((ValueError, IndexError), match=match):
        ask(oracle_of("float64", tmp_path).features())


@pytest.mark.parametrize("count", [1, 7, 3000])
def test_parts_are_shared_and_an_error_is_raised_when_all_have_ended(count):
    oracle, done, threads = KernelOracle(Linear(), np.eye(3), threads=3), [], set()

    def job(start, stop):
        done.extend(range(start, stop))
        threads.add(threading.get_ident())

    oracle.share_range(job, count, 1 << 20)
    assert sorted(done) == list(range(count))
    assert 1 <= len(threads) <= 3

    def fails(start, stop):
        if start == 0:
            raise ZeroDivisionError
        job(start, stop)

    done.clear()
    with pytest.raises(ZeroDivisionError):
        oracle.share_range(fails, count, 1 << 20)
    first = -(-count // 12)  # the part that failed
    assert sorted(done) == list(range(first, count))


def test_little_work_wakes_no_other_thread():
    oracle, parts = KernelOracle(Linear(), np.eye(3), threads=3), []
    oracle.share_range(lambda *part: parts.append((threading.get_ident(), *part)), 50, 50)
    assert parts == [(threading.get_ident(), 0, 50)]


def test_a_thread_that_has_done_a_part_takes_the_next():
    oracle, by, both = KernelOracle(Linear(), np.eye(3), threads=2), {}, threading.Event()

    def job(start, stop):
        if start == 0:  # whoever has it waits until the other one has done all the rest
            assert both.wait(60.0)
        by[start] = threading.get_ident()
        if len(by) == 7:
            both.set()

    oracle.share_range(job, 80, 1 << 20)
    assert list(by)[-1] == 0
    assert len({by[start] for start in by if start}) == 1
    assert by[0] != by[10]
