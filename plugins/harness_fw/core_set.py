"""The exact optimum over the hulls of a few points, updated as points come and go, and what the solvers on it share.

    min 1/2 |w|^2     w = sum_a weight_a y_a phi(a)     0 <= weight_a <= cap, summing to 1 over each class

The kernel matrix of the members is stored whole. From the weights as they are, compiled pair descent goes on until the
violations are within a tolerance; where it is slow (the matrix is ill-conditioned), a Newton step on the free weights
by a Cholesky factor takes over: after it either a weight is at a bound or the free ones are at their optimum.

Members lie class by class: those of class g at the places ends[g] .. ends[g + 1] - 1 of every array, so that each loop runs
over neighbours. Everything is signed by the label: matrix[a, b] = y_a y_b k(a, b), and
score[a] = y_a <w, phi(a)> = sum_b weight_b matrix[a, b].
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from harness import Iterate, Problem, RowCache
from harness.support.arrays import Index, Matrix, Vector
from harness.support.jit import compiled, fast, inner, larger, seek, smaller
from harness_fw.hulls import Hulls, iterate

# why the descent came back
STEPS, SOLVED, TOUCHING, STALLED = range(4)

_LEAST_CURVATURE = 1e-300  # of two points at the origin, who gain nothing
_TINY = 1e-14  # of the diagonal: stands for a curvature of zero, two points on top of each other
_PATIENCE = 100  # steps in a row that do not make |w|^2 smaller: rounding is at work
_FIRST = 64  # places in the beginning
_DEFINITE = 1e-13  # of the diagonal: added to the free points' matrix, which may be singular
_NEWTON_PAYS = 50  # a factor of f free points costs about as much as f^2 / _NEWTON_PAYS steps of the descent
_IN_A_ROW = 8  # Newton steps that end at a bound before the descent has its turn again
_ROUNDS = 60  # turns of both after which rounding must be at work
INNER = 0.1  # of the accuracy that is missing: how exactly a core set is solved
LEAST = 1e-15  # accuracy beyond which asking is in vain


class CoreSetRounds:
    """Rounds on a core set: which points there are, how more of them enter, and what a round yields."""

    def __init__(self, problem: Problem, rows: RowCache | None) -> None:
        self.problem, self.rows, self.hulls = problem, rows, Hulls(problem)
        self.core = CoreSet(self.hulls.caps, self.hulls.floor)
        self.coef, self.taken, self.tolerance = np.zeros(problem.n), 0, INNER
        start = self.hulls.start(problem.kernel.row if rows is None else rows.row)
        self._enter([points for points, _ in start], np.concatenate([weights for _, weights in start]))

    def _enter(self, points: list[Index], weights: Vector | None = None) -> None:
        """Let points of each class enter the core set; ``weights``: of all members from now on."""
        members, new = self.core.members, np.concatenate(points)
        everyone, sign = np.concatenate([members, new]), self.hulls.sign
        values = self.problem.kernel.block(new, everyone) if self.rows is None else taken(self.rows, new, members)
        signed = values * sign[everyone]
        signed *= sign[new][:, None]
        self.core.add(points, signed, weights)

    def _iterate(self, status: str, info: dict[str, Any], solved: int) -> Iterate:
        return iterate(self.coef, self.core.threshold, status, info, self.taken, solved, self.hulls)


def taken(rows: RowCache, points: Index, members: Index) -> Matrix:
    """Fetch the rows of ``points``; return K[points, members + points], (points, all), float64.

    Rows still here are not computed again, and those of ``members`` do not make room. A point whose row finds none costs
    the values asked for, and n kernel evaluations each time all scores are.
    """
    everyone = np.concatenate([members, points])
    rows.clock += 1
    rows.hit(int(np.count_nonzero(rows.slot_of[points] >= 0)))
    rows.fetch(points, keep=members)
    cached = rows.slot_of[points] >= 0
    values = np.empty((len(points), len(everyone)))
    values[cached] = rows.rows[np.ix_(rows.slot_of[points[cached]], everyone)]
    if not cached.all():
        values[~cached] = rows.kernel.block(points[~cached], everyone)
    return values


class CoreSet:
    """Members, their kernel matrix, weights and scores.

    Parameters
    ----------
    caps : upper bound of a weight, for each class; 1 for whole hulls
    floor : |w|^2 at which w counts as zero

    Attributes
    ----------
    steps, factors : steps of the pair descent and Cholesky factors so far
    """

    def __init__(self, caps: Sequence[float], floor: float) -> None:
        given = np.asarray(caps, dtype=np.float64)
        self.caps = np.where(given < 1.0, given, 2.0)  # a cap of 1 is implied by the sum, so the bound is out of reach
        self.floor = floor
        self.steps = self.factors = 0
        self._rescored = (0, 0)  # what they were when the scores were last computed from the weights
        self._ends = np.zeros(len(self.caps) + 1, dtype=np.int64)
        self._matrix, self._point = np.empty((_FIRST, _FIRST)), np.zeros(_FIRST, dtype=np.intp)
        self._diagonal, self._weight, self._score = np.zeros((3, _FIRST))

    @property
    def size(self) -> int:
        """Number of members."""
        return int(self._ends[-1])

    @property
    def members(self) -> Index:
        """The members, class by class, in the order of their places."""
        return self._point[: self.size].copy()

    @property
    def weights(self) -> Vector:
        """(members,) their weights."""
        return self._weight[: self.size].copy()

    @property
    def squared_norm(self) -> float:
        """|w|^2."""
        return float(self._weight[: self.size] @ self._score[: self.size])

    def add(self, points: Sequence[Index], values: Matrix, weights: Vector | None = None) -> None:
        """Take points in, with weight 0 unless ``weights`` are given.

        points : for each class, the new ones; none of them a member
        values : signed kernel values of the new points, class by class, with ``[*members, *new points]``, (new, all)
        weights : of the members from now on, all of them, in the order of ``[*members, *new points]``
        """
        fresh = [len(new) for new in points]
        before, first, shift = self.size, int(self._ends[1]), fresh[0]
        total = before + sum(fresh)
        self._make_room(total)
        # the first members of the second class make way for the new ones of the first, and go behind their class
        moved = min(shift, before - first)
        source, target = slice(first, first + moved), slice(before + shift - moved, before + shift)
        self._matrix[target, :before] = self._matrix[source, :before]
        self._matrix[:total, target] = self._matrix[:total, source]
        for array in self._arrays():
            array[target] = array[source]
        columns = np.r_[:before, first : first + shift, before + shift : total]
        columns[source] = np.arange(target.start, target.stop)
        added = columns[before:]
        self._matrix[np.ix_(added, columns)] = values
        self._matrix[np.ix_(columns, added)] = values.T
        self._diagonal[added], self._point[added] = self._matrix[added, added], np.concatenate(points)
        self._weight[added] = 0.0
        self._score[added] = values @ self._weight[columns]
        self._ends[1:] += np.cumsum(fresh)
        if weights is not None:
            self._weight[columns] = weights
            self.rescore()

    def _arrays(self) -> tuple[Any, ...]:
        """Return the arrays of one value a place."""
        return self._point, self._diagonal, self._weight, self._score

    def _make_room(self, needed: int) -> None:
        """Grow the arrays so that ``needed`` members fit."""
        room, matrix = len(self._point), self._matrix
        if needed > room:
            room = max(needed, 2 * room)
            self._matrix = np.empty((room, room))
            self._matrix[: len(matrix), : len(matrix)] = matrix
            self._point, self._diagonal, self._weight, self._score = (np.resize(a, room) for a in self._arrays())

    def drop(self) -> Index:
        """Let go of the members of weight 0, and return them."""
        used = self._weight[: self.size] > 0.0
        dropped, stay = self._point[: self.size][~used], np.flatnonzero(used)
        if len(dropped):
            self._matrix[: len(stay), : len(stay)] = self._matrix[np.ix_(stay, stay)]
            for array in self._arrays():
                array[: len(stay)] = array[stay]
            self._ends = np.searchsorted(stay, self._ends)
        return dropped

    def _classes(self) -> list[tuple[slice, float]]:
        """Return, for each class, where its members are and the cap of their weights."""
        return [(slice(*ends), cap) for ends, cap in zip(itertools.pairwise(self._ends), self.caps, strict=True)]

    def rescore(self) -> None:
        """Recompute the scores from the weights, whose sums are set to 1 exactly."""
        for places, cap in self._classes():
            if (self._weight[places] < cap).all():  # a weight at its cap stays there
                self._weight[places] /= self._weight[places].sum()
        count = self.size
        self._score[:count] = self._matrix[:count, :count] @ self._weight[:count]
        self._rescored = self.steps, self.factors

    def levels(self) -> list[tuple[float, float]]:
        """Return, for each class, the smallest score of a weight below its cap and the largest of one in use.

        The two are one where every weight is at its cap.
        """
        levels = []
        for places, cap in self._classes():
            weight, score = self._weight[places], self._score[places]
            high = float(score[weight > 0.0].max())
            levels.append((min(high, float(score[weight < cap].min(initial=np.inf))), high))
        return levels

    @property
    def threshold(self) -> float:
        """The middle between the hulls along w, or the level of the hull where there is one."""
        levels = [0.5 * (low + high) for low, high in self.levels()]
        return 0.5 * (levels[0] - levels[1]) if len(levels) == 2 else levels[0]

    def solve(self, tolerance: float) -> bool:
        """Go on from the weights as they are until the violations of the classes sum to ``tolerance`` |w|^2 at most.

        Returns False where w is zero up to rounding, or rounding lets it go no further.
        """
        reason = STEPS
        for _ in range(_ROUNDS):
            most = max(4 * self.size, self.size * self.size // _NEWTON_PAYS)
            panels = Panels(self._matrix, self._diagonal, self._weight, self._score, self._ends, self.caps)
            reason, taken = descend(panels, tolerance, self.floor, most)
            self.steps += int(taken)
            if reason in (SOLVED, TOUCHING):
                break
            before = self.squared_norm
            for _ in range(_IN_A_ROW):
                if not self._newton():
                    break
            if reason == STALLED and not self.squared_norm < before:
                break
        steps, factors = self._rescored
        if self.factors > factors or self.steps - steps > self.size:
            self.rescore()
        return bool(reason == SOLVED)

    def _newton(self) -> bool:
        """Step to the optimum of the free weights, or to the first bound on the way; True if a bound was in the way."""
        import scipy.linalg

        places = slice(self.size)
        side_of = np.repeat(np.arange(len(self.caps)), np.diff(self._ends))
        chosen = np.flatnonzero((self._weight[places] > 0.0) & (self._weight[places] < self.caps[side_of]))
        side = side_of[chosen]
        indicator = (side[:, None] == np.unique(side)[None, :]).astype(np.float64)
        if len(chosen) <= indicator.shape[1]:
            return False
        system = self._matrix[np.ix_(chosen, chosen)]
        scale = float(system.diagonal().max())
        # steps that leave the sums alone do not see the first term, and it makes the matrix definite where they do
        system += scale * (indicator @ indicator.T)
        system[np.diag_indices_from(system)] += _DEFINITE * scale
        try:
            factor = scipy.linalg.cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
        except scipy.linalg.LinAlgError:
            return False
        self.factors += 1
        gradient = self._score[chosen]
        solved = scipy.linalg.cho_solve(factor, np.column_stack([gradient, indicator]), check_finite=False)
        prices = np.linalg.solve(indicator.T @ solved[:, 1:], indicator.T @ solved[:, 0])
        step = solved[:, 1:] @ prices - solved[:, 0]
        step -= indicator @ ((indicator.T @ step) / indicator.sum(axis=0))
        change = self._matrix[places, chosen] @ step
        slope, curvature = float(gradient @ step), float(change[chosen] @ step)
        if not slope < 0.0 or not curvature > 0.0:
            return False
        weight, caps = self._weight[chosen], self.caps[side]
        room = np.full(len(step), np.inf)
        np.divide(weight, -step, out=room, where=step < 0.0)
        np.divide(caps - weight, step, out=room, where=step > 0.0)
        blocking = int(room.argmin())
        length = min(-slope / curvature, float(room[blocking]))
        blocked = length == room[blocking]
        moved = np.clip(weight + length * step, 0.0, caps)
        if blocked:
            moved[blocking] = 0.0 if step[blocking] < 0.0 else caps[blocking]
        self._weight[chosen] = moved
        self._score[places] += length * change
        return bool(blocked)


# -- the compiled descent ---------------------------------------------------------------------------


class Panels(NamedTuple):
    """Arrays of a core set of m places and G classes.

    matrix, diagonal : (m, m) signed kernel values, and its diagonal in neighbouring places
    weight, score : (m,) changed in place
    ends : (G + 1,) members of class g are at the places ends[g] .. ends[g + 1] - 1
    caps : (G,) upper bound of the weights of a class
    """

    matrix: Vector
    diagonal: Vector
    weight: Vector
    score: Vector
    ends: Index
    caps: Vector


@fast
def _ends(score: Vector, weight: Vector, cap: float) -> tuple[float, float]:
    """Return the smallest score of a weight below its cap, and the largest of one in use."""
    low, high = np.inf, -np.inf
    for k in range(len(score)):
        low = smaller(low, score[k] if weight[k] < cap else np.inf)
        high = larger(high, score[k] if weight[k] > 0.0 else -np.inf)
    return low, high


@inner
def _extremes(score: Vector, weight: Vector, cap: float) -> tuple[int, int]:
    """Return the place of the smallest score of a weight below its cap, and of the largest of one in use; -1 if none."""
    low, high = _ends(score, weight, cap)
    if not (low < np.inf and high > -np.inf):
        return -1, -1
    near = far = 0
    while near < len(score) - 1 and not (score[near] == low and weight[near] < cap):
        near += 1
    while far < len(score) - 1 and not (score[far] == high and weight[far] > 0.0):
        far += 1
    return near, far


@fast
def _gains(row: Vector, diagonal: Vector, weight: Vector, score: Vector, near: int, gains: Vector) -> float:
    """Write (g_k - g_i)^2 / |phi_k - phi_i|^2 of all k in use with a score above that of ``near``, else 0; return the largest."""
    best, level, length = 0.0, score[near], diagonal[near]
    for k in range(len(row)):
        difference = larger(score[k] - level, 0.0) if weight[k] > 0.0 else 0.0
        both = length + diagonal[k]
        gains[k] = difference * difference / larger(larger(both - 2.0 * row[k], _TINY * both), _LEAST_CURVATURE)
        best = larger(best, gains[k])
    return best


@inner
def _pair(core: Panels, gains: Vector) -> tuple[float, int, int, int]:
    """Return the violations of all classes together, and of the worst: its side, the place to gain, the one to lose.

    The place to lose is that whose weight, moved to the other one, promises the largest gain; -1 if none does.
    """
    near, widest, total, worst = -1, 0.0, 0.0, 0
    for side in range(len(core.caps)):
        first, end = core.ends[side], core.ends[side + 1]
        low, high = _extremes(core.score[first:end], core.weight[first:end], core.caps[side])
        violation = core.score[first + high] - core.score[first + low] if low >= 0 else 0.0
        total += max(0.0, violation)
        if violation > widest:
            widest, near, worst = violation, low, side
    if near < 0:
        return total, worst, -1, -1
    first, end = core.ends[worst], core.ends[worst + 1]
    part = gains[first:end]
    row, diagonal = core.matrix[first + near, first:end], core.diagonal[first:end]
    best = _gains(row, diagonal, core.weight[first:end], core.score[first:end], near, part)
    return total, worst, first + near, first + seek(part, best) if best > 0.0 else -1


@inner
def _shift(weight: Vector, near: int, far: int, step: float, cap: float) -> float:
    """Move ``step`` of weight from ``far`` to ``near``, what they have room for; bounds are met exactly."""
    room = cap - weight[near]
    full, empty = step >= room, step >= weight[far] and weight[far] <= room
    step = weight[far] if empty else min(step, room)
    weight[near] = cap if full and not empty else weight[near] + step
    weight[far] = 0.0 if empty else weight[far] - step
    return step


@compiled
def descend(core: Panels, tolerance: float, floor: float, steps: int) -> tuple[int, int]:
    """Move weight between pairs of one class until no pair is worth it; return why it ended, and the steps taken.

    The pair of the class with the larger violation, the second point by second-order gain (Fan, Chen, Lin, JMLR 6, 2005).

    Parameters
    ----------
    tolerance : the violations of all classes together, over |w|^2, at which it is solved
    floor : |w|^2 at which w counts as zero
    """
    count = core.ends[len(core.caps)]
    score, gains, norm, idle = core.score[:count], np.empty(count), 0.0, 0
    for k in range(count):
        norm += core.weight[k] * score[k]
    for taken in range(steps + 1):
        if norm <= floor:
            return TOUCHING, taken
        total, side, near, far = _pair(core, gains)
        if near < 0 or total <= tolerance * norm:
            return SOLVED, taken
        if taken == steps:
            break
        row, other = core.matrix[near, :count], core.matrix[far, :count]
        difference = score[far] - score[near]
        both = core.diagonal[near] + core.diagonal[far]
        curvature = max(both - 2.0 * row[far], _TINY * both)
        step = _shift(core.weight, near, far, difference / curvature, core.caps[side])
        for k in range(count):
            score[k] += step * (row[k] - other[k])
        lower = norm - step * (2.0 * difference - step * curvature)
        idle = 0 if lower < norm else idle + 1
        norm = lower
        if idle > _PATIENCE:
            return STALLED, taken + 1
    return STEPS, steps
