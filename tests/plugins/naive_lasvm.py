"""LASVM as its paper prints it, over a full kernel matrix: the obvious twin of the compiled solver.

Not printed: while S has ``many`` members, one of a pair keeps its place and the other is the member that gains most
to second order.

After a direction search that no bound limits, g_i = g_j in exact arithmetic: which of the two is the next
extreme is decided by rounding. So a step of the twin has several outcomes, one for each choice among equals,
and a solver is right if it takes one of them.
"""

from __future__ import annotations

import copy
import math

import numpy as np

TIE = 1e-9
SINGLE = 1e-5  # relative: the solver compares gains in float32


class NaiveLASVM:
    """S is a set; alpha and g are vectors over all examples, g meaningful within S only."""

    def __init__(self, kernel, targets, upper, tau=1e-3, many=None):
        self.K = np.asarray(kernel, dtype=np.float64)
        self.y = np.asarray(targets, dtype=np.float64)
        self.A = np.minimum(0.0, upper * self.y)
        self.B = np.maximum(0.0, upper * self.y)
        self.tau, self.many = tau, math.inf if many is None else many
        self.S = set()
        self.alpha = np.zeros(len(self.y))
        self.g = np.zeros(len(self.y))

    def copy(self):
        other = copy.copy(self)
        other.S, other.alpha, other.g = set(self.S), self.alpha.copy(), self.g.copy()
        return other

    def seed(self, order):
        for label in (1, -1):
            for k in [k for k in order if self.y[k] == label][:5]:
                self.S.add(k)
                self.g[k] = self.y[k]

    def maximal(self):
        """The i of steps 1 and 3: all of them that are equal."""
        able = [s for s in self.S if self.alpha[s] < self.B[s]]
        best = max((self.g[s] for s in able), default=-math.inf)
        return best, [s for s in able if self.g[s] >= best - TIE]

    def minimal(self):
        able = [s for s in self.S if self.alpha[s] > self.A[s]]
        best = min((self.g[s] for s in able), default=math.inf)
        return best, [s for s in able if self.g[s] <= best + TIE]

    def partners(self, k, rising):
        """The members with which k, whose alpha rises or falls, gains most to second order: all of them that are equal."""
        able = [s for s in self.S if (self.alpha[s] > self.A[s] if rising else self.alpha[s] < self.B[s])]
        apart = {s: (self.g[k] - self.g[s]) * (1 if rising else -1) for s in able}
        gains = {
            s: each**2 / max(self.K[k, k] + self.K[s, s] - 2 * self.K[k, s], 1e-6)
            for s, each in apart.items()
            if each > 0.0
        }
        best = max(gains.values(), default=math.inf)
        return [s for s, gain in gains.items() if gain >= best * (1 - SINGLE)]

    def second_order(self, pairs, fixed=None):
        """Exchange one of each pair, never ``fixed``, for the best partner of the other."""
        chosen = []
        for i, j in pairs:
            if fixed != j:
                chosen += [(i, other) for other in self.partners(i, rising=True)]
            if fixed != i:
                chosen += [(other, j) for other in self.partners(j, rising=False)]
        return chosen

    def search(self, i, j):
        """Return the state after the direction search along (i, j)."""
        new = self.copy()
        curvature = max(self.K[i, i] + self.K[j, j] - 2 * self.K[i, j], 1e-12)
        room_i, room_j = self.B[i] - self.alpha[i], self.alpha[j] - self.A[j]
        step = min((self.g[i] - self.g[j]) / curvature, room_i, room_j)
        new.alpha[i] = self.B[i] if step == room_i else self.alpha[i] + step
        new.alpha[j] = self.A[j] if step == room_j else self.alpha[j] - step
        for s in self.S:
            new.g[s] -= step * (self.K[i, s] - self.K[j, s])
        return new

    def process(self, k):
        """Return the possible states after PROCESS(k)."""
        if k in self.S:
            return [self]
        g_max, g_min = self.maximal()[0], self.minimal()[0]
        new = self.copy()
        new.alpha[k] = 0.0
        new.g[k] = self.y[k] - sum(self.alpha[s] * self.K[k, s] for s in self.S)
        new.S.add(k)
        pairs = [(k, j) for j in new.minimal()[1]] if self.y[k] > 0 else [(i, k) for i in new.maximal()[1]]
        pairs = [(i, j) for i, j in pairs if new.g[i] - new.g[j] > self.tau]
        if not pairs:
            # not printed: step 4 of REPROCESS for k itself
            blatant = new.g[k] <= min(g_min, g_max) if self.y[k] > 0 else new.g[k] >= max(g_min, g_max)
            if blatant:
                new.S.discard(k)
            return [new]
        if len(self.S) >= self.many:
            pairs = new.second_order(pairs, fixed=k)
        return [new.search(i, j) for i, j in pairs]

    def reprocess(self):
        """Return the possible states after REPROCESS; none if it bails out."""
        pairs = [(i, j) for i in self.maximal()[1] for j in self.minimal()[1]]
        pairs = [(i, j) for i, j in pairs if i != j and self.g[i] - self.g[j] > self.tau]
        if len(self.S) >= self.many:
            pairs = self.second_order(pairs)
        states = []
        for i, j in pairs:
            new = self.search(i, j)
            g_max, g_min = new.maximal()[0], new.minimal()[0]
            for s in [s for s in new.S if new.alpha[s] == 0.0]:
                if (self.y[s] < 0 and new.g[s] >= g_max) or (self.y[s] > 0 and new.g[s] <= g_min):
                    new.S.discard(s)
            states.append(new)
        return states

    def visit(self, k):
        """Return the possible states after PROCESS(k) and one REPROCESS."""
        return [after for processed in self.process(k) for after in (processed.reprocess() or [processed])]

    def finished(self):
        """Return the state after REPROCESS until no tau-violating pair is left, the first choice among equals."""
        state = self
        while states := state.reprocess():
            state = states[0]
        return state

    def intercept(self):
        return (self.maximal()[0] + self.minimal()[0]) / 2
