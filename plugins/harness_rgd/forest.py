"""One run of a tree solver: its root, its trees, the height that Theorem 2 asks for, and the models it yields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from harness import Iterate
from harness.problems import PolytopeDistance
from harness_rgd.nodes import space_of
from harness_rgd.sides import Sides
from harness_rgd.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness import Problem
    from harness.arrays import Index
    from harness_rgd.nodes import Nodes
    from harness_rgd.solvers import _Trees
    from harness_rgd.tree import Best

_ROOTS = 20  # drawn until one is not the origin: a point may be in both classes
_NOTHING = 1e-14  # |x|^2 of a root below this part of |phi(x_i)|^2 is that of the origin


class Forest:
    """The trees of one run, over the same points.

    Attributes
    ----------
    certified : nothing may be given up, and the best node's slab is nearly as wide as the node is long
    """

    def __init__(self, solver: _Trees, problem: Problem, rng: np.random.Generator) -> None:
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

    @property
    def separates(self) -> bool:
        """Whether the best node leaves a margin."""
        return self.best.width > 0.0

    def root(self) -> Nodes:
        """Return a root: the seed point or a random one, with a random partner; not the origin if that can be."""
        for _ in range(_ROOTS):
            points = [int(side[self.rng.integers(len(side))]) for side in self.sides.points if side.size]
            seed = self.solver.seed_point
            if seed is not None:
                points[0 if self.sides.against_origin or self.problem.targets[seed] > 0 else 1] = seed
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
            self.certified = self.sides.both == 0 and self._is_certified()
            if self.certified:
                return

    def _is_certified(self) -> bool:
        best = self.best
        return best.width > 0.0 and best.width >= (1.0 - self.solver.epsilon) * best.length

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
            intercept=-slab.lowest if hull else -0.5 * (slab.lowest + slab.highest),
            step=self.tree.levels,
            info=info,
        )

    def last(self) -> Iterate:
        """Return the best node as the last model: done if it leaves a margin, else with the evidence."""
        found = self.iterate()
        if self.separates:
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
            found = "every node is the origin itself: the points, or the classes, coincide"
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
