"""Columns of text and cells without a value become numbers, by what the training part alone shows.

``categories=one-hot``: a column of text becomes one column of 0 and 1 for each text that occurs in the training part, in
sorted order; another text of the test part is 0 in all of them. ``missing=mean``: a cell without a value gets the mean of its
column in the training part, and in a column of text the most frequent one. ``missing=drop``: rows with such a cell are
left out of both parts before they are parts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse

from harness.errors import DataError

if TYPE_CHECKING:
    from harness.arrays import Mask, Matrix
    from harness.datasets.dataset import Points

_SPARSE_FROM = 10_000_000  # values of both parts from which mostly zeros are not stored


def complete_rows(x: Points, path: str) -> Mask:
    """Return (n,) of bool: the rows of (n, d) points that have all their values.

    Raises
    ------
    DataError : there are none.
    """
    kept: Mask = np.atleast_1d(~np.isnan(np.asarray(x)).any(axis=1))
    if not kept.any():
        raise DataError(
            f"'{path}': each of the {len(kept)} rows has a missing value, so missing=drop leaves none. "
            "Give missing=mean, or leave out a column."
        )
    return kept


def filled(parts: tuple[Matrix, Matrix], categories: Mapping[int, Any], path: str) -> tuple[Matrix, Matrix]:
    """Return the training and the test part, (n, d) and (m, d), with what the training part has in the place of NaN.

    Raises
    ------
    DataError : a column has no value in the training part.
    """
    from sklearn.impute import SimpleImputer

    x_train, x_test = (part.copy() for part in parts)
    empty = np.flatnonzero(np.isnan(x_train).all(axis=0))
    if len(empty):
        raise DataError(
            f"'{path}': feature column {empty[0] + 1} (counted from 1, the label not counted) has no value in the training "
            "part; expected one at least. Leave the column out."
        )
    texts = np.isin(np.arange(x_train.shape[1]), list(categories))
    for columns, strategy in ((~texts, "mean"), (texts, "most_frequent")):
        if columns.any():
            fitted = SimpleImputer(strategy=strategy).fit(x_train[:, columns])
            for part in (x_train, x_test):
                if len(part):
                    part[:, columns] = fitted.transform(part[:, columns])
    return x_train, x_test


def one_hot(parts: tuple[Matrix, Matrix], categories: Mapping[int, Any]) -> tuple[Points, Points]:
    """Return the training and the test part with a column for each text of the training part in the place of each of its positions.

    Parameters
    ----------
    parts : (n, d) and (m, d), without NaN
    categories : the columns that hold positions of texts, see :class:`harness.datasets.tables.Table`

    CSR if they are large and mostly zeros, else dense.
    """
    from sklearn.preprocessing import OneHotEncoder

    from harness.datasets.libsvm_files import DENSE_FROM

    (x_train, x_test), columns = parts, sorted(categories)
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=True, dtype=np.float64).fit(x_train[:, columns])
    first = np.cumsum([0, *(len(found) for found in encoder.categories_)])

    def encoded(x: Matrix) -> Any:
        if not len(x):
            return scipy.sparse.csr_array((0, x.shape[1] - len(columns) + first[-1]))
        codes, blocks, begin = encoder.transform(x[:, columns]), [], 0
        for index, column in enumerate(columns):
            blocks += [scipy.sparse.csr_array(x[:, begin:column]), codes[:, first[index] : first[index + 1]]]
            begin = column + 1
        return scipy.sparse.csr_array(
            scipy.sparse.hstack([*blocks, scipy.sparse.csr_array(x[:, begin:])], format="csr")
        )

    train, test = encoded(x_train), encoded(x_test)
    size = (train.shape[0] + test.shape[0]) * train.shape[1]
    if size > _SPARSE_FROM and train.nnz < DENSE_FROM * train.shape[0] * train.shape[1]:
        return train, test
    return train.toarray(), test.toarray()
