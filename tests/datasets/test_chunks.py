"""Files in chunks: the same points as the reader of whole files, for every size of chunk, and every refusal."""

from __future__ import annotations

import bz2
import gzip
import lzma
import tracemalloc

import numpy as np
import pytest
import scipy.sparse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.datasets.chunks import ChunkedFile
from harness.errors import DataError, UsageError
from tests.datasets.reading import read
from tests.datasets.test_readers import libsvm_bytes

COMPRESS = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


def drawn(n=57, d=5, share=1.0, seed=0):
    rng = np.random.default_rng(seed)
    x = np.where(rng.random((n, d)) < share, rng.normal(size=(n, d)), 0.0)
    x[0, d - 1] = 1.0  # LIBSVM text knows d by its last column
    return x, np.where(np.arange(n) % 3 == 0, 2.0, 1.0)


def together(chunks):
    parts = list(chunks)
    xs = [x.toarray() if scipy.sparse.issparse(x) else np.asarray(x) for x, _ in parts]
    return np.concatenate(xs), np.concatenate([y for _, y in parts])


def written(tmp_path, x, labels, suffix=".npy", dtype=np.float64):
    path = tmp_path / f"points{suffix}"
    if suffix.startswith(".npy"):
        plain = tmp_path / "plain.npy"
        np.save(plain, np.column_stack([x, labels]).astype(dtype))
        content = plain.read_bytes()
    else:
        content = libsvm_bytes(x, [f"{label:g}" for label in labels])
    end = suffix[suffix.rfind(".") :]
    path.write_bytes(COMPRESS.get(end, bytes)(content))
    return str(path)


@pytest.mark.parametrize("kind", [".npy", ".libsvm"])
@pytest.mark.parametrize("packed", COMPRESS)
@pytest.mark.parametrize("share", [1.0, 0.1])
def test_chunks_put_together_are_the_file(tmp_path, kind, packed, share):
    x, labels = drawn(share=share)
    path = written(tmp_path, x, labels, kind + packed)
    whole_x, whole_y = read(path)
    for rows in (1, 10, 57, 1000):
        file = ChunkedFile(path, rows)
        assert (file.n, file.d, len(file)) == (57, 5, -(-57 // rows))
        for _ in range(2):  # a second pass starts at the beginning
            assert len(list(file)) == len(file)
            got_x, got_y = together(file)
            np.testing.assert_array_equal(got_x, x)
            np.testing.assert_array_equal(got_y, whole_y)
        first, _ = next(iter(file))
        assert scipy.sparse.issparse(first) == scipy.sparse.issparse(whole_x)


@settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(2, 40), st.integers(1, 6), st.integers(1, 45), st.sampled_from([0.15, 1.0]), st.integers(0, 999))
def test_any_size_of_chunk(tmp_path, n, d, rows, share, seed):
    x, labels = drawn(n, d, share, seed)
    for kind in (".npy", ".libsvm"):
        got_x, got_y = together(ChunkedFile(written(tmp_path, x, labels, kind), rows))
        np.testing.assert_array_equal(got_x, x)
        np.testing.assert_array_equal(got_y, np.where(labels == 2.0, 1.0, -1.0))


def test_indices_from_zero_are_told_by_the_whole_file(tmp_path):
    path = tmp_path / "zero.svm"
    path.write_text("1 1:5 2:6\n-1 1:7\n1 0:1 2:2\n")  # index 0 is in the last chunk only
    got, y = together(ChunkedFile(str(path), 1))
    np.testing.assert_array_equal(got, [[0, 5, 6], [0, 7, 0], [1, 0, 2]])
    np.testing.assert_array_equal(y, [1, -1, 1])


def test_the_index_base_can_be_said(tmp_path):
    path = tmp_path / "zero.svm"
    path.write_text("1 1:5 2:6\n-1 1:7\n")
    for base in (0, "0"):
        np.testing.assert_array_equal(together(ChunkedFile(str(path), 1, index_base=base))[0], [[0, 5, 6], [0, 7, 0]])
    np.testing.assert_array_equal(together(ChunkedFile(str(path), 1, index_base=1))[0], [[5, 6], [7, 0]])
    path.write_text("1 1:5 2:6\n-1 0:7\n")
    with pytest.raises(DataError, match="has the index 0, which index_base=1 excludes"):
        ChunkedFile(str(path), 1, index_base=1)
    with pytest.raises(UsageError, match="index_base=2; expected 'auto', 0 or 1"):
        ChunkedFile(str(path), 1, index_base=2)


def test_comments_and_blank_lines_are_no_examples(tmp_path):
    path = tmp_path / "gaps.svm"
    path.write_text("# a comment\n\n1 1:5\n\n\n\n-1 1:7 # another\n")
    file = ChunkedFile(str(path), 2)
    got, _ = together(file)
    assert file.n == 2
    np.testing.assert_array_equal(got, [[5], [7]])


@pytest.mark.parametrize(
    ("dtype", "kept"), [(np.float32, np.float32), (np.float64, np.float64), (np.int16, np.float64)]
)
def test_the_precision_of_an_array_is_kept(tmp_path, dtype, kept):
    x, labels = drawn()
    path = written(tmp_path, np.round(10 * x), labels, dtype=dtype)
    first, y = next(iter(ChunkedFile(path, 8)))
    assert first.dtype == kept
    assert first.flags.c_contiguous
    assert y.dtype == np.float64


def test_a_class_of_many_can_be_chosen(tmp_path):
    x, _ = drawn(30)
    labels = np.arange(30) % 3
    path = written(tmp_path, x, labels, ".libsvm")
    with pytest.raises(DataError, match="3 classes"):
        ChunkedFile(path, 4)
    _, y = together(ChunkedFile(path, 4, positive="1"))
    np.testing.assert_array_equal(y, np.where(labels == 1, 1.0, -1.0))


@pytest.mark.parametrize("kind", [".npy", ".libsvm"])
def test_memory_is_a_chunk_and_not_the_file(tmp_path, kind):
    x, labels = drawn(20_000, 20)
    path = written(tmp_path, x, labels, kind)
    size = x.nbytes
    del x
    next(iter(ChunkedFile(path, 100)))  # imports what is imported late
    tracemalloc.start()
    total = sum(len(y) for _, y in ChunkedFile(path, 100))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert total == 20_000
    assert peak < 0.2 * size


def refusal(path, rows=10):
    with pytest.raises(DataError) as found:
        list(ChunkedFile(str(path), rows))
    return str(found.value)


def test_what_cannot_be_read_is_refused_in_a_sentence(tmp_path):
    x, labels = drawn()
    good = written(tmp_path, x, labels)
    with pytest.raises(UsageError, match="rows=0; a chunk has at least one example"):
        ChunkedFile(good, 0)
    assert "there is no file 'none.npy'" in refusal(tmp_path / "none.npy")
    table = tmp_path / "table.csv"
    table.write_text("a,b,label\n1,2,3\n")
    assert "is csv; chunks are read from LIBSVM text and .npy" in refusal(table)
    cut = tmp_path / "cut.npy"
    cut.write_bytes((tmp_path / "plain.npy").read_bytes()[:-100])
    assert "ends in row 55 of 57" in refusal(cut)
    damaged = tmp_path / "damaged.npy.gz"
    damaged.write_bytes(gzip.compress((tmp_path / "plain.npy").read_bytes())[:-40])
    assert "truncated or damaged" in refusal(damaged)
    columns = tmp_path / "columns.npy"
    np.save(columns, np.asfortranarray(np.column_stack([x, labels])))
    assert "by columns" in refusal(columns)
    flat = tmp_path / "flat.npy"
    np.save(flat, labels)
    assert "expected numbers of shape (n, d + 1)" in refusal(flat)
    magic = tmp_path / "magic.npy"
    magic.write_bytes(b"not an array at all")
    assert "is not a NumPy file of numbers" in refusal(magic)
    one = written(tmp_path, x, np.ones(57), ".libsvm")
    assert "expected two classes" in refusal(one)
    text = tmp_path / "text.libsvm"
    text.write_text("1 1:2\n-1 1:3\n1 x:1\n")
    assert "not LIBSVM text: line 3" in refusal(text, 2)
    bare = tmp_path / "bare.libsvm"
    bare.write_text("1\n-1\n")
    assert "no features" in refusal(bare)


@pytest.mark.parametrize("kind", [".npy", ".libsvm"])
def test_what_is_not_finite_is_refused_with_its_row(tmp_path, kind):
    x, labels = drawn()
    x[33, 2] = np.nan
    assert "row 34, column 3 holds nan" in refusal(written(tmp_path, x, labels, kind))
    x[33, 2] = 1.0
    labels[41] = np.nan
    assert "the label of row 42 is not finite" in refusal(written(tmp_path, x, labels, kind))
