"""The state of block SMO over all points: the active ones, and bounds of how far the scores of the others may have drifted.

Points that rest at a bound far from any violating pair are parked. Their stored scores stand still while w moves; by Cauchy
and Schwarz |f_p(w') - f_p(w)| <= |w' - w| sqrt(K_pp), and |w' - w|^2 = change' K change follows from the scores of the
active points without a kernel evaluation. So when the active points are done, only those parked points are evaluated again
whose distance from a violation is within that bound.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from harness import DualForm, KernelOracle, Problem, RowCache
from harness.support.arrays import Index, Vector
from harness_smo.active import CONVERGED, ActiveSet, DenseActiveSet, Settings, nearest, selection, variables_of
from harness_smo.strategies import Bounds, Focus, Parking, Precision, Sample
from harness_smo.tuning import TUNING


class State:
    """Variables, scores, the active points, and the strategies that change them.

    Attributes
    ----------
    a : (V,) variables
    scores : (n,) stored K coef; at parked points it may be off by ``drift``
    drift : (n,) bound of that error, in units of f(x); 0 where there is none but rounding
    snapshots : (k, n) coefficients at former times, the latest first
    snapshot : (n,) which of them the stored scores of a parked point belong to; -1 if it is not stored any more
    active : the active points; their variables and scores are newer than those above until :meth:`store`
    outcome, target, tau : how the last round ended, the violation that it was to reach, and that of the run
    """

    def __init__(
        self, problem: Problem, form: DualForm, start: Vector, kernel: KernelOracle, settings: Settings
    ) -> None:
        self.problem, self.form, self.settings = problem, form, settings._replace(memory=None)
        self.kernel, self.n, self.a = kernel, form.n, start
        self.outcome, self.target, self.tau = CONVERGED, np.inf, np.inf
        self.rounds = self.steps = self.fetched = 0  # those of active sets before this one
        self.support = int(np.count_nonzero(form.start))  # smallest number of support vectors
        ranked = self._is_ranked(start)
        if ranked:
            self.a = start = self._with_least_scores()
        coef = form.coef(start)
        warm = bool(coef.any())
        self.scores = kernel.expand(coef) if warm else np.zeros(self.n)
        self.drift = np.zeros(self.n)
        self.snapshot, self.snapshots = np.full(self.n, -1), np.empty((0, self.n))
        self.diagonal = problem.kernel.diagonal()
        words = min(max(int(settings.cache_mb * 2**20) // 8, 2 * self.n), max(2, self.n) * self.n)
        # memory that was written before has no page faults
        self.memory: Any = settings.memory
        if self.memory is None or len(self.memory) < words:
            self.memory = np.empty(words)
        self.everything = np.arange(self.n)
        self.precision, self.focus, self.parking = Precision(self, coef), Focus(), Parking()
        self.bounds = Bounds(form, float(self.diagonal.max()))
        sample = None if warm or settings.on_path else self._sample()
        if not warm and self.n <= self.settings.dense_points:
            self.form = self.bounds.begin() or form
        self.active = self._make_all_active()
        if sample is not None:
            self._begin_at(sample)
        if ranked:
            self._activate_boundary()

    @property
    def exact(self) -> bool:
        """Whether kernel values are in float64."""
        return bool(self.kernel.dtype == np.float64)

    # -- the start -----------------------------------------------------------------------------------

    def _sample(self) -> Sample | None:
        """Return the sample to start at, after which only the points near a violation have a matrix; None if none pays."""
        if self.n <= TUNING.sample_from or not self.bounds.wide:
            return None
        sample = Sample(self.problem)
        if not sample.sparse:
            return None
        self.settings = self.settings._replace(dense_points=0)
        return sample

    def _begin_at(self, sample: Sample) -> None:
        """Continue from the solution of a sample, with the points that it leaves nearest to a violation."""
        if sample.support * self.n <= TUNING.sparse_exact:
            self.kernel = self.problem.kernel
            self.active = self._make_all_active()
        self.a[variables_of(self.form, sample.points)] = sample.active.a
        self.active.compute_scores(self.form.coef(self.a))
        self.active.directions()
        self.set_mark()
        if self.settings.dense:
            slack = self.middle_slack()
            slack[self.active.free_points] = -np.inf
            self.activate(nearest(slack, TUNING.active_least))

    def _is_ranked(self, start: Vector) -> bool:
        """Whether to begin with other support vectors than the first points: where one sum is fixed, and they are many."""
        form, settings = self.form, self.settings
        many = TUNING.rank_least < self.support < self.n and form.groups == 1 and not form.relative
        return bool(many and settings.dense and settings.parking and (start == form.start).all())

    def _with_least_scores(self) -> Vector:
        """Return as many variables at their bounds as at the start of the form, those with the least mean kernel value.

        The mean is that over a sample of the points. Where all coefficients are positive, the support vectors are where the
        points are rare.
        """
        coef, a = np.zeros(self.n), np.empty(self.n)
        coef[:: self.n // TUNING.rank_sample] = 1.0
        a[np.argsort(self.kernel.expand(coef))] = np.sort(self.form.start)[::-1]
        return a

    def _activate_boundary(self) -> None:
        """Continue with the points nearest to the level that separates as many as support, if most are on its right side."""
        level = -float(np.partition(self.scores, self.support)[self.support])
        slack = self.slack(np.array([[level, level]]))
        wrong = int(np.count_nonzero(slack < 0.0))
        if 2 * wrong <= self.support:
            count = max(TUNING.active_least, int(TUNING.active_factor * wrong))
            self.activate(nearest(slack, count), dense=True)

    def restate(self, problem: Problem, form: DualForm) -> bool:
        """Continue with a problem over the same kernel whose bounds are wider; return False if it is none.

        Only with the whole matrix: the drift of parked points would have to be bounded anew.
        """
        from harness_smo import passes

        old, active = self.form, self.active
        whole = active.m == self.n and active.has_matrix and problem.kernel is self.problem.kernel
        if not whole or form.relative or form.start.any() or self.bounds.narrowed:
            return False
        variables = passes.Variables(self.a, old.lower, old.upper, old.linear, old.group)
        ratio = passes.ratio_of_bounds(variables, form.linear, form.lower, form.upper)
        if not ratio:
            return False
        self.problem, self.precision.noise = problem, 0.0
        active.cache.hit(self.n)  # the rows that another start would have computed
        self.rounds, self.steps, self.fetched = -active.rounds, -active.steps, -active.cache.fetched
        self.bounds.restate(form, 1.0 / ratio)
        self.bounds.widen(self)
        return True

    def restart(self, form: DualForm) -> None:
        """Begin again at 0 between the bounds of ``form``; the cached rows stay."""
        self.form = form
        self.a[:], self.scores[:], self.drift[:] = 0.0, 0.0, 0.0
        old = self.active
        self.rounds, self.steps = self.rounds + old.rounds, self.steps + old.steps
        self.active = self._make_active(self.everything, old.cache, dense=False)

    # -- the active points ---------------------------------------------------------------------------

    def _make_all_active(self) -> ActiveSet:
        few = self.n <= self.settings.dense_points
        points = self._grouped(self.everything) if few else self.everything
        cache = self._cache(points)
        return self._make_active(points, cache, dense=self.settings.dense and few and cache.capacity == self.n)

    def _grouped(self, points: Index) -> Index:
        """Return ``points``, the first group first: then their kernel matrix is the block of a descent."""
        form = self.form
        return points[np.argsort(form.group[points], kind="stable")] if form.copies == 1 < form.groups else points

    def _cache(self, points: Index) -> RowCache:
        """Return an empty cache of kernel rows between ``points``."""
        whole = isinstance(selection(points, self.n), slice)
        return RowCache(self.kernel if whole else self.kernel.restrict(points), self.memory)

    def _make_active(self, points: Index, cache: RowCache, *, dense: bool) -> ActiveSet:
        make = DenseActiveSet if dense else ActiveSet
        active = make(self.form, points, self.a, self.scores, self.diagonal, self.kernel, cache, self.settings)
        self._mark = self.form.coef(self.a), active.scores.copy()
        return active

    def store(self) -> None:
        """Copy the variables and scores of the active points to those of all."""
        active = self.active
        self.a[active.variables] = active.a
        self.scores[active.points] = active.scores

    def activate(self, points: Index, *, dense: bool = False) -> None:
        """Continue with ``points`` active; the others are parked. The active set must be stored.

        dense : whether their whole kernel matrix is worth its cost, which is not known of more than some thousand
        """
        self.add_drift()
        drifted = points[self.drift[points] > 0.0]
        if len(drifted):
            self.evaluate(drifted)
        self.parking.wait = 0
        old, whole = self.active, len(points) == self.n
        self.rounds, self.steps = self.rounds + old.rounds, self.steps + old.steps
        self.fetched += old.cache.fetched
        same_rows, had_matrix = old.kernel.dtype == self.kernel.dtype, isinstance(old, DenseActiveSet)
        worth = dense or (had_matrix and same_rows) or len(points) <= TUNING.dense_points
        if worth or not whole:
            points = self._grouped(points)
        cache = self._cache(points)
        dense = self.settings.dense and cache.capacity == len(points) and worth
        if same_rows and len(points) <= old.m and not had_matrix and not dense:
            position = np.full(self.n, -1, dtype=np.intp)
            position[old.points] = np.arange(old.m)
            stay = np.isin(old.points, points)
            cache = old.cache.moved(cache.kernel, position[points], np.flatnonzero(stay & old.free_points))
        self.active = self._make_active(points, cache, dense=dense)

    # -- parked points -------------------------------------------------------------------------------

    @property
    def parked(self) -> Any:
        """Whether each point is parked, (n,)."""
        parked = np.ones(self.n, dtype=bool)
        parked[self.active.points] = False
        return parked

    def set_mark(self) -> None:
        """Measure from now on how far w moves."""
        self._mark = self.form.coef(self.a), self.active.scores.copy()

    def moved(self) -> float:
        """Return |w - w_mark|, how far w moved since the last call; the active set must be stored."""
        coef, scores = self._mark
        self.set_mark()
        change = (self._mark[0] - coef)[self.active.points]
        square = max(0.0, float(change @ (self.active.scores - scores)))
        # where coefficients of nearly equal points move apart, rounding may exceed how far w moves
        unit = TUNING.value_rounding * float(np.finfo(self.kernel.dtype).eps)
        rounding = TUNING.rounding_bound**2 * unit * float(change @ change) * float(self.diagonal.max())
        return float(np.sqrt(square + rounding))

    def scale(self, factor: float) -> None:
        """Multiply w by ``factor``: the scores, and all that is stored about them."""
        self.scores *= factor
        self.drift *= factor
        self.snapshots *= factor
        self._mark = factor * self._mark[0], factor * self._mark[1]

    def add_drift(self) -> None:
        """Add to the drift of the parked points how far w moved."""
        parked, coef = self.parked, self._mark[0]
        current = parked & (self.drift == 0.0)
        if current.any():  # their scores are those of the coefficients at the mark
            self.snapshots = np.vstack([coef, self.snapshots[: TUNING.snapshots - 1]])
            self.snapshot += self.snapshot >= 0
            self.snapshot[self.snapshot >= TUNING.snapshots] = -1
            self.snapshot[current] = 0
        self.drift[parked] += self.moved() * np.sqrt(np.maximum(self.diagonal[parked], 0.0))

    def evaluate(self, points: Index) -> None:
        """Bring the scores of parked points up to date: by what changed since their snapshot, if it is stored."""
        coef, of = self.form.coef(self.a), self.snapshot[points]
        for k in np.unique(of).tolist():
            part = points[of == k]
            before = self.scores[part] if k >= 0 else 0.0
            self.scores[part] = before + self.kernel.expand(coef - self.snapshots[k] if k >= 0 else coef, part)
        self.drift[points] = 0.0

    def slack(self, ends: Any = None) -> Vector:
        """Return how far each point is from violating, with the present ends or others, (n,); at most 0 for free points."""
        from harness_smo.passes import Variables, distances

        form, ends = self.form, np.array(self.active.ends) if ends is None else ends
        variables = Variables(self.a, form.lower, form.upper, form.linear, form.group)
        distance: Vector = distances(variables, self.scores, ends)
        return distance

    def middle_slack(self) -> Vector:
        """Return the slack from the middle between the ends, (n,): at most 0 for points on its wrong side and free ones."""
        form, active = self.form, self.active
        free, middles = active.free, np.zeros(max(1, form.groups))
        gradient = form.gradient(self.scores)[active.variables]
        for k in range(form.groups):
            members = free & (active.group == k) if form.groups > 1 else free
            up, low = active.ends[k]
            middle = 0.5 * (up + low) if np.isfinite(up - low) else 0.0
            middles[k] = np.median(gradient[members]) if members.any() else middle
        return self.slack(np.column_stack([middles, middles]))

    def violating_parked(self, tau: float) -> Index:
        """Return the parked points that violate by more than ``tau``; evaluate those whose drift leaves that open."""
        self.store()
        if self.active.m == self.n:
            return self.everything[:0]
        self.add_drift()
        open_ = self.slack() < self.drift
        if self.bounds.narrowed:  # how far to stretch w follows from the scores of all support vectors
            open_ |= self.form.coef(self.a) != 0.0
        self.evaluate(np.flatnonzero(open_ & (self.drift > 0.0)))
        outside = np.flatnonzero(self.parked & (self.drift == 0.0) & (self.slack() < 0.0))
        return outside[:0] if len(outside) == 0 or self._extends_ends(outside, tau) else outside

    def _extends_ends(self, points: Index, tau: float) -> bool:
        """Extend the ends of the active set by those of ``points``, unless the violation exceeds tau then."""
        active, form, before = self.active, self.form, self.active.ends
        variables = variables_of(form, points)
        gradient, group = form.gradient(self.scores)[variables], form.group[variables]
        rise = np.where(self.a[variables] < form.upper[variables], gradient, -np.inf)
        fall = np.where(self.a[variables] > form.lower[variables], gradient, np.inf)
        active.ends = [
            (max(up, float(rise[group == k].max(initial=up))), min(low, float(fall[group == k].min(initial=low))))
            for k, (up, low) in enumerate(before)
        ]
        if active.violation <= tau:
            return True
        active.ends = before
        return False
