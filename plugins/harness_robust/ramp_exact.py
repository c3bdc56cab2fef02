"""Solver ``ramp-exact``: the global minimum of the ramp loss on few points, by branch and bound over the set of outliers.

    J* = min over sets O of  (1 - s) sum_{i in O} C_i
                             + min_w 1/2 |w|^2 + sum_{i not in O} C_i max(0, 1 - y_i f_i)

In a node some points are inliers, some are outliers, and the others are undecided. The loss of an undecided point is replaced
by the ramp's convex envelope over the range that y f can have in a solution better than the incumbent. The relaxed problem is
then a box program like that of the hinge loss, and its strong convexity narrows the ranges
(:mod:`harness_robust.ramp_exact_hot`). The search branches on the node with the least bound, at the point whose loss is
farthest above its envelope.

Source: Brooks, Support Vector Machines with the Ramp Loss and the Hard Margin Loss, Operations Research 59 (2011), also
branches on the set of outliers, with the bound of a mixed-integer program; the bound here is new.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self, cast

import numpy as np

from harness import Conformance, Iterate, Problem, Solver, parameter
from harness.support.arrays import Matrix, Vector
from harness_robust.ramp import RampSVC

_YIELD_NODES = 64  # nodes between two yields
_ALWAYS_SEARCHED = 200  # first nodes, from each of which local search looks for an incumbent
_SEARCH_INTERVAL = 16  # nodes between two local searches after the first nodes
_INCUMBENT_GAP = 1e-11  # relative gap of the hinge problems in local search
_STEPS = 2000  # largest number of steps of coordinate ascent on a relaxed problem
_INCUMBENT_STEPS = 200_000  # the same on a hinge problem in local search


@dataclass(frozen=True)
class RampExact(Solver):
    """Branch and bound on the ramp loss: the proved global minimum of J_s on few points.

    Use it as ground truth for the ramp loss on few points. Paper: Brooks 2011.

    A step is a node. ``info``: nodes, open (number of open nodes), objective (of the incumbent), outliers (points with y f < s),
    lower_bound (proved, of all models), global_gap (objective - lower_bound, relative to the objective).
    It stores the n x n kernel matrix. Use ramp-cccp or outlier-path for more points.
    """

    name = "ramp-exact"
    conformance = Conformance(gap=1e-6)
    solves: ClassVar[tuple[type[Problem], ...]] = (RampSVC,)

    gap: float = parameter(1e-6, "global gap at which the run ends, relative to J_s", ge=1e-10, lt=1)
    max_points: int = parameter(40, "skip larger problems: the nodes may double with each point", ge=1)
    max_nodes: int = parameter(500_000, "largest number of nodes", ge=1)

    def with_target_gap(self, gap: float) -> Self:
        """Return this solver with the smaller of this gap and its gap."""
        return self.replace(gap=max(min(gap, self.gap), 1e-10))

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        """Yield the incumbent whenever it improves, and every 64 nodes."""
        search = _Search(self, cast("RampSVC", problem))
        yield search.iterate()
        while search.is_open and search.nodes < self.max_nodes:
            better = search.step()
            if better or search.nodes % _YIELD_NODES == 0:
                yield search.iterate()
        yield search.iterate(ended=True)


@dataclass(order=True)
class _Node:
    """A subset of the models; those better than the incumbent have an objective of at least ``bound``.

    side : (n,) int8, see :mod:`harness_robust.ramp_exact_hot`
    least, most : (n,) range of y f
    a : (n,) start of coordinate ascent
    """

    bound: float
    number: int
    side: Any
    least: Any
    most: Any
    a: Any


class _Search:
    """State of the search: the incumbent, a = y coef with z = y f, and the open nodes as a heap."""

    def __init__(self, solver: RampExact, problem: RampSVC) -> None:
        from harness_robust import ramp_exact_hot

        self.hot, self.solver, self.problem, n = ramp_exact_hot, solver, problem, problem.n
        points, y = np.arange(n), problem.targets
        self.Q: Matrix = np.ascontiguousarray(problem.kernel.block(points, points) * np.outer(y, y))
        self.price: Vector = np.array(problem.upper)
        self.nodes, self.numbers = 0, itertools.count()
        self.a, self.z, self.objective = np.zeros(n), np.zeros(n), np.inf
        hinge, scores = np.zeros(n), np.zeros(n)
        limits = _INCUMBENT_GAP, np.inf, _INCUMBENT_STEPS
        ramp_exact_hot.ascend(self.Q, np.ones(n), np.zeros(n), self.price, hinge, scores, *limits)
        self._search_from(np.zeros(n), np.zeros(n))
        self._search_from(hinge, scores)
        reach = np.sqrt(2.0 * self.objective * np.diagonal(self.Q)) * (1.0 + _INCUMBENT_GAP)
        first = _Node(0.0, next(self.numbers), np.zeros(n, dtype=np.int8), -reach, reach, np.zeros(n))
        self.heap = [first]
        self.decided_bound = np.inf  # least bound of the nodes without undecided points

    @property
    def target(self) -> float:
        """Objective below which a model counts as better than the incumbent."""
        return self.objective - self.solver.gap * self.objective

    @property
    def lower_bound(self) -> float:
        """Proved lower bound of all models: the least of the target, ``decided_bound`` and the bounds of the open nodes."""
        return min([self.target, self.decided_bound, *(node.bound for node in self.heap[:1])])

    @property
    def is_open(self) -> bool:
        """Whether a node may contain a better model."""
        return bool(self.heap) and self.heap[0].bound < self.target

    def _search_from(self, a: Vector, z: Vector) -> bool:
        """Search locally from a, with z = Q a, both changed in place; return whether the result is a better incumbent."""
        objective = self.hot.descend(self.Q, self.price, self.problem.s, a, z, _INCUMBENT_GAP, _INCUMBENT_STEPS)
        if not objective < self.objective:
            return False
        self.objective, self.a, self.z = objective, a, z
        return True

    def step(self) -> bool:
        """Bound the node with the least bound and branch on it; return whether there is a new incumbent."""
        node = heapq.heappop(self.heap)
        self.nodes += 1
        z, exact = np.zeros(len(node.a)), 0.1 * (self.objective - self.target)
        bound, branch, objective = self.hot.bound(
            self.Q, self.price, self.problem.s, node.side, node.least, node.most, node.a, z, self.target, exact, _STEPS
        )
        promising = objective < self.objective or self.nodes <= _ALWAYS_SEARCHED or self.nodes % _SEARCH_INTERVAL == 0
        better = promising and self._search_from(node.a.copy(), z)
        bound = max(bound, node.bound)
        if branch < 0:
            # every point is decided, so the node cannot branch
            self.decided_bound = min(self.decided_bound, bound)
        elif bound < self.target:
            for side in (self.hot.INLIER, self.hot.OUTLIER):
                sides = node.side.copy()
                sides[branch] = side
                number = next(self.numbers)
                child = _Node(bound, number, sides, node.least.copy(), node.most.copy(), node.a.copy())
                heapq.heappush(self.heap, child)
        return better

    def iterate(self, *, ended: bool = False) -> Iterate:
        """Return the incumbent with the figures of the search."""
        lower, objective, still_open = self.lower_bound, self.objective, self.is_open
        gap = (objective - lower) / objective if objective else 0.0
        info: dict[str, Any] = {
            "nodes": self.nodes,
            "open": sum(node.bound < self.target for node in self.heap) if ended else len(self.heap),
            "objective": objective,
            "outliers": int(np.count_nonzero(self.z < self.problem.s)),
            "lower_bound": lower,
            "global_gap": gap,
        }
        done = ended and not still_open and lower >= self.target
        if ended and not done:
            why = "max_nodes" if still_open else "rounding"
            info["stopped"] = (
                f"{why}: after {self.nodes:,} nodes the proved lower bound is {lower:.9g} and the best objective "
                f"{objective:.9g}, a global gap of {gap:.2g}"
            )
        return Iterate(dual_coef=self.problem.targets * self.a, done=done, step=self.nodes, info=info)
