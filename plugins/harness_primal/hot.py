"""Compiled loops of the stochastic methods.

Both store w as scale / (t - 1) times a sum of alpha_j k(x_j, .), with scale = n C = 1 / lambda. So the step 1 / (lambda t) and the
shrinkage 1 - 1 / t of an update only change t.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.kernels.loops import combine, leading, row_between
from harness.support.jit import compiled, inner

_GOLDEN = 0.5 * (np.sqrt(5.0) - 1.0)
_SECTIONS = 20  # number of golden sections of [0, 1], after which the maximum is known to 7e-5


@compiled
def pegasos(scores, among, targets, costs, t, scale, added):  # type: ignore[no-untyped-def]
    """Visit a batch: set ``added``, (b,), to the changes of alpha and return the number of the next step.

    scores : (b,) sum of alpha_j k(x_j, .) at the examples of the batch, changed in place
    among : (b, b) kernel values between the examples
    costs : (b,) C_i / C
    t : number of the first step, from 1
    """
    for p in range(scores.size):
        added[p] = 0.0
        if scale * targets[p] * scores[p] < max(1, t - 1):
            added[p] = targets[p] * costs[p]
            for q in range(scores.size):
                scores[q] += added[p] * among[p, q]
        t += 1
    return t


@compiled
def budgeted(k, extra, order, targets, costs, alpha, size, t, scale, shares, values):  # type: ignore[no-untyped-def]
    """Visit the examples ``order``; return the number of support vectors and the number of the next step.

    k, extra : layouts of the training points, and of budget + 1 support vectors
    alpha : (budget + 1,), changed in place
    shares : the table merging_shares() to merge support vectors; an empty table to remove them
    values : (budget + 1,) buffer for kernel values
    """
    none = np.empty(0, np.int64)
    for i in order:
        score = 0.0
        if size:
            row_between(k, i, leading(extra, size), none, values)
            for p in range(size):
                score += alpha[p] * values[p]
        if scale * targets[i] * score < max(1, t - 1):
            combine(extra, size, k, i, k, i, 1.0)
            alpha[size] = targets[i] * costs[i]
            size += 1
            if size == alpha.size:
                size = shrink(extra, alpha, size, shares, values)
        t += 1
    return size, t


@inner
def shrink(extra, alpha, size, shares, values):  # type: ignore[no-untyped-def]
    """Remove the support vector with the smallest weight, or merge it with one of its class; return the new size."""
    least: Any = np.int64(0)  # a literal 0 would compile what is called with it once more
    for p in range(1, size):
        if abs(alpha[p]) < abs(alpha[least]):
            least = p
    removed, best = least, np.inf
    if shares.size:
        row_between(extra, least, leading(extra, size), np.empty(0, np.int64), values)
        for q in range(size):
            if q != least and alpha[q] * alpha[least] > 0.0:
                a, b, value = alpha[least], alpha[q], values[q]
                weight = merged_weight(a, b, value, interpolated(shares, abs(a) / (abs(a) + abs(b)), value))
                loss = a**2 + b**2 + 2.0 * a * b * value - weight**2
                if loss < best:
                    removed, best = q, loss
    if removed != least:
        share, alpha[least] = merge(alpha[least], alpha[removed], values[removed])
        combine(extra, least, extra, least, extra, removed, share)
    last = size - 1
    combine(extra, removed, extra, last, extra, last, 1.0)
    alpha[removed], alpha[last] = alpha[last], 0.0
    return last


@compiled
def merge(a, b, value):  # type: ignore[no-untyped-def]
    """Return h and the weight of z = h x + (1 - h) y with the best approximation of a k(x, .) + b k(y, .).

    value : k(x, y). h maximises |a| k(x, z) + |b| k(y, z), where k(x, z) = value^((1 - h)^2) and k(y, z) = value^(h^2) for the
        RBF kernel
    """
    low, high = 0.0, 1.0
    for _ in range(_SECTIONS):
        width = _GOLDEN * (high - low)
        left, right = high - width, low + width
        if abs(merged_weight(a, b, value, left)) < abs(merged_weight(a, b, value, right)):
            low = left
        else:
            high = right
    h = 0.5 * (low + high)
    return h, merged_weight(a, b, value, h)


@inner
def merged_weight(a, b, value, h):  # type: ignore[no-untyped-def]
    """Return a k(x, z) + b k(y, z)."""
    log = np.log(max(value, 1e-300))
    return a * np.exp(log * (1.0 - h) ** 2) + b * np.exp(log * h**2)


@compiled
def merging_shares(cells):  # type: ignore[no-untyped-def]
    """Return h of merge() for |a| / (|a| + |b|) = i / cells and k(x, y) = j / cells, (cells + 1, cells + 1)."""
    shares = np.empty((cells + 1, cells + 1))
    for i in range(cells + 1):
        for j in range(cells + 1):
            shares[i, j] = merge(i / cells, 1.0 - i / cells, j / cells)[0]
    return shares


@inner
def interpolated(shares, part, value):  # type: ignore[no-untyped-def]
    """Return h by bilinear interpolation in the table, as golden section for every pair would take most of the time."""
    cells = len(shares) - 1
    i, j = min(int(part * cells), cells - 1), min(int(value * cells), cells - 1)
    u, v = part * cells - i, value * cells - j
    low = (1.0 - v) * shares[i, j] + v * shares[i, j + 1]
    return (1.0 - u) * low + u * ((1.0 - v) * shares[i + 1, j] + v * shares[i + 1, j + 1])
