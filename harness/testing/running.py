"""How the suite looks at a solver: one observed drive a case, with all its iterates and kernel values."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np

from harness.kernels.engine import Engine
from harness.kernels.functions import GivenValues, Power
from harness.measure.compilation import CompilationWatch
from harness.measure.drive import Clocks, Outcome, drive
from harness.measure.outcome import Limits
from harness.measure.scored import Weights
from harness.solver.protocol import Iterate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from harness.kernels.counter import Counter
    from harness.problems.cases import Case
    from harness.problems.problem import Certificate, Problem
    from harness.solver.protocol import Solver
    from harness.support.arrays import Index, Vector

_KEPT = 1000  # iterates of a drive; a solver that yields more often is judged by the first ones and the last


@dataclass(frozen=True)
class Snapshot:
    """An iterate, copied at its yield: a view compared with itself would always agree."""

    dual_coef: Any
    weights: Any
    free: tuple[Any, Any] | None  # free_coef and extra_points
    features: Any
    intercept: float
    done: bool
    step: int | None
    working_set: int | None

    @classmethod
    def of(cls, iterate: Iterate) -> Snapshot:
        """Copy an iterate."""
        coef = None if iterate.dual_coef is None else np.array(iterate.dual_coef)
        weights = None if iterate.weights is None else np.array(iterate.weights)
        free = None if iterate.free_coef is None else (np.array(iterate.free_coef), copy.copy(iterate.extra_points))
        end = bool(iterate.done), iterate.step, iterate.working_set
        return cls(coef, weights, free, iterate.features, float(iterate.intercept), *end)

    def same_bits(self, other: Snapshot) -> bool:
        """True if the models agree bit for bit."""
        return (self.key() == other.key()) and self.step == other.step and self.done == other.done

    def key(self) -> tuple[bytes, ...]:
        """The bits of the model."""
        free, points = self.free or (None, None)
        own = (None, None) if self.features is None else (self.features.directions, self.features.offsets)
        arrays = (self.dual_coef, self.weights, np.float64(self.intercept), free, *own)
        bits = tuple(b"" if array is None else np.asarray(array).tobytes() for array in arrays)
        return *bits, b"" if points is None else bytes_of(points)


def snapshots(solver: Solver, problem: Problem, *, seed: int = 0, limit: int = _KEPT) -> Iterator[Snapshot]:
    """Yield copies of the first ``limit`` iterates; the generator is closed afterwards."""
    iterates = solver.iterates(problem, np.random.default_rng(seed))
    try:
        for position, iterate in enumerate(iterates):
            yield Snapshot.of(iterate)
            if iterate.done or position + 1 >= limit:
                break
    finally:
        close = getattr(iterates, "close", None)
        if close is not None:
            close()


@dataclass(frozen=True)
class Run:
    """One drive of a solver to its end, and what every check judges by.

    problem : as the solver left it
    snapshots : its first 1000 iterates
    queried : points whose targets were queried, in this order, by the suite's ledger; empty where targets are given
    counts : number of them at each snapshot
    counter : the problem's, at the end of the drive
    computed : kernel values that the engines computed, whoever asked for them
    """

    case: Case
    problem: Problem
    outcome: Outcome
    snapshots: tuple[Snapshot, ...]
    queried: list[int]
    counts: tuple[int, ...]
    counter: Counter
    computed: int

    @functools.cached_property
    def certificate(self) -> Certificate | None:
        """The host's certificate of the last model; None of one that has none: free, or over features of its own."""
        problem, outcome = self.problem, self.outcome
        if outcome.dual_coef is not None:
            return problem.certify(*problem.checked(outcome.dual_coef, outcome.intercept))
        model = outcome.model
        if not isinstance(model, Weights) or model.features is not None or not problem.bounds_weights:
            return None
        return problem.certify_weights(model.weights, model.intercept)


class _Copying:
    """A solver whose iterates are copied as they pass by."""

    def __init__(self, solver: Solver, queried: list[int]) -> None:
        self.solver, self.queried, self.snapshots, self.counts = solver, queried, list[Snapshot](), list[int]()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.solver, name)

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        with contextlib.ExitStack() as at_end:
            iterates = self.solver.iterates(problem, rng)
            if hasattr(iterates, "close"):
                at_end.callback(iterates.close)
            for iterate in iterates:
                if len(self.snapshots) < _KEPT and isinstance(iterate, Iterate):  # what is none, ``drive`` refuses
                    self.snapshots.append(Snapshot.of(iterate))
                    self.counts.append(len(self.queried))
                yield iterate


def observed(solver: Solver, case: Case, *, seed: int, seconds: float) -> Run:
    """Drive a solver on a case, for at most ``seconds`` beside compilation; what it raises passes through."""
    problem, queried = case.problem(), list[int]()

    def answer(indices: Index) -> Vector:
        queried.extend(indices.tolist())
        return case.y[indices]

    if problem.queries_targets:
        problem = problem.with_targets(answer)
    copying = _Copying(solver, queried)
    with recorded_work() as work:
        proxy: Any = copying
        outcome = drive(
            proxy, problem, np.random.default_rng(seed), Limits(time_limit=seconds), clocks=Clocks(compiler().clock)
        )
    counter = dataclasses.replace(problem.kernel.counter)
    counter.evaluations_at_least = problem.kernel.counter.evaluations_at_least
    snapshots, counts = tuple(copying.snapshots), tuple(copying.counts)
    return Run(case, problem, outcome, snapshots, queried, counts, counter, work.values)


@functools.cache
def compiler() -> CompilationWatch:
    """Return what knows the seconds that this process has spent compiling."""
    watch = CompilationWatch()
    watch.install()
    return watch


@dataclass
class Work:
    """Kernel values that were really computed while a solver ran."""

    values: int = 0


@contextlib.contextmanager
def recorded_work() -> Iterator[Work]:
    """Count every kernel value the engines compute, whoever asks for it.

    The linear kernel's expansion goes through w and computes no kernel value; it is taken at its counted price, and so are
    given values of new points.
    """
    work = Work()
    fill, weighted, diagonal = Engine.compute, Engine._weighted, Engine.diagonal  # noqa: SLF001
    expand, expand_new, rows_at = Engine.expand, Engine.expand_new, Engine.rows_at

    def counted_fill(self: Engine, rows: Any, out: Any, slots: Any, after: Any = None, columns: Any = None) -> None:
        work.values += len(rows) * (self.n if columns is None else len(columns))
        fill(self, rows, out, slots, after, columns)

    def counted_weighted(self: Engine, support: Any, coef: Any, columns: Any, *further: Any) -> Any:
        work.values += len(support) * (self.n if columns is None else len(columns))
        return weighted(self, support, coef, columns, *further)

    def counted_diagonal(self: Engine) -> Any:
        values = diagonal(self)
        work.values += values.size
        return values

    def counted_expand(self: Engine, dual_coef: Any, rows: Any = None) -> Any:
        if self.kernel.form == Power():
            work.values += (self.n if rows is None else len(rows)) * int(np.count_nonzero(dual_coef))
        return expand(self, dual_coef, rows)

    def counted_expand_new(self: Engine, dual_coef: Any, points: Any) -> Any:
        if self.kernel.form == Power() or isinstance(self.kernel.form, GivenValues):
            work.values += points.shape[0] * int(np.count_nonzero(dual_coef))
        return expand_new(self, dual_coef, points)

    def counted_rows_at(self: Engine, points: Any) -> Any:
        work.values += points.shape[0] * self.n
        return rows_at(self, points)

    with (
        mock.patch.object(Engine, "rows_at", counted_rows_at),
        mock.patch.object(Engine, "compute", counted_fill),
        mock.patch.object(Engine, "_weighted", counted_weighted),
        mock.patch.object(Engine, "diagonal", counted_diagonal),
        mock.patch.object(Engine, "expand", counted_expand),
        mock.patch.object(Engine, "expand_new", counted_expand_new),
    ):
        yield work


def bytes_of(points: Any) -> bytes:
    """Return the content of dense or CSR points."""
    parts: Iterable[Any] = (points,) if isinstance(points, np.ndarray) else (points.indptr, points.indices, points.data)
    return b"".join(np.ascontiguousarray(part).tobytes() for part in parts)
