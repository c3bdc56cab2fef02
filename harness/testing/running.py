"""Observed drives of a solver for the suite, with copies of the iterates and a count of computed kernel values."""

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
from harness.measure.scored import Weights, points_of
from harness.solver.protocol import Iterate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from harness.kernels.counter import Counter
    from harness.problems.cases import Case
    from harness.problems.problem import Certificate, Problem
    from harness.solver.protocol import Solver
    from harness.support.arrays import Index, Vector

_COPIED_ITERATES = 1000  # iterates of a drive that are copied; the last one is checked as well


@dataclass(frozen=True)
class Snapshot:
    """A copy of an iterate, made at its yield, as a view would always equal itself."""

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
        points = copy.copy(points_of(iterate.extra_points))
        free = None if iterate.free_coef is None else (np.array(iterate.free_coef), points)
        end = bool(iterate.done), iterate.step, iterate.working_set
        return cls(coef, weights, free, iterate.features, float(iterate.intercept), *end)

    def same_bits(self, other: Snapshot) -> bool:
        """Return True if the models agree bit for bit."""
        return (self.key() == other.key()) and self.step == other.step and self.done == other.done

    def key(self) -> tuple[bytes, ...]:
        """Return the bytes of the model."""
        free, points = self.free or (None, None)
        features = (None, None) if self.features is None else (self.features.directions, self.features.offsets)
        arrays = (self.dual_coef, self.weights, np.float64(self.intercept), free, *features)
        bits = tuple(b"" if array is None else np.asarray(array).tobytes() for array in arrays)
        return *bits, b"" if points is None else bytes_of(points)


def snapshots(solver: Solver, problem: Problem, *, seed: int = 0, limit: int = _COPIED_ITERATES) -> Iterator[Snapshot]:
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
    """One drive of a solver to its end, shared by all checks.

    problem : the problem after the drive
    snapshots : the first 1000 iterates
    queried : indices of points whose targets were queried, in order; empty if the targets are given
    counts : number of queried targets at each snapshot
    counter : the counter of the problem at the end of the drive
    computed : number of kernel values that the engines computed
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
        """The certificate of the last model; None for free models and models over features."""
        problem, outcome = self.problem, self.outcome
        if outcome.dual_coef is not None:
            return problem.certify(*problem.checked(outcome.dual_coef, outcome.intercept))
        model = outcome.model
        if not isinstance(model, Weights) or model.features is not None or not problem.bounds_weights:
            return None
        return problem.certify_weights(model.weights, model.intercept)


class _Copying:
    """A solver whose iterates are copied as they are yielded."""

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
                # ``drive`` refuses other types
                if len(self.snapshots) < _COPIED_ITERATES and isinstance(iterate, Iterate):
                    self.snapshots.append(Snapshot.of(iterate))
                    self.counts.append(len(self.queried))
                yield iterate


def observed(solver: Solver, case: Case, *, seed: int, seconds: float) -> Run:
    """Drive a solver on a case for at most ``seconds`` without compilation; exceptions of the solver propagate."""
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
    total = problem.kernel.counter
    computed = work.values + int(
        total.compiled[0]
    )  # compiled loops count in one place, see tests/kernels/test_loops.py
    counter = dataclasses.replace(total)
    counter.evaluations_at_least = total.evaluations_at_least
    snapshots, counts = tuple(copying.snapshots), tuple(copying.counts)
    return Run(case, problem, outcome, snapshots, queried, counts, counter, computed)


@functools.cache
def compiler() -> CompilationWatch:
    """Return the watch of the seconds that this process spends compiling."""
    watch = CompilationWatch()
    watch.install()
    return watch


@dataclass
class Work:
    """Number of kernel values computed while a solver ran."""

    values: int = 0


@contextlib.contextmanager
def recorded_work() -> Iterator[Work]:
    """Count every kernel value that the engines compute, for any caller.

    Expansions of the linear kernel go through w and compute no kernel value; they, and given values of new points, count as
    the harness counts them.
    """
    work = Work()
    fill, weighted, diagonal = Engine.compute, Engine._weighted, Engine.diagonal  # noqa: SLF001
    expand, expand_new, rows_at, value = Engine.expand, Engine.expand_new, Engine.rows_at, Engine.value

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

    def counted_rows_at(self: Engine, points: Any, columns: Any = None) -> Any:
        work.values += points.shape[0] * (self.n if columns is None else len(columns))
        return rows_at(self, points, columns)

    def counted_value(self: Engine, i: int, j: int) -> float:
        before, result = work.values, value(self, i, j)
        work.values = max(work.values, before + 1)  # not every kernel has a loop for a single value
        return result

    with (
        mock.patch.object(Engine, "rows_at", counted_rows_at),
        mock.patch.object(Engine, "value", counted_value),
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
