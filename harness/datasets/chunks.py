"""Files larger than memory, a chunk at a time: LIBSVM text and NumPy's .npy, plain or compressed.

A first pass over the file learns the number of examples and features, the classes, and whether indices start at 0 or
1, so that every chunk is read alike and as :func:`harness.datasets.readers.read_table` would read the whole.
"""

from __future__ import annotations

import io
import itertools
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from harness.datasets.bounds import bound, refuse_beyond
from harness.datasets.compression import existing_file, streamed
from harness.datasets.labels import learn_classes
from harness.datasets.libsvm_files import DENSE_FROM, base_of, based, index_range, read_libsvm
from harness.datasets.numpy_files import read_header
from harness.datasets.readers import format_of
from harness.datasets.validation import first_non_finite
from harness.errors import DataError, UsageError

if TYPE_CHECKING:
    from harness.arrays import Vector
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
        if rows < 1:
            raise UsageError(f"rows={rows}; a chunk has at least one example: give 1 or more.")
        self.path, self.rows = str(path), rows
        self._file = existing_file(self.path)
        kind = format_of(self._file)
        if kind not in ("libsvm", "npy"):
            raise DataError(
                f"'{path}' is {kind}; chunks are read from LIBSVM text and .npy (label in the last column). Convert it, "
                "or read it whole."
            )
        self._chunks = self._text_chunks if kind == "libsvm" else self._array_chunks
        if str(index_base) not in ("auto", "0", "1"):
            raise UsageError(
                f"index_base={index_base!r}; expected 'auto', 0 or 1. Leave it out where indices are usual."
            )
        self.n, self.d, self._chosen, self._base, self._dense = 0, 0, str(index_base), 0, False
        labels = self._learn()
        if self.n == 0:
            raise DataError(f"'{path}' has 0 rows of data; expected at least one point of each class. Write it again.")
        self.classes = learn_classes(labels, positive, self.path)

    def __len__(self) -> int:
        """Return the number of chunks."""
        return math.ceil(self.n / self.rows)

    def __iter__(self) -> Iterator[tuple[Points, Vector]]:
        """Yield (m, d) points, CSR for sparse LIBSVM text and else dense, and (m,) labels -1 / +1."""
        first = 0
        for x, labels in self._chunks():
            bad = first_non_finite(x)
            if bad is not None:
                raise DataError(
                    f"'{self.path}': row {first + bad[0] + 1}, column {bad[1] + 1} holds {x[bad]}; expected a finite "
                    "number (counted from 1, the label not counted). Fill in or drop such rows."
                )
            first += len(labels)
            yield x, self.classes.signs(labels, self.path)

    # -- the first pass ------------------------------------------------------------------------------

    def _learn(self) -> np.ndarray[Any, Any]:
        """Note n, d and how to read; return the distinct labels."""
        distinct: set[float] = set()
        text, ranges, values = self._chunks == self._text_chunks, [], 0
        for x, labels in self._chunks(learning=True):
            self.n += len(labels)
            if not np.isfinite(labels).all():
                row = self.n - len(labels) + int(np.flatnonzero(~np.isfinite(labels))[0]) + 1
                raise DataError(f"'{self.path}': the label of row {row} is not finite; expected a class. Drop the row.")
            distinct.update(np.unique(labels).tolist())
            if text and x.nnz:
                ranges.append(index_range(x))
                values += x.nnz
        if text:
            self._base = base_of(ranges, self._chosen, [self.path] * len(ranges))
            self.d = max((most + 1 - self._base for _, most in filter(None, ranges)), default=0)
            self._dense = values >= DENSE_FROM * self.n * self.d
            if self.n and self.d <= 0:
                raise DataError(f"'{self.path}' has no features, only labels; expected 'label index:value ...'.")
        return np.array(sorted(distinct))

    # -- reading -------------------------------------------------------------------------------------

    def _text_chunks(self, *, learning: bool = False) -> Iterator[tuple[Any, Any]]:
        """Yield the chunks; while learning, with indices as they stand in the file."""
        first = 1
        with streamed(self._file) as file:
            whole_lines = self._lines(file)
            while True:
                lines = list(itertools.islice(whole_lines, self.rows))
                if not lines:
                    return
                x, labels = read_libsvm(io.BytesIO(b"".join(lines)), self.path, first)
                first += len(lines)
                if not len(labels):  # lines may be blank or comments
                    continue
                if not learning:
                    x = based(x, self._base, self.d)
                yield (x.toarray() if self._dense else x), labels

    def _lines(self, file: BinaryIO) -> Iterator[bytes]:
        """Yield the lines of a file, of which none is longer than memory has room for."""
        most = bound()
        while line := file.readline(most):
            refuse_beyond(len(line) + 1, self.path, "one line of it")
            yield line

    def _array_chunks(self, *, learning: bool = False) -> Iterator[tuple[Any, Any]]:
        """Yield the chunks; while learning, their labels only."""
        with streamed(self._file) as file:
            (n, width), dtype = self._header(file)
            self.d = width - 1
            for start in range(0, n, self.rows):
                count = min(self.rows, n - start)
                data = file.read(count * width * dtype.itemsize)
                if len(data) < count * width * dtype.itemsize:
                    raise DataError(
                        f"'{self.path}' ends in row {start + len(data) // (width * dtype.itemsize) + 1} of {n}. "
                        "Fetch or write it again."
                    )
                values = np.frombuffer(data, dtype=dtype).reshape(count, width)
                labels = values[:, -1].astype(np.float64)
                kept = dtype if dtype in (np.float32, np.float64) else np.dtype(np.float64)
                yield (None if learning else np.ascontiguousarray(values[:, :-1], dtype=kept)), labels

    def _header(self, file: BinaryIO) -> tuple[tuple[int, ...], np.dtype[Any]]:
        """Return shape and dtype of the array, the file being left at its first value."""
        header = read_header(file, self.path)
        shape, dtype = header.shape, header.dtype
        if len(shape) != 2 or shape[1] < 2 or dtype.kind not in "fiub" or header.by_columns:
            order = "by columns, " if header.by_columns else ""
            raise DataError(
                f"'{self.path}' holds {order}{header}; expected numbers of shape (n, d + 1) stored by rows, the label in "
                "the last column: numpy.save(path, numpy.column_stack([points, labels]))."
            )
        refuse_beyond(min(self.rows, shape[0]) * shape[1] * dtype.itemsize, self.path, f"a chunk of {self.rows} rows")
        return shape, dtype
