"""The counted kernel oracle, the only road from a solver to kernel values: oracle, row buffer, engine.

A solver with compiled loops asks for a buffer, ``problem.kernel.buffer(cache_mb)``, hands its arrays to its loops, and has
rows fetched that these miss. Which row makes way for another, what is counted, and sums of rows are the buffer's business.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np

from harness.errors import UsageError
from harness.kernels.counter import Counter
from harness.kernels.crew import WORTH
from harness.kernels.engine import Engine
from harness.kernels.extra import joined, reason_against
from harness.kernels.features import Features, combination, expanded_at, products_with
from harness.kernels.functions import Kernel, Power
from harness.kernels.points import as_points
from harness.parameters import values_of

if TYPE_CHECKING:
    import scipy.sparse

    from harness.arrays import Block, Index, Mask, Vector
    from harness.kernels.engine import After

    Points = Block | scipy.sparse.csr_array

    class Compute(Protocol):
        """Write the rows of ``points`` to ``rows[slots]``; ``after(start, stop)`` as in ``KernelOracle.fill``."""

        def __call__(
            self, points: Index, rows: Block, slots: Index, after: Callable[[int, int], None] | None, /
        ) -> None: ...


_ROOMY = 0.25  # of the places
_NEVER = -(1 << 60)
_AGED = 1 << 40  # ticks by which the row of a point at rest is older: it is seldom asked for again
_LAST = 1 << 60
_STAYS = np.iinfo(np.int64).max
_FEW = 8  # places that are looked for one after the other: sorting all would take longer
_PIECE = 256  # rows completed at a time
_NEAR_BYTES = 2 << 20  # rows that take no more stay in the core's cache
# Nanoseconds (Xeon 8488C): a value read far away, one computed in float32, each multiply-add of it, a request
_READ, _VALUE, _MULTIPLY_ADD, _REQUEST = 10.0, 0.5, 0.025, 5e4


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
        matrices: dict[Any, Block] | None = None,
        held: HeldRows | None = None,
    ) -> None:
        self.kernel = kernel
        self.ridge = float(ridge)
        self.cache_mb = float(cache_mb)
        self._counter = counter if counter is not None else Counter()
        if threads is not None and threads < 1:
            raise ValueError(f"threads={threads} asked of a kernel oracle; give the number of threads, 1 or more.")
        engine = Engine(kernel, x, dtype) if engine is None else engine  # type: ignore[arg-type] # one of both is given
        self._engine = engine if threads is None else engine.with_threads(threads)
        self.n = self._engine.n
        if z is not None and z.shape != (self.n,):
            raise ValueError(f"z has shape {z.shape} for a kernel over {self.n} points; give one value for each.")
        self.z = z
        self.dtype = self._engine.dtype
        self.threads = self._engine.threads
        self._buffer: RowBuffer | None = None  # of row() and rows()
        self._diagonal: Block | None = None
        self._matrices = {} if matrices is None else matrices  # by dtype, of all views of the same values
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

        They give kernel values without a count, a linear kernel's as well: the counter then says ``evaluations_at_least``.
        What is computed from a linear kernel's points is counted by :meth:`features`; what else a solver may want to know
        of the points, other properties say.
        """
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
    def work(self) -> float:
        """Multiply-adds that a value takes, about; infinite where that says nothing of its time."""
        return self._engine.work

    @property
    def is_linear(self) -> bool:
        """True if k(x, z) = <x, z>, so that a solver may keep w itself."""
        return self.z is None and self.kernel.form == Power()

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
            self.compute(rows, values, np.arange(len(rows)), columns=columns)
        return _read_only(values)

    def matrix(self) -> Block | None:
        """Return K, (n, n), kept with this oracle and its views of other dtypes; None if it takes more than ``cache_mb``.

        n x n evaluations the first time, n cache hits later: problems of one path share it; read-only.
        """
        if self.n * self.n * self.dtype.itemsize > self.cache_mb * 2**20:
            return None
        if self.z is None and not self.ridge:
            held = self._rows_held(np.arange(self.n))
            if held is not None:
                return _read_only(held.view())
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
        """Compute K[rows, columns] straight into the caller's array, counted and not cached.

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
        IndexError : a row or column outside its range; not one slot inside it for each row.
        ValueError : ``out`` has another dtype, order or shape.
        """
        rows = self._checked(rows)
        columns = None if columns is None else self._checked(columns)
        slots = _checked_slots(out, slots, len(rows), self.n if columns is None else len(columns), self.dtype)
        self.compute(rows, out, slots, after, columns)

    def compute(
        self, rows: Block, out: Block, slots: Block, after: After | None = None, columns: Block | None = None
    ) -> None:
        """Do what :meth:`fill` does for numbers and an array that are known to be sound: nothing is looked at."""

        def finished(start: int, stop: int) -> None:  # while the tile is in the core's cache
            self._complete(out, slots, rows, columns, start, stop)
            if after is not None:
                after(start, stop)

        held = self._rows_held(rows) if columns is None else None
        if held is not None:
            from harness.kernels.compiled import copy_rows

            copy_rows(held, rows, out, slots)
            finished(0, self.n)
            return
        # first: ``after`` may raise, and ``out`` has values by then
        self._counter.evaluations += len(rows) * (self.n if columns is None else len(columns))
        self._engine.fill(rows, out, slots, columns, after if self.z is None and not self.ridge else finished)

    def _rows_held(self, wanted: Block) -> Block | None:
        """Return (n, n) in which the rows ``wanted`` of k are there, if rows are shared along a path; counted."""
        return None if self._held is None else self._held.rows(self._engine, wanted, self._counter)

    def features(self) -> Features | None:
        """Return the points for a solver that keeps w itself, see :class:`Features`; None if the kernel is not linear.

        The kernel is <x_i, x_j> + ridge * delta_ij: the ridge is the solver's to add. Nothing is counted until asked.
        """
        if not self.is_linear:
            return None
        return Features(self._engine.source, ridge=self.ridge, counter=self._counter, threads=self.threads)

    def share(self, jobs: Sequence[Callable[[], None]]) -> None:
        """Carry out the jobs at once, a thread each and BLAS with one; raise the first error when all have ended."""
        self._engine.crew.share(lambda first, _: jobs[first](), len(jobs), WORTH, len(jobs), widest=1)

    def share_range(self, job: Callable[[int, int], None], count: int, values: int) -> None:
        """Do ``job(start, stop)`` for parts of 0 to ``count``, ``values`` of work each, among the kernel's threads.

        A thread that has done a part takes the next; BLAS has one thread meanwhile. The first error is raised when all
        have ended.
        """
        self._engine.crew.share(job, count, values, self.threads)

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
        elif rows is None and (held := self._rows_held(support)) is not None:
            from harness.jit import add_rows

            scores = np.zeros(self.n)
            add_rows(scores, held, support, coef[support], 0, self.n)
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
            _check_range(view)
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

    @property
    def unshared(self) -> KernelOracle:
        """The oracle without the rows that problems of a path share, for who keeps them all: the same counter, its own cache."""
        return self._view(self._engine, held=None)

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
        DataError : no points, see :func:`harness.as_points`.
        UsageError : values were given in place of points; ``points`` are of another width, or not finite.
        """
        points = as_points(points)
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


def _checked_slots(out: Block, slots: Block | None, count: int, width: int, dtype: np.dtype[Any]) -> Block:
    """Return the rows of ``out`` that ``count`` rows of ``width`` values are written to; the first ones if None."""
    if out.ndim != 2 or out.shape[1] < width or not out.flags.c_contiguous or out.dtype != dtype:
        raise ValueError(
            f"out is {out.dtype} of shape {out.shape}; give a C-ordered 2-D array of {dtype}, {width} columns wide."
        )
    slots = np.arange(count) if slots is None else np.asarray(slots, dtype=np.intp)
    if slots.shape != (count,) or (count and slots.view(np.uintp).max() >= len(out)):
        raise IndexError(f"slots {slots.tolist()} for {count} rows; give each a row of out, from 0 to {len(out) - 1}.")
    return slots


def _check_range(oracle: KernelOracle) -> None:
    if not oracle.largest < float(np.finfo(oracle.dtype).max):
        raise UsageError(
            f"{described(oracle.kernel)} gives values that are not finite in {oracle.dtype} on these data; scale the data, choose "
            "smaller parameters or a solver's dtype=float64."
        )


def described(kernel: Kernel) -> str:
    """Return the kernel with its parameters, for messages."""
    given = ", ".join(
        f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in values_of(kernel).items()
    )
    return f"kernel '{kernel.name}' ({given or 'no parameters'})"


@contextmanager
def uncounted(kernel: KernelOracle) -> Iterator[None]:
    """Let the host work with a solver's kernel (certificates, metrics): neither counted nor cached for the solver.

    Everything made from ``kernel`` meanwhile counts to a counter of its own as well, for good. What the solver made of
    it before, and works with in another thread, counts to the run.
    """
    names = ("_counter", "_buffer", "_diagonal", "_matrices", "_held")
    kept = {name: getattr(kernel, name) for name in names}
    own = {**kept, "_counter": Counter(), "_buffer": None, "_matrices": {}, "_held": None}
    vars(kernel).update(own)
    try:
        yield
    finally:
        vars(kernel).update(kept)


def engine_of(kernel: KernelOracle) -> Engine:
    """Return ``kernel.engine`` to the host, which computes nothing for a solver: the counter takes no note of it."""
    return kernel._engine  # noqa: SLF001 - the host's own road, no solver's


class RowBuffer:
    """As many kernel rows as the memory holds; the row unused for longest makes way for another.

    Made by ``KernelOracle.buffer()``. Values are counted where they are computed, and ``cache_hits`` counts the rows that
    were read here and would have been computed else.

    Parameters
    ----------
    kernel : what rows are fetched from
    memory : 1-D float64 array that the rows lie in, maybe in the kernel's narrower dtype
    compute : writes rows in another form than the kernel's, all of them n long; None: as the kernel gives them

    Attributes
    ----------
    rows : (capacity, n) in the kernel's dtype, a view of ``memory``; untouched memory costs nothing until a row arrives
    slot_of : (n,) where the row of each point lies in ``rows``, -1 if it is not held
    owner : (capacity,) the point whose row lies in each place, -1 where there is none yet
    last_used : (capacity,) the ``clock`` at which the row in each place was last used; compiled loops write it too
    clock : the present; a solver that counts by itself sets it, else :meth:`used` lets it go on
    fetched : rows computed
    """

    def __init__(self, kernel: KernelOracle, memory: Block, compute: Compute | None = None) -> None:
        self.kernel, self.memory, self.n = kernel, memory, kernel.n
        self._compute = compute or kernel.compute
        words: Block = memory.view(kernel.dtype)
        self.capacity = min(self.n, len(words) // self.n)
        self.rows: Block = words[: self.capacity * self.n].reshape(self.capacity, self.n)
        self.slot_of = np.full(self.n, -1, dtype=np.intp)
        self.owner = np.full(self.capacity, -1, dtype=np.intp)
        # places that no row took yet: a part of them is taken at once, the others only when no row is at rest
        self.last_used = np.full(self.capacity, -_AGED // 2, dtype=np.int64)
        self.last_used[: int(_ROOMY * self.capacity)] = _NEVER
        self.clock = 0
        self.fetched = 0
        self._counts = vars(kernel.counter)  # written to straight: loops come back after some microseconds
        self._taken = 0  # places before this one have had a row
        self._resting = False  # whether any row was told to be
        self._unread = 0  # rows fetched since loops last said what they read

    @property
    def roomy(self) -> int:
        """Places that may go to rows of little use: part of those that no row has taken, as touching memory costs time."""
        return max(0, int(_ROOMY * self.capacity) - int(np.count_nonzero(self.owner >= 0)))

    # -- rows come and go ------------------------------------------------------------------------------------

    def reserve(self, points: Index, *, keep: Index | None = None, last: Callable[[], Mask] | None = None) -> Index:
        """Give places to ``points``, all different and none of them held; the caller computes their rows.

        Parameters
        ----------
        keep : points whose rows must stay; if that leaves too few places, the first of ``points`` alone get one
        last : returns (n,) of all points: those whose rows make way only after all others; asked where places are short

        Returns
        -------
        the places, as many as there were, at most one for each of ``points``
        """
        slots = self._room(len(points), keep, last)
        points = points[: len(slots)]
        self.owner[slots], self.slot_of[points], self.last_used[slots] = points, slots, self.clock
        return slots

    def _room(self, count: int, keep: Index | None, last: Callable[[], Mask] | None) -> Index:
        if self._taken + count <= self.capacity and not self._resting:
            self._taken += count
            return np.arange(self._taken - count, self._taken)
        age = self.last_used
        if last is not None:
            age = np.where(last()[self.owner] & (self.owner >= 0), age + _LAST, age)
        if keep is not None:
            age, held = age.copy(), self.slot_of[keep]
            age[held[held >= 0]] = _STAYS
        slots = _oldest(age, count)
        for point in self.owner[slots].tolist():
            if point >= 0:
                self.slot_of[point] = -1
        if self._taken < self.capacity:
            self._taken = max(self._taken, int(slots.max(initial=-1)) + 1)
        return slots

    def compute(self, points: Index, slots: Index, after: Callable[[int, int], None] | None = None) -> None:
        """Compute the rows of ``points`` into the places that :meth:`reserve` gave them; see ``KernelOracle.fill``."""
        self.fetched += len(points)
        self._compute(points, self.rows, slots, after)

    def fetch(self, points: Index, *, keep: Index | None = None, last: Callable[[], Mask] | None = None) -> None:
        """Bring the rows of ``points``, all different, into the buffer, and note that all of them are used now.

        They are not checked: what compiled loops name runs from 0 to n - 1, and looking costs a tenth of a short row.
        No more points than places, unless ``keep``, whose rows must stay, says that some may be left out; ``last``: see
        :meth:`reserve`.
        """
        missing = points[self.slot_of[points] < 0]
        complete = len(missing) == len(points)
        if len(missing):
            stay = points if keep is None else np.concatenate([points, keep])
            slots = self.reserve(missing, keep=None if complete and keep is None else stay, last=last)
            missing = missing[: len(slots)]
            try:
                self.compute(missing, slots)
            except BaseException:  # an interrupt, say: what was not written is not held
                self.slot_of[missing], self.owner[slots], self.last_used[slots] = -1, -1, _NEVER
                raise
            self._unread += len(missing)
        if not complete:
            places = self.slot_of[points]
            self.last_used[places[places >= 0]] = self.clock

    def used(self, points: Index) -> None:
        """Let the clock go on and note that the rows of ``points``, all held, are used: no other row stays longer."""
        self.clock += 1
        self.last_used[self.slot_of[points]] = self.clock

    def at_rest(self, points: Index) -> None:
        """Let the rows of ``points``, if held, be the first to go: they will seldom be asked for again."""
        slots = self.slot_of[points]
        self.last_used[slots[slots >= 0]] = self.clock - _AGED
        self._resting = True

    def cheaper_anew(self, values: int, reads: int) -> bool:
        """Return whether computing ``values`` takes less time than ``reads`` at random places of the rows held."""
        if self._taken * self.n * self.kernel.dtype.itemsize <= _NEAR_BYTES or reads * _READ <= _REQUEST:
            return False
        value = (_VALUE + _MULTIPLY_ADD * self.kernel.work) * self.kernel.dtype.itemsize / 4
        return bool(_REQUEST + values * value < reads * _READ)

    # -- counts ------------------------------------------------------------------------------------------------

    def hit(self, count: int) -> None:
        """Count ``count`` rows that were read here instead of being computed."""
        self._counts["cache_hits"] += count

    def read(self, count: int) -> None:
        """Count ``count`` rows that compiled loops read in ``rows``; those fetched for them were computed, once."""
        computed = min(self._unread, count)
        self._unread -= computed
        if count > computed:
            self.hit(count - computed)

    # -- what the rows give ------------------------------------------------------------------------------------

    def row(self, point: int) -> Block:
        """Return the row of ``point``, (n,), fetched if it is not here: a copy, as its place may go to another one."""
        points = np.array([point])
        self.clock += 1
        if self.slot_of[point] >= 0:
            self.hit(1)
        self.fetch(points)
        return np.array(self.rows[self.slot_of[point]])

    def add(self, total: Vector, points: Index, weights: Vector) -> None:
        """Add sum_p weights_p row_p of ``points``, all held, to ``total``, (n,) float64; they count as hits."""
        self.hit(len(points))
        self.add_part(total, self.slot_of[points], weights, 0, self.n)

    def add_part(self, total: Vector, slots: Index, weights: Vector, start: int, stop: int) -> None:
        """Add sum_p weights_p rows[slots_p, start:stop] to total[start:stop], float64, in place; counts nothing."""
        from harness.jit import add_rows

        add_rows(total, self.rows, slots, weights, start, stop)

    def expand(self, dual_coef: Vector, rows: Index | None = None) -> Vector:
        """Return what ``KernelOracle.expand`` does, from the rows held; only the others are computed, and not kept."""
        support = np.flatnonzero(dual_coef)
        held = support[self.slot_of[support] >= 0]
        total = np.zeros(self.n)
        self.add(total, held, dual_coef[held])
        found: Vector = total if rows is None else total[rows]
        if len(held) < len(support):
            rest = dual_coef.copy()
            rest[held] = 0.0
            found += self.kernel.expand(rest, rows)
        return found

    def moved(self, kernel: KernelOracle, place: Index, keep: Index) -> Self:
        """Return the buffer over another set of points, in the same memory, with the rows of ``keep`` carried over.

        Parameters
        ----------
        kernel : over the new points
        place : (m,) where each new point stood among the old ones, -1 for those that are new; m <= n
        keep : old points whose rows are worth carrying, all of them among the new ones
        """
        from harness.kernels.compiled import carry

        new = type(self)(kernel, self.memory)
        new.clock = self.clock
        position = np.full(self.n, -1, dtype=np.intp)
        old = place >= 0
        position[place[old]] = np.flatnonzero(old)
        slots = np.sort(self.slot_of[keep[self.slot_of[keep] >= 0]])[: new.capacity]
        owners = position[self.owner[slots]]
        carry(self.rows, slots, np.maximum(place, 0).astype(np.int32), new.rows)
        count = len(slots)
        added = np.flatnonzero(~old)
        for start in range(0, count if len(added) else 0, _PIECE):
            piece = slice(start, min(start + _PIECE, count))
            new.rows[piece, added] = kernel.block(owners[piece], added)
        new.owner[:count] = owners
        new.slot_of[owners] = np.arange(count)
        new.last_used[:count] = self.last_used[slots]
        new._taken, new._resting = count, self._resting  # noqa: SLF001 - one of its own kind
        return new


def _oldest(age: Index, count: int) -> Index:
    """Return the places of the ``count`` smallest ages, the first among equals first, but for those that stay.

    ``age`` changes at these places, which are about to be used.
    """
    if count > _FEW:
        slots: Index = np.arange(len(age))
        if count < len(age):  # a part is sorted, not all
            last = np.partition(age, count - 1)[count - 1]
            older, equal = np.flatnonzero(age < last), np.flatnonzero(age == last)
            slots = np.concatenate([older, equal[: count - len(older)]])
        slots = slots[np.argsort(age[slots], kind="stable")]
        return slots[age[slots] < _STAYS]
    found: list[int] = []
    while len(found) < count and age[slot := int(age.argmin())] < _STAYS:
        found.append(slot)
        age[slot] = _STAYS
    return np.array(found, dtype=np.intp)


class HeldRows:
    """Rows k(x_i, .) over one set of points, held for all who ask for them: the problems of a path that share its kernel.

    They are those of k itself: a ridge and a product are added to what is handed out.

    Parameters
    ----------
    most_bytes : memory for the rows of all dtypes together; those of a dtype are held if all of them fit
    """

    def __init__(self, most_bytes: float) -> None:
        self._left = most_bytes
        self._kept: dict[np.dtype[Any], tuple[Block, Block]] = {}  # the rows, and which of them are there

    def rows(self, engine: Engine, wanted: Block, counter: Counter) -> Block | None:
        """Return (n, n) in which the rows ``wanted`` are there, computed and counted, or hits; None if all do not fit."""
        size = engine.n * engine.n * engine.dtype.itemsize
        if engine.dtype not in self._kept:
            if size > self._left:
                return None
            self._left -= size
            self._kept[engine.dtype] = np.empty((engine.n, engine.n), engine.dtype), np.zeros(engine.n, dtype=bool)
        rows, there = self._kept[engine.dtype]
        missing = np.unique(wanted[~there[wanted]])
        counter.evaluations += engine.n * len(missing)
        counter.cache_hits += len(wanted) - len(missing)
        if len(missing):
            engine.fill(missing, rows, missing, None, None)
            there[missing] = True
        return rows
