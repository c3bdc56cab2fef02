"""Files larger than memory, a chunk at a time: LIBSVM text, plain or compressed, and NumPy's .npy, which is mapped.

A first pass over the file learns the number of examples and features, the classes, and whether indices start at 0 or
1, so that every chunk is read alike and as :func:`harness.datasets.readers.read_table` would read the whole.
"""

from __future__ import annotations

import io
import itertools
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.datasets.compression import existing_file, in_a_sentence, streamed
from harness.datasets.labels import Fault, learn_classes, refuse_missing
from harness.datasets.readers import array_of, base_of, based, format_of, index_range, read_libsvm, refuse_too_wide
from harness.datasets.tables import DENSE_FROM, refuse_non_finite
from harness.errors import DataError, UsageError

if TYPE_CHECKING:
    from harness.arrays import Array, Vector
    from harness.datasets.dataset import Points
    from harness.datasets.tables import IndexBase


class ChunkedFile:
    """The examples of a file as chunks (x, y); each iteration starts at the beginning.

    Parameters
    ----------
    path : LIBSVM text, or an array (n, d + 1) saved by numpy.save with the label in the last column
    rows : examples of a chunk, at least 1; the last one may be shorter
    positive : the class that is +1, all others being -1; None: of two classes the greater one
    index_base : LIBSVM text: the index of the first feature; ``auto``: 0 if it occurs in this file, else 1. Say it where
        a second file (test points, another day) is to be read alike

    Attributes
    ----------
    n, d : examples and features of the whole file

    Memory: one chunk as text or numbers and as points. The first pass reads the file once.

    Raises
    ------
    UsageError : ``rows`` below 1, another ``index_base``.
    DataError : the file is missing, damaged, of another format, or holds no two classes; when iterated, also numbers
        that are not finite, with their row.
    """

    def __init__(
        self, path: str, rows: int = 10_000, *, positive: str | None = None, index_base: IndexBase | int = "auto"
    ) -> None:
        self.path, self.rows, self._chosen = str(path), rows, str(index_base)
        if rows < 1 or self._chosen not in ("auto", "0", "1"):
            raise UsageError(f"rows={rows}, index_base={index_base!r}; expected 1 or more, and 'auto', 0 or 1.")
        self._file = existing_file(self.path)
        with in_a_sentence(self.path):
            self.kind = format_of(self._file)
            if self.kind not in ("libsvm", "npy"):
                raise DataError(
                    f"'{path}' is {self.kind}; chunks are read from LIBSVM text and .npy (label in the last column). "
                    "Convert it, or read it whole."
                )
            self.n, self.d, self._base, self._dense = 0, 0, 0, True
            labels = self._learn()
            if self.n == 0 or self.d <= 0:
                raise DataError(f"'{path}' has {self.n} rows of {self.d} features; expected points. Write it again.")
            found = learn_classes(labels, positive)
            if isinstance(found, Fault):
                told = "".join(f" [{name}={value}]" for name, value in found.needs.items())
                raise DataError(f"{self.path}: {found.text}{told and f': give the parameter{told}'}.")
            self.classes = found

    def __len__(self) -> int:
        """Return the number of chunks."""
        return math.ceil(self.n / self.rows)

    def __iter__(self) -> Iterator[tuple[Points, Vector]]:
        """Yield (m, d) points, CSR for sparse LIBSVM text and else dense, and (m,) labels -1 / +1."""
        first = 0
        with in_a_sentence(self.path):
            for x, labels in self._chunks():
                if self.kind == "libsvm":
                    x = based(x, self._base, self.d, self.path)
                    x = x.toarray() if self._dense else x
                refuse_non_finite(x, self.path, first)
                first += len(labels)
                yield x, self.classes.signs(labels, self.path)

    def _learn(self) -> Array:
        """Note n, d and how to read; return the distinct labels."""
        distinct: set[float] = set()
        ranges, values = [], 0
        for x, labels in self._chunks():
            refuse_missing(~np.isfinite(labels), labels, f"{self.path}', after row {self.n}, '")
            self.n += len(labels)
            self.d = x.shape[1]
            distinct.update(np.unique(labels).tolist())
            if self.kind == "libsvm" and x.nnz:
                ranges.append(index_range(x))
                values += x.nnz
        if self.kind == "libsvm":
            self._base = base_of(ranges, self._chosen, [self.path] * len(ranges))
            self.d = max((most + 1 - self._base for _, most in filter(None, ranges)), default=0)
            refuse_too_wide(self.n, self.d, values, self.path)
            self._dense = values >= DENSE_FROM * self.n * self.d
        return np.array(sorted(distinct))

    def _chunks(self) -> Iterator[tuple[Any, Array]]:
        """Yield points and labels as they stand in the file; of LIBSVM text, column j holds index j."""
        if self.kind == "npy":
            array = array_of(self._file)
            kept = array.dtype if array.dtype in (np.float32, np.float64) else np.float64
            for start in range(0, len(array), self.rows):
                rows = array[start : start + self.rows]
                yield np.ascontiguousarray(rows[:, :-1], dtype=kept), rows[:, -1].astype(np.float64)
            return
        with streamed(self._file) as file:
            while lines := list(itertools.islice(file, self.rows)):
                x, labels = read_libsvm(io.BytesIO(b"".join(lines)))
                if len(labels):  # lines may be blank or comments
                    yield x, labels
