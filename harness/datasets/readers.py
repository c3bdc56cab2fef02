"""Reading a user's file: LIBSVM text, CSV, NPZ, NPY, Parquet or ARFF, plain or compressed (.gz, .bz2, .xz).

The suffix names the format; where it does not (``.txt``, ``.data``, none), the first line does. Libraries read: scikit-learn
LIBSVM text, pyarrow CSV and Parquet, SciPy ARFF, NumPy its own files, never a pickle. Here is what they leave open: bounds of
memory, finite numbers, labels, and one sentence for whatever they raise.
"""

from __future__ import annotations

import codecs
import io
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import scipy.sparse

from harness.datasets.bounds import AS_TEXT, bound, given_limit, refuse_beyond, shown
from harness.datasets.columns import from_frame
from harness.datasets.compression import compression_of, existing_file, format_suffix, in_a_sentence, opened, streamed
from harness.datasets.dataset import is_csr
from harness.datasets.files import TABLE_OPTIONS, called
from harness.datasets.labels import from_text
from harness.datasets.tables import DENSE_FROM, IndexBase, Table, checked, read_csv
from harness.errors import DataError
from harness.kernels.points import FLOATS, as_points
from harness.parameters import changed
from harness.plain import plain_line

if TYPE_CHECKING:
    from harness.arrays import Array
    from harness.datasets.dataset import Points

    Csr = scipy.sparse.csr_array

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
_OPTIONS = {
    **dict.fromkeys(TABLE_OPTIONS, ("csv", "parquet", "arff")),
    "header": ("csv",),
    "index_base": ("libsvm",),
}
_LIBSVM_LINE = re.compile(r"[^\s:,;]+(\s+(qid|\d+):\S+)*")
_COLUMN_BYTES = 16  # that a column takes where an array is made over all columns: a count and a share
_WIDE = 1 << 30  # bytes of such arrays that nobody has to mean
_WIDER = 100  # times the bytes of the values, which nobody has to mean either


def read_table(source: Any) -> Table:
    """Return the points of a user's file and its labels as they stand there.

    With a test file, whose features have to be the same, the first one's own test part is left out.

    source : a `FileSource`, which says how they are read

    Raises
    ------
    DataError : a file is missing, empty, damaged, of no known format, or holds anything but finite numbers; the two do
        not have the same features.
    """
    paths = [source.path, source.test] if source.test else [source.path]
    kinds: list[str] = []
    tables: list[Table] = []
    for each in paths:
        with in_a_sentence(called(each)):
            file = existing_file(each)
            kinds.append(format_of(file))
            idle = [name for name in changed(source) if kinds[-1] not in _OPTIONS.get(name, kinds)]
            if idle:
                raise DataError(
                    f"'{called(each)}' is {kinds[-1]}, which has no choice of {idle[0]}; leave that parameter out."
                )
            tables.append(_read(file, kinds[-1], source, tables[0] if tables else None))
    if "libsvm" in kinds:
        tables = _settled(tables, kinds, paths, source.index_base)
    if source.test:
        return replace(tables[0], test=_alike(tables[0], tables[1], *map(called, paths)))
    return tables[0]


def _read(path: Path, kind: str, source: Any, train: Table | None) -> Table:
    """Return one file's content, read as that for training; LIBSVM text with its indices as they stand, not yet checked."""
    if kind == "csv":
        frame, named, lines = read_csv(path, source)
        return from_frame(frame, path, source, named=named, lines=lines, like=train)
    if kind == "npy":
        array = array_of(path)
        x = array[:, :-1]
        if x.dtype not in FLOATS:
            refuse_beyond(8 * x.size, path, f"its array of {x.dtype} and shape {x.shape}, as float64,")
        # A slice of a map is not contiguous; the parsed cache writes it piece by piece, whatever its size.
        return checked(Table(as_points(x), np.array(array[:, -1], dtype=np.float64)), path)
    with opened(path, AS_TEXT if kind in ("libsvm", "arff") else 1) as file:
        path = Path(called(path))  # in messages
        if kind == "libsvm":
            return Table(*read_libsvm(file))
        if kind == "npz":
            return _read_npz(file, path)
        return from_frame(_parquet(file, path) if kind == "parquet" else _arff(file), path, source, like=train)


def _alike(train: Table, test: Table, path: str, test_path: str) -> tuple[Points, Array]:
    """Return the test part in the training part's form, dense or sparse, after comparing the features."""
    x: Any = test.x
    if train.x.shape[1] != x.shape[1]:
        raise DataError(
            f"'{path}' has {train.x.shape[1]} features, the test file '{test_path}' has {x.shape[1]}; expected the same "
            "number. Give both files the same columns."
        )
    for column, (here, there) in enumerate(zip(train.names or (), test.names or (), strict=False), start=1):
        if here != there and not (here.isdecimal() and there.isdecimal()):  # numbers may be counted otherwise
            raise DataError(
                f"feature {column} is '{here}' in '{path}' and '{there}' in the test file '{test_path}'; expected the "
                "same columns in the same order. Write one of the files again."
            )
    if is_csr(train.x):
        x = scipy.sparse.csr_array(x)
    elif is_csr(x):
        refuse_beyond(8.0 * x.shape[0] * x.shape[1], test_path, "its points, dense as those for training,")
        x = x.toarray()
    return x, test.labels


def format_of(path: Path) -> str:
    """Return ``libsvm``, ``csv``, ``npz``, ``npy``, ``parquet`` or ``arff`` by the suffix, else which text the first line is.

    Raises
    ------
    DataError : the suffix is unknown and the first line is neither LIBSVM text nor a table.
    """
    suffix = format_suffix(path)
    if suffix in (".xlsx", ".xls", ".ods"):
        raise DataError(
            f"'{path}' is a spreadsheet. Save the sheet as CSV (UTF-8), or pass a frame: harness.data(frame)."
        )
    if suffix in FORMATS:
        return FORMATS[suffix]
    with streamed(path) as file:
        start = file.read(1 << 16)
    text = start.removeprefix(codecs.BOM_UTF8).decode(errors="replace")
    first = next((line for line in map(str.strip, text.splitlines()) if line and line[0] not in "#%\ufffd"), "")
    if _LIBSVM_LINE.fullmatch(first.split("#")[0].strip()) and (":" in first or len(first.split()) == 1):
        return "libsvm"
    if re.search(r"[,;\s]", first) and ":" not in first and first.replace("\t", "").isprintable():
        return "csv"
    raise DataError(
        f"the format of '{path}' cannot be told: unknown suffix '{suffix}', and its first line is neither LIBSVM text "
        f"nor a table. Rename it with one of the suffixes {', '.join(FORMATS)} (and .gz, .bz2 or .xz after it)."
    )


# -- LIBSVM text -------------------------------------------------------------------------------------------


def read_libsvm(file: BinaryIO) -> tuple[Csr, Array]:
    """Return (n, most index + 1) points in which column j holds index j, and (n,) labels.

    file : can go back
    """
    from sklearn.datasets import load_svmlight_file

    if file.read(len(codecs.BOM_UTF8)) != codecs.BOM_UTF8:
        file.seek(0)
    x, labels = load_svmlight_file(file, zero_based=True)
    return scipy.sparse.csr_array(x), labels


def index_range(x: Csr) -> tuple[int, int] | None:
    """Return the least and the greatest index of points as they were read; None if there are no values."""
    return (int(x.indices.min()), int(x.indices.max())) if x.nnz else None


def base_of(ranges: Sequence[tuple[int, int] | None], chosen: str, paths: Sequence[Path | str]) -> int:
    """Return the index of the first feature in all files: 0 if any of them has an index 0, else 1.

    Parameters
    ----------
    ranges : :func:`index_range` of each file
    chosen : what the user says about it, ``auto``, ``0`` or ``1``

    Raises
    ------
    DataError : there is an index 0 and ``chosen`` is 1.
    """
    zero = [path for path, found in zip(paths, ranges, strict=True) if found is not None and found[0] == 0]
    if zero and chosen == "1":
        raise DataError(
            f"'{zero[0]}' has the index 0, which index_base=1 excludes; expected indices from 1. "
            "Leave the parameter out, or give index_base=0."
        )
    return 0 if zero or chosen == "0" else 1


def based(x: Csr, base: int, width: int, path: Path | str) -> Csr:
    """Return (n, width) points of which column 0 holds the index ``base``.

    Raises
    ------
    DataError : an index is beyond these columns, as in a file that has changed since they were counted.
    """
    found = index_range(x)
    if found is not None and not base <= found[0] <= found[1] < base + width:
        raise DataError(
            f"'{path}' has indices from {found[0]} to {found[1]}; expected {base} to {base + width - 1}. Fetch it again, or "
            "let whatever writes it finish."
        )
    return scipy.sparse.csr_array((x.data, x.indices - base, x.indptr), shape=(x.shape[0], width))


def refuse_too_wide(n: int, d: int, values: int, path: Path | str) -> None:
    """Raise if so many columns take more memory than reading may, or more than ``values`` numbers make likely.

    Raises
    ------
    DataError : they do; a memory limit that has room for them says that they are meant.
    """
    needed = _COLUMN_BYTES * d
    likely = max(_WIDE, 12 * _WIDER * values) if given_limit() is None else needed
    if needed > min(likely, bound()):
        raise DataError(
            f"'{path}' has {n:,} points with {values:,} values in {d:,} columns, as its greatest index says: counting "
            f"columns takes {shown(needed)}. Correct that index, or say that it is meant with a --memory-limit above that."
        )


def _settled(tables: list[Table], kinds: list[str], paths: list[str], index_base: IndexBase) -> list[Table]:
    """Return the tables with the LIBSVM text among them on one index base and as wide as the widest of all."""
    text: dict[int, Any] = {index: tables[index].x for index, kind in enumerate(kinds) if kind == "libsvm"}
    ranges = [index_range(x) for x in text.values()]
    base = base_of(ranges, index_base, [paths[index] for index in text])
    widths = [found[1] + 1 - base for found in ranges if found is not None]
    widths += [table.x.shape[1] for table, kind in zip(tables, kinds, strict=True) if kind != "libsvm"]
    settled = list(tables)
    for index, as_read in text.items():
        x = based(as_read, base, max(widths, default=0), paths[index])
        refuse_too_wide(*x.shape, x.nnz, paths[index])
        settled[index] = checked(Table(x, tables[index].labels), Path(paths[index]))
    train: Any = settled[0].x
    if 0 in text and train.nnz >= DENSE_FROM * train.shape[0] * train.shape[1]:
        settled[0] = replace(settled[0], x=train.toarray())
    return settled


# -- NumPy's own files -------------------------------------------------------------------------------------


def array_of(path: Path) -> Array:
    """Return the (n, d + 1) numbers of a ``.npy`` file, the label in the last column; a plain file is mapped, not read.

    Raises
    ------
    DataError : an array of another kind; bytes after it.
    """
    array: Array
    if compression_of(path) is None:
        array = np.lib.format.open_memmap(path, mode="r")
        size = path.stat().st_size - getattr(array, "offset", 0)
    else:
        with opened(path) as file:
            array = np.lib.format.read_array(file, allow_pickle=False)
            size = array.nbytes + len(file.read(1))
    if array.ndim != 2 or array.shape[1] < 2 or array.dtype.kind not in "fiub" or size != array.nbytes:
        more = ", and more bytes after it" if size > array.nbytes else ""
        raise DataError(
            f"'{path}' holds an array of {array.dtype} of shape {array.shape}{more}; expected numbers of shape (n, d + 1), the "
            "label in the last column. Write it again with numpy.save(path, numpy.column_stack([points, labels]))."
        )
    return array


def _read_npz(file: BinaryIO, path: Path) -> Table:
    """Return the points and labels of an archive, and its test part if it has one that is not empty."""
    found: Any = np.lib.npyio.NpzFile(file, allow_pickle=False)
    with found as archive:
        refuse_beyond(sum(each.file_size for each in archive.zip.infolist()), path, "its arrays")
        names = {name.removesuffix(".indptr").lower(): name for name in archive.files}
        training = next((pair for pair in (("x_train", "y_train"), ("x", "y")) if names.keys() >= {*pair}), None)
        test_names = names.keys() & {"x_test", "y_test"}
        if training is None or len(test_names) == 1:
            raise DataError(
                f"'{path}' holds the arrays {plain_line(', '.join(sorted(archive.files)), 200) or '(none)'}; expected x and y, or "
                "x_train, y_train, x_test and y_test. Save it with numpy.savez(path, x=points, y=labels)."
            )
        pairs = [training, ("x_test", "y_test")] if test_names else [training]
        parts = [(_points(archive, names[x], path), _label_array(archive[names[y]], y, path)) for x, y in pairs]
        defaults = dict(json.loads(str(archive["defaults"]))) if "defaults" in names else {}
        columns = tuple(archive["x_train.names"].tolist()) if "x_train.names" in names else None  # of a frame
    # An empty test part says no more than none at all, and None lets the caller draw one.
    test = parts[1] if len(parts) > 1 and parts[1][0].shape[0] else None
    return checked(Table(*parts[0], test=test, names=columns, defaults=defaults), path)


def _points(archive: Any, key: str, path: Path) -> Any:
    """Return points; sparse ones are kept as the parts of a CSR array: ``x.data``, ``.indices``, ``.indptr``, ``.shape``."""
    if key.endswith(".indptr"):
        key = key.removesuffix(".indptr")
        n, d = (int(length) for length in archive[f"{key}.shape"])
        csr = scipy.sparse.csr_array(
            tuple(archive[f"{key}.{part}"] for part in ("data", "indices", "indptr")), shape=(n, d)
        )
        csr.check_format(full_check=True)
        refuse_too_wide(n, d, csr.nnz, path)
        return as_points(csr, f"'{path}': {key}")
    return as_points(archive[key], f"'{path}': {key}")


def _label_array(y: Array, key: str, path: Path) -> Array:
    y = y.ravel() if y.ndim == 2 and 1 in y.shape else y
    if y.dtype.kind in "fiub":
        return y.astype(np.float64)
    if y.dtype.kind not in "SU":
        raise DataError(
            f"'{path}': the labels {key} are {y.dtype}; expected numbers or text. Write them as one of these."
        )
    return from_text(y, path)


# -- other tables ------------------------------------------------------------------------------------------


def _parquet(file: BinaryIO, path: Path) -> Any:
    import pandas as pd
    import pyarrow.parquet

    facts = pyarrow.parquet.read_metadata(file)
    needed = 8.0 * facts.num_rows * facts.num_columns
    refuse_beyond(needed, path, f"its table of {facts.num_rows} x {facts.num_columns}")
    file.seek(0)
    return pd.read_parquet(file)


def _arff(file: BinaryIO) -> Any:
    import pandas as pd
    from scipy.io import arff

    text = file.read().decode(errors="replace").removeprefix("\ufeff")
    records, _ = arff.loadarff(io.StringIO(text))
    frame = pd.DataFrame({name: records[name] for name in records.dtype.names or ()})
    for name in frame.columns[[kind.kind == "O" for kind in frame.dtypes]]:
        frame[name] = [cell.decode() for cell in frame[name]]
    return frame
