"""What reading, changing and validating data refuse, each sentence as users read it, in one golden file."""

from __future__ import annotations

import dataclasses
from functools import partial
from pathlib import Path

import numpy as np
import scipy.sparse

from harness import ChunkedFile, Dataset, PartitionedData
from harness.datasets import validate
from harness.datasets.catalogue import Diabetes, Digits
from harness.datasets.generators import Friedman
from tests.datasets.test_changes import Line
from tests.datasets.test_chunks import drawn, written
from tests.datasets.test_files import PACK, libsvm_bytes
from tests.golden import assert_golden

FILES = {
    "none.npy": None, "table.csv": b"a,b,label\n1,2,3\n", "three.libsvm": b"1 1:2\n2 1:2\n3 1:2\n",
    "damaged.libsvm.gz": PACK[".gz"](libsvm_bytes(*drawn()))[:-40], "one.libsvm": b"1 1:2\n1 1:3\n",
    "text.libsvm": b"1 1:2\n# -\n-1 1:3\n1 x:1\n", "bare.libsvm": b"1\n-1\n", "wide.libsvm": b"1 1:1\n-1 2000000000:3\n",
}  # fmt: skip
X, Y = np.arange(8.0).reshape(4, 2), np.array([-1.0, 1.0, -1.0, 1.0])
GOOD = Dataset("toy", X, Y, X[:0], Y[:0], "0" * 64)


def with_bad_value(value):
    x = X.copy()
    x[1:3], x[2, 1] = 0.0, value  # in CSR the value is the first of its row, behind an empty one
    return x


UNSOUND = [
    {"x_train": X.ravel()}, {"x_train": X[:0], "y_train": Y[:0]}, {"x_train": X[:, :0], "x_test": X[:0, :0]},
    {"x_train": X.astype(int)}, {"x_train": X.tolist()}, {"x_train": np.asfortranarray(X)},
    {"x_train": scipy.sparse.coo_array(X[0])}, {"x_train": with_bad_value(np.nan)},
    {"x_train": scipy.sparse.csr_array(with_bad_value(-np.inf))}, {"y_train": Y[:3]}, {"y_train": Y.astype(int)},
    {"y_train": np.repeat(Y, 2)[::2]}, {"y_test": Y[:1]}, {"y_train": np.array([0.0, 1, 0, 1])},
    {"y_train": np.array([-1.0, 1, np.nan, 1])}, {"y_train": np.array([1.0, np.inf, 0, 1]), "task": "regression"},
    {"y_train": np.ones(4)}, {"x_test": np.ones((0, 3))}, {"task": "ranking"},
]  # fmt: skip


def test_what_data_are_refused(tmp_path):
    for name, content in FILES.items():
        if content is not None:
            (tmp_path / name).write_bytes(content)
    (tmp_path / "empty").mkdir()
    (tmp_path / "wide").mkdir()
    x, labels = drawn()
    written(tmp_path / "wide/part-0.npy", x, labels)
    written(tmp_path / "wide/part-1.npy", x[:, 1:], labels)
    calls = {
        **{f"chunks: {name}": lambda name=name: list(ChunkedFile(str(tmp_path / name), rows=3)) for name in FILES},
        **{f"parts: {name}": partial(PartitionedData, str(tmp_path / name)) for name in ("empty", "none*.npy", "wide")},
        **{f"unsound: {[*given]} {k}": partial(validate, dataclasses.replace(GOOD, **given)) for k, given in enumerate(UNSOUND)},
        "imbalance: none": Line(imbalance=1e-320).load,
        "imbalance: less": Digits(imbalance=5).load,
        "imbalance: more": Line(imbalance=51).load,
        "imbalance: regression": Diabetes(imbalance=2).load,
        "noise: regression": Friedman(n=20, noise=0.1).load,
        **{f"{name}={value}": partial(Line, **{name: value}) for name, value in
           (("imbalance", 0), ("imbalance", float("inf")), ("noise", 0.5), ("noise", -0.1))},
    }  # fmt: skip
    assert_golden(Path(__file__).with_name("refusals.txt"), calls, tmp_path)
