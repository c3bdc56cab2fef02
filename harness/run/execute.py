"""One run in the process of its solver: state the problem, warm up, drive. What it says are claims; see certify.py."""

from __future__ import annotations

import errno
import resource
import traceback
from collections.abc import Callable
from dataclasses import replace
from time import monotonic, perf_counter
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from harness.datasets import measured_sha256
from harness.datasets.bounds import reading_within
from harness.errors import DataError, InvalidModel, UsageError
from harness.kernels.checks import check_finite
from harness.kernels.engine import Engine
from harness.kernels.oracle import KernelOracle, engine_of, uncounted
from harness.kernels.ways import is_mapped, sum_of_words
from harness.machine import load_average, now, reset_peak_memory, status_bytes
from harness.measure.compilation import CompilationWatch
from harness.measure.drive import Outcome, drive
from harness.measure.scored import Weights
from harness.measure.trace import TracePlan
from harness.problems.problem import Problem
from harness.run import allowed
from harness.run.cleaning import clean, clipped
from harness.run.messages import Fitted, Fitting, Message, Model, Point, Stopped
from harness.run.record import INFO, Limits, Status, StoppedBy, TracePoint
from harness.run.seller import Buyer

if TYPE_CHECKING:
    from harness.arrays import Vector
    from harness.datasets.dataset import Dataset
    from harness.registry import Registry
    from harness.run.study import RunSpec
    from harness.solver import Solver

_READ_INTO_MEMORY_BYTES = 2 << 30
_WARM_UP_POINTS = 32
_WARM_UP_YIELDS = 50
WARM_UP_SECONDS = 5.0  # of all warm-ups of a solver together, compilation not counted
_TRACEBACK_CHARACTERS = 2000
_ENVIRONMENT = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ESTALE})


class DataChanged(DataError):
    """Data changed between the plan and the run."""


class Workbench:
    """What a process keeps between runs: loaded data and the kernel engines over them.

    keeps : what it knows of the targets. A solver's process is to know those of no test point, nor which points are
        planted outliers; where labels are sold, none: :meth:`labels` has them, for the process that sells them
    buyer : whom a problem asks for labels that are not kept
    """

    def __init__(
        self, registry: Registry, *, keeps: Literal["everything", "training targets", "points"] = "everything"
    ) -> None:
        self.registry, self.keeps, self.buyer = registry, keeps, Buyer()
        self._labels: tuple[str, Vector] | None = None  # of which data
        self._datasets: dict[str, Dataset] = {}
        self._engines: dict[tuple[str, str], Engine] = {}

    def dataset(self, spec: RunSpec) -> Dataset:
        """Return the run's data, the last set is kept.

        Raises
        ------
        DataChanged : what is read now is not what the comparison was planned with.
        """
        if spec.data_key not in self._datasets:
            self._engines.clear()  # they are over the last set
            self._datasets.clear()
            loaded = self._loaded(spec)
            if self.keeps == "points":
                self._labels = spec.data_key, np.array(loaded.y_train)
            if self.keeps != "everything":
                loaded = withheld(loaded, training=self.keeps == "points")
            self._datasets[spec.data_key] = loaded
        return self._datasets[spec.data_key]

    def _loaded(self, spec: RunSpec) -> Dataset:
        with reading_within(spec.limits.memory_bytes):
            loaded = in_memory(self.registry.source_class(spec.source)(**spec.source_parameters).load())
        if spec.data_sha256 not in ("", measured_sha256(loaded)):
            raise DataChanged(
                f"the data of '{spec.dataset}' are not what they were when the comparison was planned: their "
                "content has changed since."
            )
        return loaded

    def labels(self, spec: RunSpec) -> Vector:
        """Return the labels, (n,), of a run in which they are sold; read again where they were forgotten."""
        if self._labels is None or self._labels[0] != spec.data_key:
            self._labels = spec.data_key, np.array(self._loaded(spec).y_train)
        return self._labels[1]

    def forget_labels(self) -> None:
        """Overwrite the labels that are sold, before the code of a solver runs in this process."""
        if self._labels is not None:
            self._labels[1].fill(np.nan)
            self._labels = None

    def problem(self, spec: RunSpec) -> Problem:
        """Return the run's problem with a fresh counter and an empty cache, sharing data and norms."""
        dataset = self.dataset(spec)
        kernel = self.registry.kernel_class(spec.kernel)(**spec.kernel_parameters)
        key = (spec.kernel, repr(spec.kernel_parameters))
        if key not in self._engines:
            checked = KernelOracle(kernel, dataset.x_train)
            check_finite(checked)
            self._engines[key] = checked.engine
        oracle = KernelOracle(
            kernel, dataset.x_train, cache_mb=spec.cache_mb, engine=self._engines[key], threads=spec.threads
        )
        targets = self.buyer if self.keeps == "points" else dataset.y_train
        return self.registry.formulation(spec.formulation).build(oracle, targets, spec.problem_parameters)

    def solver(self, spec: RunSpec) -> Solver:
        """Return the configured solver, with the target gap as its own stopping parameter."""
        cls = self.registry.solver_class(f"{spec.plugin}/{spec.solver}")
        solver = cls(**spec.parameters)
        target = spec.limits.target_gap
        return solver if target is None else solver.with_target_gap(target)


def in_memory(dataset: Dataset) -> Dataset:
    """Return the data with mapped arrays of moderate size read into memory: kernels are faster on plain arrays."""

    def read(x: Any) -> Any:
        return np.array(x) if is_mapped(x) and x.nbytes <= _READ_INTO_MEMORY_BYTES else x

    return replace(dataset, x_train=read(dataset.x_train), x_test=read(dataset.x_test))


def withheld(dataset: Dataset, *, training: bool) -> Dataset:
    """Return the data without the targets of the test points, and without those of the ``training`` points too."""
    y_train = np.full(len(dataset.y_train), np.nan) if training else dataset.y_train
    return replace(dataset, planted=None, y_train=y_train, y_test=np.full(len(dataset.y_test), np.nan))


def layout(problem: Problem) -> str:
    """Return what decides which machine code a solver needs: formulation, kernel, dtype, sparse or dense."""
    points = engine_of(problem.kernel).source
    kind = "dense" if isinstance(points, np.ndarray) else "sparse"
    return f"{problem.name} {problem.kernel.kernel.name} {points.dtype} {kind}"


def warm_up(
    solver: Solver, problem: Problem, limit: float | None = None, clock: Callable[[], float] = perf_counter
) -> float:
    """Run the solver on a few points of the same kind, so that compilation is off the clock; return the seconds.

    A fault of the solver shows in the measured run, not here. No warm-up is begun, and none that yields goes on, when
    ``limit`` seconds are over by the ``clock``.
    """
    began, clock_began = perf_counter(), clock()
    most = min(WARM_UP_SECONDS, limit or WARM_UP_SECONDS)
    try:
        with uncounted(problem.kernel):
            small = _few_points(problem)
            for each in solver.warm_ups():
                left = most - (clock() - clock_began)
                if left <= 0.0:
                    break
                if each.skip(small) is None:
                    limits = Limits(seconds=left, iterations=_WARM_UP_YIELDS)
                    drive(each, small, np.random.default_rng(0), limits, clock=clock)
    except BaseException:  # whatever it is, sys.exit() included, it is reported where it is measured
        return perf_counter() - began
    return perf_counter() - began


def _few_points(problem: Problem) -> Problem:
    """Return the problem over some of its points, of both classes; where labels are sold, with made-up ones.

    Of more points, where the problem's parameters leave so few no solution: a small cap of reduced hulls.
    """
    few = min(problem.n, _WARM_UP_POINTS)
    while True:
        try:
            return _restricted(problem, few)
        except UsageError:
            if few == problem.n:
                raise
            few = min(problem.n, 2 * few)


def _restricted(problem: Problem, few: int) -> Problem:
    first = np.arange(few)
    if problem.sells_labels:
        return problem.rehearsal(first)
    if problem.task != "classification":
        return problem.restrict(first)
    members = [np.flatnonzero(problem.targets == label)[: (few + 1) // 2] for label in np.unique(problem.targets)[:2]]
    return problem.restrict(np.sort(np.concatenate(members)))


def measure(
    spec: RunSpec,
    solver: Solver,
    problem: Problem,
    emit: Callable[[Message], None],
    *,
    compilation: CompilationWatch,
    buyer: Buyer | None = None,
) -> Fitted:
    """Drive the solver; return what its process has to say, with the model. Never raises for a fault of the solver.

    emit : called with `Fitting` and every `Point` as the run goes on, outside the clock
    buyer : who passes purchases of labels on; what they take is on no clock
    """
    clock, cpu_clock = compilation.clock, compilation.cpu_clock
    if buyer is not None:
        clock, cpu_clock = _without_purchases(buyer, compilation)
    faults: list[str] = []
    refused = refusal(solver, problem, faults)
    if refused is not None:
        return Fitted({"status": Status.SKIPPED, "reason": refused, **now()})
    claims: dict[str, Any] = {"load_average": load_average(), "faults": faults}
    model: Model | None = None
    before = _contents(problem)
    switches = resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw
    reset_peak_memory()
    emit(Fitting())
    began, compiled = monotonic(), compilation.seconds

    def observe(point: TracePoint) -> None:
        emit(Point(point.as_dict(), monotonic() - began - point.seconds, point.model and Model.of(*point.model)))

    def overtime(seconds: float) -> float:
        wall, bought = monotonic() - began, 0.0 if buyer is None else buyer.seconds
        if spec.limits.seconds is None:
            return 0.0
        return max(0.0, wall - seconds - allowed.off_the_clock(spec.limits.seconds, wall - seconds - bought, bought))

    try:
        outcome = drive(
            solver,
            problem,
            np.random.default_rng(spec.seed),
            spec.limits,
            TracePlan(deferred=True),
            observer=observe,
            stopped=lambda: emit(Stopped()),
            clock=clock,
            cpu_clock=cpu_clock,
            overtime=overtime,
        )
        if outcome.info_cut:
            faults.append(f"info was cut to {INFO[0]:,} entries and {INFO[1]:,} characters, 4,000 of a text")
        claims.update(_costs(outcome, problem, solver))
        model = model_of(outcome, problem)
    except BaseException as error:  # whatever a plugin raises, sys.exit() and KeyboardInterrupt included
        claims.update(fault(error))
    after = _contents(problem)
    changed = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    if changed:
        reason = f"solver '{solver.name}' changed its problem: {', '.join(changed)} differ from what it was given"
        claims.update(status=Status.INVALID, reason=reason)
    claims["compile_seconds"] = compilation.seconds - compiled
    claims["involuntary_switches"] = resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw - switches
    claims["peak_rss_bytes"] = status_bytes("VmHWM")
    return Fitted({**claims, **now()}, model)


def _without_purchases(buyer: Buyer, compilation: CompilationWatch) -> tuple[Callable[[], float], Callable[[], float]]:
    """Return a wall and a CPU clock that stand still while numba compiles and while labels are bought."""
    return lambda: compilation.clock() - buyer.seconds, lambda: compilation.cpu_clock() - buyer.cpu_seconds


def refusal(solver: Solver, problem: Problem, faults: list[str]) -> str | None:
    """Return a sentence why the solver does not take the problem; a ``skip()`` that fails costs its own answer alone."""
    try:
        reason = solver.skip(problem)
    except Exception as error:
        faults.append(f"{solver.name}'s skip() raised {sentence(error)}; the run was carried out")
        return None
    if reason is None or (isinstance(reason, str) and reason):
        return reason
    return f"{solver.name}'s skip() returned {clipped(str(clean(reason)), 80)}; it must return a sentence that says why, or None"


def fault(error: BaseException) -> dict[str, Any]:
    """Return status, cause and reason of what a solver, or the machine under it, raised."""
    found: dict[str, Any] = {"stopped_by": StoppedBy.FAULT, "output": tail(error)}
    if isinstance(error, MemoryError):
        return {
            "status": Status.MEMORY,
            "stopped_by": StoppedBy.MEMORY,
            "reason": f"out of memory: {_text(error) or 'an allocation was refused'}",
        }
    if isinstance(error, InvalidModel):
        return {"status": Status.INVALID, "stopped_by": StoppedBy.FAULT, "reason": _text(error)}
    if isinstance(error, SystemExit):
        return {**found, "status": Status.CRASHED, "reason": f"the solver called sys.exit({clean(error.code)!r})"}
    if is_environment(error):
        return {**found, "status": Status.ENVIRONMENT, "reason": of_environment(error)}
    return {**found, "status": Status.ERROR, "reason": sentence(error)}


def is_environment(error: BaseException) -> bool:
    """Return whether an exception, or one it came from, tells of the machine: disk full, too many open files."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, DataChanged) or (isinstance(seen, OSError) and seen.errno in _ENVIRONMENT):
            return True
        seen = seen.__cause__ or seen.__context__
    return False


def of_environment(error: BaseException) -> str:
    """Return the sentence on a fault of the machine."""
    said = str(error) if isinstance(error, DataChanged) else f"the machine's fault, not the solver's: {sentence(error)}"
    return f"{said.rstrip('.')}; such a run is measured again when the command is repeated"


def _contents(problem: Problem) -> dict[str, str]:
    """Return checksums of all that the problem is; of the points a sum of their words: fast, and enough for a slip."""
    points = engine_of(problem.kernel).source
    found = problem.contents()
    if not is_mapped(points):
        found["points"] = sum_of_words(points)
    return found


def _costs(outcome: Outcome, problem: Problem, solver: Solver) -> dict[str, Any]:
    counter = problem.kernel.counter
    return {
        "status": outcome.status,
        "stopped_by": outcome.stopped_by,
        "reason": outcome.reason,
        "fit_seconds": outcome.seconds,
        "cpu_seconds": outcome.cpu_seconds,
        "iterations": outcome.iterations,
        "kernel_evaluations": counter.evaluations if solver.observable else None,
        "evaluations_at_least": counter.evaluations_at_least if solver.observable else None,
        "cache_hits": counter.cache_hits if solver.observable else None,
        "labels_used": counter.labels if problem.sells_labels else None,
        "oracle_calls": counter.oracle_calls,
        "oracle_kernel_evaluations": counter.oracle_evaluations,
        "working_set_size": outcome.working_set,
        "claimed_done": outcome.claimed_done,
        "info": outcome.info,
    }


def model_of(outcome: Outcome, problem: Problem) -> Model:
    """Return the model as numbers; the certifier looks at it again.

    Raises
    ------
    InvalidModel : it is none of the problem's.
    """
    if outcome.dual_coef is not None:
        return Model.of(*problem.checked(outcome.dual_coef, outcome.intercept))
    if outcome.free is not None:
        return Model.free(outcome.free)
    model = Weights.checked(problem.kernel, outcome.weights, outcome.intercept)
    return Model(model.intercept, weights=model.weights)


def sentence(error: BaseException) -> str:
    """Return type, first line and place of an exception."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({frames[-1].filename.rpartition('/')[2]}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {_text(error)}{where}"


def _text(error: BaseException) -> str:
    try:
        lines = str(error)[:_TRACEBACK_CHARACTERS].strip().splitlines()
    except BaseException as second:
        return f"<its text raised {type(second).__name__}>"
    return lines[0] if lines else ""


def tail(error: BaseException) -> str:
    """Return the end of an exception's traceback, without what it came from; its text is shortened before it is put in."""
    try:
        frames = traceback.format_tb(error.__traceback__)
        said = str(error)[:_TRACEBACK_CHARACTERS]
    except BaseException:
        return ""
    whole = "".join(["Traceback (most recent call last):\n", *frames, f"{type(error).__name__}: {said}"])
    return whole[-_TRACEBACK_CHARACTERS:]
