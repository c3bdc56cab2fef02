"""Columns of text and missing values: refused by name, or made numbers by what the training part shows alone."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from harness.datasets import FileSource, encoding, validate
from harness.errors import DataError

TRAIN = "size,colour,label\n1,red,0\n?,blue,1\n4,red,0\n7,,1\n"
TEST = "size,colour,label\n,green,0\n2,blue,1\n3,,0\n"


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "cache"))

    def written(train=TRAIN, test=TEST):
        paths = []
        for name, text in (("train.csv", train), ("test.csv", test)):
            (tmp_path / name).write_text(text)
            paths.append(str(tmp_path / name))
        return {"path": paths[0], "test": paths[1]}

    return written


def refusal(**parameters):
    with pytest.raises(DataError) as caught:
        FileSource(**parameters).load()
    return str(caught.value)


def test_without_the_options_they_are_named(files):
    message = refusal(**files())
    assert "column 'colour' is not numeric: row 1 holds 'red'" in message
    assert "parameter categories=one-hot" in message
    assert "missing=mean or missing=drop" in refusal(**files(), categories="one-hot")


def test_what_fills_and_encodes_is_learnt_from_the_training_part(files):
    data = FileSource(**files(), categories="one-hot", missing="mean").load()
    validate(data)
    # of the training part: mean 4, most frequent red; columns size, blue, red
    np.testing.assert_array_equal(data.x_train, [[1, 0, 1], [4, 1, 0], [4, 0, 1], [7, 0, 1]])
    np.testing.assert_array_equal(data.x_test, [[4, 0, 0], [2, 1, 0], [3, 0, 1]])


def test_the_test_part_of_a_split_teaches_nothing(files):
    rows = [f"{i},{'ab'[i // 2 % 2]},{i % 2}\n" for i in range(39)]
    text = "size,colour,label\n" + "".join(rows) + ",rare,1\n"
    for seed in range(9):
        source = FileSource(path=files(text)["path"], categories="one-hot", missing="mean", split_seed=seed)
        data = source.load()
        x = np.vstack([data.x_train, data.x_test])
        in_training = data.x_train.shape[1] == 4  # a, b and rare
        (row,) = np.flatnonzero(x[:, 1:3].sum(axis=1) == 0)
        assert (row < len(data.x_train)) == in_training
        known = np.delete(x, row, axis=0)[: len(data.x_train) - in_training, 0]
        assert x[row, 0] == pytest.approx(known.mean())


def test_rows_can_be_dropped(files):
    data = FileSource(**files(TRAIN + "8,pink,1\n"), categories="one-hot", missing="drop").load()
    assert data.x_train.tolist() == [[1, 0, 1], [4, 0, 1], [8, 1, 0]]  # size, pink, red
    assert data.y_train.tolist() == [-1, -1, 1]
    assert data.x_test.tolist() == [[2, 0, 0]]


def test_what_is_no_category_or_has_no_value(files):
    slip = "a,label\n" + "".join(f"{i},{i % 2}\n" for i in range(9)) + "1.O,0\n"
    assert "most of its cells are numbers, and '1.O' is none" in refusal(
        path=files(slip)["path"], categories="one-hot", header="yes"
    )
    names = "a,label\n" + "".join(f"n{i},{i % 2}\n" for i in range(99))
    assert "it has 99 values in 99 rows" in refusal(path=files(names)["path"], categories="one-hot")
    empty = "a,b,label\n1,?,0\n2,?,1\n"
    assert "has no value in the training part" in refusal(path=files(empty)["path"], missing="mean")
    assert "leaves none" in refusal(path=files(empty)["path"], missing="drop")
    gone = "a,b,label\n1,2,0\n2,3,\n3,4,1\n"
    assert "the label of row 2 is nan" in refusal(path=files(gone)["path"], missing="mean")
    text = "red,big,yes\nblue,small,no\nred,small,yes\n"
    assert "may be names or a point: the second row is text too" in refusal(
        path=files(text)["path"], categories="one-hot"
    )


def test_the_options_are_for_tables_alone(tmp_path):
    (tmp_path / "a.libsvm").write_text("1 1:1\n-1 1:2\n")
    assert "leave out missing=mean" in refusal(path=str(tmp_path / "a.libsvm"), missing="mean")


def test_many_categories_are_sparse(monkeypatch):
    codes = np.arange(90.0)[:, None] % 30
    texts = {0: tuple(map(str, range(30)))}
    dense, _ = encoding.one_hot((codes, codes[:0]), texts)
    monkeypatch.setattr(encoding, "_SPARSE_FROM", 100)
    sparse, none = encoding.one_hot((codes, codes[:0]), texts)
    assert isinstance(sparse, scipy.sparse.csr_array)
    assert none.shape == (0, 30)
    np.testing.assert_array_equal(sparse.toarray(), dense)
