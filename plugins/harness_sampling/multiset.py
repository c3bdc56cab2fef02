"""Multiset of Balcazar et al. 2008, section 2.1: u(x_i) copies of each point x_i, u a power of two, in exact integers.

Weights that double overflow floats and machine integers after a few hundred rounds; Python's integers do not. Only the
exponents of points that were doubled at least once are stored, so that memory grows with their number and not with n.
"""

from __future__ import annotations

import numpy as np

from harness.support.arrays import Index, Mask

_MACHINE = 1 << 62  # largest total number of copies for which numpy draws in one call


class Multiset:
    """The points 0 .. n - 1, each in 2^t copies; t counts its doublings and is 0 at first."""

    def __init__(self, n: int) -> None:
        self.n = n
        self._raised: Index = np.empty(0, dtype=np.int64)  # points with t > 0, ascending
        self._exponent: Index = np.empty(0, dtype=np.int64)  # their t

    @property
    def total(self) -> int:
        """u(X), the number of copies of all points."""
        return self.n - len(self._raised) + _copies(self._exponent)

    def weight(self, members: Mask) -> int:
        """Return the copies of the points in ``members``, (n,) bool."""
        raised = members[self._raised]
        return int(np.count_nonzero(members)) - int(np.count_nonzero(raised)) + _copies(self._exponent[raised])

    def double(self, members: Mask) -> None:
        """Double the copies of each point in ``members``, (n,) bool."""
        points = np.flatnonzero(members)
        merged = np.union1d(self._raised, points)
        exponent = np.zeros(len(merged), dtype=np.int64)
        exponent[np.searchsorted(merged, self._raised)] = self._exponent
        exponent[np.searchsorted(merged, points)] += 1
        self._raised, self._exponent = merged, exponent

    def draw(self, r: int, rng: np.random.Generator) -> Index:
        """Draw r copies without replacement and return their points, (r,), ascending; a point may occur several times.

        Every set of r copies has the same probability, so the points follow the multivariate hypergeometric distribution.
        R. W. Floyd's method (Bentley & Floyd, CACM 30(9), 1987) needs O(r) random numbers, whatever the total.
        """
        total = self.total
        chosen: set[int] = set()
        for last, copy in enumerate(_uniform(total - r, total, rng), start=total - r):
            chosen.add(last if copy in chosen else copy)
        return self._points(sorted(chosen))

    def _points(self, copies: list[int]) -> Index:
        """Return the points of ``copies``, ascending; copies are numbered by exponent, then by point."""
        points, start, first = [], 0, 0
        for level in (0, *np.unique(self._exponent).tolist()):
            count = self.n - len(self._raised) if level == 0 else int(np.count_nonzero(self._exponent == level))
            stop, last = start + (count << level), first
            while last < len(copies) and copies[last] < stop:
                last += 1
            place = np.array([(copy - start) >> level for copy in copies[first:last]], dtype=np.int64)
            points.append(self._never_raised(place) if level == 0 else self._raised[self._exponent == level][place])
            start, first = stop, last
        return np.sort(np.concatenate(points))

    def _never_raised(self, place: Index) -> Index:
        """Return the points with the indices ``place`` among the points with t = 0."""
        before = self._raised - np.arange(len(self._raised))  # points with t = 0 before each raised one
        return np.asarray(place + np.searchsorted(before, place, side="right"), dtype=np.int64)


def _copies(exponents: Index) -> int:
    """Return the sum of 2^t, exactly."""
    counts = np.bincount(exponents) if len(exponents) else np.empty(0, dtype=np.int64)
    return sum(int(count) << level for level, count in enumerate(counts) if count)


def _uniform(first: int, stop: int, rng: np.random.Generator) -> list[int]:
    """Draw a whole number uniformly from 0 .. j for each j in first .. stop - 1."""
    if stop <= _MACHINE:
        numbers: list[int] = rng.integers(0, np.arange(first, stop), endpoint=True).tolist()
        return numbers
    return [_below(j + 1, rng) for j in range(first, stop)]


def _below(bound: int, rng: np.random.Generator) -> int:
    """Draw a whole number uniformly from 0 .. bound - 1, for a bound of any size, by rejection."""
    bits = (bound - 1).bit_length()
    size = -(-bits // 8)
    while True:
        number = int.from_bytes(rng.bytes(size), "little") >> (8 * size - bits)
        if number < bound:
            return number
