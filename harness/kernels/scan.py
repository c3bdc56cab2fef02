"""The column scan: kernel rows as sums over the non-zero features of one point, vectors along the other points.

Points lie in panels of one chunk (64 float32 or 32 float64 values): panel p holds feature after feature the
values of points p * chunk ... of the *dense* features. A row of x_i adds up, in registers, the panel's lines of
x_i's non-zero features, so that zeros cost nothing, and ends in the kernel function. Features of sparse data that few
points have are *rare*: they are stored as (point, value) pairs, feature by feature in blocks of points, and added
beforehand. RBF kernels in few dimensions sum (x - z)^2, which avoids cancellation; else norms are used.
"""

from __future__ import annotations

import functools
import threading
from typing import Any

import numpy as np

from harness.kernels.backend import Columns, GeneralBackend, KernelBackend, StoredBackend, pieces_of
from harness.kernels.functions import Exponential, GivenValues, Kernel, OfProducts, Power
from harness.kernels.layout import CHUNK_BYTES, POWER, PRODUCTS, RBF_OF_DIFFERENCES, RBF_OF_PRODUCTS, Layout
from harness.kernels.points import is_mapped
from harness.support.arrays import Block

Prepared = tuple[Block, ...]
Form = tuple[int, Any, Any, int]

DIFFERENCES = 32  # largest number of features for which an RBF kernel sums (x - z)^2
_LISTED = 0.6  # share of non-zeros from which rows list all features, so that several rows share the lines read
_DENSE = 1 / 16  # share of points with a feature from which it is stored dense
_SAMPLE = 2000  # number of points in which zeros are counted
_CENTRE_SAMPLE = 2000  # number of points whose mean and spread decide whether to centre
_FAR = 1e3  # distance from the origin, as a multiple of the spread, beyond which float64 points are centred
_LOADED_BYTES = 256 << 20  # largest size of mapped points that are laid out in memory
_LINE_BYTES = 64
_ALIGNED_BYTES = 1 << 16  # size of panels from which they begin at a cache line
BLOCK = 1024  # smallest number of points of a block; larger with many rare features of few points
_LARGEST_BLOCK = 65536  # largest number of points of a block, as positions are 16-bit numbers
_STRIP = 512  # rows of distances computed at a time
_PIECE = 8192  # points laid out at a time
_FEATURES = 96  # largest number of features whose lines of a panel (24 kB) many rows read in turn
_FEW = 4  # number of rows up to which the rare features of picked columns are read point by point
_SOME = 8  # if at most one column in so many differs from the last request, only these are gathered
_GROWTH = 1.25  # capacity of gathered columns, as a multiple of their number


def choose_backend(kernel: Kernel, x: Any, dtype: np.dtype[Any]) -> KernelBackend:
    """Return the backend of a kernel between the points ``x``."""
    if isinstance(kernel.form, GivenValues):
        return StoredBackend(x, dtype)
    if not isinstance(kernel.form, OfProducts):
        return GeneralBackend(kernel, x, dtype)
    is_large = is_mapped(x) and x.size * dtype.itemsize > _LOADED_BYTES
    return MappedBackend(kernel, x, dtype) if is_large else ScanBackend(kernel, x, dtype)


@functools.cache
def _loops() -> Any:
    """Return the compiled loops; an import in each request takes as long as some values."""
    from harness.kernels import compiled

    return compiled


class ScanBackend(KernelBackend):
    """Kernel values by the column scan.

    Parameters
    ----------
    centre : (d,) what to subtract from dense points, all of whose features are listed then; chosen here if None

    Attributes
    ----------
    points : (panels, depth, sq) as compiled.scan() takes them
    rare : (row_ptr, row_feature, row_value), the rare features point by point
    rare_features : number of rare features
    index : (n,) which of the points in ``rare`` these are; None if all, in order
    features : (place, centre, listed), as in a Layout: with ``listed`` a few rows read each line of a panel together
    form : (mode of the scan, gamma, coef0, degree); products for kernels that are not of a known form
    """

    def __init__(self, kernel: Kernel, x: Any, dtype: np.dtype[Any], centre: Block | None = None) -> None:
        (n, d), form = x.shape, kernel.form
        self.kernel, self.dtype, self.n = kernel, np.dtype(dtype), n
        dense, share = isinstance(x, np.ndarray), _share_of_non_zeros(x)
        self.differences = sums_differences(kernel, x)
        listed, full = self.differences or centre is not None, dense and bool(share.sum() > _LISTED * d)
        if dense and not (listed or full) and share.sum() < _DENSE * d:
            import scipy.sparse

            x, dense = scipy.sparse.csr_array(x), False
        if centre is None:  # the same one on every machine, whatever its registers
            centred = (listed or full) and isinstance(form, OfProducts) and form.centred
            centre = _centre_of(x, dtype) if centred else np.zeros(d)
        listed = listed or bool(centre.any()) or (full and _reads_lines_together())
        is_dense = np.ones(d, dtype=bool) if dense else share >= _DENSE
        depth, centre = int(np.count_nonzero(is_dense)), centre[is_dense]
        self.points, self.rare_features = _panels(n, depth, self.dtype), d - depth
        self.rare, picked = _rare_rows(x, ~is_dense, dtype), x if depth == d else x[:, is_dense]
        for start in range(0, n, _PIECE):
            rows = picked[start : start + _PIECE]
            rows = np.asarray(rows if dense else rows.toarray()).view()
            rows.flags.writeable = False  # as data of a set are, for which the loop is compiled
            _loops().lay_out(rows, centre, start, self.points, self.rare)
        place = np.where(is_dense, np.cumsum(is_dense) - 1, ~(np.cumsum(~is_dense) - 1)).astype(np.int32)
        self.features = place, centre.astype(dtype), listed
        number = self.dtype.type
        self.form: Form = PRODUCTS, number(1.0), number(0.0), 0
        if isinstance(form, Exponential):
            mode = RBF_OF_DIFFERENCES if self.differences else RBF_OF_PRODUCTS
            self.form = mode, number(form.gamma), number(0.0), 0
        elif isinstance(form, Power) and form != Power():
            self.form = POWER, number(form.gamma), number(form.coef0), form.degree
        self._set_grain()
        self.index: Any = None
        self._no_rare = BLOCK, 0, np.zeros(1, np.int64), np.empty(0, np.uint16), np.empty(0, dtype)
        self._by_feature: tuple[Any, ...] | None = None
        self._recent: dict[int, ScanBackend] = {}  # the columns of each thread's last request

    def _set_grain(self) -> None:
        """Set the number of points of a block, larger where the values of rare features are few for a table of their blocks."""
        self.grain = BLOCK
        while self.rare_features and self.grain < _LARGEST_BLOCK and self._table > 2 * len(self.rare[2]):
            self.grain *= 2

    @property
    def _table(self) -> int:
        return int(-(-self.n // self.grain) * self.rare_features)

    @property
    def layout(self) -> Layout | None:
        if not isinstance(self.kernel.form, (Exponential, Power)):
            return None
        mode, gamma, coef0, degree = self.form
        form = mode, float(gamma), float(coef0), degree
        return Layout(self.n, self.points, self.rare, self.features, form, 0.0, np.zeros(1, np.int64))

    def prepare_rows(self, rows: Block) -> Prepared:
        """Return (ends, offsets, values, sq, places, row_ptr, row_feature, row_value).

        The dense features of the rows are listed by compiled.dense_rows(); ``sq`` are their squared norms. The rare ones are
        those of the points ``places`` of (row_ptr, row_feature, row_value).
        """
        panels, depth, sq = self.points
        rows, count = np.array(rows), len(rows)  # a copy is contiguous, for which alone the loops are compiled
        ends = np.empty((count, parts_of(depth) + 1), np.int64)
        offsets, values = np.empty(count * depth, np.int32), np.empty(count * depth, self.dtype)
        _loops().dense_rows(panels, depth, rows, self.features[2], ends, offsets, values)
        return ends, offsets, values, sq[rows], rows, *self.rare

    def slice_rows(self, prepared: Prepared, first: int, last: int) -> Prepared:
        ends, offsets, values, norms, places, *rare = prepared
        return ends[first:last], offsets, values, norms[first:last], places[first:last], *rare

    def compute_tile(self, prepared: Prepared, columns: Columns, out: Block, slots: Block, position: int) -> None:
        if isinstance(columns, slice):
            self._scan(prepared, columns, out, slots, position, self.form)
        else:
            self._gathered(columns, len(columns)).compute_tile(prepared, slice(0, len(columns)), out, slots, position)

    def squared_distances(self) -> Block:
        """Return |x_i - x_j|^2 of all points, (n, n); of an RBF kernel only."""
        out, sq = np.empty((self.n, self.n), self.dtype), self.points[2][: self.n]
        for first in range(0, self.n, _STRIP):
            rows = np.arange(first, min(first + _STRIP, self.n))
            self._scan(self.prepare_rows(rows), slice(0, self.n), out, rows, 0, (PRODUCTS, *self.form[1:]))
            out[rows] = np.maximum((sq[rows, None] - out[rows]) + (sq - out[rows]), 0.0)
        return out

    def _scan(self, prepared: Prepared, part: slice, out: Block, slots: Block, position: int, form: Form) -> None:
        """Write the values of ``form``, of rows with a part of the points, as compute_tile() does."""
        start, stop = part.start, part.stop
        flat, stride, columns = out.reshape(-1), out.shape[1], self._no_rare
        seeded = self.rare_features > 0 and self.index is not None and len(slots) <= _FEW
        if seeded:
            some, factors = self.index[start:stop], np.zeros(self.rare_features, self.dtype)
            _loops().add_by_point(*self.rare, some, *prepared[4:], factors, flat, slots, stride, position)
        elif self.rare_features:
            columns = self.rare_columns()
        _loops().scan(*self.points, *columns, *prepared, flat, slots, stride, position, start, stop, seeded, *form)
        if form[0] == PRODUCTS and not isinstance(self.kernel.form, (Exponential, Power)):
            products = out[slots, position : position + stop - start]
            of_products: Any = self.kernel
            of_products.from_products(products, prepared[3], self.points[2][start:stop])
            out[slots, position : position + stop - start] = products

    def rare_columns(self) -> tuple[Any, ...]:
        """Return (block, count, block_ptr, rare_index, rare_value), the rare features by block of points and by feature.

        The points of block b with feature f stand from block_ptr[b * count + f] on, each with its place within the block.
        """
        if self._by_feature is None:
            index = np.arange(self.n) if self.index is None else self.index
            size = int((self.rare[0][index + 1] - self.rare[0][index]).sum())
            ends = np.zeros(self._table + 1, np.int64)
            columns = self.grain, self.rare_features, ends, np.empty(size, np.uint16), np.empty(size, self.dtype)
            _loops().rare_columns(*self.rare, index, *columns)
            self._by_feature = columns
        return self._by_feature

    def _gathered(self, index: Block, room: int) -> ScanBackend:
        """Return the points ``index``, with memory for ``room``."""
        gathered = object.__new__(ScanBackend)
        vars(gathered).update(vars(self), points=_panels(room, self.points[1], self.dtype), grain=BLOCK, _recent={})
        index = np.array(index)  # a copy, as in prepare_rows()
        gathered._put(self, index, index, np.arange(len(index)))
        return gathered

    def _put(self, source: ScanBackend, index: Block, some: Block, places: Block) -> None:
        """Replace the points by the points ``index`` of ``source``: write ``some`` of them to ``places``, where they differ."""
        panels, _, norms = self.points
        _loops().gather(*source.points, some, places, panels, norms)
        self.n, self.index, self._by_feature = len(index), index, None

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
                    last._put(self, index.copy(), index[changed], changed)  # noqa: SLF001 - of the same class
                return last
        last = self._recent[thread] = self._gathered(index, int(_GROWTH * len(index)))
        return last

    def bytes_of(self, count: int) -> float:
        rare = len(self.rare[2]) * (2 * self.dtype.itemsize + 6) // max(1, self.n)
        return float(count * (self.dtype.itemsize * (self.points[1] + 1) + rare))

    def take(self, index: Block) -> ScanBackend:
        taken = self._gathered(index, len(index))
        taken.rare, taken.index = _chosen_rows(self.rare, index), None
        taken._set_grain()  # noqa: SLF001 - of the same class
        return taken


class MappedBackend(KernelBackend):
    """Points of a mapped file that are too many to be laid out at once: laid out piece by piece for each request."""

    slice_rows: Any = ScanBackend.slice_rows

    def __init__(self, kernel: Kernel, x: Block, dtype: np.dtype[Any]) -> None:
        self.kernel, self.dtype, self.n, self._x = kernel, dtype, len(x), x
        form: Any = kernel.form
        self._centre = _centre_of(x, dtype) if form.centred else np.zeros(x.shape[1])
        self.differences = sums_differences(kernel, x)

    def _laid_out(self, which: Any) -> ScanBackend:
        return ScanBackend(self.kernel, self._x[which], self.dtype, self._centre)

    def prepare_rows(self, rows: Block) -> Prepared:
        return self._laid_out(rows).prepare_rows(np.arange(len(rows)))

    def compute_tile(self, prepared: Prepared, columns: Columns, out: Block, slots: Block, position: int) -> None:
        for piece, start in pieces_of(columns, self._x.shape[1]):
            self._laid_out(piece).compute_tile(prepared, slice(0, len(piece)), out, slots, position + start)


def sums_differences(kernel: Kernel, x: Any) -> bool:
    """Return whether the scan sums (x - z)^2 between the points ``x``."""
    return isinstance(kernel.form, Exponential) and isinstance(x, np.ndarray) and x.shape[1] <= DIFFERENCES


def _reads_lines_together() -> bool:
    """Return whether this machine has the registers for a few rows at a time in the scan."""
    from harness.kernels.chunks import ROWS

    return ROWS > 1


def _share_of_non_zeros(x: Any) -> Block:
    """Return for each feature the share of points, or of a sample of dense ones, in which it is not zero."""
    if not isinstance(x, np.ndarray):
        return np.asarray(np.bincount(x.indices, minlength=x.shape[1]) / max(1, x.shape[0]))
    sample = x[:: max(1, len(x) // _SAMPLE)]
    return np.asarray(np.count_nonzero(sample, axis=0) / max(1, len(sample)))


def parts_of(depth: int) -> int:
    """Return the number of equal parts in which the scan reads ``depth`` features."""
    return max(1, -(-depth // _FEATURES))


def _chosen_rows(rare: tuple[Block, ...], index: Block) -> tuple[Block, ...]:
    """Return (row_ptr, row_feature, row_value) of the points ``index``."""
    ptr, features, values = rare
    begin = ptr[index]
    ends = np.zeros(len(index) + 1, np.int64)
    np.cumsum(ptr[index + 1] - begin, out=ends[1:])
    entries = np.arange(ends[-1]) + np.repeat(begin - ends[:-1], np.diff(ends))
    return ends, features[entries], values[entries]


def _rare_rows(x: Any, is_rare: Block, dtype: np.dtype[Any]) -> tuple[Block, ...]:
    """Return (row_ptr, row_feature, row_value), the rare features of points, which are CSR if there are any."""
    if not is_rare.any():
        return np.zeros(x.shape[0] + 1, dtype=np.int64), np.empty(0, dtype=np.int32), np.empty(0, dtype=dtype)
    rare = x if is_rare.all() else x[:, is_rare]
    return rare.indptr.astype(np.int64), rare.indices.astype(np.int32), rare.data.astype(dtype)


def _panels(n: int, depth: int, dtype: np.dtype[Any]) -> tuple[Any, ...]:
    """Return zeros for (panels, depth, norms) of ``n`` points: what lies behind the last one may not slow down arithmetic.

    Large panels begin at a cache line, as a vector that lies across two costs two reads; to find an address out takes 5 us.
    """
    chunk, line = CHUNK_BYTES // dtype.itemsize, _LINE_BYTES // dtype.itemsize
    places = -(-n // chunk) * chunk
    size = places * depth
    memory = np.zeros(size + line, dtype)
    begin = -(memory.ctypes.data // dtype.itemsize) % line if memory.nbytes >= _ALIGNED_BYTES else 0
    return memory[begin : begin + size], depth, np.zeros(places, dtype)


def _centre_of(x: Any, dtype: np.dtype[Any]) -> Block:
    """Return the centre of dense points for values of a dtype, (d,) float64: their mean, or 0 if the mean is small.

    Centring reduces cancellation in products of points far from 0, and their rounding to float32.
    """
    sample = np.asarray(x[:: max(1, len(x) // _CENTRE_SAMPLE)], dtype=np.float64)
    middle = sample.mean(axis=0) if len(x) else np.zeros(x.shape[1])
    is_far = bool(np.abs(middle).max(initial=0.0) > _FAR * np.abs(sample - middle).max(initial=0.0))
    if len(x) and (dtype.itemsize < 8 or is_far):
        return np.asarray(x.mean(axis=0, dtype=np.float64))
    return np.zeros(x.shape[1])
