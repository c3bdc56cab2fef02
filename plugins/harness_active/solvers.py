"""The strategies: which labels are queried next.

Source: Ertekin, Huang, Bottou, Giles, Learning on the Border: Active Learning in Imbalanced Data Classification, CIKM
2007, sections 3.2 to 3.4. Differs in: no label is known before its query; while all labels are of one class every point is
as near as any other. Of points that are equally near the one is queried that comes first in the random order that is drawn
at the beginning.
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
_AHEAD = 50  # labels so far per label that may be queried between two yields: the host's points of a curve are denser
# with small pools, a point is a candidate once or twice within it
_WINDOW = 1 / 40  # stop_window as a fraction of the points


class Pool:
    """The points whose labels are not queried yet: points in an order, of which some leave.

    Parameters
    ----------
    order : (m,) points, all different
    n : points that there are, in the pool or not
    """

    def __init__(self, order: Index, n: int) -> None:
        self._rank = np.full(n, -1, dtype=np.intp)
        self._rank[order] = np.arange(len(order))
        # the last one is at hand: those of ``order`` that come first stand at the end
        self._points = np.array(order[::-1], dtype=np.intp)
        self._place = np.full(n, -1, dtype=np.intp)
        self._place[self._points] = np.arange(len(order))
        self._size = len(order)

    def __len__(self) -> int:
        return self._size

    def next(self, count: int) -> Index:
        """Return the ``count`` points that come first in the order as long as none is taken but so; all if there are fewer."""
        return self._points[max(0, self._size - count) : self._size][::-1].copy()

    def sample(self, count: int | None, rng: np.random.Generator) -> Index:
        """Return ``count`` points drawn without replacement; all, ascending, if there are not more or it is None."""
        if count is None or count >= self._size:
            return np.flatnonzero(self._place >= 0)
        from harness_active.compiled import draw

        return np.asarray(self._points[draw(self._size, rng.random(count))])

    def nearest(self, points: Index, distances: Vector, count: int) -> Index:
        """Return the ``count`` of ``points`` with the smallest distances; of equals those that come first in the order."""
        if count > 1:
            return points[np.lexsort((self._rank[points], distances))[:count]]
        equals: Index = points[distances == distances.min()]
        return equals[[self._rank[equals].argmin()]]

    def foresee(self, queries: int, candidates: int, steady: Any, rng: np.random.Generator) -> tuple[Index, Vector]:
        """Return the points of the next queries, ``queries`` at most, and their |f|, see :func:`compiled.choose`; take none."""
        from harness_active.compiled import choose

        points, place = (self._points, self._place) if queries == 1 else (self._points.copy(), self._place.copy())
        distances = choose(points, place, self._size, rng.random((queries, candidates)), steady, self._rank)
        return points[self._size - len(distances) : self._size][::-1].copy(), distances

    def take(self, points: Index) -> None:
        """Take ``points`` out; the last of the others moves to the place of each."""
        for point in points.tolist():
            self._size -= 1
            place, last = self._place[point], self._points[self._size]
            self._points[place], self._place[last], self._place[point] = last, place, -1


@dataclass
class Rules:
    """Both stopping rules of section 3.4, checked whether the run is to end by one of them or not.

    window, tolerance : the number of support vectors is stable if over the last ``window`` labels its range, relative to
        its largest value, is at most ``tolerance``

    Attributes
    ----------
    margin_at : labels queried when the selected example lay no closer than the support vectors on the margin; None: never
    support_at : labels queried when the number of support vectors was stable; None: never
    """

    window: int
    tolerance: float
    margin_at: int | None = None
    support_at: int | None = None
    _window: deque[tuple[int, int]] = field(default_factory=deque)
    _most: int = 0

    def selected(self, labels: int, distance: float, margin: float) -> None:
        """Note that the nearest of the candidates has |f| = ``distance`` while support vectors reach up to ``margin``."""
        if self.margin_at is None and math.isfinite(margin) and distance >= margin:
            self.margin_at = labels

    def learned(self, labels: int, support: int) -> None:
        """Note the number of support vectors after so many labels."""
        if self.support_at is not None:
            return
        window, self._most = self._window, max(self._most, support)
        window.append((labels, support))
        while len(window) > 1 and window[1][0] <= labels - self.window:
            window.popleft()
        # in most cases the two ends of the window show that it is not stable
        if window[0][0] > labels - self.window or abs(support - window[0][1]) > self.tolerance * self._most:
            return
        counts = [count for _, count in window]
        most = max(counts)
        if most and most - min(counts) <= self.tolerance * most:
            self.support_at = labels


class Retrained(Learner):
    """An exact solver as a learner: after each query it solves the whole problem over the labels that it has.

    The classical method of active learning (Tong and Koller 2001; the paper's step iii). Where the solver can start from
    coefficients it starts from those of the last solution. While all labels are of one class: w = 0, that label as intercept.
    """

    def __init__(self, problem: PoolSVC, oracle: Oracle, rng: np.random.Generator) -> None:
        self._problem, self._oracle, self._rng = problem, oracle, rng
        self._kernel = problem.kernel.replace(dtype=np.float32)  # of the scores
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
            continue  # the last counts
        with self._oracle.failing_in(where):
            self._coef[queried], self._intercept = stated.checked(last.dual_coef, last.intercept)

    def scores(self, indices: Any, *, keep: bool | None = False) -> Vector:
        return self._kernel.expand(self._coef, np.asarray(indices, dtype=np.intp)) + self._intercept

    def finish(self) -> None:
        """Do nothing: every model is a solution."""

    def iterate(self, *, done: bool = False, **info: Any) -> Iterate:
        spent = {"oracle_calls": self._oracle.calls, "oracle_seconds": self._oracle.seconds}
        return Iterate(self._coef, self._intercept, done=done, info={**spent, **info})

    @property
    def support(self) -> int:
        """Number of support vectors."""
        return int(np.count_nonzero(self._coef))

    @property
    def margin(self) -> float:
        """1; infinite while the labels are of one class."""
        return 1.0 if self._both else math.inf


@dataclass(frozen=True)
class Strategy(OverOracle):
    """What the strategies have in common: the first labels, the learner, the rules that end a run.

    ``info``: labels, queries; distance and margin (|f| of the nearest candidate at the last query, and from which |f| on
    a point lies outside the margin); margin_at and support_at (labels queried when each of the two stopping rules applied first,
    whether the run ended there or not; none: never); at the end stopped_by: 'margin', 'support', 'budget' (no label may
    be queried any more) or 'pool' (none is left). A step is the learner's.
    """

    solves: ClassVar[tuple[type[Problem], ...]] = (PoolSVC,)
    exact: ClassVar[bool] = False  # points that were not queried do not count
    conformance: ClassVar[Conformance] = Conformance({"first": 2})
    looks_ahead: ClassVar[bool] = False  # whether labels that do not change what is queried next are queried together

    first: int = parameter(20, "labels queried at random before the first choice, the same for every strategy", ge=1)
    batch: int = parameter(1, "labels of a query", ge=1)
    stop: Literal["margin", "support"] | None = parameter(
        None,
        "margin: when the nearest candidate lies outside the margin; support: when the number of support vectors is "
        "stable; none: when the budget or the pool is used up",
    )
    stop_window: int | None = parameter(
        None, "labels over which the number of support vectors must be stable; none: a fortieth of the points", ge=1
    )
    stop_tolerance: float = parameter(
        0.02, "range of the number of support vectors over its largest value that counts as stable", ge=0, lt=1
    )
    oracle: str = parameter("lasvm", "the solver that learns, by name; one that can be taught example by example")
    finishing: bool = parameter(True, "at the end let the learner optimise over the examples that it stores")

    def skip(self, problem: ProblemSummary) -> str | None:
        """Refuse an oracle that is not there or cannot be taught."""
        reason = "cannot be taught example by example; name an online solver, such as lasvm."
        return oracle_refusal(self.name, self.oracle, lambda oracle: None if hasattr(oracle, "learner") else reason)

    def warm_ups(self) -> tuple[Solver, ...]:
        """Return this solver, and with so few first labels that a few points leave something to query."""
        return (self, self.replace(first=2))

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        """Yield after the first labels, after each query, or several whose labels are queried together, and at the end."""
        yield from Queries(self, cast("PoolSVC", problem), rng).iterates()

    # -- what a strategy decides ------------------------------------------------------------------------

    def teach(self, problem: PoolSVC, rng: np.random.Generator) -> Learner:
        """Return who learns."""
        return Oracle(self.oracle).learner(problem, rng)

    def judge(self, learner: Learner) -> Scores | None:
        """Return the function that computes f of candidates; None if none are compared."""
        return lambda points: learner.scores(points, keep=getattr(self, "keep_scores", False))

    def offer(self, pool: Pool, count: int, rng: np.random.Generator) -> Index:
        """Return the points of which the ``count`` nearest are queried."""
        return pool.sample(None if self.sample_size is None else count * self.sample_size, rng)

    @property
    def sample_size(self) -> int | None:
        """Number of points sampled for each label; None: all that are left."""
        return getattr(self, "candidates", None)


@dataclass(frozen=True)
class ActiveSmallPool(Strategy):
    """Active learning with small pools: of a few random points the one nearest to the boundary is queried, the '59 trick'.

    Take it where labels cost and the pool is large: a query looks at 59 points. Paper: Ertekin, Huang, Bottou and
    Giles 2007.

    Of 59 candidates one is among the nearest 5 % with a probability of 95 %, whatever the size of the pool. A query costs
    59 |S| kernel values, or n for an example that enters S where that is less and the rows fit in memory: ``keep_scores``.
    Labels that are as expected and change nothing are queried in one message: the server ends it at the first that is not.
    """

    name = "active-small-pool"
    looks_ahead = True

    candidates: int = parameter(
        59, "L, points sampled per label; one of the nearest share p is among them with probability 1 - (1 - p)^L", ge=1
    )
    keep_scores: bool | None = parameter(
        None, "update f of all points by the rows of the coefficients that have changed; none: where that costs less"
    )

    def warm_ups(self) -> tuple[Solver, ...]:
        """Add it with so few candidates that a few points leave more than one sample, with and without cached scores."""
        return (*super().warm_ups(), *(self.replace(first=2, candidates=2, keep_scores=keep) for keep in (True, False)))


@dataclass(frozen=True)
class ActiveFullSearch(Strategy):
    """The classical active learning that small pools are compared with: every point of the pool is a candidate.

    Take it where labels cost and the pool is small. Paper: Ertekin, Huang, Bottou and Giles 2007.

    A query costs |pool| |S| kernel values, as in the paper; with ``keep_scores``, which is not the paper's, n for each
    coefficient that has changed and whose kernel row is not in memory.
    """

    name = "active-full-search"

    keep_scores: bool = parameter(
        False, "update f of all points by the rows of the coefficients that have changed, as far as memory has room"
    )


@dataclass(frozen=True)
class RandomSampling(Strategy):
    """What active learning is compared with: the labels are queried in random order.

    No choice depends on a label, so without a stopping rule one in fifty of the labels is queried together; support_at is
    that late at most. Take it as the baseline of active learning. Paper: Ertekin, Huang, Bottou and Giles 2007.
    """

    name = "random-sampling"
    looks_ahead = True

    stop: Literal["support"] | None = parameter(
        None, "support: when the number of support vectors is stable; none: when the budget or the pool is used up"
    )

    def judge(self, learner: Learner) -> Scores | None:
        """Compare nothing."""
        return None

    def offer(self, pool: Pool, count: int, rng: np.random.Generator) -> Index:
        """Return the next points of the order that was drawn at first."""
        return pool.next(count)


@dataclass(frozen=True)
class RetrainActive(Strategy):
    """Active learning with a full solve after each query: what learning example by example is compared with.

    Take it where a full solve after each query is affordable. Paper: Tong and Koller 2001.

    The oracle solves c-svc over all labels that were queried, from the last solution where it can start from one.
    """

    name = "retrain-active"

    candidates: int | None = parameter(None, "points sampled for each label; none: all that are left", ge=1)

    def skip(self, problem: ProblemSummary) -> str | None:
        """Refuse an oracle that is not there or does not solve c-svc."""
        return oracle_refusal(self.name, self.oracle, takes(CSVC))

    def teach(self, problem: PoolSVC, rng: np.random.Generator) -> Learner:
        """Return a learner that solves anew whatever it learns."""
        return Retrained(problem, Oracle(self.oracle), rng)


class Queries:
    """One run: a problem, its pool, the learner, and the queries until a rule ends it."""

    def __init__(self, strategy: Strategy, problem: PoolSVC, rng: np.random.Generator) -> None:
        self.strategy, self.problem, self.rng = strategy, problem, rng
        # before anything else: with one seed all strategies begin with the same points
        order = rng.permutation(problem.n)
        self.pool = Pool(order[np.isnan(problem.targets[order])], problem.n)
        self.learner = strategy.teach(problem, rng)
        self.scores = strategy.judge(self.learner)
        self.rules = Rules(strategy.stop_window or max(1, round(_WINDOW * problem.n)), strategy.stop_tolerance)
        self.count = 0
        self.distance: float | None = None

    def iterates(self) -> Iterator[Iterate]:
        """Yield the models of :meth:`Strategy.iterates`."""
        strategy, problem = self.strategy, self.problem
        # with the labels that were queried before this run
        self.learn(
            np.concatenate([problem.queried, self.query(self.pool.next(min(strategy.first, problem.queries_left)))])
        )
        yield self.iterate()
        looks_ahead = strategy.looks_ahead and strategy.batch == 1 and strategy.stop is None
        while not (stopped_by := self.stopped()):
            ahead = min(1 + len(problem.queried) // _AHEAD if looks_ahead else strategy.batch, problem.queries_left)
            spare = len(self.pool) - (strategy.sample_size or len(self.pool))
            steady = self.learner.steady() if looks_ahead and spare > 0 and self.scores else None
            if steady is not None:
                self.foresee(min(ahead, spare) if math.isfinite(steady[-1]) else 1, steady)
            else:
                chosen = self.chosen(ahead if self.scores is None else min(ahead, strategy.batch))
                if strategy.stop == "margin" and self.rules.margin_at is not None:
                    stopped_by = "margin"
                    break
                self.count += -(-len(chosen) // strategy.batch)
                self.learn(self.query(chosen))
            yield self.iterate()
        if self.strategy.finishing:
            self.learner.finish()
        yield self.iterate(done=True, stopped_by=stopped_by)

    def stopped(self) -> str:
        """Return what ends the run before another query; empty if nothing does."""
        if self.strategy.stop == "support" and self.rules.support_at is not None:
            return "support"
        return ("" if self.problem.queries_left else "budget") if len(self.pool) else "pool"

    def chosen(self, count: int) -> Index:
        """Return the candidates that are queried next, and note for the rule how near they are."""
        offered = self.strategy.offer(self.pool, count, self.rng)
        if self.scores is None:
            return offered
        distances = np.abs(self.scores(offered))
        self.distance = float(distances.min())
        self.rules.selected(len(self.problem.queried), self.distance, self.learner.margin)
        return self.pool.nearest(offered, distances, count)

    def foresee(self, queries: int, steady: Any) -> None:
        """Query the next labels as long as they are as expected and change nothing, and one more; learn them."""
        labels, (scores, intercept, *_) = len(self.problem.queried), steady
        points, distances = self.pool.foresee(queries, self.strategy.sample_size or 1, steady, self.rng)
        points = points[: self.problem.query_while(points, np.sign(scores[points] + intercept))]
        self.pool.take(points)
        # each query has its random numbers, however many are made together
        cast("Any", self.rng.bit_generator).advance((len(points) - queries) * (self.strategy.sample_size or 1))
        margin, support = self.learner.margin, self.learner.support
        for number, distance in enumerate(distances[: len(points)].tolist(), start=labels):
            if number > labels:
                self.rules.learned(number, support)
            self.rules.selected(number, distance, margin)
        self.distance = distance
        self.count += len(points)
        self.learn(points)

    def query(self, points: Index) -> Index:
        """Query the labels of ``points`` and take them out of the pool; return the points."""
        self.problem.query(points)
        self.pool.take(points)
        return points

    def learn(self, points: Index) -> None:
        """Teach the learner points whose labels are known."""
        self.learner.learn(points)
        self.rules.learned(len(self.problem.queried), self.learner.support)

    def iterate(self, *, done: bool = False, **info: Any) -> Iterate:
        """Return the learner's model with what there is to say about the run."""
        margin, rules = self.learner.margin, self.rules
        return self.learner.iterate(
            done=done, labels=len(self.problem.queried), queries=self.count, distance=self.distance,
            margin=margin if math.isfinite(margin) else None, margin_at=rules.margin_at, support_at=rules.support_at, **info,
        )  # fmt: skip
