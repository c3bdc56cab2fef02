"""A data set in parts: a folder of files that no machine has to hold, each read a chunk at a time wherever its turn comes."""

from __future__ import annotations

import glob
import hashlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.datasets.chunks import ChunkedFile, Contents, contents_of, layout_of
from harness.datasets.labels import class_name
from harness.errors import DataError, HarnessError, UsageError
from harness.faults import text

if TYPE_CHECKING:
    from harness.arrays import Vector
    from harness.datasets.dataset import Points
    from harness.datasets.libsvm_text import IndexBase


class PartitionedData:
    """The examples of a folder of files, the parts, one after the other in the order of their names.

    Parameters
    ----------
    where : a folder (names that begin with . or _ are left out), or a pattern such as ``points/*.npy``. Where an executor's
        workers run elsewhere, they have to see the same files under the same names
    rows : examples of a chunk, at least 1
    positive, index_base : as of :class:`harness.ChunkedFile`, which also says what a part may be
    executor : reads the parts, any that has the methods of :class:`concurrent.futures.Executor`; None: this process does

    Attributes
    ----------
    parts : a :class:`harness.ChunkedFile` each; starts : the number, from 0, of the first example of each, int64
    n, d, classes : of all parts; a part may hold one class
    counts : how many examples are -1 and how many +1
    sha256 : of the SHA-256 of each part, in order

    Each part is read twice to begin with, once for its checksum. Memory: a chunk.

    Raises
    ------
    UsageError : as of ChunkedFile.
    DataError : there is no part; one cannot be read; they differ in format or width; all hold one class.
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
        self.where = str(where)
        if rows < 1 or str(index_base) not in ("auto", "0", "1"):
            raise UsageError(f"rows={rows}, index_base={index_base!r}; expected 1 or more, and 'auto', 0 or 1.")
        jobs = [(path, rows) for path in _paths(self.where)]
        found = dict(_as_they_end(_first_pass, jobs, executor, [path for path, _ in jobs]))
        contents = [found[part][0] for part in range(len(jobs))]
        layout = layout_of(contents, self.where, positive, str(index_base))
        self.parts = [ChunkedFile.part(each, layout, rows) for each in contents]
        self.starts = np.cumsum([0, *(each.n for each in contents[:-1])], dtype=np.int64)
        self.n, self.d, self.classes = sum(each.n for each in contents), layout.d, layout.classes
        labels = [(label, count) for each in contents for label, count in each.labels.items()]
        ones = sum(count for label, count in labels if class_name(label) == self.classes.positive)
        self.counts = self.n - ones, ones
        self.sha256 = hashlib.sha256(b"".join(found[part][1] for part in range(len(jobs)))).hexdigest()

    def __len__(self) -> int:
        """Return the number of parts."""
        return len(self.parts)

    def __iter__(self) -> Iterator[tuple[Points, Vector]]:
        """Yield the chunks of all parts, in order, as ChunkedFile does."""
        for part in self.parts:
            yield from part

    def passes(
        self, function: Callable[..., Any], arguments: dict[int, tuple[Any, ...]], executor: Executor | None = None
    ) -> Iterator[tuple[int, Any]]:
        """Yield (i, function(parts[i], starts[i], *arguments[i])) for each i of ``arguments``, in the order in which they end.

        Parameters
        ----------
        function : pure, and known by name to the workers; an engine may run it twice

        Raises
        ------
        HarnessError : the function's own, or a sentence on what else was raised, with the part.
        """
        jobs = [(self.parts[part], int(self.starts[part]), *rest) for part, rest in arguments.items()]
        numbers = list(arguments)
        for job, found in _as_they_end(function, jobs, executor, [self.parts[part].path for part in numbers]):
            yield numbers[job], found


def _paths(where: str) -> list[str]:
    """Return the parts, in the order of their names."""
    folder = Path(where).expanduser()
    found = folder.iterdir() if folder.is_dir() else map(Path, glob.glob(str(folder), recursive=True))  # noqa: PTH207 - from the root too
    paths = sorted(str(path) for path in found if path.is_file() and path.name[0] not in "._")
    if not paths:
        what = "an empty folder" if folder.is_dir() else "no folder, and no file has such a name"
        raise DataError(
            f"'{where}' is {what}; expected a folder of parts, or a pattern such as 'points/*.npy': .npy, Parquet or LIBSVM text."
        )
    return paths


def _first_pass(path: str, rows: int) -> tuple[Contents, bytes]:
    found = contents_of(path, rows)
    with Path(path).expanduser().open("rb") as file:
        return found, hashlib.file_digest(file, "sha256").digest()


def _as_they_end(
    function: Callable[..., Any], jobs: Sequence[tuple[Any, ...]], executor: Executor | None, names: Sequence[str]
) -> Iterator[tuple[int, Any]]:
    """Yield (j, function(*jobs[j])) as they end; ``names`` says what each is about."""
    if executor is None:
        yield from ((number, function(*job)) for number, job in enumerate(jobs))
        return
    waiting: dict[Future[Any], int] = {}
    number = 0
    try:
        for number, job in enumerate(jobs):
            waiting[executor.submit(function, *job)] = number
        while waiting:
            done, _ = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                number = waiting.pop(future)
                yield number, future.result()
    except HarnessError:
        raise
    except Exception as error:  # whatever an engine raises: a worker that died, a lost connection
        raise HarnessError(
            f"the executor failed at the part '{names[number]}': {text(error).rstrip('.')}. Look at its workers (memory, "
            "versions), and begin again; an engine such as Dask replaces a worker that died."
        ) from error
    finally:
        for future in waiting:
            future.cancel()
