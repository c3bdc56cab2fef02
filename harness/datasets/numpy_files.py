"""NumPy's own files: one array (``.npy``, label in the last column) or an archive of named arrays (``.npz``)."""

from __future__ import annotations

import warnings
import zipfile
import zlib
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from harness.datasets.compression import is_compressed, opened
from harness.datasets.labels import from_text
from harness.datasets.tables import Table, checked
from harness.errors import DataError

_TRAINING = (("x_train", "y_train"), ("X_train", "y_train"), ("x", "y"), ("X", "y"))
_TEST = (("x_test", "y_test"), ("X_test", "y_test"))
_FLOATS = (np.dtype(np.float64), np.dtype(np.float32))


def read_npy(path: Path) -> Table:
    """Return (n, d) points and, from the last column, their labels; a plain file of floats stays memory-mapped."""
    array = _numpy_load(path, path if not is_compressed(path) else opened(path))
    if not isinstance(array, np.ndarray) or array.ndim != 2 or array.dtype.kind not in "fiub":
        what = (
            f"an array of {array.dtype}, shape {array.shape}" if isinstance(array, np.ndarray) else "an archive (.npz)"
        )
        raise DataError(
            f"'{path}' holds {what}; expected numbers of shape (n, d + 1), the label in the last column. "
            "Write it again with numpy.save(path, numpy.column_stack([points, labels]))."
        )
    if array.dtype not in _FLOATS:
        array = array.astype(np.float64)
    # A slice of the map is not contiguous; the parsed cache writes it piece by piece, whatever its size.
    return checked(Table(array[:, :-1], np.array(array[:, -1], dtype=np.float64)), path)


def read_npz(path: Path) -> Table:
    """Return the points and labels of an archive, and its test part if it has one that is not empty."""
    with opened(path) as file:
        archive = _numpy_load(path, file)
        if isinstance(archive, np.ndarray):
            raise DataError(
                f"'{path}' is a single array, not an archive. Rename it to .npy (label in the last column)."
            )
        keys = _keys(set(archive.files), path)
        parts = [
            (_points(_member(archive, x, path), x, path), _label_array(_member(archive, y, path), y, path))
            for x, y in keys
        ]
    # An empty test part says no more than none at all, and None lets the caller draw one.
    test = parts[1] if len(parts) > 1 and len(parts[1][0]) else None
    return checked(Table(*parts[0], test=test), path)


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


def _numpy_load(path: Path, source: Path | BinaryIO) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)  # NumPy leaves the file of a bad header to the collector
            return np.load(source, mmap_mode="r" if isinstance(source, Path) else None, allow_pickle=False)
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise DataError(
            f"'{path}' is not a NumPy file of numbers ({error}). Write it again with numpy.save or numpy.savez."
        ) from None


def _member(archive: Any, key: str, path: Path) -> np.ndarray[Any, Any]:
    try:
        array: np.ndarray[Any, Any] = archive[key]
    except (ValueError, OSError, EOFError, zlib.error, zipfile.BadZipFile) as error:
        raise DataError(
            f"'{path}': the array '{key}' cannot be read ({error}). Expected plain numbers; write it again."
        ) from None
    return array


def _points(x: np.ndarray[Any, Any], key: str, path: Path) -> np.ndarray[Any, Any]:
    if x.ndim != 2 or x.dtype.kind not in "fiub":
        column = "; one feature is points.reshape(-1, 1)" if x.ndim == 1 else ""
        raise DataError(
            f"'{path}': the points {key} are {x.dtype} of shape {x.shape}; expected numbers of shape (n, d). "
            f"Write the file again with one row for each point{column}."
        )
    return np.ascontiguousarray(x, dtype=x.dtype if x.dtype in _FLOATS else np.float64)


def _label_array(y: np.ndarray[Any, Any], key: str, path: Path) -> np.ndarray[Any, Any]:
    y = y.ravel() if y.ndim == 2 and 1 in y.shape else y
    if y.dtype.kind not in "fiubSU":
        raise DataError(
            f"'{path}': the labels {key} are {y.dtype}; expected numbers or text. Write them as one of these."
        )
    return y.astype(np.float64) if y.dtype.kind in "fiub" else from_text(y, path)
