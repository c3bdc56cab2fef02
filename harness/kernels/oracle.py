"""The counted kernel oracle: the only road from a solver to kernel values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.errors import UsageError
from harness.kernels.buffer import RowBuffer
from harness.kernels.checks import check_range, checked_slots
from harness.kernels.columns import Columns
from harness.kernels.counter import Counter
from harness.kernels.engine import Engine
from harness.kernels.extra import by_rows, joined, reason_against
from harness.kernels.features import Features, combination, expanded_at, products_with
from harness.kernels.functions import Kernel, Power
from harness.kernels.matrices import HeldRows, Matrices
from harness.kernels.uncounted import engine_of, uncounted

if TYPE_CHECKING:
    import scipy.sparse

    from harness.arrays import Block, Vector
    from harness.kernels.buffer import Compute
    from harness.kernels.engine import After

    Points = Block | scipy.sparse.csr_array


__all__ = ["KernelOracle", "engine_of", "uncounted"]


class KernelOracle:
    """Counted kernel values between the training points of one problem, with rows kept in memory for who asks again.

    Parameters
    ----------
    kernel : the kernel function
    x : (n, d) points, or (n, n) values for ``precomputed``; None with ``engine``, which has them
    cache_mb : memory for cached rows, MB of 2^20 bytes; at least two rows are kept
    ridge : added to k(x_i, x_i) on the diagonal (l2-svc: 1/chi)
    z : (n,) float64; z_i z_j is added to k(x_i, x_j) (tube-svr): one more coordinate of each point, which takes part as
        an inner product; new points have none, and its products are not counted
    dtype : of the values; float64 unless a solver asks for :meth:`astype` float32
    threads : that share the columns of a request, at least 1; the engine's, or 1, if None

    Arrays handed out are read-only: copy what you want to change.
    """

    def __init__(
        self,
        kernel: Kernel,
        x: Points | None,
        *,
        cache_mb: float = 256.0,
        ridge: float = 0.0,
        z: Vector | None = None,
        dtype: Any = np.float64,
        counter: Counter | None = None,
        engine: Engine | None = None,
        threads: int | None = None,
        matrices: Matrices | None = None,
        held: HeldRows | None = None,
    ) -> None:
        self.kernel = kernel
        self.ridge = float(ridge)
        self.cache_mb = float(cache_mb)
        self._counter = counter if counter is not None else Counter()
        if threads is not None and threads < 1:
            raise ValueError(f"threads={threads} asked of a kernel oracle; give the number of threads, 1 or more.")
        if engine is None:
            if x is None:
                raise ValueError("a kernel oracle was given neither points nor an engine over them; give one of both.")
            engine = Engine(kernel, x, dtype)
        self._engine = engine if threads is None else engine.with_threads(threads)
        self.n = self._engine.n
        if z is not None and z.shape != (self.n,):
            raise ValueError(f"z has shape {z.shape} for a kernel over {self.n} points; give one value for each.")
        self.z = z
        self.dtype = self._engine.dtype
        self.threads = self._engine.threads
        self._buffer: RowBuffer | None = None  # of row() and rows()
        self._diagonal: Block | None = None
        self._matrices = matrices or Matrices()  # of all views of the same values
        self._held = held  # rows that whoever has these points shares, along a path

    def __len__(self) -> int:
        return self.n

    @property
    def counter(self) -> Counter:
        """What was asked of this oracle and of all its views."""
        return self._counter

    @property
    def points(self) -> Any:
        """The (n, d) training points; of a restricted oracle, a copy that is made when it is first asked for.

        Those of a kernel that is not linear give its values without a count: the counter then says
        ``evaluations_at_least``. What else a solver may want to know of the points, other properties say.
        """
        if not self.is_linear:
            self._counter.evaluations_at_least = True
        return self._engine.source

    @property
    def engine(self) -> Engine:
        """What computes the values of k, neither counted nor cached: the counter then says ``evaluations_at_least``."""
        self._counter.evaluations_at_least = True
        return self._engine

    @property
    def n_features(self) -> int:
        """The number of features d of a point; for ``precomputed`` the number of points."""
        return self._engine.n_features

    @property
    def is_mapped(self) -> bool:
        """True if these are all points of a file that is mapped into memory, and read from it when they are needed."""
        return self._engine.is_mapped

    @property
    def largest(self) -> float:
        """A bound on the kernel values and on what they are computed from; of mapped points, that of a sample."""
        return self._engine.largest + (0.0 if self.z is None else float(np.max(self.z**2, initial=0.0)))

    @property
    def is_linear(self) -> bool:
        """True if k(x, z) = <x, z>, so that a solver may keep w itself."""
        return self.z is None and self.kernel.form == Power()

    @property
    def cached_rows(self) -> int:
        """Number of rows that :meth:`row` and :meth:`rows` keep."""
        return self._kept.capacity

    def buffer(self, cache_mb: float | None = None, *, least: int = 2, compute: Compute | None = None) -> RowBuffer:
        """Return an empty buffer of kernel rows in one array, for compiled loops; see :class:`RowBuffer`.

        Parameters
        ----------
        cache_mb : memory for the rows, MB; this oracle's if None
        least : rows that it holds at least, as far as there are so many
        compute : ``compute(points, rows, slots, after)`` writes rows of the solver's own form, for which it asks this
            oracle; None: rows as they are
        """
        a_row = self.n * self.dtype.itemsize
        rows = max(least, int((self.cache_mb if cache_mb is None else cache_mb) * 2**20 / max(1, a_row)))
        # of a view: a buffer that knew this oracle, which knows it, would outlive both until the next collection
        view = self._view(self._engine)
        return RowBuffer(view, np.empty(-(-min(self.n, rows) * a_row // 8)), compute)

    def row(self, i: int) -> Block:
        """Return K[i, :], (n,), from memory or at the cost of n kernel evaluations; read-only."""
        self._checked(np.array([i]))
        return _read_only(self._kept.row(int(i)))

    @property
    def _kept(self) -> RowBuffer:
        if self._buffer is None:
            self._buffer = self.buffer()
        return self._buffer

    def rows(self, indices: Block) -> list[Block]:
        """Return K[i, :] for each i, the missing ones computed together in one matrix product."""
        wanted, kept, found = self._checked(indices), self._kept, {}
        kept.hit(int(np.count_nonzero(kept.slot_of[wanted] >= 0)))
        distinct = np.array(list(dict.fromkeys(wanted.tolist())), dtype=np.intp)
        for start in range(0, len(distinct), kept.capacity):
            part = distinct[start : start + kept.capacity]
            kept.clock += 1
            kept.fetch(part)
            found.update({int(i): _read_only(kept.rows[kept.slot_of[i]].copy()) for i in part})
        return [found[i] for i in wanted.tolist()]

    def _checked(self, indices: Block) -> Block:
        """Return indices as integers; IndexError where one is negative or too large."""
        index = np.asarray(indices, dtype=np.intp)
        if index.size and index.view(np.uintp).max() >= self.n:  # as an unsigned number a negative one is large
            wrong = int(index[(index < 0) | (index >= self.n)][0])
            raise IndexError(f"index {wrong} asked of a kernel over {self.n} points; they run from 0 to {self.n - 1}.")
        return index

    def block(self, rows: Block, columns: Block | None = None) -> Block:
        """Return K[rows, columns] (all columns if None), computed afresh and counted; read-only."""
        rows = self._checked(rows)
        columns = None if columns is None else self._checked(columns)
        values = np.empty((len(rows), self.n if columns is None else len(columns)), dtype=self.dtype)
        if values.size:
            self._fill(rows, values, np.arange(len(rows)), columns, None)
        return _read_only(values)

    def matrix(self) -> Block | None:
        """Return K, (n, n), kept with this oracle and its views of other dtypes; None if it takes more than ``cache_mb``.

        n x n evaluations the first time, n cache hits later: problems of one path share it; read-only.
        """
        if self.n * self.n * self.dtype.itemsize > self.cache_mb * 2**20:
            return None
        if self._held is not None and self.z is None and not self.ridge and self._held.take(self._engine):
            return self._held.whole(self._engine, self._counter)
        return self._matrices.of(self)

    def fill(
        self,
        rows: Block,
        out: Block,
        slots: Block | None = None,
        columns: Block | Columns | None = None,
        after: After | None = None,
    ) -> None:
        """Compute K[rows, columns] straight into the caller's array, counted and not cached.

        Parameters
        ----------
        rows : (q,) training points; may be empty
        out : C-ordered 2-D array of the oracle's dtype, at least m columns wide; changed in place
        slots : (q,) rows of ``out``, all different: K[rows[p], columns] goes to ``out[slots[p], :m]``; 0 .. q-1 if None
        columns : (m,) training points, or those of :meth:`columns`; all n if None
        after : called as ``after(start, stop)`` when columns [start, stop) of all rows are in ``out``, while they are
            still in the core's cache, from the thread that computed them. The tiles are disjoint and cover all
            columns, in no particular order if there are several threads.

        Raises
        ------
        IndexError : a row, column or slot outside its range.
        ValueError : ``out`` has another dtype, order or shape.
        """
        rows = self._checked(rows)
        columns = columns if columns is None or isinstance(columns, Columns) else self._checked(columns)
        slots = checked_slots(out, slots, len(rows), self.n if columns is None else len(columns), self.dtype)
        self._fill(rows, out, slots, columns, after)

    def _fill(self, rows: Block, out: Block, slots: Block, columns: Any, after: After | None) -> None:
        points = columns.index if isinstance(columns, Columns) else columns

        def finished(start: int, stop: int) -> None:  # while the tile is in the core's cache
            self._complete(out, slots, rows, points, start, stop)
            if after is not None:
                after(start, stop)

        if columns is None and self._held is not None and self._held.take(self._engine):
            self._held.fill(self._engine, rows, out, slots, self._counter)
            finished(0, self.n)
            return
        # first: ``after`` may raise, and ``out`` has values by then
        self._counter.evaluations += len(rows) * (self.n if columns is None else len(columns))
        plain = after is None and self.z is None and not self.ridge
        self._engine.fill(rows, out, slots, columns, None if plain else finished)

    def columns(self) -> Columns:
        """Return an empty set of points to be kept as columns for many a :meth:`fill`, see :class:`Columns`.

        Its ``put(places, points)`` copies points to places 0, 1, ...; nothing is counted until values are computed.
        """
        return self._engine.columns()

    def features(self) -> Features | None:
        """Return the points for a solver that keeps w itself, see :class:`Features`; None if the kernel is not linear.

        The kernel is <x_i, x_j> + ridge * delta_ij: the ridge is the solver's to add. Nothing is counted until asked.
        """
        if not self.is_linear:
            return None
        return Features(self._engine.source, ridge=self.ridge, counter=self._counter, threads=self.threads)

    def share(self, jobs: Sequence[Callable[[], None]]) -> None:
        """Carry out the jobs at once, a thread each and BLAS with one; raise the first error when all have ended."""
        self._engine.crew.run(jobs)

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
        """Return k(x_i, x_i) + ridge for all points, (n,) float64; n evaluations the first time; read-only."""
        if self._diagonal is None:
            values = self._engine.diagonal() + self.ridge
            self._diagonal = _read_only(values if self.z is None else values + self.z * self.z)
            self._counter.evaluations += self.n
        return self._diagonal

    def expand(self, dual_coef: Block, rows: Block | None = None) -> Block:
        """Return sum_j dual_coef_j K[i, j] for i in ``rows`` (all if None), float64, computed in blocks.

        Counts len(rows) x |support| evaluations (for the linear kernel the same number: one inner product
        with w = sum_j dual_coef_j x_j stands for a row, which is cheaper in time, not in count).
        """
        coef = np.asarray(dual_coef, dtype=np.float64)
        support = np.flatnonzero(coef)
        index = np.arange(self.n) if rows is None else self._checked(rows)
        if self.kernel.form == Power():
            points = self._engine.source
            scores = products_with(points, combination(points, coef, support), None if rows is None else index)
        elif rows is None and self._held is not None and self._held.take(self._engine):
            scores = self._held.expand(self._engine, support, coef[support], self._counter)
            support = support[:0]  # counted
        else:
            scores = self._engine.expand(support, coef[support], None if rows is None else index)
        self._counter.evaluations += len(index) * len(support)
        if self.ridge:
            scores += self.ridge * coef[index]
        if self.z is not None:
            scores += self.z[index] * float(self.z @ coef)
        return scores

    def expand_new(self, dual_coef: Block, points: Points) -> Block:
        """Return sum_j dual_coef_j k(x_j, x) for new points x (rows of ``points``), float64; no ridge, no z.

        For ``precomputed``, ``points`` holds k(x, x_j) for every training point j.
        """
        coef = np.asarray(dual_coef, dtype=np.float64)
        self._counter.evaluations += points.shape[0] * int(np.count_nonzero(coef))
        return expanded_at(self.kernel, self._engine.source, coef, points)

    def _view(self, engine: Engine, **changed: Any) -> KernelOracle:
        matrices = self._matrices if changed.keys().isdisjoint(("ridge", "z")) else None
        kept = {"matrices": matrices, "held": self._held if engine.index is self._engine.index else None}
        settings = {"cache_mb": self.cache_mb, "ridge": self.ridge, "z": self.z, **kept, **changed}
        return KernelOracle(self.kernel, None, counter=self._counter, engine=engine, **settings)

    def astype(self, dtype: Any) -> KernelOracle:
        """Return this oracle with values of another dtype (float32 or float64), the same counter, its own cache.

        Raises
        ------
        UsageError : values that overflow in float32.
        """
        if np.dtype(dtype) == self.dtype:
            return self
        view = self._view(self._engine.astype(dtype))
        if view.dtype.itemsize < self.dtype.itemsize:
            check_range(view)
        return view

    def with_cache(self, cache_mb: float) -> KernelOracle:
        """Return this oracle with an empty cache of another size, the same counter and the same data."""
        return self._view(self._engine, cache_mb=cache_mb)

    def with_ridge(self, ridge: float) -> KernelOracle:
        """Return the oracle of k + ridge * delta_ij, the same counter and the same data, its own cache."""
        return self._view(self._engine, ridge=ridge)

    def with_product(self, z: Vector) -> KernelOracle:
        """Return the oracle of k + z_i z_j, the same counter and the same data, its own cache."""
        return self._view(self._engine, z=z)

    @property
    def plain(self) -> KernelOracle:
        """The oracle of k without the product, the same counter and the same data, its own cache."""
        return self._view(self._engine, z=None)

    def with_threads(self, threads: int) -> KernelOracle:
        """Return this oracle with requests shared by ``threads`` threads, the same counter and data, its own cache."""
        return self._view(self._engine, threads=threads)

    def restrict(self, indices: Block) -> KernelOracle:
        """Return the oracle over ``x[indices]``, which shares the points: the same counter, its own cache."""
        index = self._checked(indices)
        return self._view(self._engine.subset(index), z=None if self.z is None else self.z[index])

    def extended(self, points: Points) -> KernelOracle:
        """Return the oracle over a copy of these points and ``points``, (m, d), after them: the same counter, its own cache.

        The ridge is that of every point; a product (tube-svr) has none of the new ones in it.

        Raises
        ------
        UsageError : values were given in place of points; ``points`` are of another width or type, or not finite.
        """
        points = by_rows(points)
        refused = reason_against(points, self.kernel, self.n_features)
        if refused is not None:
            raise UsageError(f"the kernel cannot be extended: {refused}")
        engine = Engine(self.kernel, joined(self._engine.source, points), self.dtype, threads=self.threads)
        z = None if self.z is None else np.concatenate([self.z, np.zeros(engine.n - self.n)])
        return self._view(engine, z=z, held=None)


def _read_only(values: Block) -> Block:
    """Return a view whose flag cannot be switched back: its base is read-only as well."""
    values.flags.writeable = False
    return values.view()
