"""The compiled loops of block SMO as plain Python, one entry at a time: their slow, obvious twins."""

import itertools

import numpy as np

TINY = 1e-12
FLAT = 1e-6


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


def naive_joint(kernel, diagonal, a, lower, upper, gradient, tau, limit):
    """Return the variables after ascent on two of a block at a time, the gradient there, and the steps taken."""
    kernel, a, g = np.asarray(kernel, dtype=np.float64), a.copy(), gradient.astype(np.float64)
    for steps in range(limit):
        rising = {k: g[k] for k in range(len(a)) if a[k] < upper[k]}
        falling = {k: -g[k] for k in range(len(a)) if a[k] > lower[k]}
        up, down = max(rising.values(), default=-np.inf), max(falling.values(), default=-np.inf)
        if max(up, down) <= tau:
            return a, g, steps
        i = max(rising, key=rising.get) if up >= down else max(falling, key=falling.get)
        gains = np.zeros(len(a))
        for k in range(len(a)):
            left = g[k] - g[i] * kernel[i, k] / diagonal[i]
            if (left > 0 and k in rising) or (left < 0 and k in falling):
                gains[k] = left**2 / max(diagonal[k] - kernel[i, k] ** 2 / diagonal[i], FLAT * diagonal[i])
        j = int(np.argmax(gains)) if gains.max() > 0 else i
        pair = [i] if j == i else [i, j]
        step = naive_box(kernel[np.ix_(pair, pair)], g[pair], lower[pair] - a[pair], upper[pair] - a[pair])
        a[pair] = np.clip(a[pair] + step, lower[pair], upper[pair])
        g = g - step @ kernel[pair]
    return a, g, limit


def naive_box(kernel, g, low, high):
    """Return the d in a box that maximises g d - 1/2 d K d: the best of all ways to fix some of d at a bound."""
    best, found = 0.0, np.zeros(len(g))
    for sides in itertools.product(("free", "low", "high"), repeat=len(g)):
        free = [k for k, side in enumerate(sides) if side == "free"]
        d = np.array([{"free": 0.0, "low": low[k], "high": high[k]}[side] for k, side in enumerate(sides)])
        if not np.isfinite(d).all():
            continue
        if free:
            d[free] = np.linalg.lstsq(kernel[np.ix_(free, free)], g[free] - kernel[free] @ d, rcond=1e-12)[0]
        if (d >= low - 1e-12).all() and (d <= high + 1e-12).all() and g @ d - 0.5 * d @ kernel @ d > best:
            best, found = g @ d - 0.5 * d @ kernel @ d, d
    return found


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
