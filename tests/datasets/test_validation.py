"""What validate() refuses, in which words, and at what price in memory."""

import dataclasses
import tracemalloc

import numpy as np
import pytest
import scipy.sparse

from harness import DataError, Dataset
from harness.datasets import measured_sha256, validate
from harness.datasets.validation import first_non_finite

X, Y = np.arange(8.0).reshape(4, 2), np.array([-1.0, 1.0, -1.0, 1.0])
GOOD = Dataset("toy", X, Y, X[:0], Y[:0], "0" * 64)


def changed(**fields):
    return dataclasses.replace(GOOD, **fields)


def with_bad_value(value):
    x = X.copy()
    x[1:3], x[2, 1] = 0.0, value  # in CSR the value is the first of its row, behind an empty one
    return x


def test_sound_data_pass():
    unsorted = scipy.sparse.csr_array((np.ones(4), [1, 0, 0, 1], [0, 2, 4, 4, 4]), shape=(4, 2))
    for fields in (
        *(
            {"x_train": x}
            for x in (X, X.astype(np.float32), scipy.sparse.csr_array(X), scipy.sparse.csr_matrix(X), unsorted)
        ),
        {"x_train": X[:2], "y_train": Y[:2], "x_test": X, "y_test": np.ones(4)},
        {"task": "regression", "y_train": np.full(4, 0.5)},
    ):
        data = changed(**fields)
        before = measured_sha256(data)
        validate(data)
        assert measured_sha256(data) == before, "it is read, and not changed"


UNSOUND = [
    (r"x_train is a ndarray of .* shape \(8,\).*; expected numbers of shape \(n, d\)", {"x_train": X.ravel()}),
    ("x_train has 0 rows", {"x_train": X[:0], "y_train": Y[:0]}),
    (r"x_train is .* shape \(4, 0\)", {"x_train": X[:, :0], "x_test": X[:0, :0]}),
    ("x_train is .* of int64.* expected .* float64 or float32", {"x_train": X.astype(int)}),
    ("x_train is a list; expected", {"x_train": X.tolist()}),
    (r"x_train is .* strides \(8, 32\); expected .* C-contiguous", {"x_train": np.asfortranarray(X)}),
    ("x_train is a coo_array", {"x_train": scipy.sparse.coo_array(X[0])}),
    (r"x_train is nan in row 2, column 1 \(counted from 0\)", {"x_train": with_bad_value(np.nan)}),
    ("x_train is -inf in row 2, column 1", {"x_train": scipy.sparse.csr_array(with_bad_value(-np.inf))}),
    (r"y_train is .* shape \(3,\).* of shape \(4,\), one value for each row of x_train", {"y_train": Y[:3]}),
    ("y_train is .* of int64.*; expected a contiguous NumPy array of float64", {"y_train": Y.astype(int)}),
    ("y_train is .* strides", {"y_train": np.repeat(Y, 2)[::2]}),
    (r"y_test is .* of shape \(0,\)", {"y_test": Y[:1]}),
    ("y_train is 0 in row 0 .* expected -1 or [+]1", {"y_train": np.array([0.0, 1, 0, 1])}),
    ("y_train is nan in row 2", {"y_train": np.array([-1.0, 1, np.nan, 1])}),
    ("y_train is inf in row 1 .* finite", {"y_train": np.array([1.0, np.inf, 0, 1]), "task": "regression"}),
    (r"all 4 training labels are \+1; expected both -1 and \+1", {"y_train": np.ones(4)}),
    ("x_train has 2 features, x_test has 3; expected the same number", {"x_test": np.ones((0, 3))}),
    ("task is 'ranking'; expected 'classification' or 'regression'", {"task": "ranking"}),
]


@pytest.mark.parametrize(("message", "fields"), UNSOUND)
def test_unsound_data_are_refused_by_name(message, fields):
    with pytest.raises(DataError, match=message) as caught:
        validate(changed(**fields))
    assert str(caught.value).startswith("data set 'toy': ")


def test_mapped_points_are_checked_in_pieces(tmp_path):
    large = np.lib.format.open_memmap(tmp_path / "large.npy", mode="w+", dtype=np.float64, shape=(400_000, 20))  # 64 MB
    large[-1, -1] = np.nan
    tracemalloc.start()
    assert first_non_finite(large) == (399_999, 19)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20e6


def test_the_shares_of_what_is_not_zero_and_of_positives():
    stored_zero = scipy.sparse.csr_array(X)
    stored_zero.data[0] = 0.0
    assert (GOOD.density, changed(x_train=stored_zero).density) == (7 / 8, 6 / 8)
    assert (GOOD.positive_share, changed(task="regression").positive_share) == (0.5, None)
