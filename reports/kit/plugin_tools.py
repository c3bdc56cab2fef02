"""What the studies' data sources and solvers share: other data sets as they are loaded, and kernels that nobody counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness import DataError, Dataset, DataSource, Problem, content_sha256
from harness.datasets.dataset import is_csr
from harness.kernels.engine import Engine
from harness.registry.discovery import load_registry


def load(selection: str) -> Dataset:
    """Return a data set of the installed plugins."""
    return load_registry().select_datasets(selection)[0].load()


def load_dense(source: DataSource, selection: str) -> Dataset:
    """Return a data set of dense points, from which ``source`` derives another one.

    Raises
    ------
    DataError : the points are sparse.
    """
    data = load(selection)
    if is_csr(data.x_train):
        raise DataError(
            f"data set '{source.label}': the points of {selection} are sparse, and would be filled; expected a set of "
            "dense points, such as wdbc."
        )
    return data


def all_rows(data: Dataset) -> tuple[Any, Any]:
    """Return the points, an array or a CSR array, and the labels of both parts of a set."""
    import scipy.sparse

    parts = [data.x_train, data.x_test]
    x: Any = scipy.sparse.csr_array(scipy.sparse.vstack(parts)) if is_csr(data.x_train) else np.concatenate(parts)
    return x, np.concatenate([data.y_train, data.y_test])


def dataset(source: DataSource, *parts: Any, like: Dataset | None = None, **more: Any) -> Dataset:
    """Return the data set of a source: training points, their targets, test points, their targets, and other fields by name.

    like : a set whose task and defaults it has
    """
    shared = {} if like is None else {"task": like.task, "defaults": like.defaults}
    return Dataset(source.label, *parts, content_sha256(*parts), **{**shared, **more})


def uncounted(problem: Problem) -> Problem:
    """Return the problem over an uncounted engine of its kernel, for what a study computes in addition to a solver."""

    def engine(kernel: Any) -> Engine:
        settings = {"ridge": kernel.ridge, "z": kernel.z, "threads": kernel.threads}
        return Engine(kernel.kernel, None, part=kernel._part, **settings)  # noqa: SLF001

    return problem._over(engine)  # noqa: SLF001
