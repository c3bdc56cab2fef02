"""fw, gilbert and fw-pairwise on reduced hulls: the vertices are composed of many points.

The vertex to go to is the greedy sum of the extreme points. The vertex to leave is the farthest one of the smallest
face that w's points lie in: weights at the cap stay there, weights of zero too (Garber & Meshi 2016, see
hulls.py); a step away from it, or from it to the other vertex, is as long as the caps allow. The row of a vertex
is stored and changed by the rows of the points that differ from the last vertex's.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.support.arrays import Index, Vector
from harness_fw import rules
from harness_fw.descent import Descent
from harness_fw.hulls import extreme, face_extreme

_ROUNDING = 1e-14  # nearer to 0 or to its cap than this part of it, a weight that a step changed belongs there


class _Vertex:
    """A vertex as weights of all points, (n,), and its signed row, (n,)."""

    def __init__(self, source: Any, n: int) -> None:
        self.source = source
        self.weights: Vector = np.zeros(n)
        self.row: Vector = np.zeros(n)

    def move(self, weights: Vector) -> None:
        """Become the vertex of ``weights``, by the shorter way: the changes, or all of it."""
        changed, used = np.flatnonzero(weights != self.weights), np.flatnonzero(weights)
        if len(changed) < len(used):
            change = self.source.combination(changed, weights[changed] - self.weights[changed], keep=True)
            self.row += change
        elif len(changed):
            self.row = self.source.combination(used, weights[used], keep=True)
        self.weights = weights


class ComposedDescent(Descent):
    """A run of FW, GILBERT or PAIRWISE on two reduced hulls with stored scores, and the weights of all points: ``u``."""

    def _begin(self, start: Vector | None) -> None:
        """Note the cap of each point's weight, and begin as the solvers without composed vertices do."""
        self.u: Vector = np.zeros(len(self.order))
        self.upper: Vector = np.repeat(self.caps, np.diff(self.state.begin))
        super()._begin(start)

    def _put(self, g: int, points: Index, weights: Vector) -> None:
        self.u[slice(*self.hulls[g])] = 0.0
        self.u[points] = weights

    def _support(self, g: int) -> tuple[Index, Vector]:
        points = self.hulls[g][0] + np.flatnonzero(self.u[slice(*self.hulls[g])])
        return points, self.u[points]

    def _from_scratch(self, *, keep: bool) -> None:
        super()._from_scratch(keep=keep)
        self.near_vertex, self.far_vertex = (_Vertex(self.source, len(self.u)) for _ in range(2))

    def _run(self, until: int, limit: float = np.inf) -> int:
        """Do what the compiled loop does; return why it stopped."""
        while True:
            near, far = self._vertices()
            reason = self._measure(near, far)
            if reason != rules.STEPS or self.taken >= until or self.source.computed >= limit:
                return reason
            if not self._step(near, far):
                return rules.STALLED

    def _reached(self) -> bool:
        return True

    @property
    def epsilons(self) -> tuple[float, float]:
        return float(self.state.figures[rules.PLUS]), float(self.state.figures[rules.MINUS])

    def _vertices(self) -> tuple[Vector, Vector]:
        """Weights of the vertex to go to and of the one to leave, (n,) each."""
        near, far = np.zeros(len(self.order)), np.zeros(len(self.order))
        for g, (begin, end) in enumerate(self.hulls):
            points, weights = extreme(self.state.scores[begin:end], self.caps[g])
            near[begin + points] = weights
            if self.rule != rules.GILBERT:
                support, now = self._support(g)
                places, weights = face_extreme(-self.state.scores[support], now, self.caps[g])
                far[support[places]] = weights
        return near, far

    def _measure(self, near: Vector, far: Vector) -> int:
        """As ``rules.measure``, of composed vertices."""
        figures, scores = self.state.figures, self.state.scores
        figures[rules.NORM] = self.u @ scores
        ends, limits = (float(near @ scores), float(far @ scores)), (self.epsilon, self.shape.floor)
        return int(rules.judge.py_func(figures, self.state.counts, self.rule, *ends, self.working_set, *limits))

    def _step(self, near: Vector, far: Vector) -> bool:
        """Move u and the scores along the rule's direction by exact line search; False if there is no step."""
        state, u, figures = self.state, self.u, self.state.figures
        leave = self.rule == rules.FW and not figures[rules.PLUS] > figures[rules.MINUS]
        if self.rule == rules.PAIRWISE:
            self.near_vertex.move(near)
            self.far_vertex.move(far)
            direction, change = near - far, self.near_vertex.row - self.far_vertex.row
        elif leave:
            self.far_vertex.move(far)
            direction, change = u - far, state.scores - self.far_vertex.row
        else:
            self.near_vertex.move(near)
            direction, change = near - u, self.near_vertex.row - state.scores
        slope, length = -float(state.scores @ direction), float(change @ direction)
        moved, room = direction != 0.0, 1.0
        if leave or self.rule == rules.PAIRWISE:  # as far as the caps allow
            bound = np.where(direction > 0.0, self.upper, 0.0)
            room = float(((bound - u)[moved] / direction[moved]).min(initial=np.inf))
        step = slope / length if length > 0.0 else np.inf
        full = step >= room
        step = min(step, room)
        if not 0.0 < step < np.inf:
            return False
        u += step * direction
        u[moved & (u <= _ROUNDING * self.upper)] = 0.0
        at_cap = moved & (u >= self.upper * (1.0 - _ROUNDING))
        u[at_cap] = self.upper[at_cap]
        np.add(state.scores, step * change, out=state.scores)
        if self.rule == rules.PAIRWISE:
            kind = rules.SWAP if full else rules.PAIR
        else:
            kind = (rules.DROP if full else rules.DECREASE) if leave else rules.ADD
        rules.note.py_func(state.counts, kind)
        return True
