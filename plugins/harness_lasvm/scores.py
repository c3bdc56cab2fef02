"""Compiled loop of example selection: scores of candidates from their kernel values."""

from __future__ import annotations

import numba as nb
import numpy as np


# sums may be reassociated, else they are not vectorised
@nb.njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def add_scores(values, coef, scores):  # type: ignore[no-untyped-def]
    """Add sum_s coef_s values[c, s] to scores[c], in float64 whatever the dtype of the values."""
    for c in range(values.shape[0]):
        total = 0.0
        for s in range(coef.size):
            total += coef[s] * np.float64(values[c, s])
        scores[c] += total
