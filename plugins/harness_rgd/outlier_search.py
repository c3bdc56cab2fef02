"""Search for the outliers of few points: the exact margin by branch and bound over the support of the nearest points.

The margin of a set of points grows only if a point of its support is given up. So a node computes the nearest points of the hulls
of its points. It is a leaf if no further point may be given up. Else it has a child for each point of the support, which gives up
that point and fixes those before it as inliers, so that no set of points occurs twice. An upper bound below a node follows from
b + 1 disjoint supports (`harness_rgd.nearest.bound_by_disjoint_pairs`), one of which is left after b points are given up.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.problems.expansion import error_of_scores
from harness.problems.rounding import unit_of
from harness.support.arrays import Mask, Vector

if TYPE_CHECKING:
    from harness_rgd.outlier_margin import OutlierMargin

MAX_POINTS = 40  # largest number of points of a problem that is searched
_DIVE_STEPS = 4  # largest number of steps of local search from a node
_MIN_GAIN = 1e-9  # relative increase of the squared margin that counts as one


@dataclass(frozen=True, eq=False)
class SearchState:
    """The result of a search so far.

    margin : the widest margin so far of a set of points that gives up at most the share
    dual_coef : (n,) the weights of its nearest points: +u, -v
    upper : upper bound of the margin of every such set, rounding included
    nodes : number of nearest-point problems solved
    done : whether the search has ended, with upper = margin up to rounding
    """

    margin: float
    dual_coef: Vector
    upper: float
    nodes: int
    done: bool


@dataclass(order=True)
class _Node:
    """A set of points, and the number of them that may be given up.

    order : minus an upper bound of the squared distances below this node; then the number of the node
    active : (n,) bool, the points that are not given up
    fixed : (n,) bool, the points that are inliers in all nodes below
    budget : number of points of the first hull, of the second, and of both that may be given up
    squared : squared distance of the hulls of ``active``
    coef : (n,) weights of the nearest points
    """

    order: tuple[float, int]
    active: Mask = field(compare=False)
    fixed: Mask = field(compare=False)
    budget: tuple[int, int, int] = field(compare=False)
    squared: float = field(compare=False)
    coef: Vector = field(compare=False)


class OutlierSearch:
    """Best-first search for the outliers among at most ``MAX_POINTS`` points; it counts n x n kernel values."""

    def __init__(self, problem: OutlierMargin) -> None:
        self.side = np.where(problem.positive, 1, -1)
        self.share = problem.share
        self.gram, self._rounding = products(problem)
        self._solved = 0

    def search(self) -> Iterator[SearchState]:
        """Yield the state after each node; the last state is done."""
        points, share = np.ones(len(self.side), dtype=bool), self.share
        self._solved = 0
        root = self._node(points, ~points, (share.positive, share.negative, share.both))
        best, queue = self._dive(root), [root]
        while queue and -queue[0].order[0] > best[0] * (1.0 + _MIN_GAIN) + self._rounding:
            yield self._state(best, -queue[0].order[0], done=False)
            for child in self._children(heapq.heappop(queue)):
                best = max(best, self._dive(child), key=itemgetter(0))
                heapq.heappush(queue, child)
        yield self._state(best, -queue[0].order[0] if queue else 0.0, done=True)

    def _state(self, best: tuple[float, Vector], bound: float, *, done: bool) -> SearchState:
        upper = math.sqrt(max(best[0], bound) + self._rounding) * (1.0 + 4.0 * unit_of(np.float64))
        return SearchState(math.sqrt(best[0]), best[1], upper, self._solved, done)

    def _free(self, active: Mask, fixed: Mask, budget: tuple[int, int, int]) -> Mask:
        """Return the points that may be given up, (n,) bool."""
        first, second, both = budget
        allowed = np.where(self.side > 0, first > 0, second > 0) & (both > 0)
        return np.asarray(active & ~fixed & allowed)

    def _node(self, active: Mask, fixed: Mask, budget: tuple[int, int, int]) -> _Node:
        from harness_rgd.nearest import bound_by_disjoint_pairs

        self._solved += 1
        coef, count = np.empty(len(active)), min(budget[2], budget[0] + budget[1])
        free = self._free(active, fixed, budget)
        squared, bound = bound_by_disjoint_pairs(self.gram, self.side, active, free, count, coef)
        return _Node((-bound, self._solved), active, fixed, budget, squared, coef)

    def _children(self, node: _Node) -> Iterator[_Node]:
        first, second, both = node.budget
        fixed = node.fixed
        for i in np.flatnonzero((node.coef != 0.0) & self._free(node.active, fixed, node.budget)):
            active = node.active.copy()
            active[i] = False
            up = int(self.side[i] > 0)
            yield self._node(active, fixed, (first - up, second - (1 - up), both - 1))
            fixed = fixed.copy()
            fixed[i] = True

    def _dive(self, node: _Node) -> tuple[float, Vector]:
        """Return the squared margin and the weights of a set below a node, by local search.

        Each step gives up the points that limit the margin along the current direction, while that widens the margin.
        """
        from harness_rgd.nearest import nearest

        squared, coef = node.squared, node.coef
        for _ in range(_DIVE_STEPS):
            active, new_coef = self._without_worst(node, coef), np.empty(len(coef))
            new_squared = float(nearest(self.gram, self.side, active, new_coef))
            if not new_squared > squared * (1.0 + _MIN_GAIN):
                break
            squared, coef = new_squared, new_coef
        return squared, coef

    def _without_worst(self, node: _Node, coef: Vector) -> Mask:
        """Return the points of a node without those that limit the margin along a direction, (n,) bool."""
        scores, (first, second, both) = self.side * (self.gram @ coef), node.budget
        ups, downs = (self._ascending(node.active & (self.side == sign), scores) for sign in (1, -1))
        most = max(0, min(both, first, len(ups) - 1)), max(0, min(both, second, len(downs) - 1))
        splits = range(max(0, both - most[1]), most[0] + 1) if len(downs) else [most[0]]
        reach = [scores[ups[k]] + (scores[downs[min(both - k, most[1])]] if len(downs) else 0.0) for k in splits]
        retained, dropped = node.active.copy(), splits[int(np.argmax(reach))] if reach else most[0]
        retained[ups[:dropped]] = False
        retained[downs[: min(both - dropped, most[1])]] = False
        return retained

    def _ascending(self, points: Mask, scores: Vector) -> Any:
        chosen = np.flatnonzero(points)
        return chosen[np.argsort(scores[chosen], kind="stable")]


def products(problem: OutlierMargin) -> tuple[Any, float]:
    """Return the inner products of all points, (n, n), and the rounding error of a squared distance of their hulls.

    With a linear kernel the points are centred first, unless the margin is against the origin.
    """
    kernel, n = problem.kernel, problem.n
    features, points = kernel.features(), np.arange(n)
    if features is None:
        gram = np.array(kernel.block(points, points), dtype=np.float64)
        errors = 2.0 * error_of_scores(kernel, 2.0)
        return gram, errors + 4.0 * (n + 8) * unit_of(np.float64) * float(np.abs(gram).max())
    rows = features.rows(points)
    kernel.count(n * n - n)  # reading the rows counts n
    rows -= 0.0 if problem.against_origin else rows.mean(axis=0)
    gram = rows @ rows.T
    largest = float(gram.diagonal().max())
    gram[np.diag_indices(n)] += kernel.ridge
    return gram, 4.0 * (features.d + n + 16) * unit_of(np.float64) * (largest + kernel.ridge)
