"""Solvers ``rgd-tree`` and ``rgd-boosted``: many random descents of Gilbert's kind, so that one of them meets no outlier.

A node is a point x of the hull. The k points with the smallest projection on x are its worst points, k the number that a model
may give up. Each of a few random worst points, s, gives a child: the point of the segment (s, x) nearest to the origin. If the
tree is not pruned and high enough, one node is an (epsilon, delta)-approximation with probability (1 - mu) (1 - outliers). With
two classes a node is a difference of points of both hulls, and s the difference of a random pair. The best node is that with
the widest slab: the margin between the worst points that are left after a model gives up all that the formulation allows.

A level costs its number of nodes x n x d; with a nonlinear kernel a row of n values for each sample that became a node, cached.

Source: Ding & Xu, "Random gradient descent tree" (AAAI 2015), Algorithm 2 with its revision for two classes, section 3.
Their gamma is the formulation's ``outliers``. This code differs where the paper is wrong or incomplete:

* Lemma 2's proof has |p - x| where it needs the projection <p, x> / |x|. Here the projection is signed, as a point behind the
  origin is worse than any point before it.
* Step 2(b)i takes the smallest projections; here, with two classes, the smallest of P1 and the largest of P2.
* Theorem 4 has the same number of samples for pairs. But both points of a pair must be inliers, whose probability may be only
  (delta / (1 + delta))^2, so (1 + 1 / delta)^2 ln(h / mu) pairs are needed. The paper's number is the default of ``samples``.
* The paper defers the guesses of how one share is split between the classes to a full version. Here one tree serves all guesses:
  each node has samples for each guess, and its slab is that of its best guess.
* The paper prunes children with 'too narrow margin' from computed projections, but the projections of a child are not computed,
  and for all children they would cost |S| times as much as the level. Here they follow from those of the parent and the sample
  on a few random points, the ``probe``, and the children that are widest there are retained.
* Gilbert's stopping criterion applies if no point may be given up: every node is then in the hull, and the run ends with a
  node whose slab is at least (1 - epsilon) |x| wide. With outliers there is no such criterion.
* With delta = 0 the number of samples would be infinite, with a share of 0 there would be none: here each side's pool has at
  least one point, and if the pools have at most ``samples`` pairs, all are taken. A share of 0 thus gives Gilbert's algorithm.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from harness import Conformance, Iterate, Problem, parameter
from harness_rgd.forest import Forest, Trees

_EXCUSED = {
    "storing_the_points_otherwise": "if the hulls are 3e-8 apart, no node of a small tree separates, and the run is not done",
    "every_kernel_value_is_counted": "with the linear kernel a node is a sum of points",
}


@dataclass(frozen=True)
class RGDTree(Trees):
    """Random gradient descent tree (Ding & Xu 2015): one of many random descents meets no outlier.

    Use it for the widest margin if a known share of the points are outliers. Paper: Ding and Xu 2015.
    """

    name: ClassVar[str] = "rgd-tree"
    conformance: ClassVar[Conformance] = Conformance({"height": 50}, excused=_EXCUSED)

    height: int = parameter(10, "h, number of levels below the root", ge=1)

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        """Yield the best node so far after each level."""
        forest = Forest(self, problem, rng)
        yield from forest.grow(forest.root(), self.height, self.samples_of(problem, self.height))
        yield forest.last()


@dataclass(frozen=True)
class RGDBoosted(Trees):
    """Boosted RGD-trees (Ding & Xu 2015, section 3): the best node of a low tree is the next tree's root.

    Use it if ``rgd-tree`` would need too high a tree. Paper: Ding and Xu 2015.
    """

    name: ClassVar[str] = "rgd-boosted"
    conformance: ClassVar[Conformance] = Conformance({"height": 20}, excused=_EXCUSED)

    height: int = parameter(5, "h, number of levels of each tree below its root", ge=1)
    rounds: int = parameter(10, "largest number of trees; the run ends with a tree that is not better", ge=1)

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        """Yield the best node so far after each level."""
        forest = Forest(self, problem, rng)
        root, width = forest.root(), -math.inf
        for _ in range(self.rounds):
            yield from forest.grow(root, self.height, self.samples_of(problem, self.height))
            if forest.certified or not forest.best.width > width:
                break
            root, width = forest.best.node, forest.best.width
        yield forest.last()
