"""Imputation, encoding of categories and scaling, fitted on the training part and applied to both parts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from harness.datasets.dataset import is_csr
from harness.datasets.splitting import rescaled
from harness.kernels.points import as_points
from harness.support.errors import DataError

DENSE_FROM = 0.25
"""Share of non-zeros from which points become a dense array, as CSR (12 bytes a value) then gains little."""

_APART = 100.0  # ratio of ranges of columns, or of the variance of their means to that within them: above it scaling is advised


def preprocess(train: Any, test: Any, kinds: Mapping[str, str], options: Any) -> tuple[Any, Any, list[str]]:
    """Return both parts as points, and a list of the steps.

    Parameters
    ----------
    train, test : (n, d) and (m, d) arrays or sparse arrays; or frames with the same columns of numbers or text, with NaN or None
        for empty cells, whose points have the numbers first and then a column of 0 and 1 for each category
    kinds : column of a frame -> ``text`` or another kind
    options : a `FileSource` with ``missing`` and ``scale``

    Empty cells of text, and categories that only the test part has, are 0 in all columns of the categories. Categories are not
    scaled. Points of a frame are sparse if less than :data:`DENSE_FROM` of them are nonzero; sparse points are divided by their
    largest values.

    Raises
    ------
    DataError : no cell of a column of text in the test part is a category of the training part.
    """
    numbers = [name for name, kind in kinds.items() if kind != "text"]
    categories = {name: sorted(set(train[name].dropna())) for name, kind in kinds.items() if kind == "text"}
    categories = {name: values for name, values in categories.items() if values}
    x, x_test, done = train, test, []
    if kinds:
        x, x_test = train[numbers], test[numbers]
        if options.missing in ("mean", "median"):
            gaps, fill = x.isna().sum().sum() + x_test.isna().sum().sum(), getattr(x, options.missing)().fillna(0.0)
            x, x_test = x.fillna(fill), x_test.fillna(fill)
            done += [f"{gaps:,} empty cells filled with the {options.missing}"] * bool(gaps)
        x, x_test = x.to_numpy(), x_test.to_numpy()
    if options.scale != "none" and x.shape[1]:
        x, x_test = rescaled(x, x_test, options.scale)
        done.append(f"{x.shape[1]} columns scaled ({'by their largest value' if is_csr(x) else options.scale})")
    if categories:
        done.append(f"one-hot of {', '.join(f'{name} ({len(values)})' for name, values in categories.items())}")
        if unknown := sum(_unknown(test[name].dropna(), values) for name, values in categories.items()):
            done.append(f"{unknown:,} cells of the test part with other categories are 0 in all columns")
        x, x_test = _with_categories(x, train, x_test, test, categories)
        if x.nnz >= DENSE_FROM * math.prod(x.shape):
            x, x_test = x.toarray(), x_test.toarray()
    return as_points(x), as_points(x_test), done


def _with_categories(
    x: Any, train: Any, x_test: Any, test: Any, categories: Mapping[str, Sequence[str]]
) -> tuple[Any, Any]:
    """Return the numbers of both parts, followed by a column of 0 and 1 for each category of the columns of text, as CSR."""
    from scipy.sparse import csr_array, hstack
    from sklearn.preprocessing import OneHotEncoder

    names, values = list(categories), list(categories.values())
    encoder = OneHotEncoder(categories=values, handle_unknown="ignore").fit(train[names])
    both = hstack([csr_array(x), encoder.transform(train[names])], format="csr")
    if not len(test):  # the encoder refuses a part without rows
        return both, both[:0]
    return both, hstack([csr_array(x_test), encoder.transform(test[names])], format="csr")


def spread(x: Any, kinds: Mapping[str, str]) -> dict[str, Any]:
    """Return the ``widest`` and the ``narrowest`` column of (n, d) points with their ranges, or the ``farthest`` with its mean.

    It is empty if ranges are similar and the columns lie so near to each other that gamma = 'scale', from the variance of
    all numbers, suits them. Constant columns are ignored; categories have range 1. Sparse points without categories have none.

    kinds : the argument of :func:`preprocess`, which returned the points
    """
    categories = [name for name in kinds if kinds[name] == "text"]
    if is_csr(x) and not categories:
        return {}
    names = [name for name in kinds if name not in categories] if kinds else [str(1 + j) for j in range(x.shape[1])]
    numbers = x[:, : len(names)].toarray() if is_csr(x) else x[:, : len(names)]
    ranges = np.subtract(numbers.max(axis=0), numbers.min(axis=0)).tolist() + [1.0] * len(categories)
    by_range = sorted((size, name) for size, name in zip(ranges, [*names, *categories], strict=True) if size > 0)
    if by_range and by_range[-1][0] > _APART * by_range[0][0]:
        return {"widest": list(by_range[-1][::-1]), "narrowest": list(by_range[0][::-1])}
    if numbers.shape[1] < 2:
        return {}
    means, within = numbers.mean(axis=0), numbers.var(axis=0)
    if means.var() > _APART * within.mean() > 0:
        farthest = int(np.argmax(np.abs(means)))
        return {"farthest": [names[farthest], float(means[farthest])]}
    return {}


def _unknown(present: Any, categories: Sequence[str]) -> int:
    """Return the number of cells of a test column that are no training categories; raise DataError if all are not."""
    unknown = ~present.isin(categories)
    if len(present) and unknown.all():
        what = f"no category of the test part ('{min(present)}' ...) is one for training ('{categories[0]}' ...)"
        raise DataError(f"column '{present.name}': {what}. Write the categories alike.")
    return int(unknown.sum())
