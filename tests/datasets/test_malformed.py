"""Whatever is wrong with a file ends in one sentence that names the file, what is wrong in it, and what to do."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import random
import time
import zipfile

import numpy as np
import pandas as pd
import pytest

from harness import DataError
from harness.datasets import FileSource, validate
from harness.datasets.bounds import available_memory, bound, reading_within
from reports.robustness.campaign import spoilt, valid_files

PACK = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
CSV = "x,label\n" + "".join(f"{i},{i % 2}\n" for i in range(20))
ARFF = "@relation r\n@attribute a numeric\n@attribute class {u,v}\n@data\n"


def refusal(path, limit=None, **parameters):
    """Return the sentence with which a file is refused, at once."""
    began = time.monotonic()
    with reading_within(limit), pytest.raises(DataError) as caught:
        validate(FileSource(path=str(path), **parameters).load())
    assert time.monotonic() - began < 30
    message = str(caught.value)
    assert message.endswith((".", "?")), message
    assert message.isprintable()
    assert len(message) < 1000
    return message


def array(values):
    file = io.BytesIO()
    np.save(file, values, allow_pickle=True)
    return file.getvalue()


def archive(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def parquet(**columns):
    file = io.BytesIO()
    pd.DataFrame(columns).to_parquet(file)
    return file.getvalue()


def header(shape, values=bytes(800)):
    """Return an array that claims a shape."""
    text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\1\0" + len(text).to_bytes(2, "little") + text + values


def members(content):
    """Return an archive both of whose arrays are the same file."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        for name in ("x.npy", "y.npy"):
            packed.writestr(name, content)
    return file.getvalue()


X, Y = np.arange(8.0).reshape(4, 2), np.array([0, 1, 0, 1])

MALFORMED = [  # name, content, what the sentence has to say
    ("a.libsvm", "1 1:2 2:oops\n-1 1:1\n", ["cannot be read", "oops"]),
    ("a.libsvm", "1 2:2 2:1\n-1 1:1\n", ["sorted and unique"]),
    ("a.libsvm", "1 -2:2\n-1 1:1\n", ["Invalid index -2"]),
    ("a.libsvm", "1 1:1\n-1 3\n", ["cannot be read"]),
    ("a.libsvm", "1 1:1\n-1 2000000000:3\n", ["2 points", "2,000,000,000 columns", "30,517.58 MB", "--memory-limit"]),
    ("a.libsvm", "1 1:1 2:1\n-1 1:1 3:nan\n", ["row 2, column 3 holds nan", "Fill in or drop"]),
    ("a.libsvm", "1,2,3\n4,5,6\n", ["1,2,3", ".csv"]),
    ("a.csv", "day,label\n2020-01-01,0\n2020-01-02,1\n", ["dates in 'day' (values: 2, '2020-01-01' ...)", "dates=days"]),
    ("a.csv", "a,label\n", ["0 rows"]),
    ("a.xlsx", b"PK", ["spreadsheet", "CSV"]),
    ("a.npy", array(np.ones(5)), ["float64 of shape (5,)", "(n, d + 1)", "numpy.save"]),
    ("a.npy", array(np.array([[1, "a"]], dtype=object)), ["Python objects"]),
    ("a.npy", array(np.column_stack([X, Y]))[:-9], ["cannot be read"]),
    ("a.npy", array(np.column_stack([X, Y])) + b"more", ["more bytes after it"]),
    ("a.npy", b"not an array", ["the magic string is not correct"]),
    ("a.npy.gz", gzip.compress(header("(1000000000000, 10)")), ["memory"]),
    ("a.npz", archive(points=X, labels=Y), ["labels, points; expected x and y", "numpy.savez"]),
    ("a.npz", archive(x=X, y=Y[:3]), ["4 points and labels of shape (3,)", "equal length"]),
    ("a.npz", archive(x=X, y=Y, x_test=X), ["x_test", "expected x and y"]),
    ("a.npz", archive(x=X.astype(object), y=Y), ["allow_pickle=False"]),
    ("a.npz", archive(x=X, y=np.array(["a", " NaN"] * 2)), ["label of row 2 is missing, 2 of the 4"]),
    ("a.npz", members(header("(1000000000000, 10)")), ["memory"]),
    ("a.parquet", b"PAR1 no parquet PAR1", ["cannot be read", "write it again"]),
    ("a.parquet", parquet(a=[[1.0], [2.0]], label=[0, 1]), ["text in 'a' (values: 2, '[1.]' ...)"]),
    ("a.parquet", parquet(a=pd.to_datetime(["2020-01-01"] * 2), label=[0, 1]), ["dates in 'a' (values: 1, '2020-01-01 00:00:00'"]),
    ("a.arff", ARFF + "1,u\n?,v\n", ["empty cells in 'a' (1: row 2)"]),
    ("a.arff", ARFF + "1,u\nred,v\n", ["cannot be read", "Invalid numerical value, at line 6"]),
    ("a.xyz", bytes(range(128, 256)) * 4, ["its suffix is '.xyz'", ".libsvm"]),
    ("a.csv", b"", ["is empty (0 bytes)"]),
    ("a.csv.gz", gzip.compress(b""), ["0 rows of data"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "content", "said"), MALFORMED, ids=[f"{number}-{each[0]}" for number, each in enumerate(MALFORMED)]
)
def test_a_malformed_file_is_refused_with_the_value_and_the_remedy(tmp_path, name, content, said):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    message = refusal(path)
    assert [words for words in [name, *said] if words not in message] == []


@pytest.mark.parametrize("suffix", PACK)
def test_damaged_compression(tmp_path, suffix):
    path, content = tmp_path / f"a.csv{suffix}", PACK[suffix](CSV.encode() * 50)
    flipped = bytearray(content)
    flipped[len(content) // 2] ^= 0xFF
    more = PACK[suffix](CSV.encode().removeprefix(b"x,label\n") * 2)
    path.write_bytes(PACK[suffix](CSV.encode()) + more)  # two streams
    assert FileSource(path=str(path), test_fraction=0).load().x_train.shape == (60, 1)
    for damaged in (content[: len(content) // 2], bytes(flipped), content + more[:-6], content + b"no stream" + more):
        path.write_bytes(damaged)
        assert "it is damaged" in refusal(path)
    path.write_text(CSV)
    assert FileSource(path=str(path), test_fraction=0).load().x_train.shape == (20, 1)  # only named so


@pytest.mark.parametrize("suffix", PACK)
@pytest.mark.parametrize("line", [b"1 1:2\n", b"1,2,3\n", b"\0"])
def test_what_unpacks_to_more_than_the_limit(tmp_path, suffix, line):
    path = tmp_path / f"bomb.{'csv' if b',' in line else 'libsvm'}{suffix}"
    path.write_bytes(PACK[suffix](line * (2**20 // len(line) + 1)))
    assert "reading may take 1.00 MB (--memory-limit). Give a greater --memory-limit, or unpack" in refusal(path, 2**20)


def test_what_takes_more_memory_than_the_limit(tmp_path):
    path = tmp_path / "a.npz"
    path.write_bytes(members(header("(40000, 10)", bytes(3_200_000))))
    assert "its arrays takes 6.10 MB; reading may take 1.00 MB" in refusal(path, 2**20)
    path.write_bytes(members(header("(4, 2)", bytes(64))))
    (tmp_path / "a.parquet").write_bytes(parquet(a=np.zeros(100_000), label=np.arange(100_000) % 2))
    assert "its table of 100000 x 2 takes 1.53 MB" in refusal(tmp_path / "a.parquet", 2**20)
    with (tmp_path / "a.csv").open("wb") as file:
        file.truncate(10**12)
    assert "its content takes 953,674.32 MB" in refusal(tmp_path / "a.csv")
    (tmp_path / "ints.npy").write_bytes(array(np.arange(400_000, dtype=np.int8).reshape(-1, 2)))
    assert "as float64, takes 1.53 MB" in refusal(tmp_path / "ints.npy", 2**20)


def test_a_wide_index_can_be_meant(tmp_path):
    path = tmp_path / "wide.libsvm"
    path.write_text("1 1:1\n-1 100000000:3\n1 1:2\n-1 1:3\n")
    assert "100,000,000 columns" in refusal(path)
    assert "100,000,000 columns" in refusal(path, 2**30)
    with reading_within(2**31):
        assert FileSource(path=str(path), test_fraction=0).load().x_train.shape == (4, 100_000_000)


def test_the_bound_is_the_users_or_half_of_what_is_there():
    with reading_within(12345):
        assert bound() == 12345
        with reading_within(None):
            assert bound() == 12345
    assert 0.8 < 2 * bound() / available_memory() < 1.25


def test_paths_that_are_no_data_file(tmp_path):
    (tmp_path / "heart.csv").write_text(CSV)
    assert "haert.csv' (did you mean 'heart.csv'?)" in refusal(tmp_path / "haert.csv")
    assert "there is no file" in refusal(tmp_path / "nowhere" / "heart.csv")
    (tmp_path / "loop.csv").symlink_to(tmp_path / "loop.csv")
    for path in ("a\0b.csv", "a\nb.csv", "~nobody-of-that-name/a.csv", tmp_path / ("x" * 300), tmp_path / "loop.csv"):
        refusal(path)
    os.mkfifo(tmp_path / "pipe.csv")
    for path in (tmp_path, tmp_path / "pipe.csv", "/dev/zero", ""):
        assert "is a folder, a pipe or a device" in refusal(path)
    if os.geteuid() != 0:
        (tmp_path / "heart.csv").chmod(0)
        assert "cannot be read" in refusal(tmp_path / "heart.csv")


def test_options_that_do_not_fit_the_file(tmp_path):
    table, text = tmp_path / "a.csv", tmp_path / "a.libsvm"
    table.write_text("age,colour,klass\n1,2,0\n3,4,1\n")
    text.write_text("1 0:2\n-1 1:3\n")
    assert "no column 'class' (did you mean 'klass'?)" in refusal(table, label_column="class")
    assert "no column '3'; expected one of its 3 columns" in refusal(table, label_column="3")
    assert "no row has the label '7'" in refusal(table, positive="7")
    for option in ({"label_column": "1"}, {"header": "yes"}):
        assert f"no choice of {next(iter(option))}; leave" in refusal(text, **option)
    assert "no choice of index_base" in refusal(table, index_base="1")
    assert "has the index 0, which index_base=1 excludes" in refusal(text, index_base="1")
    text.write_text("1 1:2\n-1 1:3\n")
    table.write_text("a,label\n1,u\n2,v\n")
    assert "task=regression expects numbers" in refusal(table, task="regression")


def test_a_test_file_that_does_not_fit(tmp_path):
    train, test = tmp_path / "train.csv", tmp_path / "test.csv"
    train.write_text("a,b,label\n1,2,0\n3,4,1\n")
    for content, said in (
        ("b,c,label\n1,2,0\n3,4,1\n", "test.csv' has no 'a', and 'c' besides, unlike '"),
        ("a,b,c,label\n1,2,0,0\n3,4,1,1\n", "test.csv' has 'c' besides, unlike '"),
        ("1,2,0\n3,4,1\n", " has no 'a', 'b', 'label', and '#1', '#2', '#3' besides"),
        ("a,b\n1,2\n3,4\n", "has no 'label', unlike "),
        ("a,label\n1,0\n3,1\n", "has no 'b', unlike "),
        ("a,b,label\n1,2,0\n3,4,7\n", "the label '7' does not occur in the training data"),
        ("a,b,label\n1,x,0\n3,4,1\n", "test.csv': not a finite number in 'b' (1: 'x' in line 2)"),
    ):
        test.write_text(content)
        assert said in refusal(train, test=str(test))


@pytest.mark.parametrize("name", ["huge.csv", "huge.libsvm", "huge.npy"])
def test_values_whose_squares_overflow_are_refused(tmp_path, name):
    path = tmp_path / name
    rows = [(float(i), (-1) ** i * 1e300, float(i % 2)) for i in range(40)]
    if name == "huge.npy":
        np.save(path, np.array(rows))
    elif name == "huge.csv":
        path.write_text("a,b,label\n" + "".join(f"{a},{b},{y}\n" for a, b, y in rows))
    else:
        path.write_text("".join(f"{y} 1:{a + 1} 2:{b} 50:1\n" for a, b, y in rows))
    assert "squares of its numbers overflow" in refusal(path)
    if name == "huge.libsvm":  # sparse columns are divided by their largest value
        assert abs(FileSource(path=str(path), scale="standard").load().x_train).max() == 1.0
    else:
        assert "give the parameter scale=minmax." in refusal(path, scale="standard")
        assert sorted(set(FileSource(path=str(path), scale="minmax").load().x_train[:, 1])) == [0, 1]


def test_a_mutant_of_each_format_is_read_or_refused_in_a_sentence(tmp_path):
    rng = random.Random(0)
    for path in valid_files(tmp_path):
        FileSource(path=str(path)).load()
        for number in range(12):
            mutant = tmp_path / f"mutant{number}{path.suffix}"
            mutant.write_bytes(spoilt(path.read_bytes(), rng))
            try:
                validate(FileSource(path=str(mutant)).load())
            except DataError as error:
                text = str(error)
                assert text.isprintable(), mutant
                assert len(text) < 1000, mutant
                assert mutant.name in text, text
                assert text.endswith((".", "?")), text
