"""What every data set must satisfy before a solver sees it, third-party ones included."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.datasets.dataset import Dataset, is_csr, pieces
from harness.errors import DataError


def first_non_finite(x: Any) -> tuple[int, int] | None:
    """Return the row and column of the first NaN or infinity of an (n, d) array, or None.

    ``x`` is dense (perhaps memory-mapped: it is read in pieces, memory stays below 20 MB) or CSR.
    """
    if is_csr(x):
        bad = np.flatnonzero(~np.isfinite(x.data))
        if not len(bad):
            return None
        return int(np.searchsorted(x.indptr, int(bad[0]), side="right")) - 1, int(x.indices[bad[0]])
    for start, rows in pieces(x):
        finite = np.isfinite(rows)
        if not finite.all():
            row, column = np.argwhere(~finite)[0]
            return start + int(row), int(column)
    return None


def refuse_overflow(x: Any, path: str, scale: str, remedy: str) -> None:
    """Raise unless the arithmetic to come stays finite: for ``minmax`` differences, else sums of their squares.

    Parameters
    ----------
    x : (n, d), finite; dense (read in pieces) or CSR
    scale : how ``x`` is about to be scaled; ``none``: it is squared, for distances between points, in float64
    remedy : the end of the message, a sentence

    Raises
    ------
    DataError : with the column and the largest magnitude in it.
    """
    (n, d), sparse = x.shape, is_csr(x)
    if n == 0 or (sparse and (x.nnz == 0 or scale != "none")):  # sparse columns are only ever divided
        return
    largest = float(np.finfo(x.dtype if scale != "none" else np.float64).max)
    limit = largest / 2 if scale == "minmax" else np.sqrt(largest / (4.0 * n * d))
    for _, values in [(0, x.data)] if sparse else pieces(x):
        size = np.abs(values)
        if size.max() <= limit:
            continue
        at = np.unravel_index(int(size.argmax()), size.shape)
        column = int(x.indices[at[0]] if sparse else at[1]) + 1
        raise DataError(
            f"'{path}': feature column {column} (counted from 1, the label not counted) holds values as large as "
            f"{float(size[at]):g}, which overflow when squared; expected at most {limit:.0e} in magnitude. {remedy}"
        )


def validate(dataset: Dataset) -> None:
    """Raise unless the data set keeps the promises of :class:`Dataset` and defines a problem.

    Parameters
    ----------
    dataset : read once, in pieces; not changed

    Raises
    ------
    DataError : points not (n, d) C-contiguous float64/float32 or CSR; no rows or no features; labels
        not (n,) float64, not -1/+1 (classification), of one class only; lengths or d that do not match; NaN or
        infinity.
    """
    who = f"data set '{dataset.name}'"
    if dataset.task not in ("classification", "regression"):
        raise DataError(f"{who}: task is {dataset.task!r}; expected 'classification' or 'regression'.")
    for part in ("train", "test"):
        x, y = getattr(dataset, f"x_{part}"), getattr(dataset, f"y_{part}")
        _check_points(x, f"{who}: x_{part}")
        _check_targets(y, x.shape[0], f"{who}: y_{part}", f"x_{part}", dataset.task)
    if dataset.x_train.shape[0] == 0:
        raise DataError(f"{who}: x_train has 0 rows; expected at least one point of each class.")
    if dataset.x_train.shape[1] != dataset.x_test.shape[1]:
        raise DataError(
            f"{who}: x_train has {dataset.x_train.shape[1]} features, x_test has {dataset.x_test.shape[1]}; "
            "expected the same number. An empty test part has shape (0, d)."
        )
    if dataset.task == "classification" and (dataset.y_train == dataset.y_train[0]).all():
        raise DataError(
            f"{who}: all {len(dataset.y_train)} training labels are {dataset.y_train[0]:+g}; expected both -1 and +1. "
            "Draw more points or another split."
        )


def _check_points(x: Any, what: str) -> None:
    import scipy.sparse

    if not isinstance(x, np.ndarray | scipy.sparse.csr_array):  # which is canonical, see `Dataset`
        raise DataError(f"{what} is a {type(x).__name__}; expected a NumPy array or scipy.sparse.csr_array.")
    if x.ndim != 2:
        raise DataError(f"{what} has {x.ndim} dimension(s), shape {x.shape}; expected (n, d). One feature is (n, 1).")
    if x.shape[1] == 0:
        raise DataError(f"{what} has 0 features, shape {x.shape}; expected at least one column.")
    if x.dtype not in (np.dtype(np.float64), np.dtype(np.float32)):
        raise DataError(f"{what} has dtype {x.dtype}; expected float64 or float32: convert with x.astype(float).")
    if isinstance(x, np.ndarray) and not x.flags.c_contiguous:
        raise DataError(f"{what} is not C-contiguous (strides {x.strides}); convert with numpy.ascontiguousarray(x).")
    bad = first_non_finite(x)
    if bad is not None:
        raise DataError(
            f"{what} holds {x[bad]} in row {bad[0]}, column {bad[1]} (counted from 0); expected finite numbers."
        )


def _check_targets(y: Any, n: int, what: str, points: str, task: str) -> None:
    if not isinstance(y, np.ndarray) or y.dtype != np.dtype(np.float64):
        found = f"an array of {y.dtype}" if isinstance(y, np.ndarray) else f"a {type(y).__name__}"
        raise DataError(f"{what} is {found}; expected a NumPy array of float64.")
    if y.shape != (n,):
        raise DataError(f"{what} has shape {y.shape}; expected ({n},), one value for each row of {points}.")
    if not y.flags.c_contiguous:
        raise DataError(f"{what} is not contiguous (strides {y.strides}); convert with numpy.ascontiguousarray(y).")
    wrong = np.flatnonzero(~np.isfinite(y) if task == "regression" else np.abs(y) != 1)
    if len(wrong):
        expected = "finite numbers" if task == "regression" else "-1 or +1 (for numbers to predict, task='regression')"
        raise DataError(f"{what} holds {y[wrong[0]]:g} in row {wrong[0]} (counted from 0); expected {expected}.")
