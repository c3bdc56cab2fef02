"""NumPy's own files: one array (``.npy``, label in the last column) or an archive of named arrays (``.npz``)."""

from __future__ import annotations

import json
import lzma
import math
import os
import struct
import warnings
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np

from harness.datasets.bounds import refuse_beyond
from harness.datasets.compression import is_compressed, opened
from harness.datasets.labels import clipped, from_text
from harness.datasets.libsvm_files import MOST_INDEX
from harness.datasets.tables import Table, checked
from harness.errors import DataError
from harness.kernels.points import as_points

_TRAINING = (("x_train", "y_train"), ("X_train", "y_train"), ("x", "y"), ("X", "y"))
_TEST = (("x_test", "y_test"), ("X_test", "y_test"))
# what the archive's reader raises: of damage, of an encrypted member, of a compression that is not known
_DAMAGED = (
    *(ValueError, OSError, EOFError, RuntimeError, NotImplementedError, LookupError),
    *(struct.error, zlib.error, lzma.LZMAError, zipfile.BadZipFile),
)
_BLOCK = 1 << 20  # bytes that are read at a time
_FLOATS = (np.dtype(np.float64), np.dtype(np.float32))


@dataclass(frozen=True)
class Header:
    """What a file says of its array before its values."""

    shape: tuple[int, ...]
    by_columns: bool
    dtype: np.dtype[Any]

    @property
    def count(self) -> int:
        """The number of values."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """The bytes of the values."""
        return self.count * self.dtype.itemsize

    def __str__(self) -> str:
        return f"{clipped(str(self.dtype), 60)} of shape {clipped(str(self.shape), 60)}"


def read_header(file: BinaryIO, path: Path | str, name: str = "") -> Header:
    """Return what an array is said to be, the file being left at its first value.

    Parameters
    ----------
    name : of the array in an archive

    Raises
    ------
    DataError : the file does not begin as numpy.save writes it, or the array holds Python objects.
    """
    what = f"'{path}': the array '{clipped(name, 60)}'" if name else f"'{path}'"
    by_version: Any = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    try:
        read = by_version[np.lib.format.read_magic(file)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a header that Python 2 wrote, of types with an old name
            header = Header(*read(file))
    except DataError:
        raise
    except Exception as error:  # it is parsed as Python, which fails in as many ways as there are
        reason = clipped(str(error), 120) if isinstance(error, ValueError) else "its header cannot be parsed"
        raise DataError(f"{what} is not a NumPy file of numbers ({reason}). Write it again.") from None
    if header.dtype.hasobject:
        raise DataError(
            f"{what} is not a NumPy file of numbers but of Python objects, which are not read: that could run code. "
            "Write it again as numbers or text."
        )
    if any(length < 0 for length in header.shape):
        raise DataError(f"{what} is {header}; expected lengths of 0 or more. Write it again.")
    return header


def read_npy(path: Path) -> Table:
    """Return (n, d) points and, from the last column, their labels; a plain file of floats stays memory-mapped."""
    packed = is_compressed(path)
    with opened(path) as file:
        if file.read(4).startswith(b"PK"):
            raise _not_a_table(path, "an archive (.npz)")
        file.seek(0)
        header = read_header(file, path)
        if len(header.shape) != 2 or header.shape[1] < 2 or header.dtype.kind not in "fiub":
            raise _not_a_table(path, f"an array of {header}")
        if header.dtype not in _FLOATS:
            refuse_beyond(8 * header.count, path, f"its array, {header}, as float64")
        array = _values(file, header, path) if packed else _mapped(file, header, path)
    if array.dtype not in _FLOATS:
        array = _as_float64(array)
    # A slice of the map is not contiguous; the parsed cache writes it piece by piece, whatever its size.
    return checked(Table(array[:, :-1], np.array(array[:, -1], dtype=np.float64)), path)


def _not_a_table(path: Path, what: str) -> DataError:
    return DataError(
        f"'{path}' holds {what}; expected numbers of shape (n, d + 1), the label in the last column. "
        "Write it again with numpy.save(path, numpy.column_stack([points, labels]))."
    )


def _mapped(file: BinaryIO, header: Header, path: Path) -> np.ndarray[Any, Any]:
    """Return a map of a plain file's array, which is not read by that."""
    _refuse_another_size(os.fstat(file.fileno()).st_size - file.tell(), header, f"'{path}'")
    order: Any = "F" if header.by_columns else "C"
    if header.nbytes == 0:  # cannot be mapped
        return np.empty(header.shape, header.dtype, order)
    return np.memmap(file, header.dtype, "r", file.tell(), header.shape, order)


def _values(file: BinaryIO, header: Header, path: Path, name: str = "") -> np.ndarray[Any, Any]:
    """Return the array that follows a header, read up to the length it is said to have and no further."""
    what = f"'{path}': the array '{clipped(name, 60)}'" if name else f"'{path}'"
    refuse_beyond(header.nbytes, path, f"its array{f' {clipped(name, 60)}' if name else ''}, {header},")
    values = np.empty(header.count, header.dtype)  # the system gives memory as it is filled
    room, filled = values.view(np.uint8) if header.nbytes else np.empty(0, np.uint8), 0
    while filled < header.nbytes and (block := file.read(min(_BLOCK, header.nbytes - filled))):
        room[filled : filled + len(block)] = np.frombuffer(block, np.uint8)
        filled += len(block)
    _refuse_another_size(filled + len(file.read(1)), header, what)
    return values.reshape(header.shape, order="F" if header.by_columns else "C")


def _refuse_another_size(size: int, header: Header, what: str) -> None:
    if size != header.nbytes:
        found = "more than these" if size > header.nbytes else f"{size:,}"
        raise DataError(
            f"{what} is {header}, {header.nbytes:,} bytes, by its header, but {found} follow it: it is damaged or not whole. "
            "Fetch or write it again."
        )


def _as_float64(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    with np.errstate(over="ignore"):  # of wider floats; infinity is refused later
        return array.astype(np.float64)


def read_npz(path: Path) -> Table:
    """Return the points and labels of an archive, and its test part if it has one that is not empty."""
    with opened(path) as file:
        if file.read(6) == b"\x93NUMPY":
            raise DataError(
                f"'{path}' is a single array, not an archive. Rename it to .npy (label in the last column)."
            )
        file.seek(0)
        try:
            archive = zipfile.ZipFile(file)
        except _DAMAGED as error:
            raise DataError(
                f"'{path}' is not a NumPy file of numbers ({clipped(str(error), 120)}). Write it again with numpy.savez."
            ) from None
        with archive:
            names = {name.removesuffix(".npy") for name in archive.namelist()}
            sparse = {name.removesuffix(".indptr") for name in names if name.endswith(".indptr")}
            keys = _keys(names | sparse, path)
            parts = [
                (
                    _sparse_points(archive, x, path) if x in sparse else _points(_member(archive, x, path), x, path),
                    _label_array(_member(archive, y, path), y, path),
                )
                for x, y in keys
            ]
            defaults = _defaults(_member(archive, "defaults", path), path) if "defaults" in names else {}
    # An empty test part says no more than none at all, and None lets the caller draw one.
    test = parts[1] if len(parts) > 1 and parts[1][0].shape[0] else None
    return checked(Table(*parts[0], test=test, defaults=defaults), path)


def _keys(names: set[str], path: Path) -> list[tuple[str, str]]:
    """Return the names of the points and labels of the training part and, if there is one, of the test part."""
    training = [pair for pair in _TRAINING if names.issuperset(pair)]
    if not training:
        raise DataError(
            f"'{path}' holds the arrays {', '.join(sorted(names)) or '(none)'}; expected x and y, or x_train, "
            "y_train, x_test and y_test. Save it with numpy.savez(path, x=points, y=labels)."
        )
    of_test = [name for name in ("x_test", "X_test", "y_test") if name in names]
    pairs = [pair for pair in _TEST if names.issuperset(pair)]
    if of_test and not pairs:
        lacking = "y_test" if of_test[0] != "y_test" else "x_test"
        raise DataError(
            f"'{path}' holds {of_test[0]} but no {lacking}; expected both of them or neither. "
            f"Write the file again with {lacking}, or without {of_test[0]}."
        )
    return [training[0], *pairs[:1]]


def _member(archive: zipfile.ZipFile, key: str, path: Path) -> np.ndarray[Any, Any]:
    """Return an array of an archive, whose size is what comes out of it, not what a directory claims."""
    try:
        with archive.open(key if key in archive.namelist() else f"{key}.npy") as member:
            file = cast("BinaryIO", member)
            header = read_header(file, path, key)
            return _values(file, header, path, key)
    except _DAMAGED as error:
        raise DataError(
            f"'{path}': the array '{key}' cannot be read ({clipped(str(error), 120)}). Expected plain numbers; "
            "write it again."
        ) from None


def _points(x: np.ndarray[Any, Any], key: str, path: Path) -> np.ndarray[Any, Any]:
    if x.ndim != 2 or x.dtype.kind not in "fiub":
        column = "; one feature is points.reshape(-1, 1)" if x.ndim == 1 else ""
        raise DataError(
            f"'{path}': the points {key} are {x.dtype} of shape {x.shape}; expected numbers of shape (n, d). "
            f"Write the file again with one row for each point{column}."
        )
    if x.dtype not in _FLOATS:
        refuse_beyond(8 * x.size, path, f"its array {key} as float64")
        x = _as_float64(x)
    return np.ascontiguousarray(x)


def _sparse_points(archive: zipfile.ZipFile, key: str, path: Path) -> Any:
    """Return points that are kept as the four parts of a CSR array: ``key.data``, ``.indices``, ``.indptr``, ``.shape``."""
    import scipy.sparse

    parts: dict[str, Any] = {
        part: _member(archive, f"{key}.{part}", path) for part in ("data", "indices", "indptr", "shape")
    }
    try:
        n, d = (int(length) for length in parts["shape"])
        if not 0 <= d <= MOST_INDEX:
            raise ValueError(f"{d} features")
        x = scipy.sparse.csr_array((parts["data"], parts["indices"], parts["indptr"]), shape=(n, d))
        x.check_format(full_check=True)
    except (ValueError, TypeError, OverflowError) as error:
        raise DataError(
            f"'{path}': the parts of the sparse points {key} make no CSR array ({clipped(str(error), 120)}). Write them again."
        ) from None
    return as_points(x, f"'{path}': {key}")


def _defaults(text: np.ndarray[Any, Any], path: Path) -> dict[str, Any]:
    try:
        found = json.loads(str(text))
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise DataError(f"'{path}': the defaults are no JSON object. Write them again, or leave them out.")
    return found


def _label_array(y: np.ndarray[Any, Any], key: str, path: Path) -> np.ndarray[Any, Any]:
    y = y.ravel() if y.ndim == 2 and 1 in y.shape else y
    if y.dtype.kind not in "fiubSU":
        raise DataError(
            f"'{path}': the labels {key} are {y.dtype}; expected numbers or text. Write them as one of these."
        )
    return _as_float64(y) if y.dtype.kind in "fiub" else from_text(y, path)
