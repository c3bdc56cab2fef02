"""The kernel oracle: the kernel of a solver, which counts every value and caches rows.

A solver with compiled loops makes a row cache by ``problem.kernel.row_cache(cache_mb)``, passes its arrays to the loops, and
fetches missing rows. The cache evicts rows and sums rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from harness.kernels.backend import KernelBackend, StoredBackend
from harness.kernels.counter import Counter
from harness.kernels.engine import After, Engine, _Part
from harness.kernels.functions import Kernel
from harness.kernels.layout import Layout
from harness.kernels.points import Points, valid_indices
from harness.kernels.row_cache import Compute, RowCache, SharedRows
from harness.support.arrays import Block, Vector


class KernelOracle(Engine):
    """Counted kernel values between the training points of one problem, with a cache of rows.

    Counts of a copy of an oracle (by ``copy`` or ``pickle``), or of another process, are lost: ``evaluations_at_least`` of
    the counter is True then.

    Parameters
    ----------
    kernel : the kernel function
    x : (n, d) points, or (n, n) values for ``precomputed``; None with ``engine``
    cache_mb : memory for cached rows, MB of 2^20 bytes; at least two rows are stored
    ridge, z, dtype, threads : as in :class:`Engine`; those of ``engine`` if None
    engine : another engine over the points
    shared : rows that the problems of a path share

    Returned arrays are read-only.
    """

    def __init__(
        self, kernel: Kernel, x: Points | None, *, cache_mb: float = 256.0, ridge: float | None = None, z: Vector | None = None,
        dtype: Any = np.float64, threads: int | None = None, counter: Counter | None = None, engine: Engine | None = None,
        part: _Part | None = None, matrices: dict[Any, Block] | None = None, shared: SharedRows | None = None,
    ) -> None:  # fmt: skip
        if engine is not None:
            part, ridge = engine._part, engine.ridge if ridge is None else ridge  # noqa: SLF001 - of the same class
            z, threads = engine.z if z is None else z, engine.threads if threads is None else threads
        super().__init__(
            kernel, x, dtype, ridge=ridge or 0.0, z=z, threads=1 if threads is None else threads, part=part
        )
        self.cache_mb = float(cache_mb)
        self._counter = Counter() if counter is None else counter
        if isinstance(engine, KernelOracle) and engine.counter is not self._counter:
            engine.counter.evaluations_at_least = True  # values of this oracle are not in the count of the other
        self._rows: RowCache | None = None  # cache of row() and rows()
        self._diagonal: Block | None = None
        self._matrices = {} if matrices is None else matrices  # by dtype, shared by all oracles of the same values
        self._shared = shared

    def __getstate__(self) -> dict[str, Any]:
        """Mark the count as a lower bound, as the copy counts separately."""
        self._counter.evaluations_at_least = True
        return self.__dict__

    @property
    def counter(self) -> Counter:
        """The counter of this oracle and of all oracles made from it."""
        counter: Counter = self._counter
        return counter

    @property
    def points(self) -> Any:
        """The (n, d) training points; of a restricted oracle, a copy that is made when it is first needed.

        As they give uncounted kernel values, ``evaluations_at_least`` of the counter becomes True. :meth:`features` counts
        products with the points of a linear kernel, and :meth:`rows_at` kernel values at other points; see also
        :attr:`storage`, :attr:`n_features` and :attr:`nbytes`.
        """
        self._counter.evaluations_at_least = True
        return super().points

    def row_cache(self, cache_mb: float | None = None, *, least: int = 2, compute: Compute | None = None) -> RowCache:
        """Return an empty cache of kernel rows in one array, for compiled loops; see :class:`RowCache`.

        Parameters
        ----------
        cache_mb : memory for the rows, MB; that of the oracle if None
        least : smallest number of rows in the cache, if there are so many
        compute : ``compute(points, rows, slots, after)`` writes rows in another form, computed from this oracle; None for
            kernel rows
        """
        a_row = self.n * self.dtype.itemsize
        rows = max(least, int((self.cache_mb if cache_mb is None else cache_mb) * 2**20 / max(1, a_row)))
        # with another oracle, as a reference cycle would delay the release of the memory
        return RowCache(self._like(self._part), np.empty(-(-min(self.n, rows) * a_row // 8)), compute)

    def row(self, i: int) -> Block:
        """Return K[i, :], (n,), cached or at the cost of n kernel evaluations; read-only."""
        if not 0 <= i < self.n:
            valid_indices(np.array([i]), self.n)
        return _read_only(self._cached.row(int(i)))

    @property
    def _cached(self) -> RowCache:
        if self._rows is None:
            self._rows = self.row_cache()
        return self._rows

    def rows(self, indices: Block) -> list[Block]:
        """Return K[i, :] for each i, the missing ones computed together in one matrix product."""
        requested, cache, by_index = valid_indices(indices, self.n), self._cached, {}
        cache.hit(int(np.count_nonzero(cache.slot_of[requested] >= 0)))
        distinct = np.array(list(dict.fromkeys(requested.tolist())), dtype=np.intp)
        for start in range(0, len(distinct), cache.capacity):
            part = distinct[start : start + cache.capacity]
            cache.clock += 1
            cache.fetch(part)
            by_index.update({int(i): _read_only(cache.rows[cache.slot_of[i]].copy()) for i in part})
        return [by_index[i] for i in requested.tolist()]

    def block(self, rows: Block, columns: Block | None = None) -> Block:
        """Return K[rows, columns] (all columns if None), computed and counted at each call; read-only."""
        return _read_only(super().block(rows, columns))

    def matrix(self) -> Block | None:
        """Return K, (n, n), stored for this oracle and those made from it; None if it takes more than ``cache_mb``.

        It costs n x n evaluations the first time and n cache hits later, also by problems of one path; read-only.
        """
        if self.n * self.n * self.dtype.itemsize > self.cache_mb * 2**20:
            return None
        stored = None if self.ridge or self.z is not None else self._rows_shared(np.arange(self.n))
        if stored is not None:
            return _read_only(stored.view())
        if self.dtype in self._matrices:
            self._counter.cache_hits += self.n
        else:
            self._matrices[self.dtype] = self.block(np.arange(self.n))
        return self._matrices[self.dtype]

    def fill(
        self,
        rows: Block,
        out: Block,
        slots: Block | None = None,
        columns: Block | None = None,
        after: After | None = None,
    ) -> None:
        """Compute K[rows, columns] into an array of the caller, counted and not cached.

        Parameters
        ----------
        rows : (q,) training points; may be empty
        out : C-ordered 2-D array of the oracle's dtype, at least m columns wide; changed in place
        slots : (q,) rows of ``out``, all different: K[rows[p], columns] goes to ``out[slots[p], :m]``; 0 .. q-1 if None
        columns : (m,) training points; all n if None
        after : called as ``after(start, stop)`` when columns [start, stop) of all rows are in ``out``, while they are
            still in the core's cache, from the thread that computed them. The tiles are disjoint and cover all
            columns, in no particular order if there are several threads.

        Raises
        ------
        IndexError : a row, column or slot out of range, or not one slot for each row.
        ValueError : ``out`` has another dtype, order or shape.
        """
        rows = valid_indices(rows, self.n)
        columns = None if columns is None else valid_indices(columns, self.n)
        width = self.n if columns is None else len(columns)
        if out.ndim != 2 or out.shape[1] < width or not out.flags.c_contiguous or out.dtype != self.dtype:
            raise ValueError(
                f"out is {out.dtype} of shape {out.shape}; give a C-ordered 2-D array of {self.dtype}, {width} columns wide."
            )
        # contiguous, as compiled loops read it
        slots = np.arange(len(rows)) if slots is None else np.ascontiguousarray(slots, dtype=np.intp)
        if slots.shape != (len(rows),) or (len(rows) and slots.view(np.uintp).max() >= len(out)):
            raise IndexError(
                f"slots {slots.tolist()} for {len(rows)} rows; give each a row of out, from 0 to {len(out) - 1}."
            )
        self.compute(rows, out, slots, after, columns)

    def _backend(self, rows: Block, columns: Block | None) -> KernelBackend:
        """Return the backend for K[rows, columns], whose values are counted: rows that problems of a path share are stored."""
        stored = self._rows_shared(rows) if columns is None else None
        return super()._backend(rows, columns) if stored is None else StoredBackend(stored, self.dtype)

    def _rows_shared(self, requested: Block) -> Block | None:
        """Return (n, n) with the rows ``requested`` of k, counted, if rows are shared along a path; else None."""
        if self._shared is None:
            return None
        engine = Engine(self.kernel, None, threads=self.threads, part=self._part)
        return self._shared.rows(engine, requested, self._counter)

    def share_range(self, job: Callable[[int, int], None], count: int, values: int) -> None:
        """Call ``job(start, stop)`` for slices of 0 to ``count``, each item of ``values`` work, in the kernel's threads.

        A thread that has finished a slice takes the next; BLAS has one thread meanwhile. The first error is raised when all
        threads have ended.
        """
        self._part.whole.crew.share(job, count, values, self.threads)

    def diagonal(self) -> Block:
        """Return k(x_i, x_i) + ridge for all points, (n,) float64; n evaluations the first time; read-only."""
        if self._diagonal is None:
            self.count(self.n)
            self._diagonal = _read_only(super().diagonal())
        return self._diagonal

    def rows_at(self, points: Points, columns: Block | None = None) -> Block:
        return _read_only(super().rows_at(points, columns))

    def layout(self) -> Layout | None:
        """Return the points for the functions of ``harness.kernels.loops``, which count; None if no compiled loop has the kernel.

        That is a kernel that is neither linear, nor rbf, nor poly, nor of their form; or points of a mapped file that are not
        in memory; or an oracle with ``z``.
        """
        stored = None if self.z is not None else self._part.layout
        return None if stored is None else stored._replace(ridge=self.ridge, evaluations=self._counter.compiled)

    def _like(self, part: _Part, **settings: Any) -> Self:
        base: dict[str, Any] = {"ridge": self.ridge, "z": self.z, "threads": self.threads, "cache_mb": self.cache_mb}
        same = part.whole is self._part.whole and part.index is self._part.index
        base["shared"] = self._shared if same else None
        if same and settings.keys().isdisjoint(("ridge", "z")):
            base["matrices"] = self._matrices
        return type(self)(self.kernel, None, part=part, counter=self._counter, **{**base, **settings})

    def replace(self, **changes: Any) -> Self:
        """Return an oracle with other settings, the same counter and a separate cache; see :meth:`Engine.replace`.

        Parameters
        ----------
        cache_mb : as in the constructor
        shared : None to use no rows that problems of a path share, for a solver that stores all rows
        """
        return super().replace(**changes)


def _read_only(values: Block) -> Block:
    values.setflags(write=False)
    return values.view()
