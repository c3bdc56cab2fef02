"""SMO as printed: full kernel matrix, plain numpy, no cache, no shrinking. The twin of the compiled loops."""

import numpy as np


def naive_smo(kernel, y, upper, *, tau, selection, has_bias=True, steps=100_000):
    """Return the coefficients after each step and, at the end, the middle of the interval of b."""
    low, high = np.minimum(0.0, upper * y), np.maximum(0.0, upper * y)
    coef, g, history = np.zeros(len(y)), y.astype(float).copy(), []
    diagonal = np.diagonal(kernel)
    for _ in range(steps):
        rise, fall = np.flatnonzero(coef < high), np.flatnonzero(coef > low)
        if not has_bias:
            may_move = np.flatnonzero(((g > 0) & (coef < high)) | ((g < 0) & (coef > low)))
            if len(may_move) == 0 or np.abs(g[may_move]).max() <= tau:
                return history, 0.0
            score = np.abs(g) if selection == "first" else g * g / diagonal
            i = may_move[np.argmax(score[may_move])]
            target = min(max(coef[i] + g[i] / diagonal[i], low[i]), high[i])
            g = g - (target - coef[i]) * kernel[i]
            coef[i] = target
            history.append(coef.copy())
            continue
        i, j = rise[np.argmax(g[rise])], fall[np.argmin(g[fall])]
        if g[i] - g[j] <= tau:
            return history, 0.5 * (g[i] + g[j])
        if selection == "second":
            partners = fall[g[fall] < g[i]]
            curvature = np.maximum(diagonal[i] + diagonal[partners] - 2.0 * kernel[i, partners], 1e-12)
            j = partners[np.argmax((g[i] - g[partners]) ** 2 / curvature)]
        curvature = max(diagonal[i] + diagonal[j] - 2.0 * kernel[i, j], 1e-12)
        step = min((g[i] - g[j]) / curvature, high[i] - coef[i], coef[j] - low[j])
        at_high, at_low = step == high[i] - coef[i], step == coef[j] - low[j]
        coef[i] = high[i] if at_high else coef[i] + step
        coef[j] = low[j] if at_low else coef[j] - step
        g = g - step * (kernel[i] - kernel[j])
        history.append(coef.copy())
    raise AssertionError(f"no convergence in {steps} steps")
