"""Validation of data sets, including those of plugins, before any solver gets them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, get_args

import numpy as np

from harness.datasets.bounds import reading_within
from harness.datasets.dataset import Dataset, DataSource, Task, is_csr, measured_sha256, pieces
from harness.kernels.points import FLOATS
from harness.support.errors import DataError, UsageError
from harness.support.faults import format_error


def first_non_finite(x: Any) -> tuple[int, int] | None:
    """Return the row and column of the first NaN or infinity of an (n, d) array, or None.

    ``x`` is dense (perhaps memory-mapped: it is read in pieces, memory stays below 20 MB) or CSR.
    """
    if is_csr(x):
        bad = np.flatnonzero(~np.isfinite(x.data))[:1].tolist()
        return next(((int(np.searchsorted(x.indptr, at, side="right")) - 1, int(x.indices[at])) for at in bad), None)
    for start, rows in pieces(x):
        if not (finite := np.isfinite(rows)).all():
            row, column = np.unravel_index(finite.argmin(), finite.shape)
            return start + int(row), int(column)
    return None


def load(source: DataSource, memory_limit: int | None) -> Dataset:
    """Return a source's data set, validated, with the measured SHA-256 of its content.

    memory_limit : bytes that reading may take; None: half of the memory that is available

    Raises
    ------
    UsageError, DataError : the data set could not be loaded.
    """
    try:
        with reading_within(memory_limit):
            dataset = source.load()
        validate(dataset)
        return replace(dataset, sha256=measured_sha256(dataset))  # replace the hash that the source claims
    except UsageError:
        raise
    except Exception as error:
        raise DataError(f"data set '{source.label}' could not be loaded: {format_error(error)}") from error


def validate(dataset: Dataset) -> None:
    """Raise unless the data set satisfies the requirements of :class:`Dataset` and defines a problem.

    Parameters
    ----------
    dataset : read once, in pieces; not changed

    Raises
    ------
    DataError : points not (n, d) C-contiguous float64/float32 or CSR; no rows or no features; labels
        not (n,) float64, not -1/+1 (classification), of one class only; lengths or d that do not match; NaN or
        infinity.
    """
    for fault in _faults(dataset):
        raise DataError(f"data set '{dataset.name}': {fault}")


def _faults(dataset: Dataset) -> Iterator[str]:
    """Yield a sentence for each thing that is wrong; what comes after the first one may itself be wrong."""
    task, y_train = dataset.task, dataset.y_train
    if task not in get_args(Task):
        yield f"task is {task!r}; expected 'classification' or 'regression'."
    yield from _faults_of_part("train", dataset.x_train, y_train, task)
    yield from _faults_of_part("test", dataset.x_test, dataset.y_test, task)
    if not len(y_train):
        yield "x_train has 0 rows; expected at least one point of each class."
    d, d_test = dataset.x_train.shape[1], dataset.x_test.shape[1]
    if d != d_test:
        yield f"x_train has {d} features, x_test has {d_test}; expected the same number. An empty test part has shape (0, d)."
    if task == "classification" and (y_train == y_train[0]).all():
        same = f"all {len(y_train)} training labels are {y_train[0]:+g}; expected both -1 and +1"
        yield f"{same}. Choose a class that occurs, more points, or another seed of the split or the noise."


def _faults_of_part(part: str, x: Any, y: Any, task: Task) -> Iterator[str]:
    if isinstance(x, np.ndarray):
        usable = x.flags.c_contiguous
    else:
        import scipy.sparse

        usable = isinstance(x, scipy.sparse.csr_array)  # in canonical format, see `Dataset`
    if not usable or x.ndim != 2 or not x.shape[1] or x.dtype not in FLOATS:
        expected = "numbers of shape (n, d), d > 0, a scipy.sparse.csr_array or C-contiguous, float64 or float32"
        yield f"x_{part} is {_described(x)}; expected {expected}: convert with numpy.ascontiguousarray(x, float)."
    if (bad := first_non_finite(x)) is not None:
        yield f"x_{part} is {x[bad]} in row {bad[0]}, column {bad[1]} (counted from 0); expected finite numbers."
    if not isinstance(y, np.ndarray) or y.dtype != np.float64 or y.shape != x.shape[:1] or not y.flags.c_contiguous:
        expected = f"a contiguous NumPy array of float64 of shape ({x.shape[0]},), one value for each row of x_{part}"
        yield f"y_{part} is {_described(y)}; expected {expected}: convert with numpy.ascontiguousarray(y, float)."
    wrong = np.flatnonzero(~np.isfinite(y) if task == "regression" else np.abs(y) != 1)
    if len(wrong):
        expected = "finite numbers" if task == "regression" else "-1 or +1 (for numbers to predict, task='regression')"
        yield f"y_{part} is {y[wrong[0]]:g} in row {wrong[0]} (counted from 0); expected {expected}."


def _described(array: Any) -> str:
    facts = f" of {array.dtype}, shape {array.shape}" if hasattr(array, "dtype") and hasattr(array, "shape") else ""
    strides = f", strides {array.strides}" if isinstance(array, np.ndarray) else ""
    return f"a {type(array).__name__}{facts}{strides}"
