"""FileSource: what stays on disk, index bases, splits, scaling, test files and the cache of parsed files."""

import bz2
import gzip
import lzma
import os
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from harness import DataError
from harness.datasets import DataSource, FileSource, cache, validate
from harness.datasets.bounds import reading_within

PACK = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


def dense(x):
    return x.toarray() if scipy.sparse.issparse(x) else np.asarray(x)


def whole(path, **parameters):
    """Return the data of a file that has no test part."""
    return FileSource(path=path, test_fraction=0, **parameters).load()


def assert_points(data, x, y):
    """Check that the training part of data has these points and labels."""
    np.testing.assert_array_equal(dense(data.x_train), x)
    np.testing.assert_array_equal(data.y_train, y)


def refusal(source, limit=None):
    """Return the sentence with which a source or a path is refused, at once."""
    began, source = time.monotonic(), source if isinstance(source, DataSource) else FileSource(path=str(source))
    with reading_within(limit), pytest.raises(DataError) as caught:
        validate(source.load())
    assert time.monotonic() - began < 30
    return sentence(caught.value)


def sentence(error):
    """Return the text of an error after checking that it is a sentence."""
    message = str(error)
    assert message.isprintable(), message
    assert message.endswith((".", "?")), message
    assert len(message) < 1000, message
    return message


def libsvm_bytes(x, labels, base=1):
    """Write it by hand: the reader must not be tested with its own library's writer."""
    cells = (" ".join(f"{j}:{v!r}" for j, v in enumerate(row, base) if v) for row in x.tolist())
    return "".join(f"{label} {row}\n" for label, row in zip(labels, cells, strict=True)).encode()


def test_what_stays_on_disk_sparse_or_single(tmp_path):
    x, y = np.random.default_rng(5).normal(0, 30, (12, 3)), np.where(np.arange(12) % 2, 1.0, -1.0)
    for dtype, kept in ((np.float32, np.float32), (">f8", np.float64), (np.int16, np.float64)):
        np.save(tmp_path / "a.npy", np.asfortranarray(np.column_stack([np.round(x), y])).astype(dtype))
        data = whole(tmp_path / "a.npy")
        validate(data)
        assert isinstance(data.x_train, np.memmap)
        assert (Path(data.x_train.filename).parent.parent.name, data.x_train.dtype) == ("parsed", kept)
        assert_points(data, np.round(x), y)
    np.savez_compressed(tmp_path / "a.npz", X=x.astype(np.float32), y=y, X_test=x[:2], y_test=y[:2])
    data = FileSource(path=tmp_path / "a.npz").load()
    assert (data.x_train.dtype, data.x_test.shape) == (np.float32, (2, 3))
    path = tmp_path / "thin.libsvm"
    path.write_text("".join(f"{1 if i % 2 else -1} {i + 1}:{-2 * (i + 1)} 50:4\n" for i in range(40)))
    data = whole(path, scale="standard")
    validate(data)
    assert isinstance(data.x_train, scipy.sparse.csr_array)
    assert (data.x_train.nnz, set(data.x_train.data), data.x_test.shape) == (80, {-1.0, 1.0}, (0, 50))


def test_the_training_file_decides_the_index_base_and_doubt_is_refused(tmp_path):
    x, labels = np.random.default_rng(0).integers(1, 9, (40, 6)).astype(float), np.arange(20) % 2
    x[20:, 0] = 0.0
    train, test, from1 = (tmp_path / name for name in ("train", "test", "from1"))
    for path, part, base in ((train, x[:20], 0), (test, x[20:], 0), (from1, x[:20], 1)):
        path.write_bytes(libsvm_bytes(part, labels, base))
    data = FileSource(path=train, test=test).load()
    assert_points(data, x[:20], np.where(labels, 1, -1))
    np.testing.assert_array_equal(dense(data.x_test), x[20:])
    for one, other in ((test, train), (train, from1), (from1, train)):  # the first decides, and `test` does not say
        assert "do both begin with 0" in refusal(FileSource(path=one, test=other))
    np.testing.assert_array_equal(dense(FileSource(path=test, test=train, index_base=0).load().x_train), x[20:])
    assert (whole(test).x_train.shape, whole(test, index_base=0).x_train.shape) == ((20, 5), (20, 6))


def test_a_test_file_may_lack_the_last_features_and_a_class(tmp_path):
    train, test = tmp_path / "a9a", tmp_path / "a9a.t"
    train.write_text("1 1:1 30:1\n2 2:1\n" + "2 3:1\n" * 5)
    for index, width in ((1, 30), (40, 40)):
        test.write_text(f"2 {index}:1\n2 2:1\n")
        data = FileSource(path=train, test=test).load()
        validate(data)
        assert (data.x_train.shape, data.x_test.shape, data.y_test.tolist()) == ((7, width), (2, width), [1, 1])


# -- parts -------------------------------------------------------------------------------------------------


def test_a_quarter_is_held_out_class_by_class(tmp_path, monkeypatch):
    x = np.random.default_rng(1).standard_normal((100, 3)) * [1, 10, 100] + [0, 5, -5]
    path = str(tmp_path / "heart.csv")
    pd.DataFrame(x, columns=[*"abc"]).assign(label=["sick"] * 20 + ["healthy"] * 80).to_csv(path, index=False)
    data, other, alone, both = (
        FileSource(path=path, **given).load() for given in ({}, {"split_seed": 1}, {"test_fraction": 0}, {"test": path})
    )
    validate(data)
    assert ((data.y_train > 0).sum(), (data.y_test > 0).sum(), len(data.y_test)) == (15, 5, 25)
    assert sorted(np.vstack([data.x_train, data.x_test]).tolist()) == sorted(x.tolist())
    assert sorted(other.x_train.tolist()) != sorted(data.x_train.tolist())
    assert data.name == (path if len(path) <= 40 else "heart.csv")
    assert other.name.endswith("heart.csv[split_seed=1]")
    assert (alone.x_train.shape, alone.x_test.shape) == ((100, 3), (0, 3))
    assert alone.defaults == {"kernel": "rbf", "gamma": pytest.approx(1 / (3 * x.var())), "C": 1.0}
    np.testing.assert_array_equal(both.x_train, both.x_test)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert FileSource(path="~/heart.csv").load().sha256 == data.sha256
    assert "text in 'label'" in refusal(FileSource(path=path, label_column="a", task="regression"))


def test_points_of_which_nothing_is_to_be_scaled(tmp_path):
    path = tmp_path / "constant.csv"
    path.write_text("a,b,label\n1,7,0\n2,7,1\n")
    for scale in ("none", "standard", "minmax"):
        data = FileSource(path=path, scale=scale, test_fraction=0.9).load()  # each class keeps a point
        validate(data)
        assert sorted(data.y_train) == [-1, 1]
    for tiny in ("a,label\n7,0\n7,1\n", "a,label\n0,0\n1e-156,1\n"):  # a finite default gamma
        path.write_text(tiny)
        assert FileSource(path=path).load().defaults["gamma"] == 1.0


# -- the cache of parsed files -----------------------------------------------------------------------------


def test_a_file_is_parsed_again_only_when_its_content_changes(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    path.write_text("a,label\n1,0\n2,1\n")
    first, facts = whole(path), path.stat()
    with monkeypatch.context() as patch:
        patch.setattr(FileSource, "_parse", lambda self: pytest.fail("parsed again"))
        assert whole(path).sha256 == first.sha256
    path.write_text("a,label\n1,0\n3,1\n")
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))  # of the same size and time
    assert_points(whole(path), [[1], [3]], [-1, 1])


def test_a_file_edited_while_it_is_read_is_not_taken_for_the_one_before(tmp_path, monkeypatch):
    path, sha256 = tmp_path / "a.csv", cache.file_sha256
    path.write_text("a,label\n1,0\n2,5\n")
    with monkeypatch.context() as patch:
        patch.setattr(cache, "file_sha256", lambda file: (sha256(file), path.write_text("a,label\n1,0\n3,5\n"))[0])
        assert "has changed while it was read" in refusal(FileSource(path=path, test_fraction=0))
    path.write_text("a,label\n1,0\n2,5\n")
    assert_points(whole(path), [[1], [2]], [-1, 1])
