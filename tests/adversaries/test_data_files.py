"""Files and sources that would be read wrongly without a word: each is read rightly now, or refused with a sentence."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

from harness import Dataset
from harness.datasets import FileSource, measured_sha256
from harness.datasets.chunks import ChunkedFile
from harness.errors import DataError

COMPRESS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def write(tmp_path):
    def written(name, content):
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(tmp_path / name)

    return written


def whole(path, **parameters):
    data = FileSource(path=path, test_fraction=0, **parameters).load()
    x = data.x_train
    return (x.toarray() if scipy.sparse.issparse(x) else np.asarray(x)), data.y_train


def refusal(path, **parameters):
    with pytest.raises(DataError) as caught:
        FileSource(path=path, test_fraction=0, **parameters).load()
    message = str(caught.value)
    assert message.endswith(".")
    assert "\n" not in message
    return message


# -- LIBSVM text -----------------------------------------------------------------------------------------


def libsvm(x, y, base):
    rows = (" ".join(f"{j + base}:{v!r}" for j, v in enumerate(row) if v) for row in x.tolist())
    return "".join(f"{label:g} {cells}\n" for label, cells in zip(y, rows, strict=True))


@pytest.mark.parametrize("thin", ["train", "test"])
def test_a_feature_0_that_occurs_in_one_of_the_files_only_shifts_neither(write, thin):
    x = np.random.default_rng(0).integers(1, 9, (40, 6)).astype(float)
    parts = {"train": x[:20], "test": x[20:]}
    parts[thin][:, 0] = 0.0
    y = np.where(np.arange(20) % 2, 1.0, -1.0)
    train, test = (write(f"{name}.libsvm", libsvm(part, y, 0)) for name, part in parts.items())
    data = FileSource(path=train, test=test).load()
    np.testing.assert_array_equal(data.x_train, parts["train"])
    np.testing.assert_array_equal(data.x_test, parts["test"])


def test_the_index_base_can_be_said(write):
    x, y = np.array([[0.0, 2, 3], [0, 5, 6]]), np.array([-1.0, 1])
    zero_based = write("zero.libsvm", libsvm(x, y, 0))  # nothing in it says so
    np.testing.assert_array_equal(whole(zero_based)[0], x[:, 1:])
    np.testing.assert_array_equal(whole(zero_based, index_base=0)[0], x)
    np.testing.assert_array_equal(next(iter(ChunkedFile(zero_based, index_base="0")))[0], x)
    assert "has the index 0, which index_base=1 excludes" in refusal(
        write("one.libsvm", "1 0:1\n-1 1:1\n"), index_base="1"
    )
    assert "is csv, which has no choice of index base; leave out index_base=1" in refusal(
        write("a.csv", "a,label\n1,2\n3,4\n"), index_base="1"
    )


# -- tables ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cell", ["N/A", "", "?", "nan"])
def test_a_first_row_with_a_missing_value_is_a_row(write, cell):
    assert "row 1, column '#1' (column 1) holds nan" in refusal(write("a.csv", f"{cell},2,0\n3,4,1\n5,6,0\n"))


@pytest.mark.parametrize("cell", ["-", "1.O"])
def test_a_first_row_with_a_slip_is_not_taken_for_names(write, cell):
    path = write("a.csv", f"{cell},2,0\n3,4,1\n5,6,0\n")
    message = refusal(path)
    assert f"the first row, {cell},2,0, may be names or a point" in message
    assert "[header=yes] or [header=no]" in message
    assert f"row 1 holds '{cell}'" in refusal(path, header="no")
    np.testing.assert_array_equal(whole(path, header="yes")[0], [[3, 4], [5, 6]])


@pytest.mark.parametrize("names", ["0,1,2", "1,2,3", "2001,2002,2003", "1,2,4,4", "400,402.5,405,407.5,410,412.5"])
def test_names_that_are_numbers_are_not_taken_for_a_point(write, names):
    rows = np.random.default_rng(0).normal(size=(9, len(names.split(","))))
    rows[:, -1] = np.arange(9) % 2
    path = write("a.csv", names + "\n" + "".join(",".join(map(repr, row)) + "\n" for row in rows.tolist()))
    message = refusal(path)
    assert f"the first row, {names}, may be names or a point: its numbers rise from cell to cell" in message
    np.testing.assert_array_equal(whole(path, header="yes")[0], rows[:, :-1])
    assert len(whole(path, header="no", positive="1")[0]) == 10


def test_rising_numbers_above_rising_numbers_are_points(write):
    path = write("a.csv", "1,3,5,7,9,11\n2,4,6,8,10,12\n")
    assert len(whole(path)[0]) == 2


def test_names_of_which_one_is_the_labels_may_be_numbers(write):
    x, y = whole(write("a.csv", "0,1,label\n3.5,4.5,1\n5.5,6.5,0\n"))
    np.testing.assert_array_equal(x, [[3.5, 4.5], [5.5, 6.5]])
    np.testing.assert_array_equal(y, [1, -1])


def test_a_label_that_may_be_a_name_and_a_name_that_may_be_a_label(write):
    rows = "3,4,spam\n5,6,ham\n7,8,ham\n"
    assert "'spam' is the label of other rows too" in refusal(write("a.csv", "a,b,spam\n" + rows))
    assert "no other row has the label 'eggs'" in refusal(write("b.csv", "1,2,eggs\n" + rows), positive="ham")
    assert len(whole(write("c.csv", "1,2,ham\n" + rows))[0]) == 4


@pytest.mark.parametrize(
    ("rows", "line", "cells"),
    [("1,2,3,0\n4,5,6,1\n", 2, 4), ("1,2,0\n4,5,6,1\n", 3, 4), ("1,2,0\n4,5\n", 3, 2), ("1,2,0\n4,5,1,NA\n", 3, 4)],
)
def test_rows_that_are_not_as_long_as_the_header(write, rows, line, cells):
    message = refusal(write("a.csv", "a,b,label\n" + rows))
    assert f"line {line} has {cells} cells, line 1 has 3" in message
    blanks = ("a,b,label\n" + rows).replace(",", " ")
    assert f"line {line} has {cells} cells, line 1 has 3" in refusal(write("a.data", blanks))


def test_columns_in_another_order_in_the_test_file(write):
    train = write("train.csv", "a,b,label\n1,2,0\n3,4,1\n")
    test = write("test.csv", "b,a,label\n2,1,0\n4,3,1\n")
    message = refusal(train, test=test)
    assert "feature 1 is 'a' in" in message
    assert "and 'b' in the test file" in message


def test_two_columns_of_the_labels_name(write):
    path = write("a.csv", "label,a,label\n0,1,1\n1,3,0\n")
    assert "has the columns 'label' and 'label'" in refusal(path)
    assert "[label_column=0]" in refusal(path, label_column="label")
    np.testing.assert_array_equal(whole(path, label_column="0")[1], [-1, 1])


# -- compression -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", COMPRESS)
def test_a_second_stream_that_is_damaged(write, suffix):
    pack = COMPRESS[suffix]
    parts = ["".join(f"{i % 2} 1:{i + 1} 2:{part}\n" for i in range(100)).encode() for part in (1, 2, 3)]
    path = write(f"good.libsvm{suffix}", b"".join(map(pack, parts)))
    assert len(whole(path)[0]) == ChunkedFile(path, 7).n == 300
    padded = write(f"padded.libsvm{suffix}", pack(parts[0]) + bytes(8) + pack(parts[1]) + bytes(4))
    assert len(whole(padded)[0]) == 200
    for damage in (b"x" + pack(parts[1]), pack(parts[1])[:1] + b"x" + pack(parts[1])[2:], pack(parts[1])[:-6], b"x"):
        bad = write(f"bad.libsvm{suffix}", pack(parts[0]) + damage)
        assert f"{suffix} data truncated or damaged" in refusal(bad)
        with pytest.raises(DataError, match="truncated or damaged"):
            ChunkedFile(bad, 7)


# -- labels ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("labels", [("-1", "+1"), ("-1.0", "1"), (b"-1", b"+1"), ("9", "10")])
def test_text_that_reads_as_numbers_is_numbers(tmp_path, labels):
    np.savez(tmp_path / "a.npz", x=np.arange(8.0).reshape(4, 2), y=np.array(labels * 2))
    np.testing.assert_array_equal(whole(tmp_path / "a.npz")[1], [-1, 1, -1, 1])


@pytest.mark.parametrize("gone", ["", "nan", " NaN", "None"])
def test_a_missing_label_is_no_class(tmp_path, gone):
    np.savez(tmp_path / "a.npz", x=np.arange(12.0).reshape(6, 2), y=np.array(["a", gone] * 3))
    message = refusal(tmp_path / "a.npz")
    assert "the label of row 2 is missing, 3 of the 6 labels are" in message


# -- what was loaded -------------------------------------------------------------------------------------


def test_a_file_edited_under_its_old_size_and_time_is_read_again(write):
    path = write("a.csv", "a,label\n1,0\n2,1\n")
    first, facts = FileSource(path=path, test_fraction=0).load(), Path(path).stat()
    write("a.csv", "a,label\n1,0\n3,1\n")
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    second = FileSource(path=path, test_fraction=0).load()
    np.testing.assert_array_equal(second.x_train, [[1], [3]])
    assert measured_sha256(second) != measured_sha256(first)


def test_a_file_edited_while_it_is_read_is_not_taken_for_the_one_before(write, monkeypatch):
    path = write("a.csv", "a,label\n1,0\n2,1\n")
    parse = FileSource._parse

    def edited_first(source):
        write("a.csv", "a,label\n1,0\n3,1\n")
        return parse(source)

    with monkeypatch.context() as patch:
        patch.setattr(FileSource, "_parse", edited_first)
        assert "has changed while it was read" in refusal(path)
    write("a.csv", "a,label\n1,0\n2,1\n")
    np.testing.assert_array_equal(whole(path)[0], [[1], [2]])


X, Y = np.arange(8.0).reshape(4, 2), np.array([-1.0, 1.0, -1.0, 1.0])


@pytest.mark.parametrize("claim", ["", "deadbeef", "0" * 64])
def test_the_measured_hash_is_of_the_content_and_not_the_sources_claim(tmp_path, claim):
    data = Dataset("toy", X, Y, X[:2], Y[:2], claim)
    measured = measured_sha256(data)
    assert measured == measured_sha256(replace(data, sha256="another", name="other", defaults={"gamma": 1.0}))
    np.save(tmp_path / "x.npy", X)
    assert measured == measured_sha256(replace(data, x_train=np.load(tmp_path / "x.npy", mmap_mode="r")))
    sparse = scipy.sparse.csr_array(X)
    moved = X.copy()
    moved[0, 0] = np.nextafter(0.0, 1.0)
    others = [
        replace(data, x_train=moved),
        replace(data, x_train=X.astype(np.float32)),
        replace(data, x_train=sparse),
        replace(data, x_train=scipy.sparse.csr_array((sparse.data, sparse.indices, sparse.indptr), shape=(4, 3))),
        replace(data, x_train=X.reshape(2, 4)),
        replace(data, y_train=-Y),
        replace(data, x_test=X[2:]),
        replace(data, y_test=-Y[:2]),
        replace(data, task="regression"),
    ]
    assert len({measured, *map(measured_sha256, others)}) == 1 + len(others)
