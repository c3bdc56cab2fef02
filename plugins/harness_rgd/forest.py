"""Base class of the tree solvers, and one run: its root, its trees, and the models it yields."""

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

_MIN_DELTA = 0.1  # delta below which the default number of samples does not grow
_MAX_ROOTS = 20  # number of roots drawn until one is not the origin; a point may be in both classes
_ROUNDING = 1e-14  # |x|^2 of a root, relative to |phi(x_i)|^2, that counts as 0


@dataclass(frozen=True)
class Trees(Solver):
    """Base class of the tree solvers.

    A step is a level. ``info``: height, samples (of a node and guess), nodes (of the level), scored (nodes so far),
    best_level, width (of the best node's slab), split (number of points of each side that it gives up), trees.
    """

    solves: ClassVar[tuple[type[Problem], ...]] = (OutlierMargin, PolytopeDistance, HardMargin)
    exact: ClassVar[bool] = False

    nodes: int | None = parameter(50, "L, largest number of nodes of a level; none: all, the full tree", ge=1)
    mu: float = parameter(0.1, "probability that all samples of a level on the right path are outliers", gt=0, lt=1)
    epsilon: float = parameter(0.1, "relative accuracy of the width at which a run without outliers ends", gt=0, lt=1)
    samples: int | None = parameter(None, "children of a node; none: the paper's (1 + 1 / delta) ln(h / mu)", ge=1)
    guesses: int = parameter(
        3, "number of guesses how a common share is split between the classes, each with other samples", ge=1
    )
    probe: int | None = parameter(1000, "points on which children are compared before pruning; none: all", ge=1)

    def with_target_gap(self, gap: float) -> Self:
        """Return this solver with the epsilon of this gap: 1 - (1 - epsilon)^2."""
        return self.replace(epsilon=1.0 - math.sqrt(1.0 - min(gap, 0.5)))

    def samples_of(self, problem: Problem, height: int) -> int:
        """Return |S| of a node and guess; a delta below 0.1 counts as 0.1, as |S| grows with 1 / delta."""
        if self.samples is not None:
            return self.samples
        delta = max(_MIN_DELTA, problem.settings.delta) if isinstance(problem, OutlierMargin) else 1.0
        return max(1, math.ceil((1.0 + 1.0 / delta) * math.log(height / self.mu)))


class Forest:
    """The trees of one run.

    Attributes
    ----------
    certified : whether no point may be given up and the best node's slab is at least (1 - epsilon) |x| wide
    """

    def __init__(self, solver: Trees, problem: Problem, rng: np.random.Generator) -> None:
        self.solver, self.problem, self.rng = solver, problem, rng
        self.sides = Sides.of(problem, solver.guesses)
        self.space = space_of(problem.kernel, _probe(self.sides, solver.probe, rng))
        self.tree = Tree(self.space, self.sides, rng, max_nodes=solver.nodes)
        self.certified = False
        self._info: dict[str, Any] = {}
        self._trees = 0

    @property
    def best(self) -> Best:
        """The widest node so far."""
        assert self.tree.best is not None
        return self.tree.best

    def root(self) -> Nodes:
        """Return a root, a random point minus a random point of the other side, if possible not the origin."""
        for _ in range(_MAX_ROOTS):
            points = [int(side[self.rng.integers(len(side))]) for side in self.sides.points if side.size]
            drawn = np.array(points)
            values, signs = self.problem.kernel.block(drawn, drawn), np.array([1.0, -1.0])[: len(points)]
            if signs @ values @ signs > _ROUNDING * np.trace(values):
                break
        return self.space.root(drawn[:1], drawn[1:])

    def grow(self, root: Nodes, height: int, samples: int) -> Iterator[Iterate]:
        """Grow a tree until a node is certified, and yield an iterate after each level."""
        self._trees += 1
        self._info.update(height=height, samples=samples, trees=self._trees)
        for nodes in self.tree.grow(root, height, samples):
            self._info["nodes"] = len(nodes)
            yield self.iterate()
            enough = (1.0 - self.solver.epsilon) * self.best.length
            self.certified = self.sides.both == 0 and 0.0 < self.best.width >= enough
            if self.certified:
                return

    def iterate(self) -> Iterate:
        """Return the best node as a model."""
        best, slab = self.best, self.best.slab
        info = {
            **self._info,
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
        """Return the best node as the last model: done if its slab has a positive width, else with the reason."""
        iterate = self.iterate()
        if self.best.width > 0.0:
            iterate.done = True
        else:
            iterate.info = {**iterate.info, "stopped": self._evidence()}
        return iterate

    def _evidence(self) -> str:
        names = ("points",) if self.sides.against_origin else ("positives", "negatives")
        dropped = zip(self.best.slab.dropped, self.sides.points, names, strict=False)
        given_up = " and ".join(f"{count} of {len(points)} {name}" for count, points, name in dropped)
        reason = f"the widest slab of {self.tree.scored} nodes is {self.best.width:.3g} wide"
        if not np.isfinite(self.best.width):
            reason = "every node is the origin up to rounding: the points or the classes coincide"
        return (
            f"no node separates: {reason}, with {given_up} given up; try a larger share, more nodes, a greater height or "
            "another kernel."
        )


def _probe(sides: Sides, size: int | None, rng: np.random.Generator) -> Index:
    """Return the points on which children are compared, ascending, drawn from each side in proportion to its size."""
    n = sum(len(points) for points in sides.points)
    if size is None or size >= n:
        return np.arange(n)
    drawn = [
        rng.choice(points, max(1, round(size * len(points) / n)), replace=False, shuffle=False)
        for points in sides.points
        if points.size
    ]
    return np.sort(np.concatenate(drawn))
