"""A data set in parts: the same points as one file, whoever reads them, and every refusal."""

from __future__ import annotations

import hashlib
import itertools
import os
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from harness import ChunkedFile, DataError, HarnessError, PartitionedData, UsageError
from tests.datasets.test_chunks import drawn, together
from tests.datasets.test_files import libsvm_bytes

SIZES = (20, 0, 7, 30)  # of 57 examples


def write(path, x, labels):
    if path.suffix == ".npy":
        np.save(path, np.column_stack([x, labels]))
    elif path.suffix == ".parquet":
        frame = pd.DataFrame(x, columns=[f"f{j}" for j in range(x.shape[1])])
        frame.insert(1, "Target", labels)
        frame.to_parquet(path)
    else:
        path.write_bytes(libsvm_bytes(x, [f"{label:g}" for label in labels]) or b"# nothing here\n")


def in_parts(folder, x, labels, suffix=".npy", sizes=SIZES):
    folder.mkdir(exist_ok=True)
    ends = np.cumsum([0, *sizes])
    for number, (first, last) in enumerate(itertools.pairwise(ends)):
        write(folder / f"part-{number:02d}{suffix}", x[first:last], labels[first:last])
    return str(folder)


def end(*_):
    os._exit(1)


@pytest.mark.parametrize("share", [0.15, 1.0])
@pytest.mark.parametrize("suffix", [".npy", ".libsvm", ".parquet"])
def test_the_parts_are_the_file_whatever_their_sizes_and_whoever_reads_them(tmp_path, suffix, share):
    x, labels = drawn(share=share)
    labels[:20] = 2.0  # a part of one class
    where = in_parts(tmp_path / "parts", x, labels, suffix)
    (tmp_path / "parts/_SUCCESS").write_text("")
    write(tmp_path / f"all{suffix}", x, labels)
    whole, (points, signs) = (
        ChunkedFile(str(tmp_path / f"all{suffix}")),
        together(ChunkedFile(str(tmp_path / f"all{suffix}"))),
    )
    with ThreadPoolExecutor(3) as pool:
        found = [PartitionedData(where, 6), PartitionedData(f"{where}/part-*", 50, executor=pool)]
    for data in found:
        got, y = together(data)
        np.testing.assert_array_equal(got, points)
        np.testing.assert_array_equal(y, signs)
        assert (data.n, data.d, data.classes, len(data)) == (57, 5, whole.classes, 4)
        assert data.starts.tolist() == [0, 20, 20, 27]
        assert data.counts == ((signs < 0).sum(), (signs > 0).sum())
        digests = [hashlib.sha256(Path(part.path).read_bytes()).digest() for part in data.parts]
        assert data.sha256 == hashlib.sha256(b"".join(digests)).hexdigest()


def test_the_index_base_is_that_of_all_parts(tmp_path):
    for number, text in enumerate(("1 1:5 2:6\n", "-1 0:7\n1 1:8\n")):
        (tmp_path / f"part-{number}.svm").write_text(text)
    np.testing.assert_array_equal(together(PartitionedData(str(tmp_path)))[0], [[0, 5, 6], [7, 0, 0], [0, 8, 0]])


def test_what_makes_no_data_set_is_refused_in_a_sentence(tmp_path):
    x, labels = drawn()

    def refusal(name, kind=DataError, **options):
        with pytest.raises(kind) as found:
            list(PartitionedData(str(tmp_path / name), **options))
        return str(found.value)

    (tmp_path / "empty").mkdir()
    assert "is an empty folder; expected a folder of parts" in refusal("empty")
    assert "is no folder, and no file has such a name" in refusal("none*.npy")
    assert "rows=0" in refusal("empty", UsageError, rows=0)
    in_parts(tmp_path / "one", x, np.ones(57))
    assert "one: each of the 57 labels is '1'; expected two classes" in refusal("one")
    in_parts(tmp_path / "wide", x, labels)
    write(tmp_path / "wide/part-09.npy", x[:, 1:], labels)
    assert "part-09.npy' is npy with 4 features; expected parts of one format and one width" in refusal("wide")
    in_parts(tmp_path / "names", x, labels, ".parquet")
    frame = pd.read_parquet(tmp_path / "names/part-00.parquet")
    frame.rename(columns={"f1": "g"}).to_parquet(tmp_path / "names/part-00.parquet")
    assert "the names of their columns differ" in refusal("names")
    frame.assign(f1="text").to_parquet(tmp_path / "names/part-00.parquet")
    assert "part-00.parquet' has the column 'f1' of another type; expected columns of numbers" in refusal("names")
    in_parts(tmp_path / "mixed", x, labels)
    in_parts(tmp_path / "mixed", x, labels, ".libsvm")
    assert "part-00.npy' is npy with 5 features" in refusal("mixed")
    x[33, 2] = np.inf
    for suffix in (".npy", ".libsvm", ".parquet"):
        in_parts(tmp_path / suffix, x, labels, suffix)
        assert f"part-03{suffix}': row 7, column 3 holds inf" in refusal(suffix)
    labels[33] = np.nan
    in_parts(tmp_path / ".npy", x, labels)
    assert "part-03.npy': the label of row 7 is missing" in refusal(".npy", rows=6)


def test_a_part_that_vanishes_or_changes_and_a_pool_that_breaks_are_sentences(tmp_path):
    x, labels = drawn()
    data = PartitionedData(in_parts(tmp_path / "parts", x, labels))
    for rows in (slice(0, 6), slice(0, 9)):
        write(tmp_path / "parts/part-02.npy", x[rows], labels[rows])
        with pytest.raises(
            DataError, match=r"part-02.npy' has changed since it was first read, when it had 7 rows of 5"
        ):
            list(data)
    (tmp_path / "parts/part-02.npy").unlink()
    with pytest.raises(DataError, match=r"there is no file '.*part-02.npy'"):
        list(data)
    with (
        ProcessPoolExecutor(1, mp_context=get_context("forkserver")) as pool,
        pytest.raises(HarnessError, match=r"the executor failed at the part '.*part-.*': BrokenProcessPool") as found,
    ):
        list(data.passes(end, dict.fromkeys(range(4), ()), pool))
    assert isinstance(found.value.__cause__, BrokenProcessPool)
