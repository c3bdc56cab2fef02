"""The level of some thousand points: their kernel matrix is computed once; SMO and Newton steps take turns over it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from harness_smo.block_level import CONVERGED, MOVED, STALLED, Level

if TYPE_CHECKING:
    from harness.arrays import Block, Index, Vector

_PAUSE = 20_000_000  # steps times variables between two iterates: some milliseconds
_LESS = 0.9  # of the violation: what a face must leave at most where no step of SMO moves anything
_PARTS = 0.5  # of the variables squared: room for the blocks of parts


class WholeLevel(Level):
    """The active points with their whole kernel matrix; see :class:`Level`.

    Attributes
    ----------
    matrix : (m, m), in the cache's memory; there when ``has_matrix``
    faces : times that the free variables' face was minimised over since the bounds are as they are
    """

    matrix: Block
    missing: Any = None  # (m,) whose rows have a place that they are not computed into yet; None: no row has a place

    def carry(self, before: WholeLevel, stay: Index) -> None:
        """Take over what the matrix of other points in the same memory has: the first of these points are those of ``stay``.

        before : its matrix is overwritten
        stay : (k,) where the points stood in it, ascending
        """
        old, rows, k = before.matrix, self.cache.rows, len(stay)
        packed = rows.reshape(-1)[: k * k].reshape(k, k)
        for t in range(k):  # place t of the packed rows ends before place t + 1 of the old ones begins
            packed[t] = old[stay[t]].take(stay)
        for t in range(k - 1, -1, -1):
            rows[t, :k] = packed[t].copy()
        everyone = np.arange(self.m)
        if k < self.m:
            rows[:k, k:] = self.cache.kernel.block(everyone[:k], everyone[k:])
        self._lay_out(k)
        self._prepare()

    def _lay_out(self, known: int = 0) -> None:
        """Give each row the place of its point in the cache; the first ``known`` lie there."""
        fetched = self.cache.fetched
        self.cache = type(self.cache)(self.cache.kernel, self.cache.memory)
        self.cache.reserve(np.arange(self.m))
        self.cache.fetched = fetched
        self.missing = np.arange(self.m) >= known

    def _fetch(self, points: Index) -> None:
        self.cache.compute(points, points)
        self.missing[points] = False

    def _prepare(self) -> None:
        """Compute the rows that are missing: now the matrix is there."""
        if self.missing is None:
            self._lay_out()
        self._fetch(np.flatnonzero(self.missing))
        self.matrix, self.has_matrix = self.cache.rows[: self.m], True
        self.begun, self.spent = np.zeros(1, dtype=np.bool_), np.zeros(2)
        self.parts = np.empty(int(_PARTS * len(self.a) ** 2), dtype=self.matrix.dtype)

    def round(self, tau: float) -> int:
        """Work until no pair violates by tau, or for some milliseconds; return CONVERGED, MOVED or STALLED."""
        from harness_smo import whole_loops

        self.directions()
        if self.violation <= tau:
            return CONVERGED
        if not self.has_matrix:
            self._prepare()
        whole = whole_loops.Whole(
            self.matrix, self.diagonal, self.a, self.scores, self.lower, self.upper, self.linear, self.group
        )
        limit = max(100, _PAUSE // len(self.a))
        turn = whole_loops.Turn(self.begun, self.spent, self.parts)
        outcome, steps, rounds = whole_loops.descend_whole(whole, turn, self.groups, tau, self.patience, limit)
        self.steps += steps
        self.rounds += rounds
        self.cache.hit(int(self.spent[1]))
        self.spent[1] = 0.0
        if outcome == whole_loops.DEAR:
            self._face(tau)
        elif outcome == whole_loops.STUCK and rounds <= 1:
            before = self.violation
            if not np.isfinite(self.patience) or not self._face(tau):
                return STALLED
            self.directions()
            return MOVED if self.violation < _LESS * before else STALLED
        return MOVED

    def compute_scores(self, coef: Vector) -> None:
        """Compute the scores afresh from the coefficients of all points, (n,), and keep the support vectors' rows.

        The other rows are computed by the next round: often none is needed.
        """
        own = coef[self.where]
        support = np.flatnonzero(own)
        self._lay_out()
        self._fetch(support)
        self.scores[:] = own[support] @ self.cache.rows[support]
        self._add_others(coef, self.where)

    @property
    def in_part(self) -> bool:
        return self.missing is not None and not self.has_matrix

    def _face(self, tau: float) -> bool:
        """Minimise over the face of all free variables, and update the scores; return whether anything moved."""
        from harness.jit import add_rows
        from harness_smo import face, whole_loops

        self.spent[0] = 0.0
        self.faces += 1
        free = np.flatnonzero(self.free)
        points = free % self.m
        before: Any = self.a[free]
        system = face.Face(
            whole_loops.picked(self.matrix, points),
            before.copy(),
            self.lower[free],
            self.upper[free],
            self.linear[free] - self.scores[points],
            (self.group[free][:, None] == np.arange(self.groups)).astype(np.float64),
        )
        face.descend(system, tau)
        changed = np.flatnonzero(system.a != before)
        self.a[free] = system.a
        add_rows(self.scores, self.matrix, points[changed], (system.a - before)[changed], 0, self.m)
        self.cache.hit(len(changed))
        return len(changed) > 0
