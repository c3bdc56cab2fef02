"""The scores of all points, kept: a query adds the kernel rows of the few coefficients that have changed.

Not the paper's, which computes every distance anew at each query. The rows are kept as far as the memory for kernel
rows goes, those not used for longest make way; they are computed for all n points, so that a row serves for good.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from harness import KernelOracle, Learner
    from harness.arrays import Vector


class KeptScores:
    """K coef at all points, (n,) float64, for the coefficients that ``learner`` had when it was last asked."""

    def __init__(self, kernel: KernelOracle, learner: Learner) -> None:
        self._learner = learner
        self._rows = kernel.astype(np.float32).buffer()
        self._coef, self._scores = np.zeros((2, kernel.n))

    def scores(self, indices: Any) -> Vector:
        """Return f of the points ``indices``, (m,)."""
        now = self._learner.iterate()
        assert now.dual_coef is not None
        change = now.dual_coef - self._coef
        changed = np.flatnonzero(change)
        rows = self._rows
        for start in range(0, len(changed), rows.capacity):
            points = changed[start : start + rows.capacity]
            rows.clock += 1
            rows.fetch(points)
            rows.add(self._scores, points, change[points])
        self._coef[changed] = now.dual_coef[changed]
        return np.asarray(self._scores[indices]) + now.intercept
