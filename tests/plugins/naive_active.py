"""Active learning as it is described, over a full kernel matrix: what a strategy may buy next, and when its rules hold."""

import numpy as np


def distances(K, coef, intercept):
    """|f| of every point, one at a time."""
    return np.array([abs(sum(coef[j] * K[i, j] for j in np.flatnonzero(coef)) + intercept) for i in range(len(K))])


def nearest(K, coef, intercept, candidates, count):
    """The distances of the ``count`` nearest of the candidates, ascending."""
    found = distances(K, coef, intercept)
    return sorted(found[i] for i in candidates)[:count]


def held_first(history, window, tolerance):
    """Labels at which the number of support vectors was stable for the first time; None: never.

    history : (labels, support vectors) in the order of the queries
    """
    for now, (labels, _) in enumerate(history):
        seen = [entry for entry in history[: now + 1] if entry[0] > labels - window]
        before = [entry for entry in history[: now + 1] if entry[0] <= labels - window]
        if not before:
            continue
        counts = [support for _, support in [before[-1], *seen]]
        if max(counts) > 0 and (max(counts) - min(counts)) / max(counts) <= tolerance:
            return labels
    return None
