"""Files and folders in chunks: the same points as the whole file, for every size of chunk and part, and every refusal."""

import itertools
import os
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool, ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness import ChunkedFile, DataError, HarnessError, PartitionedData, UsageError
from tests.datasets.test_files import PACK, dense, libsvm_bytes


def drawn(n=57, d=5, share=1.0, seed=0):
    rng = np.random.default_rng(seed)
    x = np.where(rng.random((n, d)) < share, rng.normal(size=(n, d)), 0.0)
    x[0, d - 1] = 1.0  # LIBSVM text knows d by its last column
    return x, np.where(np.arange(n) % 3 == 0, 2.0, 1.0)


def together(chunks):
    parts = list(chunks)
    return np.concatenate([dense(x) for x, _ in parts]), np.concatenate([y for _, y in parts])


def written(path, x, labels):
    if path.suffix == ".npy":
        np.save(path, np.column_stack([x, labels]))
    elif path.suffix == ".parquet":
        columns = {f"f{j}": column for j, column in enumerate(x.T)}
        pd.DataFrame({"Target": labels, **columns}).to_parquet(path)  # the label first
    else:
        text = libsvm_bytes(x, [f"{label:g}" for label in labels]) or b"# nothing here\n"
        path.write_bytes(PACK.get(path.suffix, bytes)(text))
    return str(path)


def in_parts(folder, x, labels, suffix=".npy", sizes=(20, 0, 7, 30)):  # 57 examples in all
    folder.mkdir(exist_ok=True)
    for number, (first, last) in enumerate(itertools.pairwise(np.cumsum([0, *sizes]))):
        written(folder / f"part-{number:02d}{suffix}", x[first:last], labels[first:last])
    return str(folder)


def end(*_):
    os._exit(1)


def refusal(data, path, kind=DataError, **options):
    with pytest.raises(kind) as found:
        list(data(str(path), **options))
    return str(found.value)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.integers(2, 40), st.integers(1, 6), st.integers(1, 45), st.sampled_from([0.15, 1.0]), st.integers(0, 999),
    st.sampled_from(list(PACK)),
)  # fmt: skip
def test_chunks_and_parts_of_any_size_put_together_are_the_file(tmp_path, n, d, rows, share, seed, packed):
    x, labels = drawn(n, d, share, seed)
    few = (x != 0).sum() < 0.25 * x.size
    for suffix in (".npy", ".parquet", f".libsvm{packed}"):
        path = written(tmp_path / f"all{suffix}", x, labels)
        folder = in_parts(tmp_path / suffix[1:], x, labels, suffix, (n // 3, 0, n - n // 3))
        for data in (ChunkedFile(path, rows), PartitionedData(folder, rows)):
            assert (data.n, data.d, data.labels) == (n, d, {2.0: -(-n // 3), 1.0: n - -(-n // 3)})
            for _ in range(2):  # a second pass starts at the beginning
                got, y = together(data)
                np.testing.assert_array_equal(got, x)
                np.testing.assert_array_equal(y, np.where(labels == 2.0, 1.0, -1.0))
            assert all(len(y) <= rows and scipy.sparse.issparse(x) == ("lib" in suffix and few) for x, y in data)


def test_parts_have_the_order_of_their_names_whoever_reads_them(tmp_path):
    x, labels = drawn()
    labels[:20] = 2.0  # a part of one class
    where = in_parts(tmp_path / "parts", x, labels)
    (tmp_path / "parts/_SUCCESS").write_text("")
    with ThreadPoolExecutor(3) as pool:
        data = PartitionedData(f"{where}/*", 6, executor=pool)
    np.testing.assert_array_equal(together(data)[0], x)
    whole = ChunkedFile(written(tmp_path / "all.npy", x, labels))
    assert (len(data), data.starts.tolist(), data.classes) == (4, [0, 20, 20, 27], whole.classes)


def test_the_index_of_a_pandas_frame_is_no_feature(tmp_path):
    frame = pd.DataFrame({"a": [0.5, 1.5, 2.5], "label": [0, 1, 1]}, index=[7, 3, 5])
    frame.to_parquet(tmp_path / "a.parquet")
    np.testing.assert_array_equal(together(ChunkedFile(str(tmp_path / "a.parquet"), 2))[0], frame[["a"]])


def test_the_index_base_is_that_of_all_lines_and_parts_or_said(tmp_path):
    path = tmp_path / "part-0.svm"
    path.write_text("# comment\n\n1 1:5 2:6\n\n-1 1:7 # another\n1 0:1 2:2\n")  # index 0 is in the last chunk only
    np.testing.assert_array_equal(together(ChunkedFile(str(path), 1))[0], [[0, 5, 6], [0, 7, 0], [1, 0, 2]])
    assert "has the index 0, which index_base=1 excludes" in refusal(ChunkedFile, path, index_base=1)
    path.write_text("1 1:5 2:6\n-1 1:7\n")
    np.testing.assert_array_equal(together(ChunkedFile(str(path), 1, index_base="0"))[0], [[0, 5, 6], [0, 7, 0]])
    np.testing.assert_array_equal(together(ChunkedFile(str(path), 1))[0], [[5, 6], [7, 0]])
    (tmp_path / "part-1.svm").write_text("-1 0:7\n1 1:8\n")
    parts = together(PartitionedData(str(tmp_path)))[0]
    np.testing.assert_array_equal(parts, [[0, 5, 6], [0, 7, 0], [7, 0, 0], [0, 8, 0]])


@pytest.mark.parametrize("suffix", [".npy", ".libsvm"])
def test_memory_is_a_chunk_and_not_the_file(tmp_path, suffix):
    x, labels = drawn(6000, 20)
    path, size = written(tmp_path / f"points{suffix}", x, labels), x.nbytes
    del x
    next(iter(ChunkedFile(path, 60)))  # imports what is imported late
    tracemalloc.start()
    total = sum(len(y) for _, y in ChunkedFile(path, 60))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert total == 6000
    assert peak < 0.5 * size


@pytest.mark.parametrize("suffix", [".npy", ".libsvm", ".parquet"])
def test_a_value_or_label_that_is_missing_is_refused_with_its_row(tmp_path, suffix):
    x, labels = drawn()
    x[33, 2] = np.inf
    path = in_parts(tmp_path / "parts", x, labels, suffix)
    assert f"part-03{suffix}': row 7, column 3 is inf" in refusal(PartitionedData, path, rows=6)
    labels[33] = np.nan
    in_parts(tmp_path / "parts", x, labels, suffix)
    with ThreadPoolExecutor(1) as pool:
        message = refusal(PartitionedData, path, rows=6, executor=pool)
    assert f"part-03{suffix}': the label of row 7 is missing" in message


def test_what_makes_no_data_set_is_refused_in_a_sentence(tmp_path):
    x, labels = drawn()
    for data, wrong in itertools.product((ChunkedFile, PartitionedData), ({"index_base": 2}, {"rows": 0})):
        assert "expected 1 or more, and 'auto', 0 or 1" in refusal(data, tmp_path, kind=UsageError, **wrong)
    where = in_parts(tmp_path / "wide", x, labels)
    written(tmp_path / "wide/part-09.npy", x[:, 1:], labels)
    assert "part-09.npy' has other columns (npy, 5 columns), unlike" in refusal(PartitionedData, where)
    in_parts(tmp_path / "wide", x, labels, ".libsvm")
    assert "part-00.npy' has other columns (npy, 6 columns), unlike" in refusal(PartitionedData, where)
    where = in_parts(tmp_path / "names", x, labels, ".parquet")
    frame = pd.read_parquet(tmp_path / "names/part-00.parquet")
    for changed, sentence in (
        (frame.rename(columns={"f1": "g"}), "unlike"),
        (frame.rename(columns={"f1": "y"}), "the columns 'Target', 'y' could each be the label"),
        (frame.assign(f1="text"), "part-00.parquet' has the columns 'f1 ("),
    ):
        changed.to_parquet(tmp_path / "names/part-00.parquet")
        assert sentence in refusal(PartitionedData, where)


def test_a_part_that_vanishes_or_changes_and_a_pool_that_breaks_are_sentences(tmp_path):
    x, labels = drawn()
    data = PartitionedData(in_parts(tmp_path / "parts", x, labels))
    path = tmp_path / "parts/part-02.npy"
    for changed, most in ((x[:6], 6), (x[:9], 0), (x[:7, 1:], 0)):
        written(path, changed, labels[: len(changed)])
        chunks = []
        with pytest.raises(DataError, match=r"02.npy' has changed since it was first read, when it had 7 rows of 5"):
            chunks.extend(data.parts[2])
        assert sum(len(y) for _, y in chunks) == most
    path.unlink()
    with pytest.raises(DataError, match=r"there is no file '.*part-02.npy'"):
        list(data)
    path = tmp_path / "a.svm"
    for changed in ("1 0:5\n-1 1:7\n", "1 1:5\n-1 3:7\n"):  # beyond the columns that were counted
        path.write_text("1 1:5 2:6\n-1 1:7\n")
        chunks = ChunkedFile(str(path), 1)
        path.write_text(changed)
        with pytest.raises(DataError, match=r"has indices from . to .; expected 1 to 2"):
            list(chunks)
    failed = pytest.raises(HarnessError, match=r"the executor failed at the part '.*part-.*': BrokenProcessPool")
    with ProcessPoolExecutor(1, mp_context=get_context("forkserver")) as pool, failed as found:
        list(data.passes(end, dict.fromkeys(range(4), ()), pool))
    assert isinstance(found.value.__cause__, BrokenProcessPool)
