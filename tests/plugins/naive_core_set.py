"""Slow, obvious twins of the core-set solvers: pair descent on a matrix, and rounds with an exact optimum."""

from __future__ import annotations

import warnings

import numpy as np


def naive_descent(matrix, weights, side, caps, tolerance, steps):
    """Return the weights after each step of second-order pair descent on the signed ``matrix``, scores from scratch."""
    weights = np.array(weights, dtype=float)
    history = [weights.copy()]
    caps = np.asarray(caps, dtype=float)[side]
    for _ in range(steps):
        scores = matrix @ weights
        widest, total, pair = 0.0, 0.0, None
        for group in np.unique(side):
            up = [k for k in range(len(weights)) if side[k] == group and weights[k] < caps[k]]
            low = [k for k in range(len(weights)) if side[k] == group and weights[k] > 0]
            if not up or not low:
                continue
            near = min(up, key=lambda k: scores[k])
            violation = max(scores[k] for k in low) - scores[near]
            total += max(0.0, violation)
            if violation > widest:
                widest, pair = violation, (near, low)
        if pair is None or total <= tolerance * (weights @ scores):
            break
        near, low = pair

        def curvature(k, near=near):
            return matrix[near, near] + matrix[k, k] - 2 * matrix[near, k]

        rivals = [k for k in low if scores[k] > scores[near]]
        far = max(rivals, key=lambda k: (scores[k] - scores[near]) ** 2 / curvature(k))
        step = min((scores[far] - scores[near]) / curvature(far), weights[far], caps[near] - weights[near])
        weights[near] += step
        weights[far] -= step
        history.append(weights.copy())
    return history


def exact_weights(matrix, side, caps):
    """Return the optimal weights over the (reduced) hulls of all points of the signed ``matrix``, by interior point."""
    import cvxpy as cp

    values, vectors = np.linalg.eigh(matrix)
    root = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    x, scale = None, float(np.sqrt(values.max()))
    for _ in range(2):  # the second time with a margin of 1, so that the solver's accuracy is relative
        t = cp.Variable(len(side), nonneg=True)
        limits = [cp.sum(t[side == group]) == 1 for group in np.unique(side)]
        limits += [t <= np.asarray(caps, dtype=float)[side]]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # 'may be inaccurate': the tests' tolerances judge
            cp.Problem(cp.Minimize(cp.sum_squares((root / scale) @ t)), limits).solve(solver=cp.CLARABEL)
        x = np.maximum(t.value, 0.0)
        scale = float(np.sqrt(x @ matrix @ x))
    return x


def naive_rounds(matrix, side, epsilon, rounds, drop=True):
    """Return (core set, |w|) after each round in which the point of each class farthest down w enters; whole hulls.

    Starts with the pair of lines 1-11 of Kumar & Yildirim; with ``drop`` points of weight 0 leave after every round.
    """
    groups = np.unique(side)
    p, q = np.flatnonzero(side == groups[0]), np.flatnonzero(side == groups[-1])
    distance = np.diag(matrix)[:, None] + np.diag(matrix)[None, :] + 2 * matrix
    j = q[np.argmin(distance[p[0], q])]
    core = [p[np.argmin(distance[p, j])], j]
    history = []
    for _ in range(rounds + 1):
        chosen = np.array(core)
        weights = exact_weights(matrix[np.ix_(chosen, chosen)], side[chosen], [1.0, 1.0])
        core = [i for i, weight in zip(core, weights, strict=True) if weight > 1e-7 or not drop]
        scores = matrix[:, chosen] @ weights
        norm = weights @ scores[chosen]
        history.append((sorted(core), np.sqrt(norm)))
        near = [np.flatnonzero(side == group)[np.argmin(scores[side == group])] for group in groups]
        if 1 - sum(scores[near]) / norm <= epsilon:
            break
        for new, group in zip(near, groups, strict=True):
            level = min(scores[i] for i in chosen if side[i] == group)
            if new not in core and scores[new] < level - 1e-9:
                core.append(new)
    return history


def enclosing_ball(points):
    """Return radius and centre of the smallest ball around ``points``, (count, d), whose centre ends with a 0."""
    import cvxpy as cp

    centre, radius = cp.Variable(points.shape[1]), cp.Variable()
    inside = [cp.norm(point - centre) <= radius for point in points]
    cp.Problem(cp.Minimize(radius), [*inside, centre[-1] == 0]).solve(solver=cp.CLARABEL)
    return float(radius.value), centre.value
