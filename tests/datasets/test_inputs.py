"""A table of files, frames and arrays as people have them: what is read is what the rows say; and what a first try is told."""
# ruff: noqa: E501 - the rows of a table

from __future__ import annotations

import re
import shlex
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import harness
from harness import DataError
from harness.datasets import FileSource, validate
from harness.registry import load_registry
from tests.datasets.test_files import assert_points, dense, refusal, whole

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
HUGE = "a,b,label\n" + "0,1e300,0\n1,-1e300,1\n" * 20

READ = {  # name -> content, parameters, points, targets
    "quoted.csv": (rows([f'"{a}"' for a in A], B, [f'"{y}"' for y in Y], head='"a","b","label"'), {}, X, SIGNS),
    "semicolons.csv": (rows(A, B, Y, sep=";", head="a;b;label"), {}, X, SIGNS),
    "bars.csv": (rows(A, B, Y, sep="|", head="a|b|label"), {}, X, SIGNS),
    "blanks.txt": (rows(A, B, Y, sep="  ", head="a  b  label"), {}, X, SIGNS),
    "sep_line.csv": ("sep=;\n" + rows(A, B, Y, sep=";", head="a;b;label"), {}, X, SIGNS),
    "hash_names.txt": ("# a b label\n" + rows(A, B, Y, sep=" "), {}, X, SIGNS),
    "hash_comment.csv": ("# made by hand\n\n" + PLAIN, {}, X, SIGNS),
    "percent.csv": ("% exported\n" + PLAIN, {}, X, SIGNS),
    "headless_text_label.csv": (rows(A, B, np.where(Y > 0, "yes", "no")), {}, X, SIGNS),
    "label_first.csv": (rows(Y, A, B, head="Class,a,b"), {}, X, SIGNS),
    "truth.csv": (rows(TRUTH, B, Y, head="a,b,label"), {}, np.column_stack([Y, B]), SIGNS),
    "codes.csv": (rows(CODES, B, Y, head="zip,b,label"), {"categories": "one-hot"}, np.column_stack([B, HOT]), SIGNS),
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


@pytest.mark.parametrize("name", READ)
def test_a_file_is_read_right(tmp_path, name):
    content, parameters, x, y = READ[name]
    data = whole(write(tmp_path, name, content), **parameters)  # a pathlib.Path will do
    assert_points(data, x, y)
    assert data.task == ("regression" if "regression" in name else "classification")
    assert ("regression" in data.notes) == (name == "regression.csv")


FRAME = pd.DataFrame({"a": A, "b": B})
MISSING = {"nan": np.nan, "none": None, "na": pd.NA, "nat": pd.NaT}


def masked(values, where):
    return np.ma.array(values, mask=where)


ARRAYS = {  # name -> what harness.data takes: all are the same points and labels
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
    parts = {"points": X.astype(object), "labels": Y.astype(object)}
    part = "labels" if "labels" in where else "points"
    hole = np.zeros(parts[part].shape, dtype=bool)
    hole.reshape(-1)[5] = True
    parts[part][hole] = 999.0 if kind == "masked" else MISSING[kind]
    if kind == "masked":
        parts[part] = masked(parts[part].astype(float), hole)
    x = pd.DataFrame(parts["points"]) if "frame" in where else parts["points"]
    with pytest.raises(DataError, match=r"missing|empty cells"):
        harness.data(x, parts["labels"], name=f"gap-{kind}").load()


def test_test_points_are_aligned_by_name():
    swapped = FRAME[["b", "a"]]
    data = harness.data(FRAME, Y, X_test=swapped, y_test=Y, name="swapped").load()
    np.testing.assert_array_equal(data.x_test, X)
    for said, points, labels, test in (
        ("no 'a', and 'z' besides", FRAME, Y, {"X_test": FRAME.rename(columns={"a": "z"}), "y_test": Y}),
        (r"Give y.loc\[X.index\]", FRAME, pd.Series(Y, name="y").iloc[::-1], {}),
        ("2 columns called 'a'", FRAME.set_axis(["a", "a"], axis=1), Y, {}),
        ("differ only in type", X, np.array([1, "1"] * 20, dtype=object), {}),
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
    x = np.column_stack([A, np.full(N, 14.62)])
    test = np.column_stack([A, np.full(N, 15.0)])
    for scale in ("standard", "minmax"):
        data = harness.data(x, Y, X_test=test, y_test=Y, scale=scale, name="constant").load()
        assert abs(data.x_train[:, 1]).max() < 1e-12
        np.testing.assert_allclose(data.x_test[:, 1], 0.38, atol=1e-12)
        scaled = harness.rescaled(x, test, scale)
        np.testing.assert_allclose(scaled[1][:, 1], 0.38, atol=1e-12)


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
    assert (
        "text in 'country' (3 values, 'France' ...), 'plan' (2 values, 'basic' ...); empty cells in 'age' (4: "
        in message
    )
    assert f"lines {', '.join(map(str, empty[:3]))}, ...), 'plan' (1: line {empty[1]})." in message
    typed = shlex.split(re.search("`--datasets (.*?)`", message)[1])
    assert message.endswith("The label is 'churned'; label_column=NAME chooses another.")
    (again,) = load_registry().select_datasets(typed)
    assert again == replace(source, categories="one-hot", missing="mean")  # and nothing else
    data = again.load()
    validate(data)
    assert (data.x_train.shape, data.x_test.shape) == ((45, 7), (15, 7))
    assert (data.notes["label_column"], data.notes["positive"]) == ("churned", "yes")
    assert [data.notes["unscaled"][which][0] for which in ("widest", "narrowest")] == ["income", "country"]
    (scaled,) = load_registry().select_datasets(shlex.split(data.notes["unscaled"]["write"])[1:])
    assert (scaled.scale, scaled.missing, "unscaled" in scaled.load().notes) == ("standard", "mean", False)


def test_what_no_parameter_mends_is_said_beside_what_one_does(tmp_path):
    frame = churn().assign(id=[f"C{i}" for i in range(60)], note=None).astype({"age": object})
    frame.loc[5, "age"] = "7O"
    frame.loc[[1, 2], "churned"] = None
    frame = frame[["id", "note", "age", "income", "country", "plan", "churned"]]
    frame.to_csv(tmp_path / "a.csv", index=False)
    message = refusal(FileSource(path=tmp_path / "a.csv", positive="ja"))
    for said in (
        "not a finite number in 'age' (1: '7O' in line 7)",
        "too many texts for categories in 'id' (60 values",
        "no value at all in 'note'",
        "empty cells in the label 'churned' (2: lines 3, 4; none, NA, nan and ? count as empty)",
        "no row has the label 'ja'",
    ):
        assert said in message
    assert "Write" not in message  # no parameter mends the 7O
    frame.loc[5, "age"] = "70"
    frame.to_csv(tmp_path / "a.csv", index=False)
    kept = FileSource(path=tmp_path / "a.csv", drop=("id", 1), categories="one-hot", missing="drop-rows").load()
    assert len(kept.y_train) + len(kept.y_test) == len(frame.drop(columns=["id", "note"]).dropna())


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda frame: harness.data(frame, name="mine", drop="incom"), "'mine' has no column 'incom' (did you mean 'income'?)"),
        (lambda frame: harness.data(frame[["income"]], frame["churned"], drop="incom"), "did you mean 'income'?"),
        (lambda frame: harness.data(frame[["income"]], frame["churned"], label_column="income"), "label names a column of a frame"),
        (lambda frame: harness.data(frame.iloc[:, :4], frame["churned"], X_test=np.ones((2, 4)), y_test=["no", "yes"]), "columns of text, dates or categories, 'country', 'plan'; give X and X_test as frames"),
    ],
)  # fmt: skip
def test_what_a_frame_lacks_is_refused_at_once(make, said):
    with pytest.raises(DataError, match=re.escape(said)):
        make(churn())


def test_what_to_type_for_data_in_memory():
    pair = harness.data(churn().drop(columns="churned"), churn()["churned"])
    assert "Write `harness.data(X, y, categories='one-hot', missing='mean')` " in refusal(pair)
    some = churn()[["age", "churned"]]
    message = refusal(harness.data(some.dropna(), X_test=some, name="mine"))
    assert message.startswith(
        "'mine-test': empty cells in 'age' (4: rows 4, 9, 21, ...). Write `harness.data(frame, X_test=test, "
    )


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

    message = refusal(source())
    for said in (
        "dates in 'when' (59 values, '2024-01-01",
        "days counts the days of dates such as",
        "empty cells in 'when'",
    ):
        assert said in message
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
