"""The walk over the face of the free variables with its equations solved afresh after each bound: the slow, obvious twin."""

import numpy as np


def naive_walk(kernel, sums, a, lower, upper, gradient):
    """Return where the way to the optimum of ever fewer free variables ends, and whether it is their optimum.

    kernel : (f, f), with whatever was added to its diagonal
    sums : (f, q) 1 where a variable takes part in a sum that is fixed
    """
    a, gradient, inside = a.copy(), gradient.copy(), np.arange(len(a))
    while len(inside):
        step = naive_step(kernel[np.ix_(inside, inside)], sums[inside], gradient[inside])
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = np.where(step > 0.0, upper[inside], lower[inside])
            room = np.where(step == 0.0, np.inf, (ends - a[inside]) / step)
        first = int(np.argmin(room))
        length = min(1.0, max(0.0, room[first]))
        gradient -= kernel[:, inside] @ (length * step)
        a[inside] += length * step
        if room[first] >= 1.0:
            return a, True
        a[inside[first]] = ends[first]
        inside = np.delete(inside, first)
    return a, True


def naive_step(kernel, sums, gradient):
    """Return the d with sums'd = 0 at which gradient'd - 1/2 d'K d is largest."""
    sums = sums[:, sums.any(axis=0)]
    f, q = sums.shape
    system = np.block([[kernel, sums], [sums.T, np.zeros((q, q))]])
    return np.linalg.solve(system, np.concatenate([gradient, np.zeros(q)]))[:f]
