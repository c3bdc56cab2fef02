"""Algorithm 2 of Ding & Xu and its revision for two classes, node by node on explicit vectors: slow, easy to believe.

The random numbers are drawn as the solver draws them, a level at a time; everything else is sorted and summed in plain
Python. A node is a dictionary of what the paper says of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np


@dataclass
class NaiveNode:
    """x = sum_j coef_j (x_first_j - x_second_j); its slab's width; the paper's projections are <x, p> / |x|."""

    x: list
    first: list
    second: list
    coef: list
    width: float = -math.inf


def dot(a, b):
    return math.fsum(u * v for u, v in zip(a, b, strict=True))


def worst_first(x, points, members, sign):
    """The members in the order of their projections along x, the worst first, equal ones in their own order."""
    return sorted(members, key=lambda i: (sign * dot(x, points[i]), i))


class NaiveTree:
    """The tree over P1, or over P1 and P2; ``drops``: (gamma_1, gamma_2) as counts with delta, one pair a guess.

    Parameters
    ----------
    points : the vectors; sides : their numbers, P1 and P2, P2 empty against the origin
    probe : points on which children are compared, all if None
    """

    def __init__(self, points, sides, drops, rng, *, samples, most=None, probe=None):
        self.points, self.sides, self.drops, self.rng = points.tolist(), sides, drops, rng
        self.samples, self.most = samples, most
        self.probe = list(range(len(points))) if probe is None else list(probe)

    def difference(self, i, j):
        if j is None:
            return self.points[i]
        return [u - v for u, v in zip(self.points[i], self.points[j], strict=True)]

    def width(self, node_x, sides, drops):
        """The widest slab after the drops of the best guess."""
        length = math.sqrt(dot(node_x, node_x))
        if length == 0.0:
            return -math.inf
        found = []
        for first, second in drops:
            low = dot(node_x, self.points[worst_first(node_x, self.points, sides[0], 1)[first]])
            high = 0.0
            if sides[1]:
                high = dot(node_x, self.points[worst_first(node_x, self.points, sides[1], -1)[second]])
            found.append((low - high) / length)
        return max(found)

    def draws(self, q):
        """The samples' places in the pools, as many numbers for each node and guess as the solver draws."""
        pools = [np.array([max(1, pair[side]) for pair in self.drops]) for side in (0, 1)]
        shape = (q, len(self.drops), self.samples)
        drawn = [self.rng.integers(0, pool[None, :, None], size=shape) for pool in pools]
        for g in range(len(self.drops)):
            if pools[0][g] * pools[1][g] <= self.samples:  # so few that all are taken
                for s in range(self.samples):
                    pair = s % (pools[0][g] * pools[1][g])
                    drawn[0][:, g, s], drawn[1][:, g, s] = pair // pools[1][g], pair % pools[1][g]
        return drawn

    def children(self, node, drawn_first, drawn_second):
        """Steps 2(b)i and 2(b)ii of one node."""
        found, seen = [], set()
        for g, (first, second) in enumerate(self.drops):
            pool_1 = sorted(worst_first(node.x, self.points, self.sides[0], 1)[: max(1, first)])
            pool_2 = sorted(worst_first(node.x, self.points, self.sides[1], -1)[: max(1, second)])
            for s in range(self.samples):
                i = pool_1[drawn_first[g, s]]
                j = pool_2[drawn_second[g, s]] if pool_2 else None
                if (i, j) in seen:
                    continue
                seen.add((i, j))
                sample = self.difference(i, j)
                along = [u - v for u, v in zip(node.x, sample, strict=True)]
                if dot(node.x, along) <= 1e-12 * dot(node.x, node.x):
                    continue  # the projection of o on the segment is x itself
                obtuse = dot(sample, along) > 0.0  # the angle at s: B, else A
                t = 1.0 if obtuse else dot(node.x, along) / dot(along, along)
                x = [(1.0 - t) * u + t * v for u, v in zip(node.x, sample, strict=True)]
                coef = [(1.0 - t) * c for c in node.coef] + [t]
                found.append(NaiveNode(x, [*node.first, i], [*node.second, j], coef))
        return found

    def grow(self, i, j, height):
        """Yield the level's nodes, from the root, with their widths."""
        level = [NaiveNode(self.difference(i, j), [i], [j], [1.0])]
        on_probe = [[p for p in side if p in set(self.probe)] for side in self.sides]
        share = [len(on) / max(1, len(side)) for on, side in zip(on_probe, self.sides, strict=True)]
        fewer = [
            tuple(min(round(pair[k] * share[k]), max(0, len(on_probe[k]) - 1)) for k in (0, 1)) for pair in self.drops
        ]
        for depth in range(height + 1):
            for node in level:
                node.width = self.width(node.x, self.sides, self.drops)
            yield level
            if depth == height:
                return
            first, second = self.draws(len(level))
            found = [child for v, node in enumerate(level) for child in self.children(node, first[v], second[v])]
            if not found:
                return
            if self.most is not None and len(found) > self.most:
                widths = [self.width(child.x, on_probe, fewer) for child in found]
                order = sorted(range(len(found)), key=lambda c: (-widths[c], c))[: self.most]
                found = [found[c] for c in sorted(order)]
            level = found
