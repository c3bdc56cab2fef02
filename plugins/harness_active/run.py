"""One run of a strategy: buy the first labels, then query, buy and learn until a rule ends it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from harness_active.pool import Pool
from harness_active.stopping import Rules

if TYPE_CHECKING:
    from harness import Iterate, PoolSVC
    from harness.arrays import Index, Vector
    from harness_active.solvers import Strategy

    Scores = Callable[[Any], Vector]

_WINDOW = 1 / 40  # of the points: with small pools each of them is looked at once or twice meanwhile


class Run:
    """A problem, its pool, and who learns."""

    def __init__(self, strategy: Strategy, problem: PoolSVC, rng: np.random.Generator) -> None:
        self.strategy, self.problem, self.rng = strategy, problem, rng
        # before anything else: with one seed all strategies begin with the same points
        order = rng.permutation(problem.n)
        self.pool = Pool(order[np.isnan(problem.targets[order])], problem.n)
        self.learner = strategy.teach(problem, rng)
        self.scores = strategy.judge(self.learner)
        window = strategy.stop_window or max(1, round(_WINDOW * problem.n))
        self.rules = Rules(window, strategy.stop_tolerance)
        self.queries = 0
        self.distance: float | None = None

    def iterates(self) -> Iterator[Iterate]:
        """Yield after the first labels, after each query and at the end."""
        known = self.problem.bought  # by whoever had the problem before
        self.learn(np.concatenate([known, self.buy(self.pool.next(self.wanted(self.strategy.first)))]))
        yield self.iterate()
        while not (stopped_by := self.stopped()):
            chosen = self.chosen(self.wanted(self.strategy.batch))
            if self.strategy.stop == "margin" and self.rules.margin_at is not None:
                stopped_by = "margin"
                break
            self.queries += 1
            self.learn(self.buy(chosen))
            yield self.iterate()
        if self.strategy.finishing:
            self.learner.finish()
        yield self.iterate(done=True, stopped_by=stopped_by)

    def wanted(self, count: int) -> int:
        """Return how many labels are bought where ``count`` are asked for."""
        return min(count, self.problem.labels_left)

    def stopped(self) -> str:
        """Return what ends the run before another query; empty if nothing does."""
        if self.strategy.stop == "support" and self.rules.support_at is not None:
            return "support"
        if not len(self.pool):
            return "pool"
        return "" if self.problem.labels_left else "budget"

    def chosen(self, wanted: int) -> Index:
        """Return the candidates that are bought next, and tell the rule how near they are."""
        offered = self.strategy.offer(self.pool, wanted, self.rng)
        if self.scores is None:
            return offered
        distances = np.abs(self.scores(offered))
        self.distance = float(distances.min())
        self.rules.selected(self.problem.labels_used, self.distance, self.learner.margin)
        return self.pool.nearest(offered, distances, wanted)

    def buy(self, points: Index) -> Index:
        """Buy the labels of ``points`` and take them out of the pool; return the points."""
        self.problem.buy(points)
        self.pool.take(points)
        return points

    def learn(self, points: Index) -> None:
        """Teach the learner points whose labels are known."""
        self.learner.learn(points)
        self.rules.learned(self.problem.labels_used, self.learner.support)

    def iterate(self, *, done: bool = False, **info: Any) -> Iterate:
        """Return the learner's model with what there is to say about the run."""
        margin, rules = self.learner.margin, self.rules
        return self.learner.iterate(
            done=done,
            labels=self.problem.labels_used,
            queries=self.queries,
            distance=self.distance,
            margin=margin if math.isfinite(margin) else None,
            margin_at=rules.margin_at,
            support_at=rules.support_at,
            **info,
        )
