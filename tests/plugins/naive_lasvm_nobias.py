"""LASVM-G, -NC, -I and the Full SVM with the corrected pseudo-code, over a full kernel matrix: the obvious twin.

Of members whose violations are equal, as those of the seeds are at first, the one that came first is taken.
"""

from __future__ import annotations

import math

import numpy as np


class NaiveNoBias:
    """S is a list in the order of entering; alpha, g and the bounds A, B are vectors over all examples.

    rule : 'hinge', 'ramp' (beta = C below s) or 'ignore' (skip outside [s, 1])
    """

    def __init__(
        self, kernel, targets, upper, price, *, rule="hinge", s=-1.0, tau=1e-3, clean_every=0, max_inactive=0, group=1
    ):
        self.K = np.asarray(kernel, dtype=np.float64)
        self.y = np.asarray(targets, dtype=np.float64)
        self.C = np.asarray(upper, dtype=np.float64)
        self.price, self.rule, self.s, self.tau = price, rule, s, tau
        self.clean_every, self.max_inactive, self.visited, self.group = clean_every, max_inactive, 0, group
        n = len(self.y)
        self.alpha, self.g, self.A, self.B = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n)
        self.S = []
        self.skipped = self.reversed = self.steps = 0

    def enter(self, k, beta=0.0):
        self.S.append(k)
        self.alpha[k] = 0.0
        self.g[k] = self.y[k] - sum(self.alpha[s] * self.K[k, s] for s in self.S)
        self.A[k] = min(0.0, self.C[k] * self.y[k]) - beta * self.y[k]
        self.B[k] = max(0.0, self.C[k] * self.y[k]) - beta * self.y[k]

    def seed(self, order):
        first = [k for label in (1, -1) for k in [k for k in order if self.y[k] == label][:5]]
        for k in [k for k in order if k in first]:
            self.enter(k)

    def gap(self):
        total = 0.0
        for s in self.S:
            total += max(self.A[s] * self.g[s], self.B[s] * self.g[s]) - self.alpha[s] * self.g[s]
        return total

    def target(self):
        h = [(self.A[s] + self.B[s]) * self.g[s] for s in self.S if self.alpha[s] != 0.0]
        if not h:
            return 0.0
        return math.sqrt(max(0.0, sum(v * v for v in h) - sum(h) ** 2 / len(h)))

    def search(self, i):
        if self.g[i] < 0:
            step = max(self.A[i] - self.alpha[i], self.g[i] / max(self.K[i, i], 1e-12))
        else:
            step = min(self.B[i] - self.alpha[i], self.g[i] / max(self.K[i, i], 1e-12))
        if step == self.B[i] - self.alpha[i]:
            self.alpha[i] = self.B[i]
        elif step == self.A[i] - self.alpha[i]:
            self.alpha[i] = self.A[i]
        else:
            self.alpha[i] += step
        for s in self.S:
            self.g[s] -= step * self.K[i, s]

    def violation(self, s):
        return max(
            self.g[s] if self.alpha[s] < self.B[s] else -math.inf,
            -self.g[s] if self.alpha[s] > self.A[s] else -math.inf,
        )

    def worst(self, members):
        """The member with the largest violation, and that."""
        violation, chosen = 0.0, None
        for s in members:
            if self.violation(s) > violation:
                violation, chosen = self.violation(s), s
        return violation, chosen

    def reprocess(self):
        """Return False if no member violates."""
        violation, chosen = self.worst(self.S)
        if violation <= self.tau:
            self.steps += 1
            return False
        if self.group == 1:
            self.steps += 1
            self.search(chosen)
            return True
        rising = sorted([s for s in self.S if self.alpha[s] < self.B[s]], key=lambda s: -self.g[s])
        falling = sorted([s for s in self.S if self.alpha[s] > self.A[s]], key=lambda s: self.g[s])
        group = set(rising[: self.group // 2]) | set(falling[: self.group // 2])
        group = [s for s in self.S if s in group]
        first, _ = self.worst(group)
        for _ in range(10 * len(group)):
            violation, chosen = self.worst(group)
            if violation <= max(self.tau, 0.1 * first):
                break
            self.steps += 1
            self.search(chosen)
            first = max(first, self.worst(group)[0])
        return True

    def visit(self, k):
        """One online iteration: the threshold, PROCESS, REPROCESS, and CLEAN if it is due."""
        self.steps += 1
        taken = True
        z = self.y[k] * sum(self.alpha[s] * self.K[k, s] for s in self.S)
        if k not in self.S and self.rule == "ignore" and (z > 1 or z < self.s):
            self.skipped += 1
            taken = False
        else:
            self.threshold = max(self.price, self.target())
        if taken:
            if k not in self.S:
                outlier = self.rule == "ramp" and z < self.s
                self.reversed += outlier
                self.enter(k, self.C[k] if outlier else 0.0)
            self.search(k)
            while self.gap() > self.threshold and self.reprocess():
                pass
        self.visited += 1
        if self.clean_every and self.visited % self.clean_every == 0:
            self.clean(self.max_inactive)

    def clean(self, allowed):
        idle = [s for s in self.S if self.alpha[s] == 0.0]
        idle.sort(key=lambda s: self.g[s] if self.B[s] > 0 else -self.g[s])
        for s in idle[: max(0, len(idle) - allowed)]:
            self.S.remove(s)

    def finished(self):
        while self.reprocess():
            pass
