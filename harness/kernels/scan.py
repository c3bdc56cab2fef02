"""The column scan: kernel rows as sums over the non-zero features of one point, vectors along the other points.

Points lie in panels of one chunk (64 float32 or 32 float64 values): panel p holds feature after feature the
values of points p * chunk ... of the *dense* features. A row of x_i adds up, in registers, the panel's lines of
x_i's non-zero features, so that zeros cost nothing, and ends in the kernel function. Features of sparse data that few
points have are *rare*: they are stored as (point, value) pairs, feature by feature in blocks of points, and added
beforehand. RBF kernels in few dimensions sum (x - z)^2, which avoids cancellation; else norms are used.
"""

from __future__ import annotations

import math
import threading
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.kernels.backend import (
    PRODUCTS,
    RBF_OF_DIFFERENCES,
    RBF_OF_PRODUCTS,
    GeneralBackend,
    KernelBackend,
    PrecomputedBackend,
    centre_of,
    pieces_of,
)
from harness.kernels.functions import Exponential, GivenValues, Kernel, OfProducts, Power
from harness.kernels.layout import Layout
from harness.kernels.points import is_mapped

if TYPE_CHECKING:
    import scipy.sparse

    from harness.kernels.backend import Columns
    from harness.support.arrays import Block

    Points = Block | scipy.sparse.csr_array
    Prepared = tuple[Block, ...]

DIFFERENCES = 32  # largest number of features for which an RBF kernel sums (x - z)^2
_LISTED = 0.6  # share of non-zeros from which rows list all features, so that several rows share the lines read
_DENSE = 1 / 16  # share of points with a feature from which it is stored dense
_SAMPLE = 2000  # number of points in which zeros are counted
_LOADED_BYTES = 256 << 20  # largest size of mapped points that are laid out in memory
_CHUNK_BYTES = 256
_LINE_BYTES = 64
_BLOCK = 1024  # smallest number of points of a block; larger with many rare features of few points
_LARGEST_BLOCK = 65536  # largest number of points of a block, as positions are 16-bit numbers
_STRIP = 512  # rows of distances computed at a time
_PIECE = 8192  # points laid out at a time
_FEW = 4  # number of rows up to which the rare features of picked columns are read point by point
_SOME = 8  # if at most one column in so many differs from the last request, only these are gathered
_GROWTH = 1.25  # capacity of gathered columns, as a multiple of their number


def choose_backend(kernel: Kernel, x: Any, dtype: np.dtype[Any]) -> KernelBackend:
    """Return the backend of a kernel between the points ``x``."""
    if isinstance(kernel.form, GivenValues):
        return PrecomputedBackend(x, dtype)
    if not isinstance(kernel.form, OfProducts):
        return GeneralBackend(kernel, x, dtype)
    if is_mapped(x) and x.size * dtype.itemsize > _LOADED_BYTES:
        return MappedBackend(kernel, x, dtype)
    return ScanBackend.of(kernel, x, dtype)


class ScanBackend(KernelBackend):
    """Kernel values by the column scan; made by :meth:`of`.

    points : (panels, depth, sq) as compiled.scan() takes them
    rare : (row_ptr, row_feature, row_value), the rare features point by point
    rare_features : number of rare features
    index : (n,) which of the points in ``rare`` these are; None if all, in order
    listed : rows list all features, zero or not: then a few rows read each line of a panel together
    features : (place, centre), as in a Layout
    """

    def __init__(
        self,
        kernel: Kernel,
        n: int,
        points: tuple[Any, ...],
        rare: tuple[Block, ...],
        rare_features: int,
        index: Block | None = None,
        *,
        differences: bool,
        listed: bool,
        features: tuple[Block, Block],
    ) -> None:
        self.kernel, self.n, self.points, self.rare, self.rare_features = kernel, n, points, rare, rare_features
        self.index: Any = index
        self.settings: dict[str, Any] = {"differences": differences, "listed": listed, "features": features}
        self.differences, self.listed, self.features = differences, listed, features
        self.dtype, self.grain = np.dtype(points[0].dtype), _BLOCK
        if index is None:
            while (
                rare_features and self.grain < _LARGEST_BLOCK and -(-n // self.grain) * rare_features > 2 * len(rare[2])
            ):
                self.grain *= 2
        form: Any = kernel.form
        self._gamma = self.dtype.type(form.gamma if isinstance(form, Exponential) else 1.0)
        self._mode = PRODUCTS
        if isinstance(form, Exponential):
            self._mode = RBF_OF_DIFFERENCES if differences else RBF_OF_PRODUCTS
        self._no_columns = self.grain, np.zeros((0, 1), dtype=np.int64), np.empty(0, dtype=np.uint16), rare[2][:0]
        self._by_feature: tuple[Any, ...] | None = None if rare_features else self._no_columns
        self._recent: dict[int, ScanBackend] = {}  # the columns of each thread's last request

    @classmethod
    def of(cls, kernel: Kernel, x: Any, dtype: np.dtype[Any], centre: Block | None = None) -> ScanBackend:
        """Lay the points out; ``centre``, (d,) : what to subtract from dense ones, all of whose features are listed then."""
        from harness.kernels import compiled

        (n, d), form = x.shape, kernel.form
        dense, share = isinstance(x, np.ndarray), _share_of_non_zeros(x)
        differences = sums_differences(kernel, x)
        listed, full = differences or centre is not None, dense and bool(share.sum() > _LISTED * d)
        if dense and not (listed or full) and share.sum() < _DENSE * d:
            import scipy.sparse

            x, dense = scipy.sparse.csr_array(x), False
        if centre is None:  # the same one on every machine, whatever its registers
            centred = (listed or full) and isinstance(form, OfProducts) and form.centred
            centre = centre_of(x, dtype) if centred else np.zeros(d)
        listed = listed or bool(centre.any()) or (full and _reads_lines_together())
        is_rare = np.zeros(d, dtype=bool) if dense else share < _DENSE
        depth, chunk = int((~is_rare).sum()), _CHUNK_BYTES // dtype.itemsize
        panels = aligned_zeros((-(-n // chunk), depth, chunk), dtype)
        picked = x if not is_rare.any() else x[:, ~is_rare]
        for start in range(0, n, _PIECE):
            rows = picked[start : start + _PIECE]
            compiled.fill_panels(np.asarray(rows) if dense else rows.toarray(), centre[~is_rare], start, panels)
        rare = _rare_rows(x, is_rare, dtype)
        sq = compiled.squared_norms(panels.reshape(-1), depth, rare[0], rare[2], n)
        place = np.where(is_rare, ~(np.cumsum(is_rare) - 1), np.cumsum(~is_rare) - 1).astype(np.int32)
        settings: Any = {"differences": differences, "listed": listed}
        settings["features"] = place, centre[~is_rare].astype(dtype)
        return cls(kernel, n, (panels.reshape(-1), depth, sq), rare, int(is_rare.sum()), **settings)

    @cached_property
    def write_rows(self) -> Any:
        from harness.kernels.loops import call_rows

        return None if self.layout is None else partial(call_rows, tuple(self.layout))

    @cached_property
    def layout(self) -> Layout | None:
        form: Any = self.kernel.form
        power = (float(form.coef0), form.degree) if isinstance(form, Power) and form != Power() else (0.0, 0)
        if not isinstance(form, (Exponential, Power)):
            return None
        shape = self._mode, float(form.gamma), *power
        return Layout(self.n, self.points, self.rare, *self.features, shape, self.listed, 0.0, np.zeros(1, np.int64))

    def prepare_rows(self, rows: Block) -> Prepared:
        """Return lists of the rows' features, see compiled.scan()."""
        from harness.kernels import compiled

        dense = compiled.dense_rows(*self.points, rows, self.listed)
        rare = compiled.rare_rows(*self.rare, rows) if self.rare_features else (np.zeros_like(dense[0]), *self.rare[1:])
        return (*dense, *rare)

    def slice_rows(self, prepared: Prepared, first: int, last: int) -> Prepared:
        ptr, offsets, values, norms, rare_ptr, features, rare_values = prepared
        ends = slice(first, last + 1)
        return ptr[ends], offsets, values, norms[first:last], rare_ptr[ends], features, rare_values

    def compute_tile(self, prepared: Prepared, columns: Columns, out: Block, slots: Block, position: int) -> None:
        if isinstance(columns, slice):
            self._scan(prepared, columns.start, columns.stop, out, slots, position, self._mode)
        else:
            self._gathered(columns, len(columns)).compute_tile(prepared, slice(0, len(columns)), out, slots, position)

    def squared_distances(self) -> Block:
        """Return |x_i - x_j|^2 of all points, (n, n); of an RBF kernel only."""
        out, sq = np.empty((self.n, self.n), self.dtype), self.points[2][: self.n]
        for first in range(0, self.n, _STRIP):
            rows = np.arange(first, min(first + _STRIP, self.n))
            self._scan(self.prepare_rows(rows), 0, self.n, out, rows, 0, PRODUCTS)
            out[rows] = np.maximum((sq[rows, None] - out[rows]) + (sq - out[rows]), 0.0)
        return out

    def _scan(
        self, prepared: Prepared, start: int, stop: int, out: Block, slots: Block, position: int, mode: int
    ) -> None:
        from harness.kernels import compiled

        seeded = self.rare_features > 0 and self.index is not None and len(slots) <= _FEW
        if seeded:
            some: Any = self.index
            compiled.add_by_point(self.rare, self.rare_features, some[start:stop], prepared, out, slots, position)
        columns = self._no_columns if seeded else self._rare_columns()
        compiled.scan(self.points, columns, prepared, out, slots, position, start, stop, seeded, self._gamma, mode)
        if mode == PRODUCTS and not isinstance(self.kernel.form, Exponential):
            finish(self.kernel, out, slots, position, prepared[3], self.points[2][start:stop])

    def _rare_columns(self) -> tuple[Any, ...]:
        """Return the rare features, feature by feature; where there are none, nothing is compiled for them."""
        from harness.kernels import compiled

        if self._by_feature is None:
            index = np.arange(self.n) if self.index is None else self.index
            self._by_feature = self.grain, *compiled.rare_columns(*self.rare, index, self.rare_features, self.grain)
        return self._by_feature

    def _gathered(self, index: Block, room: int, rare: Any = None) -> ScanBackend:
        """Return the points ``index``, with memory for ``room``; ``rare`` : their rare features, if not part of these."""
        from harness.kernels import compiled

        panels, depth, sq = self.points
        chunk = _CHUNK_BYTES // self.dtype.itemsize
        shape = -(-room // chunk), depth, chunk
        picked = np.zeros(shape, self.dtype) if room < _BLOCK else aligned_zeros(shape, self.dtype)
        norms = np.zeros(picked.shape[0] * chunk, dtype=self.dtype)
        compiled.gather(panels, depth, sq, index, np.arange(len(index)), picked.reshape(-1), norms)
        points = picked.reshape(-1), depth, norms
        if rare is None:
            return ScanBackend(self.kernel, len(index), points, self.rare, self.rare_features, index, **self.settings)
        return ScanBackend(self.kernel, len(index), points, rare, self.rare_features, **self.settings)

    def _put(self, source: ScanBackend, index: Block, changed: Block) -> None:
        """Replace the points by the points ``index`` of ``source``, which differ at the positions ``changed``."""
        from harness.kernels import compiled

        panels, _, norms = self.points
        compiled.gather(*source.points, index[changed], changed, panels, norms)
        self.n, self.index = len(index), index.copy()
        self._by_feature = None if self.rare_features else self._no_columns

    def columns(self, index: Block) -> ScanBackend:
        """Return the points ``index`` as columns; the next call from this thread overwrites them if few differ."""
        thread = threading.get_ident()
        last = self._recent.get(thread)
        if last is not None and len(index) <= len(last.points[2]):
            gathered: Any = last.index
            both = min(len(index), last.n)
            changed = np.concatenate([np.flatnonzero(gathered[:both] != index[:both]), np.arange(both, len(index))])
            if _SOME * len(changed) <= len(index):
                if len(changed) or last.n != len(index):
                    last._put(self, index, changed)  # noqa: SLF001 - of the same class
                return last
        last = self._recent[thread] = self._gathered(index.copy(), int(_GROWTH * len(index)))
        return last

    def bytes_of(self, count: int) -> float:
        rare = len(self.rare[2]) * (2 * self.dtype.itemsize + 6) // max(1, self.n)
        return float(count * (self.dtype.itemsize * (self.points[1] + 1) + rare))

    def take(self, index: Block) -> ScanBackend:
        from harness.kernels import compiled

        empty = np.zeros(len(index) + 1, np.int64), *self.rare[1:]
        return self._gathered(index, len(index), compiled.rare_rows(*self.rare, index) if self.rare_features else empty)


class MappedBackend(KernelBackend):
    """Points of a mapped file that are too many to be laid out at once: laid out piece by piece for each request."""

    def __init__(self, kernel: Kernel, x: Block, dtype: np.dtype[Any]) -> None:
        self.kernel, self.dtype, self.n, self._x = kernel, dtype, len(x), x
        form: Any = kernel.form
        self._centre = centre_of(x, dtype) if form.centred else np.zeros(x.shape[1])
        self._sample = self._laid_out(slice(0, 0))
        self.differences = self._sample.differences

    def _laid_out(self, which: Any) -> ScanBackend:
        return ScanBackend.of(self.kernel, self._x[which], self.dtype, self._centre)

    def prepare_rows(self, rows: Block) -> Prepared:
        return self._laid_out(rows).prepare_rows(np.arange(len(rows)))

    def slice_rows(self, prepared: Prepared, first: int, last: int) -> Prepared:
        return self._sample.slice_rows(prepared, first, last)

    def compute_tile(self, prepared: Prepared, columns: Columns, out: Block, slots: Block, position: int) -> None:
        for piece, start, width in pieces_of(columns, self._x.shape[1], self.dtype):
            self._laid_out(piece).compute_tile(prepared, slice(0, width), out, slots, position + start)


def sums_differences(kernel: Kernel, x: Any) -> bool:
    """Return whether the scan sums (x - z)^2 between the points ``x``."""
    return isinstance(kernel.form, Exponential) and isinstance(x, np.ndarray) and x.shape[1] <= DIFFERENCES


def _reads_lines_together() -> bool:
    """Return whether this machine has the registers for a few rows at a time in the scan."""
    from harness.kernels.simd import ROWS

    return ROWS > 1


def _share_of_non_zeros(x: Any) -> Block:
    """Return for each feature the share of points, or of a sample of dense ones, in which it is not zero."""
    if not isinstance(x, np.ndarray):
        return np.asarray(np.bincount(x.indices, minlength=x.shape[1]) / max(1, x.shape[0]))
    sample = x[:: max(1, len(x) // _SAMPLE)]
    return np.asarray(np.count_nonzero(sample, axis=0) / max(1, len(sample)))


def _rare_rows(x: Any, is_rare: Block, dtype: np.dtype[Any]) -> tuple[Block, ...]:
    """Return (row_ptr, row_feature, row_value), the rare features of points, which are CSR if there are any."""
    if not is_rare.any():
        return np.zeros(x.shape[0] + 1, dtype=np.int64), np.empty(0, dtype=np.int32), np.empty(0, dtype=dtype)
    rare = x if is_rare.all() else x[:, is_rare]
    return rare.indptr.astype(np.int64), rare.indices.astype(np.int32), rare.data.astype(dtype)


def aligned_zeros(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Block:
    """Return zeros that begin at a cache line: a vector that lies across two lines costs two reads."""
    size = math.prod(shape)
    memory = np.zeros(size * dtype.itemsize + _LINE_BYTES, dtype=np.uint8)
    begin = -memory.ctypes.data % _LINE_BYTES
    return memory[begin : begin + size * dtype.itemsize].view(dtype).reshape(shape)


def finish(kernel: Any, out: Block, slots: Block, position: int, row_norms: Block, sq: Block) -> None:
    """Turn the products in ``out[slots, position:]`` into kernel values.

    row_norms, sq : (q,) and (m,), squared norms of the rows and of the columns
    """
    if not isinstance(kernel.form, Power):
        products = out[slots, position : position + len(sq)]
        kernel.from_products(products, row_norms, sq)
        out[slots, position : position + len(sq)] = products
    elif kernel.form != Power():
        from harness.kernels import compiled

        gamma, coef0 = out.dtype.type(kernel.form.gamma), out.dtype.type(kernel.form.coef0)
        compiled.powers(out, slots, position, len(sq), gamma, coef0, kernel.form.degree)
