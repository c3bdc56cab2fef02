"""Parametric solution of the hinge problem without a bias while its box changes, exact from breakpoint to breakpoint.

    max_a  sum_i a_i - 1/2 a' Q a    s.t.  0 <= a <= high(tau),  high = start + tau change,  tau from 0 to 1

with Q_ij = y_i y_j K_ij and z = Q a, so that a_i = 0 where z_i > 1, a_i = high_i where z_i < 1, and z_i = 1 at the free points.
While no point changes sets, a and z are linear in tau, and one factorisation of the free points' matrix gives both lines. Each
piece is computed from its sets, so that only the rounding of the sum over the points at their bound accumulates. A point whose
row is a linear combination of the free points' rows would make their matrix singular: it stays in its set at z = 1 until a free
point leaves. If many points reach z = 1 at once, as on a grid, they may change sets in turn without end: for these points 1 is
then replaced by a ``knot`` close to 1, permanently, and ``moved_apart`` counts these changes.

Source: the active-set pieces of Hastie, Rosset, Tibshirani, Zhu, The Entire Regularization Path for the Support Vector
Machine, JMLR 5 (2004), here for a box of which any part may move.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from harness import KernelOracle
from harness.support.arrays import Block, Mask, Vector

LOW, HIGH, FREE = 0, 1, 2
_GOLDEN = 0.6180339887498949  # golden ratio minus 1; the fractional parts of its multiples are spread evenly
_KNOT_DISTANCE = 1e-11  # distance of a knot from z, in units of f
_KNOT_RANGE = 1e-9  # distance of z from 1, in units of f, up to which a point gets another knot
_MAX_MOVED_APART = 50  # largest number of times that knots change
_DEPENDENT = 1e-11  # squared distance from the span of the free points, over k(x, x), that counts as 0
# terms added to a diagonal, over max k(x, x), until it can be factorised
_LIFTS = 0.0, 1e-15, 1e-14, 1e-13, 1e-12, 1e-11
_MIN_STEP = 1e-14  # step of tau that counts as one
_MAX_PIECES = 100  # largest number of changes of sets until a box is reached, over n; a few are usual
_MAX_EMPTY_STEPS = 5  # steps of length 0 in a row until knots change, over n


class Stalled(Exception):
    """Points change sets in turn while tau does not increase."""


class Follower:
    """The current solution and the sets of points that define it.

    a, z, high : (n,)
    at : (n,), LOW, HIGH or FREE
    knot : (n,), the z at which a point is free: 1, or close to 1
    pieces : number of changes of sets so far
    """

    def __init__(self, kernel: KernelOracle, targets: Vector) -> None:
        import scipy.linalg

        self.linalg: Any = scipy.linalg  # imported before the caller limits its threads
        self.kernel, self.y, n = kernel, targets, kernel.n
        self.a, self.z, self.high = np.zeros(n), np.zeros(n), np.zeros(n)
        self.at = np.full(n, LOW, dtype=np.int8)
        self.knot, self.moved_apart = np.ones(n), 0
        self.tied: Mask = np.zeros(n, dtype=bool)
        self.free: list[int] = []
        self.rows = np.empty((8, n))  # rows of Q of the free points, in the order of ``free``
        self.pieces = 0
        self.crossed: int | None = None
        self.tau = 0.0

    @property
    def coef(self) -> Vector:
        """The signed coefficients, (n,)."""
        return self.y * self.a

    def follow(
        self, target: Vector, below: Mask | None = None, least: float = -np.inf, most: float = np.inf
    ) -> Iterator[float]:
        """Move the box to ``target``, (n,), and yield tau after each change of sets.

        Parameters
        ----------
        below : (n,) bool; if given, the path also ends where z of one of these points rises to ``most`` or z of another
            point falls to ``least``. ``crossed`` is then that point, else None

        Raises
        ------
        Stalled : the sets repeat in a cycle.
        """
        start, change = self.high, target - self.high
        self._open(start, target)
        base, slope = self._sum_at_bound(start), self._sum_at_bound(change)
        self.tau, self.crossed, empty_steps = 0.0, None, 0
        max_pieces = self.pieces + _MAX_PIECES * (len(self.a) + 1)
        while True:
            p, q, u, v = self._lines(base, slope)
            tau, i, side = self._next(start, change, p, q, u, v)
            crossing, j = (np.inf, -1) if below is None else _crossing(u, v, below, least, most)
            crossing = max(crossing, self.tau)
            ended = min(tau, crossing) >= 1.0
            empty_steps = empty_steps + 1 if min(tau, crossing) <= self.tau + _MIN_STEP else 0
            self.tau = max(self.tau, min(tau, crossing, 1.0))
            self.high = target if self.tau == 1.0 else start + self.tau * change
            self._place(p, q, u, v)
            if ended or crossing <= tau:
                self.crossed = None if ended else j
                return
            if self.pieces > max_pieces:
                raise Stalled(f"the box is not reached after {_MAX_PIECES} changes of sets for each point")
            if empty_steps > _MAX_EMPTY_STEPS * len(self.a):
                self._move_apart()
                empty_steps = 0
                continue
            self._change(i, side, start, change, base, slope)
            yield self.tau

    def _move_apart(self) -> None:
        """Give different knots to the points that are about to become free."""
        if self.moved_apart == _MAX_MOVED_APART:
            raise Stalled("points change sets in turn and tau does not increase")
        self.moved_apart += 1
        distance = _KNOT_DISTANCE * (1.0 + (np.arange(1, len(self.a) + 1) * self.moved_apart * _GOLDEN) % 1.0)
        near = (np.abs(self.z - self.knot) <= _KNOT_RANGE) & (self.at != FREE)
        self.knot = np.where(near, self.z + np.where(self.at == HIGH, distance, -distance), self.knot)

    def _open(self, start: Vector, target: Vector) -> None:
        """Put the points whose box has or gets width 0, or gets a positive width, into their sets."""
        closed, opens = (start == 0.0) & (target == 0.0), (start == 0.0) & (target > 0.0)
        for i in np.flatnonzero(closed & (self.at == FREE)):
            self._leave(int(i))
        self.at[closed] = LOW
        self.at[opens & (self.z < self.knot) & (self.at != FREE)] = HIGH
        self.closed = closed

    def _sum_at_bound(self, bounds: Vector) -> Vector:
        """Return Q times ``bounds`` at the points in HIGH, else 0, (n,)."""
        weights = np.where(self.at == HIGH, bounds, 0.0)
        return np.asarray(self.y * self.kernel.expand(self.y * weights))

    def _lines(self, base: Vector, slope: Vector) -> tuple[Vector, Vector, Vector, Vector]:
        """Return p, q, (m,), and u, v, (n,), with a = p + tau q at the free points and z = u + tau v."""
        m = len(self.free)
        if m == 0:
            return np.empty(0), np.empty(0), base, slope
        rows, free = self.rows[:m], np.array(self.free)
        right_sides = np.column_stack([self.knot[free] - base[free], -slope[free]])
        solution = self.linalg.cho_solve((self._factorise(rows[:, free]), True), right_sides, check_finite=False)
        change = rows.T @ solution
        return solution[:, 0], solution[:, 1], base + change[:, 0], slope + change[:, 1]

    def _next(
        self, start: Vector, change: Vector, p: Vector, q: Vector, u: Vector, v: Vector
    ) -> tuple[float, int, int]:
        """Return tau at which the next point leaves its set, the point, and the set that it goes to."""
        when, where = np.full(len(u), np.inf), np.where(self.at == FREE, LOW, FREE)
        with np.errstate(divide="ignore", invalid="ignore"):
            approaching = np.where(self.at == LOW, v < 0.0, v > 0.0) & (self.at != FREE) & ~self.tied & ~self.closed
            when[approaching] = ((self.knot - u) / v)[approaching]
            if len(p):
                free = np.array(self.free)
                down = np.where(q < 0.0, -p / q, np.inf)
                rise = q - change[free]
                up = np.where(rise > 0.0, (start[free] - p) / rise, np.inf)
                when[free], where[free] = np.minimum(down, up), np.where(up < down, HIGH, LOW)
        i = int(np.argmin(np.maximum(when, self.tau)))
        return max(float(when[i]), self.tau), i, int(where[i])

    def _place(self, p: Vector, q: Vector, u: Vector, v: Vector) -> None:
        """Compute the solution at tau."""
        self.a = np.where(self.at == HIGH, self.high, 0.0)
        self.a[self.free] = np.clip(p + self.tau * q, 0.0, self.high[self.free])
        self.z = u + self.tau * v

    def _change(self, i: int, side: int, start: Vector, change: Vector, base: Vector, slope: Vector) -> None:
        """Move point i to the set ``side`` and update ``base`` and ``slope`` in place."""
        self.pieces += 1
        if side == FREE:
            row = np.asarray(self.y[i] * self.y * self.kernel.row(i), dtype=np.float64)
            if self._depends(i, row):
                self.tied[i] = True
                return
            if self.at[i] == HIGH:
                base -= start[i] * row
                slope -= change[i] * row
            self._enter(i, row)
            return
        row = self.rows[self.free.index(i)].copy()
        self._leave(i)
        self.at[i] = side
        if side == HIGH:
            base += start[i] * row
            slope += change[i] * row

    def _depends(self, i: int, row: Vector) -> bool:
        """Return whether point i is a linear combination of the free points, up to rounding."""
        m = len(self.free)
        if m == 0:
            return not row[i] > 0.0
        free = np.array(self.free)
        factor = self._factorise(self.rows[:m][:, free])
        projection = self.linalg.solve_triangular(factor, row[free], lower=True, check_finite=False)
        distance = row[i] - projection @ projection  # squared
        return bool(distance <= _DEPENDENT * max(row[i], float(np.diagonal(factor).max()) ** 2))

    def _factorise(self, matrix: Block) -> Block:
        """Return the lower Cholesky factor of the free points' matrix.

        If the points are nearly linearly dependent, as in few dimensions, the rounded matrix may not be positive definite:
        the smallest of ``_LIFTS`` that makes it so is then added to its diagonal.
        """
        largest = float(np.diagonal(matrix).max())
        for lift in _LIFTS:
            try:
                lifted = matrix + lift * largest * np.eye(len(matrix)) if lift else matrix
                return np.asarray(self.linalg.cholesky(lifted, lower=True, check_finite=False))
            except self.linalg.LinAlgError:
                continue
        raise Stalled("the matrix of the free points is singular")

    def _enter(self, i: int, row: Vector) -> None:
        m = len(self.free)
        if m == len(self.rows):
            self.rows = np.concatenate([self.rows, np.empty_like(self.rows)])
        self.rows[m] = row
        self.free.append(i)
        self.at[i] = FREE

    def _leave(self, i: int) -> None:
        """Remove point i from the free points; the last of them takes its place."""
        place, last = self.free.index(i), self.free.pop()
        if last != i:
            self.free[place] = last
            self.rows[place] = self.rows[len(self.free)]
        self.at[i] = LOW
        self.tied[:] = False


def _crossing(u: Vector, v: Vector, below: Mask, least: float, most: float) -> tuple[float, int]:
    """Return the first tau at which z = u + tau v of a point in ``below`` reaches ``most`` or another ``least``; and the point."""
    with np.errstate(divide="ignore", invalid="ignore"):
        rising, falling = np.where(v > 0.0, (most - u) / v, np.inf), np.where(v < 0.0, (least - u) / v, np.inf)
    when = np.where(below, rising, falling)
    i = int(np.argmin(when))
    return float(when[i]), i
