"""Files larger than memory, a chunk at a time: LIBSVM text, plain or compressed, Parquet, and NumPy's .npy, which is mapped.

A first pass over the file learns the number of examples and features, the classes, and whether indices start at 0 or
1, so that every chunk is read alike and as :func:`harness.datasets.readers.read_table` would read the whole.
"""

from __future__ import annotations

import io
import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from harness.datasets.columns import LABEL_NAMES
from harness.datasets.compression import existing_file, in_a_sentence, streamed
from harness.datasets.labels import Classes, Fault, class_name, is_missing, learn_classes
from harness.datasets.libsvm_text import base_of, based, index_range, read_libsvm, refuse_too_wide
from harness.datasets.preprocessing import DENSE_FROM
from harness.datasets.readers import array_of, format_of, refuse_missing, refuse_non_finite
from harness.errors import DataError, UsageError

if TYPE_CHECKING:
    from harness.arrays import Array, Vector
    from harness.datasets.dataset import Points
    from harness.datasets.libsvm_text import IndexBase


@dataclass(frozen=True)
class Contents:
    """What the first pass over a file found.

    d : features; 0 for LIBSVM text, whose ``indices`` are the least and the greatest one, and ``values`` how many there are
    names : of the columns of Parquet, without the label
    labels : how often each label occurs
    """

    path: str
    kind: str
    n: int
    d: int
    indices: tuple[int, int] | None
    values: int
    names: tuple[str, ...]
    labels: dict[Any, int]


@dataclass(frozen=True)
class Layout:
    """How a file is read, or all parts of a data set alike: features, first index, whether dense, the classes."""

    d: int
    base: int
    dense: bool
    classes: Classes


def contents_of(path: str, rows: int) -> Contents:
    """Read a file once, ``rows`` examples at a time; DataError as :class:`ChunkedFile` raises it."""
    with in_a_sentence(path):
        file = existing_file(path)
        kind = format_of(file, path)
        if kind not in ("libsvm", "npy", "parquet"):
            raise DataError(
                f"'{path}' is {kind}; chunks are read from LIBSVM text, Parquet and .npy (label in the last column). "
                "Convert it, or read it whole."
            )
        n, d, values, ranges = 0, 0, 0, []
        found: Counter[Any] = Counter()
        for x, labels in _chunks(file, kind, rows):
            refuse_missing(is_missing(labels), path, n)
            n += len(labels)
            distinct, counts = np.unique(labels, return_counts=True)
            found.update(dict(zip(distinct.tolist(), counts.tolist(), strict=True)))
            if kind != "libsvm":
                d = x.shape[1]
            elif x.nnz:
                ranges.append(index_range(x))
                values += x.nnz
        ends = [each for each in ranges if each is not None]
        span = (min(low for low, _ in ends), max(high for _, high in ends)) if ends else None
        names = tuple(_columns(file)[0]) if kind == "parquet" else ()
        return Contents(path, kind, n, d or len(names), span, values, names, dict(found))


def layout_of(found: Sequence[Contents], where: str, positive: str | None, index_base: str) -> Layout:
    """Return how files with these contents are read alike.

    where : the file, or the folder of the parts, for messages

    Raises
    ------
    DataError : no points, no two classes, too many columns; of parts also more than one format or number of features.
    """
    first, n = found[0], sum(each.n for each in found)
    for other in found:
        if (other.kind, other.d, other.names) != (first.kind, first.d, first.names):
            told = [f"'{each.path}' is {each.kind} with {each.d} features" for each in (first, other)]
            differ = "; the names of their columns differ" if first.d == other.d and first.kind == other.kind else ""
            raise DataError(
                f"{' and '.join(told)}{differ}; expected parts of one format and one width. Write the one or the other again, "
                "or leave it out of the folder."
            )
    base, d, dense, values = 0, first.d, True, sum(each.values for each in found)
    if first.kind == "libsvm":
        ends = [each.indices for each in found if each.indices]
        span = (min(low for low, _ in ends), max(high for _, high in ends)) if ends else None
        base = base_of([span], index_base, [where])
        d = max((each.indices[1] + 1 - base for each in found if each.indices), default=0)
        refuse_too_wide(n, d, values, where)
        dense = values >= DENSE_FROM * n * d
    if n == 0 or d <= 0:
        raise DataError(f"'{where}' has {n} rows of {d} features; expected points. Write it again.")
    labels: Counter[Any] = Counter()
    for each in found:
        labels.update(each.labels)
    classes = learn_classes(np.array(sorted(labels)), positive)
    if isinstance(classes, Fault):
        if len(labels) == 1:
            raise DataError(
                f"{where}: each of the {n:,} labels is '{class_name(next(iter(labels)))}'; expected two classes."
            )
        needs = "".join(f" [{name}={value}]" for name, value in classes.needs.items())
        raise DataError(f"{where}: {classes.text}{needs and f': give the parameter{needs}'}.")
    return Layout(d, base, dense, classes)


class ChunkedFile:
    """The examples of a file as chunks (x, y); each iteration starts at the beginning.

    Parameters
    ----------
    path : LIBSVM text; an array (n, d + 1) saved by numpy.save with the label in the last column; or Parquet, columns of
        numbers, the label being the one called label, target, class or y, else the last
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
        self.path, self.rows = str(path), rows
        if rows < 1 or str(index_base) not in ("auto", "0", "1"):
            raise UsageError(f"rows={rows}, index_base={index_base!r}; expected 1 or more, and 'auto', 0 or 1.")
        found = contents_of(self.path, rows)
        with in_a_sentence(self.path):
            self._read_as(found, layout_of([found], self.path, positive, str(index_base)))

    @classmethod
    def part(cls, found: Contents, layout: Layout, rows: int) -> Self:
        """Return a file that was read before, laid out as the other parts of its data set are."""
        part = cls.__new__(cls)
        part.path, part.rows = found.path, rows
        part._read_as(found, layout)  # noqa: SLF001 - one of its own kind
        return part

    def _read_as(self, found: Contents, layout: Layout) -> None:
        self.kind, self.n = found.kind, found.n
        self.d, self._base, self._dense, self.classes = layout.d, layout.base, layout.dense, layout.classes

    def __len__(self) -> int:
        """Return the number of chunks."""
        return math.ceil(self.n / self.rows)

    def __iter__(self) -> Iterator[tuple[Points, Vector]]:
        """Yield (m, d) points, CSR for sparse LIBSVM text and else dense, and (m,) labels -1 / +1."""
        first, width = 0, self.d
        with in_a_sentence(self.path):
            for x, labels in _chunks(existing_file(self.path), self.kind, self.rows):
                if self.kind == "libsvm":
                    x = based(x, self._base, self.d, self.path)
                    x = x.toarray() if self._dense else x
                refuse_non_finite(x, self.path, first)
                first, width = first + len(labels), x.shape[1]
                if first > self.n or width != self.d:
                    break
                if not len(labels):
                    continue
                yield x, self.classes.signs(labels, self.path)
            if first != self.n or width != self.d:
                raise DataError(
                    f"'{self.path}' has changed since it was first read, when it had {self.n:,} rows of {self.d} features. "
                    "Let whatever writes it finish, and begin again."
                )


def _chunks(file: Path, kind: str, rows: int) -> Iterator[tuple[Any, Array]]:
    """Yield points and labels as they stand in the file; of LIBSVM text, column j holds index j."""
    if kind == "npy":
        array = array_of(file)
        kept = array.dtype if array.dtype in (np.float32, np.float64) else np.float64
        for start in range(0, max(1, len(array)), rows):  # an empty one has its columns
            piece = array[start : start + rows]
            yield np.ascontiguousarray(piece[:, :-1], dtype=kept), np.array(piece[:, -1])
        return
    if kind == "parquet":
        import pyarrow.parquet

        features, label = _columns(file)
        for batch in pyarrow.parquet.ParquetFile(file).iter_batches(rows):
            columns = [batch.column(name).to_numpy(zero_copy_only=False) for name in (*features, label)]
            numbers = [column.astype(np.result_type(column.dtype, np.float32)) for column in columns]
            yield np.column_stack(numbers[:-1]), columns[-1]
        return
    with streamed(file) as text:
        while lines := list(itertools.islice(text, rows)):
            x, labels = read_libsvm(io.BytesIO(b"".join(lines)))
            if len(labels):  # lines may be blank or comments
                yield x, labels


def _columns(file: Path) -> tuple[list[str], str]:
    """Return the names of the features of a Parquet file, and the label's."""
    import pyarrow.parquet
    import pyarrow.types as kinds

    schema = pyarrow.parquet.read_schema(file)
    other = [each.name for each in schema if not (kinds.is_integer(each.type) or kinds.is_floating(each.type))]
    labels = [name for name in schema.names if name.lower() in LABEL_NAMES] or schema.names[-1:]
    if other or len(labels) != 1 or len(set(schema.names)) < max(2, len(schema.names)):
        told = f"the column '{other[0]}' of another type" if other else f"the columns {', '.join(schema.names[:20])}"
        raise DataError(
            f"'{file}' has {told}; expected columns of numbers with names of their own, two or more, one of them the label: called "
            "label, target, class or y, else the last. Convert it, or read it whole."
        )
    return [name for name in schema.names if name != labels[0]], labels[0]
