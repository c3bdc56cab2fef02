"""Example selection as its paper prints it, one candidate at a time from a full kernel matrix."""

import numpy as np


def naive_sample(K, y, coef, intercept, delta, sequence, selection, size):
    """Return what is to be minimal for each candidate of ``sequence`` that is looked at."""
    edge = 1.0 + delta / 2.0 if np.isfinite(delta) else 1.0
    looked, inside = [], 0
    for k in sequence[:size]:
        f = intercept + sum(coef[s] * K[k, s] for s in np.flatnonzero(coef))
        looked.append(y[k] * f if selection == "gradient" else abs(f))
        inside += abs(f) < edge
        if selection == "autoactive" and inside == 5:
            break
    return looked
