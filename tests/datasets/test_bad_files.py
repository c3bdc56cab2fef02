"""Each way in which a file can be unusable, and the sentence that comes of it."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os

import numpy as np
import pytest

from harness.datasets import FileSource
from harness.errors import DataError, UsageError
from tests.datasets.reading import read

GOOD = "x,label\n" + "".join(f"{i},{i % 2}\n" for i in range(20))


def refused(tmp_path, content, name="points.csv", **options):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(DataError) as caught:
        read(str(path), **options)
    message = str(caught.value)
    assert message.endswith((".", "?")), message
    assert "\n" not in message
    return message


def test_a_missing_file_names_its_neighbours(tmp_path):
    (tmp_path / "heart.csv").write_text(GOOD)
    with pytest.raises(DataError, match=r"there is no file 'haert\.csv' in .* \(did you mean 'heart\.csv'\?\)"):
        read(str(tmp_path / "haert.csv"))
    with pytest.raises(DataError, match=r"there is no file 'zzz' in .*\. Check the path\."):
        read(str(tmp_path / "zzz"))
    with pytest.raises(DataError, match=r"its folder .*nowhere does not exist"):
        read(str(tmp_path / "nowhere" / "heart.csv"))


def test_a_folder(tmp_path):
    (tmp_path / "heart.csv").write_text(GOOD)
    with pytest.raises(
        DataError, match=r"is a folder; expected a data file\. Name a file in it, e\.g\. '.*heart\.csv'\."
    ):
        read(str(tmp_path))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission(tmp_path):
    path = tmp_path / "points.csv"
    path.write_text(GOOD)
    path.chmod(0)
    with pytest.raises(DataError, match="cannot be read"):
        read(str(path))


def test_empty_files(tmp_path):
    assert "is empty (0 bytes)" in refused(tmp_path, b"")
    assert "is empty after decompression" in refused(tmp_path, gzip.compress(b""), "points.csv.gz")
    assert "0 rows" in refused(tmp_path, "a,b,label\n")
    assert "0 rows" in refused(tmp_path, "\n\n")
    assert "0 rows" in refused(tmp_path, "# only a comment\n", "points.libsvm")


def test_zero_rows_in_binary_formats(tmp_path):
    np.save(tmp_path / "none.npy", np.empty((0, 3)))
    with pytest.raises(DataError, match="0 rows"):
        read(str(tmp_path / "none.npy"))
    np.savez(tmp_path / "none.npz", x=np.empty((0, 3)), y=np.empty(0))
    with pytest.raises(DataError, match="0 rows"):
        read(str(tmp_path / "none.npz"))


@pytest.mark.parametrize(
    ("suffix", "compress"), [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)]
)
def test_damaged_compression(tmp_path, suffix, compress):
    content = compress(GOOD.encode() * 50)
    assert f"{suffix} data truncated or damaged" in refused(
        tmp_path, content[: len(content) // 2], f"points.csv{suffix}"
    )
    flipped = bytearray(content)
    flipped[len(content) // 2] ^= 0xFF
    assert f"{suffix} data truncated or damaged" in refused(tmp_path, bytes(flipped), f"points.csv{suffix}")
    assert f"is named {suffix} but is not compressed that way" in refused(tmp_path, GOOD, f"points.csv{suffix}")


def test_an_unknown_format(tmp_path):
    message = refused(tmp_path, bytes(range(128, 256)) * 4, "points.xyz")
    assert "unknown suffix '.xyz'" in message
    assert ".libsvm" in message
    assert "cannot be told" in refused(tmp_path, "{'a': 1}\n", "points.json")


def test_one_class_and_many_classes(tmp_path):
    one = refused(tmp_path, "x,label\n1,4\n2,4\n")
    assert "all 2 labels are '4'; expected two classes" in one
    alone = refused(tmp_path, "x,label\n1,4\n")
    assert "the only label is '4'; expected two classes" in alone
    many = refused(tmp_path, "x,label\n1,red\n2,green\n3,blue\n")
    assert "3 classes ('blue', 'green', 'red'); expected two" in many
    assert "points.csv[positive=blue]" in many
    assert "[task=regression]" in many
    wrong = refused(tmp_path, "x,label\n1,red\n2,green\n3,blue\n", positive="geen")
    assert "no row has the label 'geen' (did you mean 'green'?)" in wrong
    crowd = refused(tmp_path, "x,label\n" + "".join(f"1,{i}\n" for i in range(30)))
    assert "'11' and 18 more" in crowd


@pytest.mark.parametrize("value", ["", "nan", "NA", "?", "inf", "-inf"])
def test_a_value_that_is_not_finite_is_located_in_a_table(tmp_path, value):
    message = refused(tmp_path, f"a,b,label\n1,2,0\n3,{value},1\n5,?,1\n")
    assert "row 2, column 'b' (column 2) holds" in message
    assert "expected a finite number" in message


def test_a_value_that_is_not_finite_is_located_elsewhere(tmp_path):
    assert "row 2, column 3 holds nan" in refused(tmp_path, "1 1:1 2:1 3:1\n-1 1:2 3:nan\n", "points.libsvm")
    wide = "1 7:1 2000:1\n-1 9:inf\n"
    assert "row 2, column 9 holds inf" in refused(tmp_path, wide, "points.libsvm")
    rows = np.ones((700_000, 3), dtype=np.float32)
    rows[::2, 2] = 0
    rows[654_321, 1] = np.nan
    np.save(tmp_path / "large.npy", rows)
    with pytest.raises(DataError, match="row 654322, column 2 holds nan"):
        read(str(tmp_path / "large.npy"))
    header = "@relation r\n@attribute a numeric\n@attribute class {u,v}\n@data\n"
    assert "row 2, column 'a' (column 1) holds nan" in refused(tmp_path, header + "1,u\n?,v\n", "points.arff")


def test_a_missing_label(tmp_path):
    assert "the label of row 2 is nan" in refused(tmp_path, "a,label\n1,0\n2,\n3,1\n")
    assert "the label of row 2 is missing" in refused(tmp_path, "a,label\n1,u\n2,\n3,v\n")
    header = "@relation r\n@attribute a numeric\n@attribute class {u,v}\n@data\n"
    assert "the label of row 1 is missing" in refused(tmp_path, header + "1,?\n2,v\n", "points.arff")


def test_a_column_of_text(tmp_path):
    message = refused(tmp_path, "age,colour,label\n1,2,0\n3,red,1\n")
    assert "column 'colour' is not numeric: row 2 holds 'red'" in message
    assert "Encode it as numbers" in message
    assert "column '#2' is not numeric: row 1 holds 'red'" in refused(tmp_path, "1,red,0\n3,blue,1\n")


def test_a_label_column_that_is_not_there(tmp_path):
    message = refused(tmp_path, "age,colour,klass\n1,2,0\n3,4,1\n", label_column="class")
    assert "no column 'class' (did you mean 'klass'?)" in message
    assert "has 3 columns; label_column=3 is not one of 0..2" in refused(tmp_path, "1,2,0\n3,4,1\n", label_column="3")
    assert "it has no header" in refused(tmp_path, "1,2,0\n3,4,1\n", label_column="class")
    assert "leave out label_column=1" in refused(tmp_path, "1 1:2\n-1 1:3\n", "points.libsvm", label_column="1")


def test_two_columns_that_could_be_the_label(tmp_path):
    text = "a,Label,y\n1,0,1\n3,1,1\n"
    message = refused(tmp_path, text)
    assert "has the columns 'Label' and 'y', each of which could be the label" in message
    assert message.endswith("Say which it is with [label_column=Label].")
    x, y = read(str(tmp_path / "points.csv"), label_column="Label")
    assert (x.tolist(), y.tolist()) == ([[1, 1], [3, 1]], [-1, 1])


def test_no_features(tmp_path):
    assert "has no features, only labels" in refused(tmp_path, "1\n-1\n", "points.libsvm")
    assert "has no features, only labels" in refused(tmp_path, "label\n1\n2\n")


def test_broken_text(tmp_path):
    assert "is not LIBSVM text" in refused(tmp_path, "1 1:2 2:oops\n", "points.libsvm")
    assert "is not LIBSVM text" in refused(tmp_path, "1 3:2 2:1\n", "points.libsvm")
    assert "is not a table" in refused(tmp_path, "1,2,0\n3,4,1,9\n")
    assert "is not UTF-8 text" in refused(tmp_path, b"a,label\n1,\xff\n")
    assert "is not ARFF as read here" in refused(tmp_path, "@relation r\n@attribute a string\n@data\nx\n", "p.arff")
    sparse = "@relation r\n@attribute a numeric\n@attribute class {u,v}\n@data\n{0 1, 1 u}\n"
    assert "is sparse ARFF, which is not read here. Convert it" in refused(tmp_path, sparse, "points.arff")


def test_broken_binary_files(tmp_path):
    assert "is not a NumPy file of numbers" in refused(tmp_path, b"not an array", "points.npy")
    assert "is not a NumPy file of numbers" in refused(tmp_path, b"PK\x03\x04 no archive", "points.npz")
    assert "is not a Parquet file" in refused(tmp_path, b"PAR1 no parquet PAR1", "points.parquet")
    np.save(tmp_path / "flat.npy", np.ones(5))
    with pytest.raises(
        DataError, match=r"holds an array of float64 of shape \(5,\); expected numbers of shape \(n, d \+ 1\)"
    ):
        read(str(tmp_path / "flat.npy"))
    np.save(tmp_path / "objects.npy", np.array([[1, "a"]], dtype=object))
    with pytest.raises(DataError, match="is not a NumPy file of numbers"):
        read(str(tmp_path / "objects.npy"))
    np.save(tmp_path / "whole.npy", np.ones((5, 3)))
    whole = (tmp_path / "whole.npy").read_bytes()
    assert "it is damaged or not whole" in refused(tmp_path, whole[:-9], "short.npy")


def test_archives_with_the_wrong_arrays(tmp_path):
    np.savez(tmp_path / "a.npz", points=np.ones((2, 2)), labels=np.ones(2))
    with pytest.raises(DataError, match=r"holds the arrays labels, points; expected x and y, or x_train"):
        read(str(tmp_path / "a.npz"))
    np.savez(tmp_path / "b.npz", x=np.ones((3, 2)), y=np.ones(2))
    with pytest.raises(
        DataError,
        match=r"the points have 3 rows, their labels shape \(2,\); expected \(3,\), one label for each row\. Write the file",
    ):
        read(str(tmp_path / "b.npz"))
    np.savez(tmp_path / "t.npz", x=np.ones((3, 2)), y=np.ones(3), x_test=np.ones((2, 2)), y_test=np.ones(1))
    with pytest.raises(DataError, match=r"the test points have 2 rows, their labels shape \(1,\); expected \(2,\)"):
        read(str(tmp_path / "t.npz"))
    np.savez(tmp_path / "h.npz", X=np.ones((3, 2)), y=np.ones(3), X_test=np.ones((2, 2)))
    with pytest.raises(
        DataError, match=r"holds X_test but no y_test; expected both .* Write the file again with y_test"
    ):
        read(str(tmp_path / "h.npz"))
    np.savez(tmp_path / "f.npz", x=np.ones(3), y=np.ones(3))
    with pytest.raises(DataError, match=r"the points x are float64 of shape \(3,\).*one feature is points\.reshape"):
        read(str(tmp_path / "f.npz"))
    np.savez(tmp_path / "c.npz", x=np.ones((3, 2, 2)), y=np.ones(3))
    with pytest.raises(
        DataError,
        match=r"the points x are float64 of shape \(3, 2, 2\); expected numbers of shape \(n, d\)\. Write the",
    ):
        read(str(tmp_path / "c.npz"))


def test_a_source_without_its_file_or_with_a_wrong_parameter(tmp_path):
    with pytest.raises(DataError, match="there is no file"):
        FileSource(path=str(tmp_path / "gone.csv")).load()
    with pytest.raises(UsageError, match=r"data file 'a.csv': parameter test_fraction=1.5"):
        FileSource(path="a.csv", test_fraction=1.5)
    with pytest.raises(UsageError, match=r"expected 'none' or 'standard' or 'minmax'"):
        FileSource(path="a.csv", scale="robust")
