"""The points of a linear kernel, for a solver that stores w = sum_i coef_i x_i instead of kernel rows.

One pass over the points gives all scores <w, x_i> at the cost of reading them once, whatever the number of support
vectors, and without the drift of scores that are updated.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.kernels.crew import Crew

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.kernels.counter import Counter
    from harness.support.arrays import Block

_PRODUCT_VALUES = 1 << 19  # features multiplied at a time with several w: 4 MB of each thread where they are converted
_LARGEST_PIECE = 4_000_000  # numbers in memory at a time in sums of the host


class Features:
    """Inner products with the n training points of one linear kernel, counted; made by ``KernelOracle.features()``.

    Every point that a call reads counts as one kernel evaluation, for which any linear kernel value reads it: a pass
    over all points counts n. The points themselves are never copied.

    Parameters
    ----------
    points : (n, d) dense, memory-mapped or CSR
    ridge : ridge that the kernel adds to k(x_i, x_i), and this object does not
    counter : that of the oracle
    threads : that share a pass, at least 1

    Attributes
    ----------
    n, d : number of points and of features
    stored : numbers that a pass reads, n d or the number of non-zeros
    """

    def __init__(self, points: Any, *, ridge: float, counter: Counter, threads: int = 1) -> None:
        self.n, self.d = int(points.shape[0]), int(points.shape[1])
        self.ridge, self.counter, self.threads = ridge, counter, threads
        self._crew = Crew()
        self._dense: Any = None
        self._sparse: tuple[Block, Block, Block] | None = None
        if isinstance(points, np.ndarray):
            self.stored = self.n * self.d
            self._dense = _read_only(points)
        else:
            self.stored = int(points.nnz)
            self._sparse = _read_only(points.indptr), _read_only(points.indices), _read_only(points.data)

    def scores(self, weights: Block, out: Block | None = None) -> Block:
        """Return <x_i, weights> of all points, (n,) float64; n evaluations.

        Parameters
        ----------
        weights : (d,)
        out : (n,) float64, contiguous, to write to and return; a new array if None

        Raises
        ------
        ValueError : ``weights`` or ``out`` has another shape, type or order.
        """
        w = np.ascontiguousarray(weights, dtype=np.float64)
        if w.shape != (self.d,):
            raise ValueError(f"weights has shape {w.shape} for points of {self.d} features; give one number a feature.")
        return self._shared(self._pass, w, np.empty(self.n) if out is None else _fitting("out", out, (self.n,)), 1)

    def _shared(self, scored: Any, w: Block, out: Block, count: int) -> Block:
        """Return ``out`` with the products of all points with ``count`` w, the points shared among the threads."""
        if self.n and count:
            self._crew.share(partial(scored, w, out), self.n, -(-self.stored * count // self.n), self.threads)
        self.counter.add(self.n * count)
        return out

    def _pass(self, w: Block, out: Block, first: int, last: int) -> None:
        from harness.kernels.products import dense_scores, sparse_scores

        if self._sparse is not None:
            indptr, indices, data = self._sparse
            sparse_scores(indptr[first : last + 1], indices, data, w, out[first:last])
        else:
            dense_scores(self._dense[first:last], w, out[first:last])

    def scores_of(self, weights: Block, out: Block | None = None) -> Block:
        """Return <x_i, w> of all points with each w, (q, n) float64, in one reading of the points; q n evaluations.

        Parameters
        ----------
        weights : (q, d), a w each row
        out : (q, n) float64, C-ordered, to write to and return; a new array if None

        Raises
        ------
        ValueError : ``weights`` or ``out`` has another shape, type or order.
        """
        w = np.ascontiguousarray(weights, dtype=np.float64)
        if w.ndim != 2 or w.shape[1] != self.d:
            raise ValueError(
                f"weights has shape {w.shape} for points of {self.d} features; give a row of {self.d} each."
            )
        shape = len(w), self.n
        return self._shared(self._products, w, np.empty(shape) if out is None else _fitting("out", out, shape), len(w))

    def _products(self, w: Block, out: Block, first: int, last: int) -> None:
        if self._sparse is not None:
            from harness.kernels.products import sparse_products

            indptr, indices, data = self._sparse
            sparse_products(indptr, indices, data, np.ascontiguousarray(w.T), out, first, last)
            return
        step = max(1, _PRODUCT_VALUES // max(1, self.d))
        for start in range(first, last, step):
            stop = min(start + step, last)
            piece = np.asarray(self._dense[start:stop]).astype(np.float64, order="C", copy=False)
            np.matmul(w, piece.T, out=out[:, start:stop])

    def add(self, points: Block, coef: Block, weights: Block) -> Block:
        """Add sum_k coef_k x_{points_k} to ``weights``, (d,) float64, in place, and return it; one evaluation a point.

        Parameters
        ----------
        points, coef : (q,) training points, from 0 to n - 1, and their coefficients

        Raises
        ------
        IndexError : a point outside its range.
        ValueError : shapes differ, or ``weights`` is no contiguous float64 array of d numbers.
        """
        from harness.kernels.products import add_dense, add_sparse

        index, factors = self._checked(points), np.ascontiguousarray(coef, dtype=np.float64)
        if index.ndim != 1 or index.shape != factors.shape:
            raise ValueError(f"points has shape {index.shape} and coef {factors.shape}; give one coefficient a point.")
        _fitting("weights", weights, (self.d,))
        if self._sparse is not None:
            add_sparse(*self._sparse, index, factors, weights)
        else:
            add_dense(self._dense, index, factors, weights)
        self.counter.add(len(index))
        return weights

    def rows(self, points: Block) -> Block:
        """Return x_i of each of ``points``, a new (q, d) array of float64; one evaluation a point.

        As they give uncounted kernel values, ``evaluations_at_least`` of the counter becomes True.

        Raises
        ------
        IndexError : a point outside its range.
        """
        index = self._checked(points)
        self.counter.add(len(index))
        self.counter.evaluations_at_least = True
        if self._sparse is None:
            return np.asarray(self._dense[index], dtype=np.float64)
        import scipy.sparse

        indptr, indices, data = self._sparse
        stored: Any = scipy.sparse.csr_array((data, indices, indptr), shape=(self.n, self.d))
        return np.asarray(stored[index].toarray(), dtype=np.float64)

    def _checked(self, points: Block) -> Block:
        """Return points as integers; IndexError where one is outside."""
        index = np.asarray(points, dtype=np.intp)
        if index.size and not (index.min() >= 0 and index.max() < self.n):
            wrong = int(index[(index < 0) | (index >= self.n)][0])
            raise IndexError(f"point {wrong} is out of range; {self.n} points run from 0 to {self.n - 1}.")
        return index


def width_of(points: Any) -> int:
    """Return the stored numbers of one point: the dimension, or for sparse points the mean number of non-zeros."""
    return int(points.shape[1]) if isinstance(points, np.ndarray) else int(points.nnz) // max(1, points.shape[0])


def pieces(length: int, width: int) -> Iterator[slice]:
    """Cut ``length`` rows of ``width`` numbers into pieces of at most 32 MB in float64: mapped files need no copy."""
    step = max(1, _LARGEST_PIECE // max(1, width))
    for start in range(0, length, step):
        yield slice(start, start + step)


def combination(points: Any, coef: Block, support: Block) -> Block:
    """Return w = sum_j coef_j x_j over the points ``support``, (d,) float64; uncounted."""
    weights = np.zeros(points.shape[1])
    for part in pieces(len(support), width_of(points)):
        weights += points[support[part]].astype(np.float64, copy=False).T @ coef[support[part]]
    return weights


def products_with(points: Any, weights: Block, index: Block | None = None) -> Block:
    """Return <x_i, weights> of the points ``index`` (all if None), float64; uncounted."""
    scores = np.empty(points.shape[0] if index is None else len(index))
    for part in pieces(len(scores), width_of(points)):
        scores[part] = points[part if index is None else index[part]].astype(np.float64, copy=False) @ weights
    return scores


def _fitting(name: str, array: Block, shape: tuple[int, ...]) -> Block:
    """Return the array that is written to, or refuse it."""
    if array.shape != shape or array.dtype != np.float64 or not array.flags.c_contiguous:
        raise ValueError(
            f"{name} has shape {array.shape} and type {array.dtype}; give a C-ordered float64 array of shape {shape}."
        )
    return array


def _read_only(values: Any) -> Block:
    """Return a read-only view, whose type the compiled loops know: they are not compiled once more for writable data."""
    view: Block = np.asarray(values).view()
    view.flags.writeable = False
    return view
