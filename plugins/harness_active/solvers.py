"""Solvers by active learning: strategies that select the labels to query next.

Source: Ertekin, Huang, Bottou, Giles, Learning on the Border: Active Learning in Imbalanced Data Classification, CIKM
2007, sections 3.2 to 3.4. Here no label is known before its query; while all labels are of one class, all points count as equally
near. Of equally near points the first in a random order, drawn at the start, is queried.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, cast

import numpy as np

from harness import CSVC, Conformance, Iterate, Learner, Problem, ProblemSummary, Solver, parameter
from harness.registry.subproblem_oracle import Oracle, OverOracle, oracle_refusal, takes
from harness.support.arrays import Index, Vector
from harness_active.pool_svc import PoolSVC

Scores = Callable[[Any], Vector]
_AHEAD = 50  # labels so far for each label between two yields, which are closer together than points of a curve
# default of stop_window over the number of points; with small pools a point is a candidate once or twice in it
_WINDOW = 1 / 40


class Pool:
    """The points whose labels are not queried yet, in an order.

    Parameters
    ----------
    order : (m,) distinct points
    n : number of all points, in the pool or not
    """

    def __init__(self, order: Index, n: int) -> None:
        self._rank = np.full(n, -1, dtype=np.intp)
        self._rank[order] = np.arange(len(order))
        # reversed, as the last point is the cheapest to remove
        self._points = np.array(order[::-1], dtype=np.intp)
        self._place = np.full(n, -1, dtype=np.intp)
        self._place[self._points] = np.arange(len(order))
        self._size = len(order)
        from harness_active import compiled  # imports numba

        self._loops = compiled

    def __len__(self) -> int:
        return self._size

    def next(self, count: int) -> Index:
        """Return the first ``count`` points of the order, or all; valid while only such points have been taken."""
        return self._points[max(0, self._size - count) : self._size][::-1].copy()

    def sample(self, count: int | None, rng: np.random.Generator) -> Index:
        """Return ``count`` points drawn without replacement; all points, ascending, if there are no more or it is None."""
        if count is None or count >= self._size:
            return np.flatnonzero(self._place >= 0)
        return np.asarray(self._points[self._loops.draw(self._size, rng.random(count))])

    def nearest(self, points: Index, distances: Vector, count: int) -> Index:
        """Return the ``count`` of ``points`` with the smallest distances; of equal ones those that are first in the order."""
        if count > 1:
            return points[np.lexsort((self._rank[points], distances))[:count]]
        equals: Index = points[distances == distances.min()]
        return equals[[self._rank[equals].argmin()]]

    def nearest_of(self, uniforms: Vector, scores: Vector, intercept: float) -> int:
        """Return the nearest of the points that uniform numbers draw; scores + intercept are f of all points."""
        return int(self._loops.choose(self._points, self._size, uniforms, scores, intercept, self._rank))

    def take(self, points: list[int]) -> None:
        """Remove ``points`` from the pool; the last of the others moves to the index of each."""
        for point in points:
            self._size -= 1
            place, last = self._place[point], self._points[self._size]
            self._points[place], self._place[last], self._place[point] = last, place, -1


@dataclass
class Rules:
    """Both stopping rules of section 3.4, checked even if the run does not end by them.

    window, tolerance : the number of support vectors is stable if its range over the last ``window`` labels, relative to
        its largest value, is at most ``tolerance``

    Attributes
    ----------
    margin_at : number of labels at which the selected example was first outside the margin; None: never
    support_at : number of labels at which the number of support vectors was first stable; None: never
    """

    window: int
    tolerance: float
    margin_at: int | None = None
    support_at: int | None = None
    _window: deque[tuple[int, int]] = field(default_factory=deque)
    _most: int = 0

    def selected(self, labels: int, distance: float, margin: float) -> None:
        """Check the margin rule: the nearest candidate has |f| = ``distance``, the support vectors have |f| up to ``margin``."""
        if self.margin_at is None and math.isfinite(margin) and distance >= margin:
            self.margin_at = labels

    def learned(self, labels: int, support: int) -> None:
        """Check the support rule: there are ``support`` support vectors after ``labels`` labels."""
        if self.support_at is not None:
            return
        window, self._most = self._window, max(self._most, support)
        window.append((labels, support))
        while len(window) > 1 and window[1][0] <= labels - self.window:
            window.popleft()
        # the ends of the window usually show already that the number is not stable
        if window[0][0] > labels - self.window or abs(support - window[0][1]) > self.tolerance * self._most:
            return
        counts = [count for _, count in window]
        most = max(counts)
        if most and most - min(counts) <= self.tolerance * most:
            self.support_at = labels


class Retrained(Learner):
    """An exact solver as a learner, which solves the problem over all labels after each query.

    This is the classical method of active learning (Tong and Koller 2001; the paper's step iii). A solver that supports it starts
    from the last solution. While all labels are of one class, w = 0 and the intercept is that label.
    """

    def __init__(self, problem: PoolSVC, oracle: Oracle, rng: np.random.Generator) -> None:
        self._problem, self._oracle, self._rng = problem, oracle, rng
        self._kernel = problem.kernel.replace(dtype=np.float32)  # kernel of the scores
        self._coef, self._intercept, self._both = np.zeros(problem.n), 0.0, False

    def learn(self, indices: Any) -> None:
        queried = self._problem.queried
        targets = self._problem.targets[queried]
        self._both = bool(len(targets)) and targets.min() < targets.max()
        if not self._both:
            self._intercept = float(targets[0]) if len(targets) else 0.0
            return
        stated, start = self._problem.labelled(), self._coef[queried]
        where = f"after {len(queried)} labels"
        for last in self._oracle.models(stated, where, start=start if start.any() else None, rng=self._rng):  # noqa: B007
            continue  # only the last model is used
        with self._oracle.failing_in(where):
            self._coef[queried], self._intercept = stated.checked(last.dual_coef, last.intercept)

    def scores(self, indices: Any, *, keep: bool | None = False) -> Vector:
        return self._kernel.expand(self._coef, np.asarray(indices, dtype=np.intp)) + self._intercept

    def finish(self) -> None:
        """Do nothing, as every model is a solution."""

    def iterate(self, *, done: bool = False, **info: Any) -> Iterate:
        spent = {"oracle_calls": self._oracle.calls, "oracle_seconds": self._oracle.seconds}
        return Iterate(self._coef, self._intercept, done=done, info={**spent, **info})

    @property
    def support(self) -> int:
        """Number of support vectors."""
        return int(np.count_nonzero(self._coef))

    @property
    def margin(self) -> float:
        """1, or infinity while all labels are of one class."""
        return 1.0 if self._both else math.inf


@dataclass(frozen=True)
class Strategy(OverOracle):
    """Base class of the strategies: the first labels, the learner, and the stopping rules.

    ``info``: labels, queries; distance (|f| of the nearest candidate at the last query) and margin (|f| from which on a point is
    outside the margin); margin_at and support_at (number of labels at which each stopping rule first applied, even if the run did
    not end; none: never); at the end stopped_by: 'margin', 'support', 'budget' (the budget is used up) or 'pool' (all labels are
    queried). A step is the learner's.
    """

    solves: ClassVar[tuple[type[Problem], ...]] = (PoolSVC,)
    exact: ClassVar[bool] = False  # the model ignores points without a queried label
    conformance: ClassVar[Conformance] = Conformance({"first": 2})
    looks_ahead: ClassVar[bool] = False  # whether several queries may lie between two yields

    first: int = parameter(20, "number of random labels before the first choice, the same for every strategy", ge=1)
    batch: int = parameter(1, "number of labels per query", ge=1)
    stop: Literal["margin", "support"] | None = parameter(
        None,
        "margin: stop when the nearest candidate is outside the margin; support: when the number of support vectors is "
        "stable; none: when the budget or the pool is used up",
    )
    stop_window: int | None = parameter(
        None,
        "number of labels over which the number of support vectors must be stable; none: a fortieth of the points",
        ge=1,
    )
    stop_tolerance: float = parameter(
        0.02, "range of the number of support vectors over its largest value that counts as stable", ge=0, lt=1
    )
    oracle: str = parameter("lasvm", "online solver that learns from the labels, by name")
    finishing: bool = parameter(True, "at the end let the learner optimise over the examples that it stores")

    def skip(self, problem: ProblemSummary) -> str | None:
        """Return why the oracle is not available or not an online solver, or None."""
        reason = "cannot learn example by example; name an online solver, such as lasvm."
        return oracle_refusal(self.name, self.oracle, lambda oracle: None if hasattr(oracle, "learner") else reason)

    def warm_ups(self) -> tuple[Solver, ...]:
        """Return this solver, and one with two first labels so that a few points leave labels to query."""
        return (self, self.replace(first=2))

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        """Yield an iterate after the first labels, after each query or several, a fiftieth of the labels at most, and at the end."""
        yield from Queries(self, cast("PoolSVC", problem), rng).iterates()

    # -- decisions of a strategy -------------------------------------------------------------------------

    def learner(self, problem: PoolSVC, rng: np.random.Generator) -> Learner:
        """Return the learner of a run."""
        return Oracle(self.oracle).learner(problem, rng)

    def scorer(self, learner: Learner) -> Scores | None:
        """Return the function that computes f of candidates; None if the strategy does not need f."""
        return lambda points: learner.scores(points, keep=getattr(self, "keep_scores", False))

    def candidate_points(self, pool: Pool, count: int, rng: np.random.Generator) -> Index:
        """Return the candidates, of which the ``count`` nearest are queried."""
        return pool.sample(None if self.sample_size is None else count * self.sample_size, rng)

    @property
    def sample_size(self) -> int | None:
        """Number of points sampled for each label; None: the whole pool."""
        return getattr(self, "candidates", None)


@dataclass(frozen=True)
class ActiveSmallPool(Strategy):
    """Active learning with small pools: query the nearest to the boundary of a few random points, the '59 trick'.

    Use it if labels are expensive and the pool is large: a query compares 59 points. Paper: Ertekin, Huang, Bottou and
    Giles 2007.

    One of 59 candidates is among the nearest 5 % with a probability of 95 %, whatever the size of the pool. A query costs
    59 |S| kernel values. With ``keep_scores`` it costs n for each example that enters S, the default if that is less and the rows
    fit in memory; then a compiled loop learns one label after another.
    """

    name = "active-small-pool"
    looks_ahead = True

    candidates: int = parameter(
        59, "L, points sampled per label; they contain one of the nearest share p with probability 1 - (1 - p)^L", ge=1
    )
    keep_scores: bool | None = parameter(
        None, "update f of all points by the rows of the coefficients that change; none: if that costs less"
    )

    def warm_ups(self) -> tuple[Solver, ...]:
        """Add this solver with two candidates so that few points leave several samples, with and without cached scores."""
        return (*super().warm_ups(), *(self.replace(first=2, candidates=2, keep_scores=keep) for keep in (True, False)))


@dataclass(frozen=True)
class ActiveFullSearch(Strategy):
    """Classical active learning: every point of the pool is a candidate.

    Use it if labels are expensive and the pool is small. Paper: Ertekin, Huang, Bottou and Giles 2007.

    A query costs |pool| |S| kernel values, as in the paper. With ``keep_scores``, which is not in the paper, it costs n for each
    coefficient that changes and whose kernel row is not in memory.
    """

    name = "active-full-search"

    keep_scores: bool = parameter(
        False, "update f of all points by the rows of the coefficients that change, if these fit in memory"
    )


@dataclass(frozen=True)
class RandomSampling(Strategy):
    """Queries of the labels in random order, the baseline for active learning.

    Use it as the baseline for active learning. Paper: Ertekin, Huang, Bottou and Giles 2007.

    No choice depends on a label, so without a stopping rule a query has a fiftieth of the labels so far; support_at may be too
    large by that number.
    """

    name = "random-sampling"
    looks_ahead = True

    stop: Literal["support"] | None = parameter(
        None, "support: stop when the number of support vectors is stable; none: when the budget or the pool is used up"
    )

    def scorer(self, learner: Learner) -> Scores | None:
        """Return None, as candidates are not compared."""
        return None

    def candidate_points(self, pool: Pool, count: int, rng: np.random.Generator) -> Index:
        """Return the next points of the random order."""
        return pool.next(count)


@dataclass(frozen=True)
class RetrainActive(Strategy):
    """Active learning with a full solution after each query, for comparison with online learning.

    Use it if a full solution after each query is affordable. Paper: Tong and Koller 2001.

    The oracle solves c-svc over all queried labels, from the last solution if it supports a start.
    """

    name = "retrain-active"

    candidates: int | None = parameter(None, "number of points sampled for each label; none: the whole pool", ge=1)

    def skip(self, problem: ProblemSummary) -> str | None:
        """Return why the oracle is not available or does not solve c-svc, or None."""
        return oracle_refusal(self.name, self.oracle, takes(CSVC))

    def learner(self, problem: PoolSVC, rng: np.random.Generator) -> Learner:
        """Return a learner that solves the problem over all labels after each query."""
        return Retrained(problem, Oracle(self.oracle), rng)


class Queries:
    """State of a run: the problem, its pool, the learner, and the stopping rules."""

    def __init__(self, strategy: Strategy, problem: PoolSVC, rng: np.random.Generator) -> None:
        self.strategy, self.problem, self.rng = strategy, problem, rng
        # drawn first, so that with the same seed all strategies start with the same points
        order = rng.permutation(problem.n)
        self.pool = Pool(order[np.isnan(problem.targets[order])], problem.n)
        self.learner = strategy.learner(problem, rng)
        self.scores = strategy.scorer(self.learner)
        self.sample_size = strategy.sample_size
        self.joins = strategy.looks_ahead and strategy.batch == 1  # whether a yield may follow several queries
        self.rules = Rules(strategy.stop_window or max(1, round(_WINDOW * problem.n)), strategy.stop_tolerance)
        self.count = 0
        self.distance: float | None = None

    def iterates(self) -> Iterator[Iterate]:
        """Yield the iterates of :meth:`Strategy.iterates`."""
        strategy, problem = self.strategy, self.problem
        # including the labels that were queried before this run
        self.learn(
            np.concatenate([problem.queried, self.query(self.pool.next(min(strategy.first, problem.queries_left)))])
        )
        yield self.iterate()
        while not (stopped_by := self.stopped()):
            labels = len(problem.queried)
            left = min(1 + labels // _AHEAD if self.joins else strategy.batch, problem.queries_left)
            while left and len(self.pool) and not self.rule_applies():
                left -= self.query_next(left)
            if len(problem.queried) > labels:
                yield self.iterate()
        if strategy.finishing:
            self.learner.finish()
        yield self.iterate(done=True, stopped_by=stopped_by)

    def rule_applies(self) -> bool:
        """Return whether the strategy's stopping rule ends the run."""
        stop, rules = self.strategy.stop, self.rules
        return stop is not None and (rules.margin_at if stop == "margin" else rules.support_at) is not None

    def stopped(self) -> str:
        """Return why the run ends before another query, or ''."""
        if self.rule_applies():
            return self.strategy.stop or ""
        return ("" if self.problem.queries_left else "budget") if len(self.pool) else "pool"

    def query_next(self, count: int) -> int:
        """Query and learn the next labels, at most ``count``; return their number, 0 if the run ends by a stopping rule."""
        strategy = self.strategy
        not_sampled = len(self.pool) - (self.sample_size or len(self.pool))
        if self.joins and self.scores and not_sampled > 0:
            if learned := self.learner.learn_chosen(min(count, not_sampled), self.query_nearest):
                self.rules.learned(len(self.problem.queried), self.learner.support)
                return learned
            if self.rule_applies():
                return 0
        # a stopping rule is checked after each query
        chosen = self.choose(count if strategy.stop is None and self.scores is None else min(count, strategy.batch))
        if self.rule_applies():
            return 0
        self.count += -(-len(chosen) // strategy.batch)
        self.learn(self.query(chosen))
        return len(chosen)

    def choose(self, count: int) -> Index:
        """Return the points to query next and check the margin rule."""
        candidates = self.strategy.candidate_points(self.pool, count, self.rng)
        if self.scores is None:
            return candidates
        distances = np.abs(self.scores(candidates))
        self.distance = float(distances.min())
        self.rules.selected(len(self.problem.queried), self.distance, self.learner.margin)
        return self.pool.nearest(candidates, distances, count)

    def query_nearest(self, scores: Vector, intercept: float, support: int, margin: float) -> int:
        """Query the label of the nearest point of a sample, and return the point; -1 if a stopping rule applies."""
        labels = len(self.problem.queried)
        self.rules.learned(labels, support)
        if self.rule_applies():
            return -1
        point = self.pool.nearest_of(self.rng.random(self.sample_size), scores, intercept)
        self.distance = abs(float(scores[point]) + intercept)
        self.rules.selected(labels, self.distance, margin)
        if self.rule_applies():
            return -1
        self.count += 1
        self.pool.take([point])
        self.problem.query_one(point)
        return point

    def query(self, points: Index) -> Index:
        """Query the labels of ``points``, remove these from the pool and return them."""
        self.problem.query(points)
        self.pool.take(points.tolist())
        return points

    def learn(self, points: Index) -> None:
        """Let the learner learn points with known labels, and check the support rule."""
        self.learner.learn(points)
        self.rules.learned(len(self.problem.queried), self.learner.support)

    def iterate(self, *, done: bool = False, **info: Any) -> Iterate:
        """Return the learner's model with the figures of the run."""
        margin, rules = self.learner.margin, self.rules
        return self.learner.iterate(
            done=done, labels=len(self.problem.queried), queries=self.count, distance=self.distance,
            margin=margin if math.isfinite(margin) else None, margin_at=rules.margin_at, support_at=rules.support_at, **info,
        )  # fmt: skip
