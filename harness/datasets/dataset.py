"""The container every data source returns, and the protocol of a data source."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from harness import parameters

if TYPE_CHECKING:
    import scipy.sparse

    Points = np.ndarray[Any, np.dtype[Any]] | scipy.sparse.csr_array
    from harness.arrays import Mask, Vector

Task = Literal["classification", "regression"]

_PIECE = 1 << 20  # values that are read at a time


@dataclass(frozen=True)
class Dataset:
    """Training and test points with everything a run needs to state its problem.

    ``x_*`` : (n, d), C-contiguous float64 or float32 (perhaps memory-mapped) or ``scipy.sparse.csr_array``
    ``y_*`` : (n,) float64; -1 / +1 for classification, any finite real for regression
    ``sha256`` : what the source says of its content, see :func:`content_sha256`; a claim, the host measures
        (:func:`measured_sha256`) what it plans, runs and records
    ``planted`` : (n,) bool, the training points that the source made outliers: mislabelled, or drawn elsewhere than the
        rest; None where it made none. Solvers are not told
    ``defaults`` : the source's (or its paper's) ``kernel``, ``gamma``, ``C``; the user's options win
    """

    name: str
    x_train: Points
    y_train: Vector
    x_test: Points
    y_test: Vector
    sha256: str
    task: Task = "classification"
    defaults: Mapping[str, Any] = field(default_factory=dict)
    planted: Mask | None = None


@dataclass(frozen=True)
class DataSource(ABC):
    """A named source of data. Its dataclass fields are its parameters (``checkerboard[n=1000,seed=3]``)."""

    name: ClassVar[str]
    description: ClassVar[str]  # one sentence: what the points are, which class is +1, where the data come from

    def __post_init__(self) -> None:
        parameters.check(self, owner=f"data set '{self.name}'")

    @property
    def label(self) -> str:
        """The name with the parameters that differ from their defaults: ``checkerboard[n=500]``."""
        return parameters.label_of(self)

    def for_task(self, task: Task) -> Self:
        """Return this source with the targets of ``task``; itself where it has no others."""
        return self

    @abstractmethod
    def load(self) -> Dataset:
        """Return the data, from the parsed cache where there is one.

        Raises
        ------
        DataError : a file is missing, has the wrong checksum or does not parse; the sentence says what to do.
        """


def measured_sha256(dataset: Dataset) -> str:
    """Return the SHA-256 of a data set as it was loaded, whatever its source says of it.

    It covers points and targets of both parts (values, shapes, dtypes, sparse structure) and the task. The same content
    has the same hash in memory and on disk, in every process, and for classification it is
    ``content_sha256(x_train, y_train, x_test, y_test)``.

    Parameters
    ----------
    dataset : as :func:`harness.datasets.validate` lets it pass; read once, 1 to 2 GB a second; not copied
    """
    content = content_sha256(dataset.x_train, dataset.y_train, dataset.x_test, dataset.y_test)
    if dataset.task == "classification":
        return content
    return hashlib.sha256(f"{content} {dataset.task}".encode()).hexdigest()


def is_csr(x: Any) -> bool:
    """Return whether points are sparse; all others are dense."""
    import scipy.sparse

    return isinstance(x, scipy.sparse.csr_array | scipy.sparse.csr_matrix)


def pieces(x: Any) -> Iterator[tuple[int, Any]]:
    """Yield (first row, rows) of a dense array, some MB at a time: it may be a map larger than memory."""
    step = max(1, _PIECE // max(1, x[:1].size))
    for start in range(0, len(x), step):
        yield start, x[start : start + step]


def content_sha256(*arrays: Any) -> str:
    """Return the SHA-256 of dense or CSR arrays: shapes, dtypes and bytes, in order. None is copied as a whole."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(repr(array.shape).encode())
        for part in map(np.atleast_1d, (array.indptr, array.indices, array.data) if is_csr(array) else (array,)):
            digest.update(part.dtype.str.encode())
            for _, piece in pieces(part):
                digest.update(np.ascontiguousarray(piece).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()
