"""What surrounds the compiled loop: rows of the vertices, the start, scores from scratch, the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from harness_fw import hot

if TYPE_CHECKING:
    from harness import Problem

    Vector = np.ndarray[Any, np.dtype[np.float64]]

_TOUCHING = 1e-14  # |w|^2 over the largest k(x, x) at which rounding hides the direction of w
_FETCH_VALUES = 2_000_000  # kernel values held at a time in a refresh
_YIELD_VALUES = 4_000_000  # kernel evaluations after which the caller gets a word in
_IN_USE = np.iinfo(np.int64).max  # stamp of rows that must not make room for each other
_ENDS = {hot.DONE: "done", hot.TOUCHING: "hulls intersect", hot.STALLED: "stalled"}


class Descent:
    """One run of Algorithm 1: the loop's state and the rows it needs.

    Parameters
    ----------
    epsilon : accuracy at which the loop stops
    away : with away steps (Algorithm 1) or without (Gilbert)
    cache_mb : memory for rows; at least two are kept, the least recently used one makes room
    refresh : iterations after which the scores are recomputed from scratch
    """

    def __init__(self, problem: Problem, *, epsilon: float, away: bool, cache_mb: float, refresh: int) -> None:
        self.kernel, self.epsilon, self.away, self.refresh_every = problem.kernel, epsilon, away, refresh
        # positives first, each class in the order of the data
        self.order = np.argsort(problem.targets <= 0, kind="stable")
        self.signs = problem.targets[self.order]
        self.positives = int((self.signs > 0).sum())
        self.sorted = bool((self.order[:-1] < self.order[1:]).all())
        n = problem.n
        capacity = min(n, max(2, int(cache_mb * 2**20 / (8 * n))))
        self.state = hot.new_state(np.ascontiguousarray(self.kernel.diagonal()[self.order], dtype=np.float64), capacity)
        self.floor = _TOUCHING * float(self.state.diagonal.max())
        self.held: list[int] = []  # point whose row is in each place of the buffer
        self.rows_computed = 0
        self.drift = 0.0
        self.next_refresh = refresh
        self.norm_at_end = np.inf  # |w|^2 at the last end that scores from scratch did not confirm
        self._coef = np.zeros(n)
        self._start()

    def _signed_rows(self, points: Any) -> Vector:
        """Return the signed rows of ``points`` in the solver's order, one matrix product, counted."""
        values: Vector = self.kernel.block(self.order[points])
        if not self.sorted:
            values = values[:, self.order]
        self.rows_computed += len(points)
        return values * (self.signs[points, None] * self.signs[None, :])

    def fetch(self, points: list[int]) -> None:
        """Bring the rows of up to two points into the buffer; those already there are kept."""
        state = self.state
        missing = [point for point in points if state.slot[point] < 0]
        if not missing:
            return
        for point in points:
            if state.slot[point] >= 0:
                state.used[state.slot[point]] = _IN_USE
        values = self._signed_rows(np.array(missing))
        for point, row in zip(missing, values, strict=True):
            if len(self.held) < len(state.rows):
                place = len(self.held)
                self.held.append(point)
            else:
                place = int(state.used.argmin())
                state.slot[self.held[place]] = -1
                self.held[place] = point
            state.rows[place] = row
            state.slot[point], state.used[place] = place, _IN_USE
        state.used[state.slot[points]] = state.counts[hot.TAKEN]

    def _start(self) -> None:
        """Lines 1-11: q nearest to p^1, then p nearest to that q; both with weight 1."""
        state, m = self.state, self.positives
        self.fetch([0])
        # |p - q|^2 = k(p, p) + k(q, q) - 2 k(p, q), and the signed row holds -k(p, q)
        j = m + int((state.diagonal[m:] + 2.0 * state.rows[state.slot[0], m:]).argmin())
        self.fetch([j])
        i = int((state.diagonal[:m] + 2.0 * state.rows[state.slot[j], :m]).argmin())
        self.fetch([i, j])
        state.scores[:] = state.rows[state.slot[i]] + state.rows[state.slot[j]]
        for side, vertex in enumerate((i, j)):
            state.support[side, 0], state.weight[side, 0], state.size[side] = vertex, 1.0, 1
            state.position[vertex] = 0
        self._choose()

    def _choose(self) -> None:
        """Lines 28-32 and |w|^2 from the scores and the weights as they are."""
        state, m, chosen = self.state, self.positives, self.state.chosen
        chosen[hot.NEAR_P] = state.scores[:m].argmin()
        chosen[hot.NEAR_Q] = m + state.scores[m:].argmin()
        norm = 0.0
        for side, place in ((0, hot.FAR_P), (1, hot.FAR_Q)):
            support = state.support[side, : state.size[side]]
            scores = state.scores[support]
            chosen[place] = support[scores == scores.max()].min()
            norm += float(state.weight[side, : state.size[side]] @ scores)
        state.figures[hot.NORM] = norm

    def advance(self, until: int) -> str:
        """Iterate up to iteration ``until``, less far where that takes many kernel evaluations.

        Returns why there is nothing more to do: ``done``, ``hulls intersect`` or ``stalled``; empty while there is.
        """
        fetched_at_most = self.rows_computed + max(2, _YIELD_VALUES // len(self.state.scores))
        while True:
            reason = self._run(min(until, self.next_refresh))
            if reason == hot.MISSING:
                self.fetch([int(point) for point in self.state.chosen[[hot.WANTED_P, hot.WANTED_Q]]])
                if self.rows_computed >= fetched_at_most:
                    return ""
                continue
            if reason == hot.STEPS and self.taken < self.next_refresh:
                return ""
            # an end is judged by scores from scratch; one that does not hold must at least have made progress
            self.refresh()
            verdict = self._run(self.taken)
            norm = float(self.state.figures[hot.NORM])
            if verdict == hot.STEPS and reason != hot.STEPS:
                if norm >= self.norm_at_end:
                    return "stalled"
                self.norm_at_end = norm
                self.state.counts[hot.IDLE] = 0
            if verdict != hot.STEPS or self.taken >= until:
                return _ENDS.get(verdict, "")

    def _run(self, until: int) -> int:
        return int(hot.run(self.state, self.positives, self.epsilon, self.floor, self.away, until - self.taken))

    @property
    def taken(self) -> int:
        """Iterations so far."""
        return int(self.state.counts[hot.TAKEN])

    def refresh(self) -> None:
        """Recompute the scores from the weights, and note how far the updated ones had drifted, over |w|^2.

        Costs kernel evaluations only for support vectors whose rows had to make room.
        """
        state = self.state
        for side in (0, 1):
            weight = state.weight[side, : state.size[side]]
            weight /= weight.sum()
        support = np.concatenate([state.support[side, : state.size[side]] for side in (0, 1)])
        weight = np.concatenate([state.weight[side, : state.size[side]] for side in (0, 1)])
        place = state.slot[support]
        by_place = np.zeros(len(self.held))
        by_place[place[place >= 0]] = weight[place >= 0]
        scores = by_place @ state.rows[: len(self.held)]
        gone, gone_weight = support[place < 0], weight[place < 0]
        step = max(1, _FETCH_VALUES // len(scores))
        for start in range(0, len(gone), step):
            scores += gone_weight[start : start + step] @ self._signed_rows(gone[start : start + step])
        self.next_refresh = self.taken + self.refresh_every
        change = float(np.abs(scores - state.scores).max())
        state.scores[:] = scores
        self._choose()
        if state.figures[hot.NORM] > 0.0:
            self.drift = max(self.drift, change / float(state.figures[hot.NORM]))

    @property
    def dual_coef(self) -> Vector:
        """(n,) u on the positives, -v on the negatives; the same array each time."""
        self._coef[:] = 0.0
        for side, sign in ((0, 1.0), (1, -1.0)):
            size = self.state.size[side]
            self._coef[self.order[self.state.support[side, :size]]] = sign * self.state.weight[side, :size]
        return self._coef

    @property
    def core_set(self) -> int:
        """Points of the support, X of line 34."""
        return int(self.state.size.sum())

    @property
    def threshold(self) -> float:
        """Gamma = 1/2 (<w, p_i'> + <w, q_j'>), line 35."""
        near_p, near_q = self.state.chosen[hot.NEAR_P], self.state.chosen[hot.NEAR_Q]
        return 0.5 * float(self.state.scores[near_p] - self.state.scores[near_q])

    @property
    def margin_lower(self) -> float:
        """<w, z> / |w|, a lower bound of the optimal margin; 0 where w is."""
        norm = float(self.state.figures[hot.NORM])
        near = self.state.scores[self.state.chosen[[hot.NEAR_P, hot.NEAR_Q]]]
        return float(near.sum()) / norm**0.5 if norm > 0.0 else 0.0

    @property
    def info(self) -> dict[str, Any]:
        """The paper's figures, by name."""
        _, add, decrease, drop, _ = (int(count) for count in self.state.counts)
        norm, plus, minus, _ = (float(figure) for figure in self.state.figures)
        return {
            "epsilon": max(plus, minus),
            "epsilon_plus": plus,
            "epsilon_minus": minus,
            "norm": norm**0.5 if norm > 0.0 else 0.0,
            "add": add,
            "decrease": decrease,
            "drop": drop,
            "rows": self.rows_computed,
            "drift": self.drift,
        }
