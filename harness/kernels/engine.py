"""Kernel values between training points: one engine for dense, sparse and mapped data, and for parts of them.

The engine neither counts nor caches; its subclass, the oracle, does so for a solver. The backend computes the values (see
backend.py); the engine divides requests into tiles of columns that stay in the core's cache, distributes them over threads,
and maps the points of a restricted problem to those of the whole set.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, Self

import numpy as np

from harness.kernels.backend import KernelBackend, scratch
from harness.kernels.counter import Counter
from harness.kernels.crew import Crew
from harness.kernels.distances import Distances
from harness.kernels.features import Features, combination, pieces, products_with, width_of
from harness.kernels.functions import Exponential, GivenValues, Kernel, OfProducts, Power, reason_against, squared_norms
from harness.kernels.layout import Layout
from harness.kernels.points import Points, as_points, bytes_of, is_mapped, joined, stored_as, valid_indices
from harness.kernels.scan import ScanBackend, choose_backend
from harness.support.arrays import Block, Vector
from harness.support.errors import UsageError
from harness.support.parameters import values_of

After = Callable[[int, int], None]

_TILE_BYTES = 1 << 20  # size of a tile of values: measured best near the size of a core's L2
_NARROWEST = 256  # smallest number of columns of a tile
_PACKED_BYTES = 64 << 20  # largest size of the layout of a part's points
_PACKS_AFTER = 8  # rows requested with all columns of a part after which a separate layout pays
_SMALL_PART = 0.5  # fraction of the whole set up to which a part is laid out separately if the whole is not laid out
_CALLBACK_ROWS = 8  # assumed work of a callback, in rows
EXPAND_ROWS = 128  # rows of a tile in expand()
_EXPAND_PREPARED = 2048  # rows that expand() prepares at a time
_SMALL = 8192  # values up to which a request is one tile
_ALL = np.empty(0, dtype=np.int64)
_SAMPLE = 4096  # number of mapped points whose norms bound the values


class _Whole:
    """Data that all parts of one training set share: the points, laid out once for each dtype, and the threads."""

    def __init__(self, kernel: Kernel, source: Points, distances: Distances | None = None) -> None:
        self.kernel, self.source = kernel, source
        self.crew = Crew()
        self._distances = distances
        self.is_given = isinstance(kernel.form, GivenValues)
        self.backends: dict[np.dtype[Any], KernelBackend] = {}

    def is_laid_out(self, dtype: np.dtype[Any]) -> bool:
        """Return whether there is a backend of a dtype, over stored distances if there are any."""
        if dtype not in self.backends and self._distances is not None:
            backend = self._distances.backend(self.kernel, dtype)
            self.backends.update({} if backend is None else {dtype: backend})
        return dtype in self.backends

    @cached_property
    def largest(self) -> float:
        """The largest intermediate number of a kernel value, by k(x, z)^2 <= k(x, x) k(z, z), |x - z|^2 <= 4 max |x|^2."""
        source: Any = self.source[:: max(1, len(self.source) // _SAMPLE)] if is_mapped(self.source) else self.source
        with np.errstate(all="ignore"):
            form = self.kernel.form
            if isinstance(form, GivenValues):
                return float(abs(source).max())
            square = np.float64(squared_norms(source).max(initial=0.0))
            power = (form.gamma * square + abs(form.coef0)) ** form.degree if isinstance(form, Power) else 0.0
            return float(max(4.0 * square, power))

    def backend(self, dtype: np.dtype[Any]) -> KernelBackend:
        if not self.is_laid_out(dtype):
            self.backends[dtype] = choose_backend(self.kernel, self.source, dtype)
        return self.backends[dtype]


class _Identity:
    """Weak-referenceable key for kernels over the same points."""


class _Part:
    """Some points of the whole, all if ``index`` is None, and the backend of their values in one dtype."""

    def __init__(self, whole: _Whole, index: Block | None, dtype: Any) -> None:
        self.whole, self.index, self.dtype = whole, index, np.dtype(dtype)
        self.n = int(whole.source.shape[0]) if index is None else len(index)
        self.identity = _Identity()
        self._packed: Any = None  # backend over these points only
        self._requested = 0

    @cached_property
    def points(self) -> Any:
        """The points; those of a part are copied when first needed."""
        x: Any = self.whole.source
        if self.index is None:
            return x
        return x[np.ix_(self.index, self.index)] if self.whole.is_given else x[self.index]

    def backend(self, rows: int = 0) -> KernelBackend:
        """Return the backend of the values: over these points only if that pays, else over the whole set.

        rows : number of rows requested now with all columns
        """
        whole = self.whole
        if self._packed is None and self.index is not None:
            laid_out = whole.is_laid_out(self.dtype)
            self._requested += rows
            is_small = self.n <= _SMALL_PART * whole.source.shape[0]
            if not laid_out and is_small and isinstance(whole.kernel.form, OfProducts):
                x: Any = whole.source
                if self.n * width_of(x) * self.dtype.itemsize <= _PACKED_BYTES:
                    self._packed = choose_backend(whole.kernel, x[self.index], self.dtype)
            elif self._requested >= _PACKS_AFTER and whole.backend(self.dtype).bytes_of(self.n) <= _PACKED_BYTES:
                self._packed = whole.backend(self.dtype).take(self.index)
        return whole.backend(self.dtype) if self._packed is None else self._packed

    @cached_property
    def layout(self) -> Layout | None:
        """The points for compiled loops, uncounted; None if no scan computes the values."""
        backend = self.whole.backend(self.dtype)
        if self.index is not None and backend.layout is not None:
            backend = self._packed = self._packed or backend.take(self.index)
        layout: Layout | None = backend.layout
        return layout

    @cached_property
    def calls(self) -> tuple[Callable[..., Any], Callable[..., Any]] | None:
        """The loops value() and rows_at() over the layout, as an import takes as long as a value; None without one."""
        if self.layout is None:
            return None
        from harness.kernels.loops import rows_at, value

        return partial(value, self.layout), partial(rows_at, self.layout)

    def places(self, backend: KernelBackend, points: Block | None) -> Any:
        """Return indices in the backend of some of these points; None for all of its points in order."""
        if self.index is None or backend is not self.whole.backends.get(self.dtype):
            return points
        return self.index if points is None else self.index[points]


class Engine:
    """Kernel values between the points of one training set, or between some of them.

    Parameters
    ----------
    x : (n, d) dense, memory-mapped or sparse of any kind, see :func:`as_points`; for ``precomputed`` (n, n) kernel values
    dtype : dtype of the values, float64 or float32; the points are laid out when the first values are requested
    ridge : added to k(x_i, x_i) on the diagonal (l2-svc: 1/chi)
    z : (n,) float64; z_i z_j is added to k(x_i, x_j), as by one more coordinate of the points, which is 0 for new points
    threads : number of threads that share the columns of a request, at least 1
    distances : stored distances between the points, from which the values of an RBF kernel are computed
    part : points of another engine, instead of ``x``
    """

    _counter: Any = None  # a Counter, of an oracle

    def __init__(
        self, kernel: Kernel, x: Points | None, dtype: Any = np.float64, *, ridge: float = 0.0, z: Vector | None = None,
        threads: int = 1, distances: Distances | None = None, part: _Part | None = None,
    ) -> None:  # fmt: skip
        self._part = _Part(_Whole(kernel, as_points(x), distances), None, dtype) if part is None else part
        self.kernel, self.dtype, self.threads, self.ridge = kernel, self._part.dtype, threads, float(ridge)
        self.z, self.n = z, self._part.n
        if threads < 1:
            raise ValueError(f"threads={threads} for a kernel; give the number of threads, 1 or more.")
        if z is not None and z.shape != (self.n,):
            raise ValueError(f"z has shape {z.shape} for a kernel over {self.n} points; give one value for each.")

    def __len__(self) -> int:
        return self.n

    @property
    def points(self) -> Any:
        """The (n, d) training points; those of a restricted engine are copied when first needed."""
        return self._part.points

    @property
    def storage(self) -> Any:
        """An array without points, (0, d), of the type, dtype and order of the stored points."""
        return self._part.whole.source[:0]

    @property
    def nbytes(self) -> int:
        """Memory of the points, in bytes."""
        share = self.n / max(1, int(self._part.whole.source.shape[0]))
        return int(share * bytes_of(self._part.whole.source))

    @property
    def n_features(self) -> int:
        """The number of features d of a point; for ``precomputed`` the number of points."""
        return self.n if self._part.whole.is_given else int(self._part.whole.source.shape[1])

    @property
    def is_mapped(self) -> bool:
        """True if these are all points of a file that is mapped into memory."""
        return self._part.index is None and is_mapped(self._part.whole.source)

    @property
    def largest(self) -> float:
        """A bound of the kernel values and of intermediate numbers; for mapped points, that of a sample."""
        return self._part.whole.largest + (0.0 if self.z is None else float(np.max(self.z**2, initial=0.0)))

    @property
    def sums_differences(self) -> bool:
        """Whether values are functions of sums of (x - z)^2, which an offset of the points does not affect."""
        return self._part.backend().differences

    @property
    def is_linear(self) -> bool:
        """True if k(x, z) = <x, z>, so that a solver may store w."""
        return self.z is None and self.kernel.form == Power()

    @property
    def identity(self) -> object:
        """The same object for kernels over the same points, as a weak key."""
        return self._part.identity

    def count(self, values: int) -> None:
        """Count kernel values that the caller computed; only an oracle has a counter."""
        if self._counter is not None:
            self._counter.add(values)

    def features(self) -> Features | None:
        """Return the points for a solver that stores w, see :class:`Features`; None if the kernel is not linear.

        The kernel is <x_i, x_j> + ridge * delta_ij; the solver must add the ridge. Only calls of the result are counted.
        """
        if not self.is_linear:
            return None
        return Features(self._part.points, ridge=self.ridge, counter=self._counter or Counter(), threads=self.threads)

    def _like(self, part: _Part, **settings: Any) -> Self:
        """Return an engine of the same kernel over other points, or with other settings."""
        settings = {"ridge": self.ridge, "z": self.z, "threads": self.threads, **settings}
        return type(self)(self.kernel, None, part=part, **settings)

    def replace(self, **changes: Any) -> Self:
        """Return this kernel with other settings.

        Parameters
        ----------
        dtype, ridge, z, threads : as in the constructor
        extra_points : (m, d) points appended to a copy of the points, with the same ridge, and with z = 0

        Raises
        ------
        DataError : ``extra_points`` are no points, see :func:`harness.as_points`.
        UsageError : values overflow in a narrower ``dtype``; extra points have another width or are not finite; the kernel
            has given values instead of points.
        """
        part, dtype = self._part, np.dtype(changes.pop("dtype", self.dtype))
        if "extra_points" in changes:
            added = as_points(changes.pop("extra_points"))
            if (refusal := reason_against(added, self.kernel, self.n_features)) is not None:
                raise UsageError(f"the kernel cannot be extended: {refusal}")
            part = _Part(_Whole(self.kernel, joined(part.points, added)), None, dtype)
            if self.z is not None:
                changes["z"] = np.concatenate([self.z, np.zeros(part.n - self.n)])
        elif dtype != self.dtype:
            if dtype.itemsize < self.dtype.itemsize and not self.largest < float(np.finfo(dtype).max):
                raise UsageError(
                    f"{described(self.kernel)} gives values that are not finite in {dtype} on these data; scale the data, choose "
                    "smaller parameters or a solver's dtype=float64."
                )
            part = _Part(part.whole, part.index, dtype)
        return self._like(part, **changes) if changes or part is not self._part else self

    def restrict(self, indices: Block) -> Self:
        """Return the kernel over ``x[indices]``, which shares the points."""
        index, part = valid_indices(indices, self.n), self._part
        whole = index if part.index is None else part.index[index]
        return self._like(_Part(part.whole, whole, self.dtype), z=None if self.z is None else self.z[index])

    def _backend(self, rows: Block, columns: Block | None) -> KernelBackend:
        """Return the backend for K[rows, columns], whose values are counted."""
        self.count(len(rows) * (self.n if columns is None else len(columns)))
        return self._part.backend(len(rows) if columns is None else 0)

    def block(self, rows: Block, columns: Block | None = None) -> Block:
        """Return K[rows, columns] (all columns if None), a new C-ordered array."""
        rows = valid_indices(rows, self.n)
        columns = None if columns is None else valid_indices(columns, self.n)
        out = np.empty((len(rows), self.n if columns is None else len(columns)), dtype=self.dtype)
        if out.size:
            self.compute(rows, out, np.arange(len(rows)), columns=columns)
        return out

    def compute(
        self, rows: Block, out: Block, slots: Block, after: After | None = None, columns: Block | None = None
    ) -> None:
        """Compute K[rows, columns] into ``out[slots, :m]`` by tiles of columns; call ``after(start, stop)`` after each.

        The arguments are not validated.
        """
        width = self.n if columns is None else len(columns)
        plain = self.z is None and not self.ridge
        backend = self._backend(rows, columns)
        picked = self._part.places(backend, columns)
        prepared = backend.prepare_rows(self._part.places(backend, rows)) if len(rows) else None
        if after is None and plain and 0 < len(rows) * width <= _SMALL:
            backend.compute_tile(prepared, slice(0, width) if picked is None else picked, out, slots, 0)
            return
        many = 0 if picked is None else len(picked)
        if many >= _NARROWEST and isinstance(backend, ScanBackend) and backend.bytes_of(many) <= _PACKED_BYTES:
            backend, picked = backend.columns(picked), None  # one layout, which the next request may use again

        def tile(start: int, stop: int) -> None:
            if prepared is not None:
                part = slice(start, stop) if picked is None else picked[start:stop]
                backend.compute_tile(prepared, part, out, slots, start)
                if not plain:  # the tile is still in the core's cache
                    self._complete(out, slots, rows, columns, start, stop)
            if after is not None:
                after(start, stop)

        wide = _TILE_BYTES // (self.dtype.itemsize * max(1, len(rows)))
        values = max(len(rows), 1 if after is None and plain else _CALLBACK_ROWS)
        grain = 1 if picked is not None else backend.grain
        self._part.whole.crew.share(tile, width, values, self.threads, widest=max(_NARROWEST, wide), grain=grain)

    def _complete(self, out: Block, slots: Block, rows: Block, columns: Block | None, start: int, stop: int) -> None:
        """Add the product, and the ridge where row and column are the same point, in columns [start, stop)."""
        if self.z is not None:
            across = self.z[slice(start, stop) if columns is None else columns[start:stop]].astype(self.dtype)
            for value, slot in zip(self.z[rows].astype(self.dtype), slots, strict=True):
                out[slot, start:stop] += value * across
        if self.ridge and columns is None:
            inside = (rows >= start) & (rows < stop)
            out[slots[inside], rows[inside]] += self.ridge
        elif self.ridge and columns is not None:
            row, column = np.nonzero(rows[:, None] == columns[None, start:stop])
            out[slots[row], start + column] += self.ridge

    def diagonal(self) -> Block:
        """Return k(x_i, x_i) + ridge for all points, (n,) float64."""
        source, index = self._part.whole.source, self._part.index
        if self._part.whole.is_given:
            every: Any = source.diagonal() if index is None else source[index, index]
            values = np.array(every).astype(np.float64).reshape(-1)
        elif isinstance(self.kernel.form, Exponential):  # indexing the points of a part costs more than a small solve
            values = np.ones(self.n)
        else:
            values = self.kernel.diagonal(source if index is None else source[index])
        values = values + self.ridge
        return values if self.z is None else values + self.z * self.z

    def expand(self, dual_coef: Block, rows: Block | None = None) -> Block:
        """Return sum_j dual_coef_j K[i, j] for i in ``rows`` (all if None), float64, computed in blocks."""
        coef = np.asarray(dual_coef, dtype=np.float64)
        support = np.flatnonzero(coef)
        index = np.arange(self.n) if rows is None else valid_indices(rows, self.n)
        if self.kernel.form == Power():
            self.count(len(index) * len(support))  # although one inner product with w replaces a row
            points = self._part.points
            scores = products_with(points, combination(points, coef, support), None if rows is None else index)
        else:
            scores = self._weighted(support, coef[support], None if rows is None else index)
        if self.ridge:
            scores += self.ridge * coef[index]
        if self.z is not None:
            scores += self.z[index] * float(self.z @ coef)
        return scores

    def expand_models(self, support: Block, coef: Block) -> Block:
        """Return sum_j coef_jk K[support_j, i] for m models, (m, n) float64, without ridge; coef (support, m)."""
        return self._weighted(support, coef, None)

    def _weighted(self, support: Block, coef: Block, columns: Block | None) -> Block:
        """Return sum_j coef_j k(support_j, columns), float64, tile by tile."""
        width = self.n if columns is None else len(columns)
        scores = np.zeros((*coef.shape[1:], width))
        backend = self._backend(support, columns)
        picked = self._part.places(backend, columns)
        # picked columns are gathered once for each tile, not for each part
        takes = picked is not None and np.isfinite(backend.bytes_of(1))
        for first in range(0, len(support), _EXPAND_PREPARED):
            rows, weights = support[first : first + _EXPAND_PREPARED], coef[first : first + _EXPAND_PREPARED]
            prepared = backend.prepare_rows(self._part.places(backend, rows))

            def tile(start: int, stop: int, prepared: Any = prepared, weights: Block = weights) -> None:
                source, columns = backend, slice(start, stop) if picked is None else picked[start:stop]
                if takes:
                    source, columns = backend.take(np.asarray(columns)), slice(0, stop - start)
                values = scratch(EXPAND_ROWS, stop - start, self.dtype)
                for k in range(0, len(weights), EXPAND_ROWS):
                    some = weights[k : k + EXPAND_ROWS]
                    part = backend.slice_rows(prepared, k, k + len(some))
                    source.compute_tile(part, columns, values, np.arange(len(some)), 0)
                    scores[..., start:stop] += _weighted(some, values)

            wide = _TILE_BYTES // (self.dtype.itemsize * EXPAND_ROWS)
            grain = 1 if picked is not None else backend.grain
            self._part.whole.crew.share(tile, width, len(rows), self.threads, widest=wide, grain=grain)
        return scores

    def expand_new(self, dual_coef: Block, points: Points) -> Block:
        """Return sum_j dual_coef_j k(x_j, x) for new points x (rows of ``points``), float64; no ridge, no z.

        The values are as accurate as those between training points. For ``precomputed``, ``points`` are the values
        k(x, x_j) for all training points j.
        """
        coef, new = np.asarray(dual_coef, dtype=np.float64), as_points(points)
        support, count = np.flatnonzero(coef), int(new.shape[0])
        scores = np.zeros(count)
        self.count(count * len(support))
        if self._part.whole.is_given:
            return np.asarray(new[:, support] @ coef[support], dtype=np.float64)
        if self.kernel.form == Power():
            return products_with(new, combination(self._part.points, coef, support))
        vectors = self._part.points[support].astype(np.float64)
        for part in pieces(count, width_of(new)):
            both = Engine(self.kernel, joined(vectors, new[part]), threads=self.threads)
            columns = np.arange(len(support), both.n)
            scores[part] = both._weighted(np.arange(len(support)), coef[support], columns)
        return scores

    def value(self, i: int, j: int) -> float:
        """Return K[i, j]; of an oracle at the cost of one kernel evaluation."""
        if not (0 <= i < self.n and 0 <= j < self.n):
            valid_indices(np.array([i, j]), self.n)
        calls = None if self.z is not None else self._part.calls
        if calls is None:
            return float(self.block(np.array([i]), np.array([j]))[0, 0])
        self.count(1)
        return float(calls[0](i, j)) + (self.ridge if i == j else 0.0)

    def rows_at(self, points: Points, columns: Block | None = None) -> Block:
        """Return k(z, x_i) for other points z, (m, d), and training points, (m, n); no ridge, no z.

        columns : (q,) training points; all n if None, else the values are (m, q)

        Raises
        ------
        IndexError : a column is out of range.
        UsageError : the points have another width or are not finite, or the kernel has given values instead of points.
        """
        index = None if columns is None else valid_indices(columns, self.n)
        values = np.empty((points.shape[0], self.n if index is None else len(index)), dtype=self.dtype)
        self.count(values.size)
        light = type(points) is np.ndarray and points.dtype == np.float64 and points.flags.c_contiguous
        light = light and values.size > 0 and points.shape[1:] == (self.n_features,)
        calls = self._part.calls if light else None
        if calls is not None and calls[1](points, _ALL if index is None else index, values):  # False: not finite
            return values
        added, source = as_points(points), self._part.points
        refusal = reason_against(added, self.kernel, self.n_features)
        if refusal is not None:
            raise UsageError(f"the kernel cannot be computed: {refusal}")
        if index is not None:
            source = source[index]
        new: Any = stored_as(added, source).astype(np.float64)
        for part in pieces(values.shape[1], new.shape[0] + width_of(source)):
            values[:, part] = self.kernel.block(new, source[part].astype(np.float64))
        return values


def described(kernel: Kernel) -> str:
    """Return the kernel with its parameters, for messages."""
    given = (f"{name}={v:g}" if isinstance(v, float) else f"{name}={v}" for name, v in values_of(kernel).items())
    return f"kernel '{kernel.name}' ({', '.join(given) or 'no parameters'})"


def _weighted(weights: Block, values: Block) -> Block:
    """Return sum_q weights_q values[q] in float64, over the first rows of ``values``."""
    if values.dtype == np.float64:
        return weights.T @ values[: len(weights)]
    from harness.support.jit import add_rows

    result = np.zeros(values.shape[1])
    add_rows(result, values, np.arange(len(weights)), weights, 0, values.shape[1])
    return result
