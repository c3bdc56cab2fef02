"""``rgd-tree`` and ``rgd-boosted``: many descents of Gilbert's kind at once, so that one of them meets no outlier.

A node is a point x of the hull; along it the k worst points are looked for, k as many as a model may give up, and each
of a few random ones among them, s, makes a child: the point of the segment (s, x) nearest to the origin. Where the tree
is whole and high enough, one node is an (epsilon, delta)-approximation with probability (1 - mu) (1 - outliers). With two
classes a node is a difference of points of both hulls, and s one of a random pair. Each node is judged by its slab: the
margin between the worst points that are left when as many are given up as the formulation lets a model.

Cost: nodes kept a level x n x d; kernels: the rows of the samples that became nodes, n values each, which the cache keeps.

Source: Ding & Xu, "Random gradient descent tree" (AAAI 2015), Algorithm 2 with its revision for two classes, section 3.
Their gamma is the formulation's ``outliers``, as is delta. Where the paper is wrong, or leaves open:

* Lemma 2's proof has |p - x| where it needs the projection <p, x> / |x|; that is signed here, as a point behind the origin
  is worse than any before it.
* Step 2(b)i takes the smallest projections; of two classes the smallest of P1 and the largest of P2.
* Theorem 4 keeps the sample's size for pairs. Both points of a pair must be no outliers, which may have probability
  (delta / (1 + delta))^2 only: (1 + 1 / delta)^2 ln(h / mu) pairs would be needed. The paper's number is the default of
  ``samples``; the larger one may be given.
* The discretised guess of how one share is split between the classes is left to a full version. Here the trees of all
  guesses grow as one: each node has samples for each guess, and its slab is that of its best guess.
* Which children are pruned is left open but for 'too narrow margin', from projections already computed. A child's own are
  not, and to compute them for all children would cost |S| times as much as the level. They follow from its parent's and
  its sample's, which are computed for a few random points, the ``probe``; the widest children there are kept.
* Gilbert's own stop is kept where nothing may be given up: every node then is in the hull, and one whose slab is at least
  (1 - epsilon) |x| wide ends the forest. With outliers nothing of the kind is known of a node.
* A delta, or a share, of 0 would take infinitely many samples, or none: each side's pool is one point at least, and where
  the pools hold no more pairs than samples are asked for, all are taken. A share of 0 so is Gilbert's algorithm.
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
    "storing_the_points_otherwise": "on hulls as near as 3e-8 no node of few separates, and it says so instead of being done",
    "every_kernel_value_is_counted": "with the linear kernel a node is made of points",
}


@dataclass(frozen=True)
class RGDTree(Trees):
    """Random gradient descent tree (Ding & Xu 2015): one of many random descents meets no outlier.

    Take it for the widest margin where a known share of the points are outliers. Paper: Ding and Xu 2015.
    """

    name: ClassVar[str] = "rgd-tree"
    conformance: ClassVar[Conformance] = Conformance({"height": 50}, excused=_EXCUSED)

    height: int = parameter(10, "h, levels below the root", ge=1)

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        """Yield the best node so far after each level."""
        forest = Forest(self, problem, rng)
        yield from forest.grow(forest.root(), self.height, self.samples_of(problem, self.height))
        yield forest.last()


@dataclass(frozen=True)
class RGDBoosted(Trees):
    """Boosted RGD-trees (Ding & Xu 2015, section 3): the best node of a low tree is the next tree's root.

    Take it where ``rgd-tree`` would need too high a tree. Paper: Ding and Xu 2015.
    """

    name: ClassVar[str] = "rgd-boosted"
    conformance: ClassVar[Conformance] = Conformance({"height": 20}, excused=_EXCUSED)

    height: int = parameter(5, "h of each tree, levels below its root", ge=1)
    rounds: int = parameter(10, "most trees; fewer, if one does not improve on those before", ge=1)

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
