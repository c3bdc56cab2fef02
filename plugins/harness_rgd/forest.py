"""What a user sets of a tree solver, and one run: its root, its trees, and the models it yields."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from harness import Iterate, Problem, Solver, parameter
from harness.problems import HardMargin, PolytopeDistance
from harness.support.arrays import Index
from harness_rgd.nodes import Nodes, space_of
from harness_rgd.outlier_margin import OutlierMargin
from harness_rgd.sides import Sides
from harness_rgd.tree import Best, Tree

_LEAST_DELTA = 0.1  # below it the number of samples grows no more
_ROOTS = 20  # drawn until one is not the origin: a point may be in both classes
_NOTHING = 1e-14  # |x|^2 of a root below this part of |phi(x_i)|^2 is that of the origin


@dataclass(frozen=True)
class Trees(Solver):
    """What the tree solvers have in common.

    A step is a level done. ``info``: height, samples (of a node and guess), nodes (of the level), scored (nodes so far),
    best_level, width (of the best node's slab), split (how many of each side it gives up), trees.
    """

    solves: ClassVar[tuple[type[Problem], ...]] = (OutlierMargin, PolytopeDistance, HardMargin)
    exact: ClassVar[bool] = False

    nodes: int | None = parameter(50, "L, nodes kept of each level; none: all of them, the whole tree", ge=1)
    mu: float = parameter(0.1, "probability that a level of the right path has outliers as samples alone", gt=0, lt=1)
    epsilon: float = parameter(
        0.1, "relative accuracy of the width at which a descent without outliers ends", gt=0, lt=1
    )
    samples: int | None = parameter(None, "children of a node; none: the paper's (1 + 1 / delta) ln(h / mu)", ge=1)
    guesses: int = parameter(
        3, "one share for both classes: guesses of how it is split, each with samples of its own", ge=1
    )
    probe: int | None = parameter(1000, "points on which children are compared before pruning; none: all", ge=1)

    def with_target_gap(self, gap: float) -> Self:
        """Return this solver with the epsilon of this gap: 1 - (1 - epsilon)^2."""
        return self.replace(epsilon=1.0 - math.sqrt(1.0 - min(gap, 0.5)))

    def samples_of(self, problem: Problem, height: int) -> int:
        """Return |S| of a node and guess; a delta below 0.1, at which it would grow beyond bounds, counts as 0.1."""
        if self.samples is not None:
            return self.samples
        delta = max(_LEAST_DELTA, problem.settings.delta) if isinstance(problem, OutlierMargin) else 1.0
        return max(1, math.ceil((1.0 + 1.0 / delta) * math.log(height / self.mu)))


class Forest:
    """The trees of one run, over the same points.

    Attributes
    ----------
    certified : nothing may be given up, and the best node's slab is nearly as wide as the node is long
    """

    def __init__(self, solver: Trees, problem: Problem, rng: np.random.Generator) -> None:
        self.solver, self.problem, self.rng = solver, problem, rng
        self.sides = Sides.of(problem, solver.guesses)
        self.space = space_of(problem.kernel, _probe(self.sides, solver.probe, rng))
        self.tree = Tree(self.space, self.sides, rng, most=solver.nodes)
        self.certified = False
        self._said: dict[str, Any] = {}
        self._trees = 0

    @property
    def best(self) -> Best:
        """The widest node so far."""
        assert self.tree.best is not None
        return self.tree.best

    def root(self) -> Nodes:
        """Return a root: the seed point or a random one, with a random partner; not the origin if that can be."""
        for _ in range(_ROOTS):
            points = [int(side[self.rng.integers(len(side))]) for side in self.sides.points if side.size]
            drawn = np.array(points)
            values, signs = self.problem.kernel.block(drawn, drawn), np.array([1.0, -1.0])[: len(points)]
            if signs @ values @ signs > _NOTHING * np.trace(values):
                break
        return self.space.root(drawn[:1], drawn[1:])

    def grow(self, root: Nodes, height: int, samples: int) -> Iterator[Iterate]:
        """Grow a tree, and yield after each level; to its end, or until a node is certified."""
        self._trees += 1
        self._said.update(height=height, samples=samples, trees=self._trees)
        for nodes in self.tree.grow(root, height, samples):
            self._said["nodes"] = len(nodes)
            yield self.iterate()
            enough = (1.0 - self.solver.epsilon) * self.best.length
            self.certified = self.sides.both == 0 and 0.0 < self.best.width >= enough
            if self.certified:
                return

    def iterate(self) -> Iterate:
        """Return the best node as a model."""
        best, slab = self.best, self.best.slab
        info = {
            **self._said,
            "scored": self.tree.scored,
            "best_level": best.level,
            "width": best.width if np.isfinite(best.width) else None,
            "split": " + ".join(str(count) for count in slab.dropped),
        }
        hull = isinstance(self.problem, PolytopeDistance)  # the offset of the supporting hyperplane
        return Iterate(
            dual_coef=best.node.dual_coef(self.problem.n),
            intercept=-slab.lowest if hull else slab.intercept,
            step=self.tree.levels,
            info=info,
        )

    def last(self) -> Iterate:
        """Return the best node as the last model: done if it leaves a margin, else with the evidence."""
        found = self.iterate()
        if self.best.width > 0.0:  # it leaves a margin
            found.done = True
        else:
            found.info = {**found.info, "stopped": self._evidence()}
        return found

    def _evidence(self) -> str:
        names = ("points",) if self.sides.against_origin else ("positives", "negatives")
        dropped = zip(self.best.slab.dropped, self.sides.points, names, strict=False)
        given_up = " and ".join(f"{count} of {len(points)} {name}" for count, points, name in dropped)
        found = f"the widest slab of {self.tree.scored} nodes is {self.best.width:.3g} wide"
        if not np.isfinite(self.best.width):
            found = "every node is the origin up to rounding: the points, or the classes, coincide, or nearly"
        return (
            f"no node separates: {found}, with {given_up} given up; a larger share, more nodes, a greater height or "
            "another kernel may."
        )


def _probe(sides: Sides, size: int | None, rng: np.random.Generator) -> Index:
    """Return the points on which children are compared, ascending: as many of each side as its share is."""
    n = sum(len(points) for points in sides.points)
    if size is None or size >= n:
        return np.arange(n)
    drawn = [
        rng.choice(points, max(1, round(size * len(points) / n)), replace=False, shuffle=False)
        for points in sides.points
        if points.size
    ]
    return np.sort(np.concatenate(drawn))
