"""Drawing training and test rows, and scaling by what the training rows say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from harness.arrays import Vector
    from harness.datasets.dataset import Points

from harness.arrays import Index

Scale = Literal["none", "standard", "minmax", "box"]


def random_split(n: int, n_train: int, seed: int) -> tuple[Index, Index]:
    """Return (n_train,) training rows and the (n - n_train,) others, both in random order."""
    order = np.random.default_rng(seed).permutation(n)
    return order[:n_train], order[n_train:]


def stratified_split(y: Vector, test_fraction: float, seed: int) -> tuple[Index, Index]:
    """Return training and test rows with each class divided in the same proportion.

    Every class keeps at least one training row, so that a tiny file still defines a problem.

    Parameters
    ----------
    y : (n,), class labels
    test_fraction : [0, 1); each class gives that share of its rows, rounded, to the test part
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
    """Return both parts scaled by the training part.

    ``standard``: mean 0, standard deviation 1. ``minmax``: training values fill [0, 1], test values may leave it;
    ``box``: the same with [-1, 1], as LIBSVM's svm-scale does.
    A sparse matrix would lose its zeros under any of them, so its columns are divided by their largest absolute
    value instead. A constant column is shifted only, never divided by 0.

    Parameters
    ----------
    x_train, x_test : (n, d) and (m, d), dense or CSR; not changed
    """
    import scipy.sparse

    if how == "none":
        return x_train, x_test
    if isinstance(x_train, scipy.sparse.csr_array):
        largest = np.maximum(abs(x_train).max(axis=0).toarray().ravel(), 0.0)
        divisor = scipy.sparse.diags_array(1.0 / np.where(largest > 0, largest, 1.0)).tocsr()
        return scipy.sparse.csr_array(x_train @ divisor), scipy.sparse.csr_array(x_test @ divisor)
    if how == "standard":
        shift, spread = x_train.mean(axis=0), x_train.std(axis=0)
    else:
        shift = x_train.min(axis=0)
        spread = x_train.max(axis=0) - shift
    spread = np.where(spread > 0, spread, 1.0)
    scaled = ((x_train - shift) / spread, (x_test - shift) / spread)
    return (2.0 * scaled[0] - 1.0, 2.0 * scaled[1] - 1.0) if how == "box" else scaled
