"""Drawn frames against a plain scikit-learn pipeline, written here once more: the points are equal to 1e-12."""

import numpy as np
import pandas as pd
import scipy.sparse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler
from sklearn.svm import SVC

import harness
from harness.datasets import FileSource
from harness.kernels.points import scale_gamma
from tests.datasets.test_files import dense

WORDS = ["0700", "7", "north", "süd", "a b", "x,y"]
NUMBERS = st.floats(-1e6, 1e6).filter(lambda value: value == 0 or abs(value) > 1e-3)


@st.composite
def frames(draw):
    """Return a training frame and a test frame with the same columns in another order, and which columns are text."""
    n, m = draw(st.integers(6, 20)), draw(st.integers(1, 8))
    gaps, columns = draw(st.booleans()), {}
    whole, words = st.integers(-(10**6), 10**6), st.sampled_from(WORDS)
    cell = {"number": NUMBERS, "whole": whole, "truth": st.booleans(), "text": words}
    for place, kind in enumerate(draw(st.lists(st.sampled_from([*cell]), min_size=1, max_size=5))):
        column = pd.Series(draw(st.lists(cell[kind], min_size=n + m, max_size=n + m)), dtype=object)
        if kind == "text":  # two categories, which the test part has too
            column[: n + 1] = [WORDS[2 + i % 2] for i in range(n)] + WORDS[2:3]
        if gaps and kind in ("number", "text"):
            column[sorted(draw(st.sets(st.integers(2, n - 1), max_size=2)))] = None
        types = {"number": float, "whole": int, "truth": bool, "text": object}
        columns[f"c{place} {kind}"] = column.astype(types[kind])
    frame = pd.DataFrame(columns).assign(label=[i % 2 for i in range(n + m)])
    order = draw(st.permutations(list(frame.columns)))
    return frame[:n], frame[n:][order], [name for name in columns if name.endswith("text")]


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    frames(), st.sampled_from(["none", "standard", "minmax"]), st.sampled_from(["mean", "median"]),
    st.sampled_from(["csv", "parquet", "frame", "pair"]), st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
)  # fmt: skip
def test_points_are_those_of_a_plain_pipeline(tmp_path, parts, scale, missing, way, encoding):
    train, test, texts = parts
    chosen = {"categories": "one-hot", "missing": missing, "scale": scale}
    if way == "frame":
        source = harness.data(train, X_test=test, name="drawn", **chosen)
    elif way == "pair":
        x, x_test = (part.drop(columns="label") for part in (train, test))
        source = harness.data(x, train["label"], X_test=x_test, y_test=test["label"], name="drawn", **chosen)
    else:
        paths = [str(tmp_path / f"{name}.{way}") for name in ("train", "test")]
        for path, part in zip(paths, (train, test), strict=True):
            part.to_csv(path, index=False, encoding=encoding) if way == "csv" else part.to_parquet(path)
        source = FileSource(path=paths[0], test=paths[1], **chosen)
    data = source.load()
    numbers = [name for name in train.columns if name not in (*texts, "label")]
    scalers = {"none": [], "standard": [StandardScaler()], "minmax": [MinMaxScaler()]}[scale]
    encoder = OneHotEncoder(categories=[sorted(set(train[name].dropna())) for name in texts], handle_unknown="ignore")
    fill = make_pipeline(SimpleImputer(strategy=missing), *scalers)
    plain = make_column_transformer((fill, numbers), (encoder, texts), sparse_threshold=0)
    both = [part.drop(columns="label").astype(dict.fromkeys(numbers, float)) for part in (train, test)]
    both = [part.assign(**{name: part[name].where(part[name].notna(), "") for name in texts}) for part in both]
    np.testing.assert_allclose(dense(data.x_train), plain.fit_transform(both[0]), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(dense(data.x_test), plain.transform(both[1]), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(data.y_train, np.where(train["label"] > 0, 1.0, -1.0))
    np.testing.assert_array_equal(data.y_test, np.where(test["label"] > 0, 1.0, -1.0))


@settings(max_examples=50)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 1.0, -1e3, 1e5]), st.booleans(), st.floats(0.05, 1))
def test_gamma_is_that_of_scikit_learn(seed, mean, single, share):
    rng = np.random.default_rng(seed)
    x = rng.normal(mean, 10.0 ** rng.integers(-2, 3), size=(30, 4)) * (rng.random((30, 4)) <= share)
    x[0, 0] = 1.0
    x = x.astype(np.float32) if single else x
    expected = 1.0 / (4 * x.astype(np.float64).var())
    np.testing.assert_allclose([scale_gamma(x), scale_gamma(scipy.sparse.csr_array(x))], expected, rtol=1e-12)
    fitted = SVC(gamma="scale").fit(x.astype(np.float64), np.arange(30) % 2)
    np.testing.assert_allclose(fitted._gamma, expected, rtol=1e-9)


def test_gamma_of_a_constant_and_far_from_zero():
    assert scale_gamma(np.full((5, 2), 14.62)) == 1.0
    x = np.random.default_rng(0).normal(1.7e9, 60.0, size=(80, 1))
    np.testing.assert_allclose(scale_gamma(x), 1 / x.var(), rtol=1e-12)
