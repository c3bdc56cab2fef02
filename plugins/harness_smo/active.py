"""The active points of block SMO: choose a working set, descend in it, update the scores."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from harness import DualForm, KernelOracle, RowCache
from harness.support.arrays import Block, Index, Vector
from harness_smo.tuning import TUNING

# how a round ended
CONVERGED, MOVED, STALLED = 0, 1, 2


def selection(points: Index, n: int) -> Any:
    """Return ``points`` as an index; a slice, which copies nothing, if they are all, in order."""
    return slice(None) if len(points) == n and (points[1:] > points[:-1]).all() else points


def variables_of(form: DualForm, points: Index) -> Any:
    """Return the index of the variables of ``points``; a slice if they are all, in order."""
    if isinstance(selection(points, form.n), slice):
        return slice(None)
    return np.concatenate([points + copy * form.n for copy in range(form.copies)])


class Settings(NamedTuple):
    """How a descent is carried out.

    cache_mb : memory for kernel rows, in MB
    working_set : variables of a working set
    dense : whether whole kernel matrices may be computed
    parking : whether points may be parked while SMO moves
    newton_price : cost of SMO steps before a Newton step, over the cost of that
    on_path : whether the whole kernel matrix, once computed, serves every C of a path
    dense_points : number of points up to which the whole kernel matrix is computed at once
    memory : memory for kernel rows of a state that is over, to be used again; None if there is none
    """

    cache_mb: float
    working_set: int = TUNING.working_set
    dense: bool = True
    parking: bool = True
    newton_price: float = 1.0
    on_path: bool = False
    dense_points: int = TUNING.dense_points
    memory: Vector | None = None


class ActiveSet:
    """The active points with their variables and scores; kernel rows are cached as far as they fit.

    Attributes
    ----------
    points : (m,) indices of the active points
    variables : index of their variables; variable v of the active set belongs to active point v mod m
    a, lower, upper, linear, group : (copies * m,); ``a`` changes
    scores : (m,) K coef at the active points; changes
    ends : for each group the largest gradient that may rise and the smallest that may fall, at the last look
    rounds, steps : of SMO
    w : number of variables that SMO chooses from: m where the two of a point are one of either sign, which they are unless
        they belong to two groups
    """

    has_matrix: bool = False  # whether the whole kernel matrix is in memory
    matrix: Block

    def __init__(
        self, form: DualForm, points: Index, a: Vector, scores: Vector, diagonal: Vector, whole: KernelOracle,
        cache: RowCache, settings: Settings,
    ) -> None:  # fmt: skip
        """``a``, ``scores`` and ``diagonal`` are those of all points, as is ``whole``; the kernel of ``cache`` is over ``points``."""
        self.points, self.settings = points, settings
        self.whole, self.kernel, self.cache = whole, cache.kernel, cache
        self.m = len(points)
        chosen = selection(points, form.n)
        self.variables: Any = chosen if isinstance(chosen, slice) else variables_of(form, points)
        self.group, self.linear = form.group[self.variables], form.linear[self.variables]
        self.a, self.scores = a[self.variables], scores[chosen]
        self.diagonal = diagonal[chosen].astype(self.kernel.dtype)
        self.previous: Index = np.empty(0, dtype=np.intp)  # the last working set
        self.scratch: Block = np.empty(0, self.kernel.dtype)
        self.ends: list[tuple[float, float]] = []
        self.no_ends = np.array(form.groups * [[-np.inf, np.inf]] or [[0.0, 0.0]])  # those of no variables
        self.rounds = self.steps = 0
        self.w = self.m if form.groups < 2 else len(self.a)
        self.cut = int(np.count_nonzero(self.group[: self.w] == 0)) if form.groups else -1
        self.set_bounds(form)

    def set_bounds(self, form: DualForm) -> None:
        """Continue between the bounds of ``form``, with the variables and scores as they are."""
        from harness_smo.passes import Variables

        self.form = form
        self.lower, self.upper = form.lower[self.variables], form.upper[self.variables]
        self.arrays = Variables(self.a, self.lower, self.upper, self.linear, self.group)

    @property
    def free(self) -> Any:
        """Whether each variable is strictly between its bounds, (copies * m,)."""
        return (self.a > self.lower) & (self.a < self.upper)

    @property
    def free_points(self) -> Any:
        """Whether each point has a free variable, (m,)."""
        return self.free.reshape(self.form.copies, self.m).any(axis=0)

    @property
    def violation(self) -> float:
        """Largest violation of the optimality conditions among the active variables."""
        return self.form.violation(self.ends)

    def directions(self) -> tuple[Vector, Vector]:
        """Return the gradient where a variable may rise, else -inf, and where it may fall, else inf; set the ends."""
        from harness_smo import passes

        rise, fall, ends = np.empty(self.w), np.empty(self.w), self.no_ends.copy()
        passes.directions(self.arrays, self.scores, ends, rise, fall)
        self.ends = ends.tolist()
        return rise, fall

    def round(self, tau: float) -> int:
        """Descend in one working set; return CONVERGED, MOVED or STALLED."""
        rise, fall = self.directions()
        if self.violation <= tau:
            return CONVERGED
        chosen, cut = self._choose(rise, fall)
        # a working set of all variables need not be solved twice
        share = TUNING.inner_violation * self.violation if len(chosen) < self.w else 0.0
        limit = TUNING.inner_steps * len(chosen)
        moved = self._descend(chosen, cut, max(0.5 * tau, share), limit)
        self.previous = chosen
        return MOVED if moved else STALLED

    def _descend(self, chosen: Index, cut: int, tau: float, limit: int) -> int:
        """Take at most ``limit`` steps on the variables ``chosen``; return how many of them moved.

        cut : where the second group starts, if there are two
        """
        from harness_smo.descent import WorkingSet, pair_descent

        other = chosen + self.m if self.w < len(self.a) else chosen  # the second variable of a point, which is negative
        before = self.a[chosen] if other is chosen else self.a[chosen] + self.a[other]
        # a point's two variables have the slopes middle - tube and middle + tube
        middle = 0.5 * (self.linear[chosen] + self.linear[other])
        tube = 0.5 * (self.linear[other] - self.linear[chosen])
        points, block = chosen % self.m, self._room(len(chosen))
        self.kernel.fill(points, block, None, points)
        a, gradient = before.copy(), middle - self.scores[points]
        work = WorkingSet(block, self.diagonal[points], a, self.lower[other], self.upper[chosen], gradient, tube)
        self.steps += pair_descent(work, cut if self.form.groups else -1, tau, limit)
        self.rounds += 1
        self.a[chosen] = a
        if other is not chosen:
            self.a[chosen], self.a[other] = np.maximum(a, 0.0), np.minimum(a, 0.0)
        moved = np.flatnonzero(a != before)
        if len(moved):
            self._update(chosen[moved], (a - before)[moved])
        return len(moved)

    def _room(self, w: int) -> Block:
        """Return memory for a block, (w, w): the same at each call, as fresh memory has page faults."""
        if len(self.scratch) < w * w:
            self.scratch = np.empty(w * w, self.kernel.dtype)
        return self.scratch[: w * w].reshape(w, w)

    def _choose(self, rise: Vector, fall: Vector) -> tuple[Index, int]:
        """Return the working set, the first group first, and where the second group starts; ``rise`` and ``fall`` change."""
        from harness_smo.passes import choose, staying

        groups, size, ends = self.form.groups, self.settings.working_set, np.array(self.ends)
        group = self.group[: self.w]
        stay = staying(self.previous, rise, fall, ends, group, int(TUNING.staying_share * size))
        return choose(rise, fall, ends, group, groups, stay, size)

    def compute_scores(self, coef: Vector) -> None:
        """Compute the scores from the coefficients of all points, (n,), and cache the rows of the free points."""
        points = np.flatnonzero(self.free_points)[: self.cache.capacity]
        slots = self.cache.reserve(points)
        self.scores[:] = 0.0
        self.cache.compute(points, slots, self._adding(slots, coef[self.points[points]]))
        self._add_others(coef, self.points[points])

    def _add_others(self, coef: Vector, done: Index) -> None:
        """Add what points other than ``done`` contribute to the scores."""
        rest = coef.copy()
        rest[done] = 0.0
        others = np.flatnonzero(rest)
        if len(others) and self.m == self.whole.n:
            self.scores += self.whole.expand(rest)
        elif len(others):
            # over the points concerned alone: the whole need not be laid out in float64
            both = np.union1d(self.points, others)
            self.scores += self.whole.restrict(both).expand(rest[both], np.searchsorted(both, self.points))

    def _adding(self, slots: Index, change: Vector) -> Callable[[int, int], None]:
        """Return a function that adds a range of the rows in ``slots``, times ``change``, to the scores."""
        return partial(self.cache.add_part, self.scores, slots, change)

    def _update(self, variables: Index, change: Vector) -> None:
        """Add the change of the variables to the scores of all active points."""
        points, change, cache = *self._changed_points(variables, change), self.cache
        resting = ~self.free_points[points]
        cached = cache.slot_of[points] >= 0
        cache.used(points[cached])
        cache.hit(int(np.count_nonzero(cached)))
        # a point at a bound seldom moves again: its row is stored last, and only where slots abound
        missing = np.flatnonzero(~cached)
        moving, arrived = missing[~resting[missing]], missing[resting[missing]]
        stored = np.concatenate([moving, arrived[: cache.roomy]])[: cache.capacity - int(np.count_nonzero(cached))]
        passing = np.setdiff1d(missing, stored)
        slots, in_cache = cache.reserve(points[stored]), cache.slot_of[points[cached]]
        # along whole rows, which lie far apart
        self.kernel.share_range(self._adding(in_cache, change[cached]), self.m, len(in_cache))
        cache.compute(points[stored], slots, self._adding(slots, change[stored]))
        cache.at_rest(points[resting])
        if len(passing):
            coef = np.zeros(self.m)
            coef[points[passing]] = change[passing]
            self.scores += self.kernel.expand(coef)
            cache.pass_by(points[passing])

    def _changed_points(self, variables: Index, change: Vector) -> tuple[Index, Vector]:
        """Return the points of ``variables``, each once, and the change of their coefficients."""
        if self.w == self.m:
            return variables, change
        points, inverse = np.unique(variables % self.m, return_inverse=True)
        return points, np.bincount(inverse, weights=change).astype(np.float64)


class DenseActiveSet(ActiveSet):
    """Active points whose whole kernel matrix fits in memory; SMO and Newton steps take turns over it.

    Of two groups the first one comes first. The two variables of a point are one of either sign in a descent, unless they
    belong to two groups.

    Attributes
    ----------
    matrix : (m, m), in the cache's memory; exists if ``has_matrix``
    """

    def compute_matrix(self) -> None:
        """Compute the kernel matrix: from now on a round makes full use of it."""
        everything = np.arange(self.m)
        self.cache.compute(everything, self.cache.reserve(everything))
        self.matrix, self.has_matrix = self.cache.rows, True
        self.unpaid: float | None = None  # steps times variables since the last Newton step; None before any

    @cached_property
    def work(self) -> Any:
        """The working set of all variables, which :meth:`settle` states and descents change."""
        from harness_smo.descent import WorkingSet

        return WorkingSet(self.cache.rows, self.diagonal, *np.empty((5, self.w)))

    def settle(self, *, descended: bool = False) -> tuple[int, int]:
        """Take over what a descent has moved, and state the next one; return how many moved and how many are free."""
        from harness_smo import passes

        ends = self.no_ends.copy()
        moved, free = passes.settle(self.arrays, self.scores, ends, self.work, descended)
        self.ends = ends.tolist()
        self.cache.hit(moved)
        return moved, free

    def round(self, tau: float) -> int:
        """Work until no pair violates by tau, or for some milliseconds; return CONVERGED, MOVED or STALLED."""
        from harness_smo import descent

        work, w, spent, rounds, descended = self.work, self.w, 0.0, self.rounds, False
        while True:
            moved, free = self.settle(descended=descended)
            if self.violation <= tau:
                return CONVERGED
            if not self.has_matrix:
                self.compute_matrix()
            if descended and not moved:
                return MOVED if self.rounds > rounds + 1 else self._try_newton(tau)
            if spent >= TUNING.pause:
                return MOVED
            price = TUNING.newton_fixed + TUNING.newton_square * free**2 + TUNING.newton_factor * free**3
            price *= self.settings.newton_price
            descended = self.unpaid is None or self.unpaid <= price
            if not descended:
                self._newton(tau)
                spent += price
                continue
            limit = w if self.unpaid is None else max(TUNING.newton_wait * w, (price - self.unpaid) / w)
            steps = descent.pair_descent(work, self.cut, 0.5 * tau, 1 + int(min(limit, TUNING.pause / w)))
            self.rounds, self.steps = self.rounds + 1, self.steps + steps
            self.unpaid, spent = (self.unpaid or 0.0) + steps * w, spent + steps * w

    def _try_newton(self, tau: float) -> int:
        """Take a Newton step where no step of SMO moves anything; return MOVED if it helps, else STALLED."""
        before = self.violation
        if not np.isfinite(self.settings.newton_price) or not self._newton(tau):
            return STALLED
        self.settle()
        return MOVED if self.violation < before else STALLED

    def _update(self, variables: Index, change: Vector) -> None:
        self.cache.add_part(self.scores, variables % self.m, change, 0, self.m)
        self.cache.hit(len(variables))

    def compute_scores(self, coef: Vector) -> None:
        """Compute the scores from the coefficients of all points, (n,); the matrix too if most active points support."""
        coef_here = coef[self.points]
        support = np.flatnonzero(coef_here)
        if 2 * len(support) > self.m:
            self.compute_matrix()
            self.scores[:] = 0.0
            self.cache.add_part(self.scores, support, coef_here[support], 0, self.m)
        else:  # few rounds may follow, and none may need the matrix
            self.scores[:] = self.kernel.expand(coef_here)
        self._add_others(coef, self.points)

    def _newton(self, tau: float) -> bool:
        """Move the free variables to their common optimum, as far as the bounds allow; return whether anything moved."""
        from harness_smo import newton, passes

        self.unpaid = 0.0
        free = np.flatnonzero(self.free)
        points = free % self.m
        before: Any = self.a[free]
        bounds, gradient = (self.lower[free], self.upper[free]), self.linear[free] - self.scores[points]
        sums = (self.group[free][:, None] == np.arange(self.form.groups)).astype(np.float64)
        block = self._room(len(points))
        passes.pick(self.matrix, points, block)
        face = newton.Face(block, before.copy(), *bounds, gradient, sums)
        newton.minimise(face, tau)
        changed = np.flatnonzero(face.a != before)
        self.a[free] = face.a
        self._update(free[changed], (face.a - before)[changed])
        return len(changed) > 0


def nearest(distance: Vector, count: int) -> Index:
    """Return where the ``count`` smallest values are, in order of place."""
    if count >= len(distance):
        return np.arange(len(distance))
    return np.sort(np.argpartition(distance, count)[:count])
