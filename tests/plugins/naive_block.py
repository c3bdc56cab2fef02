"""The compiled loops of block SMO as plain Python, one entry at a time: their slow, obvious twins."""

import itertools

import numpy as np

TINY = 1e-12
FLAT = 1e-6


def slopes(g, tube, a, lower, upper):
    """Return the slope for a variable that rises, -inf if it may not, and for one that falls, inf if it may not."""
    rise = g - tube if a >= 0 else g + tube
    fall = g - tube if a > 0 else g + tube
    return rise if a < upper else -np.inf, fall if a > lower else np.inf


def naive_pairs(kernel, diagonal, a, lower, upper, gradient, cut, tau, limit, tube):
    """Return the variables after second-order SMO on a block, the gradient there, and the steps taken."""
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


def naive_joint(kernel, diagonal, a, lower, upper, gradient, tau, limit, tube):
    """Return the variables after ascent on two of a block at a time, the gradient there, and the steps taken."""
    kernel, a, g, w = np.asarray(kernel, dtype=np.float64), a.copy(), gradient.astype(np.float64), len(a)
    for steps in range(limit):
        sides = np.array([slopes(0.0, tube[k], a[k], lower[k], upper[k]) for k in range(w)])  # what a tube adds to g
        up, down = (g + sides[:, 0]).max(), -(g + sides[:, 1]).min()
        if max(up, down) <= tau:
            return a, g, steps
        i = int(np.argmax(g + sides[:, 0]) if up >= down else np.argmin(g + sides[:, 1]))
        first = g[i] + sides[i, 0 if up >= down else 1]
        left = g - first * kernel[i] / diagonal[i]
        drive = np.maximum(0.0, np.maximum(left + sides[:, 0], -(left + sides[:, 1])))
        gains = drive**2 / np.maximum(diagonal - kernel[i] ** 2 / diagonal[i], FLAT * diagonal[i])
        j = int(np.argmax(gains)) if gains.max() > 0 else i
        pair, rises = ([i], [up >= down]) if j == i else ([i, j], [up >= down, left[j] > 0.0])
        positive = [a[k] > 0.0 or (a[k] == 0.0 and r) for k, r in zip(pair, rises, strict=True)]
        low = [0.0 if tube[k] and p else lower[k] for k, p in zip(pair, positive, strict=True)]
        top = [0.0 if tube[k] and not p else upper[k] for k, p in zip(pair, positive, strict=True)]
        slope = [g[k] + (-tube[k] if p else tube[k]) for k, p in zip(pair, positive, strict=True)]
        step = naive_box(kernel[np.ix_(pair, pair)], np.array(slope), low - a[pair], top - a[pair])
        a[pair] = np.clip(a[pair] + step, low, top)
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
