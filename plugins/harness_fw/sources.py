"""Where a run's scores come from: signed kernel rows in memory, or passes over the points of a linear kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from harness import KernelOracle, RowCache
from harness.support.arrays import Index, Vector
from harness_fw import hot, rules

YIELD_VALUES = 4_000_000  # kernel evaluations, or features read by passes over the points, between two yields
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

    Attributes
    ----------
    at_most : what may be computed between two yields, about, in the unit of ``computed``
    """

    def __init__(self, buffer: RowCache, order: Index, signs: Vector, state: rules.State) -> None:
        self.buffer, self.order, self.signs, self.state = buffer, order, signs, state
        self.passing = 0  # rows computed for a sum and not stored
        self.at_a_time = max(1, min(self.buffer.capacity, _FETCH_VALUES // len(order)))
        self.at_most = max(2, YIELD_VALUES // len(order))

    @property
    def computed(self) -> int:
        """Number of rows computed, stored or not."""
        return self.buffer.fetched + self.passing

    def count(self) -> None:
        """Have the rows counted that the compiled loop has read."""
        self.buffer.read(int(self.state.counts[rules.READ]))
        self.state.counts[rules.READ] = 0

    def supply(self) -> None:
        """Fetch the rows of the chosen points, with which the loop goes on."""
        self._fetch(self.state.chosen[: self.state.counts[rules.CHOSEN]])

    def _fetch(self, points: Index) -> None:
        """Bring the rows of ``points``, all different and no more than places, into the buffer."""
        self.buffer.clock = int(self.state.counts[rules.TAKEN])
        self.buffer.fetch(points, last=lambda: self.state.position >= 0)

    def rescore(self, supports: Sequence[tuple[Index, Vector]], *, keep: bool) -> None:
        """Set the scores from each hull's support and its weights; rows that are computed stay in memory if ``keep``."""
        parts = [self.combination(*support, keep=keep) for support in supports]
        self.state.scores[:] = sum(parts[1:], start=parts[0])
        if self.state.parts.size:
            self.state.parts[:] = parts

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
            self._fetch(part)
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
    """Passes over the points of a linear kernel, which give all scores from w; in place of :class:`Rows`.

    Attributes
    ----------
    parts : (G, d) u_g, whose sum is w
    computed : passes so far
    """

    def __init__(self, kernel: KernelOracle, order: Index, signs: Vector, state: rules.State) -> None:
        features = kernel.features()
        assert features is not None, "a linear kernel has them"
        self.features, self.order, self.signs, self.state = features, order, signs, state
        self.parts: Vector = np.zeros((len(state.size), features.d))
        self._raw: Vector = np.empty(features.n)  # what the last pass gave, in the order of the data
        self.computed, self.at_most = 0, max(1, YIELD_VALUES // max(1, features.stored))

    def count(self) -> None:
        """Do nothing: a pass is counted where it is made."""

    def multiply(self) -> None:
        """Set ``gram`` and ``products`` of the chosen points."""
        state, ridge = self.state, self.features.ridge
        points = state.chosen[: state.counts[rules.CHOSEN]]
        self._vectors = self.features.rows(self.order[points]) * self.signs[points, None]
        self._hull = (points >= state.begin[1]).astype(np.intp)
        count = np.arange(len(points))
        state.gram[: len(points), : len(points)] = self._vectors @ self._vectors.T
        state.gram[count, count] += ridge
        state.products[: len(points), : len(self.parts)] = self._vectors @ self.parts.T
        place = state.position[points]
        state.products[count, self._hull] += ridge * np.where(place >= 0, state.weight[place], 0.0)

    def supply(self) -> None:
        """Change w as the weights were changed, by a step with the chosen points, and compute the scores."""
        self.parts *= self.state.scale[:, None]
        for hull, coef, vector in zip(self._hull, self.state.coefs, self._vectors, strict=False):
            self.parts[hull] += coef * vector
        self._score()

    def rescore(self, supports: Sequence[tuple[Index, Vector]], *, keep: bool) -> None:
        """Set w and the scores from each hull's support and its weights."""
        self.parts[:] = 0.0
        for part, (points, weights) in zip(self.parts, supports, strict=True):
            self.features.add(self.order[points], self.signs[points] * weights, part)
        self._score()

    def _score(self) -> None:
        """Set the scores by a pass with w, and <u_g, u_g>; what l2-svc adds to the diagonal concerns support vectors alone."""
        state, ridge = self.state, self.features.ridge
        self._pass(self.parts.sum(axis=0), state.scores)
        state.near[:] = -1
        for g, (begin, size) in enumerate(zip(state.begin, state.size, strict=False)):
            weights = state.weight[begin : begin + size]
            state.scores[state.support[begin : begin + size]] += ridge * weights
            state.squared[g] = self.parts[g] @ self.parts[g] + ridge * (weights @ weights)

    def _pass(self, w: Vector, out: Vector) -> None:
        """Set ``out`` to s <w, x> of all points."""
        self.computed += 1
        np.take(self.features.scores(w, self._raw), self.order, out=out, mode="clip")
        out *= self.signs

    def combination(self, points: Index, weights: Vector, *, keep: bool) -> Vector:
        """Return what the rows of ``points`` sum to with ``weights``, (n,), the points all different; one pass."""
        w = self.features.add(self.order[points], self.signs[points] * weights, np.zeros(self.features.d))
        scores: Vector = np.empty(len(self.order))
        self._pass(w, scores)
        scores[points] += self.features.ridge * weights
        return scores
