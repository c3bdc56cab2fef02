"""Sparse points of every kind that SciPy has mean the same: at the kernel, a data set, a problem and a stream."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import DataError, as_points

KINDS = [f"{name}_{form}" for name in ("csr", "csc", "coo", "bsr", "dia", "dok", "lil") for form in ("array", "matrix")]
DTYPES = [np.float64, np.float32, np.int64, np.int8, np.uint16, np.bool_]
N, D = 12, 5


def drawn(seed, dtype):
    """(N, D) numbers, about half of them 0, the last feature of every point too; both signs where the type has them."""
    rng = np.random.default_rng(seed)
    low = 0 if np.dtype(dtype).kind in "ub" else -3
    x = rng.integers(low, 4, (N, D)) * rng.integers(0, 2, (N, D))
    x[:, -1] = 0
    return x.astype(dtype)


def as_kind(x, kind):
    return getattr(scipy.sparse, kind)(x)


def untidy(x, form):
    """CSR with indices out of order, one of them twice in a row, and a zero that is stored."""
    rows = [np.flatnonzero(row)[::-1] for row in x]
    data, indices, indptr = [], [], [0]
    for row, columns in zip(x, rows, strict=True):
        for column in columns:
            parts = (row[column] - 1, 1) if x.dtype.kind in "fi" else (row[column],)
            data += parts
            indices += [column] * len(parts)
        data.append(0)
        indices.append(D - 1)
        indptr.append(len(data))
    return getattr(scipy.sparse, f"csr_{form}")((np.array(data, dtype=x.dtype), indices, indptr), shape=x.shape)


SPARSE = st.builds(
    lambda seed, dtype, kind: (x := drawn(seed, dtype), untidy(x, kind.removeprefix("untidy_")) if "untidy" in kind
                               else as_kind(x, kind)),
    st.integers(0, 9), st.sampled_from(DTYPES), st.sampled_from([*KINDS, "untidy_array", "untidy_matrix"]),
)  # fmt: skip


@given(SPARSE)
@settings(max_examples=100)
def test_points_are_canonical_and_what_was_given_stays(given_):
    x, sparse = given_
    parts = "data", "indices", "indptr"
    before = {name: np.copy(getattr(sparse, name)) for name in parts if getattr(sparse, name, None) is not None}
    found = as_points(sparse)
    assert (type(found), found.has_canonical_format) == (scipy.sparse.csr_array, True)
    assert found.dtype == (x.dtype if x.dtype in (np.float64, np.float32) else np.float64)
    np.testing.assert_array_equal(found.toarray(), x.astype(np.float64))
    for name, value in before.items():
        np.testing.assert_array_equal(getattr(sparse, name), value)
    canonical = scipy.sparse.csr_array(x.astype(np.float64))
    assert as_points(canonical) is canonical


NONE = [
    ([[1.0, 2.0], [3.0]], "rows of different lengths"), ([1.0, 2.0], "expected numbers of shape"),
    (np.array([["a", "b"]]), "expected numbers of shape"), (np.array([[1j, 2.0]]), "expected numbers of shape"),
    (scipy.sparse.csr_array(np.array([[1j, 2.0]])), "is complex128 of shape"),
]  # fmt: skip


@pytest.mark.parametrize(("x", "message"), NONE)
def test_what_is_no_points_is_refused(x, message):
    with pytest.raises(DataError, match=message):
        as_points(x)


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_dense_points_of_any_kind():
    x = drawn(5, np.int64)
    for given_ in (x, x.tolist(), np.matrix(x), np.asfortranarray(x), x.astype(bool)):
        found = as_points(given_)
        assert (type(found), found.dtype, found.flags.c_contiguous) == (np.ndarray, np.float64, True)
    floats = x.astype(np.float32)
    assert as_points(floats) is floats
