"""Blocks of kernel values between training points: one engine for dense, sparse and mapped data, and for views of them.

The engine computes; it neither counts nor caches (see oracle.py). How a value comes about is the backend's business (see
backend.py); the engine cuts requests into tiles of columns that stay in the core's cache, shares them among threads, and
maps the points of a restricted problem to those of the whole.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.kernels.backend import KernelBackend, scratch
from harness.kernels.crew import Crew
from harness.kernels.distances import DistanceBackend, Distances
from harness.kernels.features import width_of
from harness.kernels.functions import Exponential, GivenValues, Kernel, OfProducts, Power, squared_norms
from harness.kernels.points import as_points, is_mapped
from harness.kernels.scan import ScanBackend, choose_backend

if TYPE_CHECKING:
    import scipy.sparse

    from harness.arrays import Block

    Points = Block | scipy.sparse.csr_array
    After = Callable[[int, int], None]

_TILE_BYTES = 1 << 20  # one tile of values: measured best near the size of a core's L2
_NARROWEST = 256  # columns of a tile
_PACKED_BYTES = 64 << 20  # a view lays out its own points if they take no more
_PACKS_AFTER = 8  # rows requested with all columns of a view, after which a layout of its own has paid
_SMALL_VIEW = 0.5  # of the whole: a smaller view lays out its own points rather than have the whole laid out for it
_CALLBACK_ROWS = 8  # a callback is taken to do as much work as so many rows at least
EXPAND_ROWS = 128  # rows of a tile in expand()
_PREPARED_ROWS = 512  # at most are stored prepared for the next request
_EXPAND_PREPARED = 2048  # rows prepared at a time
_SAMPLE = 4096  # mapped points whose norms are looked at


class _Whole:
    """What all views of one training set share: the points, laid out once a dtype, and the threads."""

    def __init__(self, kernel: Kernel, source: Points, distances: Distances | None = None) -> None:
        self.kernel, self.source = kernel, source
        self.crew = Crew()
        self._distances = distances
        self._backends: dict[np.dtype[Any], KernelBackend] = {}

    def is_laid_out(self, dtype: np.dtype[Any]) -> bool:
        """Return whether there is a backend of a dtype, over stored distances if there are any."""
        if dtype not in self._backends and self._distances is not None:
            found = self._distances.backend(self.kernel, dtype)
            self._backends.update({} if found is None else {dtype: found})
        return dtype in self._backends

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

    def backend(self, dtype: np.dtype[Any]) -> KernelBackend:
        if not self.is_laid_out(dtype):
            self._backends[dtype] = choose_backend(self.kernel, self.source, dtype)
        return self._backends[dtype]


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
        self._own: KernelBackend | None = None  # over the points of a view alone
        self._requested = 0
        self._prepared: tuple[Any, Block, Any] = (None, np.empty(0, dtype=np.intp), None)
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
        return self._backend(0).differences

    @property
    def work(self) -> float:
        """Multiply-adds that a kernel value takes, about; infinite where that says nothing of its time."""
        return self._backend(0).work

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

    def fill(self, rows: Block, out: Block, slots: Block, columns: Block | None, after: After | None) -> None:
        """Compute K[rows, columns] into ``out[slots, :m]`` by tiles of columns; call ``after(start, stop)`` after each."""
        width = self.n if columns is None else len(columns)
        backend = self._backend(len(rows) if columns is None else 0)
        picked = self._places(backend, columns)
        prepared = self._rows(backend, rows) if len(rows) else None
        if picked is not None and isinstance(backend, ScanBackend) and self._are_gathered(backend, len(picked)):
            backend, picked = backend.columns(picked), None

        def tile(start: int, stop: int) -> None:
            if prepared is not None:
                part = slice(start, stop) if picked is None else picked[start:stop]
                backend.compute_tile(prepared, part, out, slots, start)
            if after is not None:
                after(start, stop)

        wide = _TILE_BYTES // (self.dtype.itemsize * max(1, len(rows)))
        if after is None and isinstance(backend, DistanceBackend):  # it reads what it needs once: tiles would cut rows
            wide = width
        values = max(len(rows), 1 if after is None else _CALLBACK_ROWS)
        grain = 1 if picked is not None else backend.grain
        self.crew.share(tile, width, values, self.threads, widest=max(_NARROWEST, wide), grain=grain)

    def _backend(self, rows: int) -> KernelBackend:
        """Return what computes values: over the view's own points where that pays, else over the whole.

        rows : requested now with all columns
        """
        whole = self._whole
        if self._own is None and self._index is not None:
            laid_out = whole.is_laid_out(self.dtype)
            self._requested += rows
            if (
                not laid_out
                and self.n <= _SMALL_VIEW * whole.source.shape[0]
                and isinstance(self.kernel.form, OfProducts)
            ):
                x: Any = whole.source
                if self.n * width_of(x) * self.dtype.itemsize <= _PACKED_BYTES:
                    self._own = choose_backend(self.kernel, x[self._index], self.dtype)
            elif self._requested >= _PACKS_AFTER and whole.backend(self.dtype).bytes_of(self.n) <= _PACKED_BYTES:
                self._own = whole.backend(self.dtype).take(self._index)
        return whole.backend(self.dtype) if self._own is None else self._own

    def _are_gathered(self, backend: ScanBackend, count: int) -> bool:
        """Return whether so many picked columns are copied at once, and stay for the next request."""
        return count >= _NARROWEST and backend.bytes_of(count) <= _PACKED_BYTES

    def _places(self, backend: KernelBackend, points: Block | None) -> Block | None:
        """Return the backend's numbers of some of these points; None if they are all of its points, in order."""
        if self._index is None or backend is self._own:
            return points
        return self._index if points is None else self._index[points]

    def _rows(self, backend: KernelBackend, rows: Block) -> Any:
        """Return the rows prepared; those of the last request, if it was a small one, are prepared already."""
        source, known, prepared = self._prepared
        if source is backend and known.shape == rows.shape and (known == rows).all():
            return prepared
        places: Any = self._places(backend, rows)
        prepared = backend.prepare_rows(places)
        if len(rows) <= _PREPARED_ROWS:
            self._prepared = (backend, rows.copy(), prepared)
        return prepared

    def expand(self, support: Block, coef: Block, columns: Block | None) -> Block:
        """Return sum_j coef_j K[support_j, columns], float64, the values of a tile weighted while they are in the cache.

        coef : as many as ``support``; of float64 values also (support, m), m models at once: then (m, columns)
        """
        width = self.n if columns is None else len(columns)
        scores = np.zeros((*coef.shape[1:], width))
        backend = self._backend(len(support) if columns is None else 0)
        picked = self._places(backend, columns)
        # picked columns are gathered once a tile, not for each part
        takes = picked is not None and np.isfinite(backend.bytes_of(1))
        for first in range(0, len(support), _EXPAND_PREPARED):
            rows = support[first : first + _EXPAND_PREPARED]
            prepared = self._rows(backend, rows)
            weights = coef[first : first + _EXPAND_PREPARED]
            ends = [(k, min(k + EXPAND_ROWS, len(rows))) for k in range(0, len(rows), EXPAND_ROWS)]
            parts = [(backend.slice_rows(prepared, k, end), weights[k:end]) for k, end in ends]

            def tile(start: int, stop: int, parts: Any = parts) -> None:
                source, columns = backend, slice(start, stop) if picked is None else picked[start:stop]
                if takes:
                    source, columns = backend.take(np.asarray(columns)), slice(0, stop - start)
                values = scratch("values", EXPAND_ROWS, stop - start, self.dtype)
                for part, weights in parts:
                    source.compute_tile(part, columns, values, np.arange(len(weights)), 0)
                    scores[..., start:stop] += _weighted(weights, values)

            wide = _TILE_BYTES // (self.dtype.itemsize * EXPAND_ROWS)
            grain = 1 if picked is not None else backend.grain
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


def _weighted(weights: Block, values: Block) -> Block:
    """Return sum_q weights_q values[q] in float64, over the first rows of ``values``."""
    if values.dtype == np.float64:
        return weights.T @ values[: len(weights)]
    from harness.jit import add_rows

    result = np.zeros(values.shape[1])
    add_rows(result, values, np.arange(len(weights)), weights, 0, values.shape[1])
    return result
