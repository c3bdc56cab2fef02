"""Algorithm 1 of Kumar & Yildirim line by line, on an explicit kernel matrix: slow, and easy to believe."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass
class NaiveStep:
    """One iterate: its number, u and v in the order of the data, and the step that led to it."""

    k: int
    u: np.ndarray
    v: np.ndarray
    epsilon_plus: float
    epsilon_minus: float
    kind: str = ""
    step: float = 0.0


def naive_frank_wolfe(matrix, targets, epsilon, iterations, away=True):
    """Return the iterates 0 .. ``iterations`` or to the end; ``away`` False: no away steps, epsilon_+ alone."""
    p, q = np.flatnonzero(targets > 0), np.flatnonzero(targets < 0)
    kpp, kpq, kqq = matrix[np.ix_(p, p)], matrix[np.ix_(p, q)], matrix[np.ix_(q, q)]
    u, v = np.zeros(len(p)), np.zeros(len(q))
    j_star = np.argmin(kpp[0, 0] - 2 * kpq[0] + np.diag(kqq))  # line 2
    i_star = np.argmin(np.diag(kpp) - 2 * kpq[:, j_star] + kqq[j_star, j_star])  # line 3
    u[i_star] = v[j_star] = 1.0
    steps = []
    kind, step = "", 0.0
    for k in range(iterations + 1):
        on_p, on_q = kpp @ u - kpq @ v, kpq.T @ u - kqq @ v  # <w, p_i>, <w, q_j>
        norm = u @ on_p - v @ on_q
        i_near, j_near = int(np.argmin(on_p)), int(np.argmax(on_q))  # lines 28, 29
        i_far = int(np.argmax(np.where(u > 0, on_p, -np.inf)))
        j_far = int(np.argmin(np.where(v > 0, on_q, np.inf)))
        toward, apart = on_p[i_near] - on_q[j_near], on_p[i_far] - on_q[j_far]
        plus, minus = 1 - toward / norm, apart / norm - 1 if away else 0.0  # line 31
        steps.append(NaiveStep(k, u.copy(), v.copy(), plus, minus, kind, step))
        if max(plus, minus) <= epsilon:
            break
        i, j = (i_near, j_near) if max(plus, minus) > minus else (i_far, j_far)
        vertex_norm = kpp[i, i] - 2 * kpq[i, j] + kqq[j, j]
        if max(plus, minus) > minus:  # lines 15-18
            kind, step = "add", min(1.0, (norm - toward) / (norm - 2 * toward + vertex_norm))
            u, v = (1 - step) * u, (1 - step) * v
            u[i] += step
            v[j] += step
        else:  # lines 21-24
            bound = min(x / (1 - x) if x < 1 else np.inf for x in (u[i], v[j]))
            step = min(bound, (apart - norm) / (vertex_norm - 2 * apart + norm))
            kind = "drop" if step == bound else "decrease"
            gone_p = step == bound and u[i] < 1 and u[i] / (1 - u[i]) == bound
            gone_q = step == bound and v[j] < 1 and v[j] / (1 - v[j]) == bound
            u, v = (1 + step) * u, (1 + step) * v
            u[i], v[j] = 0.0 if gone_p else u[i] - step, 0.0 if gone_q else v[j] - step
    return steps
