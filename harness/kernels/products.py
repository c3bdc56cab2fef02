"""Compiled loops over the features of points: inner products with w, and sums of points. Importing this imports numba.

Sums are taken in float64 for any dtype of the points. They may be reordered: without that a row's products are added
one after the other, which takes several times as long as reading them from memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from harness.support.jit import compiled, summing

if TYPE_CHECKING:
    from harness.support.arrays import Block


_TOGETHER = 16  # points


@summing
def dense_scores(x: Block, w: Block, out: Block) -> None:
    """Set out[i] to <x_i, w>; x (n, d) C-ordered float32 or float64, w (d,) and out (n,) float64."""
    for i in range(x.shape[0]):
        row, total = x[i], 0.0
        for f in range(len(row)):
            total += row[f] * w[f]
        out[i] = total


@summing
def sparse_scores(indptr: Block, indices: Block, data: Block, w: Block, out: Block) -> None:
    """Set out[i] to <x_i, w> for the rows of a CSR matrix, as many as ``out`` is long."""
    place = np.uint64(indptr[0])  # unsigned: no place and no index is tested for being negative
    for i in range(len(out)):
        total, end = 0.0, np.uint64(indptr[i + 1])
        while place < end:
            total += data[place] * w[np.uint64(indices[place])]
            place += np.uint64(1)
        out[i] = total


@summing
def sparse_products(indptr: Block, indices: Block, data: Block, w: Block, out: Block, first: int, last: int) -> None:
    """Set out[j, i] to <x_i, w_j> for the rows ``first`` to ``last`` of a CSR matrix; w (d, q), out (q, n) float64."""
    q = w.shape[1]
    sums = np.empty((_TOGETHER, q))
    for begin in range(first, last, _TOGETHER):  # so many points, as out[j] is written in lines of the cache
        end = min(begin + _TOGETHER, last)
        for i in range(begin, end):
            total = sums[i - begin]
            total[:] = 0.0
            for place in range(indptr[i], indptr[i + 1]):
                value, row = data[place], w[indices[place]]
                for j in range(q):
                    total[j] += value * row[j]
        for j in range(q):
            for i in range(begin, end):
                out[j, i] = sums[i - begin, j]


@compiled
def add_dense(x: Block, points: Block, coef: Block, w: Block) -> None:
    """Add sum_k coef_k x_{points_k} to w (d,), in the order of ``points``."""
    for k in range(len(points)):
        row, factor = x[points[k]], coef[k]
        for f in range(len(w)):
            w[f] += factor * row[f]


@compiled
def add_sparse(indptr: Block, indices: Block, data: Block, points: Block, coef: Block, w: Block) -> None:
    """Add sum_k coef_k x_{points_k} to w (d,) for rows of a CSR matrix, in the order of ``points``."""
    for k in range(len(points)):
        factor = coef[k]
        for place in range(indptr[points[k]], indptr[points[k] + 1]):
            w[indices[place]] += factor * data[place]
