"""One run in the process of its solver: state the problem, or the path of problems, warm up, drive.

What it says are claims; the worker looks at them (watch.py), and the certifier at the model.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import math
import re
import resource
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from time import monotonic, process_time, thread_time
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.datasets import measured_sha256
from harness.datasets.bounds import reading_within
from harness.kernels.checks import check_finite, check_kernel, sample_values
from harness.kernels.counter import Counter
from harness.kernels.engine import Engine
from harness.kernels.points import is_mapped, sum_of_words
from harness.measure.compilation import CompilationWatch
from harness.measure.drive import Clocks, Outcome, drive
from harness.measure.outcome import INFO, Limits, Status, StoppedBy, TracePoint
from harness.measure.path_drive import drive_path
from harness.measure.scored import Weights
from harness.measure.trace import TracePlan
from harness.problems.problem import Problem
from harness.problems.summary import ProblemSummary
from harness.run import allowed
from harness.run.messages import ClockStarted, Emit, FinishedCell, FitResult, Model, ModelCopied, Point
from harness.run.record import Claims
from harness.run.target_server import TargetClient
from harness.solver.path import SolutionPath
from harness.solver.protocol import with_target
from harness.support.errors import DataError, InvalidModel
from harness.support.faults import format_error, text
from harness.support.machine import load_average, now
from harness.support.printable import clean, clipped
from harness.support.processes import below, reset_peak_memory, scheduling

if TYPE_CHECKING:
    from harness.datasets.dataset import Dataset
    from harness.registry.discovery import Registry
    from harness.run.plan import RunSpec
    from harness.solver.protocol import Solver
    from harness.support.arrays import Vector

    Clock = Callable[[], float]

_READ_INTO_MEMORY_BYTES = 2 << 30
_COMPILED_SECONDS = 0.1  # of compilation in a measured run, up to which nothing is said of it ...
_COMPILED_SHARE = 0.1  # ... nor up to this fraction of the fit's seconds
_UNEXPLAINED_SECONDS = 0.05  # CPU seconds off the clock up to which a run is valid ...
_UNEXPLAINED_SHARE = 0.1  # ... and up to this fraction of its CPU seconds
_TRACEBACK_CHARACTERS = 2000
_READ_ONLY = re.compile("read-?only")  # what NumPy and Numba say of an array
_COPY = "what the problem hands out is read-only: copy it first, row = problem.kernel.row(i).copy()"
_ENVIRONMENT = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ESTALE})


class DataChanged(DataError):
    """Data changed between the plan and the run."""


class ProblemFactory:
    """What a process keeps between runs: loaded data and the kernel engines over them.

    for_solver : whether it is that of a solver's process, which has the targets of no test point, does not know which
        points are planted outliers, and queries targets where the formulation does
    client : through which it queries them
    """

    def __init__(self, registry: Registry, *, for_solver: bool = False) -> None:
        self.registry, self.for_solver, self.client = registry, for_solver, TargetClient()
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
            if self.for_solver:
                loaded = replace(loaded, planted=None, y_test=np.full(len(loaded.y_test), np.nan))
            self._datasets[spec.data_key] = loaded
        return self._datasets[spec.data_key]

    def _loaded(self, spec: RunSpec) -> Dataset:
        with reading_within(spec.limits.memory_limit):
            loaded = in_memory(self.registry.source_class(spec.source)(**spec.source_parameters).load())
        if spec.data_sha256 not in ("", measured_sha256(loaded)):
            raise DataChanged(
                f"the data of '{spec.dataset}' are not what they were when the comparison was planned: their "
                "content has changed since."
            )
        return loaded

    def problem(self, spec: RunSpec) -> Problem:
        """Return the run's problem over the plain engine, which counts nothing: what is certified; data and norms are shared."""
        dataset = self.dataset(spec)
        kernel = self.registry.kernel_class(spec.kernel)(**spec.kernel_parameters)
        key = (spec.kernel, repr(spec.kernel_parameters))
        if key not in self._engines:
            check_kernel(kernel, dataset.x_train)
            checked = Engine(kernel, dataset.x_train)
            check_finite(checked)
            self._engines[key] = checked  # only now: what is refused is refused each time
        engine: Any = self._engines[key].replace(threads=spec.threads)
        targets = self.client if self.for_solver and spec.queries_targets else dataset.y_train
        return self.registry.formulation(spec.formulation).build(engine, targets, spec.problem_parameters)

    def kernel_sample(self, spec: RunSpec) -> Vector:
        """Return values of the run's kernel, of a path of each of its kernels, between a few of its points."""
        widths = {} if spec.path is None else spec.path.kernel_axes
        kernel = self.registry.kernel_class(spec.kernel)
        given = (dict(zip(widths, values, strict=True)) for values in itertools.product(*widths.values()))
        kernels = [kernel(**{**spec.kernel_parameters, **values}) for values in given]
        return sample_values(kernels, self.dataset(spec).x_train)

    def path(self, spec: RunSpec, clocks: Any = None) -> SolutionPath:
        """Return the path of problems that a run goes through, the same of both sides, whoever states it.

        clocks : wall and CPU clock of what its cells share; None: those of the system, and no cell begins cold
        """
        dataset, grid = self.dataset(spec), spec.path
        assert grid is not None
        return SolutionPath(
            grid,
            self.registry.formulation(spec.formulation),
            self.registry.kernel_class(spec.kernel),
            dataset.x_train,
            dataset.y_train,
            spec.problem_parameters,
            spec.kernel_parameters,
            seed=spec.seed,
            cache_mb=spec.cache_mb,
            threads=spec.threads,
            cold=clocks is not None and grid.cold,
            **({} if clocks is None else {"clocks": clocks}),
        )

    def solver(self, spec: RunSpec) -> Solver:
        """Return the configured solver, with the target gap as its own stopping parameter."""
        cls = self.registry.solver_class(f"{spec.plugin}/{spec.solver}")
        return with_target(cls(**spec.parameters), spec.limits.target_gap)


def in_memory(dataset: Dataset) -> Dataset:
    """Return the data with mapped arrays of moderate size read into memory: kernels are faster on plain arrays."""

    def read(x: Any) -> Any:
        return np.array(x) if is_mapped(x) and x.nbytes <= _READ_INTO_MEMORY_BYTES else x

    return replace(dataset, x_train=read(dataset.x_train), x_test=read(dataset.x_test))


def measure(
    spec: RunSpec,
    solver: Solver,
    problem: Problem,
    emit: Emit,
    *,
    compilation: CompilationWatch,
    client: TargetClient,
    path: SolutionPath | None = None,
) -> FitResult:
    """Drive the solver; return what its process has to say, with the model. Never raises for a fault of the solver.

    emit : called with `ClockStarted`, and with every `Point`, a trace point or a finished cell, outside the clock
    client : through which the problem queries targets; what that takes is on no clock
    path : the problems to go through, in the place of ``problem``
    """
    faults: list[str] = []
    problem, plain = problem.counted(spec.cache_mb), problem
    summary = ProblemSummary.of(problem if path is None else path.problem(path.cells[0]))
    refused = refusal(solver, summary, faults, spec.plugin)
    if refused is not None:
        return FitResult(Claims(status=Status.SKIPPED, reason=refused, measured_at=now()))
    load = load_average()
    before, model = _contents(problem, plain, path), b""
    switches, compiled = resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw, compilation.seconds
    reset_peak_memory()
    emit(ClockStarted())
    clocks = _Clocks(compilation, client, spec.limits.time_limit, spec.threads)
    try:
        if path is None:
            outcome = _single(spec, solver, problem, plain, clocks, emit)
            claims = _claims(outcome)
            _add_counts(claims, solver, problem.kernel.counter)
            if outcome.info_cut:
                faults.append(f"info was cut to {INFO[0]:,} entries and {INFO[1]:,} characters, 4,000 of a text")
            model = model_of(outcome, problem).packed()
        else:
            claims = _along(spec, solver, path, clocks, emit)
    except BaseException as error:  # whatever a plugin raises, sys.exit() and KeyboardInterrupt included
        claims = fault(error, spec.plugin)
    after = _contents(problem, plain, path)
    changed = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    if changed:
        claims.status = Status.INVALID
        claims.reason = (
            f"solver '{solver.name}' changed its problem: {', '.join(changed)} differ from what it was given"
        )
    claims.load_average, claims.faults, claims.measured_at = load, faults, now()
    claims.compile_seconds = compilation.seconds - compiled
    _note_off_the_clock(claims, clocks)
    claims.involuntary_switches = resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw - switches
    return FitResult(claims, model)


def _note_off_the_clock(claims: Claims, clocks: _Clocks) -> None:
    """Enter what was done while the clock stood still: a sentence on much compilation, and much else is invalid."""
    compiled, unexplained = claims.compile_seconds or 0.0, max(0.0, clocks.unexplained)
    claims.unexplained_cpu_seconds = unexplained
    if claims.fit_seconds is not None and compiled > max(_COMPILED_SECONDS, _COMPILED_SHARE * claims.fit_seconds):
        claims.faults = [
            *(claims.faults or []),
            f"compiled {compiled:.1f} s inside the measured run; compile in warm_ups()",
        ]
    if unexplained > max(_UNEXPLAINED_SECONDS, _UNEXPLAINED_SHARE * (claims.cpu_seconds or math.inf)):
        claims.status, claims.stopped_by = Status.INVALID, StoppedBy.FAULT
        claims.reason = (
            f"{unexplained:.2f} s of CPU time were used while the clock stood still, by threads that the "
            "solver had at a yield: wait for them before the yield"
        )


class _Clocks(Clocks):
    """The clocks of a measured run. They stand still while something compiles, and while targets are queried."""

    def __init__(self, compilation: CompilationWatch, client: TargetClient, limit: float | None, threads: int) -> None:
        self.compilation, self.client, self.limit, self.threads = compilation, client, limit, threads
        self.began, self.scheduled = monotonic(), scheduling()

    def wall(self) -> float:
        """Return wall seconds."""
        return self.compilation.clock() - self.client.seconds

    def cpu(self) -> float:
        """Return CPU seconds."""
        return self.compilation.cpu_clock() - self.client.cpu_seconds

    def beside(self, seconds: float) -> float:
        """Return the seconds of the run that were not those inside the solver."""
        return monotonic() - self.began - seconds

    def others(self) -> float:
        """Return the CPU seconds of the threads of this process but this one; of several the host's own work has some too."""
        return process_time() - thread_time() if self.threads == 1 else 0.0

    def delay(self) -> float:
        """Return the seconds in which the process, or one that it started, was ready to run and other work had the core."""
        others = sum(scheduling(each.pid).delay_seconds for each in below("self"))
        return scheduling().delay_seconds - self.scheduled.delay_seconds + others

    def lost(self, seconds: float, cpu_seconds: float) -> float:
        """Return how much of the seconds inside the solver other work took; it does not count to the time limit."""
        return allowed.lost(self.limit, self.threads, self.delay(), seconds, cpu_seconds)

    def overtime(self, seconds: float) -> float:
        """Return the seconds beside those inside the solver that count as spent of the time limit."""
        if self.limit is None:
            return 0.0
        beside, queries = self.beside(seconds), self.client.seconds
        return max(0.0, beside - allowed.off_the_clock(self.limit, beside - queries, queries))


def _single(spec: RunSpec, solver: Solver, problem: Problem, plain: Problem, clocks: _Clocks, emit: Emit) -> Outcome:
    """Drive the solver on one problem, and send each trace point as it is taken."""

    def observe(point: TracePoint, model: Any) -> None:
        emit(Point(point, clocks.beside(point.seconds), Model.of(*model).packed() if model else b""))

    return drive(
        solver,
        problem,
        np.random.default_rng(spec.seed),
        spec.limits,
        TracePlan(),
        plain=plain,
        observer=observe,
        stopped=lambda: emit(ModelCopied()),
        clocks=clocks,
    )


def _along(spec: RunSpec, solver: Solver, path: SolutionPath, clocks: _Clocks, emit: Emit) -> Claims:
    """Drive the solver along a path, and send each cell as it is finished; return how it ended, and its costs."""
    stopped: StoppedBy | None = None
    finished: list[Claims] = []
    seconds = cpu_seconds = 0.0
    for each in drive_path(solver, path, spec.seed, spec.limits, clocks):
        if isinstance(each, StoppedBy):
            stopped = each
            break
        claims = _claims(each.outcome)
        if solver.observable:
            claims.kernel_evaluations, claims.cache_hits = each.evaluations, each.cache_hits
        seconds, cpu_seconds = seconds + each.outcome.seconds, cpu_seconds + each.outcome.cpu_seconds
        try:
            model = model_of(each.outcome, path.problem(each.cell)).packed()
        except InvalidModel as error:
            claims.status, claims.stopped_by, claims.reason, model = Status.INVALID, StoppedBy.FAULT, str(error), b""
        shared = path.shared.seconds, path.shared.cpu_seconds
        emit(FinishedCell(each.cell.index, claims, *shared, clocks.beside(seconds + shared[0]), model))
        claims.info = None
        finished.append(claims)
    emit(ModelCopied())
    total = _path_ending(spec.limits, finished, len(path.cells), stopped)
    total.fit_seconds = seconds + path.shared.seconds
    total.cpu_seconds = cpu_seconds + path.shared.cpu_seconds
    total.iterations = sum(each.iterations or 0 for each in finished)
    _add_counts(total, solver, path.counter)
    return total


def _path_ending(limits: Limits, finished: Sequence[Claims], cells: int, stopped: StoppedBy | None) -> Claims:
    """Return status, cause and reason of a path that was solved to its end, or stopped."""
    done = f"{len(finished)} of {cells} cells were finished"
    if stopped is not None:
        evaluations = f"budget of {limits.kernel_evaluation_limit or 0:,} kernel evaluations"
        at = f"time limit of {limits.time_limit:g} s" if stopped is StoppedBy.TIME else evaluations
        return Claims(status=Status.BUDGET, stopped_by=stopped, reason=f"stopped at the {at}; {done}")
    unfinished = sum(each.status is not Status.OK for each in finished)
    if len(finished) == cells and not unfinished:
        return Claims(status=Status.OK, stopped_by=StoppedBy.SOLVER, reason="", claimed_done=True)
    reason = f"{done}, {unfinished} of them ended without being done"
    return Claims(status=Status.UNFINISHED, stopped_by=StoppedBy.EXHAUSTED, reason=reason)


def _claims(outcome: Outcome) -> Claims:
    """Return how the solving of a problem ended, and its costs."""
    return Claims(
        status=outcome.status,
        stopped_by=outcome.stopped_by,
        reason=outcome.reason,
        fit_seconds=outcome.seconds,
        cpu_seconds=outcome.cpu_seconds,
        iterations=outcome.iterations,
        working_set_size=outcome.working_set,
        claimed_done=outcome.claimed_done,
        info=outcome.info,
    )


def _add_counts(claims: Claims, solver: Solver, counter: Counter) -> None:
    """Add the figures of a counter; nothing is known of kernels that the solver computes itself."""
    if solver.observable:
        claims.kernel_evaluations, claims.cache_hits = counter.evaluations, counter.cache_hits
        claims.evaluations_at_least, claims.cache_misses = counter.evaluations_at_least, counter.cache_misses
        claims.cache_needed_mb = counter.cache_needed_bytes / 2**20 if counter.cache_misses else None
    claims.oracle_calls, claims.oracle_kernel_evaluations = counter.oracle_calls, counter.oracle_evaluations


def refusal(solver: Solver, problem: ProblemSummary, faults: list[str], plugin: str) -> str | None:
    """Return a sentence why the solver does not take a problem; a ``skip()`` that fails costs its own answer alone."""
    try:
        reason = solver.skip(problem)
    except Exception as error:
        faults.append(f"{solver.name}'s skip() failed: {format_error(error, plugin)}; the run was carried out")
        return None
    if reason is None or (isinstance(reason, str) and reason):
        return reason
    return f"{solver.name}'s skip() returned {clipped(str(clean(reason)), 80)}; it must return a sentence that says why, or None"


def fault(error: BaseException, plugin: str) -> Claims:
    """Return status, cause and reason of what a solver of a plugin, or the machine under it, raised."""
    stopped_by, output = StoppedBy.FAULT, "\n".join(part for part in (tail(error), stderr_of(error)) if part) or None
    if any(isinstance(each, MemoryError) or getattr(each, "errno", None) == errno.ENOMEM for each in chain(error)):
        status, stopped_by = Status.MEMORY, StoppedBy.MEMORY
        reason = f"out of memory: {format_error(error, plugin)}"
    elif isinstance(error, InvalidModel):
        status, output, reason = Status.INVALID, None, text(error)
    elif isinstance(error, SystemExit):
        status, reason = Status.CRASHED, f"the solver called sys.exit({clean(error.code)!r})"
    elif is_environment(error):
        status, reason = Status.ENVIRONMENT, of_environment(error)
    else:
        status, reason = Status.ERROR, format_error(error, plugin)
        reason = f"{reason}; {_COPY}" if _READ_ONLY.search(reason) else reason
    return Claims(status=status, stopped_by=stopped_by, reason=reason, output=output)


def is_environment(error: BaseException) -> bool:
    """Return whether an exception, or one it came from, tells of the machine: disk full, too many open files."""
    return any(
        isinstance(each, DataChanged) or (isinstance(each, OSError) and each.errno in _ENVIRONMENT)
        for each in chain(error)
    )


def chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception and those that it came from."""
    link: BaseException | None = error
    while link is not None:
        yield link
        link = link.__cause__ or link.__context__


def stderr_of(error: BaseException) -> str:
    """Return the end of what a process wrote that failed and whose output the solver had for itself; empty: there is none."""
    for each in chain(error):
        with contextlib.suppress(Exception):
            written = getattr(each, "stderr", None)
            if isinstance(written, (bytes, str)) and written:
                shown = written.decode(errors="replace") if isinstance(written, bytes) else written
                return shown[-_TRACEBACK_CHARACTERS:]
    return ""


def of_environment(error: BaseException) -> str:
    """Return the sentence on a fault of the machine."""
    said = (
        str(error)
        if isinstance(error, DataChanged)
        else f"the machine's fault, not the solver's: {format_error(error)}"
    )
    return f"{said.rstrip('.')}; such a run is measured again when the command is repeated"


def _contents(problem: Problem, plain: Problem, path: SolutionPath | None) -> dict[str, str]:
    """Return checksums of all that the problem is; of the points a sum of their words: fast, and enough for a slip.

    plain : the same problem over the engine, which notes nothing where its points are taken
    """
    if path is not None:
        return {"points": path.checksum()}
    points = plain.kernel.points
    found = problem.contents()
    if not is_mapped(points):
        found["points"] = sum_of_words(points)
    return found


def model_of(outcome: Outcome, problem: Problem) -> Model:
    """Return the model as numbers; the certifier looks at it again.

    Raises
    ------
    InvalidModel : it is none of the problem's.
    """
    if outcome.model is None:
        return Model.of(*problem.checked(outcome.dual_coef, outcome.intercept))
    return Model.linear(outcome.model) if isinstance(outcome.model, Weights) else Model.free(outcome.model)


def tail(error: BaseException) -> str:
    """Return the end of an exception's traceback, without what it came from; its text is shortened before it is put in."""
    try:
        frames = traceback.format_tb(error.__traceback__)
        said = str(error)[:_TRACEBACK_CHARACTERS]
    except BaseException:
        return ""
    whole = "".join(["Traceback (most recent call last):\n", *frames, f"{type(error).__name__}: {said}"])
    return whole[-_TRACEBACK_CHARACTERS:]
