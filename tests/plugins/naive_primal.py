"""Kernel Pegasos and budgeted SGD written out, over points and a full kernel matrix: twins of the compiled solvers.

Every sum is taken afresh; w is shrunk at each step, as the papers print it.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar


def pegasos(K, y, costs, order, C):
    """Return the coefficients of w after each step of kernel Pegasos, [len(order)][n]."""
    n, coef, models = len(y), np.zeros(len(y)), []
    penalty = 1.0 / (n * C)
    for t, i in enumerate(order, start=1):
        violates = y[i] * sum(coef[j] * K[j, i] for j in np.flatnonzero(coef)) < 1.0
        coef = (1.0 - 1.0 / t) * coef
        if violates:
            coef[i] += y[i] * costs[i] / (penalty * t)
        models.append(coef)
    return models


def merged(a, x, b, z, gamma):
    """Return the point between x and z, and its weight, that are nearest to a k(x, .) + b k(z, .)."""
    k = np.exp(-gamma * np.sum((x - z) ** 2))

    def weight(h):
        return a * k ** ((1.0 - h) ** 2) + b * k ** (h**2)

    grid = np.linspace(0.0, 1.0, 201)
    h = grid[np.argmax([abs(weight(h)) for h in grid])]
    found = minimize_scalar(
        lambda h: -abs(weight(h)), bounds=(max(0.0, h - 0.01), min(1.0, h + 0.01)), method="bounded"
    )
    h = found.x
    return h * x + (1.0 - h) * z, weight(h), a * a + b * b + 2.0 * a * b * k - weight(h) ** 2


def budgeted(x, y, costs, order, C, budget, gamma, *, merging):
    """Return (points, coefficients) after each step of budgeted SGD."""
    n, points, coef, models = len(y), [], [], []
    penalty = 1.0 / (n * C)
    for t, i in enumerate(order, start=1):
        score = sum(c * np.exp(-gamma * np.sum((p - x[i]) ** 2)) for p, c in zip(points, coef, strict=True))
        coef = [(1.0 - 1.0 / t) * c for c in coef]
        if y[i] * score < 1.0:
            points, coef = [*points, x[i]], [*coef, y[i] * costs[i] / (penalty * t)]
        if len(points) > budget:
            least = int(np.argmin(np.abs(coef)))
            others = [q for q in range(len(points)) if q != least and coef[q] * coef[least] > 0.0] if merging else []
            if others:
                tried = {q: merged(coef[least], points[least], coef[q], points[q], gamma) for q in others}
                gone = min(others, key=lambda q: tried[q][2])
                points[least], coef[least], _ = tried[gone]
            else:
                gone = least
            points[gone], coef[gone] = points[-1], coef[-1]
            points.pop(), coef.pop()
        models.append((np.array(points), np.array(coef)))
    return models
