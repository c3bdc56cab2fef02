"""The door for points: whatever kind of array holds them, the harness has them in one of two."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from harness.errors import DataError

if TYPE_CHECKING:
    import scipy.sparse

    from harness.arrays import Block

    Points = Block | scipy.sparse.csr_array

FLOATS = (np.dtype(np.float64), np.dtype(np.float32))


def as_points(x: Any, what: str = "the points") -> Points:
    """Return (n, d) points as a C-ordered array or a canonical ``csr_array`` (indices sorted, none twice), float64 or float32.

    What is so already is returned as it is, a map of a file too. SciPy's other kinds, its *matrices* among them (whose
    ``*`` and ``sum`` mean something else), lists and frames are converted; so are whole numbers and truth values, to
    float64. What is given is never changed.

    Parameters
    ----------
    what : they are, for the message

    Raises
    ------
    DataError : no real numbers of two dimensions. Whether they are finite is not looked at.
    """
    if isinstance(x, np.ndarray) and not isinstance(x, np.matrix) and x.ndim == 2 and x.dtype in FLOATS:
        return x if x.flags.c_contiguous else np.ascontiguousarray(x)
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
