"""The compiled loops of block SMO as plain Python, one entry at a time: their slow, obvious twins."""

import numpy as np

TINY = 1e-12
PAD = 0.0, 0.0, -np.inf, np.inf, 0.0, 0.0


def slopes(g, tube, a, lower, upper):
    """Return the slope for a variable that rises, -inf if it may not, and for one that falls, inf if it may not."""
    rise = g - tube if a >= 0 else g + tube
    fall = g - tube if a > 0 else g + tube
    return rise if a < upper else -np.inf, fall if a > lower else np.inf


def naive_pairs(kernel, diagonal, a, lower, upper, gradient, cut, tau, limit, tube):
    """Return the variables after second-order SMO on a block, the gradient there, and the steps taken.

    Where no sum is fixed (``cut`` -1), a point without kernel values takes what the others lose.
    """
    if cut < 0:
        padded = [
            np.append(v, extra) for v, extra in zip((diagonal, a, lower, upper, gradient, tube), PAD, strict=True)
        ]
        diagonal, a, lower, upper, gradient, tube = padded
        a, g, steps = naive_pairs(np.pad(kernel, (0, 1)), diagonal, a, lower, upper, gradient, len(a), tau, limit, tube)
        return a[:-1], g[:-1], steps
    kernel, diagonal = np.asarray(kernel, dtype=np.float64), np.asarray(diagonal, dtype=np.float64)
    a, g, w, m = a.copy(), gradient.astype(np.float64), len(a), len(kernel)
    groups = [range(cut), range(cut, w)]
    for steps in range(limit):
        worst, pair = tau, None
        rise, fall = np.transpose([slopes(g[k], tube[k], a[k], lower[k], upper[k]) for k in range(w)])
        for group in groups:
            if not len(group):
                continue
            i = max(group, key=lambda k: rise[k])
            if rise[i] - min(fall[k] for k in group) > worst:
                worst = rise[i] - min(fall[k] for k in group)
                j = max(
                    (k for k in group if fall[k] < rise[i]),
                    key=lambda k: (rise[i] - fall[k]) ** 2 / curvature(kernel, diagonal, i % m, k % m),
                )
                pair = i, j
        if pair is None:
            return a, g, steps
        i, j = pair
        top = 0.0 if a[i] < 0.0 < tube[i] else upper[i]
        bottom = 0.0 if a[j] > 0.0 and tube[j] > 0.0 else lower[j]
        step = min((rise[i] - fall[j]) / curvature(kernel, diagonal, i % m, j % m), top - a[i], a[j] - bottom)
        a[i] = top if step == top - a[i] else a[i] + step
        a[j] = bottom if step == a[j] - bottom else a[j] - step
        change = step * (kernel[i % m] - kernel[j % m])
        g = g - np.tile(change, w // m)
    return a, g, limit


def curvature(kernel, diagonal, i, j):
    """Return |phi_i - phi_j|^2, at least ``TINY``."""
    return max(diagonal[i] + diagonal[j] - 2.0 * kernel[i, j], TINY)


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
