"""Growth of a random gradient descent tree: score the nodes of a level, record the best one, construct the children.

A level costs one matrix product of its nodes with all points, a selection in each node's scores, and the scores of its
samples on the probe. The probe's scores of all children follow from these, as a child is linear in its parent and its sample.
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

_BLOCK_SCORES = 1 << 25  # scores of a level in memory at a time; 256 MB
_PROBE_SCORES = 1 << 22  # scores of children on the probe in memory at a time; 32 MB
_ROUNDING = 1e-14  # decrease of |x|^2 by a step, relative to max(|x|^2, |s|^2), that counts as 0
_SIGNS = (1.0, -1.0)  # a point of the first side is better with a larger score, of the second with a smaller one


@dataclass(frozen=True)
class Best:
    """The node with the widest slab so far.

    node : a level with only this node
    length : |x|
    width : width of the slab; negative if the retained points are not separated
    level : level of the node in its tree
    """

    node: Nodes
    slab: Slab
    length: float
    width: float
    level: int


@dataclass(frozen=True)
class _ScoredLevel:
    """The results of scoring a level that its children need.

    squares : (q,) |x|^2
    chosen : (q, G, S) the samples, of each side
    toward : (q, G, S) <x, s>
    probe : (q, m) scores on the probe
    """

    squares: Vector
    chosen: tuple[Array, Array]
    toward: Array
    probe: Matrix


class Trimming:
    """Selection of the worst points of q nodes and of samples among them, in parallel over the nodes.

    Parameters
    ----------
    points : the points of each side, ascending; the second side may be empty
    drops : (G,) number of points given up by each guess, of each side
    draws : (q, G, S) indices into the pool of worst points, of each side; S may be 0

    Attributes
    ----------
    cuts : (q, G) the worst score of the retained points, of each side
    chosen : (q, G, S) the drawn points, of each side
    """

    def __init__(self, points: tuple[Index, Index], drops: tuple[Index, Index], draws: tuple[Array, Array]) -> None:
        self.points, self.drops, self.draws = points, drops, draws
        self.cuts = [np.zeros(drawn.shape[:2]) for drawn in draws]
        self.chosen = [np.zeros(drawn.shape, dtype=np.int64) for drawn in draws]

    def select(self, scores: Matrix, begin: int, kernel: KernelOracle) -> None:
        """Select from the scores, (b, n), of the nodes from ``begin`` on, in the threads of the kernel."""
        kernel.share_range(partial(self._share, scores, begin), *scores.shape)

    def _share(self, scores: Matrix, begin: int, first: int, last: int) -> None:
        from harness_rgd import hot

        rows = slice(begin + first, begin + last)
        for side, sign in enumerate(_SIGNS):
            if self.points[side].size:
                out = self.cuts[side][rows], self.chosen[side][rows]
                hot.worst(scores[first:last], self.points[side], sign, self.drops[side], self.draws[side][rows], *out)

    def widths(self, squares: Vector, part: slice) -> Vector:
        """Return the width of the widest slab of nodes with |x|^2 = ``squares``; -inf for a node at the origin."""
        widest = (self.cuts[0][part] - self.cuts[1][part]).max(axis=1)  # the cut of the origin is 0
        lengths = np.sqrt(np.maximum(squares, np.finfo(np.float64).tiny))
        return np.where(squares > 0.0, widest / lengths, -np.inf)

    def differences(self, scores: Matrix, part: slice) -> Array:
        """Return <x, s> of the samples of the nodes ``part`` with these scores, (b, G, S)."""
        row = np.arange(len(scores))[:, None, None]
        values: Array = scores[row, self.chosen[0][part]]
        return values - scores[row, self.chosen[1][part]] if self.points[1].size else values


class Tree:
    """Trees over the same points, one after another, and their best node.

    Parameters
    ----------
    max_nodes : largest number of nodes of a level, L; None: all children

    Attributes
    ----------
    best : the widest node of all trees; None before the first level
    scored : number of nodes scored so far
    levels : number of levels below a root so far
    """

    def __init__(self, space: Space, sides: Sides, rng: np.random.Generator, *, max_nodes: int | None) -> None:
        self.space, self.sides, self.rng, self.max_nodes = space, sides, rng, max_nodes
        self.best: Best | None = None
        self.scored = self.levels = 0
        self._buffer: Matrix = np.empty((0, space.kernel.n))
        self._probe_sides, self._probe_drops = sides.restricted(space.probe)

    def grow(self, root: Nodes, height: int, samples: int) -> Iterator[Nodes]:
        """Grow a tree from ``root`` and yield its nodes after each level, 0 to at most ``height``.

        samples : |S| of a node, for each guess of the split

        The tree ends early if no node has a child, as no sample s has <x, s> < |x|^2.
        """
        nodes = root
        for level in range(height + 1):
            last = level == height
            scored_level = self._score(nodes, level, samples=0 if last else samples)
            self.levels += level > 0
            self.scored += len(nodes)
            yield nodes
            steps = None if last else self._steps(scored_level)
            if steps is None or not len(steps):
                return
            nodes = self.space.children(nodes, self._pruned(steps, scored_level))

    def _score(self, nodes: Nodes, level: int, samples: int) -> _ScoredLevel:
        """Score a level, a block of nodes at a time, and update the best node."""
        q, n = len(nodes), self.space.kernel.n
        trimming = Trimming(self.sides.points, self.sides.drops, self._draws(q, samples))
        toward, squares = np.zeros(trimming.chosen[0].shape), np.empty(q)
        probe = np.empty((q, len(self.space.probe) if samples else 0))
        block = min(q, max(1, _BLOCK_SCORES // n))
        if len(self._buffer) < block:  # reused, as first-touching memory takes as long as the selections
            self._buffer = np.empty((block, n))
        for begin in range(0, q, block):
            part = slice(begin, min(begin + block, q))
            scores, block_nodes = self._buffer[: part.stop - begin], nodes.take(part)
            self.space.scores(block_nodes, scores)
            squares[part] = self.space.squares(block_nodes, scores)
            trimming.select(scores, begin, self.space.kernel)
            if samples:
                probe[part] = scores[:, self.space.probe]
                toward[part] = trimming.differences(scores, part)
            self._update_best(block_nodes, scores, squares[part], trimming.widths(squares[part], part), level)
        return _ScoredLevel(squares, (trimming.chosen[0], trimming.chosen[1]), toward, probe)

    def _draws(self, q: int, samples: int) -> tuple[Array, Array]:
        """Draw the samples as indices into the pools, (q, G, S) of each side; all pairs if there are at most ``samples``."""
        first, second = self.sides.pools
        shape = (q, first.size, samples)
        draws = [self.rng.integers(0, pool[None, :, None], size=shape) for pool in (first, second)]
        for g in np.flatnonzero(first * second <= samples):
            draws[0][:, g], draws[1][:, g] = np.divmod(np.arange(samples) % (first[g] * second[g]), second[g])
        return draws[0], draws[1]

    def _update_best(self, nodes: Nodes, scores: Matrix, squares: Vector, widths: Vector, level: int) -> None:
        v = int(np.argmax(widths))
        if self.best is not None and not widths[v] > self.best.width:
            return
        slab, length = self.sides.slab(scores[v]), float(np.sqrt(max(0.0, squares[v])))
        width = (slab.lowest - slab.highest) / length if length > 0.0 else -np.inf
        self.best = Best(nodes.take(np.array([v])), slab, length, width, level)

    def _steps(self, scored_level: _ScoredLevel) -> Steps:
        """Return the distinct steps to all children: to the projection of the origin on the segment (s, x)."""
        parent = np.broadcast_to(np.arange(len(scored_level.squares))[:, None, None], scored_level.toward.shape).ravel()
        first, second = (points.ravel() for points in scored_level.chosen)
        _, distinct = np.unique(np.stack([parent, first, second]), axis=1, return_index=True)
        distinct.sort()
        parent, first, second = parent[distinct], first[distinct], second[distinct]
        toward, square = scored_level.toward.ravel()[distinct], scored_level.squares[parent]
        norms = self._norms(parent, first, second)
        distance = square - 2.0 * toward + norms  # |x - s|^2
        floor = _ROUNDING * np.maximum(square, norms)
        moves = (square - toward > floor) & (distance > floor)
        length = np.minimum(1.0, np.divide(square - toward, distance, out=np.zeros(len(distance)), where=moves))
        rest = 1.0 - length
        child_square = rest**2 * square + 2.0 * rest * length * toward + length**2 * norms
        none = np.empty(0, dtype=np.intp)
        steps = Steps(parent, first, none if self.sides.against_origin else second, length, child_square)
        return steps.take(np.flatnonzero(moves & (length > 0.0)))

    def _norms(self, parent: Index, first: Index, second: Index) -> Vector:
        """Return |s|^2 of the samples."""
        diagonal = self.space.kernel.diagonal()
        if self.sides.against_origin:
            return diagonal[first]
        norms: Vector = diagonal[first] + diagonal[second] - 2.0 * self.space.pairs(first, second, parent)
        return norms

    def _pruned(self, steps: Steps, scored_level: _ScoredLevel) -> Steps:
        """Return the steps to the children with the widest slabs on the probe."""
        if self.max_nodes is None or len(steps) <= self.max_nodes:
            return steps
        widths = np.empty(len(steps))
        support = np.unique(np.concatenate([steps.first, steps.second]))
        values = self.space.on_probe(support, self.space.coordinates(support))
        size = max(1, _PROBE_SCORES // len(self.space.probe))
        for begin in range(0, len(steps), size):
            part = np.arange(begin, min(begin + size, len(steps)))
            block = steps.take(part)
            scores = values[np.searchsorted(support, block.first)]
            if block.second.size:
                scores -= values[np.searchsorted(support, block.second)]
            scores *= block.length[:, None]
            scores += (1.0 - block.length)[:, None] * scored_level.probe[block.parent]
            trimming = Trimming(self._probe_sides, self._probe_drops, self._draws(len(block), 0))
            trimming.select(scores, 0, self.space.kernel)
            widths[part] = trimming.widths(block.square, slice(None))
        widest = np.argsort(-widths, kind="stable")[: self.max_nodes]
        return steps.take(np.sort(widest))
