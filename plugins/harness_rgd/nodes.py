"""Nodes of a tree as sums of training points, and their scores from w or from kernel values.

A node is x = sum_j coef_j (phi(first_j) - phi(second_j)), a point of the difference of both hulls; against the origin
there are no second points. A level is stored as these three arrays, and w if the kernel is linear.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from harness import KernelOracle
from harness.support.arrays import Index, Matrix, Vector

_PIECE_VALUES = 4_000_000  # temporary numbers that are computed at a time; 32 MB


@dataclass(frozen=True)
class Nodes:
    """q nodes with j points of each side.

    first, second : (q, j) training points; second is (q, 0) against the origin
    coef : (q, j) > 0 with sum 1
    w : (q, d) coordinates of the nodes; (q, 0) if the kernel is not linear
    """

    first: Index
    second: Index
    coef: Matrix
    w: Matrix

    def __len__(self) -> int:
        return len(self.coef)

    def take(self, index: Index | slice) -> Nodes:
        """Return the nodes ``index``."""
        return Nodes(self.first[index], self.second[index], self.coef[index], self.w[index])

    def dual_coef(self, n: int) -> Vector:
        """Return the coefficients, (n,), of the only node."""
        coef = np.zeros(n)
        np.add.at(coef, self.first[0], self.coef[0])
        if self.second.size:
            np.subtract.at(coef, self.second[0], self.coef[0])
        return coef


@dataclass(frozen=True)
class Steps:
    """Candidates for children: steps from a node toward the difference of two points.

    parent : (c,) nodes of the level
    first, second : (c,) points; second is (0,) against the origin
    length : (c,) in (0, 1], length of the step as a fraction of the segment
    square : (c,) |x|^2 of the child
    """

    parent: Index
    first: Index
    second: Index
    length: Vector
    square: Vector

    def __len__(self) -> int:
        return len(self.parent)

    def take(self, index: Index) -> Steps:
        """Return the steps ``index``."""
        second = self.second[index] if self.second.size else self.second
        return Steps(self.parent[index], self.first[index], second, self.length[index], self.square[index])


class Space:
    """Inner products of nodes and points for any kernel, all of them counted.

    The scores of a level are combinations of the kernel rows of its distinct points.

    Parameters
    ----------
    kernel : kernel of the problem
    probe : (m,) points on which children are compared, ascending
    """

    def __init__(self, kernel: KernelOracle, probe: Index) -> None:
        self.kernel, self.probe = kernel, probe

    def coordinates(self, points: Index) -> Matrix:
        """Return the coordinates of the points, (u, d); (u, 0) if the kernel is not linear."""
        return np.empty((len(points), 0))

    def scores(self, nodes: Nodes, out: Matrix) -> None:
        """Set ``out`` (q, n) to <x, phi(x_i)>."""
        support, weights = self._combined(nodes)
        out[:] = 0.0
        for part in _pieces(len(support), self.kernel.n):
            rows = np.array(self.kernel.rows(support[part]))
            out += weights[:, part] @ rows

    @staticmethod
    def _combined(nodes: Nodes) -> tuple[Index, Matrix]:
        """Return the distinct points of the nodes, (u,), and the coefficients of each node, (q, u)."""
        points = np.concatenate([nodes.first, nodes.second], axis=1)
        signed = nodes.coef if not nodes.second.size else np.concatenate([nodes.coef, -nodes.coef], axis=1)
        support, column = np.unique(points, return_inverse=True)
        weights = np.zeros((len(nodes), len(support)))
        np.add.at(weights, (np.arange(len(nodes))[:, None], column.reshape(points.shape)), signed)
        return support, weights

    def squares(self, nodes: Nodes, scores: Matrix) -> Vector:
        """Return |x|^2, (q,)."""
        values = np.take_along_axis(scores, nodes.first, axis=1)
        if nodes.second.size:
            values -= np.take_along_axis(scores, nodes.second, axis=1)
        squares: Vector = np.einsum("qj,qj->q", nodes.coef, values)
        return squares

    def on_probe(self, points: Index, rows: Matrix) -> Matrix:
        """Return k(points, probe), (u, m), of points with the coordinates ``rows``."""
        return self.kernel.block(points, self.probe)

    def pairs(self, first: Index, second: Index, groups: Index) -> Vector:
        """Return k(first_c, second_c), (c,); ``groups`` ascend, and pairs of one group have points in common."""
        values = np.empty(len(first))
        begins = np.flatnonzero(np.r_[True, groups[1:] != groups[:-1]])
        for begin, end in zip(begins, np.r_[begins[1:], len(groups)], strict=True):
            rows, row = np.unique(first[begin:end], return_inverse=True)
            columns, column = np.unique(second[begin:end], return_inverse=True)
            values[begin:end] = self.kernel.block(rows, columns)[row, column]
        return values

    def children(self, nodes: Nodes, steps: Steps) -> Nodes:
        """Return the nodes at the ends of the steps."""
        parents, length = nodes.take(steps.parent), steps.length[:, None]
        first = np.concatenate([parents.first, steps.first[:, None]], axis=1)
        second = parents.second
        if steps.second.size:
            second = np.concatenate([second, steps.second[:, None]], axis=1)
        coef = np.concatenate([(1.0 - length) * parents.coef, length], axis=1)
        w = parents.w
        if w.shape[1]:
            w *= 1.0 - length  # w is a copy, as the index is an array
            w += length * self.coordinates(steps.first)
            if steps.second.size:
                w -= length * self.coordinates(steps.second)
        return Nodes(first, second, coef, w)

    def root(self, first: Index, second: Index) -> Nodes:
        """Return the node phi(first) - phi(second) of one point each, or phi(first) if second is empty."""
        w = self.coordinates(first)
        if second.size:
            w = w - self.coordinates(second)
        return Nodes(first[None], second[None], np.ones((1, 1)), w)


class Coordinates(Space):
    """Inner products for the linear kernel: a node is w, and the scores of a level are one matrix product."""

    def __init__(self, kernel: KernelOracle, probe: Index) -> None:
        super().__init__(kernel, probe)
        features = kernel.features()
        part = features if len(probe) == kernel.n else kernel.restrict(probe).features()
        if features is None or part is None:
            raise ValueError(f"the kernel '{kernel.kernel.name}' has no explicit w; expected 'linear'.")
        self.features, self._part = features, part

    def coordinates(self, points: Index) -> Matrix:
        return self.features.rows(points)

    def scores(self, nodes: Nodes, out: Matrix) -> None:
        self.features.scores_of(nodes.w, out)

    def squares(self, nodes: Nodes, scores: Matrix) -> Vector:
        squares: Vector = np.einsum("qd,qd->q", nodes.w, nodes.w)
        return squares

    def on_probe(self, points: Index, rows: Matrix) -> Matrix:
        return self._part.scores_of(rows)

    def pairs(self, first: Index, second: Index, groups: Index) -> Vector:
        values = np.empty(len(first))
        for part in _pieces(len(first), self.features.d):
            values[part] = np.einsum("cd,cd->c", self.coordinates(first[part]), self.coordinates(second[part]))
        self.kernel.count(len(first))
        return values


def _pieces(length: int, width: int) -> Iterator[slice]:
    step = max(1, _PIECE_VALUES // max(1, width))
    for start in range(0, length, step):
        yield slice(start, min(start + step, length))


def space_of(kernel: KernelOracle, probe: Index) -> Space:
    """Return the space of the nodes: with coordinates if the kernel is linear."""
    return Coordinates(kernel, probe) if kernel.is_linear and kernel.ridge == 0.0 else Space(kernel, probe)
