"""Who is to be given up: the exact margin of few points, by branch and bound over the support of the nearest points.

The margin of what is kept grows only when a point of its support is given up. So a node solves for the nearest points
of what it keeps; if there is nothing left to give up, it is a leaf, and else it has one child for each point of the
support, which gives up that one and keeps those before it for good. No set of points is met twice. What a node can
still reach is bounded by disjoint supports (`harness_rgd.nearest.groups`): with b points left to give up, one of b + 1
of them stays whole.
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

MAX_POINTS = 40  # of a problem that is searched
_DIVE_STEPS = 4
_TIE = 1e-9  # a node that promises less beyond the best, relative to it, is not looked into


@dataclass(frozen=True, eq=False)
class SearchState:
    """The result of a search so far.

    margin : the widest margin of the sets of points so far, each of which gives up what the share allows
    dual_coef : (n,) the weights of its nearest points: +u, -v
    upper : no set of points that gives up the share has a wider margin, rounding included
    nodes : number of nearest-point problems solved
    done : whether the search is over: upper is margin up to rounding
    """

    margin: float
    dual_coef: Vector
    upper: float
    nodes: int
    done: bool


@dataclass(order=True)
class _Node:
    """A set of points, and how many of them may still be given up.

    order : minus a bound of the squared distances below this node; then the node's age
    active : (n,) bool, the points that are not given up; sure : those of them that never will be
    left : how many points of the first hull, of the second, and of both may still be given up
    squared : squared distance of the hulls of ``active``; coef : (n,) the weights of its nearest points
    """

    order: tuple[float, int]
    active: Mask = field(compare=False)
    sure: Mask = field(compare=False)
    left: tuple[int, int, int] = field(compare=False)
    squared: float = field(compare=False)
    coef: Vector = field(compare=False)


class GivingUp:
    """The search over which of at most ``MAX_POINTS`` points are given up, best bound first; it counts n x n kernel values."""

    def __init__(self, problem: OutlierMargin) -> None:
        self.side = np.where(problem.positive, 1, -1)
        self.share = problem.share
        self.gram, self._rounding = products(problem)
        self._solved = 0

    def search(self) -> Iterator[SearchState]:
        """Yield the state after each node; the last one is done."""
        everyone, share = np.ones(len(self.side), dtype=bool), self.share
        self._solved = 0
        root = self._node(everyone, ~everyone, (share.positive, share.negative, share.both))
        best, queue = self._dive(root), [root]
        while queue and -queue[0].order[0] > best[0] * (1.0 + _TIE) + self._rounding:
            yield self._state(best, -queue[0].order[0], done=False)
            for child in self._children(heapq.heappop(queue)):
                best = max(best, self._dive(child), key=itemgetter(0))
                heapq.heappush(queue, child)
        yield self._state(best, -queue[0].order[0] if queue else 0.0, done=True)

    def _state(self, best: tuple[float, Vector], bound: float, *, done: bool) -> SearchState:
        upper = math.sqrt(max(best[0], bound) + self._rounding) * (1.0 + 4.0 * unit_of(np.float64))
        return SearchState(math.sqrt(best[0]), best[1], upper, self._solved, done)

    def _free(self, active: Mask, sure: Mask, left: tuple[int, int, int]) -> Mask:
        """Return the points that may still be given up, (n,) bool."""
        first, second, both = left
        may = np.where(self.side > 0, first > 0, second > 0) & (both > 0)
        return np.asarray(active & ~sure & may)

    def _node(self, active: Mask, sure: Mask, left: tuple[int, int, int]) -> _Node:
        from harness_rgd.nearest import groups

        self._solved += 1
        coef, budget = np.empty(len(active)), min(left[2], left[0] + left[1])
        squared, bound = groups(self.gram, self.side, active, self._free(active, sure, left), budget, coef)
        return _Node((-bound, self._solved), active, sure, left, squared, coef)

    def _children(self, node: _Node) -> Iterator[_Node]:
        first, second, both = node.left
        sure = node.sure
        for i in np.flatnonzero((node.coef != 0.0) & self._free(node.active, sure, node.left)):
            active = node.active.copy()
            active[i] = False
            up = int(self.side[i] > 0)
            yield self._node(active, sure, (first - up, second - (1 - up), both - 1))
            sure = sure.copy()
            sure[i] = True

    def _dive(self, node: _Node) -> tuple[float, Vector]:
        """Return the squared margin and the weights of a set below a node.

        What may still be given up is given up where it is in the way of the direction, as long as that widens it.
        """
        from harness_rgd.nearest import nearest

        squared, coef = node.squared, node.coef
        for _ in range(_DIVE_STEPS):
            active, found = self._without_worst(node, coef), np.empty(len(coef))
            wider = float(nearest(self.gram, self.side, active, found))
            if not wider > squared * (1.0 + _TIE):
                break
            squared, coef = wider, found
        return squared, coef

    def _without_worst(self, node: _Node, coef: Vector) -> Mask:
        """Return what a node keeps when the points that limit the margin along a direction are given up, (n,) bool."""
        scores, (first, second, both) = self.side * (self.gram @ coef), node.left
        ups, downs = (self._ascending(node.active & (self.side == sign), scores) for sign in (1, -1))
        most = max(0, min(both, first, len(ups) - 1)), max(0, min(both, second, len(downs) - 1))
        splits = range(max(0, both - most[1]), most[0] + 1) if len(downs) else [most[0]]
        reach = [scores[ups[k]] + (scores[downs[min(both - k, most[1])]] if len(downs) else 0.0) for k in splits]
        kept, dropped = node.active.copy(), splits[int(np.argmax(reach))] if reach else most[0]
        kept[ups[:dropped]] = False
        kept[downs[: min(both - dropped, most[1])]] = False
        return kept

    def _ascending(self, points: Mask, scores: Vector) -> Any:
        chosen = np.flatnonzero(points)
        return chosen[np.argsort(scores[chosen], kind="stable")]


def products(problem: OutlierMargin) -> tuple[Any, float]:
    """Return the inner products of all points, (n, n), and what rounding may take off a squared distance of their hulls.

    Where an offset of all points changes no distance, and the kernel is linear, it is taken off first.
    """
    kernel, n = problem.kernel, problem.n
    features, everyone = kernel.features(), np.arange(n)
    if features is None:
        gram = np.array(kernel.block(everyone, everyone), dtype=np.float64)
        errors = 2.0 * error_of_scores(kernel, 2.0)
        return gram, errors + 4.0 * (n + 8) * unit_of(np.float64) * float(np.abs(gram).max())
    rows = features.rows(everyone)
    kernel.count(n * n - n)  # the rows count n
    rows -= 0.0 if problem.against_origin else rows.mean(axis=0)
    gram = rows @ rows.T
    largest = float(gram.diagonal().max())
    gram[np.diag_indices(n)] += kernel.ridge
    return gram, 4.0 * (features.d + n + 16) * unit_of(np.float64) * (largest + kernel.ridge)
