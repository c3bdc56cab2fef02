"""The compiled loops of block SMO as plain Python, one entry at a time: their slow, obvious twins."""

import numpy as np

TINY = 1e-12


def naive_pairs(kernel, diagonal, a, lower, upper, gradient, cut, tau, limit):
    """Return the variables after second-order SMO on a block, the gradient there, and the steps taken."""
    kernel, diagonal = np.asarray(kernel, dtype=np.float64), np.asarray(diagonal, dtype=np.float64)
    a, g, w = a.copy(), gradient.astype(np.float64), len(a)
    groups = [range(cut), range(cut, w)]
    for steps in range(limit):
        worst, pair = tau, None
        for group in groups:
            rise, fall = [k for k in group if a[k] < upper[k]], [k for k in group if a[k] > lower[k]]
            if not rise or not fall:
                continue
            i = max(rise, key=lambda k: g[k])
            if g[i] - min(g[k] for k in fall) > worst:
                worst = g[i] - min(g[k] for k in fall)
                j = max(
                    (k for k in fall if g[k] < g[i]),
                    key=lambda k: (g[i] - g[k]) ** 2 / curvature(kernel, diagonal, i, k),
                )
                pair = i, j
        if pair is None:
            return a, g, steps
        i, j = pair
        step = min((g[i] - g[j]) / curvature(kernel, diagonal, i, j), upper[i] - a[i], a[j] - lower[j])
        a[i] = upper[i] if step == upper[i] - a[i] else a[i] + step
        a[j] = lower[j] if step == a[j] - lower[j] else a[j] - step
        g = g - step * (kernel[i] - kernel[j])
    return a, g, limit


def curvature(kernel, diagonal, i, j):
    """Return |phi_i - phi_j|^2, at least ``TINY``."""
    return max(diagonal[i] + diagonal[j] - 2.0 * kernel[i, j], TINY)


def naive_singles(kernel, diagonal, a, lower, upper, gradient, tau, limit):
    """Return the variables after coordinate ascent on a block, the gradient there, and the steps taken."""
    a, g = a.copy(), gradient.astype(np.float64)
    for steps in range(limit):
        movable = [k for k in range(len(a)) if (g[k] > 0 and a[k] < upper[k]) or (g[k] < 0 and a[k] > lower[k])]
        if not movable or max(abs(g[k]) for k in movable) <= tau:
            return a, g, steps
        i = max(movable, key=lambda k: g[k] ** 2 / max(diagonal[k], TINY))
        target = min(max(a[i] + g[i] / max(diagonal[i], TINY), lower[i]), upper[i])
        g = g - (target - a[i]) * np.asarray(kernel[i], dtype=np.float64)
        a[i] = target
    return a, g, limit


def naive_violation(a, lower, upper, gradient, cut):
    """Return the largest g that may rise less the smallest that may fall, over both groups; 0 if none violates."""
    worst = 0.0
    for group in (range(cut), range(cut, len(a))):
        rise = [gradient[k] for k in group if a[k] < upper[k]]
        fall = [gradient[k] for k in group if a[k] > lower[k]]
        if rise and fall:
            worst = max(worst, max(rise) - min(fall))
    return worst


def naive_directions(a, lower, upper, linear, scores, group, groups):
    """Return the gradient where a variable may rise and where it may fall, and the ends of each group."""
    gradient = [linear[v] - scores[v % len(scores)] for v in range(len(a))]
    rise = [g if a[v] < upper[v] else -np.inf for v, g in enumerate(gradient)]
    fall = [g if a[v] > lower[v] else np.inf for v, g in enumerate(gradient)]
    if groups == 0:
        return rise, fall, [(max(0.0, *rise), min(0.0, *fall))]
    ends = []
    for k in range(groups):
        members = [v for v in range(len(a)) if group[v] == k]
        ends.append((max((rise[v] for v in members), default=-np.inf), min((fall[v] for v in members), default=np.inf)))
    return rise, fall, ends


def naive_add(scores, rows, slots, coef, start, stop):
    """Return scores + sum_p coef[p] rows[slots[p]] in columns [start, stop), the others as they are."""
    out = scores.copy()
    for k in range(start, stop):
        for slot, c in zip(slots, coef, strict=True):
            out[k] += c * float(rows[slot, k])
    return out
