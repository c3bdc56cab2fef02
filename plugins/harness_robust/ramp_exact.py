"""``ramp-exact``: the global minimum of the ramp loss on few points, by branch and bound over who is given up.

    J* = min over sets O of  (1 - s) sum_{i in O} C_i
                             + min_w 1/2 |w|^2 + sum_{i not in O} C_i max(0, 1 - y_i f_i)

A node has kept some points, given up others and left the rest undecided. Of these the ramp's convex envelope counts,
over the range that y f may still have in a solution better than the incumbent: a relaxed problem is a box program as
that of the hinge, and its strong convexity narrows the ranges (:mod:`harness_robust.ramp_exact_hot`). The node with the least
bound is branched on next, at the point whose loss its relaxation is farthest off.

Source: the set of given-up points as in Brooks, Support Vector Machines with the Ramp Loss and the Hard Margin Loss,
Operations Research 59 (2011), whose bound is that of a mixed-integer program; the one here is the author's own.
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

_PAUSE = 64  # nodes between two yields
_ALWAYS, _OFTEN = 200, 16  # the first nodes, and then every so many, are searched for an incumbent
_FITTED = 1e-11  # relative gap of the hinge problems that make an incumbent
_STEPS, _LONG = 2000, 200_000  # of coordinate ascent at one relaxed problem, and at one that makes an incumbent


@dataclass(frozen=True)
class RampExact(Solver):
    """Branch and bound on the ramp loss: the global minimum of J_s, proved, for few points.

    Take it as ground truth for the ramp loss on few points. Paper: Brooks 2011.

    A step is a node. ``info``: nodes, open (nodes left), objective (of the incumbent), outliers (points with y f < s),
    lower_bound (proved, of all models), global_gap (objective - lower_bound, relative to the objective).
    It takes the n x n kernel matrix. More points are for ramp-cccp or outlier-path.
    """

    name = "ramp-exact"
    conformance = Conformance(gap=1e-6)
    solves: ClassVar[tuple[type[Problem], ...]] = (RampSVC,)

    gap: float = parameter(1e-6, "global gap at which it ends, relative to J_s", ge=1e-10, lt=1)
    max_points: int = parameter(40, "skip larger problems: the nodes may double with each point", ge=1)
    max_nodes: int = parameter(500_000, "give up after so many nodes", ge=1)

    def with_target_gap(self, gap: float) -> Self:
        """Return this solver with this gap, if that is the smaller one."""
        return self.replace(gap=max(min(gap, self.gap), 1e-10))

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        """Yield the incumbent whenever there is a better one, and every few nodes."""
        search = _Search(self, cast("RampSVC", problem))
        yield search.iterate()
        while search.is_open and search.nodes < self.max_nodes:
            better = search.step()
            if better or search.nodes % _PAUSE == 0:
                yield search.iterate()
        yield search.iterate(ended=True)


@dataclass(order=True)
class _Node:
    """A part of all models: no model in it, better than the incumbent, has an objective below ``bound``.

    side : (n,) int8, see :mod:`harness_robust.ramp_exact_hot`; least, most : (n,) between which y f is; a : (n,) to start from
    """

    bound: float
    number: int
    side: Any
    least: Any
    most: Any
    a: Any


class _Search:
    """The incumbent, a = y coef with z = y f, and the open nodes as a heap."""

    def __init__(self, solver: RampExact, problem: RampSVC) -> None:
        from harness_robust import ramp_exact_hot

        self.hot, self.solver, self.problem, n = ramp_exact_hot, solver, problem, problem.n
        everything, y = np.arange(n), problem.targets
        self.Q: Matrix = np.ascontiguousarray(problem.kernel.block(everything, everything) * np.outer(y, y))
        self.price: Vector = np.array(problem.upper)
        self.nodes, self.numbers = 0, itertools.count()
        self.a, self.z, self.objective = np.zeros(n), np.zeros(n), np.inf
        hinge, scores = np.zeros(n), np.zeros(n)
        ramp_exact_hot.ascend(self.Q, np.ones(n), np.zeros(n), self.price, hinge, scores, _FITTED, np.inf, _LONG)
        self._search_from(np.zeros(n), np.zeros(n))
        self._search_from(hinge, scores)
        reach = np.sqrt(2.0 * self.objective * np.diagonal(self.Q)) * (1.0 + _FITTED)
        first = _Node(0.0, next(self.numbers), np.zeros(n, dtype=np.int8), -reach, reach, np.zeros(n))
        self.heap, self.settled = [first], np.inf

    @property
    def target(self) -> float:
        """Below which an incumbent would have to be to count as better."""
        return self.objective - self.solver.gap * self.objective

    @property
    def lower_bound(self) -> float:
        """Proved for all models: what is closed is above the target or settled, what is open above its bounds."""
        return min([self.target, self.settled, *(node.bound for node in self.heap[:1])])

    @property
    def is_open(self) -> bool:
        """Whether there is a node that may hold a better model."""
        return bool(self.heap) and self.heap[0].bound < self.target

    def _search_from(self, a: Vector, z: Vector) -> bool:
        """Make what local search finds from a the incumbent if it is better; a and z = Q a are used up."""
        found = self.hot.descend(self.Q, self.price, self.problem.s, a, z, _FITTED, _LONG)
        if not found < self.objective:
            return False
        self.objective, self.a, self.z = found, a, z
        return True

    def step(self) -> bool:
        """Bound the best node and branch; return whether there is a new incumbent."""
        node = heapq.heappop(self.heap)
        self.nodes += 1
        z, exact = np.zeros(len(node.a)), 0.1 * (self.objective - self.target)
        bound, branch, objective = self.hot.bound(
            self.Q, self.price, self.problem.s, node.side, node.least, node.most, node.a, z, self.target, exact, _STEPS
        )
        promising = objective < self.objective or self.nodes <= _ALWAYS or self.nodes % _OFTEN == 0
        better = promising and self._search_from(node.a.copy(), z)
        bound = max(bound, node.bound)
        if branch < 0:
            # solved as exactly as can be: what rounding leaves of it stays below what is proved
            self.settled = min(self.settled, bound)
        elif bound < self.target:
            for side in (self.hot.KEPT, self.hot.GIVEN_UP):
                chosen = node.side.copy()
                chosen[branch] = side
                number = next(self.numbers)
                child = _Node(bound, number, chosen, node.least.copy(), node.most.copy(), node.a.copy())
                heapq.heappush(self.heap, child)
        return better

    def iterate(self, *, ended: bool = False) -> Iterate:
        """Return the incumbent with the search's figures."""
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
                f"{why}: after {self.nodes:,} nodes it is proved that no model is below {lower:.9g}; the best one has "
                f"{objective:.9g}, a global gap of {gap:.2g}"
            )
        return Iterate(dual_coef=self.problem.targets * self.a, done=done, step=self.nodes, info=info)
