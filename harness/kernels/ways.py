"""The ways to compute kernel values between the points of one set, and the choice between them.

A way is chosen once for a set of points, a kernel and a dtype: values of one oracle come from one formula,
whichever rows and columns are asked for together, because solvers stall on values that disagree with themselves.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.kernels.functions import Exponential, GivenValues, Kernel, OfProducts, squared_norms
from harness.kernels.scan import ScanWay, finish
from harness.kernels.way import PackingWay, Way

if TYPE_CHECKING:
    import scipy.sparse

    from harness.arrays import Block
    from harness.kernels.way import Columns

    Points = Block | scipy.sparse.csr_array

_ROWS_BYTES = 64 << 20  # rows read from a mapped file and converted at a time
_SAMPLE = 2000  # points looked at to learn how many features are zero, and where they lie
_FAR = 1e3  # distance of dense points from the origin over their spread beyond which float64 loses digits worth a copy
_LOADED_BYTES = 256 << 20  # mapped points that take no more are laid out in memory like any others
_COPY_BYTES = 128 << 20  # a float64 copy for the scan beside float64 data is not larger
# Nanoseconds on one core of a Zen 3 at 2.8 GHz, float32, batches of 16 rows and more (benchmarks/kernels.py):
_SCAN_A_FEATURE = 0.036
_SCAN_A_FAR_FEATURE = 0.055  # where a panel is larger than the core's first cache
_GEMM_A_FEATURE = 0.028
DIFFERENCES = 32  # features up to which an RBF kernel sums (x - z)^2: nothing is lost, and the scan wins anyway
_FIRST_CACHE_BYTES = 32 << 10
# With AVX-512 (Xeon 8488C, the same benchmark, 50 to 784 features) the scan of listed features is no slower than a
# matrix product of 256 rows, which leaves the kernel function to another pass, and takes half its time for 16 rows.
_LISTED = 0.6  # share of non-zeros from which on lines read once for a few rows save more than zeros left out


_kept = threading.local()


def scratch(use: str, rows: int, columns: int, dtype: np.dtype[Any]) -> Block:
    """Return an array (rows, columns) of this thread that the next call for the same use hands out again.

    Fresh memory of this size costs a page fault every 4 kB, which is a good part of the time of a tile.
    """
    size = rows * columns * dtype.itemsize
    held: Any = getattr(_kept, use, None)
    if held is None or len(held) < size:
        held = np.empty(size, dtype=np.uint8)
        setattr(_kept, use, held)
    return np.asarray(held[:size].view(dtype).reshape(rows, columns))


def is_mapped(x: Any) -> bool:
    """Return whether ``x`` is an array mapped from a file, or a view of one."""
    return isinstance(x, np.memmap) or isinstance(getattr(x, "base", None), np.memmap)


def sum_of_words(x: Any) -> str:
    """Return a sum of the words of dense or sparse points: fast, and enough to see a slip."""
    arrays = [x] if isinstance(x, np.ndarray) else [x.data, x.indices, x.indptr]
    flat = [np.ascontiguousarray(array).reshape(-1) for array in arrays]
    words = [each.view(np.uint64 if each.nbytes % 8 == 0 else np.uint8) for each in flat]
    return " ".join(f"{int(each.sum(dtype=np.uint64)):x}" for each in words)


def choose(kernel: Kernel, x: Any, dtype: np.dtype[Any]) -> Way:
    """Return the fastest way for these points; see the module's constants for the rates."""
    form = kernel.form
    if isinstance(form, GivenValues):
        return PrecomputedWay(x, dtype)
    if not isinstance(form, OfProducts):
        return GeneralWay(kernel, x, dtype)
    dense = isinstance(x, np.ndarray)
    if dense and is_mapped(x) and x.size * dtype.itemsize > _LOADED_BYTES:
        return GemmWay.of(kernel, x, dtype)
    share = _share_of_non_zeros(x)
    if dense:
        if isinstance(form, Exponential) and len(share) <= DIFFERENCES:
            return ScanWay.of(kernel, x, dtype, share, differences=True, centre=centre_of(x, dtype))
        copied = dtype == x.dtype and x.size * dtype.itemsize > _COPY_BYTES and share.mean() > 0.25
        if not copied and _reads_lines_together():
            listed = bool(share.sum() > _LISTED * len(share))
            centre = centre_of(x, dtype) if listed and form.centred else None
            return ScanWay.of(kernel, x, dtype, share, differences=False, centre=centre, listed=listed)
        panel = len(share) * 256
        cost = _SCAN_A_FEATURE if panel <= _FIRST_CACHE_BYTES else _SCAN_A_FAR_FEATURE
        # a matrix product of few rows is several times slower than one of many; a scan is not
        if copied or cost * share.sum() > _GEMM_A_FEATURE * len(share):
            return GemmWay.of(kernel, x, dtype)
    return ScanWay.of(kernel, x, dtype, share, differences=False)


def _reads_lines_together() -> bool:
    """Return whether this machine has the registers for a few rows at a time in the scan."""
    from harness.kernels.simd import ROWS

    return ROWS > 1


def _share_of_non_zeros(x: Any) -> Block:
    """Return for each feature the share of points, or of a sample of them, in which it is not zero."""
    if not isinstance(x, np.ndarray):
        return np.asarray(np.bincount(x.indices, minlength=x.shape[1]) / max(1, x.shape[0]))
    sample = x[:: max(1, len(x) // _SAMPLE)]
    return np.asarray(np.count_nonzero(sample, axis=0) / max(1, len(sample)))


def centre_of(x: Block, dtype: np.dtype[Any]) -> Any:
    """Return what dense points are centred about for values of a dtype, (d,) float64; None: they stay where they are."""
    # products of far-away points cancel, and in float32 their coordinates are coarse: centring keeps their size down
    if not len(x):
        return None
    sample = np.asarray(x[:: max(1, len(x) // _SAMPLE)], dtype=np.float64)
    middle = sample.mean(axis=0)
    is_far = bool(np.abs(middle).max(initial=0.0) > _FAR * np.abs(sample - middle).max(initial=0.0))
    return np.asarray(x.mean(axis=0, dtype=np.float64)) if dtype.itemsize < 8 or is_far else None


@dataclass(frozen=True)
class _DenseRows:
    points: Block
    sq: Block
    rows: Block


class GemmWay(PackingWay):
    """Matrix products in tiles that stay in the cache for the kernel function: wide dense data, and mapped data."""

    def __init__(self, kernel: Kernel, x: Block, dtype: np.dtype[Any], sq: Block, centre: Any, rows: Any) -> None:
        self.kernel, self.form, self.dtype, self.n = kernel, kernel.form, dtype, len(x)
        self._x, self._sq, self._centre, self.work = x, sq, centre, float(x.shape[1])
        self._rows = rows  # which points of the whole these are; None if all
        self._mapped = is_mapped(x)

    @classmethod
    def of(cls, kernel: Kernel, x: Block, dtype: np.dtype[Any]) -> GemmWay:
        """Convert the points to ``dtype``; large ones that are mapped from a file are converted piece by piece."""
        form: Any = kernel.form
        centre = centre_of(x, dtype) if form.centred else None
        stays = is_mapped(x) and x.size * dtype.itemsize > _LOADED_BYTES
        points = x if stays else _converted(np.asarray(x), dtype, centre)
        if not stays or centre is None:
            sq = squared_norms(points)
        else:
            step = max(1, _ROWS_BYTES // (8 * max(1, x.shape[1])))
            parts = [squared_norms(_converted(x[k : k + step], dtype, centre)) for k in range(0, len(x), step)]
            sq = np.concatenate([np.empty(0), *parts])
        return cls(kernel, points, dtype, sq.astype(dtype), centre, None)

    def _points(self, which: Any) -> Block:
        return _converted(self._x[which], self.dtype, self._centre) if self._mapped else self._x[which]

    def left(self, rows: Block) -> _DenseRows:
        return _DenseRows(self._points(rows), self._sq[rows], rows)

    def part(self, left: _DenseRows, first: int, last: int) -> _DenseRows:
        return _DenseRows(left.points[first:last], left.sq[first:last], left.rows[first:last])

    def tile(self, left: _DenseRows, columns: Columns, out: Block, slots: Block, position: int) -> None:
        for piece, start, width in _pieces(columns, self._x.shape[1], self.dtype):
            self._piece(left, piece, width, out, slots, position + start)

    def _piece(self, left: _DenseRows, columns: Columns, width: int, out: Block, slots: Block, position: int) -> None:
        right = self._points(columns)
        products = scratch("products", len(slots), width, self.dtype)
        if len(slots) == 1:
            np.dot(right, left.points[0], out=products[0])
        else:
            np.matmul(left.points, right.T, out=products)
        if isinstance(self.form, Exponential):
            self._exponential(self.form.gamma, products, left, columns, out, slots, position)
            return
        out[slots, position : position + width] = products
        finish(self.kernel, self.form, out, slots, position, left.sq, self._sq[columns])

    def _exponential(
        self, gamma: float, products: Block, left: _DenseRows, columns: Columns, out: Block, slots: Block, position: int
    ) -> None:
        from harness.kernels import compiled
        from harness.kernels.layout import set_where_same
        from harness.kernels.simd import CHUNK_BYTES

        width = products.shape[1]
        sq = np.zeros(width + CHUNK_BYTES // self.dtype.itemsize, dtype=self.dtype)
        sq[:width] = self._sq[columns]
        compiled.rbf_of_products(products, left.sq, sq, 0, self.dtype.type(gamma), out, slots, position)
        # a point's distance from itself is 0, whatever the rounding of products and norms
        if isinstance(columns, slice) and self._rows is None:
            inside = np.flatnonzero((left.rows >= columns.start) & (left.rows < columns.stop))
            out[slots[inside], position + left.rows[inside] - columns.start] = 1.0
        else:
            points: Any = columns if self._rows is None else self._rows[columns]
            set_where_same(out, slots, position, left.rows, points, out.dtype.type(1.0))

    def bytes_of(self, count: int) -> int:
        return count * self.dtype.itemsize * (int(self._x.shape[1]) + 1)

    def take(self, index: Block) -> GemmWay:
        return GemmWay(self.kernel, self._points(index), self.dtype, self._sq[index], None, index.copy())

    def put(self, source: GemmWay, index: Block, places: Block) -> None:
        points = index[places]
        self._x[places], self._sq[places], self._rows[places] = source._points(points), source._sq[points], points


def _pieces(columns: Columns, features: int, dtype: np.dtype[Any]) -> Iterator[tuple[Columns, int, int]]:
    """Cut columns so that a copy of their points is small; yields (columns, place of the first one, how many)."""
    step = max(1, _ROWS_BYTES // (dtype.itemsize * max(1, features)))
    first, width = (columns.start, columns.stop - columns.start) if isinstance(columns, slice) else (0, len(columns))
    for start in range(0, width, step):
        stop = min(start + step, width)
        part = slice(first + start, first + stop) if isinstance(columns, slice) else columns[start:stop]
        yield part, start, stop - start


def _converted(x: Any, dtype: np.dtype[Any], centre: Any) -> Block:
    """Return dense points as the products need them: centred where the kernel allows, in the way's dtype."""
    return np.ascontiguousarray(x if centre is None else x - centre, dtype=dtype)


class GeneralWay(Way):
    """A kernel that is no function of inner products computes its own blocks; mapped points are read in pieces."""

    def __init__(self, kernel: Kernel, x: Points, dtype: np.dtype[Any]) -> None:
        self.kernel, self.dtype, self.n = kernel, dtype, int(x.shape[0])
        if isinstance(x, np.ndarray):
            self._x: Any = x if is_mapped(x) else _converted(x, dtype, None)
        else:
            self._x = x if x.dtype == dtype else x.astype(dtype)

    def _points(self, which: Any) -> Any:
        points = self._x[which]
        return np.ascontiguousarray(points, dtype=self.dtype) if isinstance(points, np.ndarray) else points

    def left(self, rows: Block) -> Any:
        return self._points(rows)

    def tile(self, left: Any, columns: Columns, out: Block, slots: Block, position: int) -> None:
        for piece, start, width in _pieces(columns, self._x.shape[1], self.dtype):
            out[slots, position + start : position + start + width] = self.kernel.block(left, self._points(piece))


class PrecomputedWay(Way):
    """Rows of a matrix of kernel values, read where they are."""

    def __init__(self, x: Any, dtype: np.dtype[Any]) -> None:
        self.dtype, self.n = dtype, int(x.shape[0])
        self._values = x

    def tile(self, left: Block, columns: Columns, out: Block, slots: Block, position: int) -> None:
        if isinstance(self._values, np.ndarray):
            values = self._values[left, columns] if isinstance(columns, slice) else self._values[np.ix_(left, columns)]
        else:
            values = self._values[left][:, columns].toarray()
        out[slots, position : position + values.shape[1]] = values
