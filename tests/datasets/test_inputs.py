"""Tables of files, frames and arrays as people have them: read right, or refused in a sentence whose remedy works.

What is read is compared with what the rows say. What is refused names the file and the cause; a line that it prints is applied,
and loads at least nine tenths of the rows.
"""
# ruff: noqa: E501 - the rows of a table

import functools
import gzip
import io
import itertools
import re
import shlex
import zipfile
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import harness
from harness import DataError
from harness.datasets import FileSource, validate
from harness.registry.discovery import load_registry
from tests.datasets.test_files import PACK, assert_points, dense, refusal, whole

N = 40
RNG = np.random.default_rng(7)
A, B = RNG.normal(size=N), RNG.normal(size=N)
Y = np.arange(N) % 2
X = np.column_stack([A, B])
SIGNS = np.where(Y > 0, 1.0, -1.0)


def written(write, *given, **named):
    """Return the bytes that a writer of files writes."""
    write(file := io.BytesIO(), *given, **named)
    return file.getvalue()


array, archive = functools.partial(written, np.save), functools.partial(written, np.savez)


def parquet(**columns):
    return written(pd.DataFrame(columns).to_parquet)


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


def rows(*columns, sep=",", head=""):
    lines = [sep.join(map(str, cells)) for cells in zip(*columns, strict=True)]
    return "\n".join([head, *lines] if head else lines) + "\n"


CODES = np.array([["0700", "0701", "B2"][i % 3] for i in range(N)])
COMMA = [str(a).replace(".", ",") for a in A]
PLAIN = rows(A, B, Y, head="a,b,label")
ARFF = "@relation r\n@attribute a numeric\n@attribute 'b b' { u , 'v w' }\n@attribute class {no,yes}\n@data\n"
KEEL = "@relation r\n@attribute a real [-3.0, 3.0]\n@attribute b real [-3.0, 3.0]\n@attribute Class {0, 1}\n@inputs a, b\n@outputs Class\n@data\n"
BIG = np.where(Y > 0, 2**60 + 1, 2**60)
HUGE = "a,b,label\n" + "0,1e300,0\n1,-1e300,1\n" * 20
TRAIN = "a,b,label\n1,2,0\n3,4,1\n"
SMALL_ARFF = "@relation r\n@attribute a numeric\n@attribute class {u,v}\n@data\n"
X4, Y4 = np.arange(8.0).reshape(4, 2), np.array([0, 1, 0, 1])

P = np.column_stack([A * 1e-8, B * 1e7, np.full(N, 7.0)])  # a constant feature, and a point twice, with opposite labels
P[4] = P[5]
WORDS = np.where(Y > 0, "spam", "ham")
CELLS = ([f"{j}:{v}" for v in column] for j, column in enumerate(P.T, 1))
P_LIBSVM = "\ufeff# comment\n" + rows([f"{y:+g}" for y in SIGNS], *CELLS, sep=" ")
P_CSV = "\ufeff" + rows(WORDS, *P.T, head="label,x0,x1,x2").replace("\n", "\r\n")

READ = {  # name -> content, parameters, points, targets
    "points": (P_LIBSVM, {}, P, SIGNS),
    "points.svm": (P_LIBSVM, {}, P, SIGNS),
    "points.csv": (P_CSV, {}, P, SIGNS),
    "points.t": (P_CSV, {}, P, SIGNS),
    "points.tsv": (P_CSV.replace(",", "\t"), {}, P, SIGNS),
    "points.npz": (archive(x=P, y=SIGNS[:, None].astype(np.int8)), {}, P, SIGNS),
    "points.npy": (array(np.column_stack([P, SIGNS])), {}, P, SIGNS),
    "whole.arff": ("@relation t\n@attribute a integer\n@attribute b Integer [0, 9]\n@attribute class {1,2}\n@data\n1.7,2,1\n2,3,2\n", {}, [[1.7, 2], [2, 3]], [-1, 1]),
    "bytes.parquet": (parquet(a=[b"1.5", b"2"], label=["ü".encode(), b"v"]), {"positive": "ü"}, [[1.5], [2]], [1, -1]),
    "points.parquet": (parquet(x0=P[:, 0], Target=WORDS, x1=P[:, 1], x2=P[:, 2]), {}, P, SIGNS),
    "points.arff": ("% a comment\n@relation r\n@attribute a numeric\n@attribute b numeric\n@attribute c numeric\n@attribute class {spam,ham}\n@data\n" + rows(*P.T, WORDS), {}, P, SIGNS),
    "utf16.csv": (PLAIN.encode("utf-16"), {}, X, SIGNS),
    "quoted.csv": (rows([f'"{a}"' for a in A], B, [f'"{y}"' for y in Y], head='"a","b","label"'), {}, X, SIGNS),
    "bars.csv": (rows(A, B, Y, sep="|", head="a|b|label"), {}, X, SIGNS),
    "blanks.txt": (rows(A, B, Y, sep="  ", head="a  b  label"), {}, X, SIGNS),
    "sep_line.csv": ("sep=;\n" + rows(A, B, Y, sep=";", head="a;b;label"), {}, X, SIGNS),
    "hash_names.txt": ("# a b label\n" + rows(A, B, Y, sep=" "), {}, X, SIGNS),
    "hash_comment.csv": ("# made by hand\n\n" + PLAIN, {}, X, SIGNS),
    "percent.csv": ("% exported\n" + PLAIN, {}, X, SIGNS),
    "headless_text_label.csv": (rows(A, B, np.where(Y > 0, "yes", "no")), {}, X, SIGNS),
    "decimal_comma.csv": (rows(COMMA, B.astype(int), Y, sep=";", head="a;b;label"), {"decimal": "comma"}, np.column_stack([A, B.astype(int)]), SIGNS),
    "thousands.csv": (rows(["1.250", "999,5"] * 20, B.astype(int), Y, sep=";", head="a;b;label"), {"decimal": "comma"}, np.column_stack([[1250, 999.5] * 20, B.astype(int)]), SIGNS),
    "big_labels.csv": (rows(A, B, BIG, head="a,b,label"), {}, X, SIGNS),
    "zero_codes.csv": (rows(A, B, np.where(Y > 0, "1", "01"), head="a,b,label"), {"positive": "1"}, X, SIGNS),
    "regression.csv": (rows(A, A + 0.5, head="a,b"), {}, A[:, None], (A + 0.5)),
    "dates.csv": (rows([f"2024-01-{1 + i % 28:02}" for i in range(N)], B, Y, head="when,b,label"), {"dates": "days"}, np.column_stack([19723.0 + np.arange(N) % 28, B]), SIGNS),
    "a.arff": (ARFF + rows(A, np.where(Y > 0, "u", "'v w'"), np.where(Y > 0, "yes", "no")), {"categories": "one-hot"}, np.column_stack([A, Y > 0, Y == 0]), SIGNS),
    "sparse.arff": (ARFF + "".join(f"{{0 {a}, 1 'v w', 2 {'yes' if y else 'no'}}}\n" for a, y in zip(A, Y, strict=True)), {"drop": "b b"}, A[:, None], SIGNS),
    "letters.arff": (ARFF.replace("yes", "thé").replace("no}", "café}").replace("{no", "{café") + rows(A, ["u"] * N, np.where(Y > 0, "thé", "café")), {"drop": "1"}, A[:, None], SIGNS),
    "keel.dat": (KEEL + rows(A, B, Y), {}, X, SIGNS),
    "zero.libsvm": (rows(SIGNS, [f"0:{a}" for a in A], [f"1:{b}" for b in B], sep=" "), {}, X, SIGNS),
    "label_third_last.csv": ("a;b;c\n0;5;8\n1;6;9\n", {"label_column": -3}, [[5, 8], [6, 9]], [-1, 1]),
    "no_header_label_first.csv": (rows(Y, A, B), {"label_column": 0}, X, SIGNS),
    "blanks_around.csv": ("1   2.5  -1  \n  3 4.5 +1\n", {}, [[1, 2.5], [3, 4.5]], [-1, 1]),
    "numbers_and_label.csv": ("0,1,label\n3.5,4.5,1\n5.5,6.5,0\n", {}, [[3.5, 4.5], [5.5, 6.5]], [1, -1]),
    "header.csv": ("1.O,2,0\n3,4,1\n5,6,0\n", {"header": True}, [[3, 4], [5, 6]], [1, -1]),
    "no_header.csv": ("0,1,2\n3,4,1\n", {"header": "no"}, [[0, 1], [3, 4]], [1, -1]),
    "three_classes.csv": ("a,label\n1,1\n2,2\n3,3\n", {"positive": 3}, [[1], [2], [3]], [-1, -1, 1]),
    "by_value.csv": ("a,label\n1,10\n2,9\n", {}, [[1], [2]], [1, -1]),
    "as_regression.csv": ("a,label\n1,2.5\n2,9\n", {"task": "regression"}, [[1], [2]], [2.5, 9]),
    "long.csv": ("1,2,0\n" * 90_000 + "1.5,2,1\n", {}, [[1, 2]] * 90_000 + [[1.5, 2]], [-1] * 90_000 + [1]),
    "huge.csv": (HUGE, {"scale": "minmax"}, [[0, 1], [1, 0]] * 20, [-1, 1] * 20),
    "huge.libsvm": ("-1 1:1 2:1e300 50:4\n1 1:2 2:-1e300 50:2\n" * 20, {"scale": "standard"}, [[0.5, 1, *[0] * 47, 1], [1, -1, *[0] * 47, 0.5]] * 20, [-1, 1] * 20),
}  # fmt: skip


def write(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def printed(message):
    """Return the source that a message says to type."""
    (source,) = load_registry().select_datasets(shlex.split(re.search("`--datasets (.*?)`", message)[1]))
    return source


@pytest.mark.parametrize("packed", PACK)
@pytest.mark.parametrize("name", READ)
def test_a_file_is_read_right_bit_for_bit_compressed_or_not(tmp_path, name, packed):
    content, parameters, x, y = READ[name]
    for called in {f"{name}{packed}", name}:  # where the suffix does not tell the compression, the content does
        path = write(tmp_path, called, content)  # a pathlib.Path will do
        path.write_bytes(PACK[packed](path.read_bytes()))
        data = whole(path, **parameters)
        assert_points(data, x, y)
        assert data.task == ("regression" if "regression" in name else "classification")
        assert ("regression" in data.notes) == (name == "regression.csv")


REFUSED = {  # name -> content, parameters, whether it prints a line to type, words of the sentence
    "codes_merge.csv": (rows(A, B, np.where(Y > 0, "1", "01"), head="a,b,label"), {}, False, "'01' and '1' are written differently"),
    "text.csv": (rows(CODES, B, Y, head="zip,b,label"), {}, True, "text in 'zip' (3 values"),
    "commas.csv": (rows(COMMA, Y, sep=";", head="a;label"), {}, True, "numbers with a comma in 'a'"),
    "trailing.csv": (rows(A, B, Y, [""] * N), {}, True, "no value at all in '#4'. Write"),
    "tennis.csv": (rows(["sunny", "rain"] * 20, ["hot"] * N, ["no", "no", "yes", "no"] * 10), {}, True, "may be names or a point"),
    "counted.csv": (rows(A, B, Y, head="0,1,2"), {}, True, "its numbers count the columns"),
    "typo_name.csv": (rows(A, B, Y, head="1.O,2,3"), {}, True, "has '1.O' above numbers"),
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
    "thousand_dots.csv": (rows(["900", "1.350"] * 20, Y, sep=";", head="a;label"), {}, False, "both 900 and 1.350 in 'a'"),
    "prices.csv": (rows([f"$1 {i:03}.50" for i in range(N)], B, Y, head="a,b,label"), {}, False, "signs or blanks in 'a'"),
    "open_quote.csv": (rows(A, B, ['"yes"', '"no"'] * 20, head="a,b,label").replace('"no"', '"no', 1), {}, False, "row that begins in line 3 do not pair"),
    "r_names.csv": (rows(range(N), A, B, Y, head="a,b,label"), {}, False, "Name each column"),
    "label_gap.csv": (rows(A, B, ["", *Y[1:]], head="a,b,label"), {}, True, "empty cells in the label"),
    "label_gaps.csv": (rows(A, B, ["", "NA", "?", "null", "nan", *Y[5:]], head="a,b,label"), {}, False, "empty cells in the label"),
    "infinite.csv": (rows(["inf", *A[1:]], B, Y, head="a,b,label"), {}, False, "not a finite number in 'a'"),
    "dot_in_comma.csv": (rows([*COMMA[1:], "1.25"], Y, sep=";", head="a;label"), {"decimal": "comma"}, False, "'1.25'"),
    "thousands_or_not.csv": (rows(['"1,500"'] * N, Y, head="a,label"), {}, False, "write 1,000 as 1000"),
    "ragged.csv": (PLAIN + "1,2,3,4\n", {}, False, "line 42 has 4"),
    "short.csv": (PLAIN + "1,2\n", {}, False, "line 42 has 2"),
    "twice.csv": (rows(A, B, Y, head="a,a,label"), {}, False, "more than one column called 'a'"),
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
    "nan.libsvm": ("1 1:1 2:1\n-1 1:1 3:nan\n", {}, False, "row 2, column 3 is nan", "Fill in or drop"),
    "commas.libsvm": ("1,2,3\n4,5,6\n", {}, False, "1,2,3", ".csv"),
    "no_rows.csv": ("a,label\n", {}, False, "0 rows"),
    "sheet.xlsx": (b"PK", {}, False, "spreadsheet", "CSV"),
    "flat.npy": (array(np.ones(5)), {}, False, "float64 of shape (5,)", "(n, d + 1)", "numpy.save"),
    "objects.npy": (array(np.array([[1, "a"]], dtype=object)), {}, False, "Python objects"),
    "cut.npy": (array(np.column_stack([X4, Y4]))[:-9], {}, False, "cannot be read"),
    "more.npy": (array(np.column_stack([X4, Y4])) + b"more", {}, False, "more bytes after it"),
    "names.npz": (archive(points=X4, labels=Y4), {}, False, "labels, points; expected x and y", "numpy.savez"),
    "lengths.npz": (archive(x=X4, y=Y4[:3]), {}, False, "4 points and labels of shape (3,)", "equal length"),
    "test_part.npz": (archive(x=X4, y=Y4, x_test=X4), {}, False, "x_test", "expected x and y"),
    "objects.npz": (archive(x=X4.astype(object), y=Y4), {}, False, "allow_pickle=False"),
    "blank.csv": ("\n\n", {}, False, "0 rows of data"),
    "infinite.npz": (archive(x=X4, y=np.array([1, np.inf] * 2)), {}, False, "label of row 2 is missing or infinite, 2 of 4"),
    "missing.npz": (archive(x=X4, y=np.array(["a", " NaN"] * 2)), {}, False, "label of row 2 is missing or infinite, 2 of 4"),
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
    "huge.csv": (HUGE, {}, False, "squares of its numbers overflow", "give the parameter scale=minmax."),
    "huge.libsvm": ("-1 1:1 2:1e300 50:4\n1 1:2 2:-1e300 50:2\n" * 20, {}, False, "squares of its numbers overflow"),
    "name.csv": (TRAIN, {"label_column": "labels"}, False, "no column 'labels' (did you mean 'label'?)"),
    "position.csv": (TRAIN, {"label_column": "3"}, False, "no column '3'; expected one of its 3 columns"),
    "label_column.libsvm": ("1 0:2\n-1 1:3\n", {"label_column": "1"}, False, "no choice of label_column; leave"),
    "header.libsvm": ("1 0:2\n-1 1:3\n", {"header": "yes"}, False, "no choice of header; leave"),
    "base.csv": (TRAIN, {"index_base": "1"}, False, "no choice of index_base"),
    "base.libsvm": ("1 0:2\n-1 1:3\n", {"index_base": "1"}, False, "has the index 0, which index_base=1 excludes"),
    "numbers.csv": ("a,label\n1,u\n2,v\n", {"task": "regression"}, False, "task=regression expects numbers"),
    "test_infinite.csv": ("a,label\n1,1.5\n2,2\n3,4\n", {"test": "a,label\n1,inf\n"}, False, "a regression expects numbers. Correct it"),
    "test_headless.csv": (TRAIN, {"test": "1,2,0\n3,4,1\n"}, False, "test.csv' has no 'a', 'b', 'label', and also '#1', '#2', '#3', unlike '"),
    "test_unlabelled.csv": (TRAIN, {"test": "a,b\n1,2\n3,4\n"}, False, "has no 'label', unlike "),
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
        data = printed(message).load()
        assert len(data.y_train) + len(data.y_test) >= 0.9 * N


FRAME = pd.DataFrame({"a": A, "b": B})
MISSING = {"nan": np.nan, "none": None, "na": pd.NA, "nat": pd.NaT}
masked = np.ma.array

ARRAYS = {  # name -> what harness.data takes: all are the same points and labels
    "lists": lambda: (X.tolist(), Y.tolist()),
    "strided": lambda: (np.repeat(X, 2, axis=0)[::2], np.repeat(Y, 2)[::2]),
    "big-endian": lambda: (X.astype(">f8"), Y.astype(">i4")),
    "objects": lambda: (X.astype(object), Y.astype(object)),
    "text": lambda: (X.astype(str), Y.astype(str)),
    "matrix column": lambda: (X, Y[:, None]),
    "booleans": lambda: (X, Y > 0),
    "bytes": lambda: (X, np.where(Y > 0, b"yes", b"no")),
    "uint64": lambda: (X, np.where(Y > 0, np.uint64(2**63 + 4), np.uint64(2**63))),
    "big integers": lambda: (X, BIG),
    "csr": lambda: (scipy.sparse.csr_array(X), Y),
    "coo matrix": lambda: (scipy.sparse.coo_matrix(X), Y),
    "masked, nothing hidden": lambda: (masked(X, mask=False), masked(Y, mask=False)),
    "record": lambda: (np.rec.fromarrays([A, B], names="a,b"), Y),
    "series": lambda: (FRAME, pd.Series(Y, name="a")),
    "shuffled index": lambda: (FRAME.set_axis(np.arange(N)[::-1]), pd.Series(Y, np.arange(N)[::-1])),
    "nullable": lambda: (FRAME.convert_dtypes(), pd.Series(Y).astype("Int64")),
    "arrow frame": lambda: (FRAME.astype("float64[pyarrow]"), pd.Series(Y).astype("int64[pyarrow]")),
    "arrow table": lambda: (__import__("pyarrow").table({"a": A, "b": B}), Y),
    "categorical labels": lambda: (FRAME, pd.Series(np.where(Y > 0, "yes", "no")).astype("category")),
    "sparse frame": lambda: (FRAME.astype(pd.SparseDtype("float64", 0.0)), Y),
    "object frame": lambda: (FRAME.astype(object), Y),
    "frame of text": lambda: (FRAME.astype(str), Y),
    "big-endian frame": lambda: (pd.DataFrame({"a": A.astype(">f8"), "b": B.astype(">f8")}), Y),
    "with its label": lambda: (FRAME.assign(label=Y), None),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_data_of_every_kind_in_memory_are_the_same_points(name):
    points, labels = ARRAYS[name]()
    assert_points(harness.data(points, labels, test_fraction=0, name=re.sub(r"\W", "-", name)).load(), X, SIGNS)


@pytest.mark.parametrize("kind", [*MISSING, "masked"])
@pytest.mark.parametrize("where", ["points", "labels", "frame", "frame labels"])
def test_what_numpy_and_pandas_call_missing_is_missing_everywhere(kind, where):
    parts, spoilt = [X.astype(object), Y.astype(object)], int("labels" in where)
    hole = np.arange(parts[spoilt].size).reshape(parts[spoilt].shape) == 5
    parts[spoilt][hole] = MISSING.get(kind, 999.0)
    if kind == "masked":
        parts[spoilt] = masked(parts[spoilt].astype(float), mask=hole)
    x = pd.DataFrame(parts[0]) if "frame" in where else parts[0]
    with pytest.raises(DataError, match=r"missing|empty cells"):
        harness.data(x, parts[1], name=f"gap-{kind}").load()


def test_categories_that_are_numbers_are_categories():
    zips = pd.DataFrame({"a": A, "zip": pd.Categorical(np.where(Y > 0, 20095, 80331))})
    with pytest.raises(DataError, match=r"text in 'zip'.*categories='one-hot'"):
        harness.data(zips, Y, name="zips").load()
    x = harness.data(zips, Y, categories="one-hot", test_fraction=0, name="zips").load().x_train
    np.testing.assert_array_equal(np.asarray(x)[:, 1:], np.column_stack([SIGNS > 0, SIGNS < 0]))


@pytest.mark.parametrize(("labels", "positive"), [(Y, Y.min()), (Y > 0, False), (Y.astype(float), float(Y.min()))])
def test_the_class_that_is_positive_may_be_named_by_its_value(labels, positive):
    data = harness.data(X, labels, positive=positive, test_fraction=0, name="positive").load()
    np.testing.assert_array_equal(data.y_train, -SIGNS)


def test_the_empty_cells_of_the_test_part_are_counted_too(tmp_path):
    for name, gaps in (("train", 1), ("test", 2)):
        FRAME.mask(np.arange(N)[:, None] < [gaps, 0]).assign(label=Y).to_csv(tmp_path / f"{name}.csv", index=False)
    data = FileSource(path=str(tmp_path / "train.csv"), test=str(tmp_path / "test.csv"), missing="mean").load()
    assert data.notes["preprocessing"] == "3 empty cells filled with the mean"


def test_test_points_are_aligned_by_name():
    swapped = FRAME[["b", "a"]]
    data = harness.data(FRAME, Y, X_test=swapped, y_test=Y, name="swapped").load()
    np.testing.assert_array_equal(data.x_test, X)
    for said, points, labels, test in (
        ("no 'a', and also 'z'", FRAME, Y, {"X_test": FRAME.rename(columns={"a": "z"}), "y_test": Y}),
        (r"Give y.loc\[X.index\]", FRAME, pd.Series(Y, name="y").iloc[::-1], {}),
        ("more than one column called 'a'", FRAME.set_axis(["a", "a"], axis=1), Y, {}),
        ("differ only in type", X, np.array([1, "1"] * 20, dtype=object), {}),
        (r"A path is a data set itself: compare\(..., './a.csv'\)", "./a.csv", None, {}),
    ):
        with pytest.raises(DataError, match=said):
            harness.data(points, labels, **test)


@pytest.mark.parametrize(
    ("head", "words", "test_words", "x", "positive"),
    [
        ("zip,b,label", ["0700", "0701", "B2"], ["0700"], [[1, 0, 0]] * 9, "1"),
        ("zip,b,label", ["true", "false"], ["true", "", "false"], [[1], [0.5], [0]] * 3, "1"),
        ("label,b", ["T1", "0"], ["0"], np.empty((9, 0)), "T1"),
    ],
)
def test_cells_of_a_test_file_are_read_as_those_for_training(tmp_path, head, words, test_words, x, positive):
    parts = [(cells[:n], B[:n], Y[:n])[: head.count(",") + 1] for n, cells in ((30, words * 30), (9, test_words * 9))]
    paths = [write(tmp_path, name, rows(*part, head=head)) for name, part in zip("at", parts, strict=True)]
    data = FileSource(path=paths[0], test=paths[1], categories="one-hot", missing="mean").load()
    found = dense(data.x_test)
    b = int((found == B[:9, None]).all(axis=0).argmax())  # the categories follow the numbers
    np.testing.assert_allclose(np.delete(found, b, axis=1), x)
    np.testing.assert_array_equal(data.y_test > 0, Y[:9] if positive == "1" else np.zeros(9))
    assert data.notes["positive"] == positive


def test_a_column_that_is_constant_up_to_rounding_is_shifted_only(tmp_path):
    x, test = (np.column_stack([A, np.full(N, constant)]) for constant in (14.62, 15.0))
    for scale in ("standard", "minmax"):
        data = harness.data(x, Y, X_test=test, y_test=Y, scale=scale, name="constant").load()
        assert abs(data.x_train[:, 1]).max() < 1e-12
        for scaled in (data.x_test, harness.rescaled(x, test, scale)[1]):
            np.testing.assert_allclose(scaled[:, 1], 0.38, atol=1e-12)


@pytest.mark.parametrize(
    ("dtype", "powers"), [(np.float64, (-310, -200, -20, 200, 307)), (np.float32, (-38, -23, -7, 20, 37))]
)
def test_columns_of_any_unit_are_scaled_alike(dtype, powers):
    for power, (scale, expected) in itertools.product(
        powers, {"standard": (A - A.mean()) / A.std(), "minmax": (A - A.min()) / np.ptp(A)}.items()
    ):
        x = (A[:, None] / A.max() * 10.0**power).astype(dtype)
        data = harness.data(x, Y, X_test=x[:3], y_test=Y[:3], scale=scale, name="unit").load()
        np.testing.assert_allclose(data.x_train[:, 0], expected, rtol=1e-5, atol=1e-5)
        np.testing.assert_array_equal(data.x_test, data.x_train[:3])


# -- columns of text, empty cells and dates: only the training part is looked at ------------------------------


def churn(n=60):
    """Return a frame as users have it: scales apart, two columns of text, empty cells, a label in words."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({
        "age": rng.integers(18, 80, n).astype(float), "income": rng.lognormal(10.5, 0.6, n).round(2),
        "country": rng.choice(["Spain", "France", "Italy"], n), "plan": rng.choice(["basic", "plus"], n),
        "churned": np.where(np.arange(n) % 3, "no", "yes"),
    })  # fmt: skip
    frame.loc[frame.index.isin([3, 8, 20, 30]), "age"] = np.nan
    frame.loc[[8], "plan"] = None
    return frame


def test_all_faults_are_named_at_once_and_what_is_to_be_typed_is_taken(tmp_path):
    path = tmp_path / "my churn.csv"
    path.write_text("\n\n" + churn().to_csv(index=False).replace("Spain", '"Sp\nain"'))
    source = FileSource(path=str(path), split_seed=3, noise=0.1)
    message = refusal(source)
    lines = ["", *path.read_text().split("\n")]  # from 1, as an editor counts
    empty = [number for number, line in enumerate(lines) if line.startswith(",")]
    assert "text in 'country' (3 values, 'France' ...), 'plan' (2 values, 'basic' ...); empty cells in" in message
    assert f"'age' (4: lines {', '.join(map(str, empty[:3]))}, ...), 'plan' (1: line {empty[1]})." in message
    assert message.endswith("The label is 'churned'; label_column=NAME chooses another.")
    again = printed(message)
    assert again == replace(source, categories="one-hot", missing="mean")  # and nothing else
    data = again.load()
    validate(data)
    assert (data.x_train.shape, data.x_test.shape) == ((45, 7), (15, 7))
    assert (data.notes["label_column"], data.notes["positive"]) == ("churned", "yes")
    assert [data.notes["unscaled"][which][0] for which in ("widest", "narrowest")] == ["income", "country"]
    scaled = printed(f"`{data.notes['unscaled']['write']}`")
    assert (scaled.scale, scaled.missing, "unscaled" in scaled.load().notes) == ("standard", "mean", False)


def test_a_column_far_from_the_others_is_named(tmp_path):
    """The variance of all numbers makes gamma = 'scale' useless where columns lie far apart, however alike their ranges."""
    points = np.random.default_rng(0).normal(size=(60, 3))
    frame = pd.DataFrame(points, columns=list("abc")).assign(year=2000 + np.arange(60) % 20, label=np.arange(60) % 2)
    frame.to_csv(tmp_path / "far.csv", index=False)
    data = FileSource(path=str(tmp_path / "far.csv")).load()
    name, mean = data.notes["unscaled"]["farthest"]
    assert (name, round(mean)) == ("year", 2010)
    assert "unscaled" not in printed(f"`{data.notes['unscaled']['write']}`").load().notes
    frame.assign(year=frame["year"] - 2010).to_csv(tmp_path / "near.csv", index=False)
    assert "unscaled" not in FileSource(path=str(tmp_path / "near.csv")).load().notes


def test_what_no_parameter_mends_is_said_beside_what_one_does(tmp_path):
    frame = churn().assign(id=[f"C{i}" for i in range(60)], note=None).astype({"age": object})
    frame.loc[5, "age"] = "7O"
    frame.loc[[1, 2], "churned"] = None
    frame = frame[["id", "note", "age", "income", "country", "plan", "churned"]]
    frame.to_csv(tmp_path / "a.csv", index=False)
    message = refusal(FileSource(path=tmp_path / "a.csv", positive="ja"))
    said = r"finite number in 'age' \(1: '7O' in line 7\).* too many texts for categories in 'id' \(60 values.* no value at all in 'note'"
    assert re.search(said, message)
    assert "empty cells in the label 'churned' (2: lines 3, 4); none, NA, nan and ? count as empty" in message
    assert "no row has the label 'ja'" in message
    assert "Write" not in message  # no parameter mends the 7O
    frame.loc[5, "age"] = "70"
    frame.to_csv(tmp_path / "a.csv", index=False)
    kept = FileSource(path=tmp_path / "a.csv", drop=("id", 1), categories="one-hot", missing="drop-rows").load()
    assert len(kept.y_train) + len(kept.y_test) == len(frame.drop(columns=["id", "note"]).dropna())


@pytest.mark.parametrize(
    ("said", "make"),
    [
        ("did you mean 'income'?", lambda frame: harness.data(frame, name="mine", drop="incom")),
        ("did you mean 'income'?", lambda frame: harness.data(frame[["income"]], frame["churned"], drop="incom")),
        ("no column for the label", lambda frame: harness.data(frame[[]], name="mine")),
        ("no column for the label", lambda frame: harness.data(frame, drop=tuple(frame), name="mine")),
        ("names a column", lambda frame: harness.data(frame[["income"]], frame["churned"], label_column="income")),
        ("give X and X_test as frames", lambda frame: harness.data(frame.iloc[:, :4], frame["churned"], X_test=np.ones((2, 4)), y_test=["no", "yes"])),
    ],
)  # fmt: skip
def test_what_a_frame_lacks_is_refused_at_once(make, said):
    with pytest.raises(DataError, match=re.escape(said)):
        make(churn())


def test_what_to_type_for_data_in_memory():
    pair = harness.data(churn().drop(columns="churned"), churn()["churned"])
    assert "Write `harness.data(..., categories='one-hot', missing='mean')` " in refusal(pair)
    some = churn()[["age", "churned"]]
    empty, line = "empty cells in 'age' (4: rows 4, 9, 21, ...)", "harness.data(..., missing"
    said = refusal(harness.data(some.dropna(), X_test=some, name="mine"))
    assert said.startswith(f"'mine-test': {empty}. Write `{line}")


@pytest.mark.parametrize("kind", ["csv", "frame"])
def test_dates_are_days_where_that_is_said(tmp_path, kind):
    days = np.random.default_rng(0).permutation(60) + 0.25
    frame = churn()[["income", "country", "churned"]].rename(columns={"country": "when"})
    frame["when"] = (pd.Timestamp("2024-01-01") + pd.to_timedelta(days, "D")).astype("datetime64[us]")
    frame.loc[4, "when"] = pd.NaT
    frame.loc[5, "when"] = pd.Timestamp("9999-12-31")  # beyond what 64 bits of nanoseconds hold
    days[5] = 2932896 - 19723
    frame.to_csv(tmp_path / "a.csv", index=False)

    def source(**given):
        return harness.data(frame, **given) if kind == "frame" else FileSource(path=tmp_path / "a.csv", **given)

    said = "dates in 'when' .59 values, '2024-01-01.* empty cells in 'when'.*days reads 2024-05-01 as days since"
    assert re.search(said, refusal(source()))
    x = source(dates="days", missing="drop-rows", test_fraction=0).load().x_train
    np.testing.assert_allclose(x[:, 1], 19723 + np.delete(days, 4))  # 2024-01-01 is the day 19723


def test_many_categories_are_sparse_points(tmp_path):
    frame = pd.DataFrame({"a": np.arange(600.0), "b": [f"t{i % 90}" for i in range(600)], "y": np.arange(600) % 2})
    frame.to_csv(tmp_path / "a.csv", index=False)
    data = FileSource(path=tmp_path / "a.csv", categories="one-hot", test_fraction=0, scale="minmax").load()
    validate(data)
    assert isinstance(data.x_train, scipy.sparse.csr_array)
    np.testing.assert_allclose(dense(data.x_train)[:, 0], frame["a"] / 599)
    np.testing.assert_array_equal(data.x_train[:, 1:].sum(axis=1), 1.0)


@pytest.mark.parametrize(
    ("words", "positive"),
    [(("no", "yes"), "yes"), (("Yes", "no"), "Yes"), (("true", "false"), "true"), (("+", "-"), "+"), ((-1, 1), "1"), ((1, 2), "2")],
)  # fmt: skip
def test_the_class_that_people_expect_is_positive_and_the_head_says_so(tmp_path, words, positive):
    (tmp_path / "a.csv").write_text("x,label\n" + "".join(f"{i},{words[i % 2]}\n" for i in range(10)))
    data = FileSource(path=tmp_path / "a.csv", test_fraction=0).load()
    assert data.notes == {"label_column": "label", "positive": positive}
    assert (data.y_train[data.x_train[:, 0] % 2 == 0] > 0).all() == (str(words[0]) == positive)
    assert FileSource(path=tmp_path / "a.csv", positive=positive.upper(), test_fraction=0).load().sha256 == data.sha256
