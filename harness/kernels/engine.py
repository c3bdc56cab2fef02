"""Blocks of kernel values between training points: one engine for dense, sparse and mapped data.

The engine computes; it neither counts nor caches (see oracle.py). Dense blocks are matrix products in
tiles that stay in the cache for the kernel's pass; sparse ones are CSR times a dense block of rows.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.kernels.crew import Crew
from harness.kernels.functions import DotProductKernel, Kernel, Precomputed, squared_norms

if TYPE_CHECKING:
    import scipy.sparse

    Block = np.ndarray[Any, np.dtype[Any]]
    Points = Block | scipy.sparse.csr_array
    After = Callable[[int, int], None]

_TILE_BYTES = 1 << 20  # one tile of products: measured best near the size of a core's L2
_ROWS_BYTES = 64 << 20  # densified sparse rows, or rows read from a mapped file, held at a time


def is_mapped(x: Any) -> bool:
    """Return whether ``x`` is an array mapped from a file, or a view of one."""
    return isinstance(x, np.memmap) or isinstance(getattr(x, "base", None), np.memmap)


class Engine:
    """Kernel values between the points of one training set.

    Parameters
    ----------
    x : (n, d) dense, memory-mapped or CSR; for ``precomputed`` (n, n) kernel values
    dtype : of the blocks, float64 or float32; converted data are kept once, mapped data in pieces
    """

    def __init__(self, kernel: Kernel, x: Points, dtype: Any = np.float64) -> None:
        self.kernel = kernel
        self.source: Any = x
        self.n = int(x.shape[0])
        self.dtype = np.dtype(dtype)
        self.sparse = not isinstance(x, np.ndarray)
        self.mapped = is_mapped(x)
        self.centre: Block | None = None
        self._crew = Crew()
        self._x: Any = self._converted(x)
        self._sq: Block | None = None
        if isinstance(kernel, DotProductKernel):
            self._sq = self._squared_norms().astype(self.dtype)

    def _converted(self, x: Points) -> Points:
        if isinstance(self.kernel, Precomputed):
            return x
        if self.sparse:
            return x if x.dtype == self.dtype else x.astype(self.dtype)
        narrow = self.dtype.itemsize < 8
        if narrow and isinstance(self.kernel, DotProductKernel) and self.kernel.centred:
            # float32 products of far-away points cancel: centring keeps their size down
            self.centre = np.asarray(x.mean(axis=0, dtype=np.float64))
        return x if self.mapped else self._dense(x)

    def _dense(self, x: Any) -> Block:
        """Return dense points as the products need them: centred where the kernel allows, in the engine's dtype."""
        if self.centre is not None:
            x = x - self.centre
        return np.ascontiguousarray(x, dtype=self.dtype)

    def _squared_norms(self) -> Block:
        if not self.mapped or self.centre is None:
            return squared_norms(self._x)
        step = max(1, _ROWS_BYTES // (8 * max(1, self.source.shape[1])))
        parts = [squared_norms(self._dense(self.source[start : start + step])) for start in range(0, self.n, step)]
        return np.concatenate([np.empty(0), *parts])

    def block(self, rows: Block, columns: Block | None = None) -> Block:
        """Return K[rows, columns] (all columns if None), a new C-ordered array of the engine's dtype."""
        width = self.n if columns is None else len(columns)
        out = np.empty((len(rows), width), dtype=self.dtype)
        if out.size == 0:
            return out
        if isinstance(self.kernel, Precomputed):
            out[...] = self.source[rows] if columns is None else self.source[np.ix_(rows, columns)]
        elif not isinstance(self.kernel, DotProductKernel):
            self._general_block(out, rows, columns)
        elif self.sparse:
            self._sparse_block(out, rows, columns)
        else:
            self._dense_block(out, rows, columns)
        return out

    def fill(
        self,
        rows: Block,
        out: Block,
        slots: Block,
        columns: Block | None,
        after: After,
        threads: int = 1,
    ) -> None:
        """Compute K[rows, columns] into ``out[slots, :m]`` by tiles of columns; call ``after(start, stop)`` after each."""
        width = self.n if columns is None else len(columns)
        tile = max(256, _TILE_BYTES // (self.dtype.itemsize * max(1, len(rows))))
        share = -(-max(1, width) // threads)

        def tiles(first: int, last: int) -> None:
            for start in range(first, last, tile):
                stop = min(start + tile, last)
                part = np.arange(start, stop) if columns is None else columns[start:stop]
                if len(rows):
                    out[slots, start:stop] = self.block(rows, part)
                after(start, stop)

        self._crew.run([partial(tiles, first, min(first + share, width)) for first in range(0, max(1, width), share)])

    def _general_block(self, out: Block, rows: Block, columns: Block | None) -> None:
        """Ask a kernel that is no function of inner products; mapped points are converted in pieces."""
        if not self.mapped:
            out[...] = self.kernel.block(self._x[rows], self._x if columns is None else self._x[columns])
            return
        left = self._dense(self._x[rows])
        step = max(1, _ROWS_BYTES // (self.dtype.itemsize * max(1, self._x.shape[1])))
        for start in range(0, out.shape[1], step):
            part: Any = slice(start, start + step) if columns is None else columns[start : start + step]
            out[:, start : start + step] = self.kernel.block(left, self._dense(self._x[part]))

    def _dense_block(self, out: Block, rows: Block, columns: Block | None) -> None:
        assert isinstance(self.kernel, DotProductKernel)
        assert self._sq is not None
        x, sq = self._x, self._sq
        left = self._dense(x[rows]) if self.mapped else x[rows]
        sq_left = sq[rows]
        tile = max(64, _TILE_BYTES // (self.dtype.itemsize * len(rows)))
        if self.mapped or columns is not None:
            tile = min(tile, max(1, _ROWS_BYTES // (self.dtype.itemsize * max(1, x.shape[1]))))
        for start in range(0, out.shape[1], tile):
            part: Any = slice(start, start + tile) if columns is None else columns[start : start + tile]
            right = x[part]
            if self.mapped:
                right = self._dense(right)
            products = out[:, start : start + tile]
            if len(rows) == 1:
                np.dot(right, left[0], out=products[0])
            else:
                np.matmul(left, right.T, out=products)
            self.kernel.from_products(products, sq_left, sq[part])

    def _sparse_block(self, out: Block, rows: Block, columns: Block | None) -> None:
        assert isinstance(self.kernel, DotProductKernel)
        assert self._sq is not None
        x = self._x
        right = x if columns is None else x[columns]
        sq_right = self._sq if columns is None else self._sq[columns]
        chunk = max(1, _ROWS_BYTES // (self.dtype.itemsize * max(1, x.shape[1])))
        for start in range(0, len(rows), chunk):
            part = rows[start : start + chunk]
            products = out[start : start + chunk]
            products[...] = (right @ x[part].toarray().T).T
            self.kernel.from_products(products, self._sq[part], sq_right)

    def diagonal(self) -> Block:
        """Return k(x_i, x_i) for all points, (n,) float64."""
        if isinstance(self.kernel, Precomputed):
            return np.array(np.diagonal(self.source), dtype=np.float64)
        return self.kernel.diagonal(self.source)

    def subset(self, indices: Block) -> Engine:
        """Return an engine over ``x[indices]`` (a copy of those points)."""
        x = self.source[np.ix_(indices, indices)] if isinstance(self.kernel, Precomputed) else self.source[indices]
        return Engine(self.kernel, x, self.dtype)
