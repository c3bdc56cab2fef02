"""Every format, plain and compressed, against data that were never in a file; and the hypothesis round trips."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from harness.datasets.readers import read_table
from tests.datasets.reading import read

COMPRESS = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


def libsvm_bytes(x, labels):
    """Write it by hand: the reader must not be tested with its own library's writer."""
    lines = []
    for row, label in zip(x, labels, strict=True):
        cells = " ".join(f"{j + 1}:{float(v)!r}" for j, v in enumerate(row) if v != 0)
        lines.append(f"{label} {cells}".rstrip())
    return ("\n".join(lines) + "\n").encode()


def csv_bytes(x, labels, *, header=True, separator=",", label_name="label"):
    lines = [separator.join([label_name, *(f"x{j}" for j in range(x.shape[1]))])] if header else []
    lines += [
        separator.join([str(label), *(repr(float(v)) for v in row)]) for row, label in zip(x, labels, strict=True)
    ]
    return ("\n".join(lines) + "\n").encode()


def arff_bytes(x, labels):
    head = ["% a comment", "@relation points", *(f"@attribute x{j} numeric" for j in range(x.shape[1]))]
    head += ["@attribute class {spam,ham}", "@data"]
    rows = [",".join([*(repr(float(v)) for v in row), label]) for row, label in zip(x, labels, strict=True)]
    return ("\n".join(head + rows) + "\n").encode()


def npz_bytes(**arrays):
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def npy_bytes(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def parquet_bytes(x, labels):
    frame = pd.DataFrame(x, columns=[f"x{j}" for j in range(x.shape[1])])
    frame.insert(1, "Target", labels)
    buffer = io.BytesIO()
    frame.to_parquet(buffer)
    return buffer.getvalue()


@pytest.fixture
def points():
    rng = np.random.default_rng(5)
    x = rng.standard_normal((12, 3)) * 10.0 ** rng.integers(-8, 8, (12, 3))
    x[:, 2] = 7.0  # a constant feature
    x[4] = x[5]  # a point twice, with opposite labels
    y = np.where(np.arange(12) % 2, 1.0, -1.0)
    return x, y


def content(kind, x, y):
    words = np.where(y > 0, "spam", "ham")
    return {
        "libsvm": lambda: libsvm_bytes(x, [f"{v:+g}" for v in y]),
        "svmlight": lambda: b"# comment\n" + libsvm_bytes(x, y),
        "csv": lambda: csv_bytes(x, words),
        "tsv": lambda: csv_bytes(x, words, separator="\t"),
        "npz": lambda: npz_bytes(x=x, y=y.astype(np.int8)),
        "npy": lambda: npy_bytes(np.column_stack([x, y])),
        "parquet": lambda: parquet_bytes(x, words),
        "arff": lambda: arff_bytes(x, words),
    }[kind]()


@pytest.mark.parametrize("compression", COMPRESS)
@pytest.mark.parametrize("kind", ["libsvm", "svmlight", "csv", "tsv", "npz", "npy", "parquet", "arff"])
def test_a_file_gives_back_the_points_bit_for_bit(tmp_path, points, kind, compression):
    x, y = points
    path = tmp_path / f"points.{kind}{compression}"
    path.write_bytes(COMPRESS[compression](content(kind, x, y)))
    found, labels = read(str(path))
    np.testing.assert_array_equal(found, x)
    np.testing.assert_array_equal(labels, y)
    assert labels.dtype == np.float64


@pytest.mark.parametrize("name", ["points", "points.txt", "points.t", "points.data", "points.xyz"])
@pytest.mark.parametrize("kind", ["libsvm", "csv", "arff", "npz", "npy", "parquet"])
def test_the_content_decides_where_the_suffix_does_not(tmp_path, points, kind, name):
    x, y = points
    path = tmp_path / name
    path.write_bytes(content(kind, x, y))
    np.testing.assert_array_equal(read(str(path))[0], x)


def test_compression_is_seen_by_content_not_by_name(tmp_path, points):
    x, y = points
    path = tmp_path / "points.csv"
    path.write_bytes(gzip.compress(content("csv", x, y)))
    np.testing.assert_array_equal(read(str(path))[0], x)


def test_sparse_text_stays_sparse_and_dense_text_becomes_dense(tmp_path):
    x = np.zeros((40, 50))
    x[np.arange(40), np.arange(40)] = 1.5
    path = tmp_path / "thin.libsvm"
    path.write_bytes(libsvm_bytes(x, [1, 2] * 20))
    found, y = read(str(path))
    assert isinstance(found, scipy.sparse.csr_array)
    assert found.shape == (40, 40)  # columns that never occur cannot be known
    np.testing.assert_array_equal(found.toarray(), x[:, :40])
    np.testing.assert_array_equal(y, np.tile([-1.0, 1.0], 20))
    (tmp_path / "wide.libsvm").write_text("1 50:1\n2 1:1\n")
    table = read_table(str(path), str(tmp_path / "wide.libsvm"))
    assert (table.x.shape, table.test[0].shape) == ((40, 50), (2, 50))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_plain_npy_of_floats_stays_on_disk(tmp_path, points, dtype):
    x, y = points
    path = tmp_path / "points.npy"
    np.save(path, np.column_stack([x, y]).astype(dtype))
    found, labels = read(str(path))
    assert isinstance(found, np.memmap)
    assert found.dtype == dtype
    np.testing.assert_array_equal(labels, y)


def test_integers_become_float64(tmp_path):
    path = tmp_path / "points.npy"
    np.save(path, np.array([[1, 2, 0], [3, 4, 1]], dtype=np.int16))
    x, y = read(str(path))
    assert x.dtype == np.float64
    assert x.tolist() == [[1, 2], [3, 4]]
    assert y.tolist() == [-1, 1]


@pytest.mark.parametrize("keys", [("x", "y"), ("X", "y"), ("x_train", "y_train", "x_test", "y_test")])
def test_npz_keys(tmp_path, points, keys):
    x, y = points
    path = tmp_path / "points.npz"
    np.savez_compressed(path, **dict(zip(keys, (x, y[:, None], x[:2], y[:2]), strict=False)))
    table = read_table(str(path))
    np.testing.assert_array_equal(table.x, x)
    np.testing.assert_array_equal(table.labels, y)
    assert (table.test is not None) == (len(keys) == 4)


@pytest.mark.parametrize("x_name", ["x", "X", "x_train", "X_train"])
@pytest.mark.parametrize("test_name", ["x_test", "X_test"])
def test_the_test_arrays_of_an_archive_are_used_whatever_the_training_ones_are_called(tmp_path, x_name, test_name):
    x, y = np.arange(20.0).reshape(10, 2), np.tile([0, 1], 5)
    y_name = "y_train" if "train" in x_name else "y"
    np.savez(tmp_path / "a.npz", **{x_name: x[:6], y_name: y[:6], test_name: x[6:], "y_test": y[6:]})
    table = read_table(str(tmp_path / "a.npz"))
    np.testing.assert_array_equal(table.x, x[:6])
    assert table.test is not None
    np.testing.assert_array_equal(table.test[0], x[6:])
    np.testing.assert_array_equal(table.test[1], y[6:])


def test_float32_points_of_an_archive_stay_float32(tmp_path, points):
    x, y = points
    path = tmp_path / "points.npz"
    np.savez(path, x=x.astype(np.float32), y=y)
    assert read(str(path))[0].dtype == np.float32


@pytest.mark.parametrize(
    ("values", "negative"),
    [([0, 1], 0), ([1, 2], 1), ([-1, 1], -1), ([3, -7], -7), (["b", "a"], "a"), (["no", "yes"], "no")],
)
def test_the_smaller_of_two_labels_is_minus_one(tmp_path, values, negative):
    labels = values * 3
    path = tmp_path / "points.csv"
    path.write_bytes(csv_bytes(np.arange(12.0).reshape(6, 2), labels))
    np.testing.assert_array_equal(read(str(path))[1], [-1.0 if v == negative else 1.0 for v in labels])


@pytest.mark.parametrize("positive", ["3", "3.0", " 3 "])
def test_one_class_of_many_is_chosen_by_name(tmp_path, positive):
    path = tmp_path / "points.csv"
    path.write_bytes(csv_bytes(np.arange(6.0).reshape(3, 2), [1, 2, 3]))
    np.testing.assert_array_equal(read(str(path), positive=positive)[1], [-1, -1, 1])


@pytest.mark.parametrize("name", ["label", "target", "class", "y", "Label", "CLASS"])
def test_the_label_column_is_found_by_its_name(tmp_path, name):
    path = tmp_path / "points.csv"
    path.write_bytes(f"a,{name},b\n1,0,2\n3,1,4\n".encode())
    x, y = read(str(path))
    assert x.tolist() == [[1, 2], [3, 4]]
    assert y.tolist() == [-1, 1]


def test_the_label_column_is_the_last_one_or_the_one_asked_for(tmp_path):
    path = tmp_path / "points.csv"
    path.write_text("a;b;c\n0;5;8\n1;6;9\n")
    assert read(str(path))[0].tolist() == [[0, 5], [1, 6]]
    for label in ("a", "0", "-3"):
        assert read(str(path), label_column=label)[0].tolist() == [[5, 8], [6, 9]]


def test_tables_without_a_header_quotes_blanks_and_booleans(tmp_path):
    path = tmp_path / "points.csv"
    path.write_text("1, 2.5, yes\n3, 4.5, no\n")
    assert read(str(path))[0].tolist() == [[1, 2.5], [3, 4.5]]
    path.write_text("1   2.5  -1\n3 4.5 1\n")
    assert read(str(path))[0].tolist() == [[1, 2.5], [3, 4.5]]
    path.write_text('"a","flag","class"\n"1",True,"u"\n"3",False,"v"\n')
    assert read(str(path))[0].tolist() == [[1, 1], [3, 0]]


def test_two_points_are_a_data_set(tmp_path):
    path = tmp_path / "two.libsvm"
    path.write_text("+1 1:1\n-1 1:1\n")  # and equal ones at that
    x, y = read(str(path))
    assert x.tolist() == [[1], [1]]
    assert y.tolist() == [1, -1]


FINITE = st.floats(allow_nan=False, allow_infinity=False, width=64)
MATRICES = hnp.arrays(np.float64, hnp.array_shapes(min_dims=2, max_dims=2, min_side=2, max_side=6), elements=FINITE)
ROUND_TRIP = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@ROUND_TRIP
@given(x=MATRICES)
def test_any_matrix_survives_libsvm_text(tmp_path, x):
    x[0, -1] = 1.0  # so that the number of columns can be read off
    y = np.where(np.arange(len(x)) % 2, 1.0, -1.0)
    path = tmp_path / "points.libsvm"
    path.write_bytes(libsvm_bytes(x, y))
    found, labels = read(str(path))
    np.testing.assert_array_equal(found.toarray() if scipy.sparse.issparse(found) else found, x)
    np.testing.assert_array_equal(labels, y)


@ROUND_TRIP
@given(x=MATRICES, header=st.booleans(), separator=st.sampled_from([",", ";", "\t", " "]))
def test_any_matrix_survives_csv(tmp_path, x, header, separator):
    y = np.where(np.arange(len(x)) % 2, 1.0, -1.0)
    path = tmp_path / "points.csv"
    path.write_bytes(csv_bytes(x, y.astype(int), header=header, separator=separator))
    found, labels = read(str(path), label_column="0", header="auto" if header else "no")  # numbers that rise: a doubt
    np.testing.assert_array_equal(found, x)
    np.testing.assert_array_equal(labels, y)
