"""What lies on which side of the margin, how much of it may be given up, and how: the guesses of the split."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness import Problem
from harness.problems import PolytopeDistance
from harness.support.arrays import Index, Vector
from harness_rgd.outlier_margin import OutlierMargin, Slab


@dataclass(frozen=True)
class Sides:
    """The two sides; against the origin the second one is empty.

    points : of each side, ascending
    splits : how many of the first side may be given up, where ``both`` are in sum
    drops : of each side, (G,) how many each guess gives up
    """

    points: tuple[Index, Index]
    splits: range
    both: int
    drops: tuple[Index, Index]

    @classmethod
    def of(cls, problem: Problem, guesses: int) -> Sides:
        """Return those of a problem; hulls give up nothing.

        guesses : of the split of one share for both classes, evenly apart; one: in proportion to the classes
        """
        if isinstance(problem, OutlierMargin):
            positive, splits, both = problem.positive, problem.allowance.splits(), problem.allowance.both
        else:
            positive = np.full(problem.n, True) if against_origin(problem) else problem.targets > 0
            splits, both = range(1), 0
        first, second = np.flatnonzero(positive), np.flatnonzero(~positive)
        least, most = splits[0], splits[-1]
        if guesses == 1 or least == most:
            chosen = np.array([min(max(round(both * len(first) / problem.n), least), most)])
        else:
            chosen = np.unique(np.linspace(least, most, guesses).round().astype(np.intp))
        return cls((first, second), splits, both, (chosen, both - chosen))

    @property
    def against_origin(self) -> bool:
        """Whether there is one side only."""
        return not self.points[1].size

    @property
    def pools(self) -> tuple[Index, Index]:
        """How many worst points of each side the samples are drawn from, by guess: one at least."""
        return np.maximum(1, self.drops[0]), np.maximum(1, self.drops[1])

    def restricted(self, probe: Index) -> tuple[tuple[Index, Index], tuple[Index, Index]]:
        """Return the sides' places among some of the points, and how many of these each guess gives up in proportion."""
        places, drops = [], []
        for points, given_up in zip(self.points, self.drops, strict=True):
            on = np.flatnonzero(np.isin(probe, points, assume_unique=True))
            share = len(on) / max(1, len(points))
            places.append(on)
            drops.append(np.minimum(np.round(given_up * share).astype(np.intp), max(0, len(on) - 1)))
        return (places[0], places[1]), (drops[0], drops[1])

    def slab(self, scores: Vector) -> Slab:
        """Return the widest slab over all splits, along a direction with ``scores``, (n,)."""
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
    """Return whether a problem has one side, all its points, and not its two classes."""
    return isinstance(problem, PolytopeDistance) or (isinstance(problem, OutlierMargin) and problem.against_origin)


def _smallest(values: Vector, k: int) -> Vector:
    """Return the k + 1 smallest values, ascending."""
    return np.sort(np.partition(values, k)[: k + 1])
