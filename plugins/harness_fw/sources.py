"""Signed kernel rows of a run in memory, and the scores of combinations of points from them."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness import KernelOracle, RowCache
from harness.support.arrays import Index, Vector
from harness_fw import hot, rules

_FETCH_VALUES = 2_000_000  # kernel values computed at a time


def signed_rows(kernel: KernelOracle, order: Index, signs: Vector) -> RowCache:
    """Return a buffer of rows in the solver's order, signed; at least as many as a step is about."""

    def compute(points: Any, rows: Any, slots: Any, _after: Any) -> None:
        for point, slot, values in zip(points, slots, kernel.block(order[points]), strict=True):
            hot.put_row(rows[slot], values, order, signs, signs[point])

    return kernel.row_cache(least=rules.MOST, compute=compute)


class Rows:
    """Rows of a run's state, computed when a step needs them; a row that has its place is never computed again.

    Rows of support vectors make way last: an iteration then computes at most one row for each point that enters the
    support, as long as there is memory for the rows of the support.

    order : (n,) the data's number of each of the solver's points
    signs : (n,) s of each of the solver's points
    """

    def __init__(self, buffer: RowCache, order: Index, signs: Vector, state: rules.State) -> None:
        self.buffer, self.order, self.signs, self.state = buffer, order, signs, state
        self.passing = 0  # rows computed for a sum and not stored
        self.at_a_time = max(1, min(self.buffer.capacity, _FETCH_VALUES // len(order)))

    @property
    def computed(self) -> int:
        """Number of rows computed, stored or not."""
        return self.buffer.fetched + self.passing

    def count(self) -> None:
        """Have the rows counted that the compiled loop has read."""
        self.buffer.read(int(self.state.counts[rules.READ]))
        self.state.counts[rules.READ] = 0

    def fetch(self, points: Index) -> None:
        """Bring the rows of ``points``, all different and no more than places, into the buffer."""
        self.buffer.clock = int(self.state.counts[rules.TAKEN])
        self.buffer.fetch(points, last=lambda: self.state.position >= 0)

    def combination(self, points: Index, weights: Vector, *, keep: bool) -> Vector:
        """Return sum_r weights_r row_{points_r}, (n,), all points different.

        Kernel evaluations only for rows that are not in the buffer, which they enter if ``keep``.
        """
        total: Vector = np.zeros(len(self.order))
        there = self.buffer.slot_of[points] >= 0
        self.buffer.add(total, points[there], weights[there])
        missing, rest = points[~there], weights[~there]
        for start in range(0, len(missing) if keep else 0, self.at_a_time):
            part = missing[start : start + self.at_a_time]
            self.fetch(part)
            self.buffer.read(len(part))
            self.buffer.add_part(total, self.buffer.slot_of[part], rest[start : start + self.at_a_time], 0, len(total))
        if len(missing) and not keep:
            self.passing += len(missing)
            signed, coef = np.empty(len(total)), np.zeros(len(total))
            coef[self.order[missing]] = rest * self.signs[missing]
            hot.put_row(signed, self.buffer.kernel.expand(coef), self.order, self.signs, 1.0)
            total += signed
        return total


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
        assert features is not None, "a linear kernel has them"
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

    def combination(self, points: Index, weights: Vector, *, keep: bool) -> Vector:
        """Return what the rows of ``points`` sum to with ``weights``, (n,), the points all different; one pass."""
        w = self.combine(points, weights, np.empty(self.features.d))
        scores: Vector = self.signs * self.pass_over(w)[self.order]
        scores[points] += self.features.ridge * weights
        return scores

    def vectors(self, points: Index) -> Vector:
        """Return the signed features of ``points``, (q, d)."""
        return self.features.rows(self.order[points]) * self.signs[points, None]
