"""The hinge problem without a bias as its box changes: its exact solution, followed from breakpoint to breakpoint.

    max_a  sum_i a_i - 1/2 a' Q a    s.t.  0 <= a <= high(tau),  high = start + tau change,  tau from 0 to 1

with Q_ij = y_i y_j K_ij and z = Q a, so that a_i = 0 where z_i > 1, a_i = high_i where z_i < 1, and the free points are at
z_i = 1. While nobody changes sets, a and z are linear in tau: one factorisation of the free points' matrix gives both lines.
Each piece is computed anew from its sets, so that nothing adds up from piece to piece but rounding of the sum over the
points at their bound. A point whose row depends on those of the free ones would make their matrix singular: it stays where
it is, at z = 1, until a free point leaves. Where many points reach z = 1 at once, as on a grid, they may change sets in turn
for ever: then their 1 is replaced by a ``knot`` next to it, for the rest of the way, and counted in ``moved_apart``.

Source: the active-set pieces of Hastie, Rosset, Tibshirani, Zhu, The Entire Regularization Path for the Support Vector
Machine, JMLR 5 (2004), for a box of which any part may move.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from harness import KernelOracle
from harness.support.arrays import Block, Mask, Vector

LOW, HIGH, FREE = 0, 1, 2
# its multiples' fractions are spread evenly: different for all points, the same in each run
_GOLDEN = 0.6180339887498949
_APART = 1e-11  # in units of f: how far points that stand in each other's way are moved apart
_NEAR = 1e-9  # in units of f: those that are moved
_MOST_APART = 50  # times
_DEPENDENT = 1e-11  # of k(x, x): what is left of it beside the free points' span, below which there is nothing left
# of the largest k(x, x): added to a diagonal until it can be factorised
_LIFTS = 0.0, 1e-15, 1e-14, 1e-13, 1e-12, 1e-11
_STANDING = 1e-14  # a step of tau below is none
_MOST_PIECES = 100  # times n, on the way to one box: some times n are usual
_MOST_STANDING = 5  # times n: steps of no length after which it does not get away


class Stalled(Exception):
    """Points change sets back and forth, and tau does not move."""


class Follower:
    """The solution now, and the sets that it follows from.

    a, z, high : (n,); at : (n,), LOW, HIGH or FREE
    knot : (n,), the z of a free point: 1, or next to it
    pieces : changes of sets so far
    """

    def __init__(self, kernel: KernelOracle, targets: Vector) -> None:
        import scipy.linalg

        self.linalg: Any = scipy.linalg  # loaded by now, so that its threads can be limited
        self.kernel, self.y, n = kernel, targets, kernel.n
        self.a, self.z, self.high = np.zeros(n), np.zeros(n), np.zeros(n)
        self.at = np.full(n, LOW, dtype=np.int8)
        self.knot, self.moved_apart = np.ones(n), 0
        self.tied: Mask = np.zeros(n, dtype=bool)
        self.free: list[int] = []
        self.rows = np.empty((8, n))  # of Q, those of the free points in their order
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
        """Move the box to ``target``, (n,); yields tau after each change of sets.

        Parameters
        ----------
        below : (n,) bool; where given, end as well where the z of one of these points rises to ``most``, or that of another
            falls to ``least``: the point is ``crossed`` then, which is else None

        Raises
        ------
        Stalled : the sets go round in a circle.
        """
        start, change = self.high, target - self.high
        self._open(start, target)
        base, slope = self._summed(start), self._summed(change)
        self.tau, self.crossed, standing = 0.0, None, 0
        until = self.pieces + _MOST_PIECES * (len(self.a) + 1)
        while True:
            p, q, u, v = self._lines(base, slope)
            tau, i, side = self._next(start, change, p, q, u, v)
            crossing, j = (np.inf, -1) if below is None else _crossing(u, v, below, least, most)
            crossing = max(crossing, self.tau)
            ended = min(tau, crossing) >= 1.0
            standing = standing + 1 if min(tau, crossing) <= self.tau + _STANDING else 0
            self.tau = max(self.tau, min(tau, crossing, 1.0))
            self.high = target if self.tau == 1.0 else start + self.tau * change
            self._place(p, q, u, v)
            if ended or crossing <= tau:
                self.crossed = None if ended else j
                return
            if self.pieces > until:
                raise Stalled(f"the box is not reached after {_MOST_PIECES} changes of sets for each point")
            if standing > _MOST_STANDING * len(self.a):
                self._move_apart()
                standing = 0
                continue
            self._change(i, side, start, change, base, slope)
            yield self.tau

    def _move_apart(self) -> None:
        """Give the points that are about to get free knots of their own."""
        if self.moved_apart == _MOST_APART:
            raise Stalled("points change sets in turn and nothing moves")
        self.moved_apart += 1
        far = _APART * (1.0 + (np.arange(1, len(self.a) + 1) * self.moved_apart * _GOLDEN) % 1.0)
        near = (np.abs(self.z - self.knot) <= _NEAR) & (self.at != FREE)
        self.knot = np.where(near, self.z + np.where(self.at == HIGH, far, -far), self.knot)

    def _open(self, start: Vector, target: Vector) -> None:
        """Put the points whose box opens or is closed into their sets."""
        closed, opens = (start == 0.0) & (target == 0.0), (start == 0.0) & (target > 0.0)
        for i in np.flatnonzero(closed & (self.at == FREE)):
            self._leave(int(i))
        self.at[closed] = LOW
        self.at[opens & (self.z < self.knot) & (self.at != FREE)] = HIGH
        self.shut = closed

    def _summed(self, bounds: Vector) -> Vector:
        """Return Q times the ``bounds`` of the points that are at them, (n,)."""
        weights = np.where(self.at == HIGH, bounds, 0.0)
        return np.asarray(self.y * self.kernel.expand(self.y * weights))

    def _lines(self, base: Vector, slope: Vector) -> tuple[Vector, Vector, Vector, Vector]:
        """Return p, q, (m,), and u, v, (n,): the free a = p + tau q, and z = u + tau v."""
        m = len(self.free)
        if m == 0:
            return np.empty(0), np.empty(0), base, slope
        rows, free = self.rows[:m], np.array(self.free)
        sides = np.column_stack([self.knot[free] - base[free], -slope[free]])
        solved = self.linalg.cho_solve((self._half(rows[:, free]), True), sides, check_finite=False)
        both = rows.T @ solved
        return solved[:, 0], solved[:, 1], base + both[:, 0], slope + both[:, 1]

    def _next(
        self, start: Vector, change: Vector, p: Vector, q: Vector, u: Vector, v: Vector
    ) -> tuple[float, int, int]:
        """Return where the next point leaves its set, the point, and the set that it goes to."""
        when, where = np.full(len(u), np.inf), np.where(self.at == FREE, LOW, FREE)
        with np.errstate(divide="ignore", invalid="ignore"):
            wrong = np.where(self.at == LOW, v < 0.0, v > 0.0) & (self.at != FREE) & ~self.tied & ~self.shut
            when[wrong] = ((self.knot - u) / v)[wrong]
            if len(p):
                free = np.array(self.free)
                down = np.where(q < 0.0, -p / q, np.inf)
                apart = q - change[free]
                up = np.where(apart > 0.0, (start[free] - p) / apart, np.inf)
                when[free], where[free] = np.minimum(down, up), np.where(up < down, HIGH, LOW)
        i = int(np.argmin(np.maximum(when, self.tau)))
        return max(float(when[i]), self.tau), i, int(where[i])

    def _place(self, p: Vector, q: Vector, u: Vector, v: Vector) -> None:
        """Compute the solution at tau."""
        self.a = np.where(self.at == HIGH, self.high, 0.0)
        self.a[self.free] = np.clip(p + self.tau * q, 0.0, self.high[self.free])
        self.z = u + self.tau * v

    def _change(self, i: int, side: int, start: Vector, change: Vector, base: Vector, slope: Vector) -> None:
        """Let point i change to the set ``side``; ``base`` and ``slope`` follow."""
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
        """Return whether the point is a combination of the free ones, as far as rounding lets one tell."""
        m = len(self.free)
        if m == 0:
            return not row[i] > 0.0
        free = np.array(self.free)
        half = self._half(self.rows[:m][:, free])
        part = self.linalg.solve_triangular(half, row[free], lower=True, check_finite=False)
        return bool(row[i] - part @ part <= _DEPENDENT * max(row[i], float(np.diagonal(half).max()) ** 2))

    def _half(self, matrix: Block) -> Block:
        """Return the lower Cholesky factor of the free points' matrix.

        Of points that depend on each other but for the last digits, as those of one class in few dimensions do, rounding
        may leave a matrix that is not positive definite: it is lifted by as little as helps.
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
        """Take point i out of the free ones; the last one takes its place."""
        place, last = self.free.index(i), self.free.pop()
        if last != i:
            self.free[place] = last
            self.rows[place] = self.rows[len(self.free)]
        self.at[i] = LOW
        self.tied[:] = False


def _crossing(u: Vector, v: Vector, below: Mask, least: float, most: float) -> tuple[float, int]:
    """Return where the first z = u + tau v reaches ``most`` from ``below``, (n,) bool, or ``least`` from above; and whose."""
    with np.errstate(divide="ignore", invalid="ignore"):
        rising, falling = np.where(v > 0.0, (most - u) / v, np.inf), np.where(v < 0.0, (least - u) / v, np.inf)
    when = np.where(below, rising, falling)
    i = int(np.argmin(when))
    return float(when[i]), i
