"""What surrounds the compiled loops: the start, scores from scratch, the model."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from harness import KernelOracle, Problem
from harness.support.arrays import Index, Vector
from harness_fw import hot, rules
from harness_fw.hulls import ZERO, Hulls, figures
from harness_fw.sources import Points, Rows, signed_rows

_REFRESH = 5000  # iterations between recomputations of the scores, more if that takes many rows
_ROWS_OF_A_REFRESH = 4  # iterations for each row that a refresh computed, at least, before the next one
_NO_CAP = 2.0  # a cap that no weight reaches
_MANY = 4000  # points from which a pass takes longer than calling it
_VISITED = 0.25  # of the points are vertices of a run on l2-svc again and again
_TIMES = 4  # so many points as a hull's point needs are vertices of a run without a ridge
_SHORT = 8  # features of a point, on average, that are read as fast as stored scores are changed by two rows
_ENDS = {rules.DONE: "done", rules.STALLED: "stalled", rules.TOUCHING: ZERO}


class Descent:
    """One run: the loop's state and the kernel rows that change its scores.

    Parameters
    ----------
    rule : of rules.py, by name
    epsilon : accuracy at which the loop stops
    explicit : whether scores come from passes over the points of a linear kernel, and not from kernel rows
    start : (n,) feasible signed coefficients to begin with; None: as the paper begins
    """

    def __init__(
        self, problem: Problem, rule: str, epsilon: float, explicit: bool, start: Vector | None = None
    ) -> None:
        self.problem, self.kernel, self.rule, self.epsilon = problem, problem.kernel, int(getattr(rules, rule)), epsilon
        self.pairs = None if self.rule in (rules.FW, rules.GILBERT) else True
        self.explicit = explicit
        self.level = epsilon  # where the loop comes back: below epsilon if the loop has only a bound of it
        self.next_refresh = _REFRESH
        self.shape = Hulls(problem)
        # positives first, each class in the order of the data
        self.order = np.concatenate(self.shape.sides)
        self._signs = self.shape.sign[self.order]
        ends = np.cumsum([0, *map(len, self.shape.sides)])
        self.hulls = list(pairwise(ends.tolist()))
        self.caps = np.array([cap if cap < 1.0 else _NO_CAP for cap in self.shape.caps])
        self.capped = bool(self.caps.min() < 1.0)
        buffer = signed_rows(self.kernel, self.order, self._signs)
        # <u_g, x> of all points, and not of the chosen ones alone
        parts = not explicit and self.rule == rules.NEAREST and len(self.hulls) == 2 and not self.capped
        self.state = rules.new_state(ends, self.caps, buffer, parts=parts)
        self.source: Any = Rows(buffer, self.order, self._signs, self.state)
        if explicit:
            self.source = Points(self.kernel, self.order, self._signs, self.state)
        self.norm_at_end = np.inf  # |w|^2 at the last end that scores from scratch did not confirm
        self._coef = np.zeros(problem.n)
        self._begin(start)

    def _run(self, until: int, limit: float = np.inf) -> int:
        """Go on to iteration ``until`` or to an end; return why it stopped: MISSING if as much was computed as ``limit``."""
        while True:
            reason = self._loop(until - self.taken)
            self.source.count()
            if reason != rules.MISSING or self.source.computed >= limit:
                return reason
            if self.explicit:
                self.source.multiply()
                if self._loop(0, given=True) != rules.STEPS:
                    return rules.STALLED
            self.source.supply()

    def _loop(self, steps: int, *, given: bool = False) -> int:
        return int(hot.run(self.state, self.rule, self.pairs, self.level, self.shape.floor, steps, given))

    # -- the start -----------------------------------------------------------------------------------

    def _begin(self, start: Vector | None) -> None:
        """Begin as the paper does, see :meth:`Hulls.start`, or with the coefficients ``start``."""
        place = np.empty(self.problem.n, dtype=np.intp)
        place[self.order] = np.arange(self.problem.n)

        def row_of(point: int) -> Vector:
            signed = self.source.combination(place[[point]], np.ones(1), keep=True)
            row: Vector = self.shape.sign[point] * (self._signs * signed)[place]
            return row

        if start is None:
            vertices = self.shape.start(row_of)
        else:
            used = [side[start[side] != 0.0] for side in self.shape.sides]
            vertices = [(points, start[points] / start[points].sum()) for points in used]
        for g, (points, weights) in enumerate(vertices):
            self._put(g, place[points], weights)
        self._from_scratch(keep=True)

    def _put(self, g: int, points: Index, weights: Vector) -> None:
        state, begin = self.state, self.hulls[g][0]
        end = begin + len(points)
        state.support[begin:end], state.weight[begin:end], state.size[g] = points, weights, len(points)
        state.position[points] = np.arange(begin, end)
        if self.capped:
            state.closed[points] = np.where(weights >= self.caps[g], np.inf, 0.0)

    def _support(self, g: int) -> tuple[Index, Vector]:
        """Points and weights of hull g's support, views."""
        begin = self.hulls[g][0]
        end = begin + int(self.state.size[g])
        return self.state.support[begin:end], self.state.weight[begin:end]

    def _from_scratch(self, *, keep: bool) -> None:
        """Set the scores from the weights; rows that are computed stay in memory if ``keep``."""
        self.source.rescore([self._support(g) for g in range(len(self.hulls))], keep=keep)
        self.state.near[:] = -1

    # -- the run -------------------------------------------------------------------------------------

    def advance(self, until: int) -> str:
        """Iterate up to iteration ``until``, less far where that takes many kernel evaluations.

        Returns why there is nothing more to do: ``done``, ``stalled`` or that w may be 0; empty while there is.
        """
        limit = self.source.computed + self.source.at_most
        while True:
            reason = self._run(min(until, self.next_refresh), limit)
            if reason == rules.MISSING:
                return ""
            if reason == rules.DONE and not self._reached():
                if self.level > 0.0:
                    continue
                reason = rules.STALLED
            if reason == rules.STEPS and self.taken < self.next_refresh:
                return ""
            # scores from scratch decide at an end; one that they refute must at least have made progress
            self._refresh()
            verdict = self._run(self.taken)
            if verdict == rules.DONE and not self._reached():
                verdict = rules.STEPS
            norm = float(self.state.figures[rules.NORM])
            if verdict == rules.STEPS and reason != rules.STEPS:
                if norm >= self.norm_at_end:
                    return "stalled"
                self.norm_at_end = norm
                self.state.counts[rules.IDLE] = 0
            if verdict != rules.STEPS or self.taken >= until:
                return _ENDS.get(verdict, "")

    def _reached(self) -> bool:
        """True if epsilon is reached; if only its bound with caps is, the loop is to come back at half of that."""
        if not self.capped or max(self.epsilons) <= self.epsilon:
            return True
        self.level = 0.5 * float(self.state.figures[rules.PLUS])
        return False

    @property
    def taken(self) -> int:
        """Iterations so far."""
        return int(self.state.counts[rules.TAKEN])

    def _normalise(self) -> None:
        """Have the weights of each hull sum to 1 again: the free ones share what rounding has left."""
        for g in range(len(self.hulls)):
            points, weights = self._support(g)
            free = weights < self.caps[g]
            if free.any():
                weights[free] *= 1.0 - (weights.sum() - 1.0) / weights[free].sum()
            self._put(g, points, weights)

    def _refresh(self) -> None:
        """Recompute the scores from the weights.

        Costs kernel evaluations only for support vectors whose rows had to make room.
        """
        before = self.source.computed
        self._normalise()
        self._from_scratch(keep=False)
        self.next_refresh = self.taken + max(_REFRESH, _ROWS_OF_A_REFRESH * (self.source.computed - before))

    # -- the model -----------------------------------------------------------------------------------

    @property
    def dual_coef(self) -> Vector:
        """(n,) u on the positives, -v on the negatives; the same array each time."""
        self._coef[:] = 0.0
        for g in range(len(self.hulls)):
            points, weights = self._support(g)
            self._coef[self.order[points]] = self._signs[points] * weights
        return self._coef

    @property
    def working_set(self) -> int:
        """Points of the support, X of line 34."""
        return sum(len(self._support(g)[0]) for g in range(len(self.hulls)))

    @property
    def epsilons(self) -> tuple[float, float]:
        """epsilon_+ and epsilon_-, with caps of the composed points and of the face that w's points lie in."""
        if not self.capped:
            return float(self.state.figures[rules.PLUS]), float(self.state.figures[rules.MINUS])
        scores = np.empty(self.problem.n)
        scores[self.order] = self.state.scores
        return self.shape.epsilons(scores, self.shape.sign * self.dual_coef)

    @property
    def threshold(self) -> float:
        """Gamma = 1/2 (<w, p_i'> + <w, q_j'>), line 35; with caps from the levels that the free weights have.

        In polytope-distance the offset of the supporting hyperplane.
        """
        scores, near, levels = self.state.scores, self.state.near, []
        if len(self.hulls) == 1:
            return float(scores[near[0]])
        if not self.capped:
            return float(0.5 * (scores[near[0]] - scores[near[1]]))
        for g, (begin, end) in enumerate(self.hulls):
            points, weights = self._support(g)
            lowest = np.delete(scores[begin:end], points[weights >= self.caps[g]] - begin).min(initial=np.inf)
            highest = float(scores[points].max())
            levels.append(0.5 * (highest + lowest) if lowest < np.inf else highest)
        return float(0.5 * (levels[0] - levels[1]))

    @property
    def info(self) -> dict[str, Any]:
        """The paper's figures, by name."""
        counts = self.state.counts
        return {
            **figures(*self.epsilons, float(self.state.figures[rules.NORM])),
            **{kind: int(counts[place]) for place, kind in enumerate(rules.KINDS) if kind},
            "kind": rules.KINDS[counts[rules.KIND]] if self.taken else "",
            "rows": self.source.computed,
            "points": len(self.order),
        }


def keeps_w(kernel: KernelOracle, explicit: bool | None) -> bool:
    """Return whether to store w: as ``explicit``, or where that is quicker if None.

    A pass costs less than a row that is computed, and several times as much as a row in memory. So
    the rows of most points that a run comes back to must fit: a share of all points with the ridge of l2-svc; without
    it a few times d + 1, of which so many make up any point of a hull (Caratheodory).
    """
    if explicit is not None or not kernel.is_linear:
        return bool(explicit)
    features = kernel.features()
    assert features is not None
    visited = _VISITED * features.n
    if kernel.ridge == 0.0:
        visited = min(visited, _TIMES * (features.d + 1))
    fit = kernel.cache_mb * 2**20 / (8 * features.n)
    return features.n >= _MANY and (fit < visited or features.stored <= _SHORT * features.n)
