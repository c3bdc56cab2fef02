"""Observed drives of a solver for the suite, with copies of the iterates and a count of computed kernel values."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import functools
import itertools
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np

from harness.kernels.engine import Engine
from harness.kernels.functions import GivenValues, Power
from harness.measure.compilation import CompilationWatch
from harness.measure.drive import Clocks, Outcome, drive
from harness.measure.outcome import Limits
from harness.measure.scored import Weights, points_of
from harness.solver.protocol import Iterate, with_arrays

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from harness.problems.cases import Case
    from harness.problems.problem import Certificate, Problem
    from harness.solver.protocol import Solver
    from harness.support.arrays import Index, Vector

_COPIED_ITERATES = 1000  # iterates of a drive that are copied; the last one is checked as well


def copied(iterate: Iterate) -> Iterate:
    """Return a copy of an iterate without its claims, as a view of the solver's arrays would always equal itself."""
    points = points_of(iterate.extra_points)
    return copy.deepcopy(dataclasses.replace(with_arrays(iterate), extra_points=points, info={}))


def bits(iterate: Iterate) -> tuple[Any, ...]:
    """Return the bytes of a model, its step and whether it is the last: equal if two iterates agree bit for bit."""
    features = () if iterate.features is None else (iterate.features.directions, iterate.features.offsets)
    arrays = (iterate.dual_coef, iterate.weights, np.float64(iterate.intercept), iterate.free_coef, *features)
    points = None if iterate.extra_points is None else bytes_of(iterate.extra_points)
    model = [None if array is None else array.tobytes() for array in arrays]
    return *model, points, iterate.step, bool(iterate.done)


def snapshots(solver: Solver, problem: Problem, *, seed: int = 0) -> Iterator[Iterate]:
    """Yield copies of the first 1000 iterates, up to the one that is done."""
    for iterate in itertools.islice(solver.iterates(problem, np.random.default_rng(seed)), _COPIED_ITERATES):
        yield copied(iterate)
        if iterate.done:
            break


@dataclass(frozen=True)
class Run:
    """One drive of a solver to its end, shared by all checks.

    problem : the problem after the drive
    snapshots : the first 1000 iterates
    queried : indices of points whose targets were queried, in order; empty if the targets are given
    counts : number of queried targets at each snapshot
    evaluations, is_lower_bound : kernel values that were counted by the end of the drive, and whether they are not all
    computed : number of kernel values that the engines computed
    """

    problem: Problem
    outcome: Outcome
    snapshots: tuple[Iterate, ...]
    queried: list[int]
    counts: tuple[int, ...]
    evaluations: int
    is_lower_bound: bool
    computed: int

    @functools.cached_property
    def certificate(self) -> Certificate | None:
        """The certificate of the last model; None for free models and models over features."""
        return certified(self.problem, self.outcome)


def certified(problem: Problem, outcome: Outcome) -> Certificate | None:
    """Return the certificate of the last model of a drive; None for free models and models over features."""
    if outcome.dual_coef is not None:
        return problem.certify(*problem.checked(outcome.dual_coef, outcome.intercept))
    model = outcome.model
    if not isinstance(model, Weights) or model.features is not None or not problem.bounds_weights:
        return None
    return problem.certify_weights(model.weights, model.intercept)


def observed(solver: Solver, case: Case, *, seed: int, seconds: float) -> Run:
    """Drive a solver on a case for at most ``seconds`` without compilation; exceptions of the solver propagate."""
    problem, queried = case.problem(), list[int]()

    def answer(indices: Index) -> Vector:
        queried.extend(indices.tolist())
        return case.y[indices]

    def copying(problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        with contextlib.ExitStack() as at_end:
            iterates = solver.iterates(problem, rng)
            if hasattr(iterates, "close"):
                at_end.callback(iterates.close)
            for iterate in iterates:
                # ``drive`` refuses other types
                if len(copies) < _COPIED_ITERATES and isinstance(iterate, Iterate):
                    copies.append(copied(iterate))
                    counts.append(len(queried))
                yield iterate

    if problem.queries_targets:
        problem = problem.with_targets(answer)
    copies, counts, clocks = list[Iterate](), list[int](), Clocks(compiler().clock)
    proxy: Any = SimpleNamespace(name=solver.name, observable=solver.observable, iterates=copying)
    with recorded_work() as work:
        outcome = drive(proxy, problem, np.random.default_rng(seed), Limits(time_limit=seconds), clocks=clocks)
    counter = problem.kernel.counter
    counted = counter.evaluations, counter.evaluations_at_least
    # compiled loops count in one place, see tests/kernels/test_loops.py
    computed = work.values + int(counter.compiled[0])
    return Run(problem, outcome, tuple(copies), queried, tuple(counts), *counted, computed)


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

    def counting(method: Callable[..., Any], values: Callable[..., int]) -> Callable[..., Any]:
        def counted(engine: Engine, *arguments: Any, **named: Any) -> Any:
            before, result = work.values, method(engine, *arguments, **named)
            # the method may have called another one that counts, as ``value`` does where a kernel has no loop for it
            work.values = max(work.values, before + int(values(engine, *arguments, **named)))
            return result

        return counted

    counted: dict[str, Any] = {name: counting(getattr(Engine, name), values) for name, values in _COMPUTED.items()}
    with mock.patch.multiple(Engine, **counted):
        yield work


def _number(engine: Engine, points: Any) -> int:
    return engine.n if points is None else len(points)


_COMPUTED: dict[str, Callable[..., int]] = {
    "compute": lambda engine, rows, _out, _slots, _after=None, columns=None: len(rows) * _number(engine, columns),
    "_weighted": lambda engine, support, _coef, columns: len(support) * _number(engine, columns),
    "diagonal": lambda engine: engine.n,
    "expand": lambda engine, coef, rows=None: (
        _number(engine, rows) * np.count_nonzero(coef) * (engine.kernel.form == Power())
    ),
    "expand_new": lambda engine, coef, points: (
        points.shape[0]
        * np.count_nonzero(coef)
        * (engine.kernel.form == Power() or isinstance(engine.kernel.form, GivenValues))
    ),
    "rows_at": lambda engine, points, columns=None: points.shape[0] * _number(engine, columns),
    "value": lambda _engine, _i, _j: 1,
}
"""Method of an engine -> number of kernel values that a call computes, or is counted as."""


def bytes_of(points: Any) -> bytes:
    """Return the content of dense or CSR points."""
    parts: Iterable[Any] = (points,) if isinstance(points, np.ndarray) else (points.indptr, points.indices, points.data)
    return b"".join(np.ascontiguousarray(part).tobytes() for part in parts)
