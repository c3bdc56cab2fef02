"""The container every data source returns, and the protocol of a data source."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from harness import parameters

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    import scipy.sparse

    Points = np.ndarray[Any, np.dtype[Any]] | scipy.sparse.csr_array
    Vector = np.ndarray[Any, np.dtype[np.float64]]

Task = Literal["classification", "regression"]


@dataclass(frozen=True)
class Dataset:
    """Training and test points with everything a run needs to state its problem.

    ``x_*`` : (n, d), C-contiguous float64 or float32 (perhaps memory-mapped) or ``scipy.sparse.csr_array``
    ``y_*`` : (n,) float64; -1 / +1 for classification, any finite real for regression
    ``sha256`` : of the content (see :func:`content_sha256`); part of every record
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


def content_sha256(*arrays: Any) -> str:
    """Return the SHA-256 of dense or CSR arrays: shapes, dtypes and bytes, in order."""
    import numpy as np
    import scipy.sparse

    digest = hashlib.sha256()
    for array in arrays:
        csr = isinstance(array, scipy.sparse.csr_array | scipy.sparse.csr_matrix)
        parts: tuple[Any, ...] = (array.indptr, array.indices, array.data) if csr else (array,)
        digest.update(repr(array.shape).encode())
        for part in parts:
            flat = np.ascontiguousarray(part).reshape(-1)
            digest.update(flat.dtype.str.encode())
            digest.update(flat.view(np.uint8).data)
    return digest.hexdigest()


def measured_sha256(dataset: Dataset) -> str:
    """Return the SHA-256 of what was really loaded."""
    return content_sha256(dataset.x_train, dataset.y_train, dataset.x_test, dataset.y_test)
