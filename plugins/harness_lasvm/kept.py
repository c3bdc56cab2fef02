"""The scores of all points, kept while one example after another is learned.

A query of q candidates costs q |S| kernel values. Where that is more than n, the row of each new example over all points
costs less: it serves its own PROCESS, and brings the scores of all points up to date whenever its coefficient changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from harness import KernelOracle
    from harness.arrays import Array, Vector
    from harness_lasvm.compiled.state import Candidates
    from harness_lasvm.expansion import Expansion

_FULL = 0.9  # of the rows that memory holds: with more members, their rows would be computed again and again


class KeptScores:
    """K coef at all points, (n,) float64, with kernel rows over all points as far as memory goes.

    Parameters
    ----------
    kernel : of the learner's dtype; the rows take its ``cache_mb`` at most, beside what S holds
    """

    def __init__(self, kernel: KernelOracle) -> None:
        self._rows = kernel.buffer()
        self._coef, self._scores = np.zeros((2, kernel.n))

    @staticmethod
    def holds(kernel: KernelOracle, members: int) -> bool:
        """Return whether memory holds the rows of so many members of S."""
        return bool(members < _FULL * kernel.cache_mb * 2**20 / (kernel.n * kernel.dtype.itemsize))

    def scores(self, examples: Array, coef: Vector) -> Vector:
        """Return K coef at ``examples``, (m,); n kernel values for each coefficient that changed and has no row here."""
        change: Any = coef - self._coef
        changed, rows = np.flatnonzero(change), self._rows
        for start in range(0, len(changed), rows.capacity):
            points = changed[start : start + rows.capacity]
            rows.clock += 1
            rows.fetch(points)
            rows.add(self._scores, points, change[points])
        self._coef[changed] = coef[changed]
        return np.asarray(self._scores[examples])

    def candidates(self, expansion: Expansion, examples: Array) -> Candidates | None:
        """Return ``examples``, none of them members, with the kernel values of their rows; None if memory is too small."""
        rows = self._rows
        if len(examples) > rows.capacity:
            return None
        expansion.make_room(len(examples))
        rows.clock += 1
        rows.fetch(examples)
        places = rows.slot_of[examples]
        # a hole's value is read and never used: alpha is 0 there
        standing = np.maximum(expansion.members.slots["member"][: int(expansion.now["top"])], 0)
        values, among = (rows.rows[places[:, None], points] for points in (standing, examples))
        return expansion.offered(examples, np.arange(len(examples)), values, among)
