"""Files larger than memory, a chunk at a time: LIBSVM text, plain or compressed, Parquet, and NumPy's .npy, which is mapped.

A first pass over a file, or over all files of a folder, finds the number of examples and features, the classes, and whether
indices start at 0 or 1. So every chunk is read alike, and as :func:`harness.datasets.readers.read_parts` would read the whole.
"""

from __future__ import annotations

import glob
import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, as_completed
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from harness.datasets.columns import Table, choose, unlike
from harness.datasets.compression import existing_file, in_a_sentence, streamed
from harness.datasets.files import FileSource
from harness.datasets.labels import Classes, Fault, learn_classes, listing
from harness.datasets.libsvm_text import IndexBase, base_of, based, read_libsvm, refuse_too_wide
from harness.datasets.preprocessing import DENSE_FROM
from harness.datasets.readers import array_of, format_of, refuse_missing, refuse_non_finite
from harness.kernels.points import as_points
from harness.support.arrays import Array, Vector
from harness.support.errors import DataError, HarnessError, UsageError
from harness.support.faults import text

if TYPE_CHECKING:
    from harness.datasets.dataset import Points


class ChunkedFile:
    """The examples of a file as chunks (x, y); each iteration starts at the beginning.

    Parameters
    ----------
    path : LIBSVM text; an array (n, d + 1) saved by numpy.save with the label in the last column; or Parquet, columns of
        numbers, the label being the one called label, target, class or y, else the last
    rows : examples of a chunk, of LIBSVM text lines, at least 1; the last chunk may be shorter
    positive : the class that is +1, all others being -1; None: of two classes the greater one
    index_base : LIBSVM text: the index of the first feature; ``auto``: 0 if it occurs in this file, else 1. Say it where
        a second file (test points, another day) is to be read alike

    Attributes
    ----------
    n, d : examples and features of the whole file
    classes, labels : names of the classes, and which of them is +1; how often each label occurs
    index_base, dense : of LIBSVM text, the index of the first feature, and whether the chunks are dense arrays

    Memory: one chunk as text or numbers and as points. The first pass reads the file once.

    Raises
    ------
    UsageError : ``rows`` below 1, another ``index_base``.
    DataError : the file is missing, damaged, of another format, or has fewer than two classes; when iterated, also if
        numbers are not finite, with their row.
    """

    d: int
    index_base: int
    dense: bool
    classes: Classes

    def __init__(
        self, path: str, rows: int = 10_000, *, positive: str | None = None, index_base: IndexBase | int = "auto"
    ) -> None:
        _validate_options(rows, index_base)
        self.path, self.rows = str(path), rows
        self._scan()
        _lay_out([self], self.path, positive, index_base)

    def _scan(self, _start: int = 0) -> Self:
        """Read the file once, and return it with what :func:`_lay_out` needs.

        columns : names or numbers of the columns, the label last; none of LIBSVM text
        width : greatest index + 1; of an array d
        least : 0 if the index 0 occurs, else 1
        values : number of values that the file stores
        """
        self.n, self.values, self.width, self.labels = 0, 0, 0, Counter[Any]()
        with in_a_sentence(self.path):
            file = existing_file(self.path)
            self.kind = format_of(file, self.path)
            self.columns = _columns(file, self.kind)
            self.least = int(self.kind == "libsvm")
            for x, labels in self._chunks():
                refuse_missing(labels, self.path, self.n)
                self.n += len(labels)
                self.values += x.size
                self.width = max(self.width, x.shape[1])
                self.least = int(self.least and 0 not in x.indices)
                distinct, counts = np.unique(labels, return_counts=True)
                self.labels.update(dict(zip(distinct.tolist(), counts.tolist(), strict=True)))
        return self

    def _chunks(self) -> Iterator[tuple[Any, Array]]:
        """Yield points and labels as in the file; column j of LIBSVM text is index j."""
        file = existing_file(self.path)
        if self.kind == "npy":
            array = array_of(file)
            for start in range(0, len(array), self.rows):
                piece = array[start : start + self.rows]
                yield as_points(np.array(piece[:, :-1])), np.array(piece[:, -1])
        elif self.kind == "parquet":
            import pyarrow.parquet

            for batch in pyarrow.parquet.ParquetFile(file).iter_batches(self.rows):
                columns = [batch.column(name).to_numpy(zero_copy_only=False) for name in self.columns]
                yield as_points(np.column_stack(columns[:-1])), columns[-1]
        else:
            above = 0
            with streamed(file) as lines:
                while chunk := list(itertools.islice(lines, self.rows)):
                    x, labels = read_libsvm(chunk, above)
                    above += len(chunk)
                    if len(labels):  # lines may be blank or comments
                        yield x, labels

    def __iter__(self) -> Iterator[tuple[Points, Vector]]:
        """Yield (m, d) points, CSR for sparse LIBSVM text and else dense, and (m,) labels -1 / +1."""
        first, width = 0, self.d
        with in_a_sentence(self.path):
            for x, labels in self._chunks():
                if self.kind == "libsvm":
                    x = based(x, self.index_base, self.d, self.path)
                    x = x.toarray() if self.dense else x
                refuse_non_finite(x, self.path, first)
                first, width = first + len(labels), x.shape[1]
                if first > self.n or width != self.d:
                    break
                yield x, self.classes.signs(labels, self.path)
            if first != self.n or width != self.d:
                size = f"{self.n:,} rows of {self.d} features"
                raise DataError(f"'{self.path}' has changed since it was first read, when it had {size}. Begin again.")


class _Part(ChunkedFile):
    """A file of a folder: how it is read depends on the others."""

    def __init__(self, path: str, rows: int) -> None:
        self.path, self.rows = path, rows


class PartitionedData:
    """The examples of a folder of files, the parts, one after the other in the order of their names.

    Parameters
    ----------
    where : a folder (names that begin with . or _ are left out), or a pattern such as ``points/*.npy``. Where an executor's
        workers run elsewhere, they have to see the same files under the same names
    rows : number of examples of a chunk, at least 1
    positive, index_base : as in :class:`harness.ChunkedFile`, which also lists the formats of a part
    executor : an object with the methods of :class:`concurrent.futures.Executor` that reads the parts; None: this process

    Attributes
    ----------
    parts : a :class:`harness.ChunkedFile` each; starts : the number, from 0, of the first example of each, int64
    n, d, classes, labels : of all parts together; a single part may have one class

    Each part is read once to begin with. Memory: a chunk.

    Raises
    ------
    UsageError : as of ChunkedFile.
    DataError : there is no part; one cannot be read; they differ in format or columns; all hold one class.
    """

    def __init__(
        self,
        where: str,
        rows: int = 1 << 16,
        *,
        positive: str | None = None,
        index_base: IndexBase | int = "auto",
        executor: Executor | None = None,
    ) -> None:
        _validate_options(rows, index_base)
        self.where = str(where)
        self.parts = [_Part(path, rows) for path in _paths(self.where)]
        self.starts = np.zeros(len(self.parts), dtype=np.int64)
        for number, part in self.passes(_Part._scan, dict.fromkeys(range(len(self.parts)), ()), executor):  # noqa: SLF001
            self.parts[number] = part
        self.labels = _lay_out(self.parts, self.where, positive, index_base)
        self.d, self.classes = self.parts[0].d, self.parts[0].classes
        ends = np.cumsum([part.n for part in self.parts], dtype=np.int64)
        self.starts[1:], self.n = ends[:-1], int(ends[-1])

    def __len__(self) -> int:
        """Return the number of parts."""
        return len(self.parts)

    def __iter__(self) -> Iterator[tuple[Points, Vector]]:
        """Yield the chunks of all parts, in order, as ChunkedFile does."""
        return itertools.chain.from_iterable(self.parts)

    def passes(
        self, function: Callable[..., Any], arguments: dict[int, tuple[Any, ...]], executor: Executor | None = None
    ) -> Iterator[tuple[int, Any]]:
        """Yield (i, function(parts[i], starts[i], *arguments[i])) for each i of ``arguments``, in the order in which they end.

        Parameters
        ----------
        function : pure function that workers can import; an engine may run it twice

        Raises
        ------
        HarnessError : raised by the function, or made from another exception, with the part.
        """
        jobs = {number: (self.parts[number], int(self.starts[number]), *rest) for number, rest in arguments.items()}
        if executor is None:
            yield from ((number, function(*job)) for number, job in jobs.items())
            return
        waiting: dict[Future[Any], int] = {}
        number = 0
        try:
            for number, job in jobs.items():
                waiting[executor.submit(function, *job)] = number
            for future in as_completed(waiting):
                number = waiting.pop(future)
                yield number, future.result()
        except HarnessError:
            raise
        except Exception as error:  # an engine may raise anything: a worker died, a connection was lost
            where = f"'{self.parts[number].path}': {text(error).rstrip('.')}"
            remedy = "Look at its workers (memory, versions), and begin again"
            raise HarnessError(f"the executor failed at the part {where}. {remedy}.") from error
        finally:
            for future in waiting:
                future.cancel()


def _validate_options(rows: int, index_base: IndexBase | int) -> None:
    if rows < 1 or str(index_base) not in ("auto", "0", "1"):
        raise UsageError(f"rows={rows}, index_base={index_base!r}; expected 1 or more, and 'auto', 0 or 1.")


def _paths(where: str) -> list[str]:
    """Return the parts, in the order of their names."""
    folder = Path(where).expanduser()
    candidates = folder.iterdir() if folder.is_dir() else map(Path, glob.glob(str(folder), recursive=True))  # noqa: PTH207 - from the root too
    paths = sorted(str(path) for path in candidates if path.is_file() and path.name[0] not in "._")
    if not paths:
        raise DataError(f"'{where}' has no parts; expected a folder, or a pattern: 'points/*.npy'. Check the path.")
    return paths


def _columns(file: Path, kind: str) -> Sequence[Any]:
    """Return the numbers or names of the columns, the label last; none of LIBSVM text.

    Raises
    ------
    DataError : another format; columns of Parquet that are no numbers, or of which none or several may be the label.
    """
    if kind == "libsvm":
        return ()
    if kind == "npy":
        return range(array_of(file).shape[1])
    remedy = "chunks are read from LIBSVM text, Parquet and .npy, features and label being numbers. Convert it, or read it whole."
    if kind != "parquet":
        raise DataError(f"'{file}' is {kind}; {remedy}")
    import pyarrow.parquet

    frame = pyarrow.parquet.read_schema(file).empty_table().to_pandas()  # without the index of a frame of pandas
    schema = choose(Table(frame.set_axis(map(str, frame), axis=1), str(file)), FileSource(path=str(file)))
    odd = [f"{name} ({dtype})" for name, dtype in frame.dtypes.items() if dtype.kind not in "fiu"]
    if odd or not schema.kinds:
        raise DataError(f"'{file}' has the columns {listing(odd or list(frame))}; {remedy}")
    return [*schema.kinds, schema.label]


def _lay_out(
    files: Sequence[ChunkedFile], where: str, positive: str | None, index_base: IndexBase | int
) -> Counter[Any]:
    """Set how the files are read alike, and return how often each label occurs.

    where : the file, or the folder of the parts, for messages

    Raises
    ------
    DataError : no points, no two classes, too many columns; parts of different formats or columns.
    """
    first = files[0]
    for file in files:
        if (file.kind, file.columns) != (first.kind, first.columns):
            raise unlike(file.path, f"other columns ({file.kind}, {len(file.columns)} columns)", first.path)
    n, values = sum(file.n for file in files), sum(file.values for file in files)
    least, width = min(file.least for file in files), max(file.width for file in files)
    base = base_of([(least, width - 1)], str(index_base) if first.kind == "libsvm" else "0", [where])
    d = width - base
    if not values:
        raise DataError(f"'{where}' has {n} rows with 0 values; expected points. Write it again.")
    refuse_too_wide(n, d, values, where)
    labels = sum((file.labels for file in files), Counter[Any]())
    classes = learn_classes(np.array(sorted(labels)), positive)
    if isinstance(classes, Fault):
        raise DataError(f"'{where}': {classes.text}.")
    for file in files:
        file.d, file.index_base, file.classes, file.dense = d, base, classes, values >= DENSE_FROM * n * d
    return labels
