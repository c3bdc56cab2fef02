"""Columns of text, empty cells and decimal commas: what a first try is told, and that only the training part is looked at."""
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
from tests.datasets.test_files import dense, refusal

N = 60


def churn(n=N):
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
    frame = churn().assign(id=[f"C{i}" for i in range(N)], note=None).astype({"age": object})
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
    days = np.random.default_rng(0).permutation(N) + 0.25
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
