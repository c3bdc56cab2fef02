"""Rounds of block SMO over the active points: choose a working set, descend in it, update the scores."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from harness import DualForm, KernelOracle
from harness.support.arrays import Block, Index, Vector
from harness_smo.block_cache import BlockRowCache

# the level of some thousand points: their kernel matrix is computed once; SMO and Newton steps take turns over it
_PAUSE = 20_000_000  # steps times variables between two iterates, some milliseconds; or as many steps as variables
_LESS = 0.9  # of the violation: what a face must leave at most where no step of SMO moves anything
_PARTS = 0.5  # of the variables squared: room for the blocks of parts
_MOST = 0.5  # of the active points: where no more support, their rows are not kept for a round that may need none


def variables_of(form: DualForm, where: Index) -> Any:
    """Return the variables of the points ``where``, to index with; a slice, that copies nothing, if they are all."""
    if len(where) == form.n:
        return slice(None)
    return np.concatenate([where + copy * form.n for copy in range(form.copies)])


# how a round ended
CONVERGED, MOVED, STALLED = 0, 1, 2
_INNER_SHARE = 0.2  # of the violation that the descent in a working set leaves
_INNER_STEPS = 20  # at most, times the size of the working set
WHOLE = 2500  # points up to which the whole kernel matrix is computed at once
SMALLEST, MIDDLE, LARGEST = 256, 832, 1024  # working sets, unless one is given


class Settings(NamedTuple):
    """How a descent is carried out.

    cache_mb : memory for kernel rows, MB
    size : variables of a working set
    fixed : that size was given: no kernel matrix is computed whole
    patience : how many times the cost of a Newton step SMO's own may come to before one is taken
    whole : points up to which the whole kernel matrix is computed at once
    memory : for kernel rows, of a state that is not gone on with; None: there is none, or it is in use
    """

    cache_mb: float
    size: int = SMALLEST
    fixed: bool = False
    patience: float = 1.0
    whole: int = WHOLE
    memory: Vector | None = None


class Level:
    """The active points, their variables and scores, and kernel rows over them.

    Attributes
    ----------
    where : (m,) the active points; ``whole`` is the kernel over all points, ``kernel`` over these
    variables : index of their variables; variable v of the level stands at active point v mod m
    a, lower, upper, linear : (copies * m,); ``a`` changes
    scores : (m,) K coef at the active points; changes
    """

    def __init__(
        self,
        form: DualForm,
        where: Index,
        a: Vector,
        scores: Vector,
        diagonal: Vector,
        whole: KernelOracle,
        cache: BlockRowCache,
        settings: Settings,
    ) -> None:
        self.form, self.where, self.settings = form, where, settings
        self.whole, self.kernel, self.cache = whole, cache.kernel, cache
        self.m = len(where)
        self.variables: Any = variables_of(form, where)
        self.groups, self.group = form.groups, form.group[self.variables]
        self.lower, self.upper = form.lower[self.variables], form.upper[self.variables]
        self.linear, self.copies = form.linear[self.variables], form.copies
        self.a, self.scores = a, scores
        self.diagonal = diagonal.astype(self.kernel.dtype)
        self.previous: Index = np.empty(0, dtype=np.intp)
        self.scratch = np.empty_like(a), np.empty_like(a)
        self.rounds = self.steps = self.faces = 0
        self.work = 0.0  # steps times variables, and half of the values that were added to scores
        self.ends: list[tuple[float, float]] = []

    has_matrix: bool = False  # whether the rows of all points are at hand

    def rebound(self, form: DualForm, a: Vector, scores: Vector) -> None:
        """Go on between the bounds of ``form``, from these variables and scores."""
        self.form, self.faces = form, 0
        self.lower, self.upper = form.lower[self.variables], form.upper[self.variables]
        self.a[:], self.scores[:] = a, scores

    @property
    def free(self) -> Any:
        """True where a variable is strictly between its bounds, (copies * m,)."""
        return (self.a > self.lower) & (self.a < self.upper)

    @property
    def free_points(self) -> Any:
        """True where a point has a free variable, (m,)."""
        return self.free.reshape(self.copies, self.m).any(axis=0)

    def directions(self) -> tuple[Vector, Vector]:
        """Return the gradient where a variable may rise, else -inf, and where it may fall, else inf; note the ends."""
        from harness_smo import block_passes

        rise, fall = self.scratch
        ends = np.full((max(1, self.groups), 2), [0.0, 0.0] if self.groups == 0 else [-np.inf, np.inf])
        block_passes.directions(self._passed(), self.scores, ends, rise, fall)
        self.ends = [(float(up), float(low)) for up, low in ends]
        return rise, fall

    def _passed(self) -> Any:
        """Return the variables as compiled loops take them."""
        from harness_smo.block_passes import Variables

        return Variables(self.a, self.lower, self.upper, self.linear, self.group)

    @property
    def violation(self) -> float:
        """Largest violation of the optimality conditions among the active variables."""
        return self.form.violation(self.ends)

    def round(self, tau: float) -> int:
        """Work on one working set; return CONVERGED, MOVED or STALLED."""
        from harness_smo.block_loops import RESOLUTION, WorkingSet, joint_descent, pair_descent
        from harness_smo.block_passes import choose, kept

        rise, fall = self.directions()
        if self.violation <= tau:
            return CONVERGED
        ends = np.array(self.ends)
        # sorted: rows are read in their order
        stay = np.sort(kept(self.previous, rise, fall, ends, self.group, self.settings.size // 2))
        chosen, cut = choose(rise, fall, ends, self.group, self.groups, stay, self.settings.size)
        points = chosen % self.m if self.copies > 1 else chosen
        block = self.cache.block(points)
        before, gradient = self.a[chosen], self.linear[chosen] - self.scores[points]
        a = before.copy()
        noise = RESOLUTION * float(np.finfo(block.dtype).eps) * float(np.abs(gradient).max())
        bounds = (self.lower[chosen], self.upper[chosen])
        work = WorkingSet(block, self.diagonal[points], a, *bounds, gradient)
        # where all variables are at hand there is nothing to come back for
        share = _INNER_SHARE * self.violation if len(chosen) < len(self.a) else 0.0
        inner, limit = max(0.5 * tau, share, noise), _INNER_STEPS * len(chosen)
        steps = pair_descent(work, cut, inner, limit) if self.groups else joint_descent(work, inner, limit)
        self.steps += steps
        self.work += steps * len(chosen)
        self.rounds += 1
        self.previous = chosen
        changed = np.flatnonzero(a != before)
        if len(changed) == 0:
            return STALLED
        self.a[chosen] = a
        self._update(chosen[changed], (a - before)[changed])
        self.work += 0.5 * len(changed) * self.m
        return MOVED

    def compute_scores(self, coef: Vector) -> None:
        """Compute the scores afresh from the coefficients of all points, (n,), and keep the free variables' rows."""
        where = self.where
        points = np.flatnonzero(self.free_points)[: self.cache.capacity]
        slots = self.cache.reserve(points)
        self.scores[:] = 0.0
        self.cache.compute(points, slots, self._adding(slots, coef[where[points]]))
        self._add_others(coef, where[points])

    def _add_others(self, coef: Vector, known: Index) -> None:
        """Add to the scores what points other than ``known`` contribute."""
        rest = coef.copy()
        rest[known] = 0.0
        others = np.flatnonzero(rest)
        if len(others):
            # over the points concerned alone: the whole need not be laid out in float64
            both = np.union1d(self.where, others)
            self.scores += self.whole.restrict(both).expand(rest[both], np.searchsorted(both, self.where))

    def _adding(self, slots: Index, change: Vector) -> Callable[[int, int], None]:
        """Return what adds the part of two columns of the rows in ``slots``, times ``change``, to the scores."""
        return partial(self.cache.add_part, self.scores, slots, change)

    def _update(self, variables: Index, change: Vector) -> None:
        """Add the change of the variables to the scores of all active points."""
        points: Index = variables
        cache = self.cache
        if self.copies > 1:
            points, inverse = np.unique(variables % self.m, return_inverse=True)
            change = np.bincount(inverse, weights=change).astype(np.float64)
        resting = ~self.free_points[points]
        held = cache.slot_of[points] >= 0
        cache.used(points[held])
        cache.hit(int(np.count_nonzero(held)))
        # what came to rest at a bound seldom moves again: its row is kept only where slots abound
        missing, spare = np.flatnonzero(~held), cache.capacity - int(np.count_nonzero(held))
        moving, arrived, roomy = missing[~resting[missing]], missing[resting[missing]], cache.roomy
        worth = np.concatenate([moving, arrived[:roomy]])
        wanted, passing = worth[:spare], np.concatenate([worth[spare:], arrived[roomy:]])
        slots, at_hand = cache.reserve(points[wanted]), cache.slot_of[points[held]]
        # along whole rows, which lie far away
        self.kernel.share_range(self._adding(at_hand, change[held]), self.m, len(at_hand))
        cache.compute(points[wanted], slots, self._adding(slots, change[wanted]))
        cache.at_rest(points[resting])
        if len(passing):
            coef = np.zeros(self.m)
            coef[points[passing]] = change[passing]
            self.scores += self.kernel.expand(coef)
            cache.pass_by(points[passing])


# -- the level of some thousand points: their kernel matrix is computed once; SMO and Newton steps take turns over it


class WholeLevel(Level):
    """The active points with their whole kernel matrix; see :class:`Level`.

    Attributes
    ----------
    matrix : (m, m), in the cache's memory; there when ``has_matrix``
    faces : times that the free variables' face was minimised over since the bounds are as they are
    """

    matrix: Block
    missing: Any = None  # (m,) whose rows have a place that they are not computed into yet; None: no row has a place

    def exchange(self, before: WholeLevel, new: Any) -> None:
        """Take over the matrix of as many points, of which those at ``new``, (m,) true or false, were others."""
        self._lay_out()
        self.missing[~new] = False
        self._prepare(before.turn.parts)
        self.matrix[:, new] = self.matrix[new].T

    def _lay_out(self) -> None:
        """Give each row the place of its point in the cache."""
        fetched = self.cache.fetched
        self.cache = type(self.cache)(self.cache.kernel, self.cache.memory)
        self.cache.reserve(np.arange(self.m))
        self.cache.fetched = fetched
        self.missing = np.ones(self.m, dtype=np.bool_)

    def _fetch(self, points: Index) -> None:
        self.cache.compute(points, points)
        self.missing[points] = False

    def _prepare(self, parts: Any = None) -> None:
        """Compute the rows that are missing: now the matrix is there; ``parts``: memory for blocks of parts."""
        from harness_smo import whole_loops

        if self.missing is None:
            self._lay_out()
        self._fetch(np.flatnonzero(self.missing))
        self.matrix, self.has_matrix = self.cache.rows[: self.m], True
        parts = np.empty(int(_PARTS * len(self.a) ** 2), dtype=self.matrix.dtype) if parts is None else parts
        self.turn = whole_loops.Turn(np.zeros(1, dtype=np.bool_), np.zeros(3), parts, np.zeros((2, 2)))

    def round(self, tau: float) -> int:
        """Work until no pair violates by tau, or for some milliseconds; return CONVERGED, MOVED or STALLED."""
        # a round that has nothing to do loads what others need: face is used where steps do not pay
        from harness_smo import face, whole_loops  # noqa: F401

        if not self.has_matrix:
            self.directions()
            if self.violation <= tau:
                return CONVERGED
            self._prepare()
        whole = whole_loops.Whole(self.matrix, self.diagonal, self.scores, self._passed())
        limit = max(len(self.a), _PAUSE // len(self.a))
        goal = (self.groups,) if self.groups else (), tau, self.settings.patience, limit
        outcome, steps, rounds = whole_loops.descend_whole(whole, self.turn, *goal)
        self.ends = [(float(up), float(low)) for up, low in self.turn.ends[: max(1, self.groups)]]
        self.steps += steps
        self.rounds += rounds
        self.cache.hit(int(self.turn.spent[1]))
        self.turn.spent[1] = 0.0
        if outcome == whole_loops.DONE:
            return CONVERGED
        if outcome == whole_loops.DEAR:
            self._face(tau)
        elif outcome == whole_loops.STUCK and rounds <= 1:
            before = self.violation
            if not np.isfinite(self.settings.patience) or not self._face(tau):
                return STALLED
            self.directions()
            return MOVED if self.violation < _LESS * before else STALLED
        return MOVED

    def compute_scores(self, coef: Vector) -> None:
        """Compute the scores afresh from the coefficients of all points, (n,); where most support, keep these points' rows.

        The other rows are computed by the next round: often none is needed.
        """
        from harness.support.jit import add_rows

        own = coef[self.where]
        support = np.flatnonzero(own)
        self._lay_out()
        if len(support) > _MOST * self.m:
            self._fetch(support)
            self.scores[:] = 0.0
            add_rows(self.scores, self.cache.rows, support, own[support], 0, self.m)
        else:  # memory that was not written before takes longer than the values
            self.scores[:] = self.kernel.expand(own)
            self.cache.fetched += len(support)
        self._add_others(coef, self.where)

    def _face(self, tau: float) -> bool:
        """Minimise over the face of all free variables, and update the scores; return whether anything moved."""
        from harness.support.jit import add_rows
        from harness_smo import face, whole_loops

        self.turn.spent[0] = 0.0
        self.faces += 1
        free = np.flatnonzero(self.free)
        points = free % self.m
        before: Any = self.a[free]
        bounds, gradient = (self.lower[free], self.upper[free]), self.linear[free] - self.scores[points]
        sums = (self.group[free][:, None] == np.arange(self.groups)).astype(np.float64)
        system = face.Face(whole_loops.picked(self.matrix, points), before.copy(), *bounds, gradient, sums)
        face.descend(system, tau)
        changed = np.flatnonzero(system.a != before)
        self.a[free] = system.a
        add_rows(self.scores, self.matrix, points[changed], (system.a - before)[changed], 0, self.m)
        self.cache.hit(len(changed))
        return len(changed) > 0
