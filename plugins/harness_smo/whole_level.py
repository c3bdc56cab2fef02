"""The level of some thousand points: their kernel matrix is computed once, and SMO and Newton steps take turns over it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from harness_smo.block_level import CONVERGED, MOVED, STALLED, Level

if TYPE_CHECKING:
    from harness.arrays import Block, Vector

_PAUSE = 20_000_000  # steps times variables between two iterates: some milliseconds


class WholeLevel(Level):
    """The active points with their whole kernel matrix; see :class:`Level`."""

    matrix: Block | None = None
    faces = 0

    def begin(self) -> None:
        """Take note that the bounds have changed."""
        self.told[0] = self.told[0] and 1

    def _prepare(self) -> None:
        """Have all rows in the cache, each at the place of its point."""
        everyone, fetched = np.arange(self.m), self.cache.fetched
        self.cache = type(self.cache)(self.cache.kernel, self.cache.memory)
        self.cache.compute(everyone, self.cache.reserve(everyone))
        self.cache.fetched += fetched
        self.matrix = self.cache.rows[: self.m]
        self.told, self.spent = np.zeros(2, dtype=np.int64), np.zeros(1)
        self.block_scratch = np.empty(int(0.5 * len(self.a) ** 2), dtype=self.matrix.dtype)

    def round(self, tau: float) -> int:
        """Work until no pair violates by tau, or for some milliseconds; return CONVERGED, MOVED or STALLED."""
        from harness_smo import whole_loops

        self.directions()
        if self.violation <= tau:
            return CONVERGED
        if self.matrix is None:
            self._prepare()
        x = whole_loops.Whole(
            self.matrix, self.diagonal, self.a, self.scores, self.lower, self.upper, self.linear, self.group
        )
        limit = max(100, _PAUSE // len(self.a))
        why, steps, rounds, violation = whole_loops.descend_whole(
            x, self.groups, tau, self.told, self.spent, self.block_scratch, limit
        )
        self.steps += steps
        self.rounds += rounds
        if TRACE: print(f'   m {self.m} steps {steps} rounds {rounds} why {why} viol {violation:.3g} tau {tau:.2g}', flush=True)
        if why in (whole_loops.UNEVEN, whole_loops.STUCK):
            moved = self._face(tau)
            if why == whole_loops.STUCK and rounds == 1 and not moved:
                return STALLED
        return MOVED

    def compute_scores(self, coef: Vector) -> None:
        self._prepare()
        where = self.where
        self.scores[:] = self.matrix @ coef[where]
        rest = coef.copy()
        rest[where] = 0.0
        others = np.flatnonzero(rest)
        if len(others):
            both = np.union1d(where, others)
            self.scores += self.whole.restrict(both).expand(rest[both], np.searchsorted(both, where))

    def _face(self, tau: float) -> bool:
        """Minimise over the face of all free variables, and update the scores."""
        from harness.kernels.compiled import add_rows
        from harness_smo.face import Face, descend

        self.spent[:] = 0.0
        self.faces += 1
        free = np.flatnonzero(self.free)
        points = free % self.m
        kernel = self.matrix[np.ix_(points, points)].astype(np.float64)
        sums = (self.group[free][:, None] == np.arange(self.groups)).astype(np.float64)
        before = self.a[free]
        gradient = self.linear[free] - self.scores[points]
        face = Face(
            kernel, before.copy(), self.lower[free], self.upper[free], gradient, sums, self.matrix.itemsize
        )
        t0=time.perf_counter()
        k = descend(face, tau)
        if TRACE: print('    face',len(free),'factors',k,'ms',(time.perf_counter()-t0)*1e3)
        changed = np.flatnonzero(face.a != before)
        self.a[free] = face.a
        add_rows(self.scores, self.matrix, points[changed], (face.a - before)[changed], 0, self.m)
        return len(changed) > 0
import os,time
TRACE=int(os.environ.get('TRACE','0'))
