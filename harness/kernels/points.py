"""Dense and sparse points: conversion to the two types that the harness uses, and functions for both types."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from harness.support.errors import DataError

if TYPE_CHECKING:
    import scipy.sparse

    from harness.support.arrays import Block

Points: TypeAlias = "Block | scipy.sparse.csr_array"
_FEW = 32  # number of indices that are compared in Python
_PIECE = 1 << 20  # number of values read at a time
PIECE_NUMBERS = 4_000_000  # largest number of float64 values of points in memory at a time
FLOATS = (np.dtype(np.float64), np.dtype(np.float32))


def as_points(x: Any, what: str = "the points") -> Points:
    """Return (n, d) points as a C-ordered array or a canonical ``csr_array`` (indices sorted, none twice), float64 or float32.

    Points of these types are returned unchanged, also if mapped from a file. Other SciPy types, including *matrices* (with
    another meaning of ``*`` and ``sum``), lists and frames are converted; integers and booleans become float64. Masked
    values become NaN. The argument is never changed.

    Parameters
    ----------
    what : name of the points in messages

    Raises
    ------
    DataError : the points are no real numbers of two dimensions. They may be infinite or NaN.
    """
    if type(x) in (np.ndarray, np.memmap) and x.ndim == 2 and x.dtype in FLOATS:
        return x if x.flags.c_contiguous else np.ascontiguousarray(x)
    if np.ma.isMaskedArray(x):
        x = np.ma.filled(x.astype(np.float64), np.nan)
    import scipy.sparse

    if isinstance(x, scipy.sparse.csr_array) and x.ndim == 2 and x.dtype in FLOATS and x.has_canonical_format:
        return x
    sparse = scipy.sparse.issparse(x)
    try:
        array: Any = x if sparse else np.asarray(x)
    except ValueError:
        raise DataError(f"{what} has rows of different lengths; expected numbers of shape (n, d).") from None
    if array.ndim != 2 or array.dtype.kind not in "fiub":
        raise DataError(f"{what} is {array.dtype} of shape {array.shape}; expected numbers of shape (n, d).")
    dtype = array.dtype if array.dtype in FLOATS else np.dtype(np.float64)
    if not sparse:
        return np.ascontiguousarray(array, dtype=dtype)
    points = scipy.sparse.csr_array(array)
    if not points.has_canonical_format:
        points = points.copy() if array.format == "csr" else points  # a CSR array shares its memory with the argument
        points.sum_duplicates()
    return cast("Points", points.astype(dtype, copy=False))


def valid_indices(indices: Any, n: int) -> Block:
    """Return indices of some of ``n`` points as integers; raise IndexError if one is negative or too large."""
    index = np.asarray(indices, dtype=np.intp)
    if index.size:
        # Python compares a few numbers faster
        ends = index.tolist() if index.ndim == 1 and index.size <= _FEW else [index.min(), index.max()]
        if min(ends) < 0 or max(ends) >= n:
            invalid = int(index[(index < 0) | (index >= n)][0])
            raise IndexError(f"point {invalid} is out of range for a kernel over {n} points (0 to {n - 1}).")
    return index


def scale_gamma(x: Any) -> float:
    """Return 1 / (d var(x)), scikit-learn's ``gamma="scale"``; 1 if the spread of the values may be rounding.

    Parameters
    ----------
    x : (n, d) points, dense (perhaps memory-mapped) or CSR; read twice, in pieces, never copied as a whole

    Raises
    ------
    FloatingPointError : within ``numpy.errstate(over="raise")``, a square is beyond float64.
    """
    n, d = x.shape
    stored = x.data.reshape(-1, 1) if hasattr(x, "indptr") else x
    step = max(1, _PIECE // max(1, stored[:1].size))
    pieces = [slice(start, start + step) for start in range(0, len(stored), step)]
    zeros = n * d - stored.size  # values that a sparse matrix does not store
    mean = math.fsum(float(np.sum(stored[rows], dtype=np.float64)) for rows in pieces) / (n * d)
    squares, rest, largest = zeros * mean**2, -zeros * mean, 0.0
    for rows in pieces:
        centred = np.asarray(stored[rows], dtype=np.float64) - mean
        squares += float(np.sum(centred**2))
        rest += float(np.sum(centred))
        largest = max(largest, float(np.max(np.abs(stored[rows]), initial=0.0)))
    variance = (squares - rest**2 / (n * d)) / (n * d)  # corrected for the error of the mean
    if variance <= (8.0 * np.finfo(np.float64).eps * largest) ** 2:
        return 1.0
    gamma = 1.0 / (d * variance)
    return gamma if math.isfinite(gamma) else 1.0


def width_of(points: Any) -> int:
    """Return the stored numbers of one point: the dimension, or for sparse points the mean number of non-zeros."""
    return int(points.shape[1]) if isinstance(points, np.ndarray) else int(points.nnz) // max(1, points.shape[0])


def pieces(length: int, width: int) -> Iterator[slice]:
    """Cut ``length`` rows of ``width`` numbers into pieces of at most 32 MB in float64: mapped files need no copy."""
    step = max(1, PIECE_NUMBERS // max(1, width))
    for start in range(0, length, step):
        yield slice(start, start + step)


def is_mapped(x: Any) -> bool:
    """Return whether ``x`` is an array mapped from a file, or a view of one."""
    return isinstance(x, np.memmap) or isinstance(getattr(x, "base", None), np.memmap)


def sum_of_words(x: Any) -> str:
    """Return a sum of the words of dense or sparse points, a fast checksum against accidental changes."""
    arrays = [x] if isinstance(x, np.ndarray) else [x.data, x.indices, x.indptr]
    flat = [np.ascontiguousarray(array).reshape(-1) for array in arrays]
    words = [array.view(np.uint64 if array.nbytes % 8 == 0 else np.uint8) for array in flat]
    return " ".join(f"{int(array.sum(dtype=np.uint64)):x}" for array in words)


def shape_of(points: Any) -> tuple[int, int] | None:
    """Return (m, d) of a 2-D array or a CSR array or matrix; None for other types."""
    if not isinstance(points, np.ndarray) and getattr(points, "format", "") != "csr":
        return None
    return (int(points.shape[0]), int(points.shape[1])) if len(points.shape) == 2 else None


def bytes_of(points: Any) -> int:
    """Return the size of dense or CSR points in bytes; broadcast arrays count in full."""
    if isinstance(points, np.ndarray):
        return int(points.size * points.itemsize)
    return int(points.data.nbytes + points.indices.nbytes + points.indptr.nbytes)


def stored_as(points: Any, source: Points) -> Points:
    """Return a copy of the points, dense or CSR like the training points ``source``, in float32 or float64."""
    import scipy.sparse

    points = as_points(points)
    if isinstance(source, np.ndarray):
        return np.array(points if isinstance(points, np.ndarray) else points.toarray())
    return scipy.sparse.csr_array(points, copy=True)


def joined(source: Points, points: Points) -> Points:
    """Return a copy of the training points with ``points`` appended, in the type of the training points."""
    import scipy.sparse

    added: Any = stored_as(points, source).astype(source.dtype, copy=False)
    if isinstance(source, np.ndarray):
        return np.concatenate([np.asarray(source), added])
    return scipy.sparse.csr_array(scipy.sparse.vstack([source, added], format="csr"))
