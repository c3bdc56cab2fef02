"""Files in chunks: the same points as the reader of whole files, for every size of chunk, and every refusal."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness import ChunkedFile, DataError, UsageError
from tests.datasets.test_files import PACK, dense, libsvm_bytes


def drawn(n=57, d=5, share=1.0, seed=0):
    rng = np.random.default_rng(seed)
    x = np.where(rng.random((n, d)) < share, rng.normal(size=(n, d)), 0.0)
    x[0, d - 1] = 1.0  # LIBSVM text knows d by its last column
    return x, np.where(np.arange(n) % 3 == 0, 2.0, 1.0)


def together(chunks):
    parts = list(chunks)
    return np.concatenate([dense(x) for x, _ in parts]), np.concatenate([y for _, y in parts])


def written(tmp_path, x, labels, suffix=".npy", packed=""):
    path = tmp_path / f"points{suffix}{packed}"
    if suffix == ".npy":
        np.save(path, np.column_stack([x, labels]))
    else:
        path.write_bytes(PACK[packed](libsvm_bytes(x, [f"{label:g}" for label in labels])))
    return str(path)


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.integers(2, 40), st.integers(1, 6), st.integers(1, 45), st.sampled_from([0.15, 1.0]), st.integers(0, 999),
    st.sampled_from(list(PACK)),
)  # fmt: skip
def test_chunks_of_any_size_put_together_are_the_file(tmp_path, n, d, rows, share, seed, packed):
    x, labels = drawn(n, d, share, seed)
    for kind in (".npy", ".libsvm"):
        file = ChunkedFile(written(tmp_path, x, labels, kind, packed if kind == ".libsvm" else ""), rows)
        assert (file.n, file.d, len(file)) == (n, d, -(-n // rows))
        for _ in range(2):  # a second pass starts at the beginning
            got_x, got_y = together(file)
            np.testing.assert_array_equal(got_x, x)
            np.testing.assert_array_equal(got_y, np.where(labels == 2.0, 1.0, -1.0))
        few = (x != 0).sum() < 0.25 * x.size
        assert all(scipy.sparse.issparse(part) == (kind == ".libsvm" and few) for part, _ in file)


def test_the_index_base_is_that_of_the_whole_file_or_said(tmp_path):
    path = tmp_path / "zero.svm"
    path.write_text("# comment\n\n1 1:5 2:6\n\n-1 1:7 # another\n1 0:1 2:2\n")  # index 0 is in the last chunk only
    got, y = together(ChunkedFile(str(path), 1))
    np.testing.assert_array_equal(got, [[0, 5, 6], [0, 7, 0], [1, 0, 2]])
    np.testing.assert_array_equal(y, [1, -1, 1])
    with pytest.raises(DataError, match="has the index 0, which index_base=1 excludes"):
        ChunkedFile(str(path), 1, index_base=1)
    path.write_text("1 1:5 2:6\n-1 1:7\n")
    np.testing.assert_array_equal(together(ChunkedFile(str(path), 1, index_base="0"))[0], [[0, 5, 6], [0, 7, 0]])
    np.testing.assert_array_equal(together(ChunkedFile(str(path), 1))[0], [[5, 6], [7, 0]])
    for changed in ("1 0:5\n-1 1:7\n", "1 1:5\n-1 3:7\n"):  # beyond the columns that were counted
        path.write_text("1 1:5 2:6\n-1 1:7\n")
        chunks = ChunkedFile(str(path), 1)
        path.write_text(changed)
        with pytest.raises(DataError, match=r"has indices from . to .; expected 1 to 2"):
            list(chunks)
    for wrong in ({"index_base": 2}, {"rows": 0}):
        with pytest.raises(UsageError, match="expected 1 or more, and 'auto', 0 or 1"):
            ChunkedFile(str(path), **wrong)


@pytest.mark.parametrize("kind", [".npy", ".libsvm"])
def test_memory_is_a_chunk_and_not_the_file(tmp_path, kind):
    x, labels = drawn(6000, 20)
    path, size = written(tmp_path, x, labels, kind), x.nbytes
    del x
    next(iter(ChunkedFile(path, 60)))  # imports what is imported late
    tracemalloc.start()
    total = sum(len(y) for _, y in ChunkedFile(path, 60))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert total == 6000
    assert peak < 0.5 * size


def test_what_cannot_be_read_is_refused_in_a_sentence(tmp_path):
    x, labels = drawn()

    def refusal(path, content=None):
        path = tmp_path / path
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(DataError) as found:
            list(ChunkedFile(str(path), 2))
        return str(found.value)

    text = libsvm_bytes(x, labels)
    assert "none.npy'" in refusal("none.npy")
    assert "is csv; chunks are read from" in refusal("table.csv", b"a,b,label\n1,2,3\n")
    assert "3 classes" in refusal("three.libsvm", b"1 1:2\n2 1:2\n3 1:2\n")
    assert "it is damaged" in refusal("damaged.libsvm.gz", PACK[".gz"](text)[:-40])
    assert "magic string" in refusal("magic.npy", b"not an array at all")
    assert "expected two classes" in refusal("one.libsvm", b"1 1:2\n1 1:3\n")
    assert "base 10: b'x'" in refusal("text.libsvm", b"1 1:2\n-1 1:3\n1 x:1\n")
    assert "2 rows of 0 features" in refusal("bare.libsvm", b"1\n-1\n")
    assert "2,000,000,000 columns" in refusal("wide.libsvm", b"1 1:1\n-1 2000000000:3\n")
    x[33, 2] = np.nan
    bad = labels.copy()
    bad[41] = np.nan
    for kind in (".npy", ".libsvm"):
        assert "row 34, column 3 holds nan" in refusal(written(tmp_path, x, labels, kind))
        assert "the label of row 42 is missing" in refusal(written(tmp_path, drawn()[0], bad, kind))
