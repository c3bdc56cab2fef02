"""Checks of kernel values.

A certificate depends on values that are finite, and for precomputed ones square, symmetric, PSD.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.errors import DataError, UsageError
from harness.kernels.oracle import KernelOracle, described

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
            f"{described(oracle)} gives values that are not finite on these data; scale the data or choose smaller parameters."
        )


def check_precomputed(dataset: Any) -> None:
    """Raise DataError unless the data of a `harness.Dataset` are an (n, n) symmetric PSD matrix, test rows (m, n)."""
    values: Any = dataset.x_train
    n, tests = values.shape[0], dataset.x_test.shape
    if values.shape[1] != n or (tests[0] and tests[1] != n):
        raise DataError(
            f"data set '{dataset.name}' has {n} training rows of {values.shape[1]} values and {tests[0]} test rows of "
            f"{tests[1]}; the precomputed kernel needs those of each point with every training point, {n}: give the test rows "
            "in a file of their own, or none with test_fraction=0."
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

