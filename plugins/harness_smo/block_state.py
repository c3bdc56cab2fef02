"""The state of block SMO over all points: who is active, what is known of the others, and how exactly.

Points that rest at a bound far from any violating pair are parked. Their scores stand still while w moves; by
Cauchy and Schwarz |f_p(w') - f_p(w)| <= |w' - w| sqrt(K_pp), and |w' - w|^2 = change' K change follows from the
scores of the active points at no kernel evaluation. So when the active points are done, only those parked points
are looked at again whose distance from violation is not beyond that bound.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from harness import DualForm, KernelOracle, Problem
from harness.support.arrays import Index, Vector
from harness_smo.block_cache import BlockRowCache
from harness_smo.block_level import WHOLE, Level, Settings, WholeLevel, variables_of

_STRETCH = 1.01  # of the start along its ray: less is not worth disturbing a good start
_TOUCHING = 1e-12  # relative: this close to its bound a variable is at it
_LEAST = 512  # points: fewer are never parked
_CROWDED = 0.8  # of the slots: more free variables than that are too many
_SHRINK = 0.6  # park only if at most this share stays active
_PATIENCE = 4  # doublings, at most, of the rounds until parking is tried again
_GENERATIONS = 6  # of parked points: each keeps the coefficients of its time
_ROUND = 1e6  # what a round costs beside its steps, in steps times variables
_WORTH = 3.0  # times its entries: what rounds must have cost before the whole matrix of the nearest points is computed
_ROOM = 2.0  # times the points that are free or violate: those that are gone on with
_SLACK = 1.1  # the same at least
_ALL = 5000  # points, at most, of which all matter
_FAR = 0.5  # of the loose violation: with less left, no other points are gone on with
_SMALL, _WAIT = 0.1, 60  # of the loose violation, and rounds
_FEW = 16384  # points: of more, too many matter for their matrix
_MANY = 0.1  # of the points: if more violate after all have had their turn, SMO is lost
# bounds narrower than the problem's, and wider step by step: at a large C, SMO finds its way from the optima of small ones
_LOOSE = 0.3  # of the mean |linear|: the violation at which the bounds are widened
WIDER = 4.0  # times
_MUCH = 256.0  # times: where the problem's bounds are not so much wider than the first, SMO finds its way by itself
_EASY, _WHOLE_EASY = 32.0, 4000  # times: up to here it needs few steps, and the whole matrix of more points pays
_MANY_USED = 0.6  # of some of them: support vectors; with fewer, fresh memory may take longer than its values save
# at bounds farther apart: where few points matter, no matrix of all is computed
_PROBED, _SOME = 1000, 256  # points beyond which some of them are asked, and how many
_ROUGH = 0.1  # of the mean |linear|: the violation that is left there
_FEW_USED, _FEW_BOUNDED = 0.33, 0.03  # of these: support vectors at most, and those at their bound
_FEW_EXACT = 700  # points that support, if as many of all as of these do: float64 is gone on with at once
_LAST = 0.9  # of the problem's bounds: whoever is that near goes all the way
_LOST = 20.0  # times the loose violation: wider apart than that the scores only swing
# when float32 rows are good enough for block SMO, and how it goes on in float64 where they are not
_SAMPLE = 16  # points, about, whose scores of both precisions are compared
_NOISE = 4.0  # times the largest difference seen between scores of float32 and float64
_TYPICAL = 0.25  # of its dtype's eps: relative rounding of a value, about
_SURE = 2.0  # times the rounding that was measured
_BLUR = 0.25  # of a violation: float32 rows that blur the scores by more are of no use
_NEAR_EXACT = 20.0  # times tau: points that close to a violation are looked at in float64
_LEAST_EXACT = 512  # points, at least, gone on with in float64 before the end is near
_ROOM_EXACT = 3  # times the points that are free or violate, the same


@dataclass
class _Parked:
    """Points parked together, when the coefficients were ``coef``, (n,); ``path`` bounds how far w moved since."""

    points: Index
    coef: Vector
    path: float = 0.0


class BlockState:
    """Variables, scores and the active level.

    Attributes
    ----------
    a : (V,) variables, always current
    scores : (n,) K coef: of active points current (in the level), of the others within ``doubt``
    doubt : (n,), in units of f(x); 0 where nothing but rounding can be off
    noise : what rounding of the rows does to the scores of a warm start; below it float32 would only disturb
    """

    def __init__(
        self, problem: Problem, form: DualForm, start: Vector, kernel: KernelOracle, settings: Settings
    ) -> None:
        self.problem, self.form, self.settings = problem, form, settings._replace(memory=None)
        # what rounding does to scores, in what is expected of it; None: not measured yet
        self.grain: float | None = None
        self.kernel = kernel
        self.n = form.n
        self.mark: tuple[Vector, Vector]  # coefficients and scores of the level when its way was last asked for
        self.a = start
        coef = form.coef(start)
        self.scores = kernel.expand(coef) if coef.any() else np.zeros(self.n)
        if coef.any() and not any(form.start[form.group == k].sum() for k in range(form.groups)):
            coef = self._stretch(coef)
        self.doubt = np.zeros(self.n)
        support = np.flatnonzero(coef)
        self.noise = rounding(problem.kernel, self.scores, coef, support, kernel.dtype)
        self.diagonal = problem.kernel.diagonal()
        self.root_diagonal = np.sqrt(np.maximum(self.diagonal, 0.0))
        words = min(max(int(settings.cache_mb * 2**20) // 8, 2 * self.n), max(2, self.n) * self.n)
        # what was written before is written again at no page fault
        self.memory: Any = settings.memory
        if self.memory is None or len(self.memory) < words:
            self.memory = np.empty(words)
        self.parked: list[_Parked] = []
        self.known: Index = np.empty(0, dtype=np.intp)  # parked points computed at the last look
        self.rounds = self.steps = self.fetched = 0  # of the levels before this one
        self.best, self.since = np.inf, 0  # violation that was halved last, and the round when it was
        self.vain, self.again = 0, 0  # tries to park points that found too few, and the level's round of the next one
        self.everyone = np.arange(self.n)
        self.narrowed = Narrowed(form, float(self.diagonal.max()))
        few = None if coef.any() or settings.whole != WHOLE else self._ask(problem)
        if not coef.any() and self.n <= self.settings.whole:
            self.form = self.narrowed.begin() or form
        self.level = self._make_level(self.everyone, BlockRowCache(kernel, self.memory))
        if few is not None:
            self._begin_at(few, problem)

    def _ask(self, problem: Problem) -> Few | None:
        """Decide up to how many points the matrix of all is computed; where it may not pay, some of them are asked.

        Returns their optimum if it is to be the start.
        """
        width, large = self.narrowed.width, self.n > WHOLE
        easy = large and self.n <= _WHOLE_EASY and width <= _EASY and self.form.copies == 1 and not self.settings.fixed
        if self.n <= _PROBED or not (self.narrowed.is_far or easy):
            return None
        few = Few(problem)
        if self.narrowed.is_far and few.few_matter:
            self.settings = self.settings._replace(whole=0)
            return few
        if easy and few.used >= _MANY_USED:
            self.settings = self.settings._replace(whole=_WHOLE_EASY)
        return None

    def _begin_at(self, few: Few, problem: Problem) -> None:
        """Go on from the optimum over some points, with those that it leaves nearest to a violation."""
        if few.used * self.n <= _FEW_EXACT:
            self.kernel = problem.kernel
            self.level = self._make_level(self.everyone, BlockRowCache(self.kernel, self.memory))
        level = self.level
        self.a[variables_of(self.form, few.points)] = few.level.a
        level.compute_scores(self.form.coef(self.a))
        level.directions()
        self.mark = (self.form.coef(self.a), level.scores.copy())
        if not self.settings.fixed:
            slack = self.middle_slack()
            slack[level.free_points] = -np.inf
            self.activate(np.sort(np.argpartition(slack, _LEAST)[:_LEAST]))

    def restate(self, problem: Problem, form: DualForm) -> bool:
        """Go on with another problem of the same points and kernel values, whose bounds are wider; False if it is no such one.

        Only over the whole matrix: what is known of parked points would have to be told anew.
        """
        old, level = self.form, self.level
        if level.m < self.n or not level.has_matrix or form.relative or form.start.any() or self.narrowed.cap < 1.0:
            return False
        widest = float(old.upper.max())
        ratio = float(form.upper.max()) / widest if widest > 0.0 else np.inf
        if not (1.0 <= ratio < np.inf and (form.linear == old.linear).all()):
            return False
        for new, before in ((form.upper, old.upper), (form.lower, old.lower)):
            if (np.abs(new - ratio * before) > _TOUCHING * np.abs(new)).any():
                return False
        self.problem, self.noise = problem, 0.0
        level.cache.hit(self.n)  # the rows that another start would have computed
        self.rounds, self.steps, self.fetched = -level.rounds, -level.steps, -level.cache.fetched
        self.narrowed.restate(form, 1.0 / ratio)
        self.widen()
        return True

    def widen(self) -> None:
        """Go on with wider bounds: see :class:`Narrowed`."""
        self.keep()
        at_once = not self.exact and blurred(self, self.narrowed.loose / WIDER)
        self.form, factor = self.narrowed.widen(self.form, self.a, self.scores, at_once)
        self.scores *= factor
        self.doubt *= factor
        self.mark = (factor * self.mark[0], factor * self.mark[1])
        for generation in self.parked:
            generation.coef, generation.path = factor * generation.coef, factor * generation.path
        self.level.rebound(self.form, self.a[self.level.variables], self.scores[self.level.where])

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

    def _make_level(self, where: Index, cache: BlockRowCache) -> Level:
        points: Any = slice(None) if len(where) == self.n else where
        a, scores, diagonal = self.a[variables_of(self.form, where)], self.scores[points], self.diagonal[points]
        settings, fits = self.settings, cache.capacity >= len(where)
        whole = not settings.fixed and fits and (len(where) < self.n or self.n <= settings.whole)
        level = (WholeLevel if whole else Level)(self.form, where, a, scores, diagonal, self.kernel, cache, settings)
        self.mark = (self.form.coef(self.a)[where], level.scores.copy())
        return level

    # -- moving between levels -----------------------------------------------------------------------

    def keep(self) -> None:
        """Bring the level's variables and scores to the whole."""
        level = self.level
        self.a[level.variables] = level.a
        self.scores[level.where] = level.scores

    def moved(self) -> float:
        """Return how far w moved since this was last asked, |w - w_mark|."""
        coef, scores = self.mark
        now = self.form.coef(self.a)[self.level.where]
        self.mark = (now, self.level.scores.copy())
        change, unit = now - coef, _TYPICAL * float(np.finfo(self.kernel.dtype).eps)
        square = max(0.0, float(change @ (self.level.scores - scores)))
        # where coefficients of points that are nearly the same move apart, rounding is larger than how far w moves
        return float(np.sqrt(square + _NOISE**2 * unit * float(change @ change) * float(self.diagonal.max())))

    def stale(self) -> bool:
        """Whether a small violation has not been halved for many rounds: they chase the rounding of their rows."""
        violation, rounds = self.level.violation, self.rounds + self.level.rounds
        if violation < 0.5 * self.best or violation > _SMALL * self.narrowed.loose:
            self.best, self.since = violation, rounds
        return rounds - self.since > _WAIT

    def crowded(self) -> bool:
        """Whether the rows of the free variables, which keep moving, hardly find room: then shorter rows pay."""
        level = self.level
        capacity, sizeable = level.cache.capacity, level.rounds >= self.again and level.m > _LEAST
        return sizeable and capacity < level.m and int(np.count_nonzero(level.free)) > _CROWDED * capacity

    def slack(self) -> Vector:
        """Return how far each point is from violating with the current ends, (n,); 0 or less for free points."""
        return self._distances(np.array(self.level.ends))

    def _distances(self, ends: Any) -> Vector:
        from harness_smo.block_passes import Variables, distances

        form = self.form
        found: Vector = distances(Variables(self.a, form.lower, form.upper, form.linear, form.group), self.scores, ends)
        return found

    def focus(self) -> bool:
        """Go on with the points nearest to a violation, if their whole kernel matrix is worth its cost by now.

        Where SMO is lost after every point has had its turn, it begins again, between narrow bounds.
        """
        level, narrowed = self.level, self.narrowed
        if level.has_matrix or self.settings.fixed or self.n > _FEW or level.violation < _FAR * narrowed.loose:
            return False
        spent = _ROUND * level.rounds + level.work
        free, most = int(np.count_nonzero(level.free)), int(np.sqrt(self.memory.nbytes // self.kernel.dtype.itemsize))
        least = max(_LEAST, int(_ROOM * free))
        lost = level.m == self.n and level.rounds == self.n // self.settings.size and level.violation > narrowed.lost
        if not lost and (least > _ROOM * most or spent < _WORTH * least * least):
            return False
        self.keep()
        slack = self.middle_slack()[level.where]
        near = int(np.count_nonzero(slack <= 0.0))
        if lost and near - free > _MANY * self.n and self._restart():
            return True
        count = min(most, max(_LEAST, int(_ROOM * near)))
        everyone = count >= level.m
        if count < _SLACK * near or spent < _WORTH * min(count, level.m) ** 2 or (everyone and level.m > _ALL):
            return False
        if everyone:  # nearly all of them matter
            self.settings = self.settings._replace(whole=max(self.settings.whole, level.m))
        self.activate(level.where if everyone else level.where[np.sort(np.argpartition(slack, count)[:count])])
        return True

    def _restart(self) -> bool:
        """Begin again at 0 between narrow bounds, if there are any; the rows held stay."""
        form = self.narrowed.begin()
        if form is None:
            return False
        level = self.level
        self.form, self.parked, self.known = form, [], self.known[:0]
        self.a[:], self.scores[:], self.doubt[:] = 0.0, 0.0, 0.0
        self._account()
        level.cache.fetched = 0
        self.level = self._make_level(self.everyone, level.cache)
        return True

    def _account(self) -> None:
        """Add what the level has done to the sums over all before it."""
        level = self.level
        self.rounds += level.rounds
        self.fetched += level.cache.fetched
        self.steps += level.steps

    def shrink(self) -> None:
        """Park the points farthest from violation, unless too few would be."""
        self.keep()
        level = self.level
        where = level.where[self._nearest(self.middle_slack()[level.where])]
        if len(where) > _SHRINK * level.m:
            # ranking all points costs as much as a part of a round: the more often in vain, the longer it can wait
            self.vain = min(self.vain + 1, _PATIENCE)
            self.again = level.rounds + 2**self.vain
        else:
            self.activate(where)

    def _nearest(self, slack: Vector) -> Index:
        """Return which points to go on with: those that violate or are free, and the next nearest.

        There should be room for twice as many rows as points at hand; beyond that, longer rows save the
        parked points a later look.
        """
        near = max(1, int(np.count_nonzero(slack <= 0.0)))
        words = self.memory.nbytes // self.kernel.dtype.itemsize
        whole = min(int(np.sqrt(words)), max(_LEAST, int(_ROOM * near)))
        if not self.settings.fixed and _SLACK * near <= whole < len(slack):
            return np.sort(np.argpartition(slack, whole)[:whole])
        # no more than now unless need be: the rows held can be carried over
        count = max(_LEAST, 2 * near, min(self.level.m, words // (2 * near)))
        if count >= len(slack):
            return np.arange(len(slack))
        return np.sort(np.argpartition(slack, count)[:count])

    def middle_slack(self) -> Vector:
        """Slack against the middle of the ends, at most 0 for what is on its wrong side and for free points."""
        form, level = self.form, self.level
        free, middles = level.free, np.zeros(max(1, form.groups))
        active = form.gradient(self.scores)[level.variables]
        for k in range(form.groups):
            own = free & (level.group == k) if form.groups > 1 else free
            up, low = level.ends[k]
            middles[k] = np.median(active[own]) if own.any() else 0.5 * (up + low) if np.isfinite(up - low) else 0.0
        return self._distances(np.column_stack([middles, middles]))

    def replace(self, where: Index) -> None:
        level = self.level
        self._account()
        self.vain = self.again = 0
        same = bool(level.cache.kernel.dtype == self.kernel.dtype)
        position = np.full(self.n, -1, dtype=np.intp)
        position[level.where] = np.arange(level.m)
        held = same and level.has_matrix and len(where) == level.m < self.n
        if held:  # those that stay do so where they are, and the new ones take the places of those that go
            new, gone, where = where[position[where] < 0], ~np.isin(level.where, where), level.where.copy()
            where[gone] = new
        elif len(where) < self.n and self.form.copies == 1:  # descents want the groups apart
            where = where[np.argsort(self.form.group[where], kind="stable")]
        kernel = self.kernel if len(where) == self.n else self.kernel.restrict(where)
        if same and len(where) <= level.m and not isinstance(level, WholeLevel):
            place = position[where]
            staying = np.zeros(level.m, dtype=bool)
            staying[place[place >= 0]] = True
            cache = level.cache.moved(kernel, place, np.flatnonzero(staying & level.free_points))
        else:
            cache = BlockRowCache(kernel, self.memory)
        self.level = self._make_level(where, cache)
        if held and isinstance(level, WholeLevel) and isinstance(self.level, WholeLevel):
            self.level.exchange(level, gone)

    def look(self, tau: float) -> Index:
        """Look at the parked points that may violate; return those that do.

        All points neither returned nor parked any more are known not to violate, up to rounding.
        """
        self.keep()
        if not self.parked and not len(self.known):
            return self.known
        moved, slack, coef = self.moved(), self.slack(), self.form.coef(self.a)
        # how far to stretch w follows from the scores of all support vectors
        needed = (coef != 0.0) & (self.narrowed.cap < 1.0)
        looked = [self.known]
        for generation in self.parked:
            generation.path += moved
            points = generation.points
            unsure = slack[points] < generation.path * self.root_diagonal[points] + self.doubt[points]
            unsure |= needed[points]
            generation.points = points[~unsure]
            looked.append(points[unsure])
            if unsure.any():
                self.scores[points[unsure]] += self.kernel.expand(coef - generation.coef, points[unsure])
        self.known = np.concatenate(looked)
        # what is still in doubt is so by how it was computed once, and is computed anew
        doubtful = self.known[(self.doubt > 0.0)[self.known] & ((self.slack() < self.doubt) | needed)[self.known]]
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
        moved = self.moved()
        for generation in self.parked:
            generation.path += moved
        known = np.concatenate([self.level.where, self.known])
        self.known = known[~np.isin(known, where)]
        doubtful = where[self.doubt[where] > 0.0]
        if len(doubtful):  # far enough from a violation to rest, not to move
            self.scores[doubtful] = self.kernel.expand(self.form.coef(self.a), doubtful)
            self.doubt[doubtful] = 0.0
        self.replace(where)
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

    def next(self, violating: Index) -> Index:
        """Return who should be active next, among the points whose scores are known now.

        With a matrix at hand as many as now where that will do: those farthest from a violation make way.
        """
        where, slack = self.level.where, self.middle_slack()
        if self.level.has_matrix:
            most = max(_LEAST, len(where)) // 2
            if len(violating) > most:
                violating = violating[np.argpartition(slack[violating], most)[:most]]
            left = len(where) - len(violating)
            order = np.argpartition(slack[where], left) if 0 < left < len(where) else where[:0]
            if len(order) and (slack[where[order[left:]]] > 0.0).all():
                return np.sort(np.concatenate([where[order[:left]], violating]))
        if self.level.has_matrix or self.exact:
            return np.union1d(where, violating)
        candidates = np.concatenate([where, self.known])
        slack[violating] = -np.inf
        return np.sort(candidates[self._nearest(slack[candidates])])


class Few:
    """The optimum over some of the points alone: about the same part matters of all of them.

    Attributes
    ----------
    points, level : they, and their variables at the optimum, nearly
    used : which part supports it; infinite if SMO does not find it at once
    few_matter : whether few support it, and fewer at a bound: few kernel rows are needed, and bounds far apart do no harm
    """

    def __init__(self, problem: Problem) -> None:
        self.points = np.arange(0, problem.n, problem.n // _SOME)
        part = problem.restrict(self.points)
        form, kernel, m = part.dual_form(), part.kernel, len(self.points)
        cache, own = BlockRowCache(kernel, np.empty(m * m)), np.arange(m)
        level = WholeLevel(form, own, form.start.copy(), np.zeros(m), kernel.diagonal(), kernel, cache, Settings(1.0))
        rough = _ROUGH * float(np.abs(form.linear).mean())
        level.round(rough)
        found = not level.faces and level.violation <= rough
        used = int(np.count_nonzero(form.coef(level.a)))
        bounded = used - int(np.count_nonzero(level.free_points))
        self.level, self.used = level, used / m if found else np.inf
        self.few_matter = self.used <= _FEW_USED and bounded <= _FEW_BOUNDED * m


# -- bounds narrower than the problem's, and wider step by step: at a large C, SMO finds its way from the optima of small ones
# At C_0, where one step takes a variable from one bound to the other, the optimum is found in about as many steps as there
# are points. From there the variables are stretched along the ray from 0, those at a bound to the new bound, and a few
# steps mend what that has put wrong. With the bounds far apart from the start SMO leaves most variables free, a little
# above 0, and the free variables' equations are badly conditioned.
#
# Source: the warm starts along C of DeCoste and Wagstaff (KDD 2000), and of Hastie, Rosset, Tibshirani, Zhu, JMLR 5 (2004),
# whose path this follows loosely.


class Narrowed:
    """The problem's form with bounds ``cap`` times as wide.

    Attributes
    ----------
    cap : above 0, at most 1
    width : times the first bounds, those at which one step takes a variable from one to the other, that the problem's are
        as wide; infinite if it has none, or had them before
    loose : the violation that is good enough while ``cap`` is below 1
    """

    def __init__(self, form: DualForm, largest: float) -> None:
        """``largest`` is the largest K_ii."""
        self.whole, self.cap = form, 1.0
        size = float(np.abs(form.linear).mean())
        self.loose, self.lost = _LOOSE * size, _LOST * _LOOSE * size
        widest = float(form.upper.max() - form.lower.min()) * largest
        # a sum that is not 0, or a bound that is none, is no multiple of narrower ones
        sound = not form.relative and not form.start.any() and 0.0 < widest < np.inf
        self.width = widest / size if sound else np.inf

    def restate(self, form: DualForm, cap: float) -> None:
        """Go on to another form with the same ``linear``, from bounds ``cap`` times as wide."""
        self.whole, self.cap = form, cap

    def begin(self) -> DualForm | None:
        """Return the form with the first bounds, None if it has none that are much narrower, or had them before."""
        far, width, self.width = self.is_far, self.width, np.inf
        return self._form(1.0 / width) if far else None

    @property
    def is_far(self) -> bool:
        """Whether the problem's bounds are much wider than the first ones."""
        return _MUCH < self.width < np.inf

    def _form(self, cap: float) -> DualForm:
        self.cap, whole = cap, self.whole
        return whole if cap == 1.0 else replace(whole, lower=cap * whole.lower, upper=cap * whole.upper)

    def widen(self, form: DualForm, a: Vector, scores: Vector, at_once: bool) -> tuple[DualForm, float]:
        """Stretch the variables ``a``, (V,), in place along the ray from 0, as far as that gains, into wider bounds.

        Returns the form with these, and by what factor the scores grow.

        Parameters
        ----------
        form : with the bounds so far
        scores : (n,) K coef
        at_once : go to the problem's own bounds now; so it is if no variable is at a bound
        """
        at_top, at_bottom = (a >= form.upper) & (form.upper > 0.0), (a <= form.lower) & (form.lower < 0.0)
        wider = min(1.0 / self.cap, WIDER)
        if at_once or self.cap * wider > _LAST or not (at_top.any() or at_bottom.any()):
            wider = 1.0 / self.cap
        curvature, slope = float(form.coef(a) @ scores), float(form.linear @ a)
        factor = min(max(1.0, slope / curvature if curvature > 0.0 else 1.0), wider)
        new = self._form(1.0 if wider == 1.0 / self.cap else self.cap * wider)
        a *= factor
        if factor == wider:  # at its bound to the last bit: one rounding error away it would count as free
            a[at_top], a[at_bottom] = new.upper[at_top], new.lower[at_bottom]
        return new, factor


# -- when float32 rows are good enough for block SMO, and how it goes on in float64 where they are not -----------------
# Scores that come from float32 rows are off by the rounding of the rows times the coefficients. It is measured on a
# sample of points, and estimated while the rounds go on: beyond it, float32 only chases its own noise.


def rounding(kernel: KernelOracle, scores: Vector, coef: Vector, points: Index, dtype: Any) -> float:
    """Return a bound, from a sample of ``points``, on how far ``scores`` of rows in ``dtype`` are off; 0 for float64.

    kernel : of all points, in float64
    """
    if dtype == np.float64 or len(points) == 0:
        return 0.0
    sample = points[:: max(1, len(points) // _SAMPLE)]
    both = np.union1d(sample, np.flatnonzero(coef))
    exact = kernel.restrict(both).expand(coef[both], np.searchsorted(both, sample))
    return _NOISE * float(np.abs(exact - scores[sample]).max())


def blur(state: BlockState) -> float:
    """Return what rounding of float32 rows does to the scores, about: its squares add up over the variables."""
    a = state.level.a
    return _TYPICAL * float(np.finfo(np.float32).eps) * float(np.sqrt(a @ a)) * float(state.diagonal.max())


def blurred(state: BlockState, violation: float) -> bool:
    """Whether rounding of float32 rows may blur a violation."""
    return blur(state) > _BLUR * violation


def clear(state: BlockState, tau: float) -> bool:
    """Whether the level's scores, which come from float32 rows, are known to be good enough for tau."""
    return state.level.violation + measured_blur(state) <= tau


def measured_blur(state: BlockState) -> float:
    """Return what rounding of float32 rows may have done to the level's scores; 0 in float64.

    It is measured once, and from then on goes with what is expected of it.
    """
    expected = 0.0 if state.exact else blur(state)
    if state.grain is None and expected > 0.0:
        state.keep()
        coef = state.form.coef(state.a)
        noise = rounding(state.problem.kernel, state.scores, coef, np.flatnonzero(coef), state.kernel.dtype)
        state.grain = noise / expected
    return _SURE * (state.grain or 0.0) * expected


def sharpen(state: BlockState, kernel: KernelOracle, tau: float) -> None:
    """Go on in float64 with the points near a violation; the others' scores are off by the rounding seen there."""
    state.keep()
    coef, slack, noise = state.form.coef(state.a), state.slack(), measured_blur(state) / _SURE
    near = slack <= max(_NEAR_EXACT * tau, 2.0 * noise, float(slack.min()))
    if state.level.violation > _NEAR_EXACT * tau:  # the ends are far apart: they do not say who is near
        middle = state.middle_slack()
        count = max(_LEAST_EXACT, _ROOM_EXACT * int(np.count_nonzero(middle <= 0.0)))
        near = np.zeros(state.n, dtype=bool)
        near[np.argpartition(middle, count)[:count] if count < state.n else slice(None)] = True
    moved = state.moved()
    for generation in state.parked:
        state.doubt[generation.points] += (generation.path + moved) * state.root_diagonal[generation.points]
    state.doubt += noise
    state.doubt[near] = 0.0
    state.kernel, state.parked = kernel, []
    state.known = np.setdiff1d(state.everyone, state.level.where)
    state.activate(np.flatnonzero(near))
    state.level.compute_scores(coef)
    state.mark = (state.mark[0], state.level.scores.copy())
