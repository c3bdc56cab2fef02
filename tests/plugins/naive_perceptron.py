"""The perceptrons of JMLR 6 (2005), section 2.2, as printed, over a full kernel matrix: twins of the compiled solvers.

Every sum is taken afresh. With kernel values that are small integers all of them are exact, and so is every decision.
"""

from __future__ import annotations

import numpy as np


def score(K, alpha, t):
    return sum(alpha[i] * K[t][i] for i in np.flatnonzero(alpha))


def kernel_perceptron(K, y, order):
    """Return alpha after each iteration, [len(order)][n]."""
    alpha = np.zeros(len(y))
    rules = []
    for t in order:
        if y[t] * score(K, alpha, t) <= 0:
            alpha[t] += y[t]
        rules.append(alpha.copy())
    return rules


def averaged_perceptron(K, y, order):
    """Return the mean of the kernel perceptron's rules so far, after each iteration."""
    rules = np.array(kernel_perceptron(K, y, order))
    return [rules[: t + 1].sum(axis=0) / (t + 1) for t in range(len(rules))]


def budget_perceptron(K, y, order, beta, N):
    """Return alpha after each iteration; among equals the member that stands first leaves, the newcomer last."""
    alpha = np.zeros(len(y))
    S = []
    rules = []
    for t in order:
        if y[t] * score(K, alpha, t) <= beta:
            alpha[t] += y[t]
            if t not in S:
                S.append(t)
            if len(S) > N:
                leaves = max(S, key=lambda i: y[i] * (score(K, alpha, i) - alpha[i] * K[i][i]))
                alpha[leaves] = 0.0
                S[S.index(leaves)] = S[-1]  # the newcomer takes the place that is free
                S.pop()
        rules.append(alpha.copy())
    return rules
