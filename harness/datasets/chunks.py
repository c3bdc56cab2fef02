"""Files larger than memory, a chunk at a time: LIBSVM text and NumPy's .npy, plain or compressed.

A first pass over the file learns the number of examples and features, the classes, and whether indices start at 0 or
1, so that every chunk is read alike and as :func:`harness.datasets.readers.read` would read the whole.
"""

from __future__ import annotations

import bz2
import gzip
import io
import itertools
import lzma
import math
import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import numpy as np

from harness.datasets.compression import existing_file
from harness.datasets.labels import learn_classes
from harness.datasets.readers import DENSE_FROM, format_of
from harness.datasets.validation import first_non_finite
from harness.errors import DataError, UsageError

if TYPE_CHECKING:
    from harness.datasets.dataset import Points, Vector

_DAMAGED = (EOFError, OSError, ValueError, lzma.LZMAError, zlib.error)
_OPEN: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"BZ": bz2.open, b"\xfd7": lzma.open}


class ChunkedFile:
    """The examples of a file as chunks (x, y); each iteration starts at the beginning.

    Parameters
    ----------
    path : LIBSVM text, or an array (n, d + 1) saved by numpy.save with the label in the last column
    rows : examples of a chunk, at least 1; the last one may be shorter
    positive : the class that is +1, all others being -1; None: of two classes the greater one

    Attributes
    ----------
    n, d : examples and features of the whole file

    Memory: one chunk as text or numbers and as points. The first pass reads the file once.

    Raises
    ------
    UsageError : ``rows`` below 1.
    DataError : the file is missing, damaged, of another format, or holds no two classes; when iterated, also numbers
        that are not finite, with their row.
    """

    def __init__(self, path: str, rows: int = 10_000, *, positive: str | None = None) -> None:
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
        self._text = kind == "libsvm"
        self.n, self.d, self._zero_based, self._dense = 0, 0, False, False
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
        least, most, values = 1, -1, 0
        if not self._text:
            with self._opened() as file:
                shape, _ = self._header(file)
            self.d = shape[1] - 1
        for x, labels in self._chunks(learning=True):
            self.n += len(labels)
            if not np.isfinite(labels).all():
                row = self.n - len(labels) + int(np.flatnonzero(~np.isfinite(labels))[0]) + 1
                raise DataError(f"'{self.path}': the label of row {row} is not finite; expected a class. Drop the row.")
            distinct.update(np.unique(labels).tolist())
            if self._text and x.nnz:
                least, most = min(least, int(x.indices.min())), max(most, int(x.indices.max()))
                values += x.nnz
        if self._text:
            self._zero_based = least == 0
            self.d = most + 1 if self._zero_based else most
            self._dense = values >= DENSE_FROM * self.n * self.d
            if self.n and self.d <= 0:
                raise DataError(f"'{self.path}' has no features, only labels; expected 'label index:value ...'.")
        return np.array(sorted(distinct))

    # -- reading -------------------------------------------------------------------------------------

    def _opened(self) -> BinaryIO:
        with self._file.open("rb") as file:
            opener: Any = _OPEN.get(file.read(2))
        return self._file.open("rb") if opener is None else cast("BinaryIO", opener(self._file, "rb"))

    def _chunks(self, *, learning: bool = False) -> Iterator[tuple[Any, Any]]:
        read = self._text_chunks(learning=learning) if self._text else self._array_chunks(labels_only=learning)
        try:
            yield from read
        except DataError:
            raise
        except _DAMAGED as error:
            raise DataError(f"'{self.path}' is truncated or damaged ({error}). Fetch or write it again.") from None

    def _text_chunks(self, *, learning: bool) -> Iterator[tuple[Any, Any]]:
        """Yield the chunks; while learning, with indices as they stand in the file."""
        import scipy.sparse
        from sklearn.datasets import load_svmlight_file

        first = 1
        with self._opened() as file:
            while True:
                lines = list(itertools.islice(file, self.rows))
                if not lines:
                    return
                try:
                    x, labels = load_svmlight_file(
                        io.BytesIO(b"".join(lines)),
                        n_features=None if learning else self.d,
                        zero_based=learning or self._zero_based,
                    )
                except (ValueError, OverflowError) as error:
                    raise DataError(
                        f"'{self.path}' is not LIBSVM text in lines {first} to {first + len(lines) - 1} ({error}). Expected "
                        "'label index:value ...' with ascending indices."
                    ) from None
                first += len(lines)
                if len(labels):  # lines may be blank or comments
                    yield (x.toarray() if self._dense else scipy.sparse.csr_array(x)), labels

    def _array_chunks(self, *, labels_only: bool) -> Iterator[tuple[Any, Any]]:
        with self._opened() as file:
            (n, width), dtype = self._header(file)
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
                yield (None if labels_only else np.ascontiguousarray(values[:, :-1], dtype=kept)), labels

    def _header(self, file: BinaryIO) -> tuple[tuple[int, ...], np.dtype[Any]]:
        """Return shape and dtype of the array, the file being left at its first value."""
        by_version: Any = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
        try:
            read = by_version[np.lib.format.read_magic(file)]
            shape, by_columns, dtype = read(file)
        except (KeyError, ValueError) as error:
            raise DataError(
                f"'{self.path}' is not an array as numpy.save writes it ({error}). Write it again."
            ) from None
        if len(shape) != 2 or shape[1] < 2 or dtype.kind not in "fiub" or by_columns:
            order = "by columns, " if by_columns else ""
            raise DataError(
                f"'{self.path}' holds {order}{dtype} of shape {shape}; expected numbers of shape (n, d + 1) stored by "
                "rows, the label in the last column: numpy.save(path, numpy.column_stack([points, labels]))."
            )
        return shape, dtype
