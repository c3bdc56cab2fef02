"""Missing values, categories and scales: fitted on the training part by scikit-learn, and applied to both parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.datasets.dataset import is_csr
from harness.datasets.splitting import are_constant
from harness.errors import DataError
from harness.kernels.points import as_points

if TYPE_CHECKING:
    import pandas as pd

    from harness.datasets.dataset import Points

DENSE_FROM = 0.25
"""Share of non-zeros from which points become a dense array: CSR (12 bytes a value) then gains little."""

_TINY = 2.0**-48  # a range of this size or less: scikit-learn's MinMaxScaler takes such a column for a constant
_APART = 100.0  # times the narrowest range of a column, from which the widest one outweighs it


def preprocess_columns(
    train: pd.DataFrame, test: pd.DataFrame, kinds: Mapping[str, str], options: Any
) -> tuple[Points, Points, str]:
    """Return both parts as points, numbers first and then a column of 0 and 1 for each category, and what was done.

    Parameters
    ----------
    train, test : (n, d) and (m, d) with the same columns, numbers or text, NaN or None where a cell is empty
    kinds : ``text`` or another kind, of each column
    options : a `FileSource`; its ``missing`` and ``scale``

    An empty cell of text, or a category that only the test part has, is 0 in all of its columns. Categories are not scaled. The
    points are sparse where less than :data:`DENSE_FROM` of them is not 0.

    Raises
    ------
    DataError : a column of text none of whose cells in the test part is a category of the training part.
    """
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    texts = [name for name, kind in kinds.items() if kind == "text"]
    numbers = [name for name in kinds if name not in texts]
    gaps = int(train[numbers].isna().to_numpy().sum())
    steps, done = [], []
    if options.missing in ("mean", "median"):
        steps.append(SimpleImputer(strategy=options.missing, keep_empty_features=True))
        done += [f"{gaps:,} empty cells filled with the {options.missing}"] * bool(gaps)
    if options.scale != "none" and numbers:
        steps.append(_scaler(options.scale))
        done.append(f"{len(numbers)} columns scaled ({options.scale})")
    categories = {name: sorted(set(train[name].dropna())) for name in texts}
    categories = {name: found for name, found in categories.items() if found}
    for name, found in categories.items():
        present = set(test[name].dropna())
        if present and not present & set(found):
            raise DataError(
                f"column '{name}' has no category in common between training ('{found[0]}' ...) and test part "
                f"('{min(present)}' ...). Write the categories alike."
            )
    done += [f"one-hot of {', '.join(f'{name} ({len(found)})' for name, found in categories.items())}"] * bool(
        categories
    )
    if not steps and not categories:
        return *(_array(part[numbers]) for part in (train, test)), ""
    encoder = OneHotEncoder(categories=list(categories.values()), handle_unknown="ignore")
    transformer = ColumnTransformer(
        [
            ("numbers", make_pipeline(*steps) if steps else "passthrough", numbers),
            ("categories", encoder, list(categories)),
        ],
        sparse_threshold=DENSE_FROM,
    )
    _refuse_tiny(train[numbers].to_numpy(), numbers, options.scale)
    x: Any = transformer.fit_transform(train)
    return _points(x), _points(transformer.transform(test) if len(test) else x[:0]), "; ".join(done)


def scale_points(x_train: Points, x_test: Points, how: str) -> tuple[Points, Points, str]:
    """Return both parts scaled, and what was done: dense columns as ``how`` says, sparse ones divided by their largest value."""
    if how == "none":
        return x_train, x_test, ""
    sparse = is_csr(x_train)
    if not sparse:
        _refuse_tiny(x_train, [f"#{number + 1}" for number in range(x_train.shape[1])], how)
    scaler = _scaler("sparse" if sparse else how)
    done = f"{x_train.shape[1]} columns scaled ({'by their largest value' if sparse else how})"
    x: Any = scaler.fit_transform(x_train)
    return _points(x), _points(scaler.transform(x_test) if x_test.shape[0] else x[:0]), done


def spread(x: Any, names: Sequence[str], categories: Sequence[str]) -> dict[str, Any]:
    """Return the ``widest`` and the ``narrowest`` column of (n, d) points, each with its range, if they lie far apart; else nothing.

    Columns of a constant have no range; categories have range 1. The columns of ``names`` come first. Of sparse points without
    categories nothing is said.
    """
    if is_csr(x) and not categories:
        return {}
    numbers = x[:, : len(names)].toarray() if is_csr(x) else x[:, : len(names)]
    ranges = [
        (float(most - least), name)
        for least, most, name in zip(numbers.min(axis=0), numbers.max(axis=0), names, strict=True)
    ]
    ranges = sorted((size, name) for size, name in [*ranges, *((1.0, name) for name in categories)] if size > 0)
    if not ranges or ranges[-1][0] <= _APART * ranges[0][0]:
        return {}
    return {"widest": list(ranges[-1][::-1]), "narrowest": list(ranges[0][::-1])}


def _scaler(how: str) -> Any:
    from sklearn import preprocessing

    kinds = {"standard": "StandardScaler", "minmax": "MinMaxScaler", "sparse": "MaxAbsScaler"}
    return getattr(preprocessing, kinds[how])()


def _refuse_tiny(x: Any, names: Sequence[str], how: str) -> None:
    """Raise if ``minmax`` would not scale a column because its range is tiny, though it is no rounding of a constant."""
    if how != "minmax" or not len(x):
        return
    low, high = np.fmin.reduce(x, axis=0), np.fmax.reduce(x, axis=0)
    size = high - low
    tiny = np.flatnonzero((size < _TINY) & ~are_constant(low, high))
    if len(tiny):
        raise DataError(
            f"column '{names[tiny[0]]}' has a range of only {size[tiny[0]]:.3g}, which scale=minmax takes for a constant. Give it "
            "another unit, or give the parameter scale=standard."
        )


def _array(frame: pd.DataFrame) -> Any:
    """Return columns of numbers as (n, d) points, float32 if all of them are."""
    single = len(frame.columns) and (frame.dtypes == np.float32).all()
    return np.ascontiguousarray(frame.to_numpy(np.float32 if single else np.float64))


def _points(x: Any) -> Points:
    import scipy.sparse

    if scipy.sparse.issparse(x):
        return as_points(x)
    return np.ascontiguousarray(x)
