"""The column scan: kernel rows as sums over the non-zero features of one point, vectors along the other points.

Points lie in panels of one chunk (64 float32 or 32 float64 values): panel p holds feature after feature the
values of points p * chunk ... of the *dense* features. A row of x_i adds up, in registers, the panel's lines of
x_i's non-zero features, so that zeros cost nothing, and ends in the kernel function. Features that few points
have are *rare*: they are stored as (point, value) pairs, feature by feature in blocks of points, and added
beforehand. RBF kernels in few dimensions sum (x - z)^2, which loses nothing to cancellation; else norms are used.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.kernels.functions import Exponential, Form, Kernel, Power
from harness.kernels.way import PackingWay

if TYPE_CHECKING:
    from harness.arrays import Block
    from harness.kernels.way import Columns

    Left = tuple[Block, ...]

_CHUNK_BYTES = 256
_LINE_BYTES = 64
_BLOCK = 1024  # points; grows where there are many rare features and few points have them
_LARGEST_BLOCK = 65536  # places in a block are 16-bit numbers
_SOME = 8  # one column of so many may be new: more are listed anew with all the others
_PIECE = 8192  # dense points looked through for rare features at a time
_DENSE = 1 / 16  # share of points from which on a feature is stored dense: reading a line beats scattering then


class ScanWay(PackingWay):
    """Kernel values by the column scan.

    points : (panels, depth, sq, block, block_ptr, rare_index, rare_value) as compiled.scan() takes them
    rare : (row_ptr, row_feature, row_value), the rare features point by point; None for points that are never rows
    listed : rows list all features, zero or not: then a few rows read each line of a panel together
    """

    def __init__(
        self,
        kernel: Kernel,
        n: int,
        points: tuple[Any, ...],
        rare: tuple[Block, ...],
        rare_features: int,
        *,
        differences: bool,
        listed: bool = False,
        work: float = 0.0,
    ) -> None:
        self.kernel, self.n, self.points, self.rare, self.rare_features = kernel, n, points, rare, rare_features
        self.form, self.differences, self.listed, self.work = kernel.form, differences, listed, work
        self.dtype = np.dtype(points[0].dtype)
        self.grain = int(points[3])
        self._width = n  # points that the rare features are listed of

    @classmethod
    def of(
        cls,
        kernel: Kernel,
        x: Any,
        dtype: np.dtype[Any],
        share: Block,
        *,
        differences: bool,
        centre: Any = None,
        listed: bool = False,
    ) -> ScanWay:
        """Lay the points out.

        x : (n, d) dense or CSR
        share : (d,) of points in which each feature is not zero: what is rare
        differences : sum (x - z)^2 over all features; all are dense then, and listed
        centre : (d,) subtracted from dense points
        listed : see the class; all features are dense then
        """
        from harness.kernels import compiled

        n, listed = x.shape[0], listed or differences
        dense = np.ones(len(share), dtype=bool) if listed else share >= _DENSE
        number = np.where(dense, np.cumsum(dense) - 1, -np.cumsum(~dense)).astype(np.int32)
        depth, rare_features = int(dense.sum()), int((~dense).sum())
        panels = aligned_zeros(_panels(n, depth, dtype), dtype)
        if isinstance(x, np.ndarray):
            from harness.kernels.layout import split_dense

            rare = split_dense(x, dense, panels, dtype, centre, _PIECE)
        else:
            rare = _split_sparse(x, number, panels.reshape(-1), depth, dtype)
        row_ptr, _, row_value = rare
        panels = panels.reshape(-1)
        sq = compiled.squared_norms(panels, depth, row_ptr, row_value, n)
        block = _BLOCK
        while block < _LARGEST_BLOCK and -(-n // block) * rare_features > 2 * len(row_value):
            block *= 2
        points = (panels, depth, sq, block, *_rare_columns(rare, np.arange(n), rare_features, block))
        work = float(depth if listed else share.sum())
        return cls(kernel, n, points, rare, rare_features, differences=differences, listed=listed, work=work)

    def left(self, rows: Block) -> Left:
        """Return the rows as tile() takes them: lists of their features, see compiled.scan()."""
        from harness.kernels import compiled

        ptr, offsets, values, own = compiled.dense_rows(*self.points[:3], rows, self.listed)
        rare = (np.zeros_like(ptr), *self.rare[1:])
        if self.rare_features:
            rare = compiled.rare_rows(*self.rare, rows)
        return ptr, offsets, values, *rare, own

    def part(self, left: Left, first: int, last: int) -> Left:
        """Return the rows [first, last) of ``left``."""
        ptr, offsets, values, rare_ptr, features, rare_values, own = left
        ends = slice(first, last + 1)
        return ptr[ends], offsets, values, rare_ptr[ends], features, rare_values, own[first:last]

    def tile(self, left: Left, columns: Columns, out: Block, slots: Block, position: int) -> None:
        """Write K[left, columns] to ``out[slots, position:]``; a slice begins at a multiple of ``grain``."""
        if isinstance(columns, slice):
            self._scan(self.points, left, columns.start, columns.stop, out, slots, position)
        else:
            self._scan(self._gathered(columns), left, 0, len(columns), out, slots, position)

    def _scan(
        self, points: tuple[Any, ...], left: Left, start: int, stop: int, out: Block, slots: Block, position: int
    ) -> None:
        from harness.kernels import chunks, compiled

        own, gamma, mode = left[6], 1.0, chunks.PRODUCTS
        if isinstance(self.form, Exponential):
            gamma, mode = self.form.gamma, chunks.RBF_DIFFERENCES if self.differences else chunks.RBF_PRODUCTS
        compiled.scan(points, left, out, slots, position, start, stop, self.dtype.type(gamma), mode)
        if mode == chunks.PRODUCTS:
            finish(self.kernel, self.form, out, slots, position, own, points[2][start:stop])

    def _gathered(self, columns: Block) -> tuple[Any, ...]:
        """Return the points ``columns`` as scan() takes them."""
        from harness.kernels import compiled

        panels, depth, sq, block, *_ = self.points
        shape = _panels(len(columns), depth, self.dtype)
        picked = np.zeros(shape, self.dtype) if len(columns) < _BLOCK else aligned_zeros(shape, self.dtype)
        norms = np.zeros(picked.shape[0] * picked.shape[2], dtype=self.dtype)
        compiled.gather(panels, depth, sq, columns, picked.reshape(-1), norms)
        return (picked.reshape(-1), depth, norms, block, *self.rare_columns(columns))

    def rare_columns(self, columns: Block) -> tuple[Any, ...]:
        """Return the rare features of the points ``columns``, as scan() takes them."""
        return _rare_columns(self.rare, columns, self.rare_features, self.points[3])

    def bytes_of(self, count: int) -> int:
        """Return the memory that ``count`` points take once packed."""
        rare = len(self.rare[2]) * (self.dtype.itemsize + 2) // max(1, self.n)
        return int(count * (self.dtype.itemsize * (self.points[1] + 1) + rare))

    def take(self, index: Block) -> ScanWay:
        """Return the points ``index`` packed, as columns for rows of this way."""
        return ScanWay(
            self.kernel, len(index), self._gathered(index), self.rare, self.rare_features,
            differences=self.differences, listed=self.listed, work=self.work,
        )  # fmt: skip

    def put(self, source: ScanWay, index: Block, places: Block) -> None:
        """Overwrite ``places`` of a way that ``source.take()`` made with the source's points ``index[places]``."""
        from harness.kernels import compiled

        panels, depth, sq, block, *rare = self.points
        compiled.overwrite(source.points[0], depth, source.points[2], index[places], places, panels, sq)
        if self.rare_features:
            rare = self._renewed(source, index, places)
        self.points = (panels, depth, sq, block, *rare)

    def _renewed(self, source: ScanWay, index: Block, places: Block) -> Any:
        """Return the rare features of the points ``index`` of ``source``, of which those at ``places`` are new."""
        from harness.kernels.layout import renewed_columns

        *_, block, block_ptr, rare_index, rare_value = self.points
        before, self._width = self._width, len(index)
        if _SOME * (len(places) + abs(len(index) - before)) <= len(index):
            return renewed_columns((block_ptr, rare_index, rare_value), source.rare, index, places, before, block)
        return source.rare_columns(index)


def _rare_columns(rare: tuple[Block, ...], columns: Block, count: int, block: int) -> tuple[Any, ...]:
    """Return compiled.rare_columns() of the points ``columns``; where there are none, nothing is compiled for them."""
    from harness.kernels import compiled

    if count:
        return tuple(compiled.rare_columns(*rare, columns, count, block))
    return np.zeros((-(-len(columns) // block), 1), dtype=np.int64), np.empty(0, dtype=np.uint16), rare[2][:0]


def _panels(count: int, depth: int, dtype: np.dtype[Any]) -> tuple[int, int, int]:
    """Return the shape of the panels of ``count`` points: (panels, features, points of a panel)."""
    chunk = _CHUNK_BYTES // dtype.itemsize
    return -(-count // chunk), depth, chunk


def aligned_zeros(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Block:
    """Return zeros that begin at a cache line: a vector that lies across two lines costs two reads."""
    size = math.prod(shape)
    memory = np.zeros(size * dtype.itemsize + _LINE_BYTES, dtype=np.uint8)
    begin = -memory.ctypes.data % _LINE_BYTES
    return memory[begin : begin + size * dtype.itemsize].view(dtype).reshape(shape)


def finish(kernel: Any, form: Form, out: Block, slots: Block, position: int, own: Block, sq: Block) -> None:
    """Turn the products in ``out[slots, position:]`` into kernel values.

    own, sq : (q,) and (m,), squared norms of the rows and of the columns
    """
    if not isinstance(form, Power):
        products = out[slots, position : position + len(sq)]
        kernel.from_products(products, own, sq)
        out[slots, position : position + len(sq)] = products
    elif form != Power():
        from harness.kernels import compiled

        gamma, coef0 = out.dtype.type(form.gamma), out.dtype.type(form.coef0)
        compiled.powers(out, slots, position, len(sq), gamma, coef0, form.degree)


def _split_sparse(x: Any, number: Block, panels: Block, depth: int, dtype: np.dtype[Any]) -> tuple[Block, ...]:
    """Fill the panels with the dense features of CSR rows and return the rare ones, point by point."""
    from harness.kernels import compiled

    if not x.has_canonical_format:
        x = x.copy()
        x.sum_duplicates()
    rare = int((number[x.indices] < 0).sum())
    row_ptr = np.zeros(x.shape[0] + 1, dtype=np.int64)
    row_feature, row_value = np.empty(rare, dtype=np.int32), np.empty(rare, dtype=dtype)
    indptr, indices = x.indptr.astype(np.int64), x.indices.astype(np.int32)
    compiled.split_rows(indptr, indices, x.data.astype(dtype), number, panels, depth, row_ptr, row_feature, row_value)
    return row_ptr, row_feature, row_value
