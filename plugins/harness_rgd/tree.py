"""The tree itself: two levels of nodes at a time, scored in blocks; what is best so far, and the children.

A level costs one matrix product of its nodes with all points, a selection in each node's scores, and the scores of its
samples on the probe, from which all children's follow: a child is linear in its parent and its sample.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from harness import KernelOracle
from harness.support.arrays import Array, Index, Matrix, Vector
from harness_rgd.nodes import Nodes, Space, Steps
from harness_rgd.outlier_margin import Slab
from harness_rgd.sides import Sides

_SCORES = 1 << 25  # scores of a level that are held at a time: 256 MB
_COMPARED = 1 << 22  # scores of children on the probe that are held at a time: 32 MB
_NOTHING = 1e-14  # a step's part of |x|^2, or of |s|^2, below which it is rounding
_SIGNS = (1.0, -1.0)  # the first side wants large scores, the second one small ones


@dataclass(frozen=True)
class Best:
    """The widest node so far.

    node : a level of this one node
    length, width : |x|, and its slab's width, negative where what is kept is not separated
    level : of its tree
    """

    node: Nodes
    slab: Slab
    length: float
    width: float
    level: int


@dataclass(frozen=True)
class _Looked:
    """What is left of a level when its scores are gone.

    squares : (q,) |x|^2
    chosen : of each side, (q, G, S) the samples
    toward : (q, G, S) <x, s>
    probe : (q, m) scores on the probe
    """

    squares: Vector
    chosen: tuple[Array, Array]
    toward: Array
    probe: Matrix


class Trimming:
    """What q nodes keep of each side, and their samples among the worst points, by threads that share the nodes.

    Parameters
    ----------
    points : of each side, ascending; the second one may be empty
    drops : of each side, (G,) how many are given up, by guess
    draws : of each side, (q, G, S) places in its pool of worst points; S may be 0

    Attributes
    ----------
    cuts : of each side, (q, G) the worst score that is kept
    chosen : of each side, (q, G, S) the points drawn
    """

    def __init__(self, points: tuple[Index, Index], drops: tuple[Index, Index], draws: tuple[Array, Array]) -> None:
        self.points, self.drops, self.draws = points, drops, draws
        self.cuts = [np.zeros(drawn.shape[:2]) for drawn in draws]
        self.chosen = [np.zeros(drawn.shape, dtype=np.int64) for drawn in draws]

    def select(self, scores: Matrix, begin: int, kernel: KernelOracle) -> None:
        """Take in the scores, (b, n), of the nodes from ``begin`` on; the kernel's threads share them."""
        kernel.share_range(partial(self._share, scores, begin), *scores.shape)

    def _share(self, scores: Matrix, begin: int, first: int, last: int) -> None:
        from harness_rgd import hot

        rows = slice(begin + first, begin + last)
        for side, sign in enumerate(_SIGNS):
            if self.points[side].size:
                found = self.cuts[side][rows], self.chosen[side][rows]
                hot.worst(scores[first:last], self.points[side], sign, self.drops[side], self.draws[side][rows], *found)

    def widths(self, squares: Vector, part: slice) -> Vector:
        """Return the widest slab's width of some nodes whose |x|^2 are ``squares``; -inf for one at the origin."""
        widest = (self.cuts[0][part] - self.cuts[1][part]).max(axis=1)  # the origin's own score is 0
        lengths = np.sqrt(np.maximum(squares, np.finfo(np.float64).tiny))
        return np.where(squares > 0.0, widest / lengths, -np.inf)

    def differences(self, scores: Matrix, part: slice) -> Array:
        """Return <x, s> of the samples of some nodes with these scores, (b, G, S)."""
        row = np.arange(len(scores))[:, None, None]
        values: Array = scores[row, self.chosen[0][part]]
        return values - scores[row, self.chosen[1][part]] if self.points[1].size else values


class Tree:
    """One tree after another over the same points, the best node kept.

    Parameters
    ----------
    most : nodes kept of a level, L; None: all

    Attributes
    ----------
    best : the widest node of all trees, None before the first level
    scored : nodes scored so far; levels : levels below a root done so far
    """

    def __init__(self, space: Space, sides: Sides, rng: np.random.Generator, *, most: int | None) -> None:
        self.space, self.sides, self.rng, self.most = space, sides, rng, most
        self.best: Best | None = None
        self.scored = self.levels = 0
        self._held: Matrix = np.empty((0, space.kernel.n))
        self._probe_sides, self._probe_drops = sides.restricted(space.probe)

    def grow(self, root: Nodes, height: int, samples: int) -> Iterator[Nodes]:
        """Grow a tree from ``root``; yield its nodes after each level, 0 to at most ``height``.

        samples : |S| of a node, for each guess of the split

        It ends before where no node has a child: no sample is nearer to the origin than its node, seen along it.
        """
        nodes = root
        for level in range(height + 1):
            last = level == height
            looked = self._look(nodes, level, samples=0 if last else samples)
            self.levels += level > 0
            self.scored += len(nodes)
            yield nodes
            steps = None if last else self._steps(looked)
            if steps is None or not len(steps):
                return
            nodes = self.space.children(nodes, self._pruned(steps, looked))

    def _look(self, nodes: Nodes, level: int, samples: int) -> _Looked:
        """Score a level, a block of nodes at a time."""
        q, n = len(nodes), self.space.kernel.n
        trimming = Trimming(self.sides.points, self.sides.drops, self._draws(q, samples))
        toward, squares = np.zeros(trimming.chosen[0].shape), np.empty(q)
        probe = np.empty((q, len(self.space.probe) if samples else 0))
        block = min(q, max(1, _SCORES // n))
        if len(self._held) < block:  # kept for the next level: memory that is new costs as much as the selections
            self._held = np.empty((block, n))
        for begin in range(0, q, block):
            part = slice(begin, min(begin + block, q))
            scores, some = self._held[: part.stop - begin], nodes.take(part)
            self.space.scores(some, scores)
            squares[part] = self.space.squares(some, scores)
            trimming.select(scores, begin, self.space.kernel)
            if samples:
                probe[part] = scores[:, self.space.probe]
                toward[part] = trimming.differences(scores, part)
            self._keep_best(some, scores, squares[part], trimming.widths(squares[part], part), level)
        return _Looked(squares, (trimming.chosen[0], trimming.chosen[1]), toward, probe)

    def _draws(self, q: int, samples: int) -> tuple[Array, Array]:
        """Return which of the pools' points are the samples, (q, G, S) of each side; all, where there are as few."""
        first, second = self.sides.pools
        shape = (q, first.size, samples)
        draws = [self.rng.integers(0, pool[None, :, None], size=shape) for pool in (first, second)]
        for g in np.flatnonzero(first * second <= samples):
            draws[0][:, g], draws[1][:, g] = np.divmod(np.arange(samples) % (first[g] * second[g]), second[g])
        return draws[0], draws[1]

    def _keep_best(self, nodes: Nodes, scores: Matrix, squares: Vector, widths: Vector, level: int) -> None:
        v = int(np.argmax(widths))
        if self.best is not None and not widths[v] > self.best.width:
            return
        slab, length = self.sides.slab(scores[v]), float(np.sqrt(max(0.0, squares[v])))
        width = (slab.lowest - slab.highest) / length if length > 0.0 else -np.inf
        self.best = Best(nodes.take(np.array([v])), slab, length, width, level)

    def _steps(self, looked: _Looked) -> Steps:
        """Return the steps to all children, the same one once: to the origin's projection on the segment (s, x)."""
        parent = np.broadcast_to(np.arange(len(looked.squares))[:, None, None], looked.toward.shape).ravel()
        first, second = (points.ravel() for points in looked.chosen)
        _, once = np.unique(np.stack([parent, first, second]), axis=1, return_index=True)
        once.sort()
        parent, first, second = parent[once], first[once], second[once]
        toward, square = looked.toward.ravel()[once], looked.squares[parent]
        norms = self._norms(parent, first, second)
        apart = square - 2.0 * toward + norms
        floor = _NOTHING * np.maximum(square, norms)
        moves = (square - toward > floor) & (apart > floor)
        length = np.minimum(1.0, np.divide(square - toward, apart, out=np.zeros(len(apart)), where=moves))
        rest = 1.0 - length
        ends = rest**2 * square + 2.0 * rest * length * toward + length**2 * norms
        none = np.empty(0, dtype=np.intp)
        steps = Steps(parent, first, none if self.sides.against_origin else second, length, ends)
        return steps.take(np.flatnonzero(moves & (length > 0.0)))

    def _norms(self, parent: Index, first: Index, second: Index) -> Vector:
        """Return |s|^2 of the samples."""
        diagonal = self.space.kernel.diagonal()
        if self.sides.against_origin:
            return diagonal[first]
        norms: Vector = diagonal[first] + diagonal[second] - 2.0 * self.space.pairs(first, second, parent)
        return norms

    def _pruned(self, steps: Steps, looked: _Looked) -> Steps:
        """Return the steps to the children with the widest slabs on the probe."""
        if self.most is None or len(steps) <= self.most:
            return steps
        widths = np.empty(len(steps))
        support = np.unique(np.concatenate([steps.first, steps.second]))
        values = self.space.on_probe(support, self.space.coordinates(support))
        size = max(1, _COMPARED // len(self.space.probe))
        for begin in range(0, len(steps), size):
            part = np.arange(begin, min(begin + size, len(steps)))
            some = steps.take(part)
            scores = values[np.searchsorted(support, some.first)]
            if some.second.size:
                scores -= values[np.searchsorted(support, some.second)]
            scores *= some.length[:, None]
            scores += (1.0 - some.length)[:, None] * looked.probe[some.parent]
            trimming = Trimming(self._probe_sides, self._probe_drops, self._draws(len(some), 0))
            trimming.select(scores, 0, self.space.kernel)
            widths[part] = trimming.widths(some.square, slice(None))
        widest = np.argsort(-widths, kind="stable")[: self.most]
        return steps.take(np.sort(widest))
