"""The points on each side of the margin, and how many of each side are given up as outliers, by guess."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness import Problem
from harness.problems import PolytopeDistance
from harness.support.arrays import Index, Vector
from harness_rgd.outlier_margin import OutlierMargin, Slab


@dataclass(frozen=True)
class Sides:
    """The two sides of the margin; against the origin the second is empty.

    points : the points of each side, ascending
    splits : numbers of points of the first side that may be given up, ``both`` minus which are of the second
    drops : (G,) number of points that each guess gives up, of each side
    """

    points: tuple[Index, Index]
    splits: range
    both: int
    drops: tuple[Index, Index]

    @classmethod
    def of(cls, problem: Problem, guesses: int) -> Sides:
        """Return the sides of a problem; formulations without outliers give up no points.

        guesses : number of evenly spaced splits of a common share over the classes; 1: in proportion to the classes
        """
        if isinstance(problem, OutlierMargin):
            positive, splits, both = problem.positive, problem.allowance.splits(), problem.allowance.both
        else:
            positive = np.full(problem.n, True) if against_origin(problem) else problem.targets > 0
            splits, both = range(1), 0
        first, second = np.flatnonzero(positive), np.flatnonzero(~positive)
        least, most = splits[0], splits[-1]
        if guesses == 1 or least == most:
            drops = np.array([min(max(round(both * len(first) / problem.n), least), most)])
        else:
            drops = np.unique(np.linspace(least, most, guesses).round().astype(np.intp))
        return cls((first, second), splits, both, (drops, both - drops))

    @property
    def against_origin(self) -> bool:
        """Whether there is only one side."""
        return not self.points[1].size

    @property
    def pools(self) -> tuple[Index, Index]:
        """Number of worst points of each side that the samples are drawn from, by guess; at least 1."""
        return np.maximum(1, self.drops[0]), np.maximum(1, self.drops[1])

    def restricted(self, probe: Index) -> tuple[tuple[Index, Index], tuple[Index, Index]]:
        """Return the indices into ``probe`` of each side's points, and how many of these each guess gives up in proportion."""
        indices, drops = [], []
        for points, given_up in zip(self.points, self.drops, strict=True):
            index = np.flatnonzero(np.isin(probe, points, assume_unique=True))
            share = len(index) / max(1, len(points))
            indices.append(index)
            drops.append(np.minimum(np.round(given_up * share).astype(np.intp), max(0, len(index) - 1)))
        return (indices[0], indices[1]), (drops[0], drops[1])

    def slab(self, scores: Vector) -> Slab:
        """Return the widest slab over all splits along a direction with ``scores``, (n,)."""
        dropped = np.asarray(self.splits)
        up = _smallest(scores[self.points[0]], int(dropped[-1]))
        if self.against_origin:
            return Slab(float(up[self.both]), 0.0, (self.both,))
        down = _smallest(-scores[self.points[1]], self.both - int(dropped[0]))
        reach = up[dropped] + down[self.both - dropped]
        best = int(np.argmax(reach))
        given_up = int(dropped[best]), self.both - int(dropped[best])
        return Slab(float(up[given_up[0]]), -float(down[given_up[1]]), given_up)


def against_origin(problem: Problem) -> bool:
    """Return whether the problem has all points on one side, instead of its classes on two."""
    return isinstance(problem, PolytopeDistance) or (isinstance(problem, OutlierMargin) and problem.against_origin)


def _smallest(values: Vector, k: int) -> Vector:
    """Return the k + 1 smallest values, ascending."""
    return np.sort(np.partition(values, k)[: k + 1])
