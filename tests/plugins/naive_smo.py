"""SMO as printed: full kernel matrix, plain numpy, no cache, no shrinking. The twin of the compiled loops."""

import numpy as np


def naive_smo(kernel, diagonal, form, scores, *, tau, steps=100_000):
    """Return the signed coefficients after each step of the dual form and, at the end, the intercept.

    diagonal, scores : of the kernel, and K coef at the start, as the solver has them: their rounding decides between
        variables that are equally good
    """
    a, point, history = form.start.copy(), np.arange(len(form.start)) % form.n, []
    g = np.array([form.linear[v] - scores[point[v]] for v in range(len(a))])
    for _ in range(steps):
        if form.groups == 0:
            may_move = np.flatnonzero(((g > 0) & (a < form.upper)) | ((g < 0) & (a > form.lower)))
            if len(may_move) == 0 or np.abs(g[may_move]).max() <= tau:
                return history, 0.0
            score = g * g / diagonal[point]
            i = may_move[np.argmax(score[may_move])]
            target = min(max(a[i] + g[i] / diagonal[point[i]], form.lower[i]), form.upper[i])
            g = g - (target - a[i]) * kernel[point[i], point]
            a[i] = target
            history.append(form.coef(a))
            continue
        pairs = []
        for k in range(form.groups):
            rise = np.flatnonzero((form.group == k) & (a < form.upper))
            fall = np.flatnonzero((form.group == k) & (a > form.lower))
            pairs.append((rise[np.argmax(g[rise])], fall[np.argmin(g[fall])], fall))
        i, j, fall = max(pairs, key=lambda pair: g[pair[0]] - g[pair[1]])
        if g[i] - g[j] <= tau:
            return history, np.mean([0.5 * (g[first] + g[second]) for first, second, _ in pairs])
        partners = fall[g[fall] < g[i]]
        gains = [(g[i] - g[p]) ** 2 / _curvature(kernel, diagonal, point[i], point[p]) for p in partners]
        j = partners[np.argmax(gains)]
        step = min(
            (g[i] - g[j]) / _curvature(kernel, diagonal, point[i], point[j]), form.upper[i] - a[i], a[j] - form.lower[j]
        )
        at_top, at_bottom = step == form.upper[i] - a[i], step == a[j] - form.lower[j]
        a[i] = form.upper[i] if at_top else a[i] + step
        a[j] = form.lower[j] if at_bottom else a[j] - step
        g = g - step * (kernel[point[i], point] - kernel[point[j], point])
        history.append(form.coef(a))
    raise AssertionError(f"no convergence in {steps} steps")


def _curvature(kernel, diagonal, p, q):
    return max(diagonal[p] + diagonal[q] - 2.0 * kernel[p, q], 1e-12)
