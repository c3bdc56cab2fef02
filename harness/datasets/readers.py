"""Reading a user's file: LIBSVM text, CSV, NPZ, NPY, Parquet or ARFF, plain or compressed (.gz, .bz2, .xz).

The suffix names the format; where it does not (``.txt``, ``.data``, none), the first line does.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import scipy.sparse

from harness.datasets.bounds import AS_TEXT, bound, out_of_memory, refuse_beyond, shown
from harness.datasets.compression import bare_name, existing_file, is_compressed, opened, opened_text, streamed
from harness.datasets.csv_files import read_csv
from harness.datasets.labels import clipped
from harness.datasets.libsvm_files import DENSE_FROM, base_of, based, index_range, read_libsvm
from harness.datasets.numpy_files import read_npy, read_npz
from harness.datasets.tables import IndexBase, Options, Table, checked, from_frame, with_categories_of
from harness.errors import DataError, UsageError

if TYPE_CHECKING:
    from harness.datasets.dataset import Points

FORMATS = {
    ".libsvm": "libsvm",
    ".svm": "libsvm",
    ".svmlight": "libsvm",
    ".csv": "csv",
    ".tsv": "csv",
    ".npz": "npz",
    ".npy": "npy",
    ".parquet": "parquet",
    ".arff": "arff",
}
_MAGIC = {b"\x93NUMPY": "npy", b"PK\x03\x04": "npz", b"PAR1": "parquet"}
_TABLES = ("csv", "parquet", "arff")
_OPTIONS = {
    "label_column": _TABLES,
    "header": ("csv",),
    "index_base": ("libsvm",),
    "categories": _TABLES,
    "missing": _TABLES,
}
_LONGEST = 2000  # characters of a message
_LONG_WORD = re.compile(r"([^\s/]{150})[^\s/]{150,}([^\s/]{20})")
_LIBSVM_LINE = re.compile(r"[^\s:,;]+(\s+(qid|\d+):\S+)*")


def read_table(
    path: str,
    test: str | None = None,
    options: Options | None = None,
) -> Table:
    """Return a file's points and its labels as they stand there.

    Parameters
    ----------
    test : a second file with the test points, of the same features; the first one's own test part is then left out
    options : None: all as they come

    Raises
    ------
    DataError : a file is missing, empty, damaged, of no known format, or holds anything but finite numbers; the two do
        not have the same features.
    """
    options = options or Options()
    paths = [path, test] if test else [path]
    found = [existing_file(each) for each in paths]
    kinds = [format_of(each) for each in found]
    for each, kind in zip(paths, kinds, strict=True):
        _refuse_idle(each, kind, options)
    tables = [_read(each, kind, options) for each, kind in zip(found, kinds, strict=True)]
    if "libsvm" in kinds:
        tables = _settled(tables, kinds, found, options.index_base)
    train = tables[0]
    return train if test is None else replace(train, test=_alike(train, tables[1], path, test))


def _read(path: Path, kind: str, options: Options) -> Table:
    """Return one file's content; that of LIBSVM text with the indices as they stand there, not yet checked."""
    if kind == "libsvm":
        with opened_text(path) as file:
            return Table(*read_libsvm(file, path))
    if kind == "csv":
        return read_csv(path, options)
    if kind in ("npy", "npz"):
        return read_npy(path) if kind == "npy" else read_npz(path)
    return _read_parquet(path, options) if kind == "parquet" else _read_arff(path, options)


def _settled(tables: list[Table], kinds: list[str], paths: list[Path], index_base: IndexBase) -> list[Table]:
    """Return the tables with the LIBSVM text among them on one index base and as wide as the widest of all."""
    text = {index: tables[index] for index, kind in enumerate(kinds) if kind == "libsvm"}
    as_read: list[Any] = [table.x for table in text.values()]  # CSR
    ranges = [index_range(x) for x in as_read]
    base = base_of(ranges, index_base, [paths[index] for index in text])
    widths = [found[1] + 1 - base for found in ranges if found is not None]
    widths += [table.x.shape[1] for table, kind in zip(tables, kinds, strict=True) if kind != "libsvm"]
    settled = list(tables)
    for (index, table), x in zip(text.items(), as_read, strict=True):
        settled[index] = checked(Table(based(x, base, max(widths, default=0)), table.labels), paths[index])
    train: Any = settled[0].x
    if 0 in text and train.nnz >= DENSE_FROM * train.shape[0] * train.shape[1]:
        settled[0] = replace(settled[0], x=train.toarray())
    return settled


def _refuse_idle(path: str, kind: str, options: Options) -> None:
    for name, kinds in _OPTIONS.items():
        value = getattr(options, name)
        if value != getattr(Options, name) and kind not in kinds:
            raise DataError(
                f"'{path}' is {kind}, which has no choice of {name.replace('_', ' ')}; leave out {name}={value}."
            )


def _alike(train: Table, test: Table, path: str, test_path: str) -> tuple[Points, Any]:
    """Return the test part in the training part's form, dense or sparse, after comparing the features."""
    x: Any = with_categories_of(train, test)
    if scipy.sparse.issparse(train.x) != scipy.sparse.issparse(x):
        x = scipy.sparse.csr_array(x) if scipy.sparse.issparse(train.x) else x.toarray()
    if train.x.shape[1] != x.shape[1]:
        raise DataError(
            f"'{path}' has {train.x.shape[1]} features, the test file '{test_path}' has {x.shape[1]}; expected the same "
            "number. Give both files the same columns."
        )
    if train.names and test.names:
        for column, (here, there) in enumerate(zip(train.names, test.names, strict=True), start=1):
            if here != there and not (here.isdecimal() and there.isdecimal()):  # numbers may be counted otherwise
                raise DataError(
                    f"feature {column} is '{here}' in '{path}' and '{there}' in the test file '{test_path}'; expected the "
                    "same columns in the same order. Write one of the files again."
                )
    return x, test.labels


def format_of(path: Path) -> str:
    """Return ``libsvm``, ``csv``, ``npz``, ``npy``, ``parquet`` or ``arff``, by the suffix or else by the content.

    Raises
    ------
    DataError : the suffix is unknown and the first line is neither LIBSVM text nor a table.
    """
    _, suffix = bare_name(path)
    if suffix in FORMATS:
        return FORMATS[suffix]
    with streamed(path) as file:
        start = file.read(1 << 16)
    for magic, kind in _MAGIC.items():
        if start.startswith(magic):
            return kind
    try:
        text = start.decode()
    except UnicodeDecodeError as error:  # a character cut off at the end of the sample is no sign of a binary file
        text = start[: error.start].decode() if error.start > len(start) - 4 else ""
    lines = map(str.strip, text.splitlines())
    first = next((line for line in lines if line and not line.startswith(("#", "%"))), "")
    if first.lower().startswith("@relation"):
        return "arff"
    if _LIBSVM_LINE.fullmatch(first.split("#")[0].strip()) and (":" in first or len(first.split()) == 1):
        return "libsvm"
    if len(re.split(r"[,;\s]+", first)) > 1 and ":" not in first and first.isprintable() | ("\t" in first):
        return "csv"
    raise DataError(
        f"the format of '{path}' cannot be told: unknown suffix '{suffix}', and its first line is neither LIBSVM text "
        f"nor a table. Rename it with one of the suffixes {', '.join(FORMATS)} (and .gz, .bz2 or .xz after it)."
    )


def refuse_too_large(path: Path) -> None:
    """Raise if a file cannot be read within the bound of memory; told by its size on the disk, before it is read.

    Raises
    ------
    DataError : it is too large, or mostly holes.
    """
    facts = path.stat()
    most = bound()
    if facts.st_size <= most:
        return
    kind = format_of(path)
    if kind != "npy" or is_compressed(path):
        refuse_beyond(facts.st_size, path, "its content", "or convert it to .npy, which is mapped")
    on_disk = facts.st_blocks * 512
    if on_disk < facts.st_size / 100:
        raise DataError(
            f"'{path}' is {shown(facts.st_size)} long, of which the disk holds {shown(on_disk)}: it is mostly holes, perhaps "
            "not yet fetched. Fetch or write it again."
        )


@contextmanager
def told(path: str) -> Iterator[None]:
    """Turn whatever a file makes the libraries raise into a sentence on it.

    Raises
    ------
    DataError : on one line; in the place of every other exception.
    """
    try:
        yield
    except DataError as error:
        raise DataError(_LONG_WORD.sub(r"\1...\2", clipped(str(error), _LONGEST))) from error
    except UsageError:
        raise
    except MemoryError:
        raise out_of_memory(path) from None
    except Exception as error:
        raise DataError(
            f"'{path}' cannot be read ({type(error).__name__}: {clipped(str(error), 120)}): it is damaged, or not as this "
            "format is read here. Write it again, or convert it to .csv."
        ) from error


def _read_parquet(path: Path, options: Options) -> Table:
    import pandas as pd
    import pyarrow.parquet

    with opened(path) as file:
        try:
            facts = pyarrow.parquet.read_metadata(file)
            refuse_beyond(
                8.0 * facts.num_rows * facts.num_columns, path, f"its {facts.num_rows} x {facts.num_columns} table"
            )
            file.seek(0)
            frame = pd.read_parquet(file)
        except MemoryError:
            raise
        except (pyarrow.ArrowException, ValueError, OSError, TypeError, LookupError, NotImplementedError) as error:
            raise DataError(
                f"'{path}' is not a Parquet file ({clipped(str(error), 120)}). Write or fetch it again."
            ) from None
    return from_frame(frame, path, options, named=True)


def _read_arff(path: Path, options: Options) -> Table:
    import pandas as pd
    from scipy.io import arff

    with opened_text(path, weight=2 * AS_TEXT) as file:
        text = file.read().decode("utf-8", errors="replace").removeprefix("\ufeff")
    body = re.split(r"(?im)^\s*@data\s*$", text, maxsplit=1)[-1]
    rows = [line for line in body.splitlines() if line.strip() and not line.lstrip().startswith("%")]
    if rows and rows[0].lstrip().startswith("{"):
        raise DataError(f"'{path}' is sparse ARFF, which is not read here. Convert it to LIBSVM text or to dense ARFF.")
    try:
        records, _ = arff.loadarff(io.StringIO(text))
    except MemoryError:
        raise
    except Exception as error:  # a line that is none makes it raise whatever its parsing does
        named = isinstance(error, arff.ArffError | NotImplementedError | ValueError)
        why = clipped(str(error), 120) if named and str(error) else "a line is no attribute, or no row, of it"
        raise DataError(
            f"'{path}' is not ARFF as read here: numeric and nominal attributes ({why}). Convert it to .csv."
        ) from None
    frame = pd.DataFrame({name: records[name] for name in records.dtype.names or ()})
    for name in frame.columns[[kind.kind == "O" for kind in frame.dtypes]]:
        frame[name] = [None if cell == b"?" else cell.decode() for cell in frame[name]]
    return from_frame(frame, path, options, named=True)
