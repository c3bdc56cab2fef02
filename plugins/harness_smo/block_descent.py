"""The state of block SMO over all points: who is active, what is known of the others, and how exactly.

Points that rest at a bound far from any violating pair are parked. Their scores stand still while w moves; by
Cauchy and Schwarz |f_p(w') - f_p(w)| <= |w' - w| sqrt(K_pp), and |w' - w|^2 = change' K change follows from the
scores of the active points at no kernel evaluation. So when the active points are done, only those parked points
are looked at again whose distance from violation is not beyond that bound.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from harness_smo.block_cache import RowCache
from harness_smo.block_level import Level, variables_of
from harness_smo.whole_level import WholeLevel

if TYPE_CHECKING:
    from harness import DualForm, KernelOracle, Problem
    from harness.arrays import Index, Vector

_STRETCH = 1.01  # of the start along its ray: less is not worth disturbing a good start
_TOUCHING = 1e-12  # relative: this close to its bound a variable is at it
_LEAST = 512  # points: fewer are never parked
_CROWDED = 0.8  # of the slots: more free variables than that are too many
_SHRINK = 0.6  # park only if at most this share stays active
_SAMPLE = 64  # points, about, whose scores of both precisions are compared
_NEAR = 8.0  # times tau: points that close to a violation are looked at in float64
_GENERATIONS = 6  # of parked points: each keeps the coefficients of its time
_DISTURBING = 0.25
import os
CONT=int(os.environ.get('CONT','1'))
_LOOSE = float(os.environ.get('LOOSE','.3'))
_WIDER = float(os.environ.get('WIDER','4'))
_NOISE = 4.0  # times the largest difference seen between scores of float32 and float64


@dataclass
class _Parked:
    """Points parked together, when the coefficients were ``coef``, (n,); ``path`` bounds how far w moved since."""

    points: Index
    coef: Vector
    path: float = 0.0


class Descent:
    """Variables, scores and the active level.

    Attributes
    ----------
    a : (V,) variables, always current
    scores : (n,) K coef: of active points current (in the level), of the others within ``doubt``
    doubt : (n,), in units of f(x); 0 where nothing but rounding can be off
    noise : what rounding of the rows does to the scores of a warm start; below it float32 would only disturb
    """

    def __init__(
        self, problem: Problem, form: DualForm, start: Vector, kernel: KernelOracle, cache_mb: float, size: int
    ) -> None:
        self.problem, self.form, self.whole_form, self.size = problem, form, form, size
        self.kernel = kernel
        self.n = form.n
        self.a = start
        coef = form.coef(start)
        self.scores = kernel.expand(coef) if coef.any() else np.zeros(self.n)
        if coef.any() and not any(form.start[form.group == k].sum() for k in range(form.groups)):
            coef = self._stretch(coef)
        self.doubt = np.zeros(self.n)
        support = np.flatnonzero(coef)
        self.noise = self._rounding(coef, support[:: max(1, len(support) // _SAMPLE)]) if len(support) else 0.0
        self.diagonal = problem.kernel.diagonal()
        self.root_diagonal = np.sqrt(np.maximum(self.diagonal, 0.0))
        # at least two rows of all points in float64
        self.memory: Any = np.empty(max(int(cache_mb * 2**20) // 8, 2 * self.n), dtype=np.float64)
        self.parked: list[_Parked] = []
        self.known: Index = np.empty(0, dtype=np.intp)  # parked points computed at the last look
        self.rounds = self.steps = self.fetched = 0  # of the levels before this one
        self.everyone = np.arange(self.n)
        self.loose = _LOOSE * float(np.abs(form.linear).mean())
        self.cap = 1.0
        widest = float(form.upper.max() - form.lower.min()) * float(self.diagonal.max())
        if CONT and not self.a.any() and not form.relative and self.n<=4096 and np.isfinite(widest):
            self.cap = min(1.0, float(np.abs(form.linear).mean()) / widest)
            self._set_cap(self.cap if self.cap*_WIDER<1 else 1.0)
        self.level = self._make_level(self.everyone, RowCache(kernel, self.memory))

    def _set_cap(self, cap: float) -> None:
        """Let the bounds be ``cap`` times those of the problem."""
        self.cap = cap
        whole = self.whole_form
        self.form = whole if cap == 1.0 else replace(whole, lower=cap * whole.lower, upper=cap * whole.upper)

    def widen(self) -> None:
        """Go on with wider bounds, from the best point on the ray from 0 through where the variables are."""
        self.keep()
        form, a = self.form, self.a
        at_bound = (a >= form.upper) & (form.upper > 0.0) | (a <= form.lower) & (form.lower < 0.0)
        wider = min(1.0 / self.cap, _WIDER)
        size = float(np.sqrt(a @ a)) * 0.25 * float(np.finfo(np.float32).eps) * float(self.diagonal.max())
        if not at_bound.any() or self.cap * wider > 0.9 or (not self.exact and size * _WIDER > _DISTURBING * self.loose):
            wider = 1.0 / self.cap
        coef = form.coef(a)
        curvature, slope = float(coef @ self.scores), float(form.linear @ a)
        factor = min(max(1.0, slope / curvature if curvature > 0.0 else 1.0), wider)
        self._set_cap(1.0 if wider == 1.0 / self.cap else self.cap * wider)
        form = self.form
        a *= factor
        self.scores *= factor
        if factor == wider:
            a[at_bound & (a > 0.0)] = form.upper[at_bound & (a > 0.0)]
            a[at_bound & (a < 0.0)] = form.lower[at_bound & (a < 0.0)]
        level = self.level
        level.form = form
        level.lower, level.upper = form.lower[level.variables], form.upper[level.variables]
        level.a, level.scores = self.a[level.variables], self.scores[level.where] if len(level.where) < self.n else self.scores
        if isinstance(level.a, np.ndarray) and level.a.base is not None:
            level.a = level.a.copy()
        level.faces = 0

    def refine(self, kernel: KernelOracle) -> None:
        """Go on in float64 with the same points."""
        self.keep()
        coef, where = self.form.coef(self.a), self.level.where
        self.kernel = kernel
        self._replace(where)
        self.level.compute_scores(coef)
        self.mark = (self.mark[0], self.level.scores.copy())

    def _stretch(self, coef: Vector) -> Vector:
        """Go to the best point on the ray from 0 through the start, at no kernel value; return its coefficients.

        From the solution at a smaller C, the variables that were at their bounds are at the new ones at once.
        """
        a, form = self.a, self.form
        curvature, slope = float(coef @ self.scores), float(form.linear @ a)
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(a > 0.0, form.upper / a, np.where(a < 0.0, form.lower / a, np.inf))
        factor = min(max(slope, 0.0) / curvature if curvature > 0.0 else np.inf, float(room.min()))
        if not _STRETCH <= factor < np.inf:
            return coef
        at_bound = room <= factor * (1.0 + _TOUCHING)
        a *= factor
        a[at_bound & (a > 0.0)] = form.upper[at_bound & (a > 0.0)]
        a[at_bound & (a < 0.0)] = form.lower[at_bound & (a < 0.0)]
        self.scores *= factor
        return form.coef(a)

    @property
    def exact(self) -> bool:
        """Whether kernel values are in float64."""
        return bool(self.kernel.dtype == np.float64)

    def _make_level(self, where: Index, cache: RowCache) -> Level:
        points: Any = slice(None) if len(where) == self.n else where
        a, scores, diagonal = self.a[variables_of(self.form, where)], self.scores[points], self.diagonal[points]
        whole = cache.capacity >= len(where) and len(where) <= 4096
        level = (WholeLevel if whole else Level)(self.form, where, a, scores, diagonal, self.kernel, cache, self.size)
        self.mark = (self.form.coef(self.a)[where], level.scores.copy())
        return level

    # -- moving between levels -----------------------------------------------------------------------

    def keep(self) -> None:
        """Bring the level's variables and scores to the whole."""
        level = self.level
        self.a[level.variables] = level.a
        self.scores[level.where] = level.scores

    def _moved(self) -> float:
        """Return how far w moved since this was last asked, |w - w_mark|."""
        coef, scores = self.mark
        now = self.form.coef(self.a)[self.level.where]
        self.mark = (now, self.level.scores.copy())
        return float(np.sqrt(max(0.0, float((now - coef) @ (self.level.scores - scores)))))

    def crowded(self) -> bool:
        """Whether the rows of the free variables, which keep moving, hardly find room: then shorter rows pay."""
        level = self.level
        capacity = level.cache.capacity
        return capacity < level.m and level.m > _LEAST and int(np.count_nonzero(level.free)) > _CROWDED * capacity

    def slack(self) -> Vector:
        """Return how far each point is from violating with the current ends, (n,); 0 or less for free points."""
        ups, lows = np.array(self.level.ends).T
        return self._distance(self.form.gradient(self.scores), ups, lows)

    def _distance(self, gradient: Vector, ups: Vector, lows: Vector) -> Vector:
        """Return how far below ``ups`` what may rise and above ``lows`` what may fall is, the least at each point, (n,).

        ups, lows : of each group
        """
        form = self.form
        can_rise, can_fall = self.a < form.upper, self.a > form.lower
        distance = np.full(len(gradient), np.inf)
        distance[can_rise] = (ups[form.group] - gradient)[can_rise]
        distance[can_fall] = np.minimum(distance, gradient - lows[form.group])[can_fall]
        least: Vector = distance.reshape(form.copies, self.n).min(axis=0)
        return least

    def shrink(self) -> bool:
        """Park the points farthest from violation; False if too few would be."""
        self.keep()
        level = self.level
        where = level.where[self._nearest(self._middle_slack()[level.where])]
        if len(where) > _SHRINK * level.m:
            return False
        self.activate(where)
        return True

    def _nearest(self, slack: Vector) -> Index:
        """Return which points to go on with: those that violate or are free, and the next nearest.

        There should be room for twice as many rows as points at hand; beyond that, longer rows save the
        parked points a later look.
        """
        near = max(1, int(np.count_nonzero(slack <= 0.0)))
        words = self.memory.nbytes // self.kernel.dtype.itemsize
        # no more than now unless need be: the rows held can be carried over
        count = max(_LEAST, 2 * near, min(self.level.m, words // (2 * near)))
        if count >= len(slack):
            return np.arange(len(slack))
        return np.sort(np.argpartition(slack, count)[:count])

    def _middle_slack(self) -> Vector:
        """Slack against the middle of the ends, at most 0 for what is on its wrong side and for free points."""
        form, level = self.form, self.level
        free, middles = level.free, np.zeros(max(1, form.groups))
        gradient = form.gradient(self.scores)
        active = gradient[level.variables]
        for k in range(form.groups):
            own = free & (level.group == k) if form.groups > 1 else free
            up, low = level.ends[k]
            middles[k] = np.median(active[own]) if own.any() else 0.5 * (up + low) if np.isfinite(up - low) else 0.0
        return self._distance(gradient, middles, middles)

    def _replace(self, where: Index) -> None:
        level = self.level
        self.rounds += level.rounds
        self.fetched += level.cache.fetched
        self.steps += level.steps
        kernel = self.kernel if len(where) == self.n else self.kernel.restrict(where)
        if len(where) <= level.m and level.cache.kernel.dtype == kernel.dtype:
            position = np.full(self.n, -1, dtype=np.intp)
            position[level.where] = np.arange(level.m)
            place = position[where]
            staying = np.zeros(level.m, dtype=bool)
            staying[place[place >= 0]] = True
            cache = level.cache.moved(kernel, place, np.flatnonzero(staying & level.free_points))
        else:
            cache = RowCache(kernel, self.memory)
        self.level = self._make_level(where, cache)

    def look(self, tau: float) -> Index:
        """Look at the parked points that may violate; return those that do.

        All points neither returned nor parked any more are known not to violate, up to rounding.
        """
        self.keep()
        moved, slack, coef = self._moved(), self.slack(), self.form.coef(self.a)
        looked = [self.known]
        for generation in self.parked:
            generation.path += moved
            points = generation.points
            unsure = slack[points] < generation.path * self.root_diagonal[points] + self.doubt[points]
            generation.points = points[~unsure]
            looked.append(points[unsure])
            self.scores[points[unsure]] += self.kernel.expand(coef - generation.coef, points[unsure])
        self.known = np.concatenate(looked)
        # what is still in doubt is so by how it was computed once, and is computed anew
        doubtful = self.known[(self.doubt[self.known] > 0.0) & (self.slack()[self.known] < self.doubt[self.known])]
        if len(doubtful):
            self.scores[doubtful] = self.kernel.expand(coef, doubtful)
            self.doubt[doubtful] = 0.0
        outside = self.known[self.slack()[self.known] < 0.0]
        if len(outside) == 0 or self._widened(outside, tau):
            return outside[:0]
        return outside

    def _widened(self, points: Index, tau: float) -> bool:
        """Take ``points`` into the level's ends, if the violation stays within tau."""
        level, form, before = self.level, self.form, self.level.ends
        variables = variables_of(form, points)
        gradient, own = form.gradient(self.scores)[variables], form.group[variables]
        rise = np.where(self.a[variables] < form.upper[variables], gradient, -np.inf)
        fall = np.where(self.a[variables] > form.lower[variables], gradient, np.inf)
        level.ends = [
            (max(up, float(rise[own == k].max(initial=up))), min(low, float(fall[own == k].min(initial=low))))
            for k, (up, low) in enumerate(before)
        ]
        if level.violation <= tau:
            return True
        level.ends = before
        return False

    def activate(self, where: Index) -> None:
        """Go on with ``where``, points whose scores are known now; the others known now are parked as of now."""
        moved = self._moved()
        for generation in self.parked:
            generation.path += moved
        known = np.concatenate([self.level.where, self.known])
        self.known = known[~np.isin(known, where)]
        self._replace(where)
        self.park_known()

    def park_known(self) -> None:
        """Park the points looked at last as of now: w is about to move, or the active points are others."""
        self.parked = [generation for generation in self.parked if len(generation.points)]
        if len(self.known):
            self.parked.append(_Parked(self.known, self.form.coef(self.a)))
        self.known = self.known[:0]
        while len(self.parked) > _GENERATIONS:
            self._merge_oldest()

    def _merge_oldest(self) -> None:
        """Join the two generations parked first: the older points' scores are in doubt by the path between them."""
        first, second = self.parked[0], self.parked[1]
        self.doubt[first.points] += max(0.0, first.path - second.path) * self.root_diagonal[first.points]
        self.parked[:2] = [_Parked(np.concatenate([first.points, second.points]), second.coef, second.path)]

    def nearest(self, violating: Index) -> Index:
        """Return who should be active next, among the points whose scores are known now."""
        candidates = np.concatenate([self.level.where, self.known])
        slack = self._middle_slack()
        slack[violating] = -np.inf
        return np.sort(candidates[self._nearest(slack[candidates])])

    def _rounding(self, coef: Vector, sample: Index) -> float:
        """Return a bound, from the points ``sample``, on how far scores in the rows' dtype are off; 0 for float64."""
        if self.exact:
            return 0.0
        both = np.union1d(sample, np.flatnonzero(coef))
        view = self.problem.kernel.restrict(both)
        exact = view.expand(coef[both], np.searchsorted(both, sample))
        return _NOISE * float(np.abs(exact - self.scores[sample]).max())

    def blurred(self, tau: float) -> bool:
        """Whether the rounding of float32 rows may be more than what is left to do: going on in them is of no use."""
        level = self.level
        coef = self.form.coef(level.a) if len(level.where) == self.n else level.a.reshape(self.form.copies, level.m).sum(axis=0)
        size = float(np.sqrt(coef @ coef)) * 0.25 * float(np.finfo(np.float32).eps) * float(self.diagonal.max())
        return size > max(_DISTURBING * tau, 0.0)

    def clear(self, tau: float) -> bool:
        """Whether the scores, which come from float32 rows, are known to be good enough for tau."""
        self.keep()
        coef = self.form.coef(self.a)
        support = np.flatnonzero(coef)
        if len(support) == 0:
            return True
        noise = self._rounding(coef, support[:: max(1, len(support) // _SAMPLE)])
        return self.level.violation + 2.0 * noise <= tau

    def sharpen(self, kernel: KernelOracle, tau: float) -> None:
        """Go on in float64 with the points near a violation; the others' scores are off by the rounding seen there."""
        coef, slack = self.form.coef(self.a), self.slack()
        close = np.flatnonzero(slack <= max(tau, float(slack.min())))
        sample = close[:: max(1, len(close) // _SAMPLE)]
        noise = self._rounding(coef, sample)
        near = slack <= max(_NEAR * tau, 2.0 * noise, float(slack.min()))
        if self.level.violation > _NEAR * tau:
            near = np.zeros(self.n, dtype=bool)
            middle = self._middle_slack()
            count = max(_LEAST, 3 * int(np.count_nonzero(middle <= 0.0)))
            near[np.argpartition(middle, count)[:count] if count < self.n else slice(None)] = True
        moved = self._moved()
        for generation in self.parked:
            self.doubt[generation.points] += (generation.path + moved) * self.root_diagonal[generation.points]
        self.doubt += noise
        self.doubt[near] = 0.0
        self.kernel, self.parked = kernel, []
        self.known = np.setdiff1d(self.everyone, self.level.where)
        self.activate(np.flatnonzero(near))
        self.level.compute_scores(coef)
        self.mark = (self.mark[0], self.level.scores.copy())
