"""What validate() refuses, in which words, and at what price in memory."""

import dataclasses
import tracemalloc

import numpy as np
import scipy.sparse

from harness import Dataset
from harness.datasets import measured_sha256, validate
from harness.datasets.validation import first_non_finite

X, Y = np.arange(8.0).reshape(4, 2), np.array([-1.0, 1.0, -1.0, 1.0])
GOOD = Dataset("toy", X, Y, X[:0], Y[:0], "0" * 64)


def changed(**fields):
    return dataclasses.replace(GOOD, **fields)


def test_sound_data_pass():
    unsorted = scipy.sparse.csr_array((np.ones(4), [1, 0, 0, 1], [0, 2, 4, 4, 4]), shape=(4, 2))
    points = X, X.astype(np.float32), scipy.sparse.csr_array(X), scipy.sparse.csr_matrix(X), unsorted
    for fields in (
        *({"x_train": x} for x in points),
        {"x_train": X[:2], "y_train": Y[:2], "x_test": X, "y_test": np.ones(4)},
        {"task": "regression", "y_train": np.full(4, 0.5)},
    ):
        data = changed(**fields)
        before = measured_sha256(data)
        validate(data)
        assert measured_sha256(data) == before, "it is read, and not changed"


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
