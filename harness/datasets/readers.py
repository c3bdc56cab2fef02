"""Reading files of users: LIBSVM text, CSV, NPZ, NPY, Parquet or ARFF, plain or compressed (.gz, .bz2, .xz).

The suffix determines the format, or the first line for other suffixes (``.txt``, ``.data``, none). scikit-learn reads LIBSVM
text, pyarrow CSV and Parquet, liac-arff ARFF, and NumPy its formats, without pickles. This module adds bounds of memory, and
checks for finite numbers and missing labels.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import scipy.sparse

from harness.datasets.bounds import AS_TEXT, refuse_beyond
from harness.datasets.columns import TABLE_OPTIONS, Part, Table, clean_names, read_columns, refuse_empty, unlike
from harness.datasets.compression import compression_of, existing_file, format_suffix, in_a_sentence, opened, streamed
from harness.datasets.csv_text import decode, read_csv, refuse_no_data
from harness.datasets.dataset import is_csr
from harness.datasets.labels import EXACT, is_missing
from harness.datasets.libsvm_text import base_of, based, index_range, read_libsvm, refuse_too_wide
from harness.datasets.preprocessing import DENSE_FROM
from harness.datasets.validation import first_non_finite
from harness.kernels.points import FLOATS, as_points
from harness.support.arrays import Array
from harness.support.errors import DataError, UsageError
from harness.support.parameters import changed
from harness.support.printable import plain_line

FORMATS = {f".{kind}": kind for kind in ("libsvm", "csv", "npz", "npy", "parquet", "arff")}
FORMATS |= {".svm": "libsvm", ".svmlight": "libsvm", ".tsv": "csv"}
_TABLES = ("csv", "parquet", "arff")
_OPTIONS = {**dict.fromkeys(TABLE_OPTIONS, _TABLES), "header": ("csv",), "index_base": ("libsvm",)}
_LIBSVM_LINE = re.compile(r"[^\s:,;]+(\s+(qid|\d+):\S+)*")


def read_parts(files: Sequence[tuple[str, str]], options: Any) -> list[Part]:
    """Return the training part and, if there is one, the test part: of the second file, else of an archive with both.

    Parameters
    ----------
    files : path of each file, and its name in messages
    options : a `FileSource` with the parameters of reading

    Raises
    ------
    DataError : a file is missing, empty, damaged or of an unknown format, or the two have different features.
    Refusal : a table has faults; lists all of them.
    """
    kinds: list[str] = []
    parts: list[Any] = []
    for path, where in files:
        with in_a_sentence(where):
            file = existing_file(path)
            kinds.append(format_of(file, where))
            for name in changed(options):
                if kinds[-1] not in _OPTIONS.get(name, kinds):
                    raise DataError(f"'{where}' is {kinds[-1]}, which has no choice of {name}; leave it out.")
            read = _read(file, where, kinds[-1], options)
            parts += read if len(files) == 1 else read[:1]
    places = [where for _, where in files]
    if len(set(kinds)) > 1:
        raise unlike(places[1], f"the format {kinds[1]}, not {kinds[0]}", places[0])
    if kinds[0] in _TABLES:
        first = read_columns(parts[0], options)
        return [first, *(read_columns(table, options, first.schema) for table in parts[1:])]
    if kinds[0] == "libsvm":
        parts = _on_one_base(parts, places, options.index_base)
    for part, where in zip(parts, [*places, places[0]], strict=False):
        n, d = part.x.shape
        refuse_empty(n, d, where)
        if part.labels.shape != (n,):
            raise DataError(f"'{where}': {n} points and labels of shape {part.labels.shape}. Give both equal length.")
        refuse_non_finite(part.x, where)
        refuse_missing(part.labels, where)
    return [parts[0], *(_alike(parts[0], part, places) for part in parts[1:])]


def _read(path: Path, where: str, kind: str, options: Any) -> Sequence[Table | Part]:
    """Return the parts in one file; indices of LIBSVM text are unchanged and unchecked."""
    if kind == "npy":
        array = array_of(path)
        x = array[:, :-1]
        if x.dtype not in FLOATS:
            refuse_beyond(8 * x.size, where, f"its array of {x.dtype} and shape {x.shape}, as float64,")
        # A slice of a map is not contiguous; the parsed cache writes it piece by piece, whatever its size.
        return [Part(as_points(x), np.array(array[:, -1]))]
    with opened(path, AS_TEXT if kind in ("libsvm", "csv", "arff") else 1) as file:
        if kind == "csv":
            return [read_csv(file.read(), where, options)]
        if kind == "npz":
            return _read_npz(file, where)
        if kind == "libsvm":
            points, labels = read_libsvm(file)
            if options.task != "regression" and (large := labels[abs(labels) >= EXACT]).size:
                why = f"the label {large[0]:.0f} is beyond 2^53, where integers of LIBSVM text are rounded to their neighbours"
                raise DataError(f"'{where}': {why}. Write classes as small numbers.")
            return [Part(points, labels)]
        frame = _read_parquet(file, where) if kind == "parquet" else _read_arff(file, where)
        return [Table(frame.set_axis(clean_names(frame.columns), axis=1), where)]


def _on_one_base(parts: Sequence[Part], places: Sequence[str], chosen: Any) -> list[Part]:
    """Return parts of LIBSVM text with the same first index and as wide as the widest; dense if training has few zeros."""
    ranges = [index_range(part.x) for part in parts]
    base = base_of(ranges, chosen, places)
    width = max((last + 1 - base for _, last in filter(None, ranges)), default=0)
    points: list[Any] = [based(part.x, base, width, where) for part, where in zip(parts, places, strict=True)]
    for x, where in zip(points, places, strict=True):
        refuse_too_wide(x.shape[0], width, x.nnz, where)
    if points[0].nnz >= DENSE_FROM * points[0].shape[0] * width:
        points[0] = points[0].toarray()
    return [replace(part, x=x) for part, x in zip(parts, points, strict=True)]


def _alike(train: Part, test: Part, places: Sequence[str]) -> Part:
    """Return the test part dense or sparse like the training part; raise DataError if the features differ."""
    d, x = train.x.shape[1], test.x
    if x.shape[1] != d:
        raise unlike(places[-1], f"{x.shape[1]} features for testing, not {d}", places[0])
    if is_csr(x) and not is_csr(train.x):
        refuse_beyond(8.0 * x.shape[0] * d, places[-1], "its points, dense as those for training,")
        return replace(test, x=x.toarray())
    return replace(test, x=scipy.sparse.csr_array(x) if is_csr(train.x) else x)


def format_of(path: Path, where: str) -> str:
    """Return ``libsvm``, ``csv``, ``npz``, ``npy``, ``parquet`` or ``arff`` by the suffix, else by the first line.

    Raises
    ------
    DataError : the content is no data, or the suffix is unknown and the first line is neither LIBSVM text nor a table.
    """
    suffix = format_suffix(path)
    with streamed(path) as file:
        start = file.read(1 << 14).removeprefix(codecs.BOM_UTF8)
    refuse_no_data(start, where, suffix)
    lines = map(str.strip, start.decode(errors="replace").splitlines())
    first = next((line for line in lines if line and line[0] not in "#%\ufffd"), "")
    if first.lower().startswith("@relation"):
        return "arff"
    if suffix in FORMATS:
        return FORMATS[suffix]
    if _LIBSVM_LINE.fullmatch(first.split("#")[0].strip()) and (":" in first or len(first.split()) == 1):
        return "libsvm"
    if re.search(r"[,;|\s]", first) and ":" not in first and first.replace("\t", "").isprintable():
        return "csv"
    why = f"its suffix is '{suffix}', its first line neither LIBSVM text nor a table"
    suffixes = f"{', '.join(FORMATS)} (and .gz, .bz2 or .xz after it)"
    raise DataError(f"the format of '{where}' is not known: {why}. Rename it with one of the suffixes {suffixes}.")


def refuse_non_finite(x: Any, where: str, first: int = 0) -> None:
    """Raise DataError, with the row and column counted from 1, if (n, d) points contain NaN or infinity.

    first : number of rows of the file before these
    """
    if (bad := first_non_finite(x)) is not None:
        what = f"row {first + bad[0] + 1}, column {bad[1] + 1} is {x[bad]}; expected a finite number"
        raise DataError(f"'{where}': {what} (counted from 1, without the label). Fill in or drop such rows.")


def refuse_missing(labels: Array, where: str, first: int = 0) -> None:
    """Raise DataError, with the first one's row counted from 1, if any of (n,) labels is missing or infinite."""
    if (missing := is_missing(labels)).any():
        what = f"the label of row {first + missing.argmax() + 1} is missing or infinite, {missing.sum()} of {len(missing)} are"
        remedy = "Fill in or drop such rows; a class with the name none, NA or nan needs another one"
        raise DataError(f"'{where}': {what}; expected a class. {remedy}.")


# -- NumPy's formats ---------------------------------------------------------------------------------------


def array_of(path: Path) -> Array:
    """Return the (n, d + 1) numbers of a ``.npy`` file, the label in the last column; a plain file is mapped, not read.

    Raises
    ------
    DataError : the array has another shape or type, or bytes follow it.
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
        what = f"an array of {array.dtype} of shape {array.shape}{', and more bytes after it' * (size > array.nbytes)}"
        expected = "expected numbers of shape (n, d + 1), the label in the last column"
        write = "numpy.save(path, numpy.column_stack([points, labels]))"
        raise DataError(f"'{path}' has {what}; {expected}. Write it again with {write}.")
    return array


def _read_npz(file: BinaryIO, where: str) -> list[Part]:
    """Return the points and labels of an archive, and its test part if it has one that is not empty."""
    opened_file: Any = np.lib.npyio.NpzFile(file, allow_pickle=False)
    with opened_file as archive:
        refuse_beyond(sum(member.file_size for member in archive.zip.infolist()), where, "its arrays")
        names = {name.removesuffix(".indptr").lower(): name for name in archive.files}
        pairs = [pair for pair in (("x_train", "y_train"), ("x", "y")) if names.keys() >= {*pair}][:1]
        test = names.keys() & {"x_test", "y_test"}
        if not pairs or len(test) == 1:
            what = f"the arrays {plain_line(', '.join(sorted(archive.files)), 200) or '(none)'}"
            expected = "expected x and y, or x_train, y_train, x_test and y_test"
            raise DataError(f"'{where}' has {what}; {expected}. Save it with numpy.savez(path, x=points, y=labels).")
        defaults = dict(json.loads(str(archive["defaults"]))) if "defaults" in names else {}
        pairs += [("x_test", "y_test")] * bool(test)
        parts = [
            Part(_points(archive, names[x], where), _labels(archive[names[y]], y, where), defaults=defaults)
            for x, y in pairs
        ]
    return [parts[0], *(part for part in parts[1:] if part.x.shape[0])]


def _points(archive: Any, key: str, where: str) -> Any:
    """Return points; sparse points are stored as ``x.data``, ``x.indices``, ``x.indptr`` and ``x.shape`` of a CSR array."""
    x = archive[key]
    if key.endswith(".indptr"):
        key = key.removesuffix(".indptr")
        n, d = archive[f"{key}.shape"].tolist()
        x = scipy.sparse.csr_array((archive[f"{key}.data"], archive[f"{key}.indices"], x), shape=(n, d))
        x.check_format(full_check=True)
        refuse_too_wide(n, d, x.nnz, where)
    return as_points(x, f"'{where}': {key}")


def _labels(y: Array, key: str, where: str) -> Array:
    if y.dtype.kind not in "fiubSU":
        raise DataError(f"'{where}': the labels {key} are {y.dtype}; expected numbers or text. Write them as such.")
    y = y.ravel() if y.ndim == 2 and 1 in y.shape else y
    return np.char.decode(y, "utf-8") if y.dtype.kind == "S" else y


# -- other tables ------------------------------------------------------------------------------------------


def _read_parquet(file: BinaryIO, where: str) -> Any:
    import pyarrow.parquet

    table = pyarrow.parquet.ParquetFile(file)
    n, d = table.metadata.num_rows, table.metadata.num_columns
    refuse_beyond(8.0 * n * d, where, f"its table of {n} x {d}")
    return table.read().to_pandas()


def _read_arff(file: BinaryIO, where: str) -> Any:
    """Return the columns of an ARFF file, or of a KEEL file, which has ranges of attributes and ``@inputs``."""
    import pandas as pd

    try:
        import arff
    except ModuleNotFoundError:
        raise UsageError("reading ARFF needs liac-arff; run `pip install 'svm-harness[arff]'`.") from None
    text = re.sub(r"(?im)^@(inputs?|outputs?)\b.*$", "", decode(file.read(), where))
    # liac-arff reads neither ranges nor blanks before the commas and the bracket of a nominal attribute
    untidy = re.compile(r"\s+(?=[,}])|(?<=\{)\s+|(?<=real|eger)\s*\[.*", re.IGNORECASE)
    text = re.sub(r"(?im)^@attribute.*$", lambda line: untidy.sub("", line[0]), text)
    text = re.sub(r"(?im)^(@attribute.*\s)integer\s*$", r"\1real", text)  # liac-arff reads 1.7 as 1, Weka as 1.7
    content = arff.loads(text)
    return pd.DataFrame(content["data"], columns=[name for name, _ in content["attributes"]])
