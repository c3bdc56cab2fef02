"""A table of files, frames and arrays as people have them: read right, or refused in a sentence whose remedy works.

What is read is compared with what the rows say. What is refused names the cause; a line that it prints is applied, and
loads at least nine tenths of the rows.
"""
# ruff: noqa: E501 - the rows of a table

from __future__ import annotations

import re
import shlex

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import harness
from harness import DataError
from harness.datasets import FileSource
from harness.registry import load_registry
from tests.datasets.test_files import dense

N = 40
RNG = np.random.default_rng(7)
A, B = RNG.normal(size=N).round(3), RNG.normal(size=N).round(3)
Y = np.arange(N) % 2
X = np.column_stack([A, B])
SIGNS = np.where(Y > 0, 1.0, -1.0)


def rows(*columns, sep=",", head=""):
    lines = [sep.join(map(str, cells)) for cells in zip(*columns, strict=True)]
    return "\n".join([head, *lines] if head else lines) + "\n"


CODES = np.array([["0700", "0701", "B2"][i % 3] for i in range(N)])
HOT = (CODES[:, None] == np.array(["0700", "0701", "B2"])).astype(float)
TRUTH = np.where(Y > 0, "true", "false")
COMMA = [str(a).replace(".", ",") for a in A]
PLAIN = rows(A, B, Y, head="a,b,label")
ARFF = "@relation r\n@attribute a numeric\n@attribute 'b b' { u , 'v w' }\n@attribute class {no,yes}\n@data\n"
KEEL = "@relation r\n@attribute a real [-3.0, 3.0]\n@attribute b real [-3.0, 3.0]\n@attribute Class {0, 1}\n@inputs a, b\n@outputs Class\n@data\n"
BIG = np.where(Y > 0, 2**60 + 1, 2**60)

READ = {  # name -> content, parameters, points, targets
    "plain.csv": (PLAIN, {}, X, SIGNS),
    "bom.csv": ("\ufeff" + PLAIN, {}, X, SIGNS),
    "crlf.csv": (PLAIN.replace("\n", "\r\n"), {}, X, SIGNS),
    "utf16.csv": (PLAIN.encode("utf-16"), {}, X, SIGNS),
    "quoted.csv": (rows([f'"{a}"' for a in A], B, [f'"{y}"' for y in Y], head='"a","b","label"'), {}, X, SIGNS),
    "semicolons.csv": (rows(A, B, Y, sep=";", head="a;b;label"), {}, X, SIGNS),
    "tabs.tsv": (rows(A, B, Y, sep="\t", head="a\tb\tlabel"), {}, X, SIGNS),
    "bars.csv": (rows(A, B, Y, sep="|", head="a|b|label"), {}, X, SIGNS),
    "blanks.txt": (rows(A, B, Y, sep="  ", head="a  b  label"), {}, X, SIGNS),
    "sep_line.csv": ("sep=;\n" + rows(A, B, Y, sep=";", head="a;b;label"), {}, X, SIGNS),
    "hash_names.txt": ("# a b label\n" + rows(A, B, Y, sep=" "), {}, X, SIGNS),
    "hash_comment.csv": ("# made by hand\n\n" + PLAIN, {}, X, SIGNS),
    "percent.csv": ("% exported\n" + PLAIN, {}, X, SIGNS),
    "headless.csv": (rows(A, B, Y), {}, X, SIGNS),
    "headless_text_label.csv": (rows(A, B, np.where(Y > 0, "yes", "no")), {}, X, SIGNS),
    "label_first.csv": (rows(Y, A, B, head="Class,a,b"), {}, X, SIGNS),
    "truth.csv": (rows(TRUTH, B, Y, head="a,b,label"), {}, np.column_stack([Y, B]), SIGNS),
    "codes.csv": (rows(CODES, B, Y, head="zip,b,label"), {"categories": "one-hot"}, np.column_stack([B, HOT]), SIGNS),
    "decimal_comma.csv": (rows(COMMA, B.astype(int), Y, sep=";", head="a;b;label"), {"decimal": "comma"}, np.column_stack([A, B.astype(int)]), SIGNS),
    "thousands.csv": (rows(["1.250", "999,5"] * 20, B.astype(int), Y, sep=";", head="a;b;label"), {"decimal": "comma"}, np.column_stack([[1250, 999.5] * 20, B.astype(int)]), SIGNS),
    "big_labels.csv": (rows(A, B, BIG, head="a,b,label"), {}, X, SIGNS),
    "zero_codes.csv": (rows(A, B, np.where(Y > 0, "1", "01"), head="a,b,label"), {"positive": "1"}, X, SIGNS),
    "regression.csv": (rows(A, A + 0.5, head="a,b"), {}, A[:, None], (A + 0.5)),
    "plus.csv": (rows(A, B, np.where(Y > 0, "+1", "-1"), head="a,b,label"), {}, X, SIGNS),
    "dates.csv": (rows([f"2024-01-{1 + i % 28:02}" for i in range(N)], B, Y, head="when,b,label"), {"dates": "days"}, np.column_stack([19723.0 + np.arange(N) % 28, B]), SIGNS),
    "a.arff": (ARFF + rows(A, np.where(Y > 0, "u", "'v w'"), np.where(Y > 0, "yes", "no")), {"categories": "one-hot"}, np.column_stack([A, Y > 0, Y == 0]), SIGNS),
    "sparse.arff": (ARFF + "".join(f"{{0 {a}, 1 'v w', 2 {'yes' if y else 'no'}}}\n" for a, y in zip(A, Y, strict=True)), {"drop": "b b"}, A[:, None], SIGNS),
    "letters.arff": (ARFF.replace("yes", "thé").replace("no}", "café}").replace("{no", "{café") + rows(A, ["u"] * N, np.where(Y > 0, "thé", "café")), {"drop": "1"}, A[:, None], SIGNS),
    "keel.dat": (KEEL + rows(A, B, Y), {}, X, SIGNS),
    "one.libsvm": (rows(SIGNS, [f"1:{a}" for a in A], [f"2:{b}" for b in B], sep=" "), {}, X, SIGNS),
    "zero.libsvm": (rows(SIGNS, [f"0:{a}" for a in A], [f"1:{b}" for b in B], sep=" "), {}, X, SIGNS),
}  # fmt: skip

REFUSED = {  # name -> content, parameters, words of the sentence, whether it prints a line to type
    "codes_merge.csv": (rows(A, B, np.where(Y > 0, "1", "01"), head="a,b,label"), {}, "'01' and '1' are written differently", False),
    "exponents.csv": (rows(A, B, np.where(Y > 0, "1e5", "100000"), head="a,b,label"), {}, "written differently", False),
    "text.csv": (rows(CODES, B, Y, head="zip,b,label"), {}, "text in 'zip' (values: 3", True),
    "empty.csv": (rows(["", *A[1:]], B, Y, head="a,b,label"), {}, "empty cells in 'a' (1: line 2)", True),
    "commas.csv": (rows(COMMA, Y, sep=";", head="a;label"), {}, "numbers with a comma in 'a'", True),
    "trailing.csv": (rows(A, B, Y, [""] * N), {}, "no value at all in '#4'. Write", True),
    "trailing_named.csv": (rows(A, B, Y, [""] * N, head="a,b,kind,"), {}, "no value at all in '#4'", True),
    "index.csv": (rows(range(N), A, B, Y, head=",a,b,label"), {}, "row numbers or ids in '#1'", True),
    "tennis.csv": (rows(["sunny", "rain"] * 20, ["hot"] * N, ["no", "no", "yes", "no"] * 10), {}, "may be names or a point", True),
    "counted.csv": (rows(A, B, Y, head="0,1,2"), {}, "its numbers count the columns", True),
    "typo_name.csv": (rows(A, B, Y, head="1.O,2,3"), {}, "holds '1.O' above numbers", True),
    "dates_and_counts.csv": (rows([f"19{49 + i // 12}-{1 + i % 12:02}" for i in range(N)], range(100, 100 + N), head="Month,Passengers"), {}, "dates in 'Month'", True),
    "three.csv": (rows(A, B, np.arange(N) % 3, head="a,b,label"), {}, "3 classes", True),
    "names.csv": (rows([f"C{i}" for i in range(N)], A, Y, head="id,a,label"), {}, "too many texts for categories in 'id'", True),
    "two_labels.csv": (rows(A, Y, Y, head="a,label,y"), {}, "could each be the label", True),
    "capitals.csv": (rows(A, B, ["Yes", "no", "yes", "No"] * 10, head="a,b,label"), {}, "'No' and 'no' are written differently", False),
    "shuffled_index.csv": (rows(RNG.permutation(N) + 7, A, B, Y, head=",a,b,label"), {}, "row numbers or ids in '#1'", True),
    "passengers.csv": (rows(range(N), A, Y, head="PassengerId,a,label"), {}, "row numbers or ids in 'PassengerId'", True),
    "trailing_twice.csv": (rows(A, B, Y, [""] * N, [""] * N, head="a,b,kind,,"), {}, "no value at all in '#4', '#5'", True),
    "blank_names.csv": (rows([f"C{i}" for i in range(N)], A, Y, head="Individual  ID,a,label"), {}, "for categories in 'Individual  ID'", True),
    "years.csv": (rows(A, B, Y, head="2001,2002,2003"), {}, "its last cell does not occur among the 2", True),
    "few_dates.csv": (rows(["2024-05-01", "2024-05-02"] * 20, B, Y, head="when,b,label"), {}, "dates in 'when'", True),
    "comma_labels.csv": (rows(B.astype(int), COMMA, sep=";", head="b;label"), {}, "numbers with a comma in 'label'", True),
    "thousand_dots.csv": (rows(["900", "1.350"] * 20, Y, sep=";", head="a;label"), {}, "900 beside 1.350 in 'a'", False),
    "shares.csv": (rows([f"{i} %" for i in range(N)], B, Y, head="a,b,label"), {}, "signs or blanks in 'a' (40: '0 %' in line 2", False),
    "prices.csv": (rows([f"$1 {i:03}.50" for i in range(N)], B, Y, head="a,b,label"), {}, "signs or blanks in 'a'", False),
    "open_quote.csv": (rows(A, B, ['"yes"', '"no"'] * 20, head="a,b,label").replace('"no"', '"no', 1), {}, "row that begins in line 3 do not pair", False),
    "r_names.csv": (rows(range(N), A, B, Y, head="a,b,label"), {}, "Name each column", False),
    "label_gap.csv": (rows(A, B, ["", *Y[1:]], head="a,b,label"), {}, "empty cells in the label", True),
    "label_gaps.csv": (rows(A, B, ["", "NA", "?", "null", "nan", *Y[5:]], head="a,b,label"), {}, "empty cells in the label", False),
    "typo.csv": (rows(["7O", *A[1:]], B, Y, head="a,b,label"), {}, "not a finite number in 'a' (1: '7O' in line 2)", False),
    "infinite.csv": (rows(["inf", *A[1:]], B, Y, head="a,b,label"), {}, "not a finite number in 'a'", False),
    "dot_in_comma.csv": (rows([*COMMA[1:], "1.25"], Y, sep=";", head="a;label"), {"decimal": "comma"}, "'1.25'", False),
    "thousands_or_not.csv": (rows(['"1,500"'] * N, Y, head="a,label"), {}, "write 1,000 as 1000", False),
    "ragged.csv": (PLAIN + "1,2,3,4\n", {}, "line 42 has 4", False),
    "short.csv": (PLAIN + "1,2\n", {}, "line 42 has 2", False),
    "twice.csv": (rows(A, B, Y, head="a,a,label"), {}, "more than one column called 'a'", False),
    "one_class.csv": (rows(A, B, [1] * N, head="a,b,label"), {}, "expected two classes", False),
    "one_class.libsvm": (rows([1] * N, [f"1:{a}" for a in A], sep=" "), {}, "expected two classes", False),
    "bad.libsvm": ("1 1:1\n-1 1:2\n1 1:x\n", {}, "line 3: ", False),
    "ids.libsvm": (rows(BIG, [f"1:{a}" for a in A], sep=" "), {}, "beyond 2^53", False),
    "pointer.csv": ("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n", {}, "Git LFS", False),
    "page.csv": ("<!DOCTYPE html>\n<html><body>Not found</body></html>\n", {}, "HTML", False),
    "page.parquet": ("<html><body>Not found</body></html>\n", {}, "HTML", False),
    "lines.csv": ('[{"a": 1, "label": 0}]\n', {}, "JSON", False),
    "utf16_no_bom.csv": (PLAIN.encode("utf-16-le"), {}, "UTF-16LE", False),
    "latin1.csv": (PLAIN.replace("a,b", "größe,b").encode("latin-1"), {}, "not UTF-8", False),
    "latin1.arff": (ARFF.replace("yes", "thé").encode("latin-1"), {}, "not UTF-8", False),
    "no_data.arff": ("@relation r\n@attribute a numeric\n", {}, "cannot be read", False),
    "comments.csv": ("# nothing\n\n", {}, "0 rows of data", False),
}  # fmt: skip


def write(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


@pytest.mark.parametrize("name", READ)
def test_a_file_is_read_right(tmp_path, name):
    content, parameters, x, y = READ[name]
    data = FileSource(path=write(tmp_path, name, content), test_fraction=0, **parameters).load()
    np.testing.assert_array_equal(dense(data.x_train), x)
    np.testing.assert_array_equal(data.y_train, y)
    assert data.task == ("regression" if name == "regression.csv" else "classification")
    assert ("regression" in data.notes) == (data.task == "regression")


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_names_the_cause_and_what_it_prints_works(tmp_path, name):
    content, parameters, words, prints = REFUSED[name]
    path = write(tmp_path, name, content)
    with pytest.raises(DataError) as caught:
        FileSource(path=path, **parameters).load()
    message = str(caught.value)
    assert words in message
    assert (" Write `--datasets " in message) == prints
    if prints:
        typed = shlex.split(re.search("`--datasets (.*?)`", message)[1])
        (source,) = load_registry().select_datasets(typed)
        data = source.load()
        assert len(data.y_train) + len(data.y_test) >= 0.9 * N


FRAME = pd.DataFrame({"a": A, "b": B})
MISSING = {"nan": np.nan, "none": None, "na": pd.NA, "nat": pd.NaT}


def masked(values, where):
    return np.ma.array(values, mask=where)


ARRAYS = {  # name -> what harness.data takes: all are the same points and labels
    "arrays": lambda: (X, Y),
    "lists": lambda: (X.tolist(), Y.tolist()),
    "fortran": lambda: (np.asfortranarray(X), Y),
    "strided": lambda: (np.repeat(X, 2, axis=0)[::2], np.repeat(Y, 2)[::2]),
    "big-endian": lambda: (X.astype(">f8"), Y.astype(">i4")),
    "objects": lambda: (X.astype(object), Y.astype(object)),
    "text": lambda: (X.astype(str), Y.astype(str)),
    "matrix column": lambda: (X, Y[:, None]),
    "booleans": lambda: (X, Y > 0),
    "words": lambda: (X, np.where(Y > 0, "yes", "no")),
    "bytes": lambda: (X, np.where(Y > 0, b"yes", b"no")),
    "uint64": lambda: (X, np.where(Y > 0, np.uint64(2**63 + 4), np.uint64(2**63))),
    "big integers": lambda: (X, BIG),
    "csr": lambda: (scipy.sparse.csr_array(X), Y),
    "coo matrix": lambda: (scipy.sparse.coo_matrix(X), Y),
    "masked, nothing hidden": lambda: (masked(X, False), masked(Y, False)),
    "record": lambda: (np.rec.fromarrays([A, B], names="a,b"), Y),
    "frame": lambda: (FRAME, Y),
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
    data = harness.data(points, labels, test_fraction=0, name=re.sub(r"\W", "-", name)).load()
    np.testing.assert_array_equal(dense(data.x_train), X)
    np.testing.assert_array_equal(data.y_train, SIGNS)


def hole(x, value):
    x = np.array(x, dtype=object)
    x.reshape(-1)[5] = value
    return x


@pytest.mark.parametrize("kind", [*MISSING, "masked"])
@pytest.mark.parametrize("where", ["points", "labels", "frame", "frame labels"])
def test_what_numpy_and_pandas_call_missing_is_missing_everywhere(kind, where):
    missing = np.arange(N) == 5
    if kind == "masked":
        spoilt = masked(
            Y if "labels" in where else np.where(np.outer(missing, [0, 1]), 999.0, X),
            missing if "labels" in where else np.outer(missing, [0, 1]) > 0,
        )
    else:
        spoilt = hole(Y if "labels" in where else X, MISSING[kind])
    frame = "frame" in where
    x = X if "labels" in where else spoilt
    source = harness.data(pd.DataFrame(x) if frame else x, spoilt if "labels" in where else Y, name=f"gap-{kind}")
    with pytest.raises(DataError, match=r"missing|empty cells"):
        source.load()


def test_test_points_are_aligned_by_name():
    swapped = FRAME[["b", "a"]]
    data = harness.data(FRAME, Y, X_test=swapped, y_test=Y, name="swapped").load()
    np.testing.assert_array_equal(data.x_test, X)
    with pytest.raises(DataError, match="no 'a', and 'z' besides"):
        harness.data(FRAME, Y, X_test=FRAME.rename(columns={"a": "z"}), y_test=Y)
    with pytest.raises(DataError, match=r"Give y.loc\[X.index\]"):
        harness.data(FRAME, pd.Series(Y, name="y").iloc[::-1])
    with pytest.raises(DataError, match="more than one column called 'a'"):
        harness.data(FRAME.set_axis(["a", "a"], axis=1), Y)
    with pytest.raises(DataError, match="differ only in type"):
        harness.data(X, np.array([1, "1"] * 20, dtype=object))


@pytest.mark.parametrize("train", ["0700,0701,B2", "true,false,true", "T1,0,T1"])
def test_cells_of_a_test_file_are_read_as_those_for_training(tmp_path, train):
    words = train.split(",")
    head = "label,b" if "T1" in words else "zip,b,label"
    columns = ([words[i % 3] for i in range(30)], B[:30], *([] if "T1" in words else [Y[:30]]))
    test_words = {"0700,0701,B2": ["0700"] * 9, "true,false,true": ["true", "", "false"] * 3, "T1,0,T1": ["0"] * 9}[
        train
    ]
    test = (test_words, B[:9], *([] if "T1" in words else [Y[:9]]))
    paths = [write(tmp_path, name, rows(*part, head=head)) for name, part in (("a.csv", columns), ("t.csv", test))]
    data = FileSource(path=paths[0], test=paths[1], categories="one-hot", missing="mean").load()
    x = dense(data.x_test)
    if "T1" in words:
        assert (data.notes["positive"], set(data.y_test)) == ("T1", {-1.0})
    elif "B2" in words:
        np.testing.assert_array_equal(x[:, 1:], [[1, 0, 0]] * 9)
    else:
        np.testing.assert_allclose(x[:, 0], [1, 2 / 3, 0] * 3)


def test_a_column_that_is_constant_up_to_rounding_is_shifted_only(tmp_path):
    x = np.column_stack([A, np.full(N, 14.62)])
    test = np.column_stack([A, np.full(N, 15.0)])
    for scale in ("standard", "minmax"):
        data = harness.data(x, Y, X_test=test, y_test=Y, scale=scale, name="constant").load()
        assert abs(data.x_train[:, 1]).max() < 1e-12
        np.testing.assert_allclose(data.x_test[:, 1], 0.38, atol=1e-12)
        scaled = harness.rescaled(x, test, scale)
        np.testing.assert_allclose(scaled[1][:, 1], 0.38, atol=1e-12)
