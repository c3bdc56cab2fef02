"""What every data set must satisfy before a solver sees it, third-party ones included."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.datasets.dataset import Dataset, is_csr, pieces
from harness.errors import DataError
from harness.kernels.points import FLOATS


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
            "Choose a class that occurs, more points or another split."
        )


def _check_points(x: Any, what: str) -> None:
    import scipy.sparse

    dense = isinstance(x, np.ndarray) and x.flags.c_contiguous
    sparse = isinstance(x, scipy.sparse.csr_array)  # which is canonical, see `Dataset`
    if not (dense or sparse) or x.ndim != 2 or not x.shape[1] or x.dtype not in FLOATS:
        raise DataError(
            f"{what} is {_described(x)}; expected numbers of shape (n, d) with d > 0, float64 or float32, as a C-contiguous NumPy "
            "array or a scipy.sparse.csr_array: convert with numpy.ascontiguousarray(x, float)."
        )
    bad = first_non_finite(x)
    if bad is not None:
        raise DataError(
            f"{what} holds {x[bad]} in row {bad[0]}, column {bad[1]} (counted from 0); expected finite numbers."
        )


def _check_targets(y: Any, n: int, what: str, points: str, task: str) -> None:
    if not isinstance(y, np.ndarray) or y.dtype != np.float64 or y.shape != (n,) or not y.flags.c_contiguous:
        raise DataError(
            f"{what} is {_described(y)}; expected a contiguous NumPy array of float64 of shape ({n},), one value for each row "
            f"of {points}: convert with numpy.ascontiguousarray(y, float)."
        )
    wrong = np.flatnonzero(~np.isfinite(y) if task == "regression" else np.abs(y) != 1)
    if len(wrong):
        expected = "finite numbers" if task == "regression" else "-1 or +1 (for numbers to predict, task='regression')"
        raise DataError(f"{what} holds {y[wrong[0]]:g} in row {wrong[0]} (counted from 0); expected {expected}.")


def _described(array: Any) -> str:
    facts = f" of {array.dtype}, shape {array.shape}" if hasattr(array, "dtype") and hasattr(array, "shape") else ""
    strides = f", strides {array.strides}" if isinstance(array, np.ndarray) else ""
    return f"a {type(array).__name__}{facts}{strides}"
