"""Blocks of kernel values between training points: one engine for dense, sparse and mapped data, and for views of them.

The engine computes; it neither counts nor caches (see oracle.py). How a value comes about is the way's business (see
ways.py); the engine cuts requests into tiles of columns that stay in the core's cache, shares them among threads, and
maps the points of a restricted problem to those of the whole.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.kernels.columns import Columns
from harness.kernels.crew import Crew
from harness.kernels.distances import Distances, DistanceWay
from harness.kernels.features import width_of
from harness.kernels.functions import Exponential, GivenValues, Kernel, OfProducts, Power, squared_norms
from harness.kernels.points import as_points
from harness.kernels.way import PackingWay, Way
from harness.kernels.ways import GemmWay, choose, is_mapped, scratch

if TYPE_CHECKING:
    import scipy.sparse

    from harness.arrays import Block

    Points = Block | scipy.sparse.csr_array
    After = Callable[[int, int], None]

_TILE_BYTES = 1 << 20  # one tile of values: measured best near the size of a core's L2
_NARROWEST = 256  # columns of a tile
_PACKED_BYTES = 64 << 20  # a view that is asked for much keeps its points packed if they take no more
_PACKS_AFTER = 8  # rows of a view, asked for with all columns, after which packing has paid
_OWN_SHARE = 0.5  # of the whole: a smaller view lays out its own points rather than have the whole laid out for it
_SQUARE_ROWS = 256  # of all points' values, computed on one side of the diagonal and copied to the other
_CALLBACK_ROWS = 8  # a callback is taken to do as much work as so many rows at least
EXPAND_ROWS = 128  # rows of a tile in expand()
_PREPARED_ROWS = 512  # are kept prepared for the next request at most
_EXPAND_LEFT = 2048  # rows prepared at a time
_SAMPLE = 4096  # mapped points whose norms are looked at


class _Whole:
    """What all views of one training set share: the points, laid out once a dtype, and the threads."""

    def __init__(self, kernel: Kernel, source: Points, distances: Distances | None = None) -> None:
        self.kernel, self.source = kernel, source
        self.crew = Crew()
        self._distances = distances
        self._ways: dict[np.dtype[Any], Way] = {}

    def is_laid_out(self, dtype: np.dtype[Any]) -> bool:
        return dtype in self._ways or self._shares(dtype)

    def _shares(self, dtype: np.dtype[Any]) -> bool:
        """Take the way over stored distances, if there is one; return whether there is."""
        shared = None if self._distances is None else self._distances.way(self.kernel, dtype)
        if shared is not None:
            self._ways[dtype] = shared
        return shared is not None

    @cached_property
    def largest(self) -> float:
        """The largest number on the way to a kernel value: k(x, z)^2 <= k(x, x) k(z, z), |x - z|^2 <= 4 max |x|^2."""
        source: Any = self.source[:: max(1, len(self.source) // _SAMPLE)] if is_mapped(self.source) else self.source
        with np.errstate(all="ignore"):
            form = self.kernel.form
            if isinstance(form, GivenValues):
                return float(abs(source).max())
            square = np.float64(squared_norms(source).max(initial=0.0))
            apart, power = 4.0 * square, 0.0
            if isinstance(form, Power):
                power = (form.gamma * square + abs(form.coef0)) ** form.degree
            return float(max(apart, power))

    def way(self, dtype: np.dtype[Any]) -> Way:
        if not self.is_laid_out(dtype):
            self._ways[dtype] = choose(self.kernel, self.source, dtype)
        return self._ways[dtype]


class Engine:
    """Kernel values between the points of one training set, or between some of them.

    Parameters
    ----------
    x : (n, d) dense, memory-mapped or sparse of any kind, see :func:`as_points`; for ``precomputed`` (n, n) kernel values
    dtype : of the blocks, float64 or float32; the points are laid out when the first values are asked for
    threads : that share the columns of a request
    distances : between the points, from which the values of an RBF kernel are computed where they are kept
    """

    def __init__(
        self,
        kernel: Kernel,
        x: Points,
        dtype: Any = np.float64,
        *,
        whole: _Whole | None = None,
        index: Block | None = None,
        threads: int = 1,
        distances: Distances | None = None,
    ) -> None:
        self.kernel, self.dtype, self.threads = kernel, np.dtype(dtype), threads
        self._given = isinstance(kernel.form, GivenValues)
        self._whole = whole if whole is not None else _Whole(kernel, as_points(x), distances)
        self._index = index  # which points of the whole these are; None if all
        self.n = int(self._whole.source.shape[0]) if index is None else len(index)
        self._packed: Way | None = None
        self._own: Way | None = None  # of a view alone, where the whole is not laid out in this dtype
        self._asked = 0
        self._prepared: tuple[Block, Any] = (np.empty(0, dtype=np.intp), None)
        self._source: Any = None

    @property
    def index(self) -> Block | None:
        """Which points of the whole these are, the same object for every view of them; None if all."""
        return self._index

    @property
    def crew(self) -> Crew:
        """The threads that share a request, those of every view."""
        return self._whole.crew

    @property
    def source(self) -> Any:
        """The points themselves; of a view, a copy that is made when it is first asked for."""
        if self._index is None:
            return self._whole.source
        if self._source is None:
            x: Any = self._whole.source
            self._source = x[np.ix_(self._index, self._index)] if self._given else x[self._index]
        return self._source

    @property
    def n_features(self) -> int:
        """The number of features of a point; for ``precomputed`` the number of points."""
        return self.n if self._given else int(self._whole.source.shape[1])

    @property
    def is_mapped(self) -> bool:
        """Whether these are all points of a mapped file; those of a view are gathered from it."""
        return self._index is None and is_mapped(self._whole.source)

    @property
    def largest(self) -> float:
        """A bound on the kernel values between all points and on what they are computed from; of mapped ones, a sample."""
        return self._whole.largest

    @property
    def sums_differences(self) -> bool:
        """Whether values are functions of sums of (x - z)^2, which lose nothing to where the points lie."""
        way, _ = self._columns(0, None)
        return way.differences

    @property
    def work(self) -> float:
        """Multiply-adds that a kernel value takes, about; infinite where that says nothing of its time."""
        way, _ = self._columns(0, None)
        return way.work

    def _view(self, dtype: Any, index: Block | None, threads: int) -> Engine:
        return Engine(self.kernel, self._whole.source, dtype, whole=self._whole, index=index, threads=threads)

    def astype(self, dtype: Any) -> Engine:
        """Return the engine of the same points with values of another dtype."""
        return self._view(dtype, self._index, self.threads)

    def with_threads(self, threads: int) -> Engine:
        """Return the engine of the same points with requests shared by so many threads; itself if it has them."""
        return self if threads == self.threads else self._view(self.dtype, self._index, threads)

    def subset(self, indices: Block) -> Engine:
        """Return an engine over ``x[indices]`` without a copy of the points."""
        index = indices if self._index is None else self._index[indices]
        return self._view(self.dtype, index, self.threads)

    def block(self, rows: Block, columns: Block | None = None) -> Block:
        """Return K[rows, columns] (all columns if None), a new C-ordered array of the engine's dtype."""
        out = np.empty((len(rows), self.n if columns is None else len(columns)), dtype=self.dtype)
        if out.size:
            self.fill(rows, out, np.arange(len(rows)), columns, None)
        return out

    def columns(self) -> Columns:
        """Return an empty set of columns for fill()."""
        own = self._own_way()
        return Columns(self._whole.way(self.dtype), self._index) if own is None else Columns(own, None)

    def fill(self, rows: Block, out: Block, slots: Block, columns: Block | Columns | None, after: After | None) -> None:
        """Compute K[rows, columns] into ``out[slots, :m]`` by tiles of columns; call ``after(start, stop)`` after each."""
        width = self.n if columns is None else len(columns)
        way, picked = self._columns(len(rows), columns)
        left = self._left(rows) if len(rows) else None

        if columns is None and picked is None and isinstance(way, GemmWay) and _is_square(rows, slots, way.n):
            self._square(way, left, out)
            if after is not None:
                after(0, width)
            return

        def tile(start: int, stop: int) -> None:
            if left is not None:
                way.tile(left, slice(start, stop) if picked is None else picked[start:stop], out, slots, start)
            if after is not None:
                after(start, stop)

        wide = _TILE_BYTES // (self.dtype.itemsize * max(1, len(rows)))
        if after is None and isinstance(way, DistanceWay):  # it reads what it needs once: tiles would only cut rows
            wide = width
        values = max(len(rows), 1 if after is None else _CALLBACK_ROWS)
        grain = 1 if picked is not None else way.grain
        self.crew.share(tile, width, values, self.threads, widest=max(_NARROWEST, wide), grain=grain)

    def _square(self, way: GemmWay, left: Any, out: Block) -> None:
        """Compute the values of all points, those of a pair once: to copy one takes less time."""
        blocks = [slice(start, min(start + _SQUARE_ROWS, way.n)) for start in range(0, way.n, _SQUARE_ROWS)]

        def tiles(first: int, last: int) -> None:
            for k in range(first, last):
                own, rows = blocks[k], way.part(left, blocks[k].start, blocks[k].stop)
                for other in blocks[k:]:
                    way.tile(rows, other, out, np.arange(own.start, own.stop), other.start)
                    if other != own:
                        out[other, own] = out[own, other].T

        self.crew.share(tiles, len(blocks), _SQUARE_ROWS * way.n, self.threads, widest=1)

    def _own_way(self) -> Way | None:
        """Return the way over the view's own points, if it has one or should have."""
        if self._own is None and self._index is not None and not self._whole.is_laid_out(self.dtype):
            x: Any = self._whole.source
            small = self.n <= _OWN_SHARE * x.shape[0] and isinstance(self.kernel.form, OfProducts)
            if small and self.n * width_of(x) * self.dtype.itemsize <= _PACKED_BYTES:
                self._own = choose(self.kernel, x[self._index], self.dtype)
        return self._own

    def _left(self, rows: Block) -> Any:
        """Return the rows prepared; those of the last request, if it was a small one, are prepared already."""
        known, left = self._prepared
        if left is not None and known.shape == rows.shape and (known == rows).all():
            return left
        if self._own is not None:
            left = self._own.left(rows)
        else:
            index = rows if self._index is None else self._index[rows]
            left = self._whole.way(self.dtype).left(index)
        if len(rows) <= _PREPARED_ROWS:
            self._prepared = (rows.copy(), left)
        return left

    def _columns(self, rows: int, columns: Block | Columns | None) -> tuple[Way, Block | None]:
        """Return the way that has the columns asked for, and which of its points they are; None for all, in order."""
        if isinstance(columns, Columns):
            if columns.way is not None:
                return columns.way, None
            columns = columns.index
        own = self._own_way()
        if own is not None:
            return own, columns
        way = self._whole.way(self.dtype)
        if columns is not None:
            return way, columns if self._index is None else self._index[columns]
        if self._index is None:
            return way, None
        self._asked += rows
        if self._packed is None and self._asked >= _PACKS_AFTER and isinstance(way, PackingWay):
            self._packed = way.take(self._index) if way.bytes_of(self.n) <= _PACKED_BYTES else None
        return (way, self._index) if self._packed is None else (self._packed, None)

    def expand(self, support: Block, coef: Block, columns: Block | None) -> Block:
        """Return sum_j coef_j K[support_j, columns], float64, the values of a tile weighted while they are in the cache.

        coef : as many as ``support``; of float64 values also (support, m), m models at once: then (m, columns)
        """
        width = self.n if columns is None else len(columns)
        scores = np.zeros((*coef.shape[1:], width))
        way, picked = self._columns(len(support), columns)
        # picked columns are gathered once a tile, not for each part
        packing = way if picked is not None and isinstance(way, PackingWay) else None
        for first in range(0, len(support), _EXPAND_LEFT):
            rows = support[first : first + _EXPAND_LEFT]
            left = self._left(rows)
            weights = coef[first : first + _EXPAND_LEFT]
            ends = [(k, min(k + EXPAND_ROWS, len(rows))) for k in range(0, len(rows), EXPAND_ROWS)]
            parts = [(way.part(left, k, end), weights[k:end]) for k, end in ends]

            def tile(start: int, stop: int, parts: Any = parts) -> None:
                source, columns = way, slice(start, stop) if picked is None else picked[start:stop]
                if packing is not None:
                    source, columns = packing.take(np.asarray(columns)), slice(0, stop - start)
                values = scratch("values", EXPAND_ROWS, stop - start, self.dtype)
                for part, weights in parts:
                    source.tile(part, columns, values, np.arange(len(weights)), 0)
                    scores[..., start:stop] += _weighted(weights, values)

            wide = _TILE_BYTES // (self.dtype.itemsize * EXPAND_ROWS)
            grain = 1 if picked is not None else way.grain
            self.crew.share(tile, width, len(rows), self.threads, widest=wide, grain=grain)
        return scores

    def diagonal(self) -> Block:
        """Return k(x_i, x_i) for all points, (n,) float64."""
        source: Any = self._whole.source
        if self._given:
            every = np.array(source.diagonal() if self._index is None else source[self._index, self._index])
            return every.astype(np.float64).reshape(-1)
        if isinstance(self.kernel.form, Exponential):  # picking points of a view costs more than a small solve
            return np.ones(self.n)
        return self.kernel.diagonal(source if self._index is None else source[self._index])


def _is_square(rows: Block, slots: Block, n: int) -> bool:
    """Return whether these are all rows of n points, each in its own place."""
    every = np.arange(n)
    return len(rows) == n and np.array_equal(rows, every) and np.array_equal(slots, every)


def _weighted(weights: Block, values: Block) -> Block:
    """Return sum_q weights_q values[q] in float64, over the first rows of ``values``."""
    if values.dtype == np.float64:
        return weights.T @ values[: len(weights)]
    from harness.jit import add_rows

    result = np.zeros(values.shape[1])
    add_rows(result, values, np.arange(len(weights)), weights, 0, values.shape[1])
    return result
