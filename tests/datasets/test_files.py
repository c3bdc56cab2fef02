"""FileSource: splits, scaling, test files, and what it remembers between two loads."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

from harness.datasets import FileSource, validate
from harness.errors import DataError


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(1)
    x = rng.standard_normal((100, 3)) * [1, 10, 100] + [0, 5, -5]
    y = np.where(np.arange(100) < 20, 1.0, -1.0)
    path = tmp_path / "heart.csv"
    rows = "".join(
        f"{a!r},{b!r},{c!r},{'sick' if v > 0 else 'healthy'}\n" for (a, b, c), v in zip(x.tolist(), y, strict=True)
    )
    path.write_text("a,b,c,state\n" + rows)
    return path, x, y


def rows_of(*parts):
    return sorted(map(tuple, np.vstack(parts).tolist()))


def test_a_quarter_is_held_out_class_by_class(table):
    path, x, _ = table
    data = FileSource(path=str(path)).load()
    validate(data)
    assert (data.x_train.shape, data.x_test.shape) == ((75, 3), (25, 3))
    assert ((data.y_train > 0).sum(), (data.y_test > 0).sum()) == (15, 5)
    assert rows_of(data.x_train, data.x_test) == rows_of(x)
    assert data.name == "heart.csv"
    other = FileSource(path=str(path), split_seed=1).load()
    assert rows_of(other.x_train) != rows_of(data.x_train)
    assert other.name == "heart.csv[split_seed=1]"


def test_nothing_held_out(table):
    path, x, y = table
    data = FileSource(path=path, test_fraction=0).load()  # a pathlib.Path will do
    validate(data)
    np.testing.assert_array_equal(data.x_train, x)
    np.testing.assert_array_equal(data.y_train, y)
    assert (data.x_test.shape, data.y_test.shape) == ((0, 3), (0,))


def test_the_default_gamma_is_the_usual_heuristic(table):
    path, x, _ = table
    data = FileSource(path=str(path), test_fraction=0).load()
    assert data.defaults == {"kernel": "rbf", "gamma": pytest.approx(1 / (3 * x.var())), "C": 1.0}


def test_scaling_is_fitted_on_the_training_part(table):
    path, _, _ = table
    plain = FileSource(path=str(path)).load()
    standard = FileSource(path=str(path), scale="standard").load()
    mean, deviation = plain.x_train.mean(axis=0), plain.x_train.std(axis=0)
    np.testing.assert_allclose(standard.x_train, (plain.x_train - mean) / deviation)
    np.testing.assert_allclose(standard.x_test, (plain.x_test - mean) / deviation)
    minmax = FileSource(path=str(path), scale="minmax").load()
    assert minmax.x_train.min(axis=0).tolist() == [0, 0, 0]
    assert minmax.x_train.max(axis=0).tolist() == [1, 1, 1]
    assert minmax.sha256 != standard.sha256 != plain.sha256


def test_sparse_points_keep_their_zeros_when_scaled(tmp_path):
    path = tmp_path / "thin.libsvm"
    path.write_text("".join(f"{1 if i % 2 else -1} {i + 1}:{-2 * (i + 1)} 50:4\n" for i in range(40)))
    data = FileSource(path=str(path), scale="standard", test_fraction=0).load()
    validate(data)
    assert isinstance(data.x_train, scipy.sparse.csr_array)
    assert data.x_train.nnz == 80
    assert set(data.x_train.data) == {-1.0, 1.0}
    assert data.x_test.shape == (0, 50)


def test_constant_features_survive_every_scaling(tmp_path):
    path = tmp_path / "constant.csv"
    path.write_text("a,b,label\n1,7,0\n2,7,1\n")
    for scale in ("none", "standard", "minmax"):
        validate(FileSource(path=str(path), scale=scale).load())
    path.write_text("a,label\n7,0\n7,1\n")
    assert FileSource(path=str(path)).load().defaults["gamma"] == 1.0


def test_two_points_all_train(tmp_path):
    path = tmp_path / "two.csv"
    path.write_text("a,label\n7,0\n7,1\n")
    data = FileSource(path=str(path), test_fraction=0.9).load()
    validate(data)
    assert sorted(data.y_train) == [-1, 1]
    assert len(data.y_test) == 0


def test_a_test_file_may_lack_the_last_features_and_a_class(tmp_path):
    train, test = tmp_path / "a9a", tmp_path / "a9a.t"
    train.write_text("1 1:1 30:1\n2 2:1\n" + "2 3:1\n" * 5)
    test.write_text("2 1:1\n2 2:1\n")
    data = FileSource(path=str(train), test=str(test)).load()
    validate(data)
    assert (data.x_train.shape, data.x_test.shape) == ((7, 30), (2, 30))
    assert data.y_test.tolist() == [1, 1]
    assert data.name == "a9a[test=a9a.t]"
    test.write_text("2 40:1\n2 2:1\n")
    assert FileSource(path=str(train), test=str(test)).load().x_train.shape == (7, 40)
    test.write_text("3 1:1\n2 2:1\n")
    with pytest.raises(DataError, match=r"a9a\.t: the label '3' does not occur in the training data.*'1', '2'"):
        FileSource(path=str(train), test=str(test)).load()


def test_train_and_test_of_different_width_are_refused(tmp_path):
    (tmp_path / "train.csv").write_text("a,b,label\n1,2,0\n3,4,1\n")
    (tmp_path / "test.csv").write_text("a,label\n1,0\n3,1\n")
    with pytest.raises(DataError, match=r"train\.csv' has 2 features, the test file '.*test\.csv' has 1"):
        FileSource(path=str(tmp_path / "train.csv"), test=str(tmp_path / "test.csv")).load()


def test_an_archive_brings_its_own_test_part(tmp_path):
    x, y = np.arange(20.0).reshape(10, 2), np.tile([0, 1], 5)
    np.savez(tmp_path / "both.npz", x_train=x[:6], y_train=y[:6], x_test=x[6:], y_test=y[6:])
    data = FileSource(path=str(tmp_path / "both.npz")).load()
    np.testing.assert_array_equal(data.x_test, x[6:])
    assert data.y_test.tolist() == [-1, 1, -1, 1]


def test_the_training_file_may_be_the_test_file_too(table):
    path, x, _ = table
    data = FileSource(path=str(path), test=str(path)).load()
    np.testing.assert_array_equal(data.x_train, x)
    np.testing.assert_array_equal(data.x_test, x)
    assert FileSource(path=str(path)).load().x_test.shape == (25, 3)


def test_files_of_one_name_in_two_folders_are_told_apart():
    labels = [FileSource(path=path).label for path in ("d.csv", "./d.npz", "b/d.csv", f"{'long/' * 8}d.csv")]
    assert labels == ["d.csv", "./d.npz", "b/d.csv", "d.csv"]
    assert FileSource(path="a/d.csv", test="b/d.csv", positive="2").label == "a/d.csv[positive=2,test=b/d.csv]"


@pytest.mark.parametrize("scale", ["none", "standard"])
@pytest.mark.parametrize("name", ["huge.csv", "huge.libsvm", "huge.npy"])
def test_values_whose_squares_overflow_are_refused(tmp_path, name, scale):
    path = tmp_path / name
    rows = [(float(i), (-1) ** i * 1e300, float(i % 2)) for i in range(40)]
    if name == "huge.npy":
        np.save(path, np.array(rows))
    elif name == "huge.csv":
        path.write_text("a,b,label\n" + "".join(f"{a},{b},{y}\n" for a, b, y in rows))
    else:
        path.write_text("".join(f"{y} 1:{a + 1} 2:{b} 50:1\n" for a, b, y in rows))
    if (name, scale) == ("huge.libsvm", "standard"):  # sparse columns are divided by their largest value
        assert abs(FileSource(path=str(path), scale=scale).load().x_train).max() == 1.0
        return
    with pytest.raises(DataError) as caught:
        FileSource(path=str(path), scale=scale).load()
    message = str(caught.value)
    assert f"{name}': feature column 2 (counted from 1, the label not counted) holds values as large as 1e+300" in (
        message
    )
    assert "overflow when squared; expected at most" in message
    assert message.endswith(
        "Scale the data first: divide the column by a constant, or give the parameter scale=minmax."
    )
    if name != "huge.libsvm":
        data = FileSource(path=str(path), scale="minmax").load()
        assert sorted(set(data.x_train[:, 1])) == [0, 1]


def test_a_test_part_that_overflows_is_refused_too(tmp_path):
    (tmp_path / "train.csv").write_text("a,label\n1e-200,0\n2e-200,1\n")
    (tmp_path / "test.csv").write_text("a,label\n1,0\n1e200,1\n")
    for scale in ("none", "minmax"):
        with pytest.raises(DataError, match=r"test\.csv': feature column 1 .* overflow when squared"):
            FileSource(path=str(tmp_path / "train.csv"), test=str(tmp_path / "test.csv"), scale=scale).load()


def test_nearly_constant_points_have_a_finite_default_gamma(tmp_path):
    path = tmp_path / "tiny.csv"
    path.write_text("a,label\n0,0\n1e-156,1\n")
    assert FileSource(path=str(path)).load().defaults["gamma"] == 1.0


def test_many_classes_and_regression(tmp_path):
    path = tmp_path / "many.csv"
    path.write_text("a,label\n" + "".join(f"{i},{i % 4}\n" for i in range(40)))
    data = FileSource(path=str(path), positive="3").load()
    assert FileSource(path=str(path), positive=3) == FileSource(path=str(path), positive="3")
    assert ((data.y_train > 0).sum() + (data.y_test > 0).sum()) == 10
    regression = FileSource(path=str(path), task="regression").load()
    validate(regression)
    assert (regression.task, len(regression.y_train)) == ("regression", 30)
    assert sorted(np.concatenate([regression.y_train, regression.y_test])) == sorted([0.0, 1.0, 2.0, 3.0] * 10)
    path.write_text("a,label\n1,u\n2,v\n")
    with pytest.raises(DataError, match=r"the label 'u' is text; task=regression expects numbers"):
        FileSource(path=str(path), task="regression").load()


def test_a_file_is_parsed_again_only_when_it_changes(table, monkeypatch):
    path, _, _ = table
    first = FileSource(path=str(path)).load()
    with monkeypatch.context() as patch:
        patch.setattr(FileSource, "_parse", lambda self: pytest.fail("parsed again"))
        again = FileSource(path=str(path)).load()
    assert again.sha256 == first.sha256
    path.write_text(path.read_text() + "1,2,3,sick\n")
    assert len(FileSource(path=str(path), test_fraction=0).load().y_train) == 101


def test_a_compressed_copy_holds_the_same_data(table):
    path, _, _ = table
    packed = path.with_name("heart.csv.gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    one, other = FileSource(path=str(path)).load(), FileSource(path=str(packed)).load()
    assert one.sha256 == other.sha256
    assert (one.name, other.name) == ("heart.csv", "heart.csv.gz")


def test_a_large_npy_is_served_from_the_disk(tmp_path):
    n = 60_000
    rows = np.random.default_rng(0).standard_normal((n, 5)).astype(np.float32)
    rows[:, -1] = np.arange(n) % 2
    np.save(tmp_path / "large.npy", np.asfortranarray(rows))
    data = FileSource(path=str(tmp_path / "large.npy"), test_fraction=0).load()
    validate(data)
    assert isinstance(data.x_train, np.memmap)
    assert data.x_train.dtype == np.float32
    np.testing.assert_array_equal(data.x_train, rows[:, :-1])
    assert Path(data.x_train.filename).parent.parent.name == "parsed"


def test_home_is_expanded(table, monkeypatch):
    path, _, _ = table
    monkeypatch.setenv("HOME", str(path.parent))
    assert len(FileSource(path="~/heart.csv").load().y_train) == 75
