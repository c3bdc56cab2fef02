"""Sparse points and defaults in an NPZ: what a file may say, and what is refused in a sentence."""

import json

import numpy as np
import pytest
import scipy.sparse

from harness import DataError
from harness.datasets import FileSource

X = scipy.sparse.csr_array(np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 3.0], [0.0, 4.0, 0.0], [5.0, 0.0, 0.0]]))
Y = np.array([1.0, -1.0, 1.0, -1.0])
PARTS = {"x.data": X.data, "x.indices": X.indices, "x.indptr": X.indptr, "x.shape": np.array(X.shape), "y": Y}


def loaded(tmp_path, **settings):
    return FileSource(path=str(tmp_path / "d.npz"), test_fraction=0.0, **settings).load()


def test_sparse_points_and_defaults(tmp_path):
    np.savez(tmp_path / "d.npz", **PARTS, defaults=np.array(json.dumps({"kernel": "linear", "C": 2.0})))
    data = loaded(tmp_path)
    np.testing.assert_array_equal(data.x_train.toarray(), X.toarray())
    assert (data.defaults["kernel"], data.defaults["C"]) == ("linear", 2.0)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"x.indices": np.array([0, 9, 2, 1, 0])}, "cannot be read|columns"),
        ({"x.indptr": np.array([0, 2, 9, 4, 5])}, "cannot be read|columns"),
        ({"x.shape": np.array([10**15, 3])}, "cannot be read|columns"),
        ({"x.data": np.array(["a"] * 5)}, "cannot be read|expected numbers"),
        ({"x.data": np.full(5, np.nan)}, "row 1, column 1 holds nan"),
        ({"x.shape": None}, "cannot be read"),
        ({"y": Y[:3]}, "labels of shape"),
        ({"defaults": np.array("[")}, "cannot be read"),
    ],
)
def test_what_is_damaged_is_refused(tmp_path, changed, message):
    parts = {name: value for name, value in {**PARTS, **changed}.items() if value is not None}
    np.savez(tmp_path / "d.npz", **parts)
    with pytest.raises(DataError, match=message):
        loaded(tmp_path)
