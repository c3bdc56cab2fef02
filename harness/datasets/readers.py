"""Reading a user's file: LIBSVM text, CSV, NPZ, NPY, Parquet or ARFF, plain or compressed (.gz, .bz2, .xz).

The suffix names the format; where it does not (``.txt``, ``.data``, none), the first line does.
"""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import scipy.sparse

from harness.datasets.compression import bare_name, existing_file, opened
from harness.datasets.labels import learn_classes
from harness.datasets.numpy_files import read_npy, read_npz
from harness.datasets.tables import Table, checked, from_frame
from harness.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable

    from harness.datasets.dataset import Points, Vector

DENSE_FROM = 0.25
"""Share of non-zeros from which LIBSVM text becomes a dense array: CSR (12 bytes a value) then gains little."""

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
_LIBSVM_LINE = re.compile(r"[^\s:,;]+(\s+(qid|\d+):\S+)*")


def read(path: str, *, positive: str | None = None, label_column: str | None = None) -> tuple[Points, Vector]:
    """Return the points and the labels -1 / +1 of a file.

    Parameters
    ----------
    path : a file; ``~`` is the home folder
    positive : the class that is +1; None: of two classes the greater one in sorted order
    label_column : tables only: the label's column by name or position; None: the column named label, target, class
        or y, else the last one

    Returns
    -------
    (n, d) points: CSR for sparse LIBSVM text, memory-mapped for a plain ``.npy`` of floats, dense float64 otherwise
    (float32 stays float32); (n,) labels.

    Raises
    ------
    DataError : whatever keeps the file from being read as a classification problem.
    """
    table = read_table(path, label_column=label_column)
    return table.x, learn_classes(table.labels, positive, path).signs(table.labels, path)


def read_table(path: str, *, label_column: str | None = None, n_features: int | None = None) -> Table:
    """Return a file's points and its labels as they stand there.

    Parameters
    ----------
    n_features : LIBSVM text only: at least so many columns, for a test file in which the last ones are zero

    Raises
    ------
    DataError : the file is missing, empty, damaged, of no known format, or holds anything but finite numbers.
    """
    found = existing_file(path)
    kind = format_of(found)
    if label_column is not None and kind not in ("csv", "parquet", "arff"):
        raise DataError(
            f"'{path}' is {kind}, which has no choice of label column; leave out label_column={label_column}."
        )
    if kind == "libsvm":
        return _read_libsvm(found, n_features)
    if kind in ("npy", "npz"):
        return read_npy(found) if kind == "npy" else read_npz(found)
    tabular: dict[str, Callable[[Path, str | None], Table]] = {
        "csv": _read_csv,
        "parquet": _read_parquet,
        "arff": _read_arff,
    }
    return tabular[kind](found, label_column)


def format_of(path: Path) -> str:
    """Return ``libsvm``, ``csv``, ``npz``, ``npy``, ``parquet`` or ``arff``, by the suffix or else by the content.

    Raises
    ------
    DataError : the suffix is unknown and the first line is neither LIBSVM text nor a table.
    """
    _, suffix = bare_name(path)
    if suffix in FORMATS:
        return FORMATS[suffix]
    with opened(path) as file:
        start = file.read(1 << 16)
    for magic, kind in _MAGIC.items():
        if start.startswith(magic):
            return kind
    try:
        lines = [line.strip() for line in start.decode().splitlines()]
    except UnicodeDecodeError as error:
        # A multi-byte character cut off at the end of the sample is no sign of a binary file.
        lines = (
            [line.strip() for line in start[: error.start].decode().splitlines()]
            if error.start > len(start) - 4
            else []
        )
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


def _read_libsvm(path: Path, n_features: int | None) -> Table:
    from sklearn.datasets import load_svmlight_file

    with opened(path) as file:
        try:
            x, labels = load_svmlight_file(file)
        except (ValueError, OverflowError) as error:
            raise DataError(
                f"'{path}' is not LIBSVM text ({error}). Expected lines 'label index:value ...' with ascending "
                "indices; a table needs the suffix .csv."
            ) from None
    d = max(x.shape[1] if x.nnz else 0, n_features or 0)
    sparse = scipy.sparse.csr_array((x.data, x.indices, x.indptr), shape=(x.shape[0], d))
    table = checked(Table(sparse, labels), path)
    return table if sparse.nnz < DENSE_FROM * sparse.shape[0] * d else Table(sparse.toarray(), labels)


def _read_csv(path: Path, label: str | None) -> Table:
    import pandas as pd

    with opened(path) as file:
        try:
            text = file.read().decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise DataError(
                f"'{path}' is not UTF-8 text ({error.reason} at byte {error.start}). Convert it first."
            ) from None
    lines = [line for line in text.splitlines()[:100] if line.strip()][:2]
    if not lines:
        raise DataError(f"'{path}' has 0 rows of data, only blank lines. Fetch or write it again.")
    separator = next((mark for mark in (",", ";", "\t") if mark in lines[0]), r"\s+")
    named = _is_header(lines, separator)
    # From 3.1 on pandas reads floats exactly and warns about this option; before, it is needed for the last bit.
    version = tuple(int(part) for part in pd.__version__.split(".")[:2])
    exact: dict[str, Any] = {} if version >= (3, 1) else {"float_precision": "round_trip"}
    try:
        frame = pd.read_csv(
            io.StringIO(text),
            sep=separator,
            header=0 if named else None,
            na_values=["?"],
            skipinitialspace=True,
            index_col=False,
            low_memory=False,
            **exact,
        )
    except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
        raise DataError(
            f"'{path}' is not a table ({str(error).strip()}). Give each row the same number of cells."
        ) from None
    return from_frame(frame, path, label, named=named)


def _is_header(lines: list[str], separator: str) -> bool:
    """Return whether the first line holds names: text where the second line holds a number, or a label's name."""
    cells = [[cell.strip().strip("\"'") for cell in re.split(separator, line.strip())] for line in lines]
    if len(cells) == 1:
        return not any(_is_number(cell) for cell in cells[0])
    lower = {cell.lower() for cell in cells[0]}
    if lower & {"label", "target", "class"} or ("y" in lower and not any(_is_number(cell) for cell in cells[0])):
        return True
    return any(not _is_number(above) and _is_number(below) and below for above, below in zip(*cells, strict=False))


def _is_number(cell: str) -> bool:
    if cell in ("", "?"):
        return True
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _read_parquet(path: Path, label: str | None) -> Table:
    import pandas as pd

    with opened(path) as file:
        try:
            frame = pd.read_parquet(file)
        except ImportError:
            raise DataError(
                f"'{path}' needs the package pyarrow to be read. Install it, or convert the file to .csv."
            ) from None
        except (ValueError, OSError) as error:
            raise DataError(f"'{path}' is not a Parquet file ({error}). Write or fetch it again.") from None
    return from_frame(frame, path, label, named=True)


def _read_arff(path: Path, label: str | None) -> Table:
    import pandas as pd
    from scipy.io import arff

    with opened(path) as file:
        text = file.read().decode("utf-8", errors="replace")
    body = re.split(r"(?im)^\s*@data\s*$", text, maxsplit=1)[-1]
    rows = [line for line in body.splitlines() if line.strip() and not line.lstrip().startswith("%")]
    if rows and rows[0].lstrip().startswith("{"):
        raise DataError(f"'{path}' is sparse ARFF, which is not read here. Convert it to LIBSVM text or to dense ARFF.")
    try:
        records, _ = arff.loadarff(io.StringIO(text))
    except (arff.ArffError, NotImplementedError, ValueError, IndexError, StopIteration) as error:
        raise DataError(
            f"'{path}' is not ARFF as read here: numeric and nominal attributes ({error}). Convert it to .csv."
        ) from None
    frame = pd.DataFrame({name: records[name] for name in records.dtype.names or ()})
    for name in frame.columns[[kind.kind == "O" for kind in frame.dtypes]]:
        frame[name] = [None if cell == b"?" else cell.decode() for cell in frame[name]]
    return from_frame(frame, path, label, named=True)
