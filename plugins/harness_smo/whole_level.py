"""Rounds over all active points at once, whose kernel matrix is computed once and kept: for some thousand points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from harness_smo.block_level import CONVERGED, MOVED, STALLED, Level

if TYPE_CHECKING:
    from harness.arrays import Block, Index, Vector

import os
FIRST=float(os.environ.get('FIRST','1'))
BURST=float(os.environ.get('BURST','3'))
SHARE = .1
SMALL = .7

class WholeLevel(Level):
    """The active points with their whole kernel matrix; a round is some steps of SMO, then the free variables' face."""

    matrix: Block | None = None
    bursts: int = 0
    factors = 0

    def stage(self):
        self.bursts=0

    def round(self, tau: float) -> int:
        from harness_smo import block_loops

        rise, fall = self.directions()
        if self.violation <= tau:
            return CONVERGED
        if self.matrix is None:
            self._compute_matrix()
        chosen, cut = self._chosen(rise, fall)
        whole = len(chosen) == len(self.a)
        points = chosen % self.m if self.copies > 1 else chosen
        if whole and self.copies == 1 and self.groups < 2:
            block, diagonal = self.matrix, self.diagonal
        else:
            block, diagonal = self.cache.block(points), self.diagonal[points]
        before, gradient = self.a[chosen], self.linear[chosen] - self.scores[points]
        a = before.copy()
        inner = max(0.5 * tau, SHARE * self.violation if not whole else 0.0)
        limit = int((FIRST if self.bursts == 0 else BURST) * len(chosen))
        self.bursts += 1
        work = block_loops.WorkingSet(block, diagonal, a, self.lower[chosen], self.upper[chosen], gradient)
        steps = (
            block_loops.joint_descent(work, inner, limit)
            if not self.groups
            else block_loops.pair_descent(work, cut, inner, limit)
        )
        self.steps += steps
        self.rounds += 1
        changed = np.flatnonzero(a != before)
        if len(changed):
            self.a[chosen] = a
            self._update(chosen[changed], (a - before)[changed])
        elif steps < limit:
            return STALLED
        if steps >= limit and self.bursts > 1:
            self._face(tau)
        return MOVED

    def _compute_matrix(self) -> None:
        """Have all rows in the cache, each at the place of its point."""
        everyone = np.arange(self.m)
        fetched = self.cache.fetched
        self.cache = type(self.cache)(self.cache.kernel, self.cache.memory)
        self.cache.fetched = fetched
        self.cache.compute(everyone, self.cache.reserve(everyone))
        self.matrix = self.cache.rows[: self.m]

    def compute_scores(self, coef: Vector) -> None:
        self._compute_matrix()
        where = self.where
        self.scores[:] = self.matrix @ coef[where]
        rest = coef.copy()
        rest[where] = 0.0
        others = np.flatnonzero(rest)
        if len(others):
            both = np.union1d(where, others)
            self.scores += self.whole.restrict(both).expand(rest[both], np.searchsorted(both, where))

    def _update(self, variables: Index, change: Vector) -> None:
        from harness.kernels.compiled import add_rows
        points: Index = variables
        if self.copies > 1:
            points, inverse = np.unique(variables % self.m, return_inverse=True)
            change = np.bincount(inverse, weights=change).astype(np.float64)
        self.cache.hit(len(points))
        add_rows(self.scores, self.matrix, points, change, 0, self.m)

    def _chosen(self, rise: Vector, fall: Vector) -> tuple[Index, int]:
        everyone = np.arange(len(self.a))
        if self.bursts:
            ups, lows = np.array(self.ends).T
            ups, lows = (ups, lows) if self.groups else (np.zeros(1), np.zeros(1))
            near = self.free | (rise >= lows[self.group]) | (fall <= ups[self.group])
            if np.count_nonzero(near) < SMALL * len(near):
                everyone = np.flatnonzero(near)
        if self.groups < 2:
            return everyone, len(everyone)
        second = self.group[everyone] == 1
        return np.concatenate([everyone[~second], everyone[second]]), int(np.count_nonzero(~second))

    def _face(self, tau: float) -> None:
        """Minimise over the face of all free variables, and update the scores."""
        from harness_smo.face import Face, descend
        self.directions()
        if self.violation <= tau:
            return
        free = np.flatnonzero(self.free)
        if len(free) < 2: return
        points = free % self.m
        kernel = self.matrix[np.ix_(points, points)].astype(np.float64)
        sums = np.zeros((len(free), self.groups))
        for k in range(self.groups):
            sums[self.group[free] == k, k] = 1.0
        before = self.a[free]
        gradient = self.linear[free] - self.scores[points]
        face = Face(kernel, before.copy(), self.lower[free], self.upper[free], gradient, sums, self.matrix.itemsize)
        self.factors += descend(face, tau)
        changed = np.flatnonzero(face.a != before)
        if len(changed):
            self.a[free] = face.a
            self._update(free[changed], (face.a - before)[changed])
