"""Points beside the training points: what they must be, as the training points are stored, and joined to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from harness.kernels.functions import GivenValues, Kernel

if TYPE_CHECKING:
    import scipy.sparse

    from harness.arrays import Block

    Points = Block | scipy.sparse.csr_array


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


def reason_against(points: Any, kernel: Kernel, n_features: int) -> str | None:
    """Return why no kernel values with these points can be computed, a sentence; None if they can.

    n_features : the number of features of a training point
    """
    if isinstance(kernel.form, GivenValues):
        return (
            f"points beside the training points were given for kernel '{kernel.name}', whose values are those between "
            "the training points and no others; name a kernel that computes its values from features."
        )
    shape = shape_of(points)
    if shape is None:
        return (
            f"the points beside the training points are a {type(points).__name__} of shape {np.shape(points)}; give an "
            f"(m, {n_features}) numpy array or scipy.sparse.csr_array."
        )
    if shape[1] != n_features:
        return (
            f"the points beside the training points have shape {shape}; a training point has {n_features} features: give "
            f"an (m, {n_features}) array."
        )
    if points.dtype.kind not in "biuf":
        return f"the points beside the training points are of type {points.dtype}; give real numbers."
    if not isinstance(points, np.ndarray):
        try:
            points.check_format(full_check=True)
        except ValueError as error:
            return f"the points beside the training points are no CSR array: {error}; give one that scipy.sparse made."
    values = points if isinstance(points, np.ndarray) else points.data
    if not np.isfinite(values).all():
        wrong = np.asarray(values)[~np.isfinite(values)].flat[0]
        return f"the points beside the training points hold {wrong}; give finite numbers."
    return None


def stored_as(points: Any, source: Points) -> Points:
    """Return a copy of the points, dense or CSR as the training points ``source`` are, in float32 or float64."""
    import scipy.sparse

    dtype = points.dtype if points.dtype in (np.float32, np.float64) else np.dtype(np.float64)
    if isinstance(source, np.ndarray):
        dense = points if isinstance(points, np.ndarray) else points.toarray()
        return np.array(dense, dtype=dtype, order="C")
    found = scipy.sparse.csr_array(points, dtype=dtype, copy=True)
    found.sum_duplicates()
    return found


def joined(source: Points, points: Points) -> Points:
    """Return the training points and ``points`` after them, a copy, in the type of the training points."""
    import scipy.sparse

    added: Any = stored_as(points, source).astype(source.dtype, copy=False)
    if isinstance(source, np.ndarray):
        return np.concatenate([np.asarray(source), added])
    return scipy.sparse.csr_array(scipy.sparse.vstack([source, added], format="csr"))
