"""Counts are exact, rows asked for are kept until others need their place, and what is handed out stays as it is."""

import numpy as np
import pytest

from harness import RBF, KernelOracle, Linear, Poly, UsageError

N = 20


@pytest.fixture
def oracle():
    return KernelOracle(RBF(gamma=0.5), np.random.default_rng(0).normal(size=(N, 3)))


def tiny_cache(rows: int, n: int = 4096):
    """An oracle whose cache holds so many rows of n float64 values."""
    x = np.linspace(-1.0, 1.0, n)[:, None]
    return KernelOracle(RBF(), x, cache_mb=rows * n * 8 / 2**20)


def spent(oracle: KernelOracle):
    return oracle.counter.evaluations, oracle.counter.cache_hits


def test_rows_cost_what_is_not_cached(oracle):
    oracle.row(1)
    oracle.rows([0, np.int64(1), 2, 2])
    assert spent(oracle) == (3 * N, 1)
    oracle.rows([])
    oracle.rows(np.array([2, 1]))
    assert spent(oracle) == (3 * N, 3)


def test_views_share_the_counter_and_have_their_own_cache(oracle):
    oracle.row(0)
    changes = {"dtype": np.float32}, {"cache_mb": 1.0}, {"ridge": 1.0}
    views = [oracle.restrict(np.arange(5)), *(oracle.replace(**change) for change in changes)]
    expected = N
    for view in views:
        assert view.counter is oracle.counter
        view.row(0)
        expected += len(view)
        assert spent(oracle) == (expected, 0)
    assert oracle.replace(dtype=np.float64) is oracle


def test_rows_that_were_handed_out_outlive_their_place_and_more_than_the_cache_holds_are_returned():
    oracle = tiny_cache(2)
    first, listed = oracle.row(0), oracle.rows([0, 1])
    before = first.copy()
    rows = oracle.rows([0, 5, 6, 7, 0])
    assert [row[i] for i, row in zip([0, 5, 6, 7, 0], rows, strict=True)] == [1.0] * 5
    assert first.tobytes() == listed[0].tobytes() == before.tobytes()


@pytest.mark.parametrize("get", ["row", "rows", "block", "diagonal"])
def test_what_is_handed_out_cannot_be_written_to(oracle, get):
    values = {
        "row": lambda: oracle.row(1),
        "rows": lambda: oracle.rows([1, 2])[1],
        "block": lambda: oracle.block([1, 2], [3, 4]),
        "diagonal": oracle.diagonal,
    }[get]()
    with pytest.raises(ValueError, match="read-only"):
        values[...] = 0.0
    with pytest.raises(ValueError, match="WRITEABLE"):
        values.flags.writeable = True
    with pytest.raises(ValueError, match="WRITEABLE"):
        values[:1].flags.writeable = True


@pytest.mark.parametrize("wrong", [-1, N])
@pytest.mark.parametrize(
    "ask",
    [lambda k, i: k.row(i), lambda k, i: k.rows([0, i]), lambda k, i: k.block([i]), lambda k, i: k.block([0], [i]),
     lambda k, i: k.expand(np.ones(N), [i])],
)  # fmt: skip
def test_an_index_outside_is_refused(oracle, ask, wrong):
    with pytest.raises(IndexError, match=f"{wrong} is out of range for a kernel over {N} points"):
        ask(oracle, wrong)
    assert spent(oracle) == (0, 0)


@pytest.mark.parametrize("kernel", [Linear(), RBF(gamma=1.0), Poly(degree=2, gamma=1.0, coef0=0.0)])
def test_values_that_overflow_in_float32_are_refused_in_words(kernel):
    x = np.random.default_rng(0).normal(size=(50, 40))
    x[7] *= 1e25  # a single point, in none of the rows looked at
    oracle = KernelOracle(kernel, x)
    assert np.isfinite(oracle.block(np.array([0]))).all()
    before = oracle.counter.evaluations
    with pytest.raises(UsageError, match=r"not finite in float32 on these data; scale the data.* dtype=float64"):
        oracle.replace(dtype="float32").block(np.array([0]))
    assert oracle.counter.evaluations == before
    x[7] = 1.0
    assert KernelOracle(kernel, x).replace(dtype="float32").dtype == np.float32
