"""The points of a linear kernel, for a solver that stores w = sum_i coef_i x_i instead of kernel rows.

One pass over the points gives all scores <w, x_i> at the cost of reading them once, whatever the number of support
vectors, and without the drift of scores that are updated.
"""

from __future__ import annotations

from functools import cached_property, partial
from typing import Any

import numpy as np

from harness.kernels.counter import Counter
from harness.kernels.crew import Crew, Job
from harness.kernels.points import pieces, valid_indices, width_of
from harness.support.arrays import Block

__all__ = ["Features", "combination", "pieces", "products_with", "width_of"]

_PRODUCT_VALUES = 1 << 19  # features multiplied at a time with several w: 4 MB of each thread where they are converted


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
        dense = isinstance(points, np.ndarray)
        self.stored = self.n * self.d if dense else int(points.nnz)
        arrays = (points,) if dense else (points.indptr, points.indices, points.data)
        self._arrays = tuple(_read_only(array) for array in arrays)  # (points,), or the three arrays of CSR points

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
        w, out = self._weights(weights, (self.d,)), np.empty(self.n) if out is None else _fitting("out", out, (self.n,))
        self._share(partial(self._loops[0], *self._arrays, w, out), 1)
        return out

    @cached_property
    def _loops(self) -> tuple[Any, Any]:
        """The compiled loops of scores() and add() over the points."""
        from harness.kernels import compiled as loops

        dense = len(self._arrays) == 1
        return (loops.dense_scores, loops.add_dense) if dense else (loops.sparse_scores, loops.add_sparse)

    def _weights(self, weights: Block, shape: tuple[int, ...]) -> Block:
        w = np.ascontiguousarray(weights, dtype=np.float64)
        if w.shape != shape:
            raise ValueError(f"weights has shape {w.shape} for points of {self.d} features; expected {shape}.")
        return w

    def _share(self, job: Job, count: int) -> None:
        """Call ``job`` for the points, shared among the threads, and count their products with ``count`` w."""
        if self.n and count:
            self._crew.share(job, self.n, -(-self.stored * count // self.n), self.threads)
        self.counter.add(self.n * count)

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
        w, shape = self._weights(weights, (len(weights), self.d)), (len(weights), self.n)
        out = np.empty(shape) if out is None else _fitting("out", out, shape)
        if len(self._arrays) > 1:
            from harness.kernels.compiled import sparse_products

            job: Any = partial(sparse_products, *self._arrays, np.ascontiguousarray(w.T), out)
        else:
            job = partial(self._products, w, out)
        self._share(job, len(w))
        return out

    def _products(self, w: Block, out: Block, first: int, last: int) -> None:
        step = max(1, _PRODUCT_VALUES // max(1, self.d))
        for start in range(first, last, step):
            stop = min(start + step, last)
            piece = np.asarray(self._arrays[0][start:stop]).astype(np.float64, order="C", copy=False)
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
        index, factors = valid_indices(points, self.n), np.ascontiguousarray(coef, dtype=np.float64)
        if index.ndim != 1 or index.shape != factors.shape:
            raise ValueError(f"points has shape {index.shape} and coef {factors.shape}; give one coefficient a point.")
        _fitting("weights", weights, (self.d,))
        self._loops[1](*self._arrays, index, factors, weights)
        self.counter.add(len(index))
        return weights

    def rows(self, points: Block) -> Block:
        """Return x_i of each of ``points``, a new (q, d) array of float64; one evaluation a point.

        As they give uncounted kernel values, ``evaluations_at_least`` of the counter becomes True.

        Raises
        ------
        IndexError : a point outside its range.
        """
        index = valid_indices(points, self.n)
        self.counter.add(len(index))
        self.counter.evaluations_at_least = True
        if len(self._arrays) == 1:
            return np.asarray(self._arrays[0][index], dtype=np.float64)
        import scipy.sparse

        stored: Any = scipy.sparse.csr_array(self._arrays[::-1], shape=(self.n, self.d))
        return np.asarray(stored[index].toarray(), dtype=np.float64)


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
