"""Points, dense or sparse: conversion to the two types that the harness computes with, and what is asked of points of either type."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from harness.support.errors import DataError

if TYPE_CHECKING:
    import scipy.sparse

    from harness.support.arrays import Block

    Points = Block | scipy.sparse.csr_array

_PIECE = 1 << 20  # values that are read at a time
FLOATS = (np.dtype(np.float64), np.dtype(np.float32))


def as_points(x: Any, what: str = "the points") -> Points:
    """Return (n, d) points as a C-ordered array or a canonical ``csr_array`` (indices sorted, none twice), float64 or float32.

    What is so already is returned as it is, a map of a file too. SciPy's other kinds, its *matrices* among them (whose
    ``*`` and ``sum`` mean something else), lists and frames are converted; so are whole numbers and truth values, to
    float64. Masked values become NaN. What is given is never changed.

    Parameters
    ----------
    what : they are, for the message

    Raises
    ------
    DataError : no real numbers of two dimensions. Whether they are finite is not looked at.
    """
    if (
        isinstance(x, np.ndarray)
        and not isinstance(x, np.matrix | np.ma.MaskedArray)
        and x.ndim == 2
        and x.dtype in FLOATS
    ):
        return x if x.flags.c_contiguous else np.ascontiguousarray(x)
    if np.ma.isMaskedArray(x):
        x = np.ma.filled(x.astype(np.float64), np.nan)
    import scipy.sparse

    if isinstance(x, scipy.sparse.csr_array) and x.ndim == 2 and x.dtype in FLOATS and x.has_canonical_format:
        return x
    sparse = scipy.sparse.issparse(x)
    try:
        found: Any = x if sparse else np.asarray(x)
    except ValueError:
        raise DataError(f"{what} has rows of different lengths; expected numbers of shape (n, d).") from None
    if found.ndim != 2 or found.dtype.kind not in "fiub":
        raise DataError(f"{what} is {found.dtype} of shape {found.shape}; expected numbers of shape (n, d).")
    dtype = found.dtype if found.dtype in FLOATS else np.dtype(np.float64)
    if not sparse:
        return np.ascontiguousarray(found, dtype=dtype)
    points = scipy.sparse.csr_array(found)
    if not points.has_canonical_format:
        points = points.copy() if found.format == "csr" else points  # a CSR one shares its memory with what was given
        points.sum_duplicates()
    return cast("Points", points.astype(dtype, copy=False))


def scale_gamma(x: Any) -> float:
    """Return 1 / (d var(x)), scikit-learn's ``gamma="scale"``; 1 if the spread of the values is no more than rounding.

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
    variance = (squares - rest**2 / (n * d)) / (n * d)  # of the error of the mean
    if variance <= (8.0 * np.finfo(np.float64).eps * largest) ** 2:
        return 1.0
    gamma = 1.0 / (d * variance)
    return gamma if math.isfinite(gamma) else 1.0


def is_mapped(x: Any) -> bool:
    """Return whether ``x`` is an array mapped from a file, or a view of one."""
    return isinstance(x, np.memmap) or isinstance(getattr(x, "base", None), np.memmap)


def sum_of_words(x: Any) -> str:
    """Return a sum of the words of dense or sparse points: fast, and enough to see a slip."""
    arrays = [x] if isinstance(x, np.ndarray) else [x.data, x.indices, x.indptr]
    flat = [np.ascontiguousarray(array).reshape(-1) for array in arrays]
    words = [each.view(np.uint64 if each.nbytes % 8 == 0 else np.uint8) for each in flat]
    return " ".join(f"{int(each.sum(dtype=np.uint64)):x}" for each in words)


def shape_of(points: Any) -> tuple[int, int] | None:
    """Return (m, d) of a 2-D array or a CSR array or matrix; None of anything else."""
    if not isinstance(points, np.ndarray) and getattr(points, "format", "") != "csr":
        return None
    return (int(points.shape[0]), int(points.shape[1])) if len(points.shape) == 2 else None


def bytes_of(points: Any) -> int:
    """Return the bytes that dense or CSR points take, or would if each of their numbers were stored."""
    if isinstance(points, np.ndarray):
        return int(points.size * points.itemsize)
    return int(points.data.nbytes + points.indices.nbytes + points.indptr.nbytes)


def stored_as(points: Any, source: Points) -> Points:
    """Return a copy of the points, dense or CSR as the training points ``source`` are, in float32 or float64."""
    import scipy.sparse

    points = as_points(points)
    if isinstance(source, np.ndarray):
        return np.array(points if isinstance(points, np.ndarray) else points.toarray())
    return scipy.sparse.csr_array(points, copy=True)


def joined(source: Points, points: Points) -> Points:
    """Return the training points and ``points`` after them, a copy, in the type of the training points."""
    import scipy.sparse

    added: Any = stored_as(points, source).astype(source.dtype, copy=False)
    if isinstance(source, np.ndarray):
        return np.concatenate([np.asarray(source), added])
    return scipy.sparse.csr_array(scipy.sparse.vstack([source, added], format="csr"))
