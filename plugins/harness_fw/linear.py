"""The linear kernel: w is kept itself, and every iteration computes all scores in one pass over the points.

The rules, the support and the stop are those of descent.py; so are the iterates, up to rounding. An iteration costs n
kernel evaluations and reads the points once, however many support vectors there are; no kernel row is kept, and scores
that are computed afresh do not drift.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from harness_fw import linear_hot as hot
from harness_fw import state as names
from harness_fw.descent import Descent, Source

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness import KernelOracle
    from harness.arrays import Index, Vector

_YIELD_VALUES = 4_000_000  # features read after which the caller gets a word in
_MANY = 4000  # points from which a pass takes longer than calling it
_VISITED = 0.25  # of the points are vertices of a run on l2-svc again and again
_TIMES = 4  # so many points as a hull's point needs are vertices of a run without a ridge
_SHORT = 8  # features of a point, on average, that are read as fast as kept scores are changed by two rows


class Points:
    """Signed scores of combinations of points, in the solver's order; takes the place of kernel rows.

    Attributes
    ----------
    parts : (G, d) u_g, whose sum is w
    raw : (n,) what the last pass over the points gave, in the order of the data
    computed : passes so far
    """

    def __init__(self, kernel: KernelOracle, order: Index, signs: Vector, hulls: int) -> None:
        features = kernel.features()
        if features is None:
            raise ValueError(f"the kernel '{kernel.kernel.name}' has no explicit w; 'linear' has.")
        self.features, self.order, self.signs = features, order, signs
        self.parts: Vector = np.zeros((hulls, features.d))
        self.raw: Vector = np.empty(features.n)
        self.computed = 0

    def combine(self, points: Index, weights: Vector, out: Vector) -> Vector:
        """Return sum_r weights_r s x of ``points``, (d,), in ``out``."""
        out[:] = 0.0
        return self.features.add(self.order[points], self.signs[points] * weights, out)

    def pass_over(self, w: Vector) -> Vector:
        """Return <w, x_i> in the order of the data: ``raw``."""
        self.computed += 1
        return self.features.scores(w, self.raw)

    def combination(self, points: Index, weights: Vector, *, keep: bool = False) -> Vector:
        """Return what the rows of ``points`` sum to with ``weights``, (n,), the points all different; one pass."""
        w = self.combine(points, weights, np.empty(self.features.d))
        scores = self.signs * self.pass_over(w)[self.order]
        scores[points] += self.features.ridge * weights
        return scores

    def ahead(self, points: Index, weights: Vector) -> Iterator[None]:
        """As of :class:`Rows`: a pass needs nothing that takes a pause to prepare."""
        return iter(())

    def vectors(self, points: Index) -> Vector:
        """Return the signed features of ``points``, (q, d)."""
        return self.features.rows(self.order[points]) * self.signs[points, None]


class LinearDescent(Descent):
    """One run on w itself; the arguments are those of :class:`Descent`, of which ``cache_mb`` has no effect."""

    keeps_parts: ClassVar[bool] = False

    def _source(self) -> Source:
        self.points = Points(self.kernel, self.order, self._signs, len(self.hulls))
        return self.points

    def _from_scratch(self, *, keep: bool = True) -> float:
        points, state = self.points, self.state
        before = state.scores.copy()
        for g in range(len(self.hulls)):
            points.combine(*self._support(g), points.parts[g])
        raw = points.pass_over(points.parts.sum(axis=0))
        hot.take_scores(state, raw, points.order, points.signs, points.parts, points.features.ridge)
        state.figures[names.NORM] = state.mean.sum()
        return float(np.abs(state.scores - before).max())

    def _run(self, until: int) -> int:
        points, state = self.points, self.state
        ridge = points.features.ridge
        until = min(until, self.taken + max(1, _YIELD_VALUES // max(1, points.features.stored)))
        while True:
            verdict = int(hot.select(state, self.rule, self.level, self.floor))
            if verdict != names.STEPS or self.taken >= until:
                return verdict
            vectors = points.vectors(state.wanted[: state.counts[names.WANTED]])
            if not hot.step(state, self.rule, self.caps[0], vectors, points.parts, ridge):
                return names.STALLED
            raw = points.pass_over(points.parts.sum(axis=0))
            hot.settle(state, raw, points.order, points.signs, points.parts, ridge)


def keeps_w(kernel: KernelOracle, wanted: bool | None, cache_mb: float) -> bool:
    """Return whether to keep w: as ``wanted``, or where that is quicker if None.

    A pass costs less than a row that is computed, and several times as much as a row that ``cache_mb`` still holds. So
    the rows of most points that a run comes back to must fit: a share of all points with the ridge of l2-svc; without
    it a few times d + 1, of which so many make up any point of a hull (Caratheodory).
    """
    if wanted is not None or not kernel.is_linear:
        return bool(wanted)
    features = kernel.features()
    assert features is not None
    visited = _VISITED * features.n
    if kernel.ridge == 0.0:
        visited = min(visited, _TIMES * (features.d + 1))
    fit = cache_mb * 2**20 / (8 * features.n)
    return features.n >= _MANY and (fit < visited or features.stored <= _SHORT * features.n)
