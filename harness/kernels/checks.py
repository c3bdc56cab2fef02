"""Checks of kernel values and of what they are written to.

A certificate depends on values that are finite, and for precomputed ones square, symmetric, PSD.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from harness.errors import DataError, UsageError
from harness.parameters import values_of

if TYPE_CHECKING:
    from harness.arrays import Block
    from harness.kernels.oracle import KernelOracle

_ROWS = 16  # looked at for finite values
_SPECTRUM_POINTS = 400  # a principal submatrix of a PSD matrix is PSD


def check_finite(oracle: KernelOracle) -> None:
    """Raise UsageError if a sample of rows or the diagonal holds values that are not finite.

    oracle : one of the host's own, that no solver gets: what is looked at here is counted and cached
    """
    sample = np.unique(np.linspace(0, oracle.n - 1, min(_ROWS, oracle.n)).astype(np.intp))
    with np.errstate(all="ignore"):
        finite = bool(np.isfinite(oracle.diagonal()).all() and np.isfinite(oracle.block(sample)).all())
        finite = finite and not np.isnan(oracle.largest)  # known from here on, off a solver's clock
    if not finite:
        raise UsageError(
            f"{_named(oracle)} gives values that are not finite on these data; scale the data or choose smaller parameters."
        )


def checked_slots(out: Block, slots: Block | None, count: int, width: int, dtype: np.dtype[Any]) -> Block:
    """Return the rows of ``out`` that ``count`` rows of ``width`` values are written to; the first ones if None.

    Raises
    ------
    IndexError : a slot outside its range, or more rows than ``out`` has.
    ValueError : ``out`` has another dtype, order or shape, or there are not as many slots as rows.
    """
    if not (isinstance(out, np.ndarray) and out.ndim == 2 and out.flags.c_contiguous and out.dtype == dtype):
        raise ValueError(f"out must be a C-ordered 2-D array of {dtype}; make it with np.empty.")
    if out.shape[1] < width:
        raise ValueError(f"out has {out.shape[1]} columns; {width} were asked for.")
    if slots is None:
        if count > len(out):
            raise IndexError(f"{count} rows were asked of an array of {len(out)} rows; give as many or fewer.")
        return np.arange(count)
    slots = np.asarray(slots, dtype=np.intp)
    if slots.shape != (count,):
        raise ValueError(f"slots has shape {slots.shape} for {count} rows; give one slot a row.")
    if count and slots.view(np.uintp).max() >= len(out):
        wrong = int(slots[(slots < 0) | (slots >= len(out))][0])
        raise IndexError(f"slot {wrong} of an array of {len(out)} rows; they run from 0 to {len(out) - 1}.")
    return slots


def check_range(oracle: KernelOracle) -> None:
    """Raise UsageError if values, or what they are computed from, may exceed the oracle's dtype; computes no value."""
    if not oracle.largest < float(np.finfo(oracle.dtype).max):
        raise UsageError(
            f"{_named(oracle)} gives values that are not finite in {oracle.dtype} on these data; scale the data, choose "
            "smaller parameters or a solver's dtype=float64."
        )


def _named(oracle: KernelOracle) -> str:
    given = ", ".join(f"{name}={value:g}" for name, value in values_of(oracle.kernel).items())
    return f"kernel '{oracle.kernel.name}' ({given or 'no parameters'})"


def check_precomputed(dataset: Any) -> None:
    """Raise DataError unless the data of a `harness.Dataset` are an (n, n) symmetric PSD matrix, test rows (m, n)."""
    values: Any = dataset.x_train
    n, columns = values.shape
    if n != columns:
        raise DataError(
            f"data set '{dataset.name}' has {n} training rows of {columns} values; the precomputed kernel needs k(x_i, x_j) "
            "of every training point with every other, n x n: give the test rows in a file of their own, or none with "
            "test_fraction=0."
        )
    if dataset.x_test.shape[0] and dataset.x_test.shape[1] != n:
        raise DataError(
            f"data set '{dataset.name}' has test rows of {dataset.x_test.shape[1]} values; the precomputed kernel needs "
            f"k(z, x_j) with each of the {n} training points."
        )
    step = max(1, n // _SPECTRUM_POINTS)
    sample = np.arange(0, n, step)
    part = values[np.ix_(sample, sample)] if isinstance(values, np.ndarray) else values[sample][:, sample].toarray()
    scale = float(np.abs(part).max())
    skew = float(np.abs(part - part.T).max())
    if skew > 1e-6 * scale:
        raise DataError(
            f"data set '{dataset.name}' is not symmetric (values differ by up to {skew:.3g}); a kernel matrix is: k(x, z) = k(z, x)."
        )
    least = float(np.linalg.eigvalsh(0.5 * (part + part.T))[0])
    if least < -1e-6 * scale * len(sample):
        raise DataError(
            f"data set '{dataset.name}' is not positive semi-definite (an eigenvalue of {least:.3g}); no certificate would hold. "
            "Add a ridge to its diagonal or take another kernel."
        )
