"""The loops over a whole kernel matrix as plain numpy: SMO over all variables, and which of them matter now."""

import numpy as np

TINY = 1e-12


def naive_descent(x, groups, tau, limit=100_000):
    """Return the variables after second-order SMO over all of them at once, and the steps taken."""
    kernel, a, m = x.matrix.astype(np.float64), x.a.copy(), len(x.scores)
    point, g = np.arange(len(a)) % m, x.linear - np.tile(x.scores, len(x.a) // m)
    diagonal = np.diagonal(kernel)[point]
    for steps in range(limit):
        rise, fall = np.where(a < x.upper, g, -np.inf), np.where(a > x.lower, g, np.inf)
        if groups == 0:
            i = int(np.argmax(np.maximum(rise, -fall)))
            if max(rise[i], -fall[i]) <= tau:
                return a, steps
            new = np.clip(a[i] + g[i] / diagonal[i], x.lower[i], x.upper[i])
            g -= (new - a[i]) * kernel[point[i], point]
            a[i] = new
            continue
        own = [x.group == k for k in range(groups)]
        k = max(range(groups), key=lambda k: rise[own[k]].max(initial=-np.inf) - fall[own[k]].min(initial=np.inf))
        rise, fall = np.where(own[k], rise, -np.inf), np.where(own[k], fall, np.inf)
        i = int(np.argmax(rise))
        if not rise[i] - fall.min() > tau:
            return a, steps
        curvature = np.maximum(diagonal[i] + diagonal - 2.0 * kernel[point[i], point], TINY)
        j = int(np.argmax(np.where(fall < rise[i], rise[i] - fall, 0.0) ** 2 / curvature))
        step = min((g[i] - g[j]) / curvature[j], x.upper[i] - a[i], a[j] - x.lower[j])
        a[i] = x.upper[i] if step == x.upper[i] - a[i] else a[i] + step
        a[j] = x.lower[j] if step == a[j] - x.lower[j] else a[j] - step
        g -= step * (kernel[point[i], point] - kernel[point[j], point])
    raise AssertionError(f"no convergence in {limit} steps")
