"""Whatever is wrong with a file ends in one sentence that names the file, what is wrong in it, and what to do.

A line to type that a sentence prints is applied, and loads at least nine tenths of the rows.
"""
# ruff: noqa: E501 - the rows of a table

from __future__ import annotations

import gzip
import io
import os
import random
import re
import shlex
import zipfile

import numpy as np
import pandas as pd
import pytest

from harness import DataError
from harness.datasets import FileSource, validate
from harness.datasets.bounds import available_memory, bound, reading_within
from harness.datasets.readers import read_parts
from harness.registry import load_registry
from reports.robustness.campaign import spoilt, valid_files
from tests.datasets.test_files import PACK, refusal, sentence
from tests.datasets.test_inputs import ARFF, BIG, CODES, COMMA, HUGE, PLAIN, RNG, A, B, N, Y, rows, write

CSV = b"x,label\n" + b"".join(b"%d,%d\n" % (i, i % 2) for i in range(20))
TRAIN = "a,b,label\n1,2,0\n3,4,1\n"
SMALL_ARFF = "@relation r\n@attribute a numeric\n@attribute class {u,v}\n@data\n"
X4, Y4 = np.arange(8.0).reshape(4, 2), np.array([0, 1, 0, 1])


def written(write, *given, **named):
    """Return the bytes that a writer of files writes."""
    write(file := io.BytesIO(), *given, **named)
    return file.getvalue()


def array(values):
    return written(np.save, values, allow_pickle=True)


def archive(**arrays):
    return written(np.savez, **arrays)


def parquet(**columns):
    return written(lambda file: pd.DataFrame(columns).to_parquet(file))


def header(shape, values=bytes(800)):
    """Return an array that claims a shape."""
    text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\1\0" + len(text).to_bytes(2, "little") + text + values


def members(content):
    """Return an archive both of whose arrays are the same file."""
    with zipfile.ZipFile(file := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("x.npy", content)
        packed.writestr("y.npy", content)
    return file.getvalue()


REFUSED = {  # name -> content, parameters, whether it prints a line to type, words of the sentence
    "codes_merge.csv": (rows(A, B, np.where(Y > 0, "1", "01"), head="a,b,label"), {}, False, "'01' and '1' are written differently"),
    "exponents.csv": (rows(A, B, np.where(Y > 0, "1e5", "100000"), head="a,b,label"), {}, False, "written differently"),
    "text.csv": (rows(CODES, B, Y, head="zip,b,label"), {}, True, "text in 'zip' (3 values"),
    "commas.csv": (rows(COMMA, Y, sep=";", head="a;label"), {}, True, "numbers with a comma in 'a'"),
    "trailing.csv": (rows(A, B, Y, [""] * N), {}, True, "no value at all in '#4'. Write"),
    "tennis.csv": (rows(["sunny", "rain"] * 20, ["hot"] * N, ["no", "no", "yes", "no"] * 10), {}, True, "may be names or a point"),
    "counted.csv": (rows(A, B, Y, head="0,1,2"), {}, True, "its numbers count the columns"),
    "typo_name.csv": (rows(A, B, Y, head="1.O,2,3"), {}, True, "holds '1.O' above numbers"),
    "dates_and_counts.csv": (rows([f"19{49 + i // 12}-{1 + i % 12:02}" for i in range(N)], range(100, 100 + N), head="Month,Passengers"), {}, True, "dates in 'Month'"),
    "three.csv": (rows(A, B, np.arange(N) % 3, head="a,b,label"), {}, True, "3 classes"),
    "two_labels.csv": (rows(A, Y, Y, head="a,label,y"), {}, True, "could each be the label"),
    "capitals.csv": (rows(A, B, ["Yes", "no", "yes", "No"] * 10, head="a,b,label"), {}, False, "'No' and 'no' are written differently"),
    "shuffled_index.csv": (rows(RNG.permutation(N) + 7, A, B, Y, head=",a,b,label"), {}, True, "row numbers or ids in '#1'"),
    "passengers.csv": (rows(range(N), A, Y, head="PassengerId,a,label"), {}, True, "row numbers or ids in 'PassengerId'"),
    "trailing_twice.csv": (rows(A, B, Y, [""] * N, [""] * N, head="a,b,kind,,"), {}, True, "no value at all in '#4', '#5'"),
    "blank_names.csv": (rows([f"C{i}" for i in range(N)], A, Y, head="Individual  ID,a,label"), {}, True, "for categories in 'Individual  ID'"),
    "years.csv": (rows(A, B, Y, head="2001,2002,2003"), {}, True, "its last cell does not occur among the 2"),
    "few_dates.csv": (rows(["2024-05-01", "2024-05-02"] * 20, B, Y, head="when,b,label"), {}, True, "dates in 'when' (2 values, '2024-05-01' ...)", "dates=days"),
    "comma_labels.csv": (rows(B.astype(int), COMMA, sep=";", head="b;label"), {}, True, "numbers with a comma in 'label'"),
    "thousand_dots.csv": (rows(["900", "1.350"] * 20, Y, sep=";", head="a;label"), {}, False, "900 beside 1.350 in 'a'"),
    "shares.csv": (rows([f"{i} %" for i in range(N)], B, Y, head="a,b,label"), {}, False, "signs or blanks in 'a' (40: '0 %' in lines 2"),
    "prices.csv": (rows([f"$1 {i:03}.50" for i in range(N)], B, Y, head="a,b,label"), {}, False, "signs or blanks in 'a'"),
    "open_quote.csv": (rows(A, B, ['"yes"', '"no"'] * 20, head="a,b,label").replace('"no"', '"no', 1), {}, False, "row that begins in line 3 do not pair"),
    "r_names.csv": (rows(range(N), A, B, Y, head="a,b,label"), {}, False, "Name the column that has no name"),
    "label_gap.csv": (rows(A, B, ["", *Y[1:]], head="a,b,label"), {}, True, "empty cells in the label"),
    "label_gaps.csv": (rows(A, B, ["", "NA", "?", "null", "nan", *Y[5:]], head="a,b,label"), {}, False, "empty cells in the label"),
    "infinite.csv": (rows(["inf", *A[1:]], B, Y, head="a,b,label"), {}, False, "not a finite number in 'a'"),
    "dot_in_comma.csv": (rows([*COMMA[1:], "1.25"], Y, sep=";", head="a;label"), {"decimal": "comma"}, False, "'1.25'"),
    "thousands_or_not.csv": (rows(['"1,500"'] * N, Y, head="a,label"), {}, False, "write 1,000 as 1000"),
    "ragged.csv": (PLAIN + "1,2,3,4\n", {}, False, "line 42 has 4"),
    "short.csv": (PLAIN + "1,2\n", {}, False, "line 42 has 2"),
    "twice.csv": (rows(A, B, Y, head="a,a,label"), {}, False, "2 columns called 'a'"),
    "one_class.csv": (rows(A, B, [1] * N, head="a,b,label"), {}, False, "expected two classes"),
    "bad.libsvm": ("1 1:1\n-1 1:2\n1 1:x\n", {}, False, "cannot be read", "line 3: ", "x"),
    "ids.libsvm": (rows(BIG, [f"1:{a}" for a in A], sep=" "), {}, False, "beyond 2^53"),
    "pointer.csv": ("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n", {}, False, "Git LFS"),
    "page.csv": ("<!DOCTYPE html>\n<html><body>Not found</body></html>\n", {}, False, "HTML"),
    "page.parquet": ("<html><body>Not found</body></html>\n", {}, False, "HTML"),
    "lines.csv": ('[{"a": 1, "label": 0}]\n', {}, False, "JSON"),
    "utf16_no_bom.csv": (PLAIN.encode("utf-16-le"), {}, False, "UTF-16LE"),
    "latin1.csv": (PLAIN.replace("a,b", "größe,b").encode("latin-1"), {}, False, "not UTF-8"),
    "latin1.arff": (ARFF.replace("yes", "thé").encode("latin-1"), {}, False, "not UTF-8"),
    "comments.csv": ("# nothing\n\n", {}, False, "0 rows of data"),
    "negative.libsvm": ("1 -2:2\n-1 1:1\n", {}, False, "Invalid index -2"),
    "wide.libsvm": ("1 1:1\n-1 2000000000:3\n", {}, False, "2 points", "2,000,000,000 columns", "30,517.58 MB", "--memory-limit"),
    "nan.libsvm": ("1 1:1 2:1\n-1 1:1 3:nan\n", {}, False, "row 2, column 3 holds nan", "Fill in or drop"),
    "commas.libsvm": ("1,2,3\n4,5,6\n", {}, False, "1,2,3", ".csv"),
    "no_rows.csv": ("a,label\n", {}, False, "0 rows"),
    "sheet.xlsx": (b"PK", {}, False, "spreadsheet", "CSV"),
    "flat.npy": (array(np.ones(5)), {}, False, "float64 of shape (5,)", "(n, d + 1)", "numpy.save"),
    "objects.npy": (array(np.array([[1, "a"]], dtype=object)), {}, False, "Python objects"),
    "cut.npy": (array(np.column_stack([X4, Y4]))[:-9], {}, False, "cannot be read"),
    "more.npy": (array(np.column_stack([X4, Y4])) + b"more", {}, False, "more bytes after it"),
    "names.npz": (archive(points=X4, labels=Y4), {}, False, "labels, points; expected x and y", "numpy.savez"),
    "lengths.npz": (archive(x=X4, y=Y4[:3]), {}, False, "4 rows of points and labels of shape (3,)", "equal length"),
    "test_part.npz": (archive(x=X4, y=Y4, x_test=X4), {}, False, "x_test", "expected x and y"),
    "objects.npz": (archive(x=X4.astype(object), y=Y4), {}, False, "allow_pickle=False"),
    "missing.npz": (archive(x=X4, y=np.array(["a", " NaN"] * 2)), {}, False, "label of row 2 is missing, 2 of the 4"),
    "claims.npz": (members(header("(1000000000000, 10)")), {}, False, "memory"),
    "damaged.parquet": (b"PAR1 no parquet PAR1", {}, False, "cannot be read", "write it again"),
    "words.arff": (SMALL_ARFF + "1,u\nred,v\n", {}, False, "cannot be read", "Invalid numerical value, at line 6"),
    "unknown.xyz": (bytes(range(128, 256)) * 4, {}, False, "its suffix is '.xyz'", ".libsvm"),
    "zero.csv": (b"", {}, False, "is empty (0 bytes)"),
    "nothing.csv.gz": (gzip.compress(b""), {}, False, "0 rows of data"),
    "claims.npy.gz": (gzip.compress(header("(1000000000000, 10)")), {}, False, "memory"),
    "lists.parquet": (parquet(a=[[1.0], [2.0]] * 20, label=Y), {}, True, "text in 'a' (2 values, '[1.]' ...)"),
    "stamps.parquet": (parquet(a=pd.to_datetime(["2020-01-01"] * N), label=Y), {}, True, "dates in 'a' (1 value, '2020-01-01 00:00:00')"),
    "gaps.arff": (SMALL_ARFF + "1,u\n?,v\n" + "1,u\n2,v\n" * 19, {}, True, "empty cells in 'a' (1: row 2)"),
    "huge.csv": (HUGE, {}, False, "squares of its numbers overflow"),
    "huge_standard.csv": (HUGE, {"scale": "standard"}, False, "squares of its numbers overflow", "give the parameter scale=minmax."),
    "huge.npy": (array(np.column_stack([X4 * 1e300, Y4])), {"scale": "standard"}, False, "squares of its numbers overflow"),
    "huge.libsvm": ("-1 1:1 2:1e300 50:4\n1 1:2 2:-1e300 50:2\n" * 20, {}, False, "squares of its numbers overflow"),
    "name.csv": (TRAIN, {"label_column": "lable"}, False, "no column 'lable' (did you mean 'label'?)"),
    "position.csv": (TRAIN, {"label_column": "3"}, False, "no column '3'; expected one of its 3 columns"),
    "label_column.libsvm": ("1 0:2\n-1 1:3\n", {"label_column": "1"}, False, "no choice of label_column; leave"),
    "header.libsvm": ("1 0:2\n-1 1:3\n", {"header": "yes"}, False, "no choice of header; leave"),
    "base.csv": (TRAIN, {"index_base": "1"}, False, "no choice of index_base"),
    "base.libsvm": ("1 0:2\n-1 1:3\n", {"index_base": "1"}, False, "has the index 0, which index_base=1 excludes"),
    "numbers.csv": ("a,label\n1,u\n2,v\n", {"task": "regression"}, False, "task=regression expects numbers"),
    "test_headless.csv": (TRAIN, {"test": "1,2,0\n3,4,1\n"}, False, "test.csv' has other columns than ", ": no 'a', 'b', 'label', and '#1', '#2', '#3' besides; expected the same names"),
    "test_unlabelled.csv": (TRAIN, {"test": "a,b\n1,2\n3,4\n"}, False, "no 'label'; "),
    "test_class.csv": (TRAIN, {"test": "a,b,label\n1,2,0\n3,4,7\n"}, False, "the label '7' does not occur in the training data"),
    "test_text.csv": (TRAIN, {"test": "a,b,label\n1,x,0\n3,4,1\n"}, False, "test.csv': not a finite number in 'b' (1: 'x' in line 2)"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_names_the_file_and_the_cause_and_what_it_prints_works(tmp_path, name):
    content, parameters, prints, *said = REFUSED[name]
    path = write(tmp_path, name, content)
    if "test" in parameters:
        name, parameters = "test.csv", {"test": write(tmp_path, "test.csv", parameters["test"])}
    message = refusal(FileSource(path=path, **parameters))
    assert [words for words in [name, *said] if words not in message] == []
    assert (" Write `--datasets " in message) == prints
    if prints:
        (source,) = load_registry().select_datasets(shlex.split(re.search("`--datasets (.*?)`", message)[1]))
        data = source.load()
        assert len(data.y_train) + len(data.y_test) >= 0.9 * N


@pytest.mark.parametrize("suffix", [*PACK][1:])
def test_damaged_compression(tmp_path, suffix):
    path, content, half = tmp_path / f"a.csv{suffix}", PACK[suffix](CSV * 50), len(PACK[suffix](CSV * 50)) // 2
    flipped = content[:half] + bytes([content[half] ^ 0xFF]) + content[half + 1 :]
    more = PACK[suffix](CSV.removeprefix(b"x,label\n") * 2)
    for damaged in (content[:half], flipped, content + more[:-6], content + b"no stream" + more):
        path.write_bytes(damaged)
        assert "it is damaged" in refusal(path)
    # two streams and what pads them; a file that is only named so
    for sound, n in ((PACK[suffix](CSV) + more + bytes(12), 60), (CSV, 20)):
        path.write_bytes(sound)
        assert FileSource(path=path, test_fraction=0).load().x_train.shape == (n, 1)


@pytest.mark.parametrize("suffix", [*PACK][1:])
@pytest.mark.parametrize("line", [b"1 1:2\n", b"1,2,3\n", b"\0"])
def test_what_unpacks_to_more_than_the_limit(tmp_path, suffix, line):
    name = f"bomb.{'csv' if b',' in line else 'libsvm'}{suffix}"
    path = write(tmp_path, name, PACK[suffix](line * (2**20 // len(line) + 1)))
    assert "reading may take 1.00 MB (--memory-limit). Give a greater --memory-limit, or unpack" in refusal(path, 2**20)


MEMORY = [  # name, content, what the sentence says where reading may take 1 MB
    ("a.npz", members(header("(40000, 10)", bytes(3_200_000))), "its arrays takes 6.10 MB; reading may take 1.00 MB"),
    ("a.parquet", parquet(a=np.zeros(100_000), label=np.arange(100_000) % 2), "its table of 100000 x 2 takes 1.53 MB"),
    ("a.npy", array(np.arange(400_000, dtype=np.int8).reshape(-1, 2)), "as float64, takes 1.53 MB"),
]


def test_what_takes_more_memory_than_the_limit(tmp_path):
    for name, content, said in MEMORY:
        assert said in refusal(write(tmp_path, name, content), 2**20)
    with (tmp_path / "a.csv").open("wb") as file:
        file.truncate(10**12)
    assert "its content takes 953,674.32 MB" in refusal(tmp_path / "a.csv")


def test_a_wide_index_can_be_meant(tmp_path):
    path = write(tmp_path, "wide.libsvm", "1 1:1\n-1 70000000:3\n1 1:2\n-1 1:3\n")
    assert "70,000,000 columns" in refusal(path)
    assert "70,000,000 columns" in refusal(path, 2**30)
    with reading_within(2**31):
        (part,) = read_parts([(str(path), "wide")], FileSource(path=path))
    assert part.x.shape == (4, 70_000_000)


def test_the_bound_is_the_users_or_half_of_what_is_there():
    with reading_within(12345):
        assert bound() == 12345
        with reading_within(None):
            assert bound() == 12345
    assert 0.8 < 2 * bound() / available_memory() < 1.25


def test_paths_that_are_no_data_file(tmp_path):
    write(tmp_path, "heart.csv", CSV)
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


def test_a_mutant_of_each_format_is_read_or_refused_in_a_sentence(tmp_path):
    rng = random.Random(0)
    for path in valid_files(tmp_path):
        FileSource(path=path).load()
        for number in range(12):
            mutant = write(tmp_path, f"mutant{number}{path.suffix}", spoilt(path.read_bytes(), rng))
            try:
                validate(FileSource(path=mutant).load())
            except DataError as error:
                message = sentence(error)
                assert mutant.name in message
