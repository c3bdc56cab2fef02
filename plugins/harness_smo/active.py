"""The active points of block SMO: choose a working set, descend in it, update the scores."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from harness import DualForm, KernelOracle, RowCache
from harness.support.arrays import Block, Index, Vector
from harness_smo.tuning import TUNING

# how a round ended
CONVERGED, MOVED, STALLED = 0, 1, 2


def variables_of(form: DualForm, points: Index) -> Any:
    """Return the index of the variables of ``points``; a slice, which copies nothing, if they are all."""
    if len(points) == form.n:
        return slice(None)
    return np.concatenate([points + copy * form.n for copy in range(form.copies)])


class Settings(NamedTuple):
    """How a descent is carried out.

    cache_mb : memory for kernel rows, in MB
    working_set : variables of a working set
    dense : whether whole kernel matrices may be computed
    parking : whether points may be parked while SMO moves
    newton_price : cost of SMO steps before a Newton step, over the cost of that
    dense_points : number of points up to which the whole kernel matrix is computed at once
    memory : memory for kernel rows of a state that is over, to be used again; None if there is none
    """

    cache_mb: float
    working_set: int = TUNING.working_set
    dense: bool = True
    parking: bool = True
    newton_price: float = 1.0
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
    rounds, steps, work : rounds, steps, and steps times variables plus half of the values added to scores
    """

    has_matrix: bool = False  # whether the whole kernel matrix is in memory

    def __init__(
        self,
        form: DualForm,
        points: Index,
        a: Vector,
        scores: Vector,
        diagonal: Vector,
        whole: KernelOracle,
        cache: RowCache,
        settings: Settings,
    ) -> None:
        """``whole`` is the kernel over all points; that of ``cache`` is over ``points``."""
        self.form, self.points, self.settings = form, points, settings
        self.whole, self.kernel, self.cache = whole, cache.kernel, cache
        self.m = len(points)
        self.variables: Any = variables_of(form, points)
        self.group, self.linear = form.group[self.variables], form.linear[self.variables]
        self.a, self.scores = a, scores
        self.diagonal = diagonal.astype(self.kernel.dtype)
        self.previous: Index = np.empty(0, dtype=np.intp)  # the last working set
        self.ends: list[tuple[float, float]] = []
        self.rounds = self.steps = 0
        self.work = 0.0
        self.set_bounds(form)

    def set_bounds(self, form: DualForm) -> None:
        """Continue between the bounds of ``form``, with the variables and scores as they are."""
        self.form = form
        self.lower, self.upper = form.lower[self.variables], form.upper[self.variables]

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

        groups = self.form.groups
        rise, fall = np.empty_like(self.a), np.empty_like(self.a)
        ends = np.full((max(1, groups), 2), [-np.inf, np.inf] if groups else [0.0, 0.0])
        passes.directions(self._arrays(), self.scores, ends, rise, fall)
        self.ends = [(float(up), float(low)) for up, low in ends]
        return rise, fall

    def _arrays(self) -> Any:
        from harness_smo.passes import Variables

        return Variables(self.a, self.lower, self.upper, self.linear, self.group)

    def round(self, tau: float) -> int:
        """Descend in one working set; return CONVERGED, MOVED or STALLED."""
        from harness_smo.descent import RESOLUTION, WorkingSet, joint_descent, pair_descent

        rise, fall = self.directions()
        if self.violation <= tau:
            return CONVERGED
        chosen, cut = self._choose(rise, fall)
        points, w = chosen % self.m, len(chosen)
        block = np.empty((w, w), self.kernel.dtype)
        self.kernel.fill(points, block, None, points)
        before, gradient = self.a[chosen], self.linear[chosen] - self.scores[points]
        a = before.copy()
        work = WorkingSet(block, self.diagonal[points], a, self.lower[chosen], self.upper[chosen], gradient)
        noise = RESOLUTION * float(np.finfo(block.dtype).eps) * float(np.abs(gradient).max())
        # a working set of all variables need not be solved twice
        share = TUNING.inner_violation * self.violation if w < len(self.a) else 0.0
        inner, limit = max(0.5 * tau, share, noise), TUNING.inner_steps * w
        steps = pair_descent(work, cut, inner, limit) if self.form.groups else joint_descent(work, inner, limit)
        changed = np.flatnonzero(a != before)
        self.steps += steps
        self.work += steps * w + 0.5 * len(changed) * self.m
        self.rounds += 1
        self.previous = chosen
        if len(changed) == 0:
            return STALLED
        self.a[chosen] = a
        self._update(chosen[changed], (a - before)[changed])
        return MOVED

    def _choose(self, rise: Vector, fall: Vector) -> tuple[Index, int]:
        """Return the working set, the first group first, and where the second group starts; ``rise`` and ``fall`` change."""
        from harness_smo.passes import choose, kept

        groups, size, ends = self.form.groups, self.settings.working_set, np.array(self.ends)
        stay = kept(self.previous, rise, fall, ends, self.group, int(TUNING.kept_share * size))
        return choose(rise, fall, ends, self.group, groups, stay, size)

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
        if len(others):
            # over the points concerned alone: the whole need not be laid out in float64
            both = np.union1d(self.points, others)
            self.scores += self.whole.restrict(both).expand(rest[both], np.searchsorted(both, self.points))

    def _adding(self, slots: Index, change: Vector) -> Callable[[int, int], None]:
        """Return a function that adds a range of the rows in ``slots``, times ``change``, to the scores."""
        return partial(self.cache.add_part, self.scores, slots, change)

    def _update(self, variables: Index, change: Vector) -> None:
        """Add the change of the variables to the scores of all active points."""
        points: Index = variables
        cache = self.cache
        if self.form.copies > 1:
            points, inverse = np.unique(variables % self.m, return_inverse=True)
            change = np.bincount(inverse, weights=change).astype(np.float64)
        resting = ~self.free_points[points]
        cached = cache.slot_of[points] >= 0
        cache.used(points[cached])
        cache.hit(int(np.count_nonzero(cached)))
        # a point at a bound seldom moves again: its row is stored last, and only where slots abound
        missing = np.flatnonzero(~cached)
        moving, arrived = missing[~resting[missing]], missing[resting[missing]]
        wanted = np.concatenate([moving, arrived[: cache.roomy]])[: cache.capacity - int(np.count_nonzero(cached))]
        passing = np.setdiff1d(missing, wanted)
        slots, in_cache = cache.reserve(points[wanted]), cache.slot_of[points[cached]]
        # along whole rows, which lie far apart
        self.kernel.share_range(self._adding(in_cache, change[cached]), self.m, len(in_cache))
        cache.compute(points[wanted], slots, self._adding(slots, change[wanted]))
        cache.at_rest(points[resting])
        if len(passing):
            coef = np.zeros(self.m)
            coef[points[passing]] = change[passing]
            self.scores += self.kernel.expand(coef)
            cache.pass_by(points[passing])


class DenseActiveSet(ActiveSet):
    """Active points whose whole kernel matrix fits in memory; SMO and Newton steps take turns over it.

    Attributes
    ----------
    matrix : (m, m), in the cache's memory; exists if ``has_matrix``
    newton_steps : how often the free variables moved to their common optimum between the present bounds
    """

    matrix: Block
    newton_steps = 0

    def set_bounds(self, form: DualForm) -> None:
        super().set_bounds(form)
        self.newton_steps = 0

    def compute_matrix(self) -> None:
        """Compute the kernel matrix: from now on a round makes full use of it."""
        from harness_smo import dense

        everything = np.arange(self.m)
        self.cache.compute(everything, self.cache.reserve(everything))
        self.matrix, self.has_matrix = self.cache.rows, True
        self.progress = dense.Progress.begin(np.empty(len(self.a) ** 2 // 2, self.matrix.dtype))

    def exchange(self, before: DenseActiveSet, new: Any) -> None:
        """Take over the matrix of as many points, except for the rows and columns of the points ``new``, (m,) of bool."""
        from harness_smo import dense

        self.cache.reserve(np.arange(self.m))
        rows = np.flatnonzero(new)
        self.cache.compute(rows, rows)
        self.matrix, self.has_matrix = self.cache.rows, True
        self.matrix[:, rows] = self.matrix[rows].T
        self.progress = dense.Progress.begin(before.progress.parts)

    def round(self, tau: float) -> int:
        """Work until no pair violates by tau, or for some milliseconds; return CONVERGED, MOVED or STALLED."""
        from harness_smo import dense, newton  # noqa: F401  a warm-up compiles both, though few rounds need the second

        if not self.has_matrix:
            self.directions()
            if self.violation <= tau:
                return CONVERGED
            self.compute_matrix()
        problem = dense.Dense(self.matrix, self.diagonal, self.scores, self._arrays())
        limit, groups = max(len(self.a), TUNING.pause // len(self.a)), self.form.groups
        goal = (groups,) if groups else (), tau, self.settings.newton_price, limit
        outcome, steps, rounds = dense.descend(problem, self.progress, *goal)
        self.ends = [(float(up), float(low)) for up, low in self.progress.ends[: max(1, groups)]]
        self.steps += steps
        self.rounds += rounds
        self.cache.hit(int(self.progress.spent[1]))
        self.progress.spent[1] = 0.0
        if outcome == dense.DONE:
            return CONVERGED
        if outcome == dense.NEWTON_PAYS:
            self._newton(tau)
        elif outcome == dense.STUCK and rounds <= 1:
            before = self.violation
            if not np.isfinite(self.settings.newton_price) or not self._newton(tau):
                return STALLED
            self.directions()
            return MOVED if self.violation < before else STALLED
        return MOVED

    def compute_scores(self, coef: Vector) -> None:
        """Compute the scores from the coefficients of all points, (n,); the matrix too if most active points support."""
        from harness.support.jit import add_rows

        own = coef[self.points]
        support = np.flatnonzero(own)
        if 2 * len(support) > self.m:
            self.compute_matrix()
            self.scores[:] = 0.0
            add_rows(self.scores, self.matrix, support, own[support], 0, self.m)
        else:  # few rounds may follow, and none may need the matrix
            self.scores[:] = self.kernel.expand(own)
        self._add_others(coef, self.points)

    def _newton(self, tau: float) -> bool:
        """Move the free variables to their common optimum, as far as the bounds allow; return whether anything moved."""
        from harness.support.jit import add_rows
        from harness_smo import dense, newton

        self.progress.spent[0] = 0.0
        self.newton_steps += 1
        free = np.flatnonzero(self.free)
        points = free % self.m
        before: Any = self.a[free]
        bounds, gradient = (self.lower[free], self.upper[free]), self.linear[free] - self.scores[points]
        sums = (self.group[free][:, None] == np.arange(self.form.groups)).astype(np.float64)
        face = newton.Face(dense.picked(self.matrix, points), before.copy(), *bounds, gradient, sums)
        newton.minimise(face, tau)
        changed = np.flatnonzero(face.a != before)
        self.a[free] = face.a
        add_rows(self.scores, self.matrix, points[changed], (face.a - before)[changed], 0, self.m)
        self.cache.hit(len(changed))
        return len(changed) > 0
