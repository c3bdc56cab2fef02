"""Splitting of points into a training and a test part, and scaling by the statistics of the training part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from harness.datasets.dataset import Dataset, is_csr
from harness.kernels.points import as_points

if TYPE_CHECKING:
    from harness.datasets.dataset import Points
    from harness.support.arrays import Index, Vector

Scale = Literal["none", "standard", "minmax", "box"]


def random_split(n: int, n_train: int, seed: int) -> tuple[Index, Index]:
    """Return (n_train,) training rows and the (n - n_train,) others, both in random order."""
    order = np.random.default_rng(seed).permutation(n)
    return order[:n_train], order[n_train:]


def stratified_split(y: Vector, test_fraction: float, seed: int) -> tuple[Index, Index]:
    """Return training and test rows with each class divided in the same proportion, both in random order.

    ``train, test = stratified_split(y, 0.25, seed=0)``, then ``x[train], y[train]``. Every class has at least
    one training row, so that a tiny file still defines a problem.

    Parameters
    ----------
    y : (n,), class labels, two or more
    test_fraction : [0, 1); each class gives that share of its rows, rounded, to the test part
    seed : the same seed divides the same labels in the same way

    Returns
    -------
    (n_train,) and (n_test,) indices of rows, n_train + n_test = n, no row in both
    """
    rng = np.random.default_rng(seed)
    train, test = [], []
    for value in np.unique(y):
        rows = rng.permutation(np.flatnonzero(y == value))
        n_test = min(round(test_fraction * len(rows)), len(rows) - 1)
        test.append(rows[:n_test])
        train.append(rows[n_test:])
    # A second shuffle: the parts are ordered by class, and an online solver reads rows in order.
    return rng.permutation(np.concatenate(train)), rng.permutation(np.concatenate(test))


def rescaled(x_train: Points, x_test: Points, how: Scale) -> tuple[Points, Points]:
    """Return both parts with their features scaled by the statistics of the training part.

    ``x_train, x_test = harness.rescaled(x[train], x[test], "standard")``. The test part is not used, as its
    values are unknown when a solver is trained.

    ``none``: both unchanged. ``standard``: mean 0, standard deviation 1. ``minmax``: training values fill [0, 1], test
    values may leave it; ``box``: the same with [-1, 1], as LIBSVM's svm-scale does.
    A sparse matrix would lose its zeros under any of them, so its columns are divided by their largest absolute
    value instead. A constant column is shifted only, never divided by 0.

    Parameters
    ----------
    x_train, x_test : (n, d) and (m, d), dense or CSR; not changed

    Returns
    -------
    (n, d) and (m, d), of the same storage
    """
    if how == "none":
        return x_train, x_test
    train: Any = as_points(x_train)
    test: Any = as_points(x_test)
    if is_csr(train):
        largest = abs(train).max(axis=0).toarray().ravel()
        divisor = np.where(largest > 0, largest, largest.dtype.type(1))
        both = [((x.data / divisor[x.indices], x.indices, x.indptr), x.shape) for x in (train, test)]
        return type(train)(*both[0]), type(train)(*both[1])
    low, high = train.min(axis=0), train.max(axis=0)
    size = np.maximum(abs(low), abs(high))
    # Powers of two first, which is exact: training values are in [-1, 1], so that no square or difference over- or underflows.
    exponent = np.minimum(-np.frexp(size)[1], 1000)  # the reciprocal of 2^-1074 is no float64
    train, test, low, high, size = (np.ldexp(x, exponent) for x in (train, test, low, high, size))
    if how == "standard":
        shift, spread = train.mean(axis=0, dtype=np.float64), train.std(axis=0, dtype=np.float64)
    else:
        shift, spread = low, high - low
    # the mean of equal values is rounded, and their deviation is that rounding
    is_constant = high - low <= 16 * np.finfo(low.dtype).eps * size
    spread = np.where(is_constant, np.ldexp(1.0, exponent), spread)
    for x in (train, test):
        x -= shift
        x /= spread
        if how == "box":
            x *= 2.0
            x -= 1.0
    return train, test


def parts(x_train: Points, y_train: Vector, x_test: Points, y_test: Vector, **others: Any) -> Dataset:
    """Return a data set that has neither a name nor a checksum yet: what parsing and drawing end with."""
    return Dataset("", x_train, y_train, x_test, y_test, "", **others)


def divided(x: Points, y: Vector, rows: tuple[Index, Index], scale: Scale = "none", **others: Any) -> Dataset:
    """Return the training and the test rows of (n, d) points and (n,) targets, scaled by the training part."""
    train, test = rows
    x_train, x_test = rescaled(x[train], x[test], scale)
    return parts(x_train, y[train], x_test, y[test], **others)


def rbf(gamma: float, c: float) -> dict[str, Any]:
    """Return the ``defaults`` of a set that its paper trains with k = exp(-gamma |x - z|^2) and box bound C."""
    return {"kernel": "rbf", "gamma": gamma, "C": c}
