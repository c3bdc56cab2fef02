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
from typing import TYPE_CHECKING, ClassVar, Self

from harness import Iterate, Problem, Solver, parameter
from harness.problems import HardMargin, OutlierMargin, PolytopeDistance
from harness_rgd.sides import against_origin

if TYPE_CHECKING:
    import numpy as np

    from harness_rgd.forest import Forest

_LEAST_DELTA = 0.1  # below it the number of samples grows no more


@dataclass(frozen=True)
class _Trees(Solver):
    """What both have in common.

    A step is a level done. ``info``: height, samples (of a node and guess), nodes (of the level), scored (nodes so far),
    best_level, width (of the best node's slab), split (how many of each side it gives up), trees.
    """

    solves: ClassVar[tuple[type[Problem], ...]] = (OutlierMargin, PolytopeDistance, HardMargin)
    exact: ClassVar[bool] = False

    nodes: int | None = parameter(50, "L, nodes kept of each level; none: all of them, the whole tree", ge=1)
    mu: float = parameter(0.1, "probability that a level of the right path has outliers as samples alone", gt=0, lt=1)
    epsilon: float = parameter(
        0.1,
        "relative accuracy of the width at which a descent without outliers ends",
        gt=0,
        lt=1,
    )
    samples: int | None = parameter(None, "children of a node; none: the paper's (1 + 1 / delta) ln(h / mu)", ge=1)
    guesses: int = parameter(
        3, "one share for both classes: guesses of how it is split, each with samples of its own", ge=1
    )
    probe: int | None = parameter(1000, "points on which children are compared before pruning; none: all", ge=1)
    seed_point: int | None = parameter(
        None, "root, a training point, its partner of the other class drawn at random; none: drawn too", ge=0
    )

    def skip(self, problem: Problem) -> str | None:
        """Refuse a root that is no training point, and two hulls of one class."""
        if self.seed_point is not None and self.seed_point >= problem.n:
            return (
                f"{self.name}: seed_point={self.seed_point} is no training point; they are numbered from 0 to "
                f"{problem.n - 1}."
            )
        if not against_origin(problem) and len(set(problem.targets.tolist())) < 2:
            return f"{self.name} separates two classes, and this problem has one; give labels of both kinds."
        return None

    def with_target_gap(self, gap: float) -> Self:
        """Return this solver with the epsilon of this gap: 1 - (1 - epsilon)^2."""
        return self.replaced(epsilon=1.0 - math.sqrt(1.0 - min(gap, 0.5)))

    def samples_of(self, problem: Problem, height: int) -> int:
        """Return |S| of a node and guess; a delta below 0.1, at which it would grow beyond bounds, counts as 0.1."""
        if self.samples is not None:
            return self.samples
        delta = max(_LEAST_DELTA, problem.settings.delta) if isinstance(problem, OutlierMargin) else 1.0
        return max(1, math.ceil((1.0 + 1.0 / delta) * math.log(height / self.mu)))

    def _forest(self, problem: Problem, rng: np.random.Generator) -> Forest:
        from harness_rgd.forest import Forest

        return Forest(self, problem, rng)


@dataclass(frozen=True)
class RGDTree(_Trees):
    """Random gradient descent tree (Ding & Xu 2015): one of many random descents meets no outlier."""

    name: ClassVar[str] = "rgd-tree"

    height: int = parameter(10, "h, levels below the root", ge=1)

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        """Yield the best node so far after each level."""
        forest = self._forest(problem, rng)
        yield from forest.grow(forest.root(), self.height, self.samples_of(problem, self.height))
        yield forest.last()


@dataclass(frozen=True)
class RGDBoosted(_Trees):
    """Boosted RGD-trees (Ding & Xu 2015, section 3): the best node of a low tree is the next tree's root."""

    name: ClassVar[str] = "rgd-boosted"

    height: int = parameter(5, "h of each tree, levels below its root", ge=1)
    rounds: int = parameter(10, "most trees; fewer, if one does not improve on those before", ge=1)

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        """Yield the best node so far after each level."""
        forest = self._forest(problem, rng)
        root, width = forest.root(), -math.inf
        for _ in range(self.rounds):
            yield from forest.grow(root, self.height, self.samples_of(problem, self.height))
            if forest.certified or not forest.best.width > width:
                break
            root, width = forest.best.node, forest.best.width
        yield forest.last()
